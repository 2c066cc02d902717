"""Expressions of several columns, and of none: choices, counts of rows, and what columns have together in each row."""

from __future__ import annotations

import builtins
import functools
import operator

import numpy as np

from . import _expression_functions as _  # noqa: F401
from . import _expression_texts as _texts  # noqa: F401
from ._expressions import Unfinished, balanced, call, expression, horizontal, lit, parsed, parsed_all

__all__ = [
    "all_horizontal",
    "any_horizontal",
    "coalesce",
    "concat_str",
    "len",
    "max_horizontal",
    "min_horizontal",
    "sum_horizontal",
    "when",
]


def len(*values):
    """The number of rows, as an expression; with an argument, its length as ``len`` of Python has it.

    >>> import fulgurite as fg
    >>> frame = fg.frame({"key": ["a", "b", "a"]})
    >>> frame.group_by("key", maintain_order=True).agg(rows=fg.len()).collect().to_dict()
    {'key': ['a', 'b'], 'rows': [2, 1]}
    """
    if values:
        return builtins.len(*values)
    return expression({"agg": "len"}, "len")


def when(*predicates, **constraints):
    """Begins a choice: ``fg.when(condition).then(value).otherwise(other)``. Further ``when`` and ``then`` may follow.

    Texts in the place of values are columns; `constraints` are values that columns are equal to. Where no condition holds and
    there is no ``otherwise``, values are missing. A missing condition does not hold.

    >>> import fulgurite as fg
    >>> sign = fg.when(fg.col("a") < 0).then(fg.lit("minus")).otherwise(fg.lit("plus"))
    >>> fg.frame({"a": [-1, 1]}).select(sign=sign).collect().to_dict()
    {'sign': ['minus', 'plus']}
    """
    return _When((), condition(predicates, constraints))


def condition(predicates, constraints):
    """The expression that all predicates hold, and that columns have these values."""
    # A list of truths is one for each row.
    masks = [
        np.asarray(each) if isinstance(each, list) and each and all(isinstance(one, bool) for one in each) else each
        for each in predicates
    ]
    found = parsed_all(masks)
    found += [parsed(name) == value for name, value in constraints.items()]
    if not found:
        raise TypeError("a condition is missing")
    return balanced(operator.and_, found)


class _When:
    __slots__ = ("_before", "_condition")

    def __init__(self, before, condition):
        self._before = before
        self._condition = condition

    def then(self, value):
        """The value where the condition holds."""
        return _Then((*self._before, (self._condition, parsed(value))))


class _Then(Unfinished):
    __slots__ = ("_cases",)

    def __init__(self, cases):
        self._cases = cases

    def when(self, *predicates, **constraints):
        """Another condition, where those before do not hold."""
        return _When(self._cases, condition(predicates, constraints))

    def otherwise(self, value):
        """The value where no condition holds."""
        chosen = parsed(value)
        first = self._cases[0][1]
        for test, then in reversed(self._cases):
            chosen = call("if_else", test, then, chosen)
        return expression(chosen._tree, first._name, chosen._many, first._renamed)

    def finished(self):
        return self.otherwise(None)

    def __getattr__(self, name):
        # It is used as an expression.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.finished(), name)

    def __repr__(self):
        return repr(self.finished())


def _all_of(exprs):
    found = parsed_all(exprs)
    if not found:
        raise TypeError("an expression is missing")
    return found


def coalesce(exprs, *more_exprs):
    """The first value in each row that is not missing."""
    return horizontal("coalesce", _coalesced, _all_of([exprs, *more_exprs]))


def _coalesced(found):
    return call("coalesce", *found)


def min_horizontal(*exprs):
    """The smallest value in each row; missing ones do not count."""
    return horizontal("min_horizontal", _least, _all_of(exprs))


def _least(found):
    return call("min_horizontal", *found)


def max_horizontal(*exprs):
    """The largest value in each row; missing ones do not count."""
    return horizontal("max_horizontal", _greatest, _all_of(exprs))


def _greatest(found):
    return call("max_horizontal", *found)


def sum_horizontal(*exprs):
    """The sum of the values in each row; missing ones are 0.

    >>> import fulgurite as fg
    >>> frame = fg.frame({"a": [1, None], "b": [10, 20]})
    >>> frame.with_columns(total=fg.sum_horizontal("*")).collect().to_dict()["total"]
    [11, 20]
    """
    return horizontal("sum_horizontal", _summed, _all_of(exprs))


def _summed(found):
    # From the first one on, as floating-point sums depend on it.
    return functools.reduce(operator.add, [each.fill_null(0) for each in found])


def all_horizontal(*exprs):
    """Whether all values in a row are true."""
    return horizontal("all_horizontal", functools.partial(balanced, operator.and_), _all_of(exprs))


def any_horizontal(*exprs):
    """Whether a value in a row is true."""
    return horizontal("any_horizontal", functools.partial(balanced, operator.or_), _all_of(exprs))


def concat_str(exprs, *more_exprs, separator=""):
    """The texts of each row, one behind the other; missing where one is missing."""
    make = functools.partial(_concatenated, separator)
    return horizontal("concat_str", make, _all_of([exprs, *more_exprs]))


def _concatenated(separator, found):
    parts = [each.cast("string") for each in found]
    if separator:
        parts = [part for each in parts for part in (lit(separator), each)][1:]
    return call("str.concat", *parts)
