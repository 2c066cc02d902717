"""Executors of their own, which get the jar from the session and the native library from the jar."""

import json
import os
import subprocess
import sys

SCRIPT = """
import json
import fulgurite
from fulgurite import dml
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local-cluster[1,1,1024]").config("spark.ui.enabled", "false")
spark = fulgurite.configure(builder).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
ml = fulgurite.MLContext(spark)
# Whole numbers, whose products are exact.
frame = spark.range(0, 4000, numPartitions=2).selectExpr(*[f"cast(id % {col + 2} as double) as c{col}" for col in range(8)])
ml.setConfigProperty("fulgurite.memory.local", "50k")
results = ml.execute(dml("G = t(X) %*% X").input(X=frame).output("G"))
print(json.dumps({
    "G": results.get("G").toNumPy().tolist(),
    "report": results.report(),
    "paths": [spark.conf.get(key, None) for key in ("spark.fulgurite.native.path", "spark.executor.extraClassPath", "spark.executor.extraLibraryPath")],
}))
spark.stop()
"""


def test_a_cluster_needs_nothing_but_the_jar(tmp_path):
    clean = {key: value for key, value in os.environ.items() if key not in ("FULGURITE_JAR", "LD_LIBRARY_PATH", "TEST_CLASS_PATH", "CLASSPATH")}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=tmp_path, env={**clean, "PYSPARK_PYTHON": sys.executable}, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    rows = [[row % (col + 2) for col in range(8)] for row in range(4000)]
    assert found["G"] == [[sum(row[a] * row[b] for row in rows) for b in range(8)] for a in range(8)]
    # By executor 0, which nobody has told of a library or a class.
    assert " on 0" in found["report"] and " on driver" not in found["report"]
    assert found["paths"] == [None, None, None]
