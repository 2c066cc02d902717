"""Shapes: the same cells elsewhere; and new arrays."""

from __future__ import annotations

import math
import operator

import numpy as np

from ._array import FLOAT, make, node_of, same
from ._native import Node, Operator
from ._ops import (
    CBIND,
    COMBINATION,
    DIAGONAL,
    FILL,
    GREATER_EQUAL,
    IF_ELSE,
    LESS_EQUAL,
    RBIND,
    RESHAPE,
    REVERSE,
    SEQUENCE,
    TRANSPOSE,
    Unplanned,
    an_array,
    axes_of,
    column,
    fill,
    floats,
    matrix,
    scalar,
)
from ._places import place
from ._ranges import index


def transpose(x):
    x = an_array(x)
    if x.ndim != 2:
        raise Unplanned("no matrix")
    node = node_of(x)
    known = node.reshaped(node.cols, node.rows) if 1 in x._shape else None
    node = TRANSPOSE((node,), place()) if known is None else known
    return make(node, x._shape[::-1], x._kind, False, x._sparse)


def lengths(shape):
    """A shape as whole numbers of Python: one of them, or several."""
    try:
        return (operator.index(shape),)
    except TypeError:
        return tuple(map(operator.index, shape))


def reshape(x, shape):
    x = an_array(x)
    shape = lengths(shape)
    if -1 in shape:
        others = math.prod(length for length in shape if length != -1)
        if shape.count(-1) > 1 or others == 0 or x.size % others:
            raise ValueError(f"cannot reshape an array of size {x.size} into shape {shape}")
        shape = tuple(x.size // others if length == -1 else length for length in shape)
    if math.prod(shape) != x.size or any(length < 0 for length in shape):
        raise ValueError(f"cannot reshape an array of size {x.size} into shape {shape}")
    if len(shape) > 2:
        raise Unplanned(f"{len(shape)} dimensions")
    if shape == x._shape:
        return same(x)
    if not shape:
        return make(scalar(x), (), x._kind)
    rows, cols = shape if len(shape) == 2 else (shape[0], 1)
    node = matrix(x)
    if (node.rows, node.cols) == (rows, cols):
        return make(node, shape, x._kind, False, x._sparse and len(shape) == 2)
    if len(shape) == 1 and (node.rows, node.cols) == (1, rows):
        return make(node, shape, x._kind, True)
    known = node.reshaped(rows, cols)
    node = RESHAPE((node, rows, cols), place()) if known is None else known
    return make(node, shape, x._kind, False, x._sparse and len(shape) == 2)


def concat(arrays, axis):
    arrays = [an_array(array) for array in arrays]
    kind, ndim = arrays[0]._kind, arrays[0].ndim
    if any(array._kind is not kind for array in arrays):
        raise Unplanned("arguments of different dtypes")
    if axis is None:
        arrays = [reshape(array, (array.size,)) for array in arrays]
        axis, ndim = 0, 1
    if ndim == 0 or any(array.ndim != ndim for array in arrays):
        raise Unplanned("arguments of different dimensions")
    if not -ndim <= axis < ndim:
        raise np.exceptions.AxisError(axis, ndim)
    axis %= ndim
    if len(arrays) == 1:
        return same(arrays[0])
    if ndim == 1:
        if all(array._row for array in arrays):
            node = CBIND(tuple(map(node_of, arrays)), place())
            return make(node, (node.cols,), kind, True)
        node = RBIND(tuple(map(column, arrays)), place())
        return make(node, (node.rows,), kind)
    other = 1 - axis
    if len({array._shape[other] for array in arrays}) > 1:
        raise ValueError(
            f"arrays of the shapes {[array._shape for array in arrays]} have different lengths "
            f"along axis {other}, and are joined along axis {axis}"
        )
    node = (CBIND if axis else RBIND)(tuple(map(node_of, arrays)), place())
    return make(node, (node.rows, node.cols), kind, False, all(a._sparse for a in arrays))


def stack(arrays, axis):
    arrays = [an_array(array) for array in arrays]
    if len({array._shape for array in arrays}) > 1:
        raise ValueError("all arrays to be stacked have the same shape")
    ndim = arrays[0].ndim
    if ndim > 1:
        raise Unplanned("3 dimensions")
    if not -ndim - 1 <= axis <= ndim:
        raise np.exceptions.AxisError(axis, ndim + 1)
    axis %= ndim + 1
    if ndim == 0:
        return concat([reshape(array, (1,)) for array in arrays], 0)
    shape = (1, arrays[0].size) if axis == 0 else (arrays[0].size, 1)
    return concat([reshape(array, shape) for array in arrays], axis)


def flip(x, axis):
    x = an_array(x)
    if x.ndim == 0:
        raise Unplanned("no dimensions")
    axes = axes_of(x, axis)
    node = column(x) if x.ndim == 1 else node_of(x)
    if axes is None or 0 in axes:
        node = REVERSE((node,), place())
    if x.ndim == 2 and (axes is None or 1 in axes):
        node = TRANSPOSE((REVERSE((TRANSPOSE((node,)),), place()),))
    return make(node, x._shape, x._kind, False, x._sparse)


def roll(x, shift, axis):
    x = an_array(x)
    if isinstance(shift, tuple) or isinstance(axis, tuple):
        raise Unplanned("several shifts")
    if axis is None:
        return reshape(roll(reshape(x, (x.size,)), shift, 0), x._shape)
    if not -x.ndim <= axis < x.ndim:
        raise np.exceptions.AxisError(axis, x.ndim)
    axis %= x.ndim
    length = x._shape[axis]
    at = -shift % length
    if at == 0:
        return same(x)
    before = (slice(None),) * axis
    parts = [index(x, (*before, slice(at, None))), index(x, (*before, slice(None, at)))]
    return concat(parts, axis)


_TRIANGLES = {
    name: Operator(code, ["target", "diag", "values"])
    for name, code in {"tril": "p(lower.tri)", "triu": "p(upper.tri)"}.items()
}


def triangle(name, x, k):
    x = floats(x)
    if x.ndim != 2:
        raise Unplanned("no matrix")
    rows, cols = x._shape
    if k != 0 or rows != cols:
        # How far each cell is below the diagonal.
        down = SEQUENCE((0, rows - 1, 1), None, (rows, 1))
        across = TRANSPOSE((SEQUENCE((0, cols - 1, 1), None, (cols, 1)),))
        below = COMBINATION((down, across, "-"))
        kept = (GREATER_EQUAL if name == "tril" else LESS_EQUAL)((below, float(-k)))
        node = IF_ELSE((kept, node_of(x), 0.0), place())
        return make(node, x._shape, FLOAT, False, x._sparse)
    node = _TRIANGLES[name]((node_of(x), True, True), place(), x._shape)
    return make(node, x._shape, FLOAT, False, x._sparse)


# New arrays.


def full(shape, value, kind):
    shape = lengths(shape)
    if len(shape) > 2 or 0 in shape or any(length < 0 for length in shape):
        raise Unplanned("a shape that matrices have not")
    value = float(value)
    if not shape:
        return make(Node.scalar(value), (), kind)
    rows, cols = shape if len(shape) == 2 else (shape[0], 1)
    return make(FILL((value, rows, cols), place(), (rows, cols)), shape, kind)


def eye(rows, cols, k):
    if rows < 1 or cols not in (None, rows) or k != 0:
        raise Unplanned("no square matrix, or another diagonal")
    node = DIAGONAL((fill(1.0, rows, 1),), place())
    return make(node, (rows, rows))
