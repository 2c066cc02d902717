"""Types of the public names; written by `native/python/tests/stubs.py`."""

from builtins import bool as _Bool
from builtins import str as _Str
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from os import PathLike
from types import EllipsisType, ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import Array, _Axis, _Cells

from . import matmul as matmul
from . import matrix_transpose as matrix_transpose
from . import tensordot as tensordot
from . import vecdot as vecdot

class _Eigen(NamedTuple):
    eigenvalues: Array
    eigenvectors: Array

class _QR(NamedTuple):
    Q: Array
    R: Array

class _SignAndLogarithm(NamedTuple):
    sign: Array
    logabsdet: Array

class _SVD(NamedTuple):
    U: Array
    S: Array
    Vh: Array

def cholesky(x: _Cells, /, *, upper: _Bool = False) -> Array: ...

def cond(*args: Any, **kwargs: Any) -> Array: ...

def cross(x1: _Cells, x2: _Cells, /, *, axis: _Axis = -1) -> Array: ...

def det(x: _Cells, /) -> Array: ...

def diagonal(x: _Cells, /, *, offset: int = 0) -> Array: ...

def eig(x: _Cells, /) -> _Eigen: ...

def eigh(x: _Cells, /) -> _Eigen: ...

def eigvals(x: _Cells, /) -> Array: ...

def eigvalsh(x: _Cells, /) -> Array: ...

def inv(x: _Cells, /) -> Array: ...

def lstsq(*args: Any, **kwargs: Any) -> Any: ...

def matrix_norm(
    x: _Cells,
    /,
    *,
    keepdims: _Bool = False,
    ord: float | str | None = 'fro',
) -> Array: ...

def matrix_power(x: _Cells, n: int, /) -> Array: ...

def matrix_rank(x: _Cells, /, *, rtol: float | None = None) -> Array: ...

def multi_dot(*args: Any, **kwargs: Any) -> Array: ...

def norm(
    x: _Cells,
    ord: float | str | None = None,
    axis: _Axis = None,
    keepdims: _Bool = False,
) -> Array: ...

def outer(x1: _Cells, x2: _Cells, /) -> Array: ...

def pinv(x: _Cells, /, *, rtol: float | None = None) -> Array: ...

def qr(x: _Cells, /, *, mode: Literal["reduced", "complete"] = 'reduced') -> _QR: ...

def slogdet(x: _Cells, /) -> _SignAndLogarithm: ...

def solve(x1: _Cells, x2: _Cells, /) -> Array: ...

def svd(x: _Cells, /, *, full_matrices: _Bool = True) -> _SVD: ...

def svdvals(x: _Cells, /) -> Array: ...

def trace(x: _Cells, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array: ...

def vector_norm(
    x: _Cells,
    /,
    *,
    axis: _Axis = None,
    keepdims: _Bool = False,
    ord: float | str | None = 2,
) -> Array: ...
