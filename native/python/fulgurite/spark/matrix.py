"""Matrices that scripts gave back."""

from . import html
from .errors import FulguriteError, failed, java_errors
from .transfer import csr_from_java, dense_from_java


class Matrix:
    """A matrix in Fulgurite's form; an input of other scripts without conversion."""

    def __init__(self, bridge, spark, java):
        self._bridge = bridge
        self._spark = spark
        self._java = java

    @property
    def shape(self):
        with java_errors(self._bridge):
            return (self._java.rows(), self._java.cols())

    def toNumPy(self):
        """A 2-D float64 array."""
        with java_errors(self._bridge):
            return dense_from_java(self._bridge, self._java)

    def toSciPy(self):
        """A ``scipy.sparse.csr_matrix``."""
        with java_errors(self._bridge):
            return csr_from_java(self._bridge, self._java)

    def toDF(self, format=None):
        """A DataFrame with column ``__INDEX`` from 1, then ``C1``, ``C2`` …; rows are in order.

        With ``format="ijv"`` it has columns ``i``, ``j`` (from 1) and ``v``, and a row for each cell that is not 0.
        """
        from pyspark.sql import DataFrame

        if format not in (None, "ijv"):
            raise failed("argument", f"argument error: there is no format '{format}' of DataFrames\n   = help: leave it out, or say 'ijv'")
        with java_errors(self._bridge):
            return DataFrame(self._java.toDF() if format is None else self._java.toDFIJV(), self._spark)

    def toPandas(self):
        """A pandas DataFrame with columns ``C1``, ``C2`` …"""
        import pandas

        cells = self.toNumPy()
        return pandas.DataFrame(cells, columns=[f"C{col + 1}" for col in range(cells.shape[1])])

    def close(self):
        """Frees the memory now; otherwise it is freed when nobody refers to the matrix any more."""
        with java_errors(self._bridge):
            self._java.close()

    def __array__(self, dtype=None, copy=None):
        cells = self.toNumPy()
        return cells if dtype is None else cells.astype(dtype)

    def __repr__(self):
        try:
            return "Matrix: {} x {}".format(*self.shape)
        except FulguriteError:
            return "Matrix: closed"

    def _repr_html_(self):
        try:
            (rows, cols), place = self.shape, "on the executors" if self._java.isDistributed() else "on the driver"
        except FulguriteError:
            return html.table("Matrix", [("closed", "its memory is freed")])
        return html.table("Matrix", [("rows", f"{rows:,}"), ("columns", f"{cols:,}"), ("where", place)])
