"""The functions of the namespace: planned where the engine has operators, else NumPy's on evaluated values."""

from __future__ import annotations

import functools

import numpy as np

from . import _ops
from ._array import BOOL, FLOAT, INT, Array, from_host, make, node_of, on_host, to_numpy
from ._convert import asarray
from ._ops import Unplanned

# Functions of the standard that NumPy has under the same name and the engine has no operators for.
_OF_NUMPY = (
    "acosh asinh atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift "
    "bitwise_xor conj copysign count_nonzero diff expm1 hypot imag isin log10 log1p log2 "
    "logaddexp meshgrid moveaxis nextafter nonzero real repeat roll round searchsorted signbit "
    "sign take take_along_axis tensordot tile trunc unique_all unique_counts unique_inverse unique_values "
    "unstack vecdot broadcast_arrays"
).split()
_UNARY = tuple(_ops.UNARY)

__all__ = [
    *_OF_NUMPY,
    *_UNARY,
    *_ops.ARITHMETIC,
    *_ops.COMPARISON,
    *_ops.LOGICAL,
]


def public(function):
    __all__.append(function.__name__)
    return function


def _doc(name):
    """The first line of NumPy's documentation is a signature; what follows is a sentence."""
    host = getattr(np, name)
    first = next((line for line in (host.__doc__ or "").splitlines() if line.strip()), "")
    return first.strip()


def or_numpy(function):
    """Runs NumPy's function of the same name where the engine has no operators for the arguments."""
    name = function.__name__
    host = getattr(np, name)

    @functools.wraps(function)
    def either(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except Unplanned as why:
            reason = why.reason
        return on_host(name, reason, host, *args, **kwargs)

    return either


def _defined():
    def unary(name):
        host = getattr(np, name)

        def function(x, /):
            try:
                return _ops.unary(name, x)
            except Unplanned as why:
                reason = why.reason
            return on_host(name, reason, host, x)

        return function

    def binary(name, planned):
        host = getattr(np, name)

        def function(x1, x2, /):
            try:
                return planned(name, x1, x2)
            except Unplanned as why:
                reason = why.reason
            return on_host(name, reason, host, x1, x2)

        return function

    def of_numpy(name):
        host = getattr(np, name)

        def function(*args, **kwargs):
            return on_host(name, "there is no operator for it", host, *args, **kwargs)

        return function

    for name in _UNARY:
        yield name, unary(name)
    for name in _ops.ARITHMETIC:
        yield name, binary(name, _ops.arithmetic)
    for name in _ops.COMPARISON:
        yield name, binary(name, _ops.comparison)
    for name in _ops.LOGICAL:
        yield name, binary(name, _ops.logical)
    for name in _OF_NUMPY:
        yield name, of_numpy(name)


for _name, _function in _defined():
    _function.__name__ = _function.__qualname__ = _name
    _function.__module__ = "fulgurite"
    _function.__doc__ = f"As ``numpy.{_name}``: {_doc(_name)}"
    globals()[_name] = _function


# Cell by cell.


@public
@or_numpy
def negative(x, /):
    """``-x``"""
    return _ops.negative(x)


@public
@or_numpy
def positive(x, /):
    """``+x``"""
    return _ops.positive(x)


@public
@or_numpy
def square(x, /):
    """``x * x``"""
    return _ops.square(x)


@public
@or_numpy
def reciprocal(x, /):
    """``1 / x``"""
    return _ops.reciprocal(x)


@public
@or_numpy
def isnan(x, /):
    """Which cells are NaN."""
    return _ops.is_nan(x)


@public
@or_numpy
def isinf(x, /):
    """Which cells are infinite."""
    return _ops.is_inf(x)


@public
@or_numpy
def isfinite(x, /):
    """Which cells are neither NaN nor infinite."""
    return _ops.is_finite(x)


@public
@or_numpy
def logical_not(x, /):
    """Which cells are false."""
    return _ops.logical_not(x)


@public
@or_numpy
def where(condition, x1, x2, /):
    """Cells of `x1` where a condition holds, else of `x2`."""
    return _ops.where(condition, x1, x2)


@public
def clip(x, /, min=None, max=None):
    """Cells, no smaller than `min` and no larger than `max`."""
    try:
        return _ops.clip(x, min, max)
    except Unplanned as why:
        reason = why.reason
    return on_host("clip", reason, np.clip, x, min, max)


@public
def sigmoid(x, /):
    """``1 / (1 + exp(-x))``, which NumPy has not.

    >>> import fulgurite as fg
    >>> float(fg.sigmoid(fg.asarray(0.0)))
    0.5
    """
    x = _ops._floats(_ops.promoted(asarray(x, dtype=np.float64)))
    return make(_SIGMOID((node_of(x),), _ops.place()), x._shape, FLOAT, x._row)


_SIGMOID = _ops.Operator("u(sigmoid)")


# Aggregates.


def _with_dtype(name, planned, x, axis, dtype, keepdims, **more):
    try:
        if dtype is not None and np.dtype(dtype) != np.float64:
            raise Unplanned(f"dtype {np.dtype(dtype)}")
        result = planned(name, x, axis=axis, keepdims=keepdims, **more)
        return result if dtype is None else astype(result, dtype)
    except Unplanned as why:
        reason = why.reason
    if dtype is not None:
        more["dtype"] = dtype
    return on_host(name, reason, getattr(np, name), x, axis=axis, keepdims=keepdims, **more)


@public
def sum(x, /, *, axis=None, dtype=None, keepdims=False):
    """Sums over all cells, or along axes; with compensation of rounding errors."""
    return _with_dtype("sum", _ops.aggregate, x, axis, dtype, keepdims)


@public
def prod(x, /, *, axis=None, dtype=None, keepdims=False):
    """Products of all cells, or along axes."""
    return _with_dtype("prod", _ops.aggregate, x, axis, dtype, keepdims)


@public
def mean(x, /, *, axis=None, keepdims=False):
    """Means of all cells, or along axes."""
    return _with_dtype("mean", _ops.aggregate, x, axis, None, keepdims)


@public
def max(x, /, *, axis=None, keepdims=False):
    """The largest of all cells, or along axes; NaN where one is."""
    return _with_dtype("max", _ops.aggregate, x, axis, None, keepdims)


@public
def min(x, /, *, axis=None, keepdims=False):
    """The smallest of all cells, or along axes; NaN where one is."""
    return _with_dtype("min", _ops.aggregate, x, axis, None, keepdims)


@public
def any(x, /, *, axis=None, keepdims=False):
    """Whether a cell is true."""
    return _with_dtype("any", _ops.truth, x, axis, None, keepdims)


@public
def all(x, /, *, axis=None, keepdims=False):
    """Whether all cells are true."""
    return _with_dtype("all", _ops.truth, x, axis, None, keepdims)


def _spread(name, x, axis, correction, keepdims):
    try:
        return _ops.spread(name, x, axis=axis, correction=correction, keepdims=keepdims)
    except Unplanned as why:
        reason = why.reason
    host = getattr(np, name)
    return on_host(name, reason, host, x, axis=axis, correction=correction, keepdims=keepdims)


@public
def var(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Variances, divided by the number of cells less `correction`."""
    return _spread("var", x, axis, correction, keepdims)


@public
def std(x, /, *, axis=None, correction=0.0, keepdims=False):
    """Standard deviations, the roots of variances."""
    return _spread("std", x, axis, correction, keepdims)


@public
def argmax(x, /, *, axis=None, keepdims=False):
    """Where the largest cell is: the first one, or the first that is NaN."""
    return _with_dtype("argmax", _ops.index_of, x, axis, None, keepdims)


@public
def argmin(x, /, *, axis=None, keepdims=False):
    """Where the smallest cell is: the first one, or the first that is NaN."""
    return _with_dtype("argmin", _ops.index_of, x, axis, None, keepdims)


@public
def cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False):
    """Sums of each cell and those before it along an axis."""
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial)


@public
def cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False):
    """Products of each cell and those before it along an axis."""
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial)


def _cumulative(name, x, axis, dtype, include_initial):
    try:
        if dtype is not None and np.dtype(dtype) != np.float64:
            raise Unplanned(f"dtype {np.dtype(dtype)}")
        if include_initial:
            raise Unplanned("an initial value")
        return _ops.cumulative(name, x, axis=axis)
    except Unplanned as why:
        reason = why.reason
    host = getattr(np, name)
    return on_host(name, reason, host, x, axis=axis, dtype=dtype, include_initial=include_initial)


# Products.


@public
@or_numpy
def matmul(x1, x2, /):
    """``x1 @ x2``, the matrix product."""
    return _ops.matmul(x1, x2)


@public
def matrix_transpose(x, /):
    """The matrix with rows as columns."""
    try:
        return _ops.transpose(x)
    except Unplanned as why:
        reason = why.reason
    return on_host("matrix_transpose", reason, np.matrix_transpose, x)


@public
def permute_dims(x, /, axes):
    """The array with its dimensions in another order."""
    try:
        array = _ops.promoted(x)
        if type(array) is not Array or array.ndim != 2:
            raise Unplanned("no matrix")
        axes = tuple(axis % 2 for axis in axes if -2 <= axis < 2)
        if axes == (0, 1):
            return array
        if axes != (1, 0):
            raise Unplanned("axes that are no order")
        return _ops.transpose(array)
    except Unplanned as why:
        reason = why.reason
    return on_host("permute_dims", reason, np.permute_dims, x, axes)


# Shapes.


@public
def reshape(x, /, shape, *, copy=None):
    """The cells in another shape, row after row."""
    try:
        return _ops.reshape(x, shape)
    except Unplanned as why:
        reason = why.reason
    return on_host("reshape", reason, np.reshape, x, shape, copy=copy)


@public
@or_numpy
def broadcast_to(x, /, shape):
    """The array, repeated along dimensions of length 1."""
    return _ops.broadcast_to(x, shape)


@public
def concat(arrays, /, *, axis=0):
    """Arrays, joined along an axis."""
    try:
        return _ops.concat(list(arrays), axis)
    except Unplanned as why:
        reason = why.reason
    return on_host("concat", reason, np.concat, list(arrays), axis=axis)


@public
def stack(arrays, /, *, axis=0):
    """Arrays, joined along a new axis."""
    try:
        return _ops.stack(list(arrays), axis)
    except Unplanned as why:
        reason = why.reason
    return on_host("stack", reason, np.stack, list(arrays), axis=axis)


@public
def expand_dims(x, /, axis=0):
    """The array with another dimension of length 1."""
    try:
        array = _ops.promoted(x)
        if type(array) is not Array:
            raise Unplanned("no array")
        if not -array.ndim - 1 <= axis <= array.ndim:
            raise IndexError(f"there is no axis {axis} in {array.ndim + 1} dimensions")
        axis %= array.ndim + 1
        shape = (*array.shape[:axis], 1, *array.shape[axis:])
        return _ops.reshape(array, shape)
    except Unplanned as why:
        reason = why.reason
    return on_host("expand_dims", reason, np.expand_dims, x, axis)


@public
def squeeze(x, /, axis):
    """The array without dimensions of length 1."""
    try:
        array = _ops.promoted(x)
        if type(array) is not Array:
            raise Unplanned("no array")
        axes = _ops._axes(array, axis)
        axes = tuple(range(array.ndim)) if axes is None else axes
        kept = []
        for at, length in enumerate(array.shape):
            if at not in axes:
                kept.append(length)
            elif length != 1:
                raise ValueError(f"axis {at} has the length {length}, and only 1 can be left out")
        return _ops.reshape(array, tuple(kept))
    except Unplanned as why:
        reason = why.reason
    return on_host("squeeze", reason, np.squeeze, x, axis)


@public
def flip(x, /, *, axis=None):
    """Cells in the opposite order along axes."""
    try:
        return _ops.flip(x, axis)
    except Unplanned as why:
        reason = why.reason
    return on_host("flip", reason, np.flip, x, axis=axis)


@public
def tril(x, /, *, k=0):
    """The cells on and below a diagonal, and zeros."""
    return _triangle("tril", x, k)


@public
def triu(x, /, *, k=0):
    """The cells on and above a diagonal, and zeros."""
    return _triangle("triu", x, k)


def _triangle(name, x, k):
    try:
        return _ops.triangle(name, x, k)
    except Unplanned as why:
        reason = why.reason
    return on_host(name, reason, getattr(np, name), x, k=k)


@public
def sort(x, /, *, axis=-1, descending=False, stable=True):
    """Cells in order along an axis."""
    return _sorted("sort", x, axis, descending, stable)


@public
def argsort(x, /, *, axis=-1, descending=False, stable=True):
    """Where the cells in order come from."""
    return _sorted("argsort", x, axis, descending, stable)


def _sorted(name, x, axis, descending, stable):
    try:
        return _ops.sort(x, axis=axis, descending=descending, indexes=name == "argsort")
    except Unplanned as why:
        reason = why.reason
    host = _descending(name) if descending else getattr(np, name)
    return on_host(name, reason, host, x, axis=axis, stable=stable)


def _descending(name):
    def function(x, axis, stable):
        x = np.flip(x, axis=axis)
        indexes = np.flip(np.argsort(x, axis=axis, stable=stable), axis=axis)
        if name == "argsort":
            return x.shape[axis] - 1 - indexes
        return np.take_along_axis(x, indexes, axis=axis)

    return function


# New arrays.


def _check_device(device):
    if device not in (None, "cpu"):
        raise ValueError(f"there is no device {device!r}, only 'cpu'")


def _full(name, shape, value, dtype, device):
    _check_device(device)
    wanted = np.dtype(np.float64 if dtype is None else dtype)
    try:
        if wanted == np.float64:
            return _ops.full(shape, value, FLOAT)
        if wanted == np.bool_:
            return _ops.full(shape, bool(value), BOOL)
        raise Unplanned(f"dtype {wanted}")
    except Unplanned:
        # Nothing is computed.
        host = np.full(shape, value, dtype=wanted)
        host.flags.writeable = False
        return from_host(host)


@public
def zeros(shape, *, dtype=None, device=None):
    """An array of zeros."""
    return _full("zeros", shape, 0, dtype, device)


@public
def ones(shape, *, dtype=None, device=None):
    """An array of ones."""
    return _full("ones", shape, 1, dtype, device)


@public
def empty(shape, *, dtype=None, device=None):
    """An array whose cells are to be assigned; they are zeros."""
    return _full("empty", shape, 0, dtype, device)


@public
def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one value."""
    if dtype is None:
        dtype = fill_value.dtype if type(fill_value) is Array else np.asarray(fill_value).dtype
    if type(fill_value) is Array:
        fill_value = to_numpy(fill_value)[()]
    return _full("full", shape, fill_value, dtype, device)


@public
def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros in the shape of an array."""
    return _full("zeros_like", np.shape(x), 0, x.dtype if dtype is None else dtype, device)


@public
def ones_like(x, /, *, dtype=None, device=None):
    """Ones in the shape of an array."""
    return _full("ones_like", np.shape(x), 1, x.dtype if dtype is None else dtype, device)


@public
def empty_like(x, /, *, dtype=None, device=None):
    """Cells that are to be assigned, in the shape of an array."""
    return _full("empty_like", np.shape(x), 0, x.dtype if dtype is None else dtype, device)


@public
def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value in the shape of an array."""
    if type(fill_value) is Array:
        fill_value = to_numpy(fill_value)[()]
    return _full("full_like", np.shape(x), fill_value, x.dtype if dtype is None else dtype, device)


@public
def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on a diagonal, and zeros."""
    _check_device(device)
    try:
        if dtype is not None and np.dtype(dtype) != np.float64:
            raise Unplanned(f"dtype {np.dtype(dtype)}")
        return _ops.eye(n_rows, n_cols, k)
    except Unplanned:
        return _made(np.eye(n_rows, n_cols, k=k, dtype=np.float64 if dtype is None else dtype))


def _made(host):
    host.flags.writeable = False
    return from_host(host)


def _number(value):
    return to_numpy(value)[()] if type(value) is Array else value


@public
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from one to before another, evenly spaced."""
    _check_device(device)
    start, stop, step = _number(start), _number(stop), _number(step)
    if stop is None:
        start, stop = 0, start
    return _made(np.arange(start, stop, step, dtype=dtype))


@public
def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """So many numbers from one to another."""
    _check_device(device)
    start, stop = _number(start), _number(stop)
    return _made(np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


@public
def from_dlpack(x, /, *, device=None, copy=None):
    """An array of what has memory by the DLPack protocol."""
    _check_device(device)
    return x if type(x) is Array else asarray(np.from_dlpack(x), copy=copy)


# Types.


@public
def astype(x, dtype, /, *, copy=True, device=None):
    """The array with cells of another type."""
    _check_device(device)
    wanted = np.dtype(dtype)
    if x.dtype == wanted:
        return x
    if x._kind is not None:
        if wanted == np.float64:
            return make(node_of(x), x._shape, FLOAT, x._row, x._sparse)
        if wanted == np.bool_:
            return make(_ops.NOT_EQUAL((node_of(x), 0.0)), x._shape, BOOL, x._row)
        if wanted == np.int64 and x._kind is BOOL:
            return make(node_of(x), x._shape, INT, x._row)
    return on_host("astype", f"dtype {wanted}", lambda host: host.astype(wanted), x)


@public
def can_cast(from_, to, /):
    """Whether cells of one type can become those of another."""
    return np.can_cast(from_.dtype if type(from_) is Array else from_, to)


@public
def result_type(*arrays_and_dtypes):
    """The type of cells that arrays, numbers and types give together."""
    return np.result_type(
        *(np.empty(each.shape[:0] or (1,) * each.ndim, each.dtype) if type(each) is Array else each for each in arrays_and_dtypes)
    )


@public
def isdtype(dtype, kind):
    """Whether a type is of a kind."""
    return np.isdtype(dtype, kind)


@public
def finfo(type, /):
    """What floating-point numbers of a type can be."""
    return np.finfo(type.dtype if isinstance(type, Array) else type)


@public
def iinfo(type, /):
    """What whole numbers of a type can be."""
    return np.iinfo(type.dtype if isinstance(type, Array) else type)
