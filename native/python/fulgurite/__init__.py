"""Lazy arrays whose operators become one plan, fused by cost and compiled to machine code.

They need NumPy alone. ``fulgurite.spark`` runs scripts on Spark; its names can be imported from
here, too.
"""

from typing import TYPE_CHECKING as _CHECKS_TYPES

# First: it says why the extension cannot be loaded.
from . import _load  # noqa: F401, I001
from ._errors import FallbackError, FulguriteError, MemoryLimitError, ShapeError  # noqa: F401
from ._native import VERSION as __version__  # noqa: F401

# Older ones lack functions of the array API standard. Spark 3.5 is used with them, and needs no arrays.
if _load.has_arrays():
    from ._api import *  # noqa: F403
    from ._api import __all__  # noqa: F401

if _CHECKS_TYPES:
    from .spark import MLContext, MLResults, Matrix, Script, attach, configure, dml, dmlFromFile, jar  # noqa: F401, E501

# Loaded when used: without them, neither pyspark nor the jars are needed.
_OF_SPARK = frozenset(
    ["MLContext", "MLResults", "Matrix", "Script", "attach", "configure", "dml", "dmlFromFile", "jar"]
)


def __getattr__(name):
    if name in _OF_SPARK:
        from . import spark

        return getattr(spark, name)
    if not _load.has_arrays():
        raise AttributeError(
            f"'fulgurite.{name}' needs NumPy 2.1 or newer, and this is {_load.numpy_version()}: pip install 'numpy>=2.1'"
        )
    from . import _numpy

    return _numpy.named(name)
