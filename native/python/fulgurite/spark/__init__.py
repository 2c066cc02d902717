"""Fulgurite in PySpark: scripts over DataFrames, NumPy arrays, pandas and SciPy.

    from fulgurite.spark import MLContext, configure, dml
    from pyspark.sql import SparkSession

    spark = configure(SparkSession.builder).getOrCreate()
    ml = MLContext(spark)
    G = ml.execute(dml("G = t(X) %*% X").input(X=df).output("G")).get("G").toNumPy()
"""

from .installation import require_pyspark

require_pyspark()

from .configuration import attach, configure
from .context import MLContext, MLResults
from .errors import FulguriteError
from .functions import udf
from .installation import jar
from .matrix import Matrix
from .script import Script, dml, dmlFromFile

__all__ = ["FulguriteError", "MLContext", "MLResults", "Matrix", "Script", "attach", "configure", "dml", "dmlFromFile", "jar", "udf"]
