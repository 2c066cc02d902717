"""Fits and predictions by executors of their own: the same bits as in local mode, where the plan is the same."""

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("sklearn", minversion="1.9")

PROGRAM = """
import json, sys, warnings
import fulgurite as fg
import numpy as np
from fulgurite import learn
from pyspark.sql import SparkSession

warnings.simplefilter("ignore")
builder = SparkSession.builder.master(sys.argv[1]).config("spark.ui.enabled", "false")
spark = fg.configure(builder.config("spark.sql.shuffle.partitions", "4")).getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
columns = ["pow((id * 7919 + 13) % 1009 / 1009, {0}) + {0} * (id % 3) as c{0}".format(at) for at in range(1, 5)]
frame = spark.range(0, 6000, numPartitions=4).selectExpr(
    *columns, "(id * 31) % 101 / 100 as noise", "if((id * 17) % 5 < 2, 'yes', 'no') as label", "id % 4 + 1 as w")
frame = frame.selectExpr("*", "c1 - 2 * c2 + 3 * c3 + noise as target")
features = frame.select("c1", "c2", "c3", "c4")
cases = [
    (learn.LinearRegression(), frame.drop("label", "noise"), {"y": "target", "sample_weight": "w"}),
    (learn.LogisticRegression(C=0.1), frame.drop("target", "noise"), {"y": "label", "sample_weight": "w"}),
    (learn.PoissonRegressor(), frame.drop("label", "target", "noise"), {"y": "w"}),
    (learn.GaussianNB(), frame.drop("target", "w"), {"y": "label"}),
    (learn.KMeans(3, random_state=0), features, {}),
    (learn.GaussianMixture(2, covariance_type="diag", random_state=0, max_iter=5), features, {}),
    (learn.PCA(2), features, {}),
    (learn.NMF(2, max_iter=2), features, {}),
    (learn.StandardScaler(), features, {}),
]
found = {}
settings = {"fulgurite.memory.local": "60k", "fulgurite.memory.broadcast": "40k"}
for model, given, columns in cases:
    with fg.config(entries=settings):
        model.fit(given, **columns)
    name = type(model).__name__
    values = {}
    for key, value in vars(model).items():
        if key.endswith("_") and key != "report_" and np.asarray(value).dtype.kind in "fiu":
            values[key] = np.asarray(value).tobytes().hex()
    places = {operator["location"] for operator in model.report_["spark"]["operators"]}
    found[name] = {"values": values, "distributed": "spark" in places}
    if hasattr(model, "predict"):
        rows = model.predict(given).select("prediction").collect()
        found[name]["predictions"] = [row[0] for row in rows][:200]
spark.stop()
print(json.dumps(found))
"""


def ran(tmp_path, master):
    kept = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "TEST_CLASS_PATH", "CLASSPATH")}
    done = subprocess.run([sys.executable, "-c", PROGRAM, master], cwd=tmp_path, env={**kept, "PYSPARK_PYTHON": sys.executable},
                          capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_cluster_finds_the_same_bits(tmp_path):
    here, there = ran(tmp_path, "local[2]"), ran(tmp_path, "local-cluster[2,1,1024]")
    assert here.keys() == there.keys()
    for name, model in here.items():
        assert model["distributed"], name
        assert there[name]["values"] == model["values"], name
        assert there[name].get("predictions") == model.get("predictions"), name
