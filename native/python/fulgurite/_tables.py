"""Columns and tables of pandas, Polars and Arrow as NumPy's arrays.

A column without missing values is a view of its memory where its library gives one. Missing values become NaN, in cells of
float64; a column of texts or objects is a `TypeError` that names it.
"""

from __future__ import annotations

import sys

import numpy as np

__all__ = ["host_of_table"]


def host_of_table(obj):
    """What is in a column or a table, and who has its memory: `None` for nobody else, `"fixed"` for what does not change,
    `"open"` for what its library may write into. `None` alone for what is no table."""
    library = type(obj).__module__.partition(".")[0]
    if library == "pandas":
        return _of_pandas(obj)
    if library == "polars":
        host = _of_polars(obj)
    elif library == "pyarrow":
        host = _of_arrow(obj)
    elif hasattr(obj, "__arrow_c_stream__") or hasattr(obj, "__arrow_c_array__"):
        host = _of_capsule(obj)
    else:
        return None
    # Views of these are read-only, and copies are not.
    return None if host is None else (host, None if host.flags.writeable else "fixed")


def _together(columns):
    """Columns side by side, each in one piece of memory; of one type that holds them all."""
    if not columns:
        raise TypeError("a table without columns has no cells")
    dtype = np.result_type(*(column.dtype for column in columns))
    host = np.empty((len(columns[0]), len(columns)), dtype=dtype, order="F")
    for at, column in enumerate(columns):
        host[:, at] = column
    return host


def _refused(name, dtype):
    return TypeError(f"cells are numbers or booleans, and those of the column {name!r} are {dtype}")


def _missing_as_nan(values, is_missing):
    values = np.array(values, dtype=np.float64)
    values[is_missing] = np.nan
    return values


# pandas.


def _of_pandas(obj):
    pandas = sys.modules["pandas"]
    if isinstance(obj, pandas.DataFrame):
        types = set(obj.dtypes)
        if len(types) == 1 and isinstance(next(iter(types)), np.dtype):
            # Blocks of one type are one array.
            return _numbers(obj.to_numpy(), obj.columns[0]), "open"
        columns = [obj.iloc[:, at] for at in range(obj.shape[1])]
        return _together([_of_series(column) for column in columns]), None
    if isinstance(obj, (pandas.Index, pandas.api.extensions.ExtensionArray)):
        obj = pandas.Series(obj, copy=False)
    if isinstance(obj, pandas.Series):
        return _of_series(obj), "open" if isinstance(obj.dtype, np.dtype) else None
    return None


def _numbers(host, name):
    if host.dtype.kind not in "biufc":
        raise _refused(name, host.dtype)
    return host


def _of_series(series):
    dtype = series.dtype
    name = "values" if series.name is None else series.name
    if isinstance(dtype, np.dtype):
        return _numbers(series.to_numpy(), name)
    # Types of pandas and of Arrow that may lack values. `kind` is what their values are.
    kind = getattr(dtype, "kind", "O")
    if kind not in "biufc" or not getattr(dtype, "_is_numeric", False) and kind != "b":
        raise _refused(name, dtype)
    is_missing = series.isna().to_numpy()
    if not is_missing.any():
        return _numbers(series.to_numpy(dtype=np.dtype(f"{kind}{_width(dtype)}")), name)
    return _missing_as_nan(series.to_numpy(dtype=np.float64, na_value=np.nan), is_missing)


def _width(dtype):
    width = getattr(dtype, "numpy_dtype", None)
    return np.dtype(width).itemsize if width is not None else 8


# Polars.


def _of_polars(obj):
    polars = sys.modules["polars"]
    if isinstance(obj, polars.LazyFrame):
        raise TypeError("a lazy frame of Polars has no cells yet: call its collect()")
    if isinstance(obj, polars.DataFrame):
        if obj.width == 0:
            return _together([])
        columns = obj.get_columns()
        if len({column.dtype for column in columns}) == 1 and not any(map(_lacks, columns)):
            _of_polars_series(columns[0].head(0))
            return obj.to_numpy(order="fortran")
        return _together([_of_polars_series(column) for column in columns])
    if isinstance(obj, polars.Series):
        return _of_polars_series(obj)
    return None


def _lacks(column):
    return column.null_count() > 0


def _of_polars_series(column):
    polars = sys.modules["polars"]
    dtype = column.dtype
    if not (dtype.is_integer() or dtype.is_float() or dtype == polars.Boolean):
        raise _refused(column.name, dtype)
    if _lacks(column):
        column = column.cast(polars.Float64).fill_null(float("nan"))
    return column.to_numpy()


# Arrow.


def _of_arrow(obj):
    arrow = sys.modules["pyarrow"]
    if isinstance(obj, (arrow.Table, arrow.RecordBatch)):
        names = obj.schema.names
        return _together([_of_arrow_array(obj.column(at), name) for at, name in enumerate(names)])
    if isinstance(obj, (arrow.Array, arrow.ChunkedArray)):
        return _of_arrow_array(obj, "values")
    return None


def _of_arrow_array(array, name):
    arrow = sys.modules["pyarrow"]
    is_number = arrow.types.is_integer(array.type) or arrow.types.is_floating(array.type)
    if not is_number and not arrow.types.is_boolean(array.type):
        raise _refused(name, array.type)
    if array.null_count:
        array = array.cast(arrow.float64(), safe=False)
        is_missing = (
            array.is_null().to_numpy(zero_copy_only=False)
            if isinstance(array, arrow.Array)
            else array.is_null().to_numpy()
        )
        values = array.fill_null(0.0)
        return _missing_as_nan(_arrow_values(values), is_missing)
    return _arrow_values(array)


def _arrow_values(array):
    arrow = sys.modules["pyarrow"]
    if isinstance(array, arrow.ChunkedArray):
        if array.num_chunks != 1:
            return array.to_numpy()
        array = array.chunk(0)
    return array.to_numpy(zero_copy_only=False)


def _of_capsule(obj):
    try:
        import pyarrow
    except ImportError:
        raise TypeError(
            f"a {type(obj).__name__} gives its cells as Arrow has them: install pyarrow to read it"
        ) from None
    if hasattr(obj, "__arrow_c_stream__"):
        reader = pyarrow.RecordBatchReader.from_stream
        try:
            return _of_arrow(reader(obj).read_all())
        except (pyarrow.ArrowInvalid, TypeError, ValueError):
            # A stream of columns, not of batches.
            return _of_arrow(pyarrow.chunked_array(obj))
    array = pyarrow.array(obj)
    if pyarrow.types.is_struct(array.type):
        # A batch of rows.
        array = pyarrow.RecordBatch.from_struct_array(array)
    return _of_arrow(array)
