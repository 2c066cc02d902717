"""What expressions of texts and of dates have more."""

from __future__ import annotations

from narwhals._sql.expr_dt import SQLExprDateTimeNamesSpace
from narwhals._sql.expr_str import SQLExprStringNamespace
from narwhals._utils import not_implemented

from .._expressions import Expr as Native


def constant(value):
    """The text that an expression or a text is.

    Raises:
        NotImplementedError: For texts that differ by row.
    """
    if isinstance(value, Native):
        tree = value._tree
        if not isinstance(tree, dict) or tree.get("type") != "string":
            raise NotImplementedError("patterns, prefixes and what replaces them are one text for all rows here")
        return tree["lit"]
    return value


class Texts(SQLExprStringNamespace):
    """Methods of texts."""

    def _each(self, function, **given):
        expressions = {name: value for name, value in given.items() if hasattr(value, "_evaluate_output_names")}
        plain = {name: value for name, value in given.items() if name not in expressions}

        def called(x, **found):
            return function(x.str, **plain, **{name: constant(value) for name, value in found.items()})

        return self.compliant._with_elementwise(called, expression_args=expressions)

    def contains(self, pattern, *, literal):
        return self._each(lambda x, pattern: x.contains(pattern, literal=literal), pattern=pattern)

    def starts_with(self, prefix):
        return self._each(lambda x, prefix: x.starts_with(prefix), prefix=prefix)

    def ends_with(self, suffix):
        return self._each(lambda x, suffix: x.ends_with(suffix), suffix=suffix)

    def len_chars(self):
        return self._each(lambda x: x.len_chars())

    def replace(self, value, pattern, *, literal, n):
        if n != 1:
            raise NotImplementedError("`replace` replaces one match; `replace_all` all of them")
        return self._each(lambda x, value: x.replace(pattern, value, literal=literal), value=value)

    def replace_all(self, value, pattern, *, literal):
        return self._each(lambda x, value: x.replace_all(pattern, value, literal=literal), value=value)

    def slice(self, offset, length):
        return self._each(lambda x: x.slice(offset, length))

    def strip_chars(self, characters):
        return self._each(lambda x: x.strip_chars(characters))

    def strip_chars_start(self, characters):
        return self._each(lambda x: x.strip_chars_start(characters))

    def strip_chars_end(self, characters):
        return self._each(lambda x: x.strip_chars_end(characters))

    def to_lowercase(self):
        return self._each(lambda x: x.to_lowercase())

    def to_uppercase(self):
        return self._each(lambda x: x.to_uppercase())

    def zfill(self, width):
        return self._each(lambda x: x.zfill(width))

    def to_date(self, format):
        if format is not None:
            raise NotImplementedError("dates are read as YYYY-MM-DD alone")
        return self.compliant._with_elementwise(lambda x: x.cast("date"))

    def to_datetime(self, format):
        if format is not None:
            raise NotImplementedError("datetimes are read as ISO 8601 has them")
        return self.compliant._with_elementwise(lambda x: x.cast("datetime"))

    split = not_implemented()
    to_time = not_implemented()
    to_titlecase = not_implemented()
    pad_start = not_implemented()
    pad_end = not_implemented()


class Dates(SQLExprDateTimeNamesSpace):
    """Methods of dates and datetimes."""

    def _part(self, name):
        return self.compliant._with_elementwise(lambda x: getattr(x.dt, name)())

    def year(self):
        return self._part("year")

    def month(self):
        return self._part("month")

    def day(self):
        return self._part("day")

    def weekday(self):
        return self._part("weekday")

    def hour(self):
        return self._part("hour")

    def minute(self):
        return self._part("minute")

    def second(self):
        return self._part("second")

    def date(self):
        return self._part("date")

    ordinal_day = not_implemented()
    millisecond = not_implemented()
    microsecond = not_implemented()
    nanosecond = not_implemented()
    to_string = not_implemented()
    replace_time_zone = not_implemented()
    convert_time_zone = not_implemented()
    timestamp = not_implemented()
    total_minutes = not_implemented()
    total_seconds = not_implemented()
    total_milliseconds = not_implemented()
    total_microseconds = not_implemented()
    total_nanoseconds = not_implemented()
    truncate = not_implemented()
    offset_by = not_implemented()
