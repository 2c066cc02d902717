"""Cells by their place."""

from __future__ import annotations

import numpy as np

from ._array import BOOL, FLOAT, Array, make, node_of
from ._ops import (
    AS_MATRIX,
    AS_SCALAR,
    IF_ELSE,
    PUT,
    RANGE,
    REVERSE,
    TRANSPOSE,
    Unplanned,
    an_array,
    broadcast_to,
    column,
    floats,
    matrix,
    operands,
    promoted,
    row,
    scalar,
)
from ._places import place

def index(x, key):
    """The cells of a key of whole numbers, ranges, `None` and `...`."""
    bounds, shape, backwards = _bounds(x, key)
    return _ranged(x, bounds, shape, backwards)


def assigned(x, key, value):
    """The array with other cells where a key says.

    Raises:
        Unplanned: For keys that are neither ranges nor masks, and values that are no floats.
    """
    value = promoted(value)
    if type(value) is not Array:
        value = floats(float(value))
    if x._kind is not FLOAT or value._kind is not FLOAT:
        raise Unplanned("cells that are not of float64")
    if type(key) is Array or (isinstance(key, np.ndarray) and key.dtype == np.bool_):
        mask = an_array(key)
        if mask._kind is not BOOL or mask._shape != x._shape or value._shape != ():
            raise Unplanned("an index that is no range")
        nodes, shape, as_row = operands("assignment", (mask, value, x))
        return make(IF_ELSE(tuple(nodes), place()), shape, FLOAT, as_row)
    bounds, shape, backwards = _bounds(x, key)
    if backwards or None in (key if isinstance(key, tuple) else (key,)):
        raise Unplanned("a step")
    while len(value._shape) > len(shape) and value._shape[0] == 1:
        value = index(value, 0)
    if np.broadcast_shapes(value._shape, shape) != shape:
        raise ValueError(f"cells of the shape {value._shape} have no place in {shape}")
    if not shape:
        part = AS_MATRIX((scalar(value),))
    else:
        value = broadcast_to(value, shape)
        # A vector lies in a matrix as its range does.
        lies = len(shape) == 1 and x.ndim == 2 and bounds[0][1] - bounds[0][0] == 1
        part = matrix(value) if len(shape) == 2 else row(value) if lies and shape[0] > 1 else column(value)
    if x.ndim == 0:
        return make(scalar(value), (), FLOAT)
    target = column(x) if x.ndim == 1 else node_of(x)
    if x.ndim == 1:
        bounds = [*bounds, (0, 1)]
    (top, bottom), (left, right) = bounds
    node = PUT((target, part, top + 1, bottom, left + 1, right), place())
    return make(node, x._shape, FLOAT, False, x._sparse)


def _bounds(x, key):
    """The range of rows and of columns that a key names, the shape of its cells, and the axes whose order it turns."""
    bounds, shape, axis, backwards = [], [], 0, []
    lengths = x._shape
    wide = False
    key = key if isinstance(key, tuple) else (key,)
    for part in key:
        if part is None:
            shape.append(1)
            continue
        if part is Ellipsis:
            if wide:
                raise IndexError("an index can only have a single ellipsis ('...')")
            wide = True
            through = lengths[axis : axis + len(lengths) - _named(key)]
            bounds += [(0, length) for length in through]
            shape += through
            axis += len(through)
            continue
        is_range = isinstance(part, slice)
        if not is_range and (
            isinstance(part, (bool, np.bool_)) or not isinstance(part, (int, np.integer))
        ):
            raise Unplanned("an index that is no range")
        if axis >= len(lengths):
            raise IndexError(
                f"too many indices: the array has {x.ndim} dimensions, and {_named(key)} were indexed"
            )
        length = lengths[axis]
        if is_range:
            start, stop, step = part.indices(length)
            if step not in (1, -1):
                raise Unplanned("a step")
            count = (stop - start) * step
            if count <= 0:
                raise Unplanned("a range without cells")
            if step == -1:
                start, stop = stop + 1, start + 1
                backwards.append(axis)
            bounds.append((start, stop))
            shape.append(count)
        else:
            at = int(part)
            if not -length <= at < length:
                raise IndexError(
                    f"index {at} is out of bounds for axis {axis} with size {length}"
                )
            at %= length
            bounds.append((at, at + 1))
        axis += 1
    for length in lengths[axis:]:
        bounds.append((0, length))
        shape.append(length)
    if len(shape) > 2:
        raise Unplanned(f"{len(shape)} dimensions")
    return bounds, tuple(shape), backwards


def _named(key):
    """How many axes a key speaks of."""
    return sum(part is not None and part is not Ellipsis for part in key)


def _ranged(x, bounds, shape, backwards):
    node = matrix(x)
    if x.ndim == 1:
        bounds = [(0, 1), *bounds] if x._row else [*bounds, (0, 1)]
        down = [axis + x._row for axis in backwards]
    else:
        down = backwards
    if bounds:
        (top, bottom), (left, right) = bounds
        if (top, bottom, left, right) != (0, node.rows, 0, node.cols):
            known = None
            if (left, right) == (0, node.cols):
                known = node.row_range(top, bottom)
            if known is None:
                known = RANGE((node, top + 1, bottom, left + 1, right), place())
            node = known
    if 0 in down:
        node = REVERSE((node,), place())
    if 1 in down:
        node = TRANSPOSE((REVERSE((TRANSPOSE((node,)),), place()),))
    return as_shape(node, shape, x._kind, x._sparse)


def as_shape(node, shape, kind, sparse=False):
    """An array of a node that has its cells, one of whose sizes is 1 if the shape has fewer dimensions."""
    if not shape:
        return make(AS_SCALAR((node,), place()), (), kind)
    if len(shape) == 1:
        return make(node, shape, kind, node.rows == 1 and node.cols > 1)
    if (node.rows, node.cols) != shape:
        known = node.reshaped(*shape)
        node = TRANSPOSE((node,), place()) if known is None else known
    return make(node, shape, kind, False, sparse)
