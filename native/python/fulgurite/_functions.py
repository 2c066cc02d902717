"""The functions of the namespace: planned where the engine has operators, else NumPy's on evaluated values."""

from __future__ import annotations

import numpy as np

from . import _cellwise, _creation, _hosted, _manipulation, _ops, _products, _reductions
from ._array import BOOL, FLOAT, make, node_of, on_host
from ._cellwise import ARITHMETIC, COMPARISON, LOGICAL, UNARY
from ._convert import asarray
from ._creation import *  # noqa: F403
from ._creation import astype
from ._hosted import *  # noqa: F403
from ._hosted import floor_divide_on_host, named, or_numpy
from ._manipulation import *  # noqa: F403
from ._ops import Unplanned
from ._places import place
from ._symbols import Symbol

__all__ = [
    *_hosted.__all__,
    *_manipulation.__all__,
    *_creation.__all__,
    *UNARY,
    *ARITHMETIC,
    *COMPARISON,
    *LOGICAL,
]


def public(function):
    __all__.append(function.__name__)
    return function


def _defined():
    def unary(name):
        host = getattr(np, name)

        def function(x, /):
            try:
                return _cellwise.unary(name, x)
            except Unplanned as why:
                reason = why.reason
            return on_host(name, reason, host, x)

        return function

    def binary(name, planned):
        host = floor_divide_on_host if name == "floor_divide" else getattr(np, name)

        def function(x1, x2, /):
            try:
                return planned(name, x1, x2)
            except Unplanned as why:
                reason = why.reason
            return on_host(name, reason, host, x1, x2)

        return function

    for name in UNARY:
        yield name, unary(name)
    for name in ARITHMETIC:
        yield name, binary(name, _cellwise.arithmetic)
    for name in COMPARISON:
        yield name, binary(name, _cellwise.comparison)
    for name in LOGICAL:
        yield name, binary(name, _cellwise.logical)


for _name, _function in _defined():
    globals()[_name] = named(_function, _name)


# Cell by cell.


@public
@or_numpy
def negative(x, /):
    """``-x``"""
    return _cellwise.negative(x)


@public
@or_numpy
def positive(x, /):
    """``+x``"""
    return _cellwise.positive(x)


@public
@or_numpy
def square(x, /):
    """``x * x``"""
    return _cellwise.square(x)


@public
@or_numpy
def reciprocal(x, /):
    """``1 / x``"""
    return _cellwise.reciprocal(x)


@public
@or_numpy
def isnan(x, /):
    """Which cells are NaN."""
    return _cellwise.is_nan(x)


@public
@or_numpy
def isinf(x, /):
    """Which cells are infinite."""
    return _cellwise.is_inf(x)


@public
@or_numpy
def isfinite(x, /):
    """Which cells are neither NaN nor infinite."""
    return _cellwise.is_finite(x)


@public
@or_numpy
def logical_not(x, /):
    """Which cells are false."""
    return _cellwise.logical_not(x)


@public
@or_numpy
def where(condition, x1, x2, /):
    """Cells of `x1` where a condition holds, else of `x2`."""
    return _cellwise.where(condition, x1, x2)


@public
def clip(x, /, min=None, max=None):
    """Cells, no smaller than `min` and no larger than `max`."""
    try:
        return _cellwise.clip(x, min, max)
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
    if isinstance(x, Symbol):
        return x.function("sigmoid", (x,), {})
    x = _ops.floats(asarray(x, dtype=np.float64))
    return make(_SIGMOID((node_of(x),), place()), x._shape, FLOAT, x._row)


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
def sum(x, /, axis=None, *, dtype=None, keepdims=False):
    """Sums over all cells, or along axes; with compensation of rounding errors."""
    return _with_dtype("sum", _reductions.aggregate, x, axis, dtype, keepdims)


@public
def prod(x, /, axis=None, *, dtype=None, keepdims=False):
    """Products of all cells, or along axes."""
    return _with_dtype("prod", _reductions.aggregate, x, axis, dtype, keepdims)


@public
def mean(x, /, axis=None, *, keepdims=False):
    """Means of all cells, or along axes."""
    return _with_dtype("mean", _reductions.aggregate, x, axis, None, keepdims)


@public
def max(x, /, axis=None, *, keepdims=False):
    """The largest of all cells, or along axes; NaN where one is."""
    return _with_dtype("max", _reductions.aggregate, x, axis, None, keepdims)


@public
def min(x, /, axis=None, *, keepdims=False):
    """The smallest of all cells, or along axes; NaN where one is."""
    return _with_dtype("min", _reductions.aggregate, x, axis, None, keepdims)


@public
def any(x, /, axis=None, *, keepdims=False):
    """Whether a cell is true."""
    return _with_dtype("any", _reductions.truth, x, axis, None, keepdims)


@public
def all(x, /, axis=None, *, keepdims=False):
    """Whether all cells are true."""
    return _with_dtype("all", _reductions.truth, x, axis, None, keepdims)


def _spread(name, x, axis, correction, keepdims):
    try:
        return _reductions.spread(name, x, axis=axis, correction=correction, keepdims=keepdims)
    except Unplanned as why:
        reason = why.reason
    host = getattr(np, name)
    return on_host(name, reason, host, x, axis=axis, correction=correction, keepdims=keepdims)


@public
def var(x, /, axis=None, *, correction=0.0, keepdims=False):
    """Variances, divided by the number of cells less `correction`."""
    return _spread("var", x, axis, correction, keepdims)


@public
def std(x, /, axis=None, *, correction=0.0, keepdims=False):
    """Standard deviations, the roots of variances."""
    return _spread("std", x, axis, correction, keepdims)


@public
def argmax(x, /, axis=None, *, keepdims=False):
    """Where the largest cell is: the first one, or the first that is NaN."""
    return _with_dtype("argmax", _reductions.index_of, x, axis, None, keepdims)


@public
def argmin(x, /, axis=None, *, keepdims=False):
    """Where the smallest cell is: the first one, or the first that is NaN."""
    return _with_dtype("argmin", _reductions.index_of, x, axis, None, keepdims)


@public
def cumulative_sum(x, /, axis=None, *, dtype=None, include_initial=False):
    """Sums of each cell and those before it along an axis."""
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial)


@public
def cumulative_prod(x, /, axis=None, *, dtype=None, include_initial=False):
    """Products of each cell and those before it along an axis."""
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial)


def _cumulative(name, x, axis, dtype, include_initial):
    try:
        if dtype is not None and np.dtype(dtype) != np.float64:
            raise Unplanned(f"dtype {np.dtype(dtype)}")
        if include_initial:
            raise Unplanned("an initial value")
        return _reductions.cumulative(name, x, axis=axis)
    except Unplanned as why:
        reason = why.reason
    host = getattr(np, name)
    return on_host(name, reason, host, x, axis=axis, dtype=dtype, include_initial=include_initial)


@public
def count_nonzero(x, /, axis=None, *, keepdims=False):
    """How many cells are not zero."""
    try:
        array = _ops.an_array(x)
        if array._kind is not BOOL:
            array = _cellwise.comparison("not_equal", array, 0.0)
        return _reductions.aggregate("sum", array, axis=axis, keepdims=keepdims)
    except Unplanned as why:
        reason = why.reason
    host = np.count_nonzero
    return on_host("count_nonzero", reason, host, x, axis=axis, keepdims=keepdims)


# Products.


@public
@or_numpy
def matmul(x1, x2, /):
    """``x1 @ x2``, the matrix product."""
    return _products.matmul(x1, x2)


@public
def vecdot(x1, x2, /, *, axis=-1):
    """The sums of products of cells along an axis."""
    try:
        left, right = _ops.floats(x1), _ops.floats(x2)
        if not left.ndim or not right.ndim:
            raise ValueError("vectors have at least one dimension")
        if axis != -1 and (axis < 0 or axis != left.ndim - 1 or left.ndim != right.ndim):
            raise Unplanned("vectors along another axis than the last one")
        if left.shape[-1] != right.shape[-1]:
            raise ValueError(
                f"vectors of {left.shape[-1]} and {right.shape[-1]} cells have no product"
            )
        product = _cellwise.arithmetic("multiply", left, right)
        return _reductions.aggregate("sum", product, axis=-1)
    except Unplanned as why:
        reason = why.reason
    return on_host("vecdot", reason, np.vecdot, x1, x2, axis=axis)


@public
def tensordot(x1, x2, /, *, axes=2):
    """The sums of products of cells over axes of both arrays."""
    try:
        if axes != 1:
            raise Unplanned("axes that are not the last one and the first one")
        left, right = _ops.floats(x1), _ops.floats(x2)
        return _products.matmul(left, right)
    except Unplanned as why:
        reason = why.reason
    return on_host("tensordot", reason, np.tensordot, x1, x2, axes=axes)


# Order.


@public
def sort(x, /, axis=-1, *, descending=False, stable=True):
    """Cells in order along an axis."""
    return _sorted("sort", x, axis, descending, stable)


@public
def argsort(x, /, axis=-1, *, descending=False, stable=True):
    """Where the cells in order come from."""
    return _sorted("argsort", x, axis, descending, stable)


def _sorted(name, x, axis, descending, stable):
    try:
        return _reductions.sort(x, axis=axis, descending=descending, indexes=name == "argsort")
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
