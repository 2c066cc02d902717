"""Functions of the standard that run in NumPy on evaluated values, since the engine has no operators for them."""

from __future__ import annotations

import functools

import numpy as np

from ._array import Array, on_host
from ._ops import Unplanned

__all__ = [
    "isin",
    "nonzero",
    "repeat",
    "searchsorted",
    "take",
    "take_along_axis",
    "tile",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
]

NO_OPERATOR = "there is no operator for it"

_UNARY = "bitwise_invert conj imag real signbit"
_BINARY = (
    "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign nextafter"
)


def doc_of(name):
    """The first line of NumPy's documentation that is no signature, as the documentation of ours."""
    lines = (line.strip() for line in (getattr(np, name).__doc__ or "").splitlines())
    first = next((line for line in lines if line and not line.startswith(f"{name}(")), "")
    return f"As ``numpy.{name}``: {first}"


def named(function, name):
    function.__name__ = function.__qualname__ = name
    function.__module__ = "fulgurite"
    function.__doc__ = doc_of(name)
    return function


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


def _unary(name):
    host = getattr(np, name)

    def function(x, /):
        return on_host(name, NO_OPERATOR, host, x)

    return named(function, name)


def _binary(name):
    host = getattr(np, name)

    def function(x1, x2, /):
        return on_host(name, NO_OPERATOR, host, x1, x2)

    return named(function, name)


for _name in _UNARY.split():
    globals()[_name] = _unary(_name)
for _name in _BINARY.split():
    globals()[_name] = _binary(_name)
__all__ += [*_UNARY.split(), *_BINARY.split()]


def floor_divide_on_host(x1, x2):
    """NumPy's, but for infinite operands, where it has NaN or -1 and the standard the floor of the quotient."""
    result = np.floor_divide(x1, x2)
    if result.dtype.kind != "f":
        return result
    is_infinite = np.isinf(x1) | np.isinf(x2)
    if not is_infinite.any():
        return result
    with np.errstate(all="ignore"):
        return np.where(is_infinite, np.floor(np.true_divide(x1, x2)), result).astype(result.dtype)


def isin(x1, x2, /, *, invert=False):
    """Which cells of an array are in another one, or with `invert` are not."""
    return on_host("isin", NO_OPERATOR, np.isin, x1, x2, invert=invert)


def nonzero(x, /):
    """The indexes of cells that are not zero, one array for each dimension."""
    if type(x) is Array and x.ndim == 0:
        raise ValueError("an array without dimensions has no indexes")
    return on_host("nonzero", NO_OPERATOR, np.nonzero, x)


def repeat(x, repeats, /, *, axis=None):
    """Each cell, or part along an axis, so many times."""
    return on_host("repeat", NO_OPERATOR, np.repeat, x, repeats, axis=axis)


def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where values would stand in a vector in ascending order."""
    return on_host("searchsorted", NO_OPERATOR, np.searchsorted, x1, x2, side=side, sorter=sorter)


def take(x, indices, /, *, axis=None):
    """Parts of an array along an axis, by their indexes."""
    if axis is None and type(x) is Array and x.ndim != 1:
        raise TypeError("an axis is needed where there are more dimensions than one")
    return on_host("take", NO_OPERATOR, np.take, x, indices, axis=axis)


def take_along_axis(x, indices, /, *, axis=-1):
    """Cells along an axis, by an array of indexes for each vector along it."""
    return on_host("take_along_axis", NO_OPERATOR, np.take_along_axis, x, indices, axis=axis)


def tile(x, repetitions, /):
    """The array so many times along each dimension."""
    return on_host("tile", NO_OPERATOR, np.tile, x, repetitions)


def unique_all(x, /):
    """Distinct cells, where each stands first, the index of each cell among them, and how often each stands there."""
    return on_host("unique_all", NO_OPERATOR, np.unique_all, x)


def unique_counts(x, /):
    """Distinct cells, and how often each stands there."""
    return on_host("unique_counts", NO_OPERATOR, np.unique_counts, x)


def unique_inverse(x, /):
    """Distinct cells, and the index of each cell among them."""
    return on_host("unique_inverse", NO_OPERATOR, np.unique_inverse, x)


def unique_values(x, /):
    """Distinct cells."""
    return on_host("unique_values", NO_OPERATOR, np.unique_values, x)
