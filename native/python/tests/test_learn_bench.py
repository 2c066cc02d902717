"""The rows of `ci/bench --learn` fit small data, and ours reach the objectives of scikit-learn."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "ci"))

import bench_learn_report
import bench_learn_rows
from fulgurite import learn

ROWS = bench_learn_rows.load(ROOT / "tests" / "bench" / "learn")
SHAPES = [bench_learn_rows.Shape(400, 6), bench_learn_rows.Shape(400, 40, 4)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data")


@pytest.mark.parametrize("name", ROWS)
def test_ours_reach_what_scikit_learn_reaches(name, folder):
    row = ROWS[name]
    if name == "mini-batch-kmeans" and not hasattr(learn, "MiniBatchKMeans"):
        pytest.skip("there is no such class yet")
    is_sparse = any(shape.stored for shape in row.shapes)
    for shape in SHAPES[: 1 + is_sparse]:
        if name == "als" and not shape.stored:
            continue
        place = bench_learn_rows.make(folder, shape)
        found = {}
        for side in ("fulgurite", "sklearn"):
            if side not in row.sides:
                continue
            X, y = bench_learn_rows.read(place, row.target)
            X = row.prepare(X)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = row.sides[side](shape)
                model.fit(X) if y is None else model.fit(X, y)
            found[side] = row.objective(model, X, y, shape) if row.objective else row.seen(model)
        if "sklearn" not in found:
            assert np.isfinite(found["fulgurite"])
        elif row.objective:
            ours, theirs = found["fulgurite"], found["sklearn"]
            # Centres and mixtures end at another optimum of the same start where steps round.
            slack = 0.1 if name in ("mini-batch-kmeans",) else 1e-8
            assert ours - theirs <= slack * abs(theirs)
        else:
            for ours, theirs in zip(found["fulgurite"], found["sklearn"], strict=True):
                np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_data_are_the_same_each_time(folder, tmp_path):
    for shape in SHAPES:
        first, second = (bench_learn_rows.make(each, shape) for each in (folder, tmp_path))
        for path in first.glob("*.npy"):
            assert np.array_equal(np.load(path), np.load(second / path.name)), path.name


def test_losses_are_told():
    row = {
        "row": "ridge",
        "shape": "1e6x10",
        "size": "1e6x10",
        "what": "Ridge()",
        "ms": {"fulgurite": 2.0, "sklearn": 1.0, "glum": 5.0},
        "mb": {"fulgurite": 30.0, "sklearn": 10.0},
        "objective": {"fulgurite": 1.001, "sklearn": 1.0, "glum": None},
    }
    said = bench_learn_report.verdict(row)
    assert "slower than scikit-learn: 0.50" in said
    assert "more memory" in said and "objective worse by 1.0e-03" in said
    assert "1 are won" in bench_learn_report.means([row])[1]
    text = "\n".join(bench_learn_report.summary([row]) + bench_learn_report.misses([row]))
    assert "Slower than one of them: 1. ridge/1e6x10" in text and "30 / 10" in text
    tiny = row | {"shape": "150x4", "mb": {"fulgurite": 1.0, "sklearn": 1.0}, "objective": {}}
    assert bench_learn_report.verdict(tiny) == "reached"
