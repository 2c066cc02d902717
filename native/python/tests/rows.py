"""Expressions of relational plans, computed row by row in Python: what their functions mean, in as few words as that takes.

Whole numbers are of 64 bits and wrap, nulls are None, logic is Kleene's, NaN is the largest float and equal to itself.
"""

from __future__ import annotations

import math
import re

_SPECIAL = {"NaN": math.nan, "inf": math.inf, "-inf": -math.inf}


class DataError(Exception):
    """The engine would refuse the value."""


def evaluate(node, row, memo=None):
    """The value of an expression's JSON on a row, a dict of columns."""
    memo = {} if memo is None else memo
    key = id(node)
    if key not in memo:
        memo[key] = _evaluate(node, row, memo)
    return memo[key]


def _evaluate(node, row, memo):
    if "col" in node:
        return row[node["col"]]
    if "lit" in node:
        value = node["lit"]
        if node["type"] == "float":
            return float(_SPECIAL.get(value, value))
        if node["type"] == "int":
            assert -(2**63) <= value < 2**63
        return value
    if "cast" in node:
        return _cast(node["cast"], evaluate(node["arg"], row, memo))
    args = [evaluate(each, row, memo) for each in node["args"]]
    return _CALLS[node["call"]](*args, **node.get("options", {}))


def wrapped(value):
    return (value + 2**63) % 2**64 - 2**63


def _cast(kind, value):
    if value is None:
        return None
    if kind == "float64":
        return float(value)
    if kind == "int64":
        if type(value) is str and not re.fullmatch("-?[0-9]+", value):
            raise DataError(value)
        if type(value) is float and not (math.isfinite(value) and value.is_integer()):
            raise DataError(value)
        whole = int(value)
        if not -(2**63) <= whole < 2**63:
            raise DataError(value)
        return whole
    if kind == "string":
        assert type(value) is int
        return str(value)
    raise AssertionError(kind)


def _strict(function):
    """Null if an argument is."""

    def apply(*args, **options):
        return None if any(each is None for each in args) else function(*args, **options)

    return apply


def _arithmetic(function):
    def apply(left, right):
        # The translator says what is a float.
        assert type(left) is type(right), (left, right)
        found = function(left, right)
        return wrapped(found) if type(found) is int else found

    return _strict(apply)


def _div(left, right):
    if right != 0:
        return left / right
    if left == 0 or left != left or right != right:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _fmod(left, right):
    if type(left) is int:
        return None if right == 0 else int(math.fmod(left, right))
    if right == 0 or math.isinf(left) or left != left or right != right:
        return math.nan
    return math.fmod(left, right)


def _whole(function):
    def apply(left, right):
        assert type(left) is int
        return None if right == 0 else function(left, right)

    return apply


def _pow(left, right):
    if type(left) is int:
        assert 0 <= right < 64
        return left**right
    try:
        return math.pow(left, right)
    except OverflowError:
        return -math.inf if left < 0 and right % 2 == 1 else math.inf
    except ValueError:
        if left != 0:
            return math.nan
        return math.copysign(math.inf, left) if right % 2 == 1 else math.inf


def _key(value):
    """Where a value stands in the engine's order."""
    return (value != value, 0.0 if value != value else value)


def _comparison(function):
    def apply(left, right):
        kinds = {type(left), type(right)}
        assert len(kinds) == 1, kinds
        return function(_key(left), _key(right))

    return _strict(apply)


def _and(left, right):
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def _or(left, right):
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


def _if_else(condition, yes, no):
    return yes if condition else no


def _mathematical(function, *, overflow=math.inf):
    def apply(x):
        assert type(x) is float
        try:
            return function(x)
        except OverflowError:
            return overflow
        except ValueError:
            return math.nan

    return _strict(apply)


def _log(function, start):
    def apply(x):
        return -math.inf if x == start else function(x)

    return _mathematical(apply)


def _sinh(x):
    try:
        return math.sinh(x)
    except OverflowError:
        return math.copysign(math.inf, x)


def _rounded(function):
    def apply(x):
        if not math.isfinite(x) or x == 0:
            return x
        return math.copysign(float(function(x)), x)

    return _strict(apply)


def _contains(text, *, pattern, literal):
    if literal:
        return pattern in text
    return re.search(re.sub(r"\$$", r"\\Z", pattern), text) is not None


def _find(text, *, pattern, literal):
    assert literal
    place = text.encode().find(pattern.encode())
    return None if place < 0 else place


def _slice(text, *, offset, length):
    assert offset >= 0 and (length is None or length >= 0)
    return text[offset:] if length is None else text[offset : offset + length]


def _replace(count):
    def apply(text, *, pattern, value, literal):
        assert literal and pattern
        return text.replace(pattern, value, count)

    return apply


def _ascii_lower(text):
    return text.lower() if text.isascii() else "not as Python has it"


def _ascii_upper(text):
    return text.upper() if text.isascii() else "not as Python has it"


_CALLS = {
    "add": _arithmetic(lambda a, b: a + b),
    "sub": _arithmetic(lambda a, b: a - b),
    "mul": _arithmetic(lambda a, b: a * b),
    "div": _arithmetic(_div),
    "fmod": _arithmetic(_fmod),
    "floordiv": _strict(_whole(lambda a, b: wrapped(a // b))),
    "mod": _strict(_whole(lambda a, b: a % b)),
    "pow": _strict(lambda a, b: _pow(a, b) if type(a) is float else wrapped(_pow(a, b))),
    "abs": _strict(abs),
    "eq": _comparison(lambda a, b: a == b),
    "ne": _comparison(lambda a, b: a != b),
    "lt": _comparison(lambda a, b: a < b),
    "le": _comparison(lambda a, b: a <= b),
    "gt": _comparison(lambda a, b: a > b),
    "ge": _comparison(lambda a, b: a >= b),
    "min_horizontal": lambda *args: min((each for each in args if each is not None), default=None),
    "and": _and,
    "or": _or,
    "not": _strict(lambda a: not a),
    "if_else": _if_else,
    "is_null": lambda a: a is None,
    "is_not_null": lambda a: a is not None,
    "is_nan": _strict(lambda a: a != a),
    "is_not_nan": _strict(lambda a: a == a),
    "is_finite": _strict(math.isfinite),
    "is_infinite": _strict(math.isinf),
    "sqrt": _mathematical(math.sqrt),
    "exp": _mathematical(math.exp),
    "expm1": _mathematical(math.expm1),
    "log": _log(math.log, 0.0),
    "log2": _log(math.log2, 0.0),
    "log10": _log(math.log10, 0.0),
    "log1p": _log(math.log1p, -1.0),
    "sin": _mathematical(math.sin),
    "cos": _mathematical(math.cos),
    "tan": _mathematical(math.tan),
    "arcsin": _mathematical(math.asin),
    "arccos": _mathematical(math.acos),
    "arctan": _mathematical(math.atan),
    "sinh": _strict(_sinh),
    "cosh": _mathematical(math.cosh),
    "tanh": _mathematical(math.tanh),
    "floor": _rounded(math.floor),
    "ceil": _rounded(math.ceil),
    "str.len_chars": _strict(len),
    "str.len_bytes": _strict(lambda text: len(text.encode())),
    "str.contains": _strict(_contains),
    "str.starts_with": _strict(lambda text, *, prefix: text.startswith(prefix)),
    "str.ends_with": _strict(lambda text, *, suffix: text.endswith(suffix)),
    "str.to_lowercase": _strict(_ascii_lower),
    "str.to_uppercase": _strict(_ascii_upper),
    "str.slice": _strict(_slice),
    "str.head": _strict(lambda text, *, n: text[:n]),
    "str.tail": _strict(lambda text, *, n: text[max(len(text) - n, 0) :]),
    "str.strip_chars": _strict(lambda text, *, characters: text.strip(characters)),
    "str.strip_chars_start": _strict(lambda text, *, characters: text.lstrip(characters)),
    "str.strip_chars_end": _strict(lambda text, *, characters: text.rstrip(characters)),
    "str.replace": _strict(_replace(1)),
    "str.replace_all": _strict(_replace(-1)),
    "str.find": _strict(_find),
    "str.count_matches": _strict(lambda text, *, pattern, literal: text.count(pattern)),
    "str.zfill": _strict(lambda text, *, length: "0" * (length - len(text)) + text),
    "str.concat": _strict(lambda *texts: "".join(texts)),
    "dt.year": _strict(lambda day: day.year),
    "dt.month": _strict(lambda day: day.month),
    "dt.day": _strict(lambda day: day.day),
    "dt.hour": _strict(lambda day: day.hour),
    "dt.minute": _strict(lambda day: day.minute),
    "dt.second": _strict(lambda day: day.second),
    "dt.weekday": _strict(lambda day: day.isoweekday()),
}
