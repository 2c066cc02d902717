"""Fulgurite in PySpark: scripts over DataFrames, NumPy arrays, pandas and SciPy.

    import fulgurite
    from fulgurite import MLContext, dml
    from pyspark.sql import SparkSession

    spark = fulgurite.configure(SparkSession.builder).getOrCreate()
    ml = MLContext(spark)
    G = ml.execute(dml("G = t(X) %*% X").input(X=df).output("G")).get("G").toNumPy()
"""

from .configuration import attach, configure
from .context import MLContext, MLResults
from .errors import FulguriteError
from .installation import jar
from .matrix import Matrix
from .script import Script, dml, dmlFromFile

__version__ = "0.1.0"
__all__ = ["FulguriteError", "MLContext", "MLResults", "Matrix", "Script", "attach", "configure", "dml", "dmlFromFile", "jar"]
