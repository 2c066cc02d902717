"""Arrays to the JVM and back, through files of raw numbers: the gateway would send them cell by cell."""

import os
import tempfile
from contextlib import contextmanager

import numpy as np

from .errors import FulguriteError

# Memory that looks like a file system, where there is one.
_FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextmanager
def _file():
    handle, path = tempfile.mkstemp(prefix="fulgurite-", dir=_FOLDER)
    os.close(handle)
    try:
        yield path
    finally:
        os.unlink(path)


def as_array(name, value):
    """A 2-D float64 array, row by row; a vector becomes a column."""
    if hasattr(value, "dtypes") and hasattr(value, "columns"):
        value = _numbers_of(name, value)
    array = np.asarray(value)
    if array.dtype.kind not in "fiub":
        raise FulguriteError("data", f"data error: input '{name}' is an array of {array.dtype}, which are no numbers\n"
                                     "   = help: convert it with astype(float)")
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.ndim != 2:
        raise FulguriteError("dimension", f"dimension error: input '{name}' has {array.ndim} dimensions\n"
                                          "   = help: matrices have two, vectors one")
    return np.ascontiguousarray(array, dtype=np.float64)


def _numbers_of(name, frame):
    """The cells of a pandas DataFrame, whose columns may be of different types."""
    for column, dtype in frame.dtypes.items():
        if getattr(dtype, "kind", "O") not in "fiub":
            raise FulguriteError("data", f"data error: column '{column}' of input '{name}' is of type {dtype}, which are no numbers\n"
                                         "   = help: convert it with astype(float), or leave it out")
    return frame.astype("float64").to_numpy()


def dense_to_java(bridge, array):
    with _file() as path:
        array.tofile(path)
        return bridge.dense(path, *array.shape)


def csr_to_java(bridge, matrix):
    matrix = matrix.tocsr()
    matrix.sum_duplicates()
    with _file() as path:
        with open(path, "wb") as file:
            matrix.indptr.astype(np.int64).tofile(file)
            matrix.data.astype(np.float64).tofile(file)
            matrix.indices.astype(np.int32).tofile(file)
        return bridge.csr(path, *matrix.shape, matrix.nnz)


def dense_from_java(bridge, matrix):
    shape = (matrix.rows(), matrix.cols())
    with _file() as path:
        bridge.writeDense(matrix, path)
        return np.fromfile(path, dtype=np.float64).reshape(shape)
