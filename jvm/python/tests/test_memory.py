"""Algorithms whose memory ends give what they give with more of it, or one error that says so."""

from pathlib import Path

import numpy as np
import pytest

from fulgurite import FulguriteError, dmlFromFile

ALGORITHMS = Path(__file__).parents[3] / "examples" / "algorithms"
ROWS, COLS = 4000, 20
# What all operators fit, and shares of it. The smallest do not hold a vector with a number for each row.
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
def test_a_budget_ends_no_algorithm_but_with_a_memory_error(ml, algorithm, target, arguments, output):
    def run(budget):
        script = dmlFromFile(ALGORITHMS / f"{algorithm}.dml").input({"$X": "X", "X": X, **arguments}).output(output)
        if target is not None:
            script.input({"$Y": "Y", "y" if "linreg" in algorithm or algorithm == "mlogreg" else "labels": target})
        ml.setConfigProperty("fulgurite.memory.local", str(int(budget)))
        return ml.execute(script).get(output).toNumPy()

    expected = run(WHOLE)
    done = 0
    for share in SHARES:
        try:
            found = run(WHOLE * share)
        except FulguriteError as error:
            assert error.kind == "memory", error
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)
            done += 1
    assert done > 1
