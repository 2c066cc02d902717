"""The public names, but for those of Spark."""

from __future__ import annotations

import numpy as _np

from . import _functions, fft, linalg
from . import _methods as _
from . import _numpy as _numpy_functions  # noqa: F401
from ._array import Array, compute
from ._convert import asarray
from ._engine import config
from ._errors import FallbackError, FulguriteError, MemoryLimitError, ShapeError
from ._frame import Frame
from ._fallbacks import fallbacks
from ._functions import *  # noqa: F403
from ._fuse import fuse
from ._info import __array_namespace_info__
from ._scripts import run
from ._show import explain, statistics, why
from ._sources import rand, randn, read

SUPPORTED_API_VERSIONS = ("2022.12", "2023.12", "2024.12", "2025.12")
__array_api_version__ = SUPPORTED_API_VERSIONS[-1]

e, pi, inf, nan, newaxis = _np.e, _np.pi, _np.inf, _np.nan, None

DTYPES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
).split()
for _name in DTYPES:
    globals()[_name] = getattr(_np, "bool_" if _name == "bool" else _name)

__all__ = [
    "Array",
    "FallbackError",
    "Frame",
    "FulguriteError",
    "MemoryLimitError",
    "SUPPORTED_API_VERSIONS",
    "ShapeError",
    "__array_api_version__",
    "__array_namespace_info__",
    "asarray",
    "compute",
    "config",
    "e",
    "explain",
    "fallbacks",
    "fft",
    "fuse",
    "inf",
    "linalg",
    "nan",
    "newaxis",
    "pi",
    "rand",
    "randn",
    "read",
    "run",
    "statistics",
    "why",
    *DTYPES,
    *_functions.__all__,
]
