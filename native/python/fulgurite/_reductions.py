"""Functions over axes: aggregates, indexes of extremes, running sums, orders."""

from __future__ import annotations

import math

from . import _ops, _shapes
from ._array import BOOL, FLOAT, INT, make, node_of
from ._native import Node, Operator
from ._ops import (
    AS_MATRIX,
    EQUAL,
    IF_ELSE,
    MULTIPLY,
    NOT_EQUAL,
    OR,
    SEQUENCE,
    SUBTRACT,
    TRANSPOSE,
    Unplanned,
    an_array,
    axes_of,
    floats,
)
from ._places import place

_SQRT = Operator("u(sqrt)")

_AGGREGATES = {
    name: tuple(Operator(f"ua({direction}{code})") for direction in ("", "R", "C"))
    for name, code in {
        "sum": "+",
        "mean": "mean",
        "prod": "*",
        "max": "max",
        "min": "min",
        "var": "var",
    }.items()
}


def _reduced(name, x, node, axis, keepdims, kind):
    """An aggregate of a node, whose cells are those of `x`."""
    axes = axes_of(x, axis)
    full, of_rows, of_columns = _AGGREGATES[name]
    if x.ndim == 0 or axes == ():
        if x.ndim and axes == ():
            raise Unplanned("no axes")
        return make(node, (), kind)
    if axes is None:
        result = full((node,), place())
        if not keepdims:
            return make(result, (), kind)
        shape = (1,) * x.ndim
        return make(AS_MATRIX((result,)), shape, kind)
    rows, cols = x._shape
    if axes == (1,):
        result = of_rows((node,), place())
        return make(result, (rows, 1) if keepdims else (rows,), kind)
    result = of_columns((node,), place())
    return make(result, (1, cols) if keepdims else (cols,), kind, row=not keepdims)


def aggregate(name, x, *, axis=None, keepdims=False):
    x = an_array(x)
    kind = x._kind
    if kind is BOOL and name == "sum":
        result = INT
    elif kind is BOOL and name == "mean":
        result = FLOAT
    elif kind is FLOAT:
        result = FLOAT
    else:
        raise Unplanned(f"dtype {x.dtype}")
    return _reduced(name, x, node_of(x), axis, keepdims, result)


def truth(name, x, *, axis=None, keepdims=False):
    """`any` and `all`."""
    x = an_array(x)
    node = node_of(x)
    if x._kind is not BOOL:
        node = NOT_EQUAL((node, 0.0))
    return _reduced("max" if name == "any" else "min", x, node, axis, keepdims, BOOL)


def spread(name, x, *, axis=None, correction=0.0, keepdims=False):
    """`var` and `std`."""
    x = floats(x)
    axes = axes_of(x, axis)
    if x.ndim == 0 or axes == ():
        raise Unplanned("no axes")
    count = x.size if axes is None else x._shape[axes[0]]
    if count < 2 or count <= correction:
        raise Unplanned("too few cells")
    result = _reduced("var", x, node_of(x), axis, keepdims, FLOAT)
    node = result._node
    if correction != 1:
        node = MULTIPLY((node, (count - 1) / (count - correction)), place())
    if name == "std":
        node = _SQRT((node,), place())
    return make(node, result._shape, FLOAT, result._row)


def index_of(name, x, *, axis=None, keepdims=False):
    """`argmax` and `argmin`: the first of the extreme cells, or of those that are NaN."""
    x = floats(x)
    axes = axes_of(x, axis)
    if x.ndim == 0:
        raise Unplanned("no dimensions")
    if x.ndim == 2 and axes is None:
        x = _shapes.reshape(x, (x.size,))
        if keepdims:
            raise Unplanned("keepdims over all axes")
    largest = "max" if name == "argmax" else "min"
    node = _ops.column(x) if x.ndim == 1 else node_of(x)
    down = x.ndim == 1 or axes == (0,)
    length = node.rows if down else node.cols
    if length == 1:
        # A number may be another one by the last place where it is computed as a cell of a vector.
        if x.ndim == 1:
            return make(_ops.fill(0.0, 1, 1), (1,), INT) if keepdims else make(Node.scalar(0.0), (), INT)
        other = x._shape[1] if down else x._shape[0]
        shape = ((1, other) if down else (other, 1)) if keepdims else (other,)
        rows, cols = shape if keepdims else (other, 1)
        return make(_ops.fill(0.0, rows, cols), shape, INT)
    full, of_rows, of_columns = _AGGREGATES[largest]
    at = SEQUENCE((0, length - 1, 1), None, (length, 1))
    if not down:
        at = TRANSPOSE((at,))
    extreme = (full if x.ndim == 1 else of_columns if down else of_rows)((node,))
    found = OR((EQUAL((node, extreme)), NOT_EQUAL((node, node))))
    first = IF_ELSE((found, at, math.inf))
    least, least_of_rows, least_of_columns = _AGGREGATES["min"]
    if x.ndim == 1:
        result = least((first,), place())
        return make(AS_MATRIX((result,)) if keepdims else result, (1,) if keepdims else (), INT)
    if down:
        result = least_of_columns((first,), place())
        return make(result, (1, x._shape[1]) if keepdims else (x._shape[1],), INT, not keepdims)
    result = least_of_rows((first,), place())
    return make(result, (x._shape[0], 1) if keepdims else (x._shape[0],), INT)


_CUMULATIVE = {"cumulative_sum": Operator("u(cumsum)"), "cumulative_prod": Operator("u(cumprod)")}


def cumulative(name, x, *, axis=None):
    x = floats(x)
    if x.ndim == 0 or (axis is None and x.ndim > 1):
        raise Unplanned("no axis")
    axes = axes_of(x, axis)
    op = _CUMULATIVE[name]
    if x.ndim == 1:
        return make(op((_ops.column(x),), place()), x._shape)
    if axes == (0,):
        return make(op((node_of(x),), place()), x._shape)
    across = op((TRANSPOSE((node_of(x),)),), place())
    return make(TRANSPOSE((across,)), x._shape)


_ORDER = Operator("p(order)", ["target", "by", "decreasing", "index.return"])


def sort(x, *, axis, descending, indexes):
    x = floats(x)
    if x.ndim != 1:
        raise Unplanned("no vector")
    axes_of(x, axis)
    node = _ORDER((_ops.column(x), 1, descending, indexes), place(), (x.size, 1))
    if not indexes:
        return make(node, x._shape)
    return make(SUBTRACT((node, 1.0)), x._shape, INT)
