"""What expressions of texts, of dates and of names have more: ``.str``, ``.dt`` and ``.name``."""

from __future__ import annotations

from ._expressions import Expr, call, expression

__all__ = ["Dates", "Names", "Texts"]


class _Part:
    __slots__ = ("_of",)

    def __init__(self, of):
        self._of = of


def _text(name, value):
    if not isinstance(value, str):
        raise TypeError(f"{name} is a text here, not {value!r}")
    return value


def _number(name, value):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number here, not {value!r}")
    return value.__index__()


class Texts(_Part):
    """Methods of expressions whose values are texts: ``fg.col("a").str``."""

    __slots__ = ()

    def len_chars(self):
        """How many characters a text has."""
        return call("str.len_chars", self._of)

    def len_bytes(self):
        """How many bytes a text has in UTF-8."""
        return call("str.len_bytes", self._of)

    def contains(self, pattern, *, literal=False):
        """Whether a regular expression, or a literal, is found in a text."""
        return call("str.contains", self._of, pattern=_text("a pattern", pattern), literal=bool(literal))

    def starts_with(self, prefix):
        """Whether a text begins so."""
        return call("str.starts_with", self._of, prefix=_text("a prefix", prefix))

    def ends_with(self, suffix):
        """Whether a text ends so."""
        return call("str.ends_with", self._of, suffix=_text("a suffix", suffix))

    def find(self, pattern, *, literal=False):
        """The byte at which a regular expression, or a literal, is found first; missing where it is not."""
        return call("str.find", self._of, pattern=_text("a pattern", pattern), literal=bool(literal))

    def count_matches(self, pattern, *, literal=False):
        """How often a regular expression, or a literal, is found."""
        pattern = _text("a pattern", pattern)
        return call("str.count_matches", self._of, pattern=pattern, literal=bool(literal))

    def extract(self, pattern, group_index=1):
        """What a group of a regular expression matched; missing where nothing did."""
        pattern = _text("a pattern", pattern)
        return call("str.extract", self._of, pattern=pattern, group=_number("a group", group_index))

    def replace(self, pattern, value, *, literal=False):
        """The text with another one in the place of the first match; ``$1`` in it is a group."""
        return self._replace("str.replace", pattern, value, literal)

    def replace_all(self, pattern, value, *, literal=False):
        """The text with another one in the place of each match; ``$1`` in it is a group."""
        return self._replace("str.replace_all", pattern, value, literal)

    def _replace(self, function, pattern, value, literal):
        pattern, value = _text("a pattern", pattern), _text("what replaces it", value)
        return call(function, self._of, pattern=pattern, value=value, literal=bool(literal))

    def to_lowercase(self):
        """The text in small letters."""
        return call("str.to_lowercase", self._of)

    def to_uppercase(self):
        """The text in capital letters."""
        return call("str.to_uppercase", self._of)

    def slice(self, offset, length=None):
        """So many characters from a place on; a negative one counts from the end."""
        length = None if length is None else _number("a length", length)
        return call("str.slice", self._of, offset=_number("an offset", offset), length=length)

    def head(self, n):
        """The first `n` characters; all but the last ones, if it is negative."""
        return call("str.head", self._of, n=_number("n", n))

    def tail(self, n):
        """The last `n` characters; all but the first ones, if it is negative."""
        return call("str.tail", self._of, n=_number("n", n))

    def strip_chars(self, characters=None):
        """The text without such characters at its ends; without white space by default."""
        return self._strip("str.strip_chars", characters)

    def strip_chars_start(self, characters=None):
        """The text without such characters at its start."""
        return self._strip("str.strip_chars_start", characters)

    def strip_chars_end(self, characters=None):
        """The text without such characters at its end."""
        return self._strip("str.strip_chars_end", characters)

    def _strip(self, function, characters):
        if characters is None:
            return call(function, self._of)
        return call(function, self._of, characters=_text("the characters", characters))

    def zfill(self, length):
        """The text with zeros before it, behind its sign, up to a length."""
        return call("str.zfill", self._of, length=_number("a length", length))


class Dates(_Part):
    """Methods of expressions whose values are dates or datetimes: ``fg.col("a").dt``."""

    __slots__ = ()

    def year(self):
        """The year."""
        return call("dt.year", self._of)

    def month(self):
        """The month, from 1."""
        return call("dt.month", self._of)

    def day(self):
        """The day of the month, from 1."""
        return call("dt.day", self._of)

    def weekday(self):
        """The day of the week: Monday is 1."""
        return call("dt.weekday", self._of)

    def hour(self):
        """The hour."""
        return call("dt.hour", self._of)

    def minute(self):
        """The minute."""
        return call("dt.minute", self._of)

    def second(self):
        """The second."""
        return call("dt.second", self._of)

    def date(self):
        """The date of a datetime."""
        return self._of.cast("date")


class Names(_Part):
    """Names of what an expression becomes: ``fg.col("*").name``."""

    __slots__ = ()

    def map(self, function):
        """The name that a function makes of the column's."""
        of = self._of
        return expression(of._tree, of._name, of._many, (*of._renamed, function))

    def prefix(self, prefix):
        """The name with a text before it."""
        return self.map(lambda name: prefix + name)

    def suffix(self, suffix):
        """The name with a text behind it."""
        return self.map(lambda name: name + suffix)

    def to_lowercase(self):
        """The name in small letters."""
        return self.map(str.lower)

    def to_uppercase(self):
        """The name in capital letters."""
        return self.map(str.upper)


def _part(kind):
    return property(kind, doc=kind.__doc__)


Expr.str = _part(Texts)
Expr.dt = _part(Dates)
Expr.name = _part(Names)
