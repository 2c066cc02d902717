"""Linear algebra: products, linear systems, norms; what the engine has no operators for runs in NumPy."""

from __future__ import annotations

import numpy as np

from . import _functions, _ops
from ._array import Array, on_host
from ._functions import matmul, matrix_transpose
from ._ops import Unplanned

_OF_NUMPY = (
    "cross det eigh eigvalsh matrix_power matrix_rank multi_dot pinv qr slogdet svd svdvals eig eigvals lstsq cond"
).split()

__all__ = [
    "cholesky",
    "diagonal",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_transpose",
    "norm",
    "outer",
    "solve",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
    *_OF_NUMPY,
]


def _of_numpy(name):
    host = getattr(np.linalg, name)

    def function(*args, **kwargs):
        return on_host(f"linalg.{name}", "there is no operator for it", host, *args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As ``numpy.linalg.{name}``."
    return function


for _name in _OF_NUMPY:
    globals()[_name] = _of_numpy(_name)

tensordot = _functions.tensordot
vecdot = _functions.vecdot


def solve(x1, x2, /):
    """The solution of ``x1 @ x == x2`` for a square matrix."""
    try:
        return _ops.solve(x1, x2)
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.solve", reason, np.linalg.solve, x1, x2)


def inv(x, /):
    """The inverse of a square matrix."""
    try:
        return _ops.of_square("inv", x)
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.inv", reason, np.linalg.inv, x)


def cholesky(x, /, *, upper=False):
    """The lower triangular matrix `L` with ``L @ L.T == x``; or the upper one, its transpose."""
    try:
        lower = _ops.of_square("cholesky", x)
        return matrix_transpose(lower) if upper else lower
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.cholesky", reason, np.linalg.cholesky, x, upper=upper)


def outer(x1, x2, /):
    """The products of each cell of one vector with each of another."""
    try:
        return _ops.outer(x1, x2)
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.outer", reason, np.linalg.outer, x1, x2)


def diagonal(x, /, *, offset=0):
    """The diagonal of a matrix."""
    try:
        if offset:
            raise Unplanned("another diagonal")
        return _ops.diagonal(x)
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.diagonal", reason, np.linalg.diagonal, x, offset=offset)


def trace(x, /, *, offset=0, dtype=None):
    """The sum of the diagonal of a matrix."""
    try:
        if offset or (dtype is not None and np.dtype(dtype) != np.float64):
            raise Unplanned("another diagonal or dtype")
        return _functions.sum(_ops.diagonal(x))
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.trace", reason, np.linalg.trace, x, offset=offset, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors: of all cells, or along axes."""
    try:
        array = _ops._floats(_ops.promoted(x))
        if ord == 2:
            squares = _functions.sum(array * array, axis=axis, keepdims=keepdims)
            return _functions.sqrt(squares)
        if ord == 1:
            return _functions.sum(_functions.abs(array), axis=axis, keepdims=keepdims)
        if ord == np.inf:
            return _functions.max(_functions.abs(array), axis=axis, keepdims=keepdims)
        if ord == -np.inf:
            return _functions.min(_functions.abs(array), axis=axis, keepdims=keepdims)
        raise Unplanned(f"order {ord}")
    except Unplanned as why:
        reason = why.reason
    host = np.linalg.vector_norm
    return on_host("linalg.vector_norm", reason, host, x, axis=axis, keepdims=keepdims, ord=ord)


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of matrices."""
    try:
        array = _ops._floats(_ops.promoted(x))
        if ord != "fro" or array.ndim != 2:
            raise Unplanned(f"order {ord}")
        return _functions.sqrt(_functions.sum(array * array, keepdims=keepdims))
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.matrix_norm", reason, np.linalg.matrix_norm, x, keepdims=keepdims, ord=ord)


def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of a vector or, by default, of all cells of a matrix."""
    if type(x) is Array and (ord is None or (x.ndim == 1 and ord == 2)):
        return vector_norm(x, axis=axis, keepdims=keepdims)
    host = np.linalg.norm
    return on_host("linalg.norm", "another order", host, x, ord=ord, axis=axis, keepdims=keepdims)
