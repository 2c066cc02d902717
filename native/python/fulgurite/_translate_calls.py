"""Functions that a translated function may call: builtins, `math` and NumPy's of scalars."""

from __future__ import annotations

import builtins
import math

import numpy as np

from ._translate_nodes import (
    FALSE,
    INT_MAX,
    INT_MIN,
    Refused,
    call,
    cast,
    every,
    if_else,
    literal,
    negation,
    number,
    some,
)
from ._translate_comparisons import compare
from ._translate_operators import (
    NUMBERS,
    a_float,
    as_int,
    binary,
    float_node,
    float_pow,
    fold,
    is_negative,
    is_zero,
    minus,
)
from ._translate_text import float_of_text, int_of_text, length
from ._translate_values import (
    Const,
    Sym,
    Tuple,
    a_bool,
    an_int,
    choose,
    distribute,
    maybe_nan,
    only,
    range_of,
    truth_of,
)

_FLOATS = ("float", "npfloat")
_WHOLE = ("bool", "int")


def _is_constant(*scalars):
    return all(type(each) is Const and each.kind != "other" for each in scalars)


def _simple(function):
    """A function of scalars that Python itself computes of constants."""

    def decorate(implementation):
        def apply(path, *values):
            def one(reached, *scalars):
                if _is_constant(*scalars):
                    return fold(reached, function, *(each.value for each in scalars))
                if any(each.kind == "none" for each in scalars):
                    return reached.raises()
                if any(each.kind in ("other", "tuple") for each in scalars):
                    raise Refused(f"{function.__name__}() of a {scalars[0].kind}")
                return implementation(reached, *scalars)

            return distribute(path, one, *values)

        return apply

    return decorate


# Builtins.


@_simple(abs)
def _abs(path, x):
    if x.kind not in NUMBERS:
        return path.raises()
    x = as_int(x)
    if x.kind in _FLOATS:
        return a_float(call("abs", x.node), x, may_be_nan=x.may_be_nan)
    return _absolute(path, x)


def _absolute(path, x):
    low, high = range_of(x)
    if low >= 0:
        return x
    if low == INT_MIN:
        path.guard(call("eq", x.node, number(INT_MIN)))
        low = INT_MIN + 1
    node = if_else(
        call("lt", x.node, number(0)), call("sub", number(0), x.node), x.node
    )
    return an_int(node, 0 if high > 0 else -high, max(-low, high))


def _extreme(op):
    def apply(path, *values):
        if len(values) == 1:
            values = _items(values[0])
        if not values:
            return path.raises()
        found = values[0]
        for value in values[1:]:
            is_better = truth_of(
                distribute(path, lambda reached, a, b: compare(reached, op, a, b), value, found)
            )
            merged = choose([(is_better, value), (negation(is_better), found)])
            found = _within(op, merged, value, found)
        return found

    return apply


def _within(op, merged, *values):
    """Bounds of the smaller, or the larger, of whole numbers."""
    scalars = [value[0][1] for value in values if len(value) == 1]
    scalar = merged[0][1] if len(merged) == 1 else None
    if type(scalar) is not Sym or len(scalars) < 2 or any(each.kind != "int" for each in scalars):
        return merged
    nearest = min if op == "<" else max
    lows, highs = zip(*(range_of(each) for each in scalars))
    return only(an_int(scalar.node, nearest(lows), nearest(highs)))


def _items(value):
    if len(value) == 1 and type(value[0][1]) is Tuple:
        return value[0][1].items
    if len(value) == 1 and type(value[0][1].value if type(value[0][1]) is Const else None) is list:
        return tuple(only(Const(each)) for each in value[0][1].value)
    raise Refused("an argument is not a tuple")


def _round(path, x, digits=None):
    return (_round_whole(path, x)) if digits is None else _round_digits(path, x, digits)


@_simple(round)
def _round_whole(path, x):
    if x.kind not in NUMBERS:
        return path.raises()
    if x.kind in _WHOLE:
        return as_int(x)
    size = _half_even(call("abs", x.node))
    return _to_int(path, if_else(is_negative(x.node), minus(size), size))


def _half_even(size):
    """A size rounded to a whole one, halves to the even one."""
    low = call("floor", size)
    # Exact: what is left has no more digits than the size.
    left = call("sub", size, low)
    half_low = call("mul", low, number(0.5))
    is_odd = call("ne", call("floor", half_low), half_low)
    up = some(call("gt", left, number(0.5)), every(call("eq", left, number(0.5)), is_odd))
    # Of infinity nothing is left.
    up = every(up, call("is_finite", size))
    return if_else(up, call("add", low, number(1.0)), low)


@_simple(round)
def _round_digits(path, x, digits):
    """Rows at a half run in Python, which rounds the exact number: 2.675 is a little less than its digits say."""
    if digits.kind == "none":
        return _round_whole(path, only(x))[0][1]
    if digits.kind not in _WHOLE or x.kind not in NUMBERS:
        return path.raises()
    if type(digits) is not Const:
        raise Refused("round() to what is not a constant number of digits")
    if x.kind in _WHOLE:
        if digits.value < 0:
            raise Refused("round() of a whole number to tens")
        return as_int(x)
    if x.kind == "npfloat":
        raise Refused("round() of NumPy's floats, which rounds twice")
    if not 0 <= digits.value <= 15:
        raise Refused("round() to less than 0 or more than 15 digits")
    power = number(10.0 ** int(digits.value))
    size = call("mul", call("abs", x.node), power)
    low = call("floor", size)
    left = call("sub", size, low)
    # The product is rounded, and rounding does not cross a half: it may only become one.
    is_sure = every(call("lt", size, number(2.0**52)), call("ne", left, number(0.5)))
    path.guard(every(negation(is_sure), call("is_finite", x.node)))
    near = if_else(call("gt", left, number(0.5)), call("add", low, number(1.0)), low)
    rounded = call("div", near, power)
    signed = if_else(is_negative(x.node), minus(rounded), rounded)
    plain = some(call("eq", x.node, number(0.0)), negation(call("is_finite", x.node)))
    return a_float(if_else(plain, x.node, signed), may_be_nan=x.may_be_nan)


def _to_int(path, whole):
    """A float that is whole as int; others, and those beyond 64 bits, run in Python."""
    fits = every(
        call("ge", whole, number(-(2.0**63))), call("lt", whole, number(2.0**63))
    )
    path.guard(negation(fits))
    return an_int(cast("int64", if_else(fits, whole, number(0.0))), INT_MIN, INT_MAX)


def _toward_zero(node):
    return if_else(is_negative(node), call("ceil", node), call("floor", node))


def _int(path, *values):
    return _int_of(path, *values) if values else only(Const(0))


@_simple(int)
def _int_of(path, x, *base):
    if base:
        raise Refused("int() with a base")
    if x.kind == "str":
        return int_of_text(path, x)
    if x.kind not in NUMBERS:
        return path.raises()
    return as_int(x) if x.kind in _WHOLE else _to_int(path, _toward_zero(x.node))


def _float(path, *values):
    return _float_of(path, *values) if values else only(Const(0.0))


@_simple(float)
def _float_of(path, x):
    if x.kind == "str":
        return float_of_text(path, x)
    if x.kind not in NUMBERS:
        return path.raises()
    return Sym("float", float_node(x), may_be_nan=maybe_nan(x))


def _bool(path, *values):
    return only(a_bool(truth_of(values[0]))) if values else only(Const(False))


def _str(path, *values):
    if not values:
        return only(Const(""))
    if len(values) > 1:
        raise Refused("str() with an encoding")
    return distribute(path, text_of, values[0])


def text_of(path, x):
    """`str(x)`."""
    if _is_constant(x):
        return fold(path, str, x.value)
    if x.kind == "str":
        return x
    if x.kind == "bool":
        return Sym("str", if_else(x.node, literal("True", "string"), literal("False", "string")))
    if x.kind == "int":
        return Sym("str", cast("string", x.node))
    raise Refused(f"the text of a {x.kind}")


def _len(path, value):
    def one(reached, x):
        if x.kind == "str":
            return length(x)
        if x.kind == "tuple":
            return Const(len(x.items))
        if x.kind == "other" and type(x.value) in (list, dict, set, frozenset):
            return Const(len(x.value))
        if x.kind in (*NUMBERS, "none"):
            return reached.raises()
        raise Refused(f"len() of a {x.kind}")

    return distribute(path, one, value)


def _sum(path, value, start=None):
    total = only(Const(0)) if start is None else start
    for item in (total, *_items(value)):
        if any(scalar.kind not in (*_WHOLE, "none") for _, scalar in item):
            raise Refused("sum() of floats, which Python compensates from 3.12 on")
    for item in _items(value):
        total = distribute(path, lambda reached, a, b: binary(reached, "+", a, b), total, item)
    return total


def _any(path, value):
    return only(a_bool(some(*(truth_of(item) for item in _items(value)))))


def _all(path, value):
    return only(a_bool(every(*(truth_of(item) for item in _items(value)))))


def _operator(op):
    def apply(path, left, right):
        return distribute(path, lambda reached, a, b: binary(reached, op, a, b), left, right)

    return apply


def _divmod(path, left, right):
    return only(Tuple((_operator("//")(path, left, right), _operator("%")(path, left, right))))


# math.


def _math(name, guard, engine=None):
    engine = engine or name

    @_simple(getattr(math, name))
    def apply(path, x):
        if x.kind not in NUMBERS:
            return path.raises()
        node = float_node(x)
        result = call(engine, node)
        path.guard(guard(node, result))
        # The domain is guarded.
        return Sym("float", result, may_be_nan=maybe_nan(x))

    return apply


def _overflows(node, result):
    return every(call("is_infinite", result), call("is_finite", node))


def _beyond_one(node, result):
    return every(call("gt", call("abs", node), number(1.0)), call("is_not_nan", node))


def _none(node, result):
    return FALSE


def _is_infinite(node, result):
    return call("is_infinite", node)


_MATH = {
    "sqrt": (lambda node, result: is_negative(node),),
    "exp": (_overflows,),
    "expm1": (_overflows,),
    "log2": (lambda node, result: call("le", node, number(0.0)),),
    "log10": (lambda node, result: call("le", node, number(0.0)),),
    "log1p": (lambda node, result: call("le", node, number(-1.0)),),
    "sin": (_is_infinite,),
    "cos": (_is_infinite,),
    "tan": (_is_infinite,),
    "asin": (_beyond_one, "arcsin"),
    "acos": (_beyond_one, "arccos"),
    "atan": (_none, "arctan"),
    "sinh": (_overflows,),
    "cosh": (_overflows,),
    "tanh": (_none,),
    "fabs": (_none, "abs"),
}

_log = _math("log", lambda node, result: call("le", node, number(0.0)))


def _math_log(path, x, base=None):
    if base is None:
        return _log(path, x)
    return _operator("/")(path, _log(path, x), _log(path, base))


@_simple(math.pow)
def _math_pow(path, x, y):
    if x.kind not in NUMBERS or y.kind not in NUMBERS:
        return path.raises()
    return float_pow(path, _plain(x), _plain(y))


def _plain(x):
    """As a float of Python's."""
    return Const(float(x.value)) if type(x) is Const else Sym("float", float_node(x))


@_simple(math.fmod)
def _math_fmod(path, x, y):
    if x.kind not in NUMBERS or y.kind not in NUMBERS:
        return path.raises()
    x, y = float_node(x), float_node(y)
    node = call("fmod", x, y)
    path.guard(every(call("is_nan", node), call("is_not_nan", x), call("is_not_nan", y)))
    return Sym("float", node)


@_simple(math.copysign)
def _math_copysign(path, x, y):
    if x.kind not in NUMBERS or y.kind not in NUMBERS:
        return path.raises()
    size, sign = call("abs", float_node(x)), float_node(y)
    # The sign of NaN cannot be seen, and that of a zero is that of its reciprocal.
    path.guard(call("is_nan", sign))
    below = some(is_negative(sign), is_negative(call("div", number(1.0), sign)))
    return Sym("float", if_else(below, minus(size), size), may_be_nan=maybe_nan(x))


def _times(name, factor):
    @_simple(getattr(math, name))
    def apply(path, x):
        if x.kind not in NUMBERS:
            return path.raises()
        return Sym("float", call("mul", float_node(x), number(factor)))

    return apply


def _to_whole(name, rounded):
    @_simple(getattr(math, name))
    def apply(path, x):
        if x.kind not in NUMBERS:
            return path.raises()
        return as_int(x) if x.kind in _WHOLE else _to_int(path, rounded(x.node))

    return apply


def _question(name, owner, kind):
    @_simple(getattr(owner, name))
    def apply(path, x):
        if x.kind not in NUMBERS:
            return path.raises()
        if kind == "npbool" and x.kind in _WHOLE:
            raise Refused(f"numpy.{name}() of whole numbers")
        if x.kind in _WHOLE:
            return Const(name == "isfinite")
        engine = {"isnan": "is_nan", "isinf": "is_infinite", "isfinite": "is_finite"}[name]
        return Sym(kind, call(engine, float_node(x)), 0, 1, False)

    return apply


# NumPy, which raises nothing and gives floats of its own.


def _numpys(name, make, *, of_ints=True):
    @_simple(getattr(np, name))
    def apply(path, *scalars):
        for x in scalars:
            if x.kind not in NUMBERS:
                return path.raises()
            if x.kind == "bool":
                raise Refused(f"numpy.{name}() of a truth value, which is a float of 16 bits")
        if not of_ints and all(x.kind == "int" for x in scalars):
            raise Refused(f"numpy.{name}() of whole numbers, which wrap in NumPy")
        return Sym("npfloat", make(*(float_node(x) for x in scalars)))

    return apply


def _engines(engine):
    return lambda node: call(engine, node)


def _sign(node):
    above, below = call("gt", node, number(0.0)), is_negative(node)
    signed = if_else(above, number(1.0), if_else(below, number(-1.0), number(0.0)))
    return if_else(call("is_nan", node), node, signed)


def _rint(node):
    size = _half_even(call("abs", node))
    rounded = if_else(is_negative(node), minus(size), size)
    return if_else(call("eq", node, number(0.0)), node, rounded)


def _numpys_extreme(name, comparison):
    def make(x, y):
        # NaN is the result if either is.
        plain = if_else(call(comparison, x, y), x, y)
        return if_else(call("is_nan", x), x, if_else(call("is_nan", y), y, plain))

    found = _numpys(name, make, of_ints=False)

    def apply(path, left, right):
        def guarded(reached, x, y):
            if x.kind in NUMBERS and y.kind in NUMBERS:
                # Which of two zeros NumPy gives is its own affair.
                zeros = every(is_zero(float_node(x)), is_zero(float_node(y)))
                signs = (call("div", number(1.0), float_node(each)) for each in (x, y))
                reached.guard(every(zeros, call("ne", *signs)))
            return found(reached, only(x), only(y))

        return distribute(path, guarded, left, right)

    return apply


_NUMPY = {
    name: _engines(name)
    for name in "sqrt exp expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh".split()
}
_NUMPY["fabs"] = _engines("abs")
_NUMPY_OF_FLOATS = {
    "abs": _engines("abs"),
    "absolute": _engines("abs"),
    "floor": _engines("floor"),
    "ceil": _engines("ceil"),
    "trunc": _toward_zero,
    "rint": _rint,
    "sign": _sign,
    "square": lambda node: call("mul", node, node),
}


@_simple(np.float64)
def _np_float64(path, x):
    if x.kind not in NUMBERS:
        raise Refused(f"numpy.float64() of a {x.kind}")
    return Sym("npfloat", float_node(x), may_be_nan=maybe_nan(x))


CALLS = {
    builtins.abs: _abs,
    builtins.min: _extreme("<"),
    builtins.max: _extreme(">"),
    builtins.round: _round,
    builtins.int: _int,
    builtins.float: _float,
    builtins.bool: _bool,
    builtins.str: _str,
    builtins.len: _len,
    builtins.sum: _sum,
    builtins.any: _any,
    builtins.all: _all,
    builtins.pow: _operator("**"),
    builtins.divmod: _divmod,
    **{getattr(math, name): _math(name, *how) for name, how in _MATH.items()},
    math.log: _math_log,
    math.pow: _math_pow,
    math.fmod: _math_fmod,
    math.copysign: _math_copysign,
    math.radians: _times("radians", math.pi / 180.0),
    math.degrees: _times("degrees", 180.0 / math.pi),
    math.floor: _to_whole("floor", _engines("floor")),
    math.ceil: _to_whole("ceil", _engines("ceil")),
    math.trunc: _to_whole("trunc", _toward_zero),
    **{getattr(math, name): _question(name, math, "bool") for name in ("isnan", "isinf", "isfinite")},
    **{getattr(np, name): _question(name, np, "npbool") for name in ("isnan", "isinf", "isfinite")},
    **{getattr(np, name): _numpys(name, make) for name, make in _NUMPY.items()},
    **{
        getattr(np, name): _numpys(name, make, of_ints=False)
        for name, make in _NUMPY_OF_FLOATS.items()
    },
    np.maximum: _numpys_extreme("maximum", "ge"),
    np.minimum: _numpys_extreme("minimum", "le"),
    np.float64: _np_float64,
}
