"""The public names, but for those of Spark."""

from __future__ import annotations

import numpy as _np

from . import _expression_makers, _functions, fft, linalg
from . import _methods as _
from . import _numpy as _numpy_functions  # noqa: F401
from ._array import Array, compute
from ._compression import compress
from ._convert import asarray
from ._engine import config
from ._errors import ColumnError, FallbackError, FulguriteError, MemoryLimitError, ShapeError
from ._expression_makers import *  # noqa: F403
from ._expressions import Expr, col, lit
from ._frame import Frame
from ._fallbacks import fallbacks
from ._functions import *  # noqa: F403
from ._fuse import fuse
from ._info import __array_namespace_info__
from ._lazyframe import LazyFrame, frame, scan_csv, scan_parquet
from ._scripts import run
from ._show import explain, statistics, why
from ._sources import rand, randn, read
from ._udf import udf

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
    "ColumnError",
    "Expr",
    "FallbackError",
    "Frame",
    "FulguriteError",
    "LazyFrame",
    "MemoryLimitError",
    "SUPPORTED_API_VERSIONS",
    "ShapeError",
    "__array_api_version__",
    "__array_namespace_info__",
    "asarray",
    "col",
    "compress",
    "compute",
    "config",
    "e",
    "explain",
    "fallbacks",
    "fft",
    "frame",
    "fuse",
    "inf",
    "linalg",
    "lit",
    "nan",
    "newaxis",
    "pi",
    "rand",
    "randn",
    "read",
    "run",
    "scan_csv",
    "scan_parquet",
    "statistics",
    "udf",
    "why",
    *DTYPES,
    *_functions.__all__,
    *_expression_makers.__all__,
]
