"""Matrices that scripts gave back."""

from .errors import java_errors
from .transfer import dense_from_java


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

    def toDF(self):
        """A DataFrame with column ``__INDEX`` from 1, then ``C1``, ``C2`` …; rows are in order."""
        from pyspark.sql import DataFrame

        with java_errors(self._bridge):
            return DataFrame(self._java.toDF(), self._spark)

    def toPandas(self):
        """A pandas DataFrame with columns ``C1``, ``C2`` …"""
        import pandas

        cells = self.toNumPy()
        return pandas.DataFrame(cells, columns=[f"C{col + 1}" for col in range(cells.shape[1])])

    def close(self):
        """Frees the memory now; otherwise it is freed when nobody refers to the matrix any more."""
        self._java.close()

    def __array__(self, dtype=None, copy=None):
        cells = self.toNumPy()
        return cells if dtype is None else cells.astype(dtype)

    def __repr__(self):
        return "Matrix: {} x {}".format(*self.shape)
