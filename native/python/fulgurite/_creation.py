"""New arrays, and the types of cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import _ops, _shapes
from ._array import BOOL, FLOAT, INT, Array, from_host, make, node_of, on_host, same, to_numpy, wrapped
from ._convert import asarray
from ._info import check_device
from ._ops import Unplanned

__all__ = [
    "arange",
    "astype",
    "can_cast",
    "empty",
    "empty_like",
    "eye",
    "finfo",
    "from_dlpack",
    "full",
    "full_like",
    "iinfo",
    "isdtype",
    "linspace",
    "ones",
    "ones_like",
    "result_type",
    "zeros",
    "zeros_like",
]


def _full(name, shape, value, dtype, device):
    check_device(device)
    wanted = np.dtype(np.float64 if dtype is None else dtype)
    shape = _shapes.lengths(shape)
    try:
        if wanted == np.float64:
            return _shapes.full(shape, value, FLOAT)
        if wanted == np.bool_:
            return _shapes.full(shape, bool(value), BOOL)
        raise Unplanned(f"dtype {wanted}")
    except Unplanned:
        # Nothing is computed.
        host = np.full(shape, value, dtype=wanted)
        host.flags.writeable = False
        return from_host(host)


def zeros(shape, *, dtype=None, device=None):
    """An array of zeros."""
    return _full("zeros", shape, 0, dtype, device)


def ones(shape, *, dtype=None, device=None):
    """An array of ones."""
    return _full("ones", shape, 1, dtype, device)


def empty(shape, *, dtype=None, device=None):
    """An array whose cells are to be assigned; they are zeros."""
    return _full("empty", shape, 0, dtype, device)


def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one value."""
    if dtype is None:
        dtype = fill_value.dtype if type(fill_value) is Array else np.asarray(fill_value).dtype
    if type(fill_value) is Array:
        fill_value = to_numpy(fill_value)[()]
    return _full("full", shape, fill_value, dtype, device)


def zeros_like(x, /, *, dtype=None, device=None):
    """Zeros in the shape of an array."""
    return _full("zeros_like", np.shape(x), 0, x.dtype if dtype is None else dtype, device)


def ones_like(x, /, *, dtype=None, device=None):
    """Ones in the shape of an array."""
    return _full("ones_like", np.shape(x), 1, x.dtype if dtype is None else dtype, device)


def empty_like(x, /, *, dtype=None, device=None):
    """Cells that are to be assigned, in the shape of an array."""
    return _full("empty_like", np.shape(x), 0, x.dtype if dtype is None else dtype, device)


def full_like(x, /, fill_value, *, dtype=None, device=None):
    """One value in the shape of an array."""
    if type(fill_value) is Array:
        fill_value = to_numpy(fill_value)[()]
    return _full("full_like", np.shape(x), fill_value, x.dtype if dtype is None else dtype, device)


def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """Ones on a diagonal, and zeros."""
    check_device(device)
    try:
        if dtype is not None and np.dtype(dtype) != np.float64:
            raise Unplanned(f"dtype {np.dtype(dtype)}")
        return _shapes.eye(n_rows, n_cols, k)
    except Unplanned:
        return _made(np.eye(n_rows, n_cols, k=k, dtype=np.float64 if dtype is None else dtype))


def _made(host):
    host.flags.writeable = False
    return from_host(host)


def _number(value):
    return to_numpy(value)[()] if type(value) is Array else value


def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """Numbers from one to before another, evenly spaced."""
    check_device(device)
    start, stop, step = _number(start), _number(stop), _number(step)
    if stop is None:
        start, stop = 0, start
    return _made(np.arange(start, stop, step, dtype=dtype))


def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """So many numbers from one to another."""
    check_device(device)
    start, stop = _number(start), _number(stop)
    return _made(np.linspace(start, stop, num, dtype=dtype, endpoint=endpoint))


def from_dlpack(x, /, *, device=None, copy=None):
    """An array of what has memory by the DLPack protocol."""
    check_device(device)
    return x if type(x) is Array else asarray(np.from_dlpack(x), copy=copy)


# Types.


class FloatInfo(NamedTuple):
    """What floating-point numbers of a type can be."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype


def astype(x, dtype, /, *, copy=True, device=None):
    """The array with cells of another type."""
    check_device(device)
    wanted = np.dtype(dtype)
    if x.dtype == wanted:
        return same(x) if copy else x
    if x._kind is not None:
        if wanted == np.float64:
            return make(node_of(x), x._shape, FLOAT, x._row, x._sparse)
        if wanted == np.bool_:
            return make(_ops.NOT_EQUAL((node_of(x), 0.0)), x._shape, BOOL, x._row)
        if wanted == np.int64 and x._kind is BOOL:
            return make(node_of(x), x._shape, INT, x._row)
    if x._kind is None:
        # As `asarray` does.
        return wrapped(x._host.astype(wanted))
    return on_host("astype", f"dtype {wanted}", lambda host: host.astype(wanted), x)


def can_cast(from_, to, /):
    """Whether cells of one type can become those of another."""
    return np.can_cast(from_.dtype if type(from_) is Array else from_, to)


def result_type(*arrays_and_dtypes):
    """The type of cells that arrays, numbers and types give together."""
    return np.result_type(
        *(
            np.empty(each.shape[:0] or (1,) * each.ndim, each.dtype)
            if type(each) is Array
            else each
            for each in arrays_and_dtypes
        )
    )


def isdtype(dtype, kind):
    """Whether a type is of a kind."""
    return np.isdtype(dtype, kind)


def finfo(type, /):
    """What floating-point numbers of a type can be.

    >>> import fulgurite as fg
    >>> fg.finfo(fg.float32).bits
    32
    """
    found = np.finfo(type.dtype if isinstance(type, Array) else type)
    limits = (found.eps, found.max, found.min, found.smallest_normal)
    return FloatInfo(found.bits, *map(float, limits), found.dtype)


def iinfo(type, /):
    """What whole numbers of a type can be."""
    return np.iinfo(type.dtype if isinstance(type, Array) else type)
