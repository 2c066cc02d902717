"""Plans of lazy frames as the engine reads them, and what comes back from it."""

from __future__ import annotations

import json

import numpy as np

from ._array import from_host
from ._convert import asarray
from ._errors import class_of
from ._frame_sources import Source
from ._trees import Called, Cells, Listed, Step, literal

__all__ = ["array_of", "cells_of", "count", "each_of", "headers", "written"]


def written(plan):
    """A plan as JSON, with its sources and arrays in the order of their numbers."""
    sources, arrays, numbers = [], [], {}

    def leaf(value):
        if isinstance(value, Source):
            if id(value) not in numbers:
                numbers[id(value)] = len(sources)
                sources.append(value)
            return numbers[id(value)]
        if isinstance(value, Step):
            return value.planned()
        if isinstance(value, Listed):
            return value.literals
        if isinstance(value, Called):
            raise TypeError(f"{value!r} is a function of Python: call it in with_columns() before")
        if isinstance(value, Cells):
            array = value.array
            if array.ndim == 0:
                return literal(array.item())
            if id(value) not in numbers:
                numbers[id(value)] = len(arrays)
                arrays.append(array)
            return {"array": numbers[id(value)], "type": str(array.dtype).replace("bool", "boolean")}
        raise TypeError(f"a plan has no {type(value).__name__}")

    try:
        return json.dumps(plan, default=leaf, allow_nan=False), sources, arrays
    except RecursionError:
        raise too_deep() from None


def too_deep():
    """The error for plans that Python can't write."""
    message = "argument error[E0500]: a plan has too many steps, or an expression too many operators, within each other"
    help = "collect an intermediate result"
    return class_of("argument")(f"{message}\n   = help: {help}", "argument", help=help)


def headers(sources):
    return [source.header() for source in sources]


def cells_of(table, name, nulls):
    kind = table.types[table.names.index(name)]
    if kind in ("string", "date", "datetime", "null"):
        if kind == "null" and nulls == "nan":
            return np.full(table.rows, np.nan)
        raise TypeError(f"cells are numbers or booleans, and those of the column {name!r} are {kind}")
    return table.cells(name, nulls == "nan")


def array_of(host):
    if host.dtype == np.float64 and host.size:
        # Nobody writes into it.
        return asarray(host, copy=False)
    host.flags.writeable = False
    return from_host(host)


def count(name, value, negative=False):
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    value = value.__index__()
    if value < 0 and not negative:
        raise ValueError(f"{name} is a number from 0, not {value}")
    return value


def each_of(name, values, keys):
    if isinstance(values, (bool, np.bool_)):
        return [bool(values)] * len(keys)
    values = [bool(value) for value in values]
    if len(values) != len(keys):
        raise ValueError(f"{name} is a boolean, or one for each of {len(keys)} keys, not {len(values)}")
    return values
