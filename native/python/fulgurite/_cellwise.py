"""Functions of cells, composed of the engine's operators so that every cell is what NumPy gives.

Where an operator differs from NumPy's function at some values, others choose among results cell by cell: values are not
known yet when a function is planned. Formulas for functions without an operator are
fdlibm's; they are right to a few units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from . import _ops
from ._array import BOOL, EXACT_INT, FLOAT, INT, Array, make, node_of, same
from ._native import Node, Operator
from ._ops import (
    ABS,
    ADD,
    AND,
    DIVIDE,
    EQUAL,
    FLOOR,
    GREATER,
    GREATER_EQUAL,
    IF_ELSE,
    LARGER,
    LESS,
    LESS_EQUAL,
    MODULUS,
    MULTIPLY,
    NOT,
    NOT_EQUAL,
    OR,
    POWER,
    QUOTIENT,
    SMALLER,
    SUBTRACT,
    XOR,
    Unplanned,
    an_array,
    floats,
    is_sparse,
    kind_of,
    operands,
    promoted,
    shape_of,
)
from ._places import place

# A zero that rewrites do not see: they take `x + 0` for `x`, but -0.0 + 0 is 0.0.
ZERO = Node.scalar(0.0)

LN_2 = math.log(2.0)

# From here on the square of a number hides 1 beside it.
HIDES_ONE = 2.0**28

_OPERATORS = {
    "abs": ABS,
    "floor": FLOOR,
    **{
        name: Operator(f"u({name})")
        for name in (
            "acos asin atan ceil cos cosh exp expm1 log log10 log1p log2 sin sinh sqrt tan tanh".split()
        )
    },
    "round": Operator("u(rint)"),
}
_CEIL, _EXP, _LOG, _SQRT, _ATAN = (_OPERATORS[name] for name in "ceil exp log sqrt atan".split())
_LOG1P = _OPERATORS["log1p"]
_SIGN = Operator("u(sign)")

# Those that give 0 for 0: what they give of a sparse matrix is sparse.
_KEEP_ZEROS = frozenset(
    "abs asin asinh atan atanh ceil expm1 floor log1p round sign sin sinh sqrt tan tanh trunc".split()
)
# Those that take whole numbers as floats; the others keep their dtype.
_FLOAT_RESULT = frozenset(
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt tan tanh".split()
)


def _sign(x, where):
    # NumPy gives 0.0 for -0.0.
    return ADD((_SIGN((x,), where), ZERO), where)


def _trunc(x, where):
    return IF_ELSE((LESS((x, 0.0)), _CEIL((x,)), FLOOR((x,))), where)


def _asinh(x, where):
    size = ABS((x,))
    square = MULTIPLY((size, size))
    root = _SQRT((ADD((square, 1.0)),))
    near = _LOG1P((ADD((size, DIVIDE((square, ADD((root, 1.0)))))),))
    value = IF_ELSE((GREATER((size, HIDES_ONE)), ADD((_LOG((size,)), LN_2)), near))
    value = IF_ELSE((LESS((x, 0.0)), MULTIPLY((value, -1.0)), value))
    return IF_ELSE((EQUAL((x, 0.0)), x, value), where)


def _acosh(x, where):
    more = SUBTRACT((x, 1.0))
    root = _SQRT((ADD((MULTIPLY((more, 2.0)), MULTIPLY((more, more)))),))
    near = _LOG1P((ADD((more, root)),))
    value = IF_ELSE((GREATER((x, HIDES_ONE)), ADD((_LOG((x,)), LN_2)), near))
    return IF_ELSE((LESS((x, 1.0)), math.nan, value), where)


def _atanh(x, where):
    size = ABS((x,))
    ratio = DIVIDE((MULTIPLY((size, 2.0)), SUBTRACT((1.0, size))))
    value = MULTIPLY((_LOG1P((ratio,)), 0.5))
    value = IF_ELSE((LESS((x, 0.0)), MULTIPLY((value, -1.0)), value))
    return IF_ELSE((EQUAL((x, 0.0)), x, value), where)


_COMPOSED = {
    "sign": _sign,
    "trunc": _trunc,
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
}

UNARY = (*_OPERATORS, *_COMPOSED)


def unary(name, x):
    x = promoted(x)
    if type(x) is not Array or (x._kind is INT and name in _FLOAT_RESULT):
        x = _ops.as_floats(x)
    if x._kind is not FLOAT:
        raise Unplanned(f"dtype {x.dtype}")
    operator = _OPERATORS.get(name)
    if operator is None:
        node = _COMPOSED[name](node_of(x), place())
    else:
        node = operator((node_of(x),), place())
    return make(node, x._shape, FLOAT, x._row, x._sparse and name in _KEEP_ZEROS)


def negative(x):
    x = floats(x)
    # 0 - x would give 0 for 0.
    return make(MULTIPLY((node_of(x), -1.0), place()), x._shape, FLOAT, x._row, x._sparse)


def positive(x):
    return same(floats(x))


def square(x):
    x = floats(x)
    node = node_of(x)
    return make(MULTIPLY((node, node), place()), x._shape, FLOAT, x._row, x._sparse)


def reciprocal(x):
    x = floats(x)
    return make(DIVIDE((1.0, node_of(x)), place()), x._shape, FLOAT, x._row)


def is_nan(x):
    x = floats(x)
    node = node_of(x)
    return make(NOT_EQUAL((node, node), place()), x._shape, BOOL, x._row)


def is_inf(x):
    x = floats(x)
    node = ABS((node_of(x),))
    return make(EQUAL((node, math.inf), place()), x._shape, BOOL, x._row)


def is_finite(x):
    x = floats(x)
    node = ABS((node_of(x),))
    return make(LESS((node, math.inf), place()), x._shape, BOOL, x._row)


def logical_not(x):
    x = an_array(x)
    operator = NOT if x._kind is BOOL else EQUAL
    inputs = (node_of(x),) if x._kind is BOOL else (node_of(x), 0.0)
    return make(operator(inputs, place()), x._shape, BOOL, x._row)


# Two arguments.


def _add(left, right, where):
    # `x + 0`, but not `x + -0.0`, changes the sign of a zero; so does `x - -0.0` below.
    if type(right) is float and right == 0.0:
        right = ZERO if math.copysign(1.0, right) > 0 else right
    elif type(left) is float and left == 0.0:
        left = ZERO if math.copysign(1.0, left) > 0 else left
    return ADD((left, right), where)


def _subtract(left, right, where):
    if type(right) is float and right == 0.0 and math.copysign(1.0, right) < 0:
        return ADD((left, ZERO), where)
    return SUBTRACT((left, right), where)


def _pow(base, exponent, where):
    """As C's `pow`: 1 to any power is 1, and so is -1 to an infinite one. The engine's gives NaN for those."""
    if type(exponent) is float and exponent == 0.5:
        # As NumPy has it. The power of -inf would be inf.
        return _SQRT((base,), where) if isinstance(base, Node) else POWER((base, exponent), where)
    if type(exponent) is float and math.isfinite(exponent):
        return POWER((base, exponent), where)
    if type(base) is float and abs(base) != 1.0:
        return POWER((base, exponent), where)
    is_one = EQUAL((base, 1.0))
    is_unit = AND((EQUAL((ABS((base,)), 1.0)), EQUAL((ABS((exponent,)), math.inf))))
    return IF_ELSE((OR((is_one, is_unit)), 1.0, POWER((base, exponent))), where)


def _remainder(left, right, where):
    """A zero has the sign of the divisor."""
    rest = MODULUS((left, right), where)
    zero = math.copysign(0.0, right) if type(right) is float else DIVIDE((0.0, right))
    return IF_ELSE((EQUAL((rest, 0.0)), zero, rest), where)


def _floor_divide(left, right, where):
    """From the exact remainder of sizes: a quotient may round up to the next whole number. Of an infinite operand the
    standard wants the floor of the quotient."""
    quotient = DIVIDE((left, right), where)
    rest = MODULUS((ABS((left,)), ABS((right,))))
    rest = IF_ELSE((LESS((left, 0.0)), MULTIPLY((rest, -1.0)), rest))
    signs_differ = XOR((LESS((right, 0.0)), LESS((rest, 0.0))))
    goes_down = AND((NOT_EQUAL((rest, 0.0)), signs_differ))
    exact = SUBTRACT((DIVIDE((SUBTRACT((left, rest)), right)), IF_ELSE((goes_down, 1.0, 0.0))))
    low = FLOOR((exact,))
    goes_up = GREATER((SUBTRACT((exact, low)), 0.5))
    whole = IF_ELSE((goes_up, ADD((low, 1.0)), low))
    whole = IF_ELSE((EQUAL((exact, 0.0)), MULTIPLY((quotient, 0.0)), whole))
    is_plain = EQUAL((right, 0.0))
    for operand in (left, right):
        if isinstance(operand, Node):
            is_plain = OR((is_plain, EQUAL((ABS((operand,)), math.inf))))
        elif math.isinf(operand):
            return QUOTIENT((left, right), where)
    return IF_ELSE((is_plain, QUOTIENT((left, right)), whole), where)


def _is_negative(x):
    """Whether the sign of a number is minus, that of a zero as well."""
    return OR((LESS((x, 0.0)), LESS((DIVIDE((1.0, x)), 0.0))))


def _atan2(y, x, where):
    tall, wide = ABS((y,)), ABS((x,))
    value = _ATAN((DIVIDE((tall, wide)),))
    is_origin = EQUAL((LARGER((tall, wide)), 0.0))
    is_corner = EQUAL((SMALLER((tall, wide)), math.inf))
    value = IF_ELSE((is_origin, 0.0, IF_ELSE((is_corner, math.pi / 4, value))))
    value = IF_ELSE((_is_negative(x), SUBTRACT((math.pi, value)), value))
    return IF_ELSE((_is_negative(y), MULTIPLY((value, -1.0)), value), where)


def _hypot(x, y, where):
    one, other = ABS((x,)), ABS((y,))
    long, short = LARGER((one, other)), SMALLER((one, other))
    ratio = DIVIDE((short, long))
    value = MULTIPLY((long, _SQRT((ADD((MULTIPLY((ratio, ratio)), 1.0)),))))
    is_infinite = OR((EQUAL((one, math.inf)), EQUAL((other, math.inf))))
    value = IF_ELSE((EQUAL((long, 0.0)), 0.0, value))
    return IF_ELSE((is_infinite, math.inf, value), where)


def _logaddexp(x, y, where):
    apart = MULTIPLY((ABS((SUBTRACT((x, y)),)), -1.0))
    value = ADD((LARGER((x, y)), _LOG1P((_EXP((apart,)),))))
    return IF_ELSE((EQUAL((x, y)), ADD((x, LN_2)), value), where)


ARITHMETIC = {
    "add": _add,
    "subtract": _subtract,
    "multiply": lambda left, right, where: MULTIPLY((left, right), where),
    "divide": lambda left, right, where: DIVIDE((left, right), where),
    "pow": _pow,
    "remainder": _remainder,
    "floor_divide": _floor_divide,
    "maximum": lambda left, right, where: LARGER((left, right), where),
    "minimum": lambda left, right, where: SMALLER((left, right), where),
    "atan2": _atan2,
    "hypot": _hypot,
    "logaddexp": _logaddexp,
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

# Whole numbers give floats.
_OF_INTS = frozenset(("divide", "atan2", "hypot", "logaddexp"))


def _are_alike(left, right):
    """Whether cells of floats lie alike, so that nothing else has to be asked."""
    return (
        type(left) is Array
        and type(right) is Array
        and left._kind is right._kind is FLOAT
        and left._shape == right._shape
        and left._row == right._row
    )


def arithmetic(name, left, right):
    # What most calls are: two arrays of floats alike.
    if _are_alike(left, right):
        where = place()
        node = ARITHMETIC[name](left._node or node_of(left), right._node or node_of(right), where)
        sparse = (left._sparse or right._sparse) and _stays_sparse(name, left, right)
        return make(node, left._shape, FLOAT, left._row, sparse)
    # And one with a number.
    if type(right) is float and type(left) is Array and left._kind is FLOAT:
        node = ARITHMETIC[name](left._node or node_of(left), right, place())
        return make(node, left._shape, FLOAT, left._row, _stays_sparse(name, left, right))
    if type(left) is float and type(right) is Array and right._kind is FLOAT:
        node = ARITHMETIC[name](left, right._node or node_of(right), place())
        return make(node, right._shape, FLOAT, right._row, _stays_sparse(name, left, right))
    left, right = promoted(left), promoted(right)
    kinds = (kind_of(left), kind_of(right))
    if FLOAT not in kinds and (name not in _OF_INTS or BOOL in kinds):
        raise Unplanned("neither argument is of float64")
    if type(left) is not Array and type(right) is not Array:
        raise Unplanned("neither argument is an array")
    nodes, shape, as_row = operands(name, (left, right))
    node = ARITHMETIC[name](*nodes, place())
    return make(node, shape, FLOAT, as_row, _stays_sparse(name, left, right))


def _stays_sparse(name, left, right):
    """Whether the result is a SciPy matrix, as SciPy has it."""
    one, other = is_sparse(left), is_sparse(right)
    if not one and not other:
        return False
    if name == "multiply":
        return one or other
    if name in ("add", "subtract", "maximum", "minimum"):
        return one and other
    if name == "divide":
        return one and type(right) is not Array
    if name == "pow":
        return one and type(right) in (int, float) and 0 < right < math.inf
    return False


def comparison(name, left, right):
    if _are_alike(left, right):
        nodes = left._node or node_of(left), right._node or node_of(right)
        return make(COMPARISON[name](nodes, place()), left._shape, BOOL, left._row)
    left, right = promoted(left), promoted(right)
    kinds = {kind_of(left), kind_of(right)}
    if FLOAT not in kinds and kinds != {BOOL}:
        # Whole numbers that the engine has are exact; one of Python may not be.
        whole = [value for value in (left, right) if type(value) is int]
        if INT not in kinds or any(abs(value) > EXACT_INT for value in whole):
            raise Unplanned("neither argument is of float64")
    if type(left) is not Array and type(right) is not Array:
        raise Unplanned("neither argument is an array")
    nodes, shape, as_row = operands(name, (left, right))
    return make(COMPARISON[name](tuple(nodes), place()), shape, BOOL, as_row)


def logical(name, left, right):
    left, right = _truth(promoted(left)), _truth(promoted(right))
    if type(left) is not Array and type(right) is not Array:
        raise Unplanned("neither argument is an array")
    nodes, shape, as_row = operands(name, (left, right))
    return make(LOGICAL[name](tuple(nodes), place()), shape, BOOL, as_row)


def _truth(value):
    if type(value) is not Array:
        return bool(value)
    if value._kind is BOOL:
        return value
    return make(NOT_EQUAL((node_of(value), 0.0)), value._shape, BOOL, value._row)


def where(condition, x, y):
    condition, x, y = promoted(condition), promoted(x), promoted(y)
    if kind_of(condition) is not BOOL:
        raise Unplanned("a condition that is not boolean")
    kinds = {kind_of(x), kind_of(y)}
    if kinds == {BOOL}:
        kind = BOOL
    elif FLOAT in kinds:
        kind = FLOAT
    elif kinds <= {INT, "int"} and all(type(v) is Array or abs(v) <= EXACT_INT for v in (x, y)):
        kind = INT
    else:
        raise Unplanned("arguments that are not of float64")
    nodes, shape, as_row = operands("where", (condition, x, y))
    return make(IF_ELSE(tuple(nodes), place()), shape, kind, as_row)


def clip(x, low=None, high=None):
    x = floats(x)
    for bound, name in ((low, "maximum"), (high, "minimum")):
        if bound is not None:
            if shape_of(bound) != () and np.broadcast_shapes(shape_of(bound), x._shape) != x._shape:
                raise Unplanned("bounds of another shape")
            x = arithmetic(name, x, bound)
    return x
