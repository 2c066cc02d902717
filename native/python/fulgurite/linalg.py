"""Linear algebra: products, linear systems, norms; what the engine has no operators for runs in NumPy."""

from __future__ import annotations

import numpy as np

from . import _functions, _ops, _products
from ._array import Array, on_host
from ._functions import matmul, matrix_transpose, tensordot, vecdot
from ._hosted import NO_OPERATOR
from ._ops import Unplanned

# NumPy's own, beyond the standard.
_MORE = ("multi_dot", "lstsq", "cond")

__all__ = [
    "cholesky",
    "cond",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "multi_dot",
    "norm",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def _of_matrix(name):
    host = getattr(np.linalg, name)

    def function(x, /):
        return on_host(f"linalg.{name}", NO_OPERATOR, host, x)

    return function


def _of_numpy(name):
    host = getattr(np.linalg, name)

    def function(*args, **kwargs):
        return on_host(f"linalg.{name}", NO_OPERATOR, host, *args, **kwargs)

    return function


for _make, _names in (
    (_of_matrix, ("det", "eigh", "eigvalsh", "slogdet", "svdvals")),
    (_of_numpy, _MORE),
):
    for _name in _names:
        _function = _make(_name)
        _function.__name__ = _function.__qualname__ = _name
        _function.__doc__ = f"As ``numpy.linalg.{_name}``."
        globals()[_name] = _function


def _complex(host):
    """Eigenvalues may be complex, and always have such a dtype; NumPy's have it only if they are."""

    def function(x):
        found = host(x)
        if isinstance(found, tuple):
            return type(found)(*(part + part.dtype.type(0) * 1j for part in found))
        return found + found.dtype.type(0) * 1j

    return function


def eig(x, /):
    """Eigenvalues and, as columns, eigenvectors of a square matrix; both complex."""
    return on_host("linalg.eig", NO_OPERATOR, _complex(np.linalg.eig), x)


def eigvals(x, /):
    """Complex eigenvalues of a square matrix."""
    return on_host("linalg.eigvals", NO_OPERATOR, _complex(np.linalg.eigvals), x)


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of three cells along an axis."""
    return on_host("linalg.cross", NO_OPERATOR, np.linalg.cross, x1, x2, axis=axis)


def matrix_rank(x, /, *, rtol=None):
    """The number of singular values that are larger than `rtol` of the largest."""
    return on_host("linalg.matrix_rank", NO_OPERATOR, np.linalg.matrix_rank, x, rtol=rtol)


def pinv(x, /, *, rtol=None):
    """The pseudoinverse, without singular values that are smaller than `rtol` of the largest."""
    more = {} if rtol is None else {"rtol": rtol}
    return on_host("linalg.pinv", NO_OPERATOR, np.linalg.pinv, x, **more)


def qr(x, /, *, mode="reduced"):
    """A matrix with orthonormal columns and an upper triangular one, whose product is `x`."""
    return on_host("linalg.qr", NO_OPERATOR, np.linalg.qr, x, mode)


def svd(x, /, *, full_matrices=True):
    """Singular vectors and values: ``(U * S) @ Vh`` is `x`."""
    host = np.linalg.svd
    return on_host("linalg.svd", NO_OPERATOR, host, x, full_matrices=full_matrices)


def matrix_power(x, n, /):
    """The product of `n` times the same square matrix; of its inverse where `n` is negative."""
    try:
        array = _ops.floats(x)
        if array.ndim != 2 or array.shape[0] != array.shape[1] or n < 1:
            raise Unplanned("no square matrix, or no positive power")
        result = None
        while n:
            if n & 1:
                result = array if result is None else _products.matmul(result, array)
            n >>= 1
            if n:
                array = _products.matmul(array, array)
        return result
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.matrix_power", reason, np.linalg.matrix_power, x, n)


def solve(x1, x2, /):
    """The solution of ``x1 @ x == x2`` for a square matrix."""
    try:
        return _products.solve(x1, x2)
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.solve", reason, np.linalg.solve, x1, x2)


def inv(x, /):
    """The inverse of a square matrix."""
    try:
        return _products.of_square("inv", x)
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.inv", reason, np.linalg.inv, x)


def cholesky(x, /, *, upper=False):
    """The lower triangular matrix `L` with ``L @ L.T == x``; or the upper one, its transpose."""
    try:
        lower = _products.of_square("cholesky", x)
        return matrix_transpose(lower) if upper else lower
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.cholesky", reason, np.linalg.cholesky, x, upper=upper)


def outer(x1, x2, /):
    """The products of each cell of one vector with each of another."""
    try:
        return _products.outer(x1, x2)
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.outer", reason, np.linalg.outer, x1, x2)


def diagonal(x, /, *, offset=0):
    """The diagonal of a matrix."""
    try:
        if offset:
            raise Unplanned("another diagonal")
        return _products.diagonal(x)
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.diagonal", reason, np.linalg.diagonal, x, offset=offset)


def trace(x, /, *, offset=0, dtype=None):
    """The sum of the diagonal of a matrix."""
    try:
        if offset or (dtype is not None and np.dtype(dtype) != np.float64):
            raise Unplanned("another diagonal or dtype")
        return _functions.sum(_products.diagonal(x))
    except Unplanned as why:
        reason = why.reason
    return on_host("linalg.trace", reason, np.linalg.trace, x, offset=offset, dtype=dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """Norms of vectors: of all cells, or along axes."""
    try:
        array = _ops.floats(x)
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
        array = _ops.floats(x)
        if ord != "fro" or array.ndim != 2:
            raise Unplanned(f"order {ord}")
        return _functions.sqrt(_functions.sum(array * array, keepdims=keepdims))
    except Unplanned as why:
        reason = why.reason
    return on_host(
        "linalg.matrix_norm", reason, np.linalg.matrix_norm, x, keepdims=keepdims, ord=ord
    )


def norm(x, ord=None, axis=None, keepdims=False):
    """The norm of a vector or, by default, of all cells of a matrix."""
    if type(x) is Array and (ord is None or (x.ndim == 1 and ord == 2)):
        return vector_norm(x, axis=axis, keepdims=keepdims)
    host = np.linalg.norm
    return on_host("linalg.norm", "another order", host, x, ord=ord, axis=axis, keepdims=keepdims)
