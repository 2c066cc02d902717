"""Operators and methods of arrays."""

from __future__ import annotations

import operator

import numpy as np

from . import _cellwise, _functions, _ranges
from ._array import (
    FLOAT,
    Array,
    become,
    from_host,
    is_known,
    on_host,
    own_host,
    same,
    to_numpy,
    wrapped,
)
from ._fallbacks import note
from ._ops import Unplanned
from ._symbols import Symbol


def _forward(name):
    function = getattr(_functions, name)

    def method(self, other):
        if type(other) is not Array and _is_foreign(other):
            return NotImplemented
        return function(self, other)

    return method


def _backward(name):
    function = getattr(_functions, name)

    def method(self, other):
        if _is_foreign(other):
            return NotImplemented
        return function(other, self)

    return method


def _is_foreign(other):
    """What knows better what to do with an array, or nothing at all."""
    return isinstance(other, (str, bytes, dict, Symbol)) or other is None


def _install():
    arithmetic = {
        "add": "add",
        "sub": "subtract",
        "mul": "multiply",
        "truediv": "divide",
        "floordiv": "floor_divide",
        "mod": "remainder",
        "pow": "pow",
        "matmul": "matmul",
        "lshift": "bitwise_left_shift",
        "rshift": "bitwise_right_shift",
    }
    for short, name in arithmetic.items():
        setattr(Array, f"__{short}__", _forward(name))
        setattr(Array, f"__r{short}__", _backward(name))
    Array.__pow__, Array.__rpow__ = _pow, _rpow
    for short, logical in {"and": "logical_and", "or": "logical_or", "xor": "logical_xor"}.items():
        setattr(Array, f"__{short}__", _bits(short, logical))
        setattr(Array, f"__r{short}__", _bits(short, logical))
    comparisons = {
        "lt": "less",
        "le": "less_equal",
        "gt": "greater",
        "ge": "greater_equal",
        "eq": "equal",
        "ne": "not_equal",
    }
    for short, name in comparisons.items():
        setattr(Array, f"__{short}__", _forward(name))
    Array.__neg__ = lambda self: _functions.negative(self)
    Array.__pos__ = lambda self: _functions.positive(self)
    Array.__abs__ = lambda self: _functions.abs(self)
    Array.__invert__ = _invert
    for method in (_transposed, _matrix_transposed):
        setattr(
            Array,
            {"_transposed": "T", "_matrix_transposed": "mT"}[method.__name__],
            property(method),
        )
    for name in ("sum", "prod", "mean", "max", "min", "any", "all", "argmax", "argmin"):
        setattr(Array, name, _aggregate(name))
    for name in ("var", "std"):
        setattr(Array, name, _spread(name))
    for method in (
        _astype,
        _reshape,
        _flatten,
        _dot,
        _clip,
        _cumsum,
        _cumprod,
        _squeeze,
        _transpose,
        _copy,
        _round,
    ):
        setattr(Array, method.__name__[1:], method)
        method.__name__ = method.__name__[1:]
    Array.ravel = Array.flatten
    Array.__getitem__ = _get
    Array.__setitem__ = _set


def _pow(self, other):
    if type(other) is not Array and _is_foreign(other):
        return NotImplemented
    try:
        return _cellwise.arithmetic("pow", self, other)
    except Unplanned as why:
        reason = why.reason
    # NumPy's operator takes other functions than `power` for some exponents.
    return on_host("pow", reason, operator.pow, self, other)


def _rpow(self, other):
    return NotImplemented if _is_foreign(other) else _functions.pow(other, self)


def _bits(short, logical):
    planned = getattr(_functions, logical)
    of_numpy = getattr(_functions, f"bitwise_{short}")

    def method(self, other):
        if _is_foreign(other):
            return NotImplemented
        is_bool = self.dtype == np.bool_ and (
            isinstance(other, (bool, np.bool_)) or getattr(other, "dtype", None) == np.bool_
        )
        return (planned if is_bool else of_numpy)(self, other)

    return method


def _invert(self):
    if self.dtype == np.bool_:
        return _functions.logical_not(self)
    return _functions.bitwise_invert(self)


def _transposed(self):
    """The matrix with rows as columns."""
    return (
        self if self.ndim < 2 else _functions.permute_dims(self, tuple(reversed(range(self.ndim))))
    )


def _matrix_transposed(self):
    """The matrix with rows as columns; of several matrices each."""
    if self.ndim < 2:
        raise ValueError("a matrix has two dimensions")
    return _functions.matrix_transpose(self)


def _aggregate(name):
    function = getattr(_functions, name)

    def method(self, axis=None, *, keepdims=False):
        return function(self, axis=axis, keepdims=keepdims)

    method.__name__ = name
    method.__doc__ = function.__doc__
    return method


def _spread(name):
    function = getattr(_functions, name)

    def method(self, axis=None, *, ddof=0, correction=None, keepdims=False):
        correction = ddof if correction is None else correction
        return function(self, axis=axis, correction=correction, keepdims=keepdims)

    method.__name__ = name
    method.__doc__ = function.__doc__
    return method


def _astype(self, dtype, copy=True):
    """The array with cells of another type."""
    return _functions.astype(self, dtype, copy=copy)


def _reshape(self, *shape):
    """The cells in another shape, row after row."""
    return _functions.reshape(self, shape[0] if len(shape) == 1 else shape)


def _flatten(self):
    """The cells in one dimension, row after row."""
    return _functions.reshape(self, (-1,))


def _dot(self, other):
    """The matrix product; with a number, the product."""
    if np.ndim(other) == 0 or self.ndim == 0:
        return _functions.multiply(self, other)
    return _functions.matmul(self, other)


def _clip(self, min=None, max=None):
    """Cells, no smaller than `min` and no larger than `max`."""
    return _functions.clip(self, min, max)


def _cumsum(self, axis=None):
    """Sums of each cell and those before it."""
    return _functions.cumulative_sum(self if axis is not None else _flatten(self), axis=axis)


def _cumprod(self, axis=None):
    """Products of each cell and those before it."""
    return _functions.cumulative_prod(self if axis is not None else _flatten(self), axis=axis)


def _squeeze(self, axis=None):
    """The array without dimensions of length 1."""
    return _functions.squeeze(self, axis)


def _transpose(self, *axes):
    """The array with its dimensions in another order."""
    if not axes or axes == (None,):
        return _transposed(self)
    return _functions.permute_dims(self, axes[0] if len(axes) == 1 else axes)


def _copy(self):
    """An array with the same cells, which assignments to this one do not change."""
    return same(self)


def _round(self, decimals=0):
    """Cells, rounded; halves to even numbers."""
    return on_host("round", "there is no operator for it", np.round, self, decimals)


# Cells.


def _get(self, key):
    reason = None
    # NumPy has cells that are no floats: the engine would convert all of them for a few.
    is_hosts = self._kind is not FLOAT and self._host is not None
    if self._kind is not None and not (is_hosts and self._node is None):
        try:
            return _ranges.index(self, key)
        except Unplanned as why:
            reason = why.reason
    if is_hosts:
        # They are looked up, and nothing is computed.
        keys = tuple(map(_host_or_same, key)) if type(key) is tuple else _host_or_same(key)
        return wrapped(self._host[keys])
    if type(key) is tuple:
        return on_host("indexing", reason, lambda host, key: host[key], self, key)
    return on_host("indexing", reason, lambda host, key: host[key], self, key)


def _set(self, key, value):
    """Assigns to cells: the array becomes another one, and arrays that were made of it stay as they are.

    Where all cells are known, they are written; else it is an operator of the plan.
    """
    if not (is_known(self) and is_known(value) and all(map(is_known, _parts(key)))):
        try:
            become(self, _ranges.assigned(self, key, value))
            return
        except Unplanned as why:
            note("assignment to cells", why.reason)
    key = tuple(map(_host_or_same, key)) if type(key) is tuple else _host_or_same(key)
    host = own_host(self)
    try:
        host[key] = _host_or_same(value)
    finally:
        host.flags.writeable = False
    become(self, from_host(host))


def _parts(key):
    return key if type(key) is tuple else (key,)


def _host_or_same(value):
    return to_numpy(value) if type(value) is Array else value


_install()
