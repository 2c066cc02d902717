"""Where memory ends, operators run on the workers, or one error says so."""

import re
import resource
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from fulgurite import FulguriteError, dml, dmlFromFile

ALGORITHMS = Path(__file__).parents[3] / "examples" / "algorithms"
ROWS, COLS = 4000, 20
# What all operators fit, and shares of it. What does not fit runs on the workers; the smallest do not hold a vector with a number
# for each row.
WHOLE = 8 * ROWS * COLS * 4
SHARES = (1, 0.7, 0.5, 0.3, 0.1, 0.03)


def data():
    random = np.random.default_rng(7)
    X = random.standard_normal((ROWS, COLS))
    y = X @ random.standard_normal((COLS, 1))
    return X, y


X, RESPONSE = data()
CLASSES = 1.0 + (RESPONSE > 0) + (RESPONSE > 1)
LABELS = 1.0 + (RESPONSE > 0)


@pytest.mark.parametrize("algorithm, target, arguments, output", [
    ("linreg_cg", RESPONSE, {"$maxi": 3}, "B"),
    ("linreg_ds", RESPONSE, {}, "B"),
    ("l2svm", LABELS, {"$maxi": 2}, "w"),
    ("mlogreg", CLASSES, {"$moi": 2, "$mii": 2}, "B"),
    ("kmeans", None, {"$k": 3, "$maxi": 2}, "C"),
    ("pca", None, {"$k": 2}, "components"),
])
def test_algorithms_give_their_result_under_any_budget(ml, algorithm, target, arguments, output):
    def run(budget):
        script = dmlFromFile(ALGORITHMS / f"{algorithm}.dml").input({"$X": "X", "X": X, **arguments}).output(output)
        if target is not None:
            script.input({"$Y": "Y", "y" if "linreg" in algorithm or algorithm == "mlogreg" else "labels": target})
        ml.setConfigProperty("fulgurite.memory.local", str(int(budget)))
        results = ml.execute(script)
        places = {operator["location"] for operator in results.operators()}
        return results.get(output).toNumPy(), places

    expected, _ = run(WHOLE)
    for share in SHARES:
        found, places = run(WHOLE * share)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
    assert "spark" in places


@contextmanager
def at_most(process, more):
    """The system refuses the process more than this many bytes beyond what it has."""
    has = int(re.search(r"VmData:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text())[1]) * 1024
    soft, hard = resource.prlimit(process, resource.RLIMIT_DATA)
    resource.prlimit(process, resource.RLIMIT_DATA, (has + more, hard))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_DATA, (soft, hard))


def test_memory_that_the_system_refuses_ends_no_jvm(spark, ml):
    side = 7000
    column = np.arange(side, dtype=float).reshape(side, 1) / side
    ml.setConfigProperty("fulgurite.memory.local", str(1 << 40))

    def run():
        script = dml("Y = cumsum(x %*% t(x))\nlast = Y[nrow(Y), ]").input("x", column).output("last")
        return ml.execute(script).get("last").toNumPy()

    expected = run()
    np.testing.assert_allclose(expected, column.sum() * column.T, rtol=1e-12)
    process = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    refused = 0
    # A matrix takes 392 MB. The Java machine needs some memory of its own.
    for more in (2000, 700, 300, 150, 100):
        with at_most(process, more * 10**6):
            try:
                np.testing.assert_array_equal(run(), expected)
            except FulguriteError as error:
                assert error.kind == "memory", error
                refused += 1
    assert refused >= 3
    np.testing.assert_array_equal(run(), expected)
