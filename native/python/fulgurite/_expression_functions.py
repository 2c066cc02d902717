"""Functions of NumPy and of this package on expressions: ``np.exp(fg.col("a"))`` and ``fg.exp(fg.col("a"))`` are expressions.

What a function does with missing values follows Polars: one among the operands gives a missing value. All else is as NumPy's.
"""

from __future__ import annotations

import math

from ._expressions import Expr, call, lit, parsed

__all__ = []


def _one(function):
    return lambda x: call(function, parsed(x, True))


def _two(function):
    return lambda x, y: call(function, parsed(x, True), parsed(y, True))


def _truth(x):
    # NumPy takes what is not zero for true.
    return parsed(x, True).cast("boolean")


def _logical(function):
    return lambda x, y: call(function, _truth(x), _truth(y))


def _larger(x, y):
    """NaN where one is, as NumPy has it; Polars takes NaN for the largest number."""
    x, y = parsed(x, True), parsed(y, True)
    return _if(x.is_null() | y.is_null(), None, _if(x >= y, x, y))


def _smaller(x, y):
    x, y = parsed(x, True), parsed(y, True)
    smaller = _if(x <= y, x, y)
    return _if(x.is_null() | y.is_null(), None, _if(x.is_nan(), x, _if(y.is_nan(), y, smaller)))


def _if(condition, then, otherwise):
    return call("if_else", condition, parsed(then, True), parsed(otherwise, True))


def _where(condition, x, y):
    return _if(parsed(condition, True), x, y)


def _clip(a, a_min=None, a_max=None, *, min=None, max=None):
    return parsed(a, True).clip(a_min if min is None else min, a_max if max is None else max)


def _round(a, decimals=0):
    return parsed(a, True).round(decimals)


def _trunc(x):
    x = parsed(x, True)
    return _if(x < 0, x.ceil(), x.floor())


def _aggregate(name):
    def function(a, axis=None, keepdims=False):
        if axis not in (None, 0, -1) or keepdims:
            raise TypeError(f"{name}() of an expression has no axis and no dimensions to keep")
        return getattr(a, name)()

    return function


def _spread(name):
    def function(a, axis=None, ddof=0, correction=None, keepdims=False):
        if axis not in (None, 0, -1) or keepdims:
            raise TypeError(f"{name}() of an expression has no axis and no dimensions to keep")
        return getattr(a, name)(ddof=int(ddof if correction is None else correction))

    return function


_FUNCTIONS = {
    **{
        name: _one(name)
        for name in (
            "sqrt exp log log1p expm1 log2 log10 sin cos tan arcsin arccos arctan sinh cosh tanh sign floor ceil".split()
        )
    },
    "asin": _one("arcsin"),
    "acos": _one("arccos"),
    "atan": _one("arctan"),
    "abs": _one("abs"),
    "absolute": _one("abs"),
    "fabs": _one("abs"),
    "negative": _one("neg"),
    "positive": lambda x: x,
    "isnan": _one("is_nan"),
    "isinf": _one("is_infinite"),
    "isfinite": _one("is_finite"),
    "rint": _round,
    "round": _round,
    "around": _round,
    "trunc": _trunc,
    "square": lambda x: x * x,
    "reciprocal": lambda x: lit(1.0) / x,
    "sigmoid": lambda x: lit(1.0) / (lit(1.0) + (-x).exp()),
    "deg2rad": lambda x: x * (math.pi / 180),
    "radians": lambda x: x * (math.pi / 180),
    "rad2deg": lambda x: x * (180 / math.pi),
    "degrees": lambda x: x * (180 / math.pi),
    "add": _two("add"),
    "subtract": _two("sub"),
    "multiply": _two("mul"),
    "divide": _two("div"),
    "true_divide": _two("div"),
    "floor_divide": _two("floordiv"),
    "remainder": _two("mod"),
    "mod": _two("mod"),
    "power": _two("pow"),
    "pow": _two("pow"),
    "float_power": lambda x, y: call("pow", parsed(x).cast("float64"), parsed(y)),
    "equal": _two("eq"),
    "not_equal": _two("ne"),
    "less": _two("lt"),
    "less_equal": _two("le"),
    "greater": _two("gt"),
    "greater_equal": _two("ge"),
    "bitwise_and": _two("and"),
    "bitwise_or": _two("or"),
    "bitwise_xor": _two("xor"),
    "invert": _one("not"),
    "bitwise_invert": _one("not"),
    "logical_and": _logical("and"),
    "logical_or": _logical("or"),
    "logical_xor": _logical("xor"),
    "logical_not": lambda x: call("not", _truth(x)),
    "maximum": _larger,
    "minimum": _smaller,
    "hypot": lambda x, y: call("sqrt", parsed(x) * parsed(x) + parsed(y) * parsed(y)),
    "where": _where,
    "clip": _clip,
    **{name: _aggregate(name) for name in ("sum", "mean", "min", "max", "median", "any", "all")},
    "amin": _aggregate("min"),
    "amax": _aggregate("max"),
    "var": _spread("var"),
    "std": _spread("std"),
}


def _function(name, args, kwargs):
    function = _FUNCTIONS.get(name)
    if function is None:
        raise TypeError(f"there is no '{name}' of columns: collect the frame, or take its arrays with to_array()")
    return function(*args, **kwargs)


Expr.function = staticmethod(_function)
