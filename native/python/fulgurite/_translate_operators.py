"""Python's operators on scalars of a translated function.

Each function gets a path and scalars and gives a scalar. What raises there, or does not fit into 64 bits, it guards.
"""

from __future__ import annotations

import math
import operator
import warnings

from ._translate_nodes import (
    EXACT,
    FALSE,
    INT_MAX,
    INT_MIN,
    TRUE,
    Refused,
    call,
    cast,
    every,
    if_else,
    negation,
    number,
    some,
)
from ._translate_values import Const, Sym, Tuple, a_bool, an_int, node_of, range_of

# Constants that an exponent, a shift or a repetition may be.
_LARGEST_POWER = 64
LARGEST_CONSTANT = 4096
# Products of floats this large may be those of whole numbers beyond 64 bits.
_NEAR_OVERFLOW = 9.2233720368547e18

FOLDED = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
WHOLE = ("bool", "int")
_FLOATS = ("float", "npfloat")
NUMBERS = (*WHOLE, *_FLOATS)


def fold(path, function, *values):
    """What Python gives for constants. An exception of it is one where the code runs."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = Const(function(*values))
    except Exception:  # Whatever it is, the rows run in Python, which raises it.
        return path.raises()
    if type(found.value) is complex:
        raise Refused("a complex number")
    return found


def are_constant(*scalars):
    return all(type(each) is Const and each.kind != "other" for each in scalars)


def as_int(scalar):
    """A truth value as a whole number."""
    if scalar.kind != "bool":
        return scalar
    if type(scalar) is Const:
        return Const(int(scalar.value))
    return an_int(cast("int64", scalar.node), 0, 1)


def float_node(scalar):
    """The expression of a number as a float, rounded as Python's conversion is."""
    scalar = as_int(scalar)
    if type(scalar) is Const:
        try:
            return number(float(scalar.value))
        except OverflowError:
            raise Refused("a whole number is too large for a float") from None
    return cast("float64", scalar.node) if scalar.kind == "int" else scalar.node


def a_float(node, *of, may_be_nan=True):
    """A float; NumPy's, if one that it was computed of is."""
    numpys = any(scalar.kind == "npfloat" for scalar in of)
    return Sym("npfloat" if numpys else "float", node, may_be_nan=may_be_nan)


def checked(path, node, low, high, overflows):
    """A whole number, with a guard where it does not fit into 64 bits."""
    if low < INT_MIN or high > INT_MAX:
        path.guard(overflows())
        low, high = max(low, INT_MIN), min(high, INT_MAX)
        if low > high:
            return path.raises()
    return an_int(node, low, high)


def is_inexact(scalar):
    """Where a whole number is not one float."""
    low, high = range_of(scalar)
    if low >= -EXACT and high <= EXACT:
        return FALSE
    node = node_of(scalar)
    return some(call("gt", node, number(EXACT)), call("lt", node, number(-EXACT)))


def is_zero(node):
    if node.op == "lit":
        return TRUE if dict(node.options)["value"] == 0 else FALSE
    return call("eq", node, number(0.0))


def binary(path, op, left, right):
    """An arithmetic operator."""
    if left.kind == "none" or right.kind == "none":
        return path.raises()
    if are_constant(left, right):
        return _folded(path, op, left.value, right.value)
    kinds = {left.kind, right.kind}
    if "other" in kinds or "npbool" in kinds:
        return _of_truths(path, op, left, right)
    if "tuple" in kinds:
        return _of_tuples(op, left, right)
    if "str" in kinds:
        return _of_strings(path, op, left, right)
    if not kinds <= set(NUMBERS):
        raise Refused(f"`{op}` of {left.kind} and {right.kind}")
    if op in ("&", "|", "^"):
        return _of_truths(path, op, left, right)
    left, right = as_int(left), as_int(right)
    if left.kind == right.kind == "int":
        return _INTS[op](path, left, right)
    if op in ("<<", ">>"):
        return path.raises()
    return _FLOATING[op](path, left, right)


def _folded(path, op, left, right):
    types = (bool, int, str)
    if op in ("**", "<<", "*") and type(left) in types and type(right) in types:
        sizes = [len(each) if type(each) is str else abs(int(each)) for each in (left, right)]
        if max(sizes, default=0) > LARGEST_CONSTANT and op != "*":
            raise Refused("a constant is too large")
        if op == "*" and str in (type(left), type(right)) and min(sizes) and math.prod(sizes) > LARGEST_CONSTANT:
            raise Refused("a constant is too large")
    if op == "%" and type(left) is str:
        raise Refused("formatting by `%`")
    return fold(path, FOLDED[op], left, right)


def _of_truths(path, op, left, right):
    """Bit by bit: of truth values, and of whole numbers where arithmetic does it."""
    kinds = {left.kind, right.kind}
    if op in ("&", "|", "^") and kinds <= {"bool", "npbool"}:
        one, other = node_of(left), node_of(right)
        if op == "^":
            node = some(every(one, negation(other)), every(negation(one), other))
        else:
            node = (every if op == "&" else some)(one, other)
        kind = "bool" if kinds == {"bool"} else "npbool"
        return a_bool(node) if kind == "bool" else Sym(kind, node, 0, 1, False)
    if op == "&" and kinds <= set(WHOLE):
        one, mask = (left, right) if type(right) is Const else (right, left)
        # Two's complement: the last bits are the remainder.
        if type(mask) is Const and int(mask.value) >= 0 and int(mask.value) & (int(mask.value) + 1) == 0:
            return _int_mod(path, as_int(one), Const(int(mask.value) + 1))
    if kinds & set(_FLOATS) and kinds <= set(NUMBERS):
        return path.raises()
    raise Refused(f"`{op}` of {left.kind} and {right.kind}")


def _of_tuples(op, left, right):
    if op == "+" and left.kind == right.kind == "tuple":
        return Tuple(left.items + right.items)
    raise Refused(f"`{op}` of {left.kind} and {right.kind}")


def _of_strings(path, op, left, right):
    if op == "%" and left.kind == "str":
        raise Refused("formatting by `%`")
    if op == "+":
        if left.kind != right.kind:
            return path.raises()
        return concatenated(left, right)
    if op == "*":
        text, times = (left, right) if left.kind == "str" else (right, left)
        if times.kind not in WHOLE:
            return path.raises()
        if type(times) is not Const or times.value > _LARGEST_POWER:
            raise Refused("a string is repeated by what is not a small constant")
        return concatenated(*[text] * max(int(times.value), 0))
    return path.raises()


def concatenated(*texts):
    texts = [each for each in texts if not (type(each) is Const and each.value == "")]
    if not texts:
        return Const("")
    if len(texts) == 1:
        return texts[0]
    if are_constant(*texts):
        return Const("".join(each.value for each in texts))
    return Sym("str", call("str.concat", *(node_of(each) for each in texts)))


# Whole numbers. Sums and products wrap in the engine; where they do, rows are guarded.


def _int_add(path, left, right):
    (a, b), (c, d) = range_of(left), range_of(right)
    one, other = node_of(left), node_of(right)
    node = call("add", one, other)
    return checked(path, node, a + c, b + d, lambda: _went_wrong(node, left, right, "ge"))


def _int_sub(path, left, right):
    (a, b), (c, d) = range_of(left), range_of(right)
    node = call("sub", node_of(left), node_of(right))
    return checked(path, node, a - d, b - c, lambda: _went_wrong(node, left, right, "le"))


def _went_wrong(node, left, right, goes):
    """Whether a sum (`ge`) or a difference (`le`) went the wrong way from its left operand."""
    one, other = node_of(left), node_of(right)
    if goes == "ge" and type(left) is Const:
        left, right, one, other = right, left, other, one
    if type(right) is Const:
        added = right.value if goes == "ge" else -right.value
        if added > 0:
            return call("gt", one, number(max(INT_MAX - added, INT_MIN)))
        return call("lt", one, number(min(INT_MIN - added, INT_MAX)))
    if type(left) is Const:
        return _out_of(other, left.value - INT_MAX, left.value - INT_MIN)
    moved = call(goes, node, one)
    low, high = range_of(right)
    if low >= 0:
        return negation(moved)
    if high < 0:
        return moved
    positive = call("ge", other, number(0))
    return some(every(positive, negation(moved)), every(negation(positive), moved))


def _out_of(node, low, high):
    below = call("lt", node, number(low)) if low > INT_MIN else FALSE
    above = call("gt", node, number(high)) if high < INT_MAX else FALSE
    return some(below, above)


def _int_mul(path, left, right):
    corners = [a * b for a in range_of(left) for b in range_of(right)]
    if type(left) is Const:
        left, right = right, left
    node = call("mul", node_of(left), node_of(right))

    def overflows():
        if type(right) is Const:
            # Not zero, or nothing would overflow. Bounds are rounded towards zero.
            factor = right.value
            first, last = (INT_MIN, INT_MAX) if factor > 0 else (INT_MAX, INT_MIN)
            low, high = -(-first // factor), last // factor
            return _out_of(node_of(left), low, high)
        product = call("abs", call("mul", float_node(left), float_node(right)))
        return call("ge", product, number(_NEAR_OVERFLOW))

    return checked(path, node, min(corners), max(corners), overflows)


def _int_div(path, left, right):
    path.guard(_int_is(right, 0))
    # The quotient of floats is rounded once only if both are exact.
    path.guard(some(is_inexact(left), is_inexact(right)))
    return a_float(call("div", float_node(left), float_node(right)), may_be_nan=False)


def _int_is(scalar, value):
    low, high = range_of(scalar)
    if not low <= value <= high:
        return FALSE
    return TRUE if low == high else call("eq", node_of(scalar), number(value))


def _int_floordiv(path, left, right):
    zero = _int_is(right, 0)
    if zero is TRUE:
        return path.raises()
    path.guard(zero)
    (a, b), (c, d) = range_of(left), range_of(right)
    if a == INT_MIN and c <= -1 <= d:
        path.guard(every(_int_is(left, INT_MIN), _int_is(right, -1)))
    divisors = {each for each in (c, d, -1, 1) if c <= each <= d and each}
    ends = [x // y for x in (a, b) for y in divisors] or [0]
    node = call("floordiv", node_of(left), node_of(right))
    return an_int(node, max(min(ends), INT_MIN), min(max(ends), INT_MAX))


def _int_mod(path, left, right):
    zero = _int_is(right, 0)
    if zero is TRUE:
        return path.raises()
    path.guard(zero)
    c, d = range_of(right)
    if c <= -1 <= d and range_of(left)[0] == INT_MIN:
        # Processors trap here.
        path.guard(every(_int_is(left, INT_MIN), _int_is(right, -1)))
    node = call("mod", node_of(left), node_of(right))
    return an_int(node, min(c + 1, 0), max(d - 1, 0))


def _int_pow(path, left, right):
    if type(right) is Const:
        if right.value < 0:
            return float_pow(path, left, right)
        if right.value > _LARGEST_POWER:
            raise Refused(f"the exponent {right.value} is over {_LARGEST_POWER}")
        return _repeated(path, left, right.value)
    low, high = range_of(right)
    if low < 0:
        raise Refused("the sign of the exponent decides between int and float")
    base, exponent = float_node(left), float_node(right)
    size = call("pow", call("abs", base), exponent)
    is_large = call("ge", size, number(_NEAR_OVERFLOW / 2))
    path.guard(is_large)
    node = call("pow", node_of(left), if_else(is_large, number(0), node_of(right)))
    return an_int(node, 0 if range_of(left)[0] >= 0 else INT_MIN, INT_MAX)


def _repeated(path, base, exponent):
    """By squares; what overflows on the way does so in the result, for a square that it does not need is not made."""
    result = Const(1)
    while exponent and base != ():
        if exponent & 1:
            if result == ():
                return ()
            result = base if result == Const(1) else _int_mul(path, result, base)
        exponent >>= 1
        if exponent:
            base = _int_mul(path, base, base)
    return result if base != () else ()


def _int_shift_left(path, left, right):
    if type(right) is not Const or not 0 <= right.value < 63:
        raise Refused("a shift by what is not a small constant")
    return _int_mul(path, left, Const(1 << right.value))


def _int_shift_right(path, left, right):
    if type(right) is not Const or not 0 <= right.value < 62:
        raise Refused("a shift by what is not a small constant")
    return _int_floordiv(path, left, Const(1 << right.value))


_INTS = {
    "+": _int_add,
    "-": _int_sub,
    "*": _int_mul,
    "/": _int_div,
    "//": _int_floordiv,
    "%": _int_mod,
    "**": _int_pow,
    "<<": _int_shift_left,
    ">>": _int_shift_right,
}


# Floats.


def _simple(function):
    def apply(path, left, right):
        return a_float(call(function, float_node(left), float_node(right)), left, right)

    return apply


def _is_numpys(*scalars):
    return any(scalar.kind == "npfloat" for scalar in scalars)


def _float_div(path, left, right):
    divisor = float_node(right)
    if not _is_numpys(left, right):
        if is_zero(divisor) is TRUE:
            return path.raises()
        path.guard(is_zero(divisor))
    return a_float(call("div", float_node(left), divisor), left, right)


def is_negative(node):
    """Whether a float is below zero; NaN is not."""
    return call("lt", node, number(0.0))


def minus(node):
    """With the other sign, zeros too."""
    return call("mul", node, number(-1.0))


def signed_zero(of):
    """A zero with the sign of a float that is not zero."""
    if of.op == "lit":
        return number(math.copysign(0.0, dict(of.options)["value"]))
    return if_else(is_negative(of), number(-0.0), number(0.0))


def _float_mod(path, left, right):
    return _divided(path, left, right)[1]


def _float_floordiv(path, left, right):
    return _divided(path, left, right)[0]


def _divided(path, left, right):
    """Python's `divmod` of floats, from C's exact remainder (CPython, Objects/floatobject.c, _float_div_mod)."""
    dividend, divisor = float_node(left), float_node(right)
    if not _is_numpys(left, right):
        if is_zero(divisor) is TRUE:
            return path.raises(), path.raises()
        path.guard(is_zero(divisor))
    if divisor.op == "lit" and _is_power(dict(divisor.options)["value"]):
        return _divided_by_power(path, left, dividend, divisor)
    rest = call("fmod", dividend, divisor)
    quotient = call("div", call("sub", dividend, rest), divisor)
    has_rest = call("ne", rest, number(0.0))
    if divisor.op == "lit":
        down = dict(divisor.options)["value"] < 0
        differs = negation(is_negative(rest)) if down else is_negative(rest)
    else:
        low, below = is_negative(divisor), is_negative(rest)
        differs = some(every(low, negation(below)), every(negation(low), below))
    modulus = if_else(
        has_rest, if_else(differs, call("add", rest, divisor), rest), signed_zero(divisor)
    )
    down = if_else(every(has_rest, differs), call("sub", quotient, number(1.0)), quotient)
    low = call("floor", down)
    nearer = if_else(
        call("gt", call("sub", down, low), number(0.5)), call("add", low, number(1.0)), low
    )
    plain = call("div", dividend, divisor)
    zero = call("mul", plain, number(0.0))
    whole = if_else(call("ne", down, number(0.0)), nearer, zero)
    if _is_numpys(left, right):
        whole = if_else(is_zero(divisor), plain, whole)
        modulus = if_else(is_zero(divisor), number(math.nan), modulus)
    return a_float(whole, left, right), a_float(modulus, left, right)


def _is_power(value):
    """Whether it is 1, 2, 4 and so on."""
    return 1.0 <= value < 2.0**1000 and math.frexp(value)[0] == 0.5


def _divided_by_power(path, left, dividend, divisor):
    """Quotients by powers of two are exact unless they are tiny, so that `x % 1` and the like need no remainder of C's."""
    power = dict(divisor.options)["value"]
    if power > 1.0:
        tiny = call("lt", call("abs", dividend), number(math.ldexp(power, -1022)))
        path.guard(every(tiny, call("ne", dividend, number(0.0))))
    floor = call("floor", call("mul", dividend, number(1.0 / power)))
    modulus = call("sub", dividend, call("mul", floor, divisor))
    whole = if_else(call("is_infinite", dividend), number(math.nan), floor)
    return a_float(whole, left), a_float(modulus, left)


def float_pow(path, left, right):
    base, exponent = float_node(left), float_node(right)
    node = call("pow", base, exponent)
    if not _is_numpys(left, right):
        path.guard(every(is_zero(base), _below_zero(exponent)))
        # Of a negative number a power that is not whole is complex.
        path.guard(every(_below_zero(base), _is_finite(base), _is_broken(exponent)))
        overflows = every(call("is_infinite", node), _is_finite(base), _is_finite(exponent))
        path.guard(every(overflows, negation(is_zero(base))))
    return a_float(node, left, right)


def _below_zero(node):
    if node.op == "lit":
        return TRUE if dict(node.options)["value"] < 0 else FALSE
    return is_negative(node)


def _is_finite(node):
    if node.op == "lit":
        return TRUE if math.isfinite(dict(node.options)["value"]) else FALSE
    return call("is_finite", node)


def _is_broken(node):
    """Whether a float is finite and not whole."""
    if node.op == "lit":
        value = dict(node.options)["value"]
        return TRUE if math.isfinite(value) and not value.is_integer() else FALSE
    return every(call("is_finite", node), call("ne", call("floor", node), node))


_FLOATING = {
    "+": _simple("add"),
    "-": _simple("sub"),
    "*": _simple("mul"),
    "/": _float_div,
    "//": _float_floordiv,
    "%": _float_mod,
    "**": float_pow,
}


def unary(path, op, operand):
    """`-`, `+` and `~`."""
    if operand.kind == "none":
        return path.raises()
    if are_constant(operand):
        functions = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
        return fold(path, functions[op], operand.value)
    if operand.kind not in NUMBERS:
        if operand.kind == "str":
            return path.raises()
        raise Refused(f"`{op}` of {operand.kind}")
    operand = as_int(operand)
    if operand.kind in _FLOATS:
        if op == "~":
            return path.raises()
        if op == "+":
            return operand
        return a_float(minus(operand.node), operand, may_be_nan=operand.may_be_nan)
    if op == "+":
        return operand
    if op == "-":
        return _int_sub(path, Const(0), operand)
    return _int_sub(path, Const(-1), operand)
