"""Functions that the engine has operators for: they give arrays that are computed later.

What the modules of planned functions have in common: the operators, arguments as nodes, and broadcasting. A function that
finds arguments which it has no operators for raises `Unplanned` with the reason; its caller (`_functions.py`) then runs
NumPy's.
"""

from __future__ import annotations

import math
import operator

import numpy as np

from ._array import BOOL, FLOAT, Array, from_host, make, node_of, same
from ._errors import ShapeError, at_place
from ._fallbacks import NO_CELLS
from ._native import Node, Operator
from ._places import place
from ._symbols import Symbol

ADD, SUBTRACT = Operator("b(+)"), Operator("b(-)")
MULTIPLY, DIVIDE = Operator("b(*)"), Operator("b(/)")
POWER, MODULUS, QUOTIENT = Operator("b(^)"), Operator("b(%%)"), Operator("b(%/%)")
SMALLER, LARGER = Operator("b(min)"), Operator("b(max)")
LESS, LESS_EQUAL = Operator("b(<)"), Operator("b(<=)")
GREATER, GREATER_EQUAL = Operator("b(>)"), Operator("b(>=)")
EQUAL, NOT_EQUAL = Operator("b(==)"), Operator("b(!=)")
AND, OR, XOR = Operator("b(&)"), Operator("b(|)"), Operator("b(xor)")
NOT, ABS, FLOOR = Operator("u(!)"), Operator("u(abs)"), Operator("u(floor)")
IF_ELSE = Operator("t(ifelse)")
TRANSPOSE, RESHAPE, PRODUCT = Operator("r(t)"), Operator("r(rshape)"), Operator("ba(+*)")
RANGE, PUT = Operator("rix"), Operator("lix")
CBIND, RBIND, REVERSE, DIAGONAL = (
    Operator("b(cbind)"),
    Operator("b(rbind)"),
    Operator("r(rev)"),
    Operator("r(diag)"),
)
FILL, SEQUENCE = Operator("dg(matrix)"), Operator("dg(seq)")
# Each cell of a column with each of a row, by the operator that the third input names.
COMBINATION = Operator("p(outer)", ["left", "right", "op"])
AS_SCALAR, AS_MATRIX = Operator("u(as.scalar)"), Operator("u(as.matrix)")


class Unplanned(Exception):
    """There is no operator for these arguments; the reason."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


def promoted(value):
    """An argument as an array or a number of Python that operators take.

    Raises:
        Unplanned: For what the engine has no cells for.
    """
    if type(value) is Array:
        if value._kind is None:
            raise Unplanned(_why_not(value._host))
        return value
    if type(value) in (float, int, bool):
        return value
    if isinstance(value, (np.floating, np.integer, np.bool_, float, int)):
        return value.item() if isinstance(value, np.generic) else value
    from ._convert import asarray

    if isinstance(value, (complex, str, bytes, Symbol)) or value is None:
        raise Unplanned(f"an argument is {type(value).__name__}")
    array = asarray(value)
    if array._kind is None:
        raise Unplanned(_why_not(array._host))
    return array


def _why_not(host):
    if host.ndim > 2:
        return f"{host.ndim} dimensions"
    if host.size == 0:
        return NO_CELLS
    return f"dtype {host.dtype}"


def kind_of(value):
    if type(value) is Array:
        return value._kind
    if type(value) is float:
        return FLOAT
    if type(value) is bool:
        return BOOL
    return "int"


def shape_of(value):
    return value._shape if type(value) is Array else ()


def number(value):
    """A number of Python as a literal double."""
    try:
        return float(value)
    except OverflowError:
        raise Unplanned("a whole number beyond float64") from None


def broadcast_shape(name, values):
    """The shape that arrays have together.

    Raises:
        ShapeError: Where they have none; it names the lines that asked for them.
    """
    shapes = [shape_of(value) for value in values]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise mismatch(name, values, "do not broadcast") from None


def mismatch(name, values, how):
    """The error of operands whose shapes do not go together; it names the lines that asked for them."""
    where = place()
    shapes = " and ".join(str(shape_of(value)) for value in values)
    text = at_place(f"dimension error[E0401]: shapes {shapes} {how} (in {name})", where)
    for value in values:
        made = value._node.place if type(value) is Array and value._node is not None else None
        if made is not None and made != where:
            text += "\n" + at_place(f"an operand of shape {value._shape} was made here", made)
    file, line = where or (None, None)
    return ShapeError(text, "dimension", name, file, line)


def column(array):
    """The node of an array of one dimension as a column; of others as it is."""
    node = node_of(array)
    return turned(node) if array._row else node


def row(array):
    """The node of an array of one dimension as a row."""
    node = node_of(array)
    return node if array._row else turned(node)


def turned(node):
    """A vector that lies the other way."""
    known = node.reshaped(node.cols, node.rows)
    return TRANSPOSE((node,)) if known is None else known


def scalar(array):
    """The node of an array of one cell as a number."""
    node = node_of(array)
    return node if node.is_scalar else AS_SCALAR((node,))


def matrix(array):
    """The node of an array as a matrix; of one dimension as it lies."""
    node = node_of(array)
    return AS_MATRIX((node,)) if node.is_scalar else node


def operands(name, values):
    """Nodes of arrays such that cells go together, the shape of what they give, and whether it lies as a row."""
    first, *others = values
    if type(first) is Array and all(
        type(other) is not Array or (other._shape == first._shape and other._row == first._row)
        for other in others
    ):
        nodes = [node_of(value) if type(value) is Array else number(value) for value in values]
        return nodes, first._shape, first._row
    shape = broadcast_shape(name, values)
    if len(shape) > 2:
        raise Unplanned(f"{len(shape)} dimensions")
    arrays = [value for value in values if type(value) is Array]
    cells = math.prod(shape)
    lying = len(shape) == 1 and cells > 1
    # A vector lies as the others do, if they agree.
    as_row = lying and all(array._row for array in arrays if array.size > 1)
    nodes = []
    for value in values:
        if type(value) is not Array:
            nodes.append(number(value))
        elif value.size == 1 and (cells > 1 or not shape):
            nodes.append(scalar(value))
        elif len(shape) == 2 and len(value._shape) == 1:
            nodes.append(row(value))
        elif len(shape) == 2:
            nodes.append(matrix(value))
        elif as_row:
            nodes.append(row(value))
        else:
            nodes.append(column(value))
    if len(shape) == 2 and cells > 1:
        nodes = _stretched(nodes, shape)
    elif cells == 1 and shape and all(not isinstance(n, Node) or n.is_scalar for n in nodes):
        # Numbers with an array of one cell.
        nodes[0] = AS_MATRIX((nodes[0],)) if isinstance(nodes[0], Node) else fill(nodes[0], 1, 1)
    return nodes, shape, as_row


def _stretched(nodes, shape):
    """With a matrix of the whole shape among them: a column and a row alone go together in none."""
    vectors = [at for at, n in enumerate(nodes) if isinstance(n, Node) and not n.is_scalar]
    if not vectors or any((nodes[at].rows, nodes[at].cols) == shape for at in vectors):
        return nodes
    # Operators that are fused go through the cells of columns.
    at = min(vectors, key=lambda at: nodes[at].cols)
    nodes[at] = spread(nodes[at], shape)
    return nodes


def spread(vector, shape, where=None):
    """The node of a column or of a row as a matrix of this shape: beside each column, or below each row."""
    rows, cols = shape
    pair = (vector, fill(1.0, 1, cols)) if vector.cols == 1 else (fill(1.0, rows, 1), vector)
    return COMBINATION((*pair, "*"), where)


def fill(value, rows, cols):
    return FILL((value, rows, cols), None, (rows, cols))


def is_sparse(value):
    return type(value) is Array and value._sparse


def floats(x):
    """An array of floats.

    Raises:
        Unplanned: For one that is not.
    """
    (x,) = beside_floats(x)
    return x


def beside_floats(*arrays):
    """Arrays one of which has floats: others of whole numbers and truths count as such beside it, as NumPy has it.

    Raises:
        Unplanned: Where none has floats, or one has cells of a type that the engine does not have.
    """
    arrays = [promoted(x) for x in arrays]
    arrays = [x if type(x) is Array else from_host(np.asarray(x)) for x in arrays]
    kinds = [x._kind for x in arrays]
    if FLOAT not in kinds or None in kinds:
        dtypes = ", ".join(str(x.dtype) for x in arrays)
        raise Unplanned(f"dtype {dtypes}" if len(arrays) == 1 else f"dtypes {dtypes}")
    return arrays


def an_array(x):
    """An array of any kind that the engine has.

    Raises:
        Unplanned: For what is none.
    """
    x = promoted(x)
    if type(x) is not Array:
        raise Unplanned("an argument is a number")
    return x


def as_floats(x):
    """An array of numbers as one of floats: whole numbers that the engine has are exact.

    Raises:
        Unplanned: For booleans.
    """
    if type(x) is not Array:
        return floats(float(x)) if type(x) is float else floats(x)
    if x._kind is BOOL:
        raise Unplanned(f"dtype {x.dtype}")
    return make(node_of(x), x._shape, FLOAT, x._row)


def axes_of(x, axis):
    """Axes from 0, sorted; `None` for all."""
    if axis is None:
        return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    found = set()
    for each in axes:
        each = operator.index(each)
        if not -x.ndim <= each < x.ndim:
            raise np.exceptions.AxisError(each, x.ndim)
        found.add(each % x.ndim)
    if len(found) < len(axes):
        raise ValueError("an axis stands twice")
    return None if len(found) == x.ndim and axes else tuple(sorted(found))


def broadcast_to(x, shape):
    x = an_array(x)
    shape = tuple(shape)
    if shape == x._shape:
        return same(x)
    if len(shape) > 2 or not shape or 0 in shape:
        raise Unplanned("a shape that matrices have not")
    if np.broadcast_shapes(x._shape, shape) != shape:
        raise ValueError(f"the shape {x._shape} does not broadcast to {shape}")
    if x.size == 1:
        rows, cols = shape if len(shape) == 2 else (shape[0], 1)
        node = FILL((scalar(x), rows, cols), place(), (rows, cols))
        return make(node, shape, x._kind)
    if len(shape) == 1:
        return same(x)
    node = row(x) if x.ndim == 1 else node_of(x)
    return make(spread(node, shape, place()), shape, x._kind)
