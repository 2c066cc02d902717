"""Methods of strings and dates, slices and texts of numbers, in Python's sense.

Where a method follows tables of Unicode, or counts bytes in the engine, rows that are not ASCII run in Python.
"""

from __future__ import annotations

from ._translate_nodes import (
    FALSE,
    INT_MAX,
    INT_MIN,
    TRUE,
    Refused,
    call,
    cast,
    if_else,
    literal,
    negation,
    number,
    some,
)
from ._translate_operators import fold
from ._translate_values import Const, Sym, Tuple, a_bool, an_int

# What `str.strip` removes.
_SPACES = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
_LONGEST = 2**31 - 1


def _text(node):
    return Sym("str", node)


def length(text):
    if type(text) is Const:
        return Const(len(text.value))
    return an_int(cast("int64", call("str.len_chars", text.node)), 0, _LONGEST)


def _guard_ascii(path, node, also=TRUE):
    """Rows of other characters run in Python."""
    narrow = path.also(also)
    if narrow is not None:
        narrow.guard(call("ne", call("str.len_bytes", node), call("str.len_chars", node)))


def _constant(args, most, name, least=0):
    """Arguments that are constants."""
    if not least <= len(args) <= most:
        raise Refused(f"str.{name}() of {len(args)} arguments")
    values = []
    for each in args:
        if len(each) != 1:
            raise Refused(f"str.{name}() of what is not a constant")
        values.append(_plain(each[0][1], name))
    return values


def _plain(scalar, name):
    if type(scalar) is Tuple:
        return tuple(_constant(scalar.items, len(scalar.items), name))
    if type(scalar) is not Const:
        raise Refused(f"str.{name}() of what is not a constant")
    return scalar.value


def method(path, text, name, args):
    """A method of a string."""
    if name not in METHODS:
        raise Refused(f"str.{name}()")
    if type(text) is Const:
        return fold(path, getattr(str, name), text.value, *_constant(args, len(args), name))
    return METHODS[name](path, text, args, name)


def _cased(engine):
    def apply(path, text, args, name):
        _constant(args, 0, name)
        _guard_ascii(path, text.node)
        return _text(call(engine, text.node))

    return apply


def _capitalized(path, text, args, name):
    _constant(args, 0, name)
    _guard_ascii(path, text.node)
    first = call("str.to_uppercase", call("str.slice", text.node, offset=0, length=1))
    rest = call("str.to_lowercase", call("str.slice", text.node, offset=1, length=None))
    return _text(call("str.concat", first, rest))


def _stripped(engine):
    def apply(path, text, args, name):
        (characters,) = _constant(args, 1, name) or [None]
        if characters is None:
            characters = _SPACES
        if type(characters) is not str:
            return path.raises()
        if not characters:
            return text
        return _text(call(engine, text.node, characters=characters))

    return apply


def _affix(engine, option):
    def apply(path, text, args, name):
        (given,) = _constant(args, 1, name, 1)
        found = FALSE
        for each in given if type(given) is tuple else (given,):
            if type(each) is not str:
                return path.raises()
            found = some(found, call(engine, text.node, **{option: each}) if each else TRUE)
        return a_bool(found)

    return apply


def _without_prefix(path, text, args, name):
    (prefix,) = _constant(args, 1, name, 1)
    if type(prefix) is not str:
        return path.raises()
    if not prefix:
        return text
    rest = call("str.slice", text.node, offset=len(prefix), length=None)
    return _text(if_else(call("str.starts_with", text.node, prefix=prefix), rest, text.node))


def _without_suffix(path, text, args, name):
    (suffix,) = _constant(args, 1, name, 1)
    if type(suffix) is not str:
        return path.raises()
    if not suffix:
        return text
    rest = call("str.head", text.node, n=-len(suffix))
    return _text(if_else(call("str.ends_with", text.node, suffix=suffix), rest, text.node))


def _replaced(path, text, args, name):
    values = _constant(args, 3, name, 2)
    old, new = values[:2]
    if type(old) is not str or type(new) is not str:
        return path.raises()
    if not old:
        raise Refused("str.replace() of an empty string")
    count = values[2] if len(values) > 2 else -1
    if type(count) is not int or count > 1:
        raise Refused("str.replace() with a count")
    if count == 0:
        return text
    engine = "str.replace" if count == 1 else "str.replace_all"
    return _text(call(engine, text.node, pattern=old, value=new, literal=True))


def _found(path, text, args, name):
    """The place in characters. The engine counts bytes, which differ if a text has others than ASCII's."""
    (part,) = _constant(args, 1, name, 1)
    if type(part) is not str:
        return path.raises()
    if not part:
        return Const(0)
    has = call("str.contains", text.node, pattern=part, literal=True)
    _guard_ascii(path, text.node, has)
    place = cast("int64", call("str.find", text.node, pattern=part, literal=True))
    if name == "index":
        path.guard(negation(has))
        return an_int(place, 0, _LONGEST)
    return an_int(if_else(has, place, number(-1)), -1, _LONGEST)


def _counted(path, text, args, name):
    (part,) = _constant(args, 1, name, 1)
    if type(part) is not str:
        return path.raises()
    if not part:
        raise Refused("str.count() of an empty string")
    counted = call("str.count_matches", text.node, pattern=part, literal=True)
    return an_int(cast("int64", counted), 0, _LONGEST)


def _of_class(pattern):
    def apply(path, text, args, name):
        _constant(args, 0, name)
        _guard_ascii(path, text.node)
        return a_bool(call("str.contains", text.node, pattern=pattern, literal=False))

    return apply


def _zero_filled(path, text, args, name):
    (width,) = _constant(args, 1, name, 1)
    if type(width) is not int or width > 4096:
        raise Refused("str.zfill() to what is not a small whole number")
    _guard_ascii(path, text.node)
    # Zeros go behind a sign.
    signed = (call("str.starts_with", text.node, prefix=sign) for sign in "+-")
    path.guard(some(*signed))
    return _text(call("str.zfill", text.node, length=max(width, 0)))


METHODS = {
    "lower": _cased("str.to_lowercase"),
    "upper": _cased("str.to_uppercase"),
    "casefold": _cased("str.to_lowercase"),
    "capitalize": _capitalized,
    "strip": _stripped("str.strip_chars"),
    "lstrip": _stripped("str.strip_chars_start"),
    "rstrip": _stripped("str.strip_chars_end"),
    "startswith": _affix("str.starts_with", "prefix"),
    "endswith": _affix("str.ends_with", "suffix"),
    "removeprefix": _without_prefix,
    "removesuffix": _without_suffix,
    "replace": _replaced,
    "find": _found,
    "index": _found,
    "count": _counted,
    "zfill": _zero_filled,
    "isdigit": _of_class("^[0-9]+$"),
    "isdecimal": _of_class("^[0-9]+$"),
    "isnumeric": _of_class("^[0-9]+$"),
    "isalpha": _of_class("^[A-Za-z]+$"),
    "isalnum": _of_class("^[0-9A-Za-z]+$"),
    "isspace": _of_class(r"^[\t-\r\x1c-\x20]+$"),
}


def sliced(path, text, first, last):
    """`text[first:last]`, bounds being whole numbers or None."""
    if type(text) is Const:
        return Const(text.value[first:last])
    node = text.node
    first = first or 0
    if first < 0:
        if last is not None and last >= 0:
            raise Refused("a slice from the end to a place from the start")
        node = call("str.tail", node, n=-first)
        return _text(node if last is None else call("str.head", node, n=last))
    if last is not None and last < 0:
        node = call("str.head", node, n=last)
        last = None
    if first == 0 and last is None:
        return _text(node)
    wide = None if last is None else max(last - first, 0)
    return _text(call("str.slice", node, offset=first, length=wide))


def character(path, text, place):
    """`text[place]`."""
    if type(text) is Const:
        return fold(path, str.__getitem__, text.value, place)
    needed = place + 1 if place >= 0 else -place
    path.guard(call("lt", length(text).node, number(needed)))
    if place >= 0:
        return _text(call("str.slice", text.node, offset=place, length=1))
    last = call("str.tail", text.node, n=-place)
    return _text(call("str.slice", last, offset=0, length=1))


def int_of_text(path, text):
    """Digits and a minus; all else that Python takes or refuses runs there."""
    plain = call("str.contains", text.node, pattern="^-?[0-9]{1,18}$", literal=False)
    path.guard(negation(plain))
    safe = if_else(plain, text.node, literal("0", "string"))
    return an_int(cast("int64", safe), INT_MIN, INT_MAX)


def float_of_text(path, text):
    plain = call("str.contains", text.node, pattern=r"^-?[0-9]{1,30}(\.[0-9]{1,30})?$", literal=False)
    path.guard(negation(plain))
    safe = if_else(plain, text.node, literal("0", "string"))
    return Sym("float", cast("float64", safe), may_be_nan=False)


# Dates.

_PARTS = {
    "year": (1, 9999),
    "month": (1, 12),
    "day": (1, 31),
    "hour": (0, 23),
    "minute": (0, 59),
    "second": (0, 59),
}
_TIMES = ("hour", "minute", "second")


def date_part(scalar, name):
    """`date.year` and so on."""
    if name not in _PARTS or (scalar.kind == "date" and name in _TIMES):
        raise Refused(f"{scalar.kind}.{name}")
    if type(scalar) is Const:
        return Const(getattr(scalar.value, name))
    return an_int(cast("int64", call(f"dt.{name}", scalar.node)), *_PARTS[name])


def date_method(path, scalar, name, args):
    if name not in ("weekday", "isoweekday") or args:
        raise Refused(f"{scalar.kind}.{name}()")
    if type(scalar) is Const:
        return Const(getattr(scalar.value, name)())
    # Monday is 1 in the engine, too.
    day = cast("int64", call("dt.weekday", scalar.node))
    return an_int(day, 1, 7) if name == "isoweekday" else an_int(call("sub", day, number(1)), 0, 6)
