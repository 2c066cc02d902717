"""Where the rows of lazy frames come from, and the kinds of tables that they become.

A frame reads memory of the table that it was made of, so that nothing is copied. Later changes are not seen:

- Polars and fg.Frame have columns that nobody changes, and what comes as a stream is read when the frame is made.
- pandas copies a column before it writes into one that another table has, too. The frame keeps such a table. Before pandas 3, that
  has to be switched on; where it is not, the frame has a copy.
- A file is refused when it was changed after the frame was made.
"""

from __future__ import annotations

import importlib.util
import os
import sys

import numpy as np

from . import _native
from ._errors import at_place, class_of
from ._frame import Frame
from ._places import place

__all__ = ["Arrow", "CsvFile", "Frames", "Memory", "Pandas", "ParquetFile", "Polars", "source_of", "table_of"]


class Source:
    """The base of what a plan scans."""

    __slots__ = ()

    def header(self):
        """A table with the types of all columns."""
        raise NotImplementedError

    def table(self, reads, notes):
        """A table with what a plan reads at least. Notes tell how much of a file that was."""
        raise NotImplementedError


class Memory(Source):
    """A table in memory."""

    __slots__ = ("_keeps", "_table")

    def __init__(self, table, keeps=None):
        self._table = table
        self._keeps = keeps

    def header(self):
        return self._table

    def table(self, reads, notes):
        return self._table


class _File(Source):
    __slots__ = ("_stamp", "path")

    def __init__(self, path):
        self.path = os.path.abspath(os.fspath(path))
        self._stamp = self._now()

    def _now(self):
        found = os.stat(self.path)
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _check(self):
        try:
            now = self._now()
        except OSError:
            now = None
        if now != self._stamp:
            message = f"data error[E0700]: the file '{self.path}' was changed after a frame was made of it"
            where = place()
            raise class_of("data")(
                at_place(message, where) + "\n   = help: scan it again",
                "data",
                None,
                *(where or (None, None)),
                "scan it again",
            )


class ParquetFile(_File):
    """A file whose columns are read when they are needed."""

    __slots__ = ("_header",)

    def __init__(self, path):
        super().__init__(path)
        self._header = _native.Table.parquet_header(self.path)

    def header(self):
        return self._header

    def table(self, reads, notes):
        self._check()
        table, read, groups = _native.Table.read_parquet(self.path, reads)
        self._check()
        notes.append(f"read {read} of {groups} row group{'s' if groups != 1 else ''} of {self.path}")
        return table


class CsvFile(_File):
    """A file that is read when a row or a type is needed, and kept then: types follow from all rows."""

    __slots__ = ("_options", "_table")

    def __init__(self, path, separator, has_header, null_values):
        super().__init__(path)
        self._options = separator, has_header, null_values
        self._table = None

    def header(self):
        self._check()
        if self._table is None:
            table = _native.Table.read_csv(self.path, *self._options)
            self._check()
            self._table = table
        return self._table

    def table(self, reads, notes):
        return self.header()


# Kinds of tables.


class Frames:
    """Tables as :class:`fulgurite.Frame` has them."""

    @staticmethod
    def of(table):
        return Frame(_native.Frame.of_stream(table.__arrow_c_stream__()))


class Polars:
    """Tables of Polars."""

    @staticmethod
    def of(table):
        import polars

        return polars.DataFrame(table)


class Arrow:
    """Tables of pyarrow."""

    @staticmethod
    def of(table):
        import pyarrow

        return pyarrow.table(table)


class Pandas:
    """Tables of pandas. Columns that had a type of pandas' own or of Arrow in the table that came in have such a type again."""

    __slots__ = ("_arrows", "_masked")

    def __init__(self, like=None):
        named = [] if like is None else [(str(name), dtype) for name, dtype in zip(like.columns, like.dtypes, strict=True)]
        kinds = {name: type(dtype).__name__ for name, dtype in named}
        self._arrows = {name for name, kind in kinds.items() if kind == "ArrowDtype"}
        self._masked = {name for name, kind in kinds.items() if kind.removesuffix("Dtype") in _MASKED}

    def of(self, table):
        import pandas

        if not importlib.util.find_spec("pyarrow"):
            return Frames.of(table).to_pandas()
        found = Arrow.of(table)
        if not (self._arrows or self._masked):
            return found.to_pandas(split_blocks=True)
        columns = {}
        for name in found.column_names:
            mapper = pandas.ArrowDtype if name in self._arrows else _masked_type if name in self._masked else None
            columns[name] = found.select([name]).to_pandas(types_mapper=mapper)[name]
        return pandas.DataFrame(columns, copy=False)


_MASKED = frozenset("Int8 Int16 Int32 Int64 UInt8 UInt16 UInt32 UInt64 Float32 Float64 Boolean".split())


def _masked_type(kind):
    """The type of pandas with missing values for a type of Arrow; `None` where there is none."""
    import pandas

    names = {"double": "Float64", "float": "Float32", "bool": "Boolean"}
    name = names.get(str(kind), str(kind).replace("u", "U").replace("int", "Int"))
    return getattr(pandas, f"{name}Dtype")() if name in _MASKED else None


def source_of(table):
    """The source that a table is, and the kind of tables that frames of it become.

    Raises:
        TypeError: For what is no table.
    """
    library = type(table).__module__.partition(".")[0]
    if library == "pandas" and isinstance(table, sys.modules["pandas"].DataFrame):
        return _of_pandas(table), Pandas(table)
    if library == "polars":
        polars = sys.modules["polars"]
        if isinstance(table, polars.LazyFrame):
            table = table.collect()
        if not isinstance(table, polars.DataFrame):
            table = polars.DataFrame(table)
        # Polars gives these a buffer that Arrow's interface does not have.
        without_type = [name for name, kind in table.schema.items() if kind == polars.Null]
        if without_type:
            table = table.with_columns(polars.col(without_type).cast(polars.Boolean))
        return _of_stream(table), Polars
    if library == "pyarrow":
        return _of_stream(table), Arrow
    if hasattr(table, "__arrow_c_stream__"):
        return _of_stream(table), Frames
    if isinstance(table, dict):
        return Memory(table_of(table)), Frames
    raise TypeError(
        f"a frame is made of a table, of what has __arrow_c_stream__, or of lists by names, not of {type(table).__name__}"
    )


def _of_stream(table):
    return Memory(_native.Table.of_stream(table.__arrow_c_stream__()))


def _of_pandas(table):
    pandas = sys.modules["pandas"]
    names = list(table.columns)
    if len({str(name) for name in names}) < len(names):
        twice = next(name for at, name in enumerate(names) if str(name) in map(str, names[:at]))
        raise ValueError(f"columns of a frame have names of their own, and there are two {str(twice)!r}")
    # Columns that two tables share are copied before one of them is written to, if pandas is told so.
    is_safe = int(pandas.__version__.split(".")[0]) >= 3 or pandas.options.mode.copy_on_write is True
    mine = table.copy(deep=not is_safe)
    if not importlib.util.find_spec("pyarrow"):
        return Memory(table_of({name: _values(mine.iloc[:, at]) for at, name in enumerate(names)}))
    import pyarrow

    mine.columns = [str(name) for name in names]
    # The index is no column.
    return Memory(_of_stream(pyarrow.Table.from_pandas(mine, preserve_index=False))._table, mine)


def _values(series):
    missing = series.isna().tolist()
    return [None if lacks else value for value, lacks in zip(series.tolist(), missing, strict=True)]


def table_of(columns):
    """A table of lists and arrays by names."""
    names, values = [], []
    for name, column in columns.items():
        if isinstance(column, (str, bytes)) or not hasattr(column, "__iter__"):
            raise TypeError(f"the column {name!r} is a list of values, not {column!r}")
        if type(name) is not str:
            raise TypeError(f"columns have names, and {name!r} is no text")
        names.append(name)
        values.append(column if isinstance(column, np.ndarray) else list(column))
    return _native.Table.of_columns(names, [_column(name, each) for name, each in zip(names, values, strict=True)])



def _column(name, values):
    """A column's type and its values: numbers as an array of NumPy, and which are missing."""
    from ._trees import MOST_SIGNED, literal

    if isinstance(values, np.ma.MaskedArray):
        values = [None if is_masked else value for value, is_masked in zip(values.data, np.ma.getmaskarray(values), strict=True)]
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"the column {name!r} has one dimension, and not the shape {values.shape}")
        if values.dtype == np.longdouble:
            values = values.astype(np.float64)
        if values.dtype.kind in "biuf" and values.dtype.isnative and values.dtype.itemsize > (2 if values.dtype.kind == "f" else 0):
            return values.dtype.name.replace("bool", "boolean"), np.array(values, order="C"), None
        values = list(values)
    kinds, plain = set(), []
    for value in values:
        try:
            found = literal(value)
        except (TypeError, OverflowError) as error:
            raise type(error)(f"the column {name!r}: {error}") from None
        if found["type"] != "null":
            kinds.add(found["type"])
        plain.append(float(found["lit"]) if found["type"] == "float" else found["lit"])
    if kinds == {"int", "float"}:
        kinds = {"float"}
    if len(kinds) > 1:
        raise TypeError(f"the column {name!r} has values of several types: {', '.join(sorted(kinds))}")
    kind = next(iter(kinds), "null")
    if kind in ("string", "null"):
        return kind, plain, None
    missing = np.array([value is None for value in plain], dtype=np.bool_)
    into, kind = {
        "boolean": (np.bool_, "boolean"),
        "int": (np.int64, "int64"),
        "float": (np.float64, "float64"),
        "date": (np.int32, "date"),
        "datetime": (np.int64, "datetime"),
    }[kind]
    if kind == "int64" and any(value is not None and value > MOST_SIGNED for value in plain):
        if any(value is not None and value < 0 for value in plain):
            raise OverflowError(f"the column {name!r} has negative numbers and such beyond int64: make them floats")
        into, kind = np.uint64, "uint64"
    cells = np.array([0 if value is None else value for value in plain], dtype=into)
    return kind, cells, missing if missing.any() else None
