"""Functions that the engine has operators for: they give arrays that are computed later.

A function that finds arguments which it has no operators for gives `None` together with the reason; its caller
(`_functions.py`) then runs NumPy's.
"""

from __future__ import annotations

import math

import numpy as np

from ._array import BOOL, FLOAT, INT, Array, from_host, make, node_of
from ._errors import ShapeError, at_place
from ._native import Node, Operator
from ._places import place

ADD, SUBTRACT = Operator("b(+)"), Operator("b(-)")
MULTIPLY, DIVIDE = Operator("b(*)"), Operator("b(/)")
POWER, MODULUS, QUOTIENT = Operator("b(^)"), Operator("b(%%)"), Operator("b(%/%)")
SMALLER, LARGER = Operator("b(min)"), Operator("b(max)")
LESS, LESS_EQUAL = Operator("b(<)"), Operator("b(<=)")
GREATER, GREATER_EQUAL = Operator("b(>)"), Operator("b(>=)")
EQUAL, NOT_EQUAL = Operator("b(==)"), Operator("b(!=)")
AND, OR, XOR = Operator("b(&)"), Operator("b(|)"), Operator("b(xor)")
NOT, ABS = Operator("u(!)"), Operator("u(abs)")
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
AS_SCALAR, AS_MATRIX = Operator("u(as.scalar)"), Operator("u(as.matrix)")

NaN = float("nan")


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

    if isinstance(value, (complex, str, bytes)) or value is None:
        raise Unplanned(f"an argument is {type(value).__name__}")
    array = asarray(value)
    if array._kind is None:
        raise Unplanned(_why_not(array._host))
    return array


def _why_not(host):
    if host.ndim > 2:
        return f"{host.ndim} dimensions"
    if host.size == 0:
        return "no cells"
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
        where = place()
        message = f"shapes {' and '.join(map(str, shapes))} do not broadcast"
        text = at_place(f"dimension error: {message} (in {name})", where)
        for value in values:
            made = value._node.place if type(value) is Array and value._node is not None else None
            if made is not None and made != where:
                text += "\n" + at_place(f"an operand of shape {value._shape} was made here", made)
        file, line = where or (None, None)
        raise ShapeError(text, "dimension", name, file, line) from None


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
    whole = [n for n in nodes if isinstance(n, Node) and (n.rows, n.cols) == shape]
    if whole or all(not isinstance(n, Node) or n.is_scalar for n in nodes):
        return nodes
    rows, cols = shape
    for at, node in enumerate(nodes):
        if isinstance(node, Node) and not node.is_scalar:
            nodes[at] = MULTIPLY((fill(1.0, rows, cols), node))
            return nodes
    return nodes


def fill(value, rows, cols):
    return FILL((value, rows, cols), None, (rows, cols))


def _is_sparse(value):
    return type(value) is Array and value._sparse


# Cell by cell.

UNARY = {
    "abs": ABS,
    "acos": Operator("u(acos)"),
    "asin": Operator("u(asin)"),
    "atan": Operator("u(atan)"),
    "ceil": Operator("u(ceil)"),
    "cos": Operator("u(cos)"),
    "cosh": Operator("u(cosh)"),
    "exp": Operator("u(exp)"),
    "floor": Operator("u(floor)"),
    "log": Operator("u(log)"),
    "sin": Operator("u(sin)"),
    "sinh": Operator("u(sinh)"),
    "sqrt": Operator("u(sqrt)"),
    "tan": Operator("u(tan)"),
    "tanh": Operator("u(tanh)"),
}
# Those that give 0 for 0.
_KEEP_ZEROS = {"abs", "asin", "atan", "ceil", "floor", "sin", "sinh", "sqrt", "tan", "tanh"}


def unary(name, x):
    x = _floats(promoted(x))
    node = UNARY[name]((node_of(x),), place())
    return make(node, x._shape, FLOAT, x._row, x._sparse and name in _KEEP_ZEROS)


def _floats(x):
    """An array of floats.

    Raises:
        Unplanned: For one that is not.
    """
    if type(x) is not Array:
        x = from_host(np.asarray(x))
    if x._kind is not FLOAT:
        raise Unplanned(f"dtype {x.dtype}")
    return x


def negative(x):
    x = _floats(promoted(x))
    # 0 - x would give 0 for 0.
    return make(MULTIPLY((node_of(x), -1.0), place()), x._shape, FLOAT, x._row, x._sparse)


def positive(x):
    return _floats(promoted(x))


def square(x):
    x = _floats(promoted(x))
    node = node_of(x)
    return make(MULTIPLY((node, node), place()), x._shape, FLOAT, x._row, x._sparse)


def reciprocal(x):
    x = _floats(promoted(x))
    return make(DIVIDE((1.0, node_of(x)), place()), x._shape, FLOAT, x._row)


def is_nan(x):
    x = _floats(promoted(x))
    node = node_of(x)
    return make(NOT_EQUAL((node, node), place()), x._shape, BOOL, x._row)


def is_inf(x):
    x = _floats(promoted(x))
    node = ABS((node_of(x),))
    return make(EQUAL((node, math.inf), place()), x._shape, BOOL, x._row)


def is_finite(x):
    x = _floats(promoted(x))
    node = ABS((node_of(x),))
    return make(LESS((node, math.inf), place()), x._shape, BOOL, x._row)


def logical_not(x):
    x = promoted(x)
    if kind_of(x) is not BOOL or type(x) is not Array:
        raise Unplanned("arguments that are not boolean")
    return make(NOT((node_of(x),), place()), x._shape, BOOL, x._row)


ARITHMETIC = {
    "add": ADD,
    "subtract": SUBTRACT,
    "multiply": MULTIPLY,
    "divide": DIVIDE,
    "pow": POWER,
    "remainder": MODULUS,
    "floor_divide": QUOTIENT,
    "maximum": LARGER,
    "minimum": SMALLER,
}
COMPARISON = {
    "less": LESS,
    "less_equal": LESS_EQUAL,
    "greater": GREATER,
    "greater_equal": GREATER_EQUAL,
    "equal": EQUAL,
    "not_equal": NOT_EQUAL,
}
LOGICAL = {"logical_and": AND, "logical_or": OR, "logical_xor": XOR}


def arithmetic(name, left, right):
    left, right = promoted(left), promoted(right)
    kinds = (kind_of(left), kind_of(right))
    if FLOAT not in kinds and not (name == "divide" and BOOL not in kinds):
        raise Unplanned("neither argument is of float64")
    if type(left) is not Array and type(right) is not Array:
        raise Unplanned("neither argument is an array")
    nodes, shape, as_row = operands(name, (left, right))
    node = ARITHMETIC[name](tuple(nodes), place())
    return make(node, shape, FLOAT, as_row, _stays_sparse(name, left, right))


def _stays_sparse(name, left, right):
    """Whether the result is a SciPy matrix, as SciPy has it."""
    one, other = _is_sparse(left), _is_sparse(right)
    if name == "multiply":
        return one or other
    if name in ("add", "subtract", "maximum", "minimum"):
        return one and other
    if name == "divide":
        return one and type(right) is not Array
    return False


def comparison(name, left, right):
    left, right = promoted(left), promoted(right)
    kinds = (kind_of(left), kind_of(right))
    if FLOAT not in kinds and kinds != (BOOL, BOOL):
        raise Unplanned("neither argument is of float64")
    if type(left) is not Array and type(right) is not Array:
        raise Unplanned("neither argument is an array")
    nodes, shape, as_row = operands(name, (left, right))
    return make(COMPARISON[name](tuple(nodes), place()), shape, BOOL, as_row)


def logical(name, left, right):
    left, right = promoted(left), promoted(right)
    if kind_of(left) is not BOOL or kind_of(right) is not BOOL:
        raise Unplanned("arguments that are not boolean")
    nodes, shape, as_row = operands(name, (left, right))
    return make(LOGICAL[name](tuple(nodes), place()), shape, BOOL, as_row)


def where(condition, x, y):
    condition, x, y = promoted(condition), promoted(x), promoted(y)
    if kind_of(condition) is not BOOL:
        raise Unplanned("a condition that is not boolean")
    kinds = {kind_of(x), kind_of(y)}
    if kinds == {BOOL}:
        kind = BOOL
    elif FLOAT in kinds and BOOL not in kinds:
        kind = FLOAT
    else:
        raise Unplanned("arguments that are not of float64")
    nodes, shape, as_row = operands("where", (condition, x, y))
    return make(IF_ELSE(tuple(nodes), place()), shape, kind, as_row)


def clip(x, low=None, high=None):
    x = _floats(promoted(x))
    for bound, name in ((low, "maximum"), (high, "minimum")):
        if bound is not None:
            if shape_of(bound) != () and np.broadcast_shapes(shape_of(bound), x._shape) != x._shape:
                raise Unplanned("bounds of another shape")
            x = arithmetic(name, x, bound)
    return x


# Aggregates.

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


def _axes(x, axis):
    """Axes from 0, sorted; `None` for all."""
    if axis is None:
        return None
    axes = axis if isinstance(axis, tuple) else (axis,)
    found = set()
    for each in axes:
        each = each.__index__()
        if not -x.ndim <= each < x.ndim:
            raise np.exceptions.AxisError(each, x.ndim)
        found.add(each % x.ndim)
    if len(found) < len(axes):
        raise ValueError("an axis stands twice")
    return None if len(found) == x.ndim and axes else tuple(sorted(found))


def _reduced(name, x, node, axis, keepdims, kind):
    """An aggregate of a node, whose cells are those of `x`."""
    axes = _axes(x, axis)
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
    x = promoted(x)
    if type(x) is not Array:
        raise Unplanned("no array")
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
    x = promoted(x)
    if type(x) is not Array:
        raise Unplanned("no array")
    node = node_of(x)
    if x._kind is not BOOL:
        node = NOT_EQUAL((node, 0.0))
    return _reduced("max" if name == "any" else "min", x, node, axis, keepdims, BOOL)


def spread(name, x, *, axis=None, correction=0.0, keepdims=False):
    """`var` and `std`."""
    x = _floats(promoted(x))
    axes = _axes(x, axis)
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
        node = UNARY["sqrt"]((node,), place())
    return make(node, result._shape, FLOAT, result._row)


def index_of(name, x, *, axis=None, keepdims=False):
    """`argmax` and `argmin`: the first of the extreme cells, or of those that are NaN."""
    x = _floats(promoted(x))
    axes = _axes(x, axis)
    if x.ndim == 0:
        raise Unplanned("no dimensions")
    if x.ndim == 2 and axes is None:
        x = reshape(x, (x.size,))
        if keepdims:
            raise Unplanned("keepdims over all axes")
    largest = "max" if name == "argmax" else "min"
    node = column(x) if x.ndim == 1 else node_of(x)
    down = x.ndim == 1 or axes == (0,)
    length = node.rows if down else node.cols
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
    x = _floats(promoted(x))
    if x.ndim == 0 or (axis is None and x.ndim > 1):
        raise Unplanned("no axis")
    axes = _axes(x, axis)
    op = _CUMULATIVE[name]
    if x.ndim == 1:
        return make(op((column(x),), place()), x._shape)
    if axes == (0,):
        return make(op((node_of(x),), place()), x._shape)
    across = op((TRANSPOSE((node_of(x),)),), place())
    return make(TRANSPOSE((across,)), x._shape)


# Products.


def matmul(left, right):
    left, right = _floats(promoted(left)), _floats(promoted(right))
    if not left._shape or not right._shape:
        raise Unplanned("no dimensions")
    inner = right._shape[0]
    if left._shape[-1] != inner:
        where = place()
        message = f"shapes {left._shape} and {right._shape} have no product"
        file, line = where or (None, None)
        text = at_place(f"dimension error: {message} (in matmul)", where)
        for value in (left, right):
            made = value._node.place if value._node is not None else None
            if made is not None and made != where:
                text += "\n" + at_place(f"an operand of shape {value._shape} was made here", made)
        raise ShapeError(text, "dimension", "matmul", file, line)
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
    left, right = _floats(promoted(left)), _floats(promoted(right))
    if left.ndim != 1 or right.ndim != 1:
        raise Unplanned("arguments that are no vectors")
    node = PRODUCT((column(left), row(right)), place())
    return make(node, (left.size, right.size))


# Shapes.


def transpose(x):
    x = promoted(x)
    if type(x) is not Array or x.ndim != 2:
        raise Unplanned("no matrix")
    node = node_of(x)
    known = node.reshaped(node.cols, node.rows) if 1 in x._shape else None
    node = TRANSPOSE((node,), place()) if known is None else known
    return make(node, x._shape[::-1], x._kind, False, x._sparse)


def reshape(x, shape):
    x = promoted(x)
    if type(x) is not Array:
        raise Unplanned("no array")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
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
        return x
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


def broadcast_to(x, shape):
    x = promoted(x)
    if type(x) is not Array:
        raise Unplanned("no array")
    shape = tuple(shape)
    if shape == x._shape:
        return x
    if len(shape) > 2 or not shape or 0 in shape:
        raise Unplanned("a shape that matrices have not")
    if np.broadcast_shapes(x._shape, shape) != shape:
        raise ValueError(f"the shape {x._shape} does not broadcast to {shape}")
    if x.size == 1:
        rows, cols = shape if len(shape) == 2 else (shape[0], 1)
        node = FILL((scalar(x), rows, cols), place(), (rows, cols))
        return make(node, shape, x._kind)
    if len(shape) == 1:
        return x
    node = row(x) if x.ndim == 1 else node_of(x)
    return make(MULTIPLY((fill(1.0, *shape), node), place()), shape, x._kind)


def concat(arrays, axis):
    arrays = [promoted(array) for array in arrays]
    if not arrays or any(type(array) is not Array for array in arrays):
        raise Unplanned("arguments that are no arrays")
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
        return arrays[0]
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
    arrays = [promoted(array) for array in arrays]
    if not arrays or any(type(array) is not Array for array in arrays):
        raise Unplanned("arguments that are no arrays")
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
    x = promoted(x)
    if type(x) is not Array or x.ndim == 0:
        raise Unplanned("no dimensions")
    axes = _axes(x, axis)
    node = column(x) if x.ndim == 1 else node_of(x)
    if axes is None or 0 in axes:
        node = REVERSE((node,), place())
    if x.ndim == 2 and (axes is None or 1 in axes):
        node = TRANSPOSE((REVERSE((TRANSPOSE((node,)),), place()),))
    return make(node, x._shape, x._kind, False, x._sparse)


_TRIANGLES = {
    name: Operator(code, ["target", "diag", "values"])
    for name, code in {"tril": "p(lower.tri)", "triu": "p(upper.tri)"}.items()
}


def triangle(name, x, k):
    x = _floats(promoted(x))
    if x.ndim != 2 or k != 0 or x._shape[0] != x._shape[1]:
        raise Unplanned("no square matrix, or another diagonal")
    node = _TRIANGLES[name]((node_of(x), True, True), place(), x._shape)
    return make(node, x._shape, FLOAT, False, x._sparse)


# Linear systems.

_SOLVE = Operator("p(solve)", ["left", "right"])
_OF_SQUARE = {
    "inv": Operator("p(inv)", ["target"]),
    "cholesky": Operator("p(cholesky)", ["target"]),
}


def solve(left, right):
    left, right = _floats(promoted(left)), _floats(promoted(right))
    if left.ndim != 2 or left._shape[0] != left._shape[1] or right._shape[:1] != left._shape[:1]:
        raise Unplanned("no system of as many equations as unknowns")
    right_node = column(right) if right.ndim == 1 else node_of(right)
    node = _SOLVE((node_of(left), right_node), place(), (left._shape[0], right_node.cols))
    return make(node, right._shape)


def of_square(name, x):
    x = _floats(promoted(x))
    if x.ndim != 2 or x._shape[0] != x._shape[1]:
        raise Unplanned("no square matrix")
    return make(_OF_SQUARE[name]((node_of(x),), place(), x._shape), x._shape)


def diagonal(x):
    x = _floats(promoted(x))
    if x.ndim != 2 or x._shape[0] != x._shape[1] or x._shape[0] == 1:
        raise Unplanned("no square matrix")
    return make(DIAGONAL((node_of(x),), place()), x._shape[:1])


_ORDER = Operator("p(order)", ["target", "by", "decreasing", "index.return"])


def sort(x, *, axis, descending, indexes):
    x = _floats(promoted(x))
    if x.ndim != 1:
        raise Unplanned("no vector")
    _axes(x, axis)
    node = _ORDER((column(x), 1, descending, indexes), place(), (x.size, 1))
    if not indexes:
        return make(node, x._shape)
    return make(SUBTRACT((node, 1.0)), x._shape, INT)


# New arrays.


def full(shape, value, kind):
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
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


# Ranges.


def index(x, key):
    """The cells of a key of whole numbers, ranges, `None` and `...`."""
    key = key if isinstance(key, tuple) else (key,)
    places = []
    for part in key:
        if part is None or part is Ellipsis or isinstance(part, slice):
            places.append(part)
        elif isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
            places.append(int(part))
        else:
            raise Unplanned("an index that is no range")
    named = sum(part is not None and part is not Ellipsis for part in places)
    if places.count(Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if named > x.ndim:
        raise IndexError(f"too many indices: the array has {x.ndim} dimensions, and {named} were indexed")
    if Ellipsis not in places:
        places.append(Ellipsis)
    at = places.index(Ellipsis)
    places[at : at + 1] = [slice(None)] * (x.ndim - named)
    bounds, shape, axis, backwards = [], [], 0, []
    for part in places:
        if part is None:
            shape.append(1)
            continue
        length = x._shape[axis]
        if isinstance(part, slice):
            start, stop, step = part.indices(length)
            count = len(range(start, stop, step))
            if count == 0:
                raise Unplanned("no cells")
            if step not in (1, -1):
                raise Unplanned("a step")
            if step == -1:
                start, stop = stop + 1, start + 1
                backwards.append(axis)
            bounds.append((start, stop))
            shape.append(count)
        else:
            if not -length <= part < length:
                raise IndexError(
                    f"index {part} is out of bounds for axis {axis} with size {length}"
                )
            part %= length
            bounds.append((part, part + 1))
        axis += 1
    if len(shape) > 2:
        raise Unplanned(f"{len(shape)} dimensions")
    return _ranged(x, bounds, tuple(shape), backwards)


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
