"""Products and linear systems."""

from __future__ import annotations

from ._array import FLOAT, make, node_of
from ._native import Operator
from ._ops import AS_SCALAR, DIAGONAL, PRODUCT, Unplanned, beside_floats, column, floats, mismatch, row
from ._places import place


def matmul(left, right):
    left, right = beside_floats(left, right)
    if not left._shape or not right._shape:
        raise Unplanned("no dimensions")
    inner = right._shape[0]
    if left._shape[-1] != inner:
        raise mismatch("matmul", (left, right), "have no product")
    where = place()
    if left.ndim == 2 and right.ndim == 2:
        node = PRODUCT((node_of(left), node_of(right)), where)
        shape = (left._shape[0], right._shape[1])
        return make(node, shape, FLOAT, False, left._sparse and right._sparse)
    if left.ndim == 2:
        return make(PRODUCT((node_of(left), column(right)), where), left._shape[:1])
    if right.ndim == 2:
        return make(PRODUCT((row(left), node_of(right)), where), right._shape[1:], FLOAT, True)
    product = PRODUCT((row(left), column(right)), where)
    return make(AS_SCALAR((product,), where), ())


def outer(left, right):
    left, right = beside_floats(left, right)
    if left.ndim != 1 or right.ndim != 1:
        raise Unplanned("arguments that are no vectors")
    node = PRODUCT((column(left), row(right)), place())
    return make(node, (left.size, right.size))


_SOLVE = Operator("p(solve)", ["left", "right"])
_OF_SQUARE = {
    "inv": Operator("p(inv)", ["target"]),
    "cholesky": Operator("p(cholesky)", ["target"]),
}


def solve(left, right):
    left, right = beside_floats(left, right)
    if left.ndim != 2 or left._shape[0] != left._shape[1] or right._shape[:1] != left._shape[:1]:
        raise Unplanned("no system of as many equations as unknowns")
    right_node = column(right) if right.ndim == 1 else node_of(right)
    node = _SOLVE((node_of(left), right_node), place(), (left._shape[0], right_node.cols))
    return make(node, right._shape)


def of_square(name, x):
    x = floats(x)
    if x.ndim != 2 or x._shape[0] != x._shape[1]:
        raise Unplanned("no square matrix")
    return make(_OF_SQUARE[name]((node_of(x),), place(), x._shape), x._shape)


def diagonal(x):
    x = floats(x)
    if x.ndim != 2 or x._shape[0] != x._shape[1]:
        raise Unplanned("no square matrix")
    if x._shape[0] == 1:
        # The diagonal of a matrix of one column would be a matrix.
        return make(node_of(x), (1,))
    return make(DIAGONAL((node_of(x),), place()), x._shape[:1])
