"""Python functions row by row: what runs when an expression cannot say what the function does."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import threading

import numpy as np

__all__ = ["apply", "column_of", "is_running"]

# Longer texts in notes are cut.
_SHOWN = 60


_local = threading.local()


def is_running():
    """Whether this thread runs a function row by row: what it calls gets values and no columns."""
    return getattr(_local, "depth", 0) > 0


@contextlib.contextmanager
def _running():
    _local.depth = getattr(_local, "depth", 0) + 1
    try:
        yield
    finally:
        _local.depth -= 1


def apply(function, columns, constants=None, *, rows=None):
    """What a function gives for each row, as a list.

    An exception of the function is raised as it is, with a note that has the row's number and values.

    Args:
        function: Any callable; parameters get their values by name.
        columns: Lists of values by the parameters' names; None is missing.
        constants: Parameters that are the same on all rows.
        rows: The rows' numbers, if they are not counted from 0.
    """
    constants = constants or {}
    names = list(columns)
    function = _by_name(function)
    found = []
    with _running():
        for at, values in enumerate(zip(*columns.values(), strict=True)):
            row = dict(zip(names, values, strict=True))
            try:
                found.append(function(**row, **constants))
            except Exception as error:
                shown = ", ".join(f"{name}={_shown(value)}" for name, value in row.items())
                _note(error, f"in row {at if rows is None else rows[at]} (counted from 0): {shown}")
                raise
    return found


def _by_name(function):
    """The function, which takes all parameters by name."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return function
    first = [each.name for each in parameters if each.kind is each.POSITIONAL_ONLY]
    if not first:
        return function

    def called(**given):
        values = [given.pop(name) for name in first if name in given]
        return function(*values, **given)

    return called


def _shown(value):
    text = repr(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _note(error, text):
    # Python 3.10 does not show notes, but has the attribute if somebody sets it.
    if hasattr(error, "add_note"):
        error.add_note(text)
    else:
        error.__notes__ = [*getattr(error, "__notes__", ()), text]


_KINDS = {
    bool: "boolean",
    int: "int64",
    float: "float64",
    str: "string",
    datetime.date: "date",
    datetime.datetime: "datetime",
}


def column_of(name, values, kind=None, *, rows=None):
    """Results as the values of one column, and its type.

    Whole numbers among floats become floats if they are exact as floats; other types are not mixed.

    Args:
        name: What the function is called, for errors.
        values: The results.
        kind: The type that the column has; by default, that of the values.
        rows: The rows' numbers, if they are not counted from 0.

    Raises:
        TypeError: For values of other types, with the row.
        OverflowError: For whole numbers of more than 64 bits, or that are not exact as floats.
    """
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if kind is None:
        kind = _common(plain)
    made = []
    for at, value in enumerate(plain):
        if value is not None:
            try:
                value = _fitted(value, kind)
            except (TypeError, OverflowError) as error:
                row = at if rows is None else rows[at]
                message = f"{name} gave {_shown(value)} in row {row} (counted from 0), {error}"
                raise type(error)(message) from None
        made.append(value)
    return kind, made


def _common(values):
    kinds = {_KINDS.get(type(value)) for value in values if value is not None}
    if kinds == {"int64", "float64"}:
        return "float64"
    # Others are found with their row.
    first = (_KINDS.get(type(value)) for value in values if value is not None)
    return next((kind for kind in first if kind), "null")


def _fitted(value, kind):
    found = _KINDS.get(type(value))
    if found == "int64" and kind == "float64":
        if abs(value) > 2**53 and (abs(value) > 2**1000 or int(float(value)) != value):
            raise OverflowError("which is not exact in a column of floats")
        return float(value)
    if found != kind:
        raise TypeError(f"whose type {type(value).__name__} is not that of the column, {kind}")
    if found == "int64" and not -(2**63) <= value < 2**63:
        raise OverflowError("which needs more than 64 bits")
    return value
