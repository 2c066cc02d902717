"""Arrays to the JVM and back, through files of raw numbers: the gateway would send them cell by cell."""

import os
import tempfile
from contextlib import contextmanager

import numpy as np

from .errors import failed

# Memory that looks like a file system, where there is one.
_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

_MOST_SPARSE_COLUMNS = 2**31 - 1


@contextmanager
def _file():
    handle, path = tempfile.mkstemp(prefix="fulgurite-", dir=_FOLDER)
    os.close(handle)
    try:
        yield path
    finally:
        os.unlink(path)


def to_java(bridge, name, value):
    """A matrix in the JVM of an array, a list, a pandas or a SciPy object."""
    value = _known(name, value)
    if _is_frame(value) and _is_sparse(value):
        value = value.sparse.to_coo()
    return _csr_to_java(bridge, name, value) if hasattr(value, "tocsr") else _dense_to_java(bridge, _as_array(name, value))


def _known(name, value):
    """Polars' and Arrow's frames as arrays; what is no matrix is refused by its name."""
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if module == "polars":
        if kind == "LazyFrame":
            raise _bad_data(f"input '{name}' is a LazyFrame of Polars", "call collect() on it")
        if kind in ("DataFrame", "Series"):
            return _of_polars(name, value.to_frame() if kind == "Series" else value)
    if module == "pyarrow" and hasattr(value, "to_pandas"):
        return value.to_pandas()
    if isinstance(value, dict) or callable(value) or isinstance(value, (set, frozenset)) or value is None:
        raise failed("argument", f"argument error: input '{name}' is a {module + '.' if module != 'builtins' else ''}{kind}, which is no matrix\n"
                                 "   = help: inputs are numbers, strings, arrays of NumPy, SciPy, pandas, Polars and Spark, RDDs, and results of scripts")
    return value


def _of_polars(name, frame):
    for column in frame.columns:
        series = frame[column]
        if not (series.dtype.is_numeric() or str(series.dtype) == "Boolean"):
            raise _bad_data(f"column '{column}' of input '{name}' is of type {series.dtype}, which are no numbers", "cast it to Float64, or leave it out")
        if series.null_count() > 0:
            row = series.is_null().arg_max()
            raise _bad_data(f"row {row + 1}: column '{column}' of input '{name}' is null", "fill it with fill_null(value), or drop such rows with drop_nulls()")
    return np.column_stack([frame[column].to_numpy().astype(np.float64) for column in frame.columns]) if frame.columns else np.zeros((frame.height, 0))


def _as_array(name, value):
    """A 2-D float64 array, row by row; a vector becomes a column."""
    if _is_frame(value):
        value = _numbers_of(name, value)
    elif hasattr(value, "isna") and hasattr(value, "to_frame"):
        value = _numbers_of(name, value.to_frame())[:, 0]
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise _bad_data(f"input '{name}' has masked cells", "fill them with filled(value)")
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise _bad_data(f"input '{name}' is no matrix: {error}", "all rows of a matrix are equally long") from None
    _check_numbers(name, array.dtype)
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise failed("dimension", f"dimension error: input '{name}' has {array.ndim} dimensions\n"
                                  "   = help: matrices have two, vectors one")
    return np.ascontiguousarray(array, dtype=np.float64)


def _check_numbers(name, dtype):
    if dtype.kind not in "fiub":
        raise _bad_data(f"input '{name}' is an array of {dtype}, which are no numbers", "convert it with astype(float)")


def _is_frame(value):
    return hasattr(value, "dtypes") and hasattr(value, "columns")


def _is_sparse(frame):
    """Whether all columns of a pandas DataFrame are sparse ones of zeros."""
    return len(frame.columns) > 0 and all(getattr(dtype, "fill_value", None) == 0 and hasattr(dtype, "subtype") for dtype in frame.dtypes)


def _numbers_of(name, frame):
    """The cells of a pandas DataFrame, whose columns may be of different types."""
    for at, (column, dtype) in enumerate(frame.dtypes.items()):
        if getattr(dtype, "kind", "O") not in "fiub":
            raise _bad_data(f"column '{column}' of input '{name}' is of type {dtype}, which are no numbers", "convert it with astype(float), or leave it out")
        # NaN is a number; NA, which the nullable types have, is none.
        nullable = not isinstance(dtype, np.dtype) and not hasattr(dtype, "subtype")
        if nullable and frame.iloc[:, at].isna().any():
            row = int(frame.iloc[:, at].isna().to_numpy().argmax())
            raise _bad_data(f"row {row + 1}: column '{column}' of input '{name}' holds NA", "fill it with fillna(value), or drop such rows with dropna()")
    return frame.astype("float64").to_numpy()


def _dense_to_java(bridge, array):
    with _file() as path:
        array.tofile(path)
        return bridge.dense(path, *array.shape)


def _csr_to_java(bridge, name, matrix):
    _check_numbers(name, matrix.dtype)
    if matrix.ndim != 2:
        raise failed("dimension", f"dimension error: input '{name}' has {matrix.ndim} dimensions\n   = help: sparse inputs have two")
    if matrix.shape[1] > _MOST_SPARSE_COLUMNS:
        raise failed("unsupported", f"unsupported error: input '{name}' has {matrix.shape[1]} columns\n"
                                    f"   = help: a sparse matrix has at most {_MOST_SPARSE_COLUMNS}")
    csr = matrix.tocsr()
    if not csr.has_canonical_format:
        # The caller's matrix stays as it is.
        csr = csr.copy() if csr is matrix else csr
        csr.sum_duplicates()
    with _file() as path:
        with open(path, "wb") as file:
            csr.indptr.astype(np.int64).tofile(file)
            csr.data.astype(np.float64).tofile(file)
            csr.indices.astype(np.int32).tofile(file)
        return bridge.csr(path, *csr.shape, csr.nnz)


def dense_from_java(bridge, matrix):
    shape = (matrix.rows(), matrix.cols())
    with _file() as path:
        bridge.writeDense(matrix, path)
        return np.fromfile(path, dtype=np.float64).reshape(shape)


def csr_from_java(bridge, matrix):
    from scipy.sparse import csr_matrix

    shape = (matrix.rows(), matrix.cols())
    with _file() as path:
        stored = bridge.writeCsr(matrix, path)
        with open(path, "rb") as file:
            pointers = np.fromfile(file, dtype=np.int64, count=shape[0] + 1)
            values = np.fromfile(file, dtype=np.float64, count=stored)
            indices = np.fromfile(file, dtype=np.int32, count=stored)
    return csr_matrix((values, indices, pointers), shape=shape)


def _bad_data(message, help):
    return failed("data", f"data error: {message}\n   = help: {help}")
