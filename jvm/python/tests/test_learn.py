"""Estimators on Spark DataFrames: what they find beside fits in process, what they add to DataFrames, what they refuse."""

import pathlib
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("sklearn", minversion="1.9")

import fulgurite as fg
from fulgurite import learn
from learned_on_spark import CASES, COLUMNS, arguments, attributes, rows

# Data and what follows row by row are distributed; coefficients are not.
SMALL = {"fulgurite.memory.local": "20k"}
# Start from other random numbers.
OTHER_START = {"init='random'", "init_params='random'"}


@pytest.fixture(scope="module")
def table():
    return rows()


@pytest.fixture(scope="module")
def frame(spark, table):
    return spark.createDataFrame(table).coalesce(1).persist()


def fits(frame, table, name, options, y, weight):
    """A model of Spark and one of this process."""
    there = frame.select(*COLUMNS, *filter(None, (y, weight)))
    given = {key: value for key, value in (("y", y), ("sample_weight", weight)) if value}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        on_spark = getattr(learn, name)(**options).fit(there, **given)
        here = getattr(learn, name)(**options).fit(table[COLUMNS], **arguments(table, y, weight))
    return on_spark, here


@pytest.mark.parametrize("name, options, y, weight", CASES)
def test_fits_find_what_fits_in_process_find(frame, table, name, options, y, weight):
    on_spark, here = fits(frame, table, name, options, y, weight)
    assert type(on_spark) is type(here)
    found, wanted = attributes(on_spark), attributes(here)
    # One for each row.
    wanted.pop("labels_", None)
    assert set(found) == set(wanted)
    for key, value in wanted.items():
        own = found[key]
        assert type(own) is type(value), key
        if np.asarray(value).dtype.kind not in "fiu":
            assert np.array_equal(own, value), key
            continue
        assert np.asarray(own).dtype == np.asarray(value).dtype and np.shape(own) == np.shape(value), key
        scale = np.max(np.abs(value)) if np.size(value) else 1.0
        np.testing.assert_allclose(own, value, atol=1e-9 * scale, rtol=1e-7, err_msg=key)
    assert list(on_spark.feature_names_in_) == COLUMNS
    assert on_spark.report_["script"] and on_spark.report_["spark"]["operators"]
    assert re.search(r"block \d|function \w", on_spark.explain_())
    # A copy has the model, and no plan.
    copied = pickle.loads(pickle.dumps(on_spark))
    assert attributes(copied).keys() == found.keys()
    with pytest.raises(fg.FulguriteError, match="copy"):
        copied.explain_()


DISTRIBUTED = [case for case in CASES if "saga" not in str(case[1]) and case[0] != "NMF"]


@pytest.mark.parametrize("name, options, y, weight", DISTRIBUTED)
def test_distributed_plans_find_the_same(frame, table, name, options, y, weight):
    there = frame.select(*COLUMNS, *filter(None, (y, weight)))
    given = {key: value for key, value in (("y", y), ("sample_weight", weight)) if value}
    with fg.config(entries=SMALL):
        model = getattr(learn, name)(**options).fit(there, **given)
    operators = model.report_["spark"]["operators"]
    assert any(operator["location"] == "spark" for operator in operators)
    here = getattr(learn, name)(**options).fit(table[COLUMNS], **arguments(table, y, weight))
    found = attributes(model)
    for key, value in attributes(here).items():
        # A gap is the difference of sums that are nearly equal.
        if np.asarray(value).dtype.kind == "f" and key in found and key != "dual_gap_":
            scale = np.max(np.abs(value))
            np.testing.assert_allclose(found[key], value, atol=1e-9 * scale, rtol=1e-7, err_msg=key)


def test_a_mixture_and_factors_from_random_numbers(frame, table):
    options = {"n_components": 2, "init_params": "random", "random_state": 0, "max_iter": 500, "tol": 1e-8}
    ours, here = fits(frame, table, "GaussianMixture", options, None, None)
    assert ours.converged_ and ours.lower_bound_ >= here.lower_bound_ - 0.05
    options = {"n_components": 2, "init": "random", "random_state": 0, "max_iter": 3000, "tol": 1e-8}
    ours, here = fits(frame, table, "NMF", options, None, None)
    assert ours.reconstruction_err_ <= here.reconstruction_err_ * (1 + 1e-4)
    with fg.config(entries=SMALL):
        few = learn.NMF(2, max_iter=3, random_state=0)
        with pytest.warns(UserWarning, match="Maximum number"):
            few.fit(frame.select(*COLUMNS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = learn.NMF(2, max_iter=3, random_state=0).fit(table[COLUMNS])
    np.testing.assert_allclose(few.components_, want.components_, rtol=1e-6)


def test_coordinate_descent_of_logistic_regression_is_distributed(frame, table):
    options = {"solver": "saga", "l1_ratio": 1.0, "C": 0.1, "max_iter": 2}
    with fg.config(entries={"fulgurite.memory.local": "100k"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = learn.LogisticRegression(**options).fit(frame.select(*COLUMNS, "two"), "two")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = learn.LogisticRegression(**options).fit(table[COLUMNS], table["two"])
    np.testing.assert_allclose(model.coef_, here.coef_, rtol=1e-9)


# What models add to DataFrames.


@pytest.mark.parametrize("name, options, y, weight", CASES)
def test_predictions_are_columns_beside_the_others(frame, table, name, options, y, weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = getattr(learn, name)(**options).fit(table[COLUMNS], **arguments(table, y, weight))
    shuffled = frame.select("word", "d", "c", "b", "a", "two", "label", "count", "target", "w")
    if hasattr(model, "predict"):
        found = model.predict(shuffled)
        added = ["prediction", "probability"] if hasattr(model, "predict_proba") else ["prediction"]
        assert found.columns == [*shuffled.columns, *added]
        kept = found.toPandas()
        assert kept["word"].tolist() == table["word"].tolist()
        want = model.predict(table[COLUMNS])
        if want.dtype.kind == "f":
            np.testing.assert_allclose(kept["prediction"], want, rtol=1e-9)
        else:
            assert kept["prediction"].tolist() == want.tolist()
        if "probability" in added:
            chances = np.array(kept["probability"].tolist())
            np.testing.assert_allclose(chances, model.predict_proba(table[COLUMNS]), rtol=1e-9, atol=1e-300)
    if hasattr(model, "transform"):
        found = model.transform(shuffled)
        assert found.columns == [*shuffled.columns, "transformed"]
        cells = np.array(found.toPandas()["transformed"].tolist())
        # Rows of a factorisation stop together with those of their batch.
        close = 1e-3 if name == "NMF" else 1e-9
        np.testing.assert_allclose(cells, model.transform(table[COLUMNS]), rtol=close, atol=close)
    if hasattr(model, "score"):
        given = arguments(table, y, weight)
        if y is None:
            given.pop("sample_weight", None)
        columns = {key: {"y": y, "sample_weight": weight}[key] for key in given}
        want = model.score(table[COLUMNS], **given)
        assert model.score(frame, **columns) == pytest.approx(want, rel=1e-9)


def test_models_cross_sides(spark, frame, table, tmp_path):
    model = learn.LogisticRegression().fit(frame.select(*COLUMNS, "label"), y="label")
    assert model.predict(table[COLUMNS])[0] in ("no", "yes", "perhaps")
    model.save(tmp_path / "model")
    back = learn.load(tmp_path / "model")
    assert np.array_equal(back.predict_proba(table[COLUMNS]), model.predict_proba(table[COLUMNS]))
    want = model.predict(frame).select("prediction").collect()
    assert back.predict(frame).select("prediction").collect() == want
    # Without names, columns of numbers count by their places.
    bare = learn.Ridge().fit(table[COLUMNS].to_numpy(), table["target"])
    found = bare.predict(frame.select("word", *COLUMNS)).toPandas()
    np.testing.assert_allclose(found["prediction"], bare.predict(table[COLUMNS].to_numpy()), rtol=1e-12)
    with pytest.raises(ValueError, match="df.select"):
        bare.predict(frame)


def test_transformers_feed_estimators(frame, table):
    scaler = learn.StandardScaler().fit(frame.select(*COLUMNS))
    scaled = scaler.transform(frame).select("transformed", "label")
    model = learn.LogisticRegression(tol=1e-8).fit(scaled, y="label")
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 4
    Z = learn.StandardScaler().fit_transform(table[COLUMNS])
    here = learn.LogisticRegression(tol=1e-8).fit(Z, table["label"])
    np.testing.assert_allclose(model.coef_, here.coef_, rtol=1e-6)
    assert model.predict(scaled).count() == len(table)
    assert model.score(scaled, y="label") == pytest.approx(here.score(Z, table["label"]))
    assert learn.PCA(2).fit_transform(frame.select(*COLUMNS)).columns == [*COLUMNS, "transformed"]
    both = learn.StandardScaler().partial_fit(frame.limit(500).select(*COLUMNS))
    both.partial_fit(frame.select("d", "a", "b", "c"))
    twice = learn.StandardScaler().partial_fit(table[COLUMNS][:500]).partial_fit(table[COLUMNS])
    np.testing.assert_allclose(both.mean_, twice.mean_, rtol=1e-12)


@pytest.mark.parametrize("kind", ["dense", "sparse", "mixed", "array"])
def test_columns_of_vectors(spark, kind):
    from pyspark.ml.linalg import Vectors

    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 30)) * (rng.random((300, 30)) < (0.05 if kind == "sparse" else 0.5))
    y = X @ rng.normal(size=30) + rng.normal(size=300)

    def cell(number, row):
        if kind == "array":
            return row.tolist()
        if kind == "dense" or (kind == "mixed" and number % 3 == 0):
            return Vectors.dense(row)
        at = np.flatnonzero(row)
        return Vectors.sparse(30, at.tolist(), row[at].tolist())

    given = [(cell(number, row), float(y[number]), 1.0 + number % 2) for number, row in enumerate(X)]
    vectors = spark.createDataFrame(given, ["features", "y", "w"]).coalesce(1)
    model = learn.Ridge(tol=1e-8).fit(vectors, y="y", sample_weight="w")
    here = learn.Ridge().fit(X, y, 1.0 + np.arange(300) % 2)
    np.testing.assert_allclose(model.coef_, here.coef_, rtol=1e-6, atol=1e-8)
    assert model.report_["script"] == ("linear_sparse" if kind == "sparse" else "linear")
    found = model.predict(vectors).toPandas()["prediction"]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-9)
    means = learn.StandardScaler().fit(vectors.select("features")) if kind != "sparse" else None
    if means is not None:
        cells = np.array(means.transform(vectors).toPandas()["transformed"].tolist())
        np.testing.assert_allclose(cells, learn.StandardScaler().fit_transform(X), rtol=1e-9, atol=1e-12)


def test_several_targets(frame, table):
    model = learn.LinearRegression().fit(frame.select(*COLUMNS, "target", "count"), y=["target", "count"])
    here = learn.LinearRegression().fit(table[COLUMNS], table[["target", "count"]])
    np.testing.assert_allclose(model.coef_, here.coef_, rtol=1e-9)
    found = np.array(model.predict(frame).toPandas()["prediction"].tolist())
    np.testing.assert_allclose(found, here.predict(table[COLUMNS]), rtol=1e-9)


def test_labels_of_all_types(spark, table):
    for kind, labels in (("int", [3, 1]), ("boolean", [True, False]), ("double", [2.0, -1.0]), ("string", ["b", "a"])):
        chosen = np.array(labels)[table["two"].astype(int)]
        frame = spark.createDataFrame(table[COLUMNS].assign(y=chosen))
        frame = frame.withColumn("y", frame["y"].cast(kind))
        model = learn.LogisticRegression().fit(frame, y="y")
        assert model.classes_.tolist() == sorted(labels)
        found = model.predict(frame).select("y", "prediction").toPandas()
        assert (found["y"] == found["prediction"]).mean() > 0.6
        assert model.score(frame, y="y") == pytest.approx((found["y"] == found["prediction"]).mean())


# Factors of ratings.


def test_ratings(spark, tmp_path):
    from scipy import sparse

    rng = np.random.default_rng(0)
    cells = sparse.random_array((80, 20), density=0.3, rng=rng, format="coo")
    cells.data = rng.integers(0, 6, cells.nnz).astype(float)
    users = np.array([f"user {number:02d}" for number in range(80)])
    table = pd.DataFrame({"user": users[cells.coords[0]], "item": cells.coords[1] * 10, "rating": cells.data})
    frame = spark.createDataFrame(table)
    there = np.unique(cells.coords[0])
    matrix = cells.tocsr()[there][:, np.unique(cells.coords[1])]
    for options in ({}, {"implicit": True, "alpha": 2.0}):
        model = learn.ALS(3, random_state=0, **options).fit(frame)
        here = learn.ALS(3, random_state=0, **options).fit(matrix)
        assert model.user_ids_.tolist() == users[there].tolist()
        assert model.item_ids_.tolist() == (np.unique(cells.coords[1]) * 10).tolist()
        np.testing.assert_allclose(model.user_factors_, here.user_factors_, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(model.item_factors_, here.item_factors_, rtol=1e-6, atol=1e-9)
    assert "als.dml" in model.explain_()
    more = pd.DataFrame({"user": ["nobody"], "item": [0], "rating": [1.0]})
    model.save(tmp_path / "model")
    found = learn.load(tmp_path / "model").transform(spark.createDataFrame(pd.concat([table, more]))).toPandas()
    assert found.columns.tolist() == ["user", "item", "rating", "prediction"]
    row = np.searchsorted(model.user_ids_, table["user"].to_numpy().astype(str))
    col = np.searchsorted(model.item_ids_, table["item"])
    want = np.sum(model.user_factors_[row] * model.item_factors_[col], axis=1)
    np.testing.assert_allclose(found["prediction"][:-1], want, rtol=1e-9)
    assert np.isnan(found["prediction"].iloc[-1])
    with pytest.raises(ValueError, match="'rating': did you mean 'ratings'"):
        learn.ALS().fit(frame.withColumnRenamed("rating", "ratings"))
    with pytest.raises(ValueError, match="NaN.*'user'"):
        learn.ALS().fit(spark.sql("select cast(null as int) as user, 1 as item, 2.0 as rating"))


# What is refused.

BAD = [
    ("LinearRegression", "a; cast(null as double) as b; target", {"y": "target"}, ValueError, "'b' holds a null"),
    ("LinearRegression", "a; if(id = 7, double('NaN'), b) as b; target", {"y": "target"}, ValueError, "contains NaN.*'b'"),
    ("LinearRegression", "a; if(id = 7, double('inf'), b) as b; target", {"y": "target"}, ValueError, "infinity.*'b'"),
    ("LinearRegression", "a; b; if(id = 7, double('NaN'), target) as target", {"y": "target"}, ValueError, "Input y.*'target'"),
    ("LinearRegression", "a; word; target", {"y": "target"}, ValueError, "'word' is of type string.*encode"),
    ("LinearRegression", "a; b; target", {"y": "targets"}, ValueError, "'targets': did you mean 'target'"),
    ("LinearRegression", "a; b; target", {"y": "target", "sample_weight": "v"}, ValueError, "'v'"),
    ("LinearRegression", "a; b; word", {"y": "word"}, ValueError, "'word' is of type string"),
    ("LinearRegression", "a; b", {}, ValueError, "requires y"),
    ("LinearRegression", "a; b; target", {"y": [1.0, 2.0]}, TypeError, "name of a column"),
    ("LinearRegression", "target", {"y": "target"}, ValueError, "no columns of features"),
    ("LinearRegression", "a; -w as w; target", {"y": "target", "sample_weight": "w"}, ValueError, "Negative.*'w'"),
    ("LinearRegression", "a; 0.0 as w; target", {"y": "target", "sample_weight": "w"}, ValueError, "non-zero.*'w'"),
    ("LinearRegression", "a; array(a, b) as v; target", {"y": "target"}, ValueError, "'v'.*'a'.*df.select"),
    ("Ridge", "if(id = 3, array(a), array(a, b)) as v; target", {"y": "target"}, ValueError, "'v' have from 1 to 2"),
    ("Ridge", "if(id = 3, null, array(a, b)) as v; target", {"y": "target"}, ValueError, "'v' have nulls"),
    ("LogisticRegression", "a; b; 'x' as label", {"y": "label"}, ValueError, "one class.*x"),
    ("LogisticRegression", "a; b; if(id = 1, null, label) as label", {"y": "label"}, ValueError, "'label'.*without"),
    ("LogisticRegression", "a; b; target", {"y": "target"}, ValueError, "Unknown label type"),
    ("GaussianNB", "a; b; current_date() as label", {"y": "label"}, ValueError, "'label' is of type date"),
    ("MultinomialNB", "a; -b as b; label", {"y": "label"}, ValueError, "Negative values.*b"),
    ("NMF", "a; -b as b", {}, ValueError, "Negative values.*b"),
    ("PoissonRegressor", "a; b; -1 - w as w", {"y": "w"}, ValueError, "out of the valid range"),
    ("KMeans", "a; b; label", {}, ValueError, "'label' is of type string"),
]


@pytest.mark.parametrize("name, columns, given, kind, message", BAD)
def test_bad_input_is_refused_by_its_column(spark, table, name, columns, given, kind, message):
    view = spark.createDataFrame(table[:50].assign(id=range(50)))
    frame = view.selectExpr(*columns.split("; "))
    with pytest.raises(kind, match=message):
        getattr(learn, name)().fit(frame, **given)


def test_what_else_is_refused(spark, frame, table):
    empty = frame.select(*COLUMNS, "target").limit(0)
    with pytest.raises(ValueError, match="0 sample"):
        learn.LinearRegression().fit(empty, y="target")
    with pytest.raises(ValueError, match="0 sample"):
        learn.LogisticRegression().fit(empty, y="target")
    with pytest.raises(ValueError, match="should be >= n_clusters"):
        learn.KMeans(3).fit(frame.limit(2).select(*COLUMNS))
    model = learn.Ridge().fit(frame.select(*COLUMNS, "target"), y="target")
    with pytest.raises(ValueError, match="missing: 'b', 'c'"):
        model.predict(frame.select("a", "d"))
    with pytest.raises(ValueError, match="'prediction' already"):
        model.predict(model.predict(frame))
    with pytest.raises(ValueError, match="'b' is of type string"):
        model.predict(frame.withColumn("b", frame["word"]))
    with pytest.raises(Exception, match="NaN.*'b'"):
        model.predict(spark.createDataFrame([(1.0, None, 1.0, 1.0)], "a double, b double, c double, d double")).collect()
    with pytest.raises(learn.UnsupportedError, match="function"):
        learn.KMeans(2, init=lambda X, k, random_state: X[:k]).fit(frame.select(*COLUMNS))
    with pytest.raises(learn.UnsupportedError, match="MiniBatchKMeans has no fit on a Spark DataFrame"):
        learn.MiniBatchKMeans(2).fit(frame.select(*COLUMNS))
    with pytest.raises(learn.UnsupportedError, match="'mu' on a Spark"):
        learn.NMF(2, solver="mu").fit(frame.select(*COLUMNS))
    with pytest.raises(learn.UnsupportedError, match="partial_fit"):
        learn.GaussianNB().partial_fit(frame, y="label")
    with pytest.raises(ValueError, match="alpha"):
        learn.Ridge(alpha=-1.0).fit(frame.select(*COLUMNS, "target"), y="target")


def test_the_example_of_the_page(spark, capsys):
    page = (pathlib.Path(__file__).parents[3] / "docs" / "learn.md").read_text()
    part = page.split("## On Spark\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", part, flags=re.DOTALL)
    names = {}
    exec(code, names)
    lines = capsys.readouterr().out.splitlines()
    assert "prediction" in lines[1] and float(lines[-1]) > 0.9
    assert names["model"].classes_.tolist() == ["less", "more"]
