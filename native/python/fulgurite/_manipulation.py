"""Functions of shapes."""

from __future__ import annotations

import operator

import numpy as np

from . import _cellwise, _ops, _ranges, _shapes
from ._array import on_host, same
from ._hosted import or_numpy
from ._ops import Unplanned
from ._symbols import Rows

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "diff",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "meshgrid",
    "moveaxis",
    "permute_dims",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tril",
    "triu",
    "unstack",
]


def matrix_transpose(x, /):
    """The matrix with rows as columns."""
    try:
        return _shapes.transpose(x)
    except Unplanned as why:
        reason = why.reason
    return on_host("matrix_transpose", reason, np.matrix_transpose, x)


def permute_dims(x, /, axes):
    """The array with its dimensions in another order."""
    try:
        array = _ops.an_array(x)
        if array.ndim != 2:
            raise Unplanned("no matrix")
        axes = tuple(axis % 2 for axis in axes if -2 <= axis < 2)
        if axes == (0, 1):
            return same(array)
        if axes != (1, 0):
            raise Unplanned("axes that are no order")
        return _shapes.transpose(array)
    except Unplanned as why:
        reason = why.reason
    return on_host("permute_dims", reason, np.permute_dims, x, axes)


def reshape(x, /, shape, *, copy=None):
    """The cells in another shape, row after row."""
    try:
        return _shapes.reshape(x, shape)
    except Unplanned as why:
        reason = why.reason
    return on_host("reshape", reason, np.reshape, x, shape, copy=copy)


@or_numpy
def broadcast_to(x, /, shape):
    """The array, repeated along dimensions of length 1."""
    return _ops.broadcast_to(x, shape)


def concat(arrays, /, axis=0):
    """Arrays, joined along an axis; or the rows of lazy frames with the same columns, one behind the other."""
    arrays = list(arrays)
    if arrays and isinstance(arrays[0], Rows):
        return arrays[0]._concat(arrays)
    try:
        return _shapes.concat(arrays, axis)
    except Unplanned as why:
        reason = why.reason
    return on_host("concat", reason, np.concat, arrays, axis=axis)


def stack(arrays, /, axis=0):
    """Arrays, joined along a new axis."""
    try:
        return _shapes.stack(list(arrays), axis)
    except Unplanned as why:
        reason = why.reason
    return on_host("stack", reason, np.stack, list(arrays), axis=axis)


def expand_dims(x, /, axis):
    """The array with another dimension of length 1."""
    try:
        array = _ops.an_array(x)
        axes = axis if isinstance(axis, tuple) else (axis,)
        ndim = array.ndim + len(axes)
        places = set()
        for each in map(operator.index, axes):
            if not -ndim <= each < ndim:
                raise np.exceptions.AxisError(each, ndim)
            places.add(each % ndim)
        if len(places) < len(axes):
            raise ValueError("an axis stands twice")
        lengths = iter(array.shape)
        shape = tuple(1 if at in places else next(lengths) for at in range(ndim))
        return _shapes.reshape(array, shape)
    except Unplanned as why:
        reason = why.reason
    return on_host("expand_dims", reason, np.expand_dims, x, axis)


def squeeze(x, /, axis):
    """The array without dimensions of length 1."""
    try:
        array = _ops.an_array(x)
        axes = _ops.axes_of(array, axis)
        axes = tuple(range(array.ndim)) if axes is None else axes
        kept = []
        for at, length in enumerate(array.shape):
            if at not in axes:
                kept.append(length)
            elif length != 1:
                raise ValueError(f"axis {at} has the length {length}, and only 1 can be left out")
        return _shapes.reshape(array, tuple(kept))
    except Unplanned as why:
        reason = why.reason
    return on_host("squeeze", reason, np.squeeze, x, axis)


def flip(x, /, axis=None):
    """Cells in the opposite order along axes."""
    try:
        return _shapes.flip(x, axis)
    except Unplanned as why:
        reason = why.reason
    return on_host("flip", reason, np.flip, x, axis=axis)


def tril(x, /, *, k=0):
    """The cells on and below a diagonal, and zeros."""
    return _triangle("tril", x, k)


def triu(x, /, *, k=0):
    """The cells on and above a diagonal, and zeros."""
    return _triangle("triu", x, k)


def _triangle(name, x, k):
    try:
        return _shapes.triangle(name, x, k)
    except Unplanned as why:
        reason = why.reason
    return on_host(name, reason, getattr(np, name), x, k=k)


def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes have together.

    >>> import fulgurite as fg
    >>> fg.broadcast_shapes((2, 1), (3,))
    (2, 3)
    """
    return np.broadcast_shapes(*shapes)


def broadcast_arrays(*arrays):
    """Arrays, each repeated to the shape that they have together."""
    shape = np.broadcast_shapes(*(np.shape(array) for array in arrays))
    return tuple(broadcast_to(array, shape) for array in arrays)


def meshgrid(*arrays, indexing="xy"):
    """Coordinates of a grid from those along each axis: an array of the grid's shape for each."""
    try:
        vectors = [_ops.an_array(array) for array in arrays]
        if len(vectors) != 2 or any(vector.ndim != 1 for vector in vectors):
            raise Unplanned("not two vectors")
        if indexing not in ("xy", "ij"):
            raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
        down, across = reversed(vectors) if indexing == "xy" else vectors
        shape = (down.size, across.size)
        grid = (broadcast_to(reshape(down, (-1, 1)), shape), broadcast_to(across, shape))
        return grid[::-1] if indexing == "xy" else grid
    except Unplanned as why:
        reason = why.reason
    return tuple(on_host("meshgrid", reason, np.meshgrid, *arrays, indexing=indexing))


def moveaxis(x, source, destination, /):
    """The array with dimensions at other places."""
    try:
        array = _ops.an_array(x)
        if array.ndim > 2:
            raise Unplanned(f"{array.ndim} dimensions")
        # Where the dimensions of such an array go.
        order = np.moveaxis(
            np.empty((1,) * (array.ndim - 1) + (2,) * (array.ndim > 0)), source, destination
        )
        return same(array) if order.shape[-1:] in ((2,), ()) else _shapes.transpose(array)
    except Unplanned as why:
        reason = why.reason
    return on_host("moveaxis", reason, np.moveaxis, x, source, destination)


def unstack(x, /, axis=0):
    """The parts of an array along an axis, without it."""
    try:
        array = _ops.an_array(x)
        if not -array.ndim <= axis < array.ndim:
            raise np.exceptions.AxisError(axis, array.ndim)
        axis %= array.ndim
        before = (slice(None),) * axis
        return tuple(_ranges.index(array, (*before, at)) for at in range(array.shape[axis]))
    except Unplanned as why:
        reason = why.reason
    return on_host("unstack", reason, np.unstack, x, axis=axis)


def roll(x, /, shift, *, axis=None):
    """The cells moved along axes, those beyond the end to the beginning."""
    try:
        return _shapes.roll(x, shift, axis)
    except Unplanned as why:
        reason = why.reason
    return on_host("roll", reason, np.roll, x, shift, axis=axis)


def diff(x, /, axis=-1, *, n=1, prepend=None, append=None):
    """Differences of neighbouring cells along an axis, `n` times; between parts before and after it, if given."""
    try:
        array = _ops.floats(x)
        if not -array.ndim <= axis < array.ndim:
            raise np.exceptions.AxisError(axis, array.ndim)
        if n < 0:
            raise ValueError(f"differences are taken 0 times or more often, not {n}")
        parts = [_ops.floats(part) for part in (prepend, array, append) if part is not None]
        if len(parts) > 1:
            array = _shapes.concat(parts, axis)
        before = (slice(None),) * (axis % array.ndim)
        for _ in range(n):
            later = _ranges.index(array, (*before, slice(1, None)))
            earlier = _ranges.index(array, (*before, slice(None, -1)))
            array = _cellwise.arithmetic("subtract", later, earlier)
        return same(array)
    except Unplanned as why:
        reason = why.reason
    more = {
        name: value
        for name, value in (("prepend", prepend), ("append", append))
        if value is not None
    }
    return on_host("diff", reason, np.diff, x, axis=axis, n=n, **more)
