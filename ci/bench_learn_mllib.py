"""MLlib as a side of `ci/bench --learn`: fits on a DataFrame that is in the memory of Spark's executor."""

import importlib
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import bench_learn_rows
from bench_spark_data import write_parquet

HEAP = "6g"
MODULES = ["classification", "clustering", "feature", "recommendation", "regression"]
# Fits before those that count: the JVM compiles while it runs.
WARM_UP_SECONDS = 10


def frame_file(place):
    """A Parquet file of a shape: a column of vectors, and one for each target. Made once."""
    file = place / "data.parquet"
    if not file.exists():
        X, _ = bench_learn_rows.read(place, None)
        targets = {name: np.load(place / f"{name}.npy").astype(np.float64) for name in ["real", "binary", "classes", "counts", "positive"]}
        if hasattr(X, "tocsr"):
            large = ((X.shape), X.data, X.indptr, X.indices)
        else:
            large = (X.shape, X.ravel(), None, None)
        unfinished = place / "unfinished.parquet"
        write_parquet(unfinished, {"X": [large], **{name: [((len(y), 1), y, None, None)] for name, y in targets.items()}})
        unfinished.rename(file)
    return file


def ratings_file(place):
    file = place / "ratings.parquet"
    if not file.exists():
        import pyarrow
        import pyarrow.parquet

        X, _ = bench_learn_rows.read(place, None)
        users = np.repeat(np.arange(X.shape[0], dtype=np.int32), np.diff(X.indptr))
        pyarrow.parquet.write_table(pyarrow.table({"user": users, "item": X.indices, "rating": X.data.astype(np.float32)}), file)
    return file


class Peer:
    def __init__(self, options, row, shape):
        from pyspark.sql import SparkSession, functions

        self.row, self.shape, self.options = row, shape, options
        name, self.parameters = row.sides["mllib"](shape)
        self.kind = next(getattr(module, name) for module in map(of_ml, MODULES) if hasattr(module, name))
        file = ratings_file(options.data) if name == "ALS" else frame_file(options.data)
        builder = SparkSession.builder.master("local[2]").appName("fulgurite bench").config("spark.ui.enabled", "false")
        builder = builder.config("spark.driver.memory", HEAP).config("spark.driver.extraJavaOptions", "--add-modules=jdk.incubator.vector")
        self.spark = builder.getOrCreate()
        self.spark.sparkContext.setLogLevel("ERROR")
        self.spark.sparkContext.setCheckpointDir(str(options.data.parent / "checkpoints"))
        frame = self.spark.read.parquet(str(file))
        if name != "ALS":
            label = [functions.col(row.target).alias("label")] if row.target else []
            frame = frame.select(functions.col("X").alias("features"), *label) if "X" in frame.columns else frame.select("features", *label)
        if name in ("PCA", "StandardScaler"):
            self.parameters = {**self.parameters, "inputCol": "features", "outputCol": "scaled"}
        self.frame = frame.cache()
        self.frame.count()
        self.last, self.warm = None, False
        self.before = self.memory("VmRSS")

    def memory(self, key):
        """Bytes of the JVM."""
        pid = self.spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

    def run(self, seconds, most):
        times = []
        started = time.perf_counter()
        while not times or (time.perf_counter() - started < seconds and len(times) < most):
            start = time.perf_counter()
            self.last = self.kind(**self.parameters).fit(self.frame)
            times.append((time.perf_counter() - start) * 1e3)
        if not self.warm:
            self.warm = True
            until = time.perf_counter() + WARM_UP_SECONDS
            while time.perf_counter() + times[0] / 1e3 < until:
                self.kind(**self.parameters).fit(self.frame)
        return {"milliseconds": times, "peakBytes": max(0, self.memory("VmHWM") - self.before)}

    def results(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        found = {"objective": None, "iterations": None}
        model = self.plain(self.last)
        if self.row.objective and model:
            X, y = bench_learn_rows.read(self.options.data, self.row.target)
            found["objective"] = float(self.row.objective(model, self.row.prepare(X), y, self.shape))
        return found

    def plain(self, model):
        """With the names of scikit-learn; None for what it has no such names for."""
        if hasattr(model, "coefficientMatrix"):
            coef, intercept = model.coefficientMatrix.toArray(), model.interceptVector.toArray()
            return SimpleNamespace(coef_=coef, intercept_=intercept)
        if hasattr(model, "coefficients"):
            return SimpleNamespace(coef_=model.coefficients.toArray(), intercept_=model.intercept)
        if hasattr(model, "clusterCenters"):
            return SimpleNamespace(cluster_centers_=np.array(model.clusterCenters()))
        if hasattr(model, "userFactors"):
            return SimpleNamespace(user_factors_=factors(model.userFactors, self.shape.rows), item_factors_=factors(model.itemFactors, self.shape.columns))
        return None


def of_ml(name):
    return importlib.import_module(f"pyspark.ml.{name}")


def factors(frame, rows):
    table = frame.toPandas()
    found = np.zeros((rows, len(table["features"].iloc[0])))
    found[table["id"].to_numpy()] = np.stack(table["features"].to_numpy())
    return found
