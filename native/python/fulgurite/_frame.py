"""Frames: tables with typed, named columns."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np

from . import _native

__all__ = ["Frame", "as_frame", "is_table"]

_ROWS_SHOWN = 10
_COLS_SHOWN = 20


class Frame:
    """A table with typed, named columns, as scripts have it: see ``fulgurite.run``.

    Columns are of texts, booleans, whole numbers or floats, and may lack values. A frame is Arrow data: libraries that take
    ``__arrow_c_stream__`` (pandas 3, Polars, DuckDB, pyarrow) take it as it is.

    Args:
        table: A table of pandas, Polars or pyarrow, an object with ``__arrow_c_stream__``, or lists by the names of columns.

    >>> import fulgurite as fg
    >>> cities = fg.Frame({"city": ["Graz", "Linz"], "people": [300_000, None]})
    >>> cities.shape, cities.types
    ((2, 2), {'city': 'STRING', 'people': 'INT64'})
    >>> X, M = fg.run(
    ...     "[X, M] = transformencode(target=F, spec='{recode: [city]}')",
    ...     inputs={"F": cities},
    ...     outputs=["X", "M"],
    ... )
    >>> M.to_dict()["city"]
    ['Graz·1', 'Linz·2']
    """

    __slots__ = ("_native",)

    def __init__(self, table):
        if isinstance(table, _native.Frame):
            self._native = table
        elif isinstance(table, Frame):
            self._native = table._native
        else:
            self._native = _native_of(table)

    @property
    def columns(self):
        """The names of the columns."""
        return list(self._native.names)

    @property
    def types(self):
        """The types of the columns, by their names, as scripts call them."""
        return dict(zip(self._native.names, self._native.types, strict=True))

    @property
    def shape(self):
        """How many rows and columns there are."""
        return self._native.rows, len(self._native.names)

    def __len__(self):
        return self._native.rows

    def __repr__(self):
        text = self._native.text(_ROWS_SHOWN, _COLS_SHOWN).rstrip("\n")
        return text + "\n..." if len(self) > _ROWS_SHOWN else text

    def __arrow_c_stream__(self, requested_schema=None):
        return self._native.__arrow_c_stream__(requested_schema)

    def to_dict(self):
        """The values of the columns as lists, by their names; None is missing."""
        names = self._native.names
        return {name: self._native.column(place) for place, name in enumerate(names)}

    def to_arrow(self):
        """The frame as a table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self):
        """The frame as a table of pandas."""
        import pandas

        if importlib.util.find_spec("pyarrow"):
            return self.to_arrow().to_pandas(strings_to_categorical=False)
        return pandas.DataFrame(self.to_dict())

    def to_polars(self):
        """The frame as a table of Polars."""
        import polars

        return polars.DataFrame(self)


def is_table(obj):
    """Whether it is a table whose columns have names."""
    library = type(obj).__module__.partition(".")[0]
    if library == "pandas":
        return isinstance(obj, sys.modules["pandas"].DataFrame)
    if library == "polars":
        return isinstance(obj, sys.modules["polars"].DataFrame)
    if library == "pyarrow":
        pyarrow = sys.modules["pyarrow"]
        return isinstance(obj, (pyarrow.Table, pyarrow.RecordBatch))
    return isinstance(obj, Frame) or hasattr(obj, "__arrow_c_stream__")


def as_frame(obj):
    """The frame that a table is."""
    return obj if isinstance(obj, Frame) else Frame(obj)


def _native_of(table):
    if type(table).__module__.partition(".")[0] == "pandas":
        return _of_pandas(table)
    if hasattr(table, "__arrow_c_stream__"):
        return _native.Frame.of_stream(table.__arrow_c_stream__())
    if isinstance(table, dict):
        columns = [_plain(name, values) for name, values in table.items()]
        return _native.Frame.of_columns([str(name) for name in table], columns)
    raise TypeError(f"a frame is made of a table or of lists by names, not of {type(table).__name__}")


def _plain(name, values):
    """The values of a column as Python's own, with None for what is missing."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"the column {name!r} is a list of values, not one text")
    values = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_plain_value(value) for value in values]


def _plain_value(value):
    if isinstance(value, np.generic):
        value = value.item()
    # pandas' NA and NaT.
    return None if type(value).__name__ in ("NAType", "NaTType") else value


def _of_pandas(table):
    # Its own stream would have the index as a column.
    if importlib.util.find_spec("pyarrow"):
        import pyarrow

        plain = pyarrow.Table.from_pandas(table, preserve_index=False)
        return _native.Frame.of_stream(plain.__arrow_c_stream__())
    lacking = table.isna()
    columns = [
        [None if missing else value for value, missing in zip(table.iloc[:, at].tolist(), lacking.iloc[:, at], strict=True)]
        for at in range(table.shape[1])
    ]
    return _native.Frame.of_columns([str(name) for name in table.columns], columns)
