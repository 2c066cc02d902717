"""scikit-learn's own checks of estimators, and what every estimator of ours has."""

import copy
import doctest
import pathlib
import pickle
import re
import subprocess
import sys

import fulgurite as fg
import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

import pandas
from fulgurite import learn
from joblib import Parallel, delayed
from learned import near
from sklearn import config_context, linear_model
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

NAMES = [name for name in learn.__all__ if hasattr(getattr(learn, name), "get_params")]

# Checks that scikit-learn's own class fails, too.
FAIL_THERE = {
    "KMeans": {
        "check_sample_weight_equivalence_on_dense_data": "other rows draw other first centres",
        "check_sample_weight_equivalence_on_sparse_data": "other rows draw other first centres",
    },
    "MiniBatchKMeans": {
        "check_sample_weight_equivalence_on_dense_data": "other rows draw other batches",
        "check_sample_weight_equivalence_on_sparse_data": "other rows draw other batches",
    },
    "Ridge": {
        "check_non_transformer_estimators_n_iter": "n_iter_ is None for methods without iterations",
    },
}

# Parameters that change the way of a fit; scikit-learn checks its own classes with such.
VARIANTS = [
    ("GaussianMixture", {"n_init": 2, "init_params": "random_from_data"}),
    ("KMeans", {"n_clusters": 2, "n_init": 2}),
    ("Lasso", {"positive": True}),
    ("LinearRegression", {"positive": True}),
    ("LinearSVC", {"class_weight": "balanced"}),
    ("LinearSVC", {"loss": "hinge"}),
    ("LinearSVC", {"penalty": "l1", "C": 0.5}),
    ("LogisticRegression", {"C": 0.1, "class_weight": "balanced"}),
    ("LogisticRegression", {"solver": "saga", "l1_ratio": 0.5}),
    ("NMF", {"solver": "mu", "beta_loss": "kullback-leibler", "max_iter": 5000, "tol": 1e-7}),
    ("PCA", {"n_components": 1}),
    ("Ridge", {"positive": True}),
    ("StandardScaler", {"with_mean": False}),
    ("TweedieRegressor", {"power": 1.5}),
]
# With its first 200 iterations scikit-learn's own class fails, too.
MORE_ITERATIONS = {"NMF": {"max_iter": 500}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name, options", [(name, MORE_ITERATIONS.get(name, {})) for name in NAMES] + VARIANTS
)
def test_checks_of_scikit_learn(name, options):
    known = FAIL_THERE.get(name, {})
    results = check_estimator(
        getattr(learn, name)(**options), expected_failed_checks=known, on_fail=None, on_skip=None
    )
    failed = [each["check_name"] for each in results if each["status"] == "failed"]
    assert not failed
    # Checks of other array libraries need those.
    skipped = {each["check_name"] for each in results if each["status"] == "skipped"}
    assert all("array_api" in each for each in skipped)


def data(name):
    """Rows and targets that any estimator takes."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 4))) + 0.1
    y = (X[:, 0] > X[:, 1]).astype(int)
    if name in ("GammaRegressor", "PoissonRegressor", "TweedieRegressor"):
        y = y + 1
    return X, y


def given(model, X):
    """What a fitted model says of rows."""
    for name in ("predict_proba", "predict", "transform"):
        if hasattr(model, name):
            return np.asarray(getattr(model, name)(X))
    raise AssertionError("it says nothing")


def made(name, **options):
    if "random_state" in getattr(learn, name)().get_params():
        options.setdefault("random_state", 0)
    return getattr(learn, name)(**options)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_copies_reports_and_other_columns(name):
    X, y = data(name)
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = made(name).fit(frame, y)
    want = given(model, frame)
    for copied in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert np.array_equal(given(copied, frame), want)
    near(given(clone(model).fit(frame, y), frame), want, 1e-9)
    report = model.report_
    parts = ("load_seconds", "compile_seconds", "run_seconds", "result_seconds")
    assert report["seconds"] == pytest.approx(sum(report[part] for part in parts))
    assert all(report[part] >= 0 for part in parts) and report["input_bytes"] >= X.nbytes
    assert model.report_["script"]
    assert model.report_["script"] in model.explain_(level="hops")
    assert list(model.feature_names_in_) == list("abcd") and model.n_features_in_ == 4
    with pytest.raises(ValueError, match="feature names"):
        given(model, frame[list("abdc")])
    with pytest.raises(ValueError, match="3 features|feature names"):
        given(model, frame[list("abc")])
    bad = frame.copy()
    bad.loc[3, "b"] = np.inf
    with pytest.raises(ValueError, match="(?s)infinity.*column is 'b'"):
        made(name).fit(bad, y)
    if hasattr(model, "transform"):
        shown = model.set_output(transform="pandas").transform(frame)
        assert type(shown).__name__ == "DataFrame" and len(shown) == 60
    with pytest.raises(NotFittedError):
        given(made(name), X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_a_fit_leaves_its_input_alone(name):
    X, y = data(name)
    X = np.vstack([X] * 50)
    y = np.concatenate([y] * 50)
    before = X.copy()
    model = made(name).fit(X, y)
    assert np.array_equal(X, before) and X.flags.writeable
    want = given(model, X)
    # Memory that the model kept would follow.
    X[:] = 1.0
    assert np.array_equal(given(model, before), want)
    with fg.config(threads=1):
        near(given(made(name).fit(before, y), before), want, 1e-9)


@pytest.mark.filterwarnings("ignore")
def test_in_pipelines_and_searches():
    X, y = data("LogisticRegression")
    chain = make_pipeline(learn.StandardScaler(), learn.PCA(3), learn.LogisticRegression())
    search = GridSearchCV(chain, {"logisticregression__C": [0.1, 1.0, 10.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.7
    frame = pandas.DataFrame(X, columns=list("abcd"))
    parts = ColumnTransformer([("s", learn.StandardScaler(), ["a", "b"])], remainder="drop")
    with config_context(transform_output="pandas"):
        assert list(parts.fit_transform(frame).columns) == ["s__a", "s__b"]
    scores = cross_val_score(learn.Ridge(), X, y, cv=3)
    near(scores, cross_val_score(linear_model.Ridge(), X, y, cv=3), 1e-9)
    both = Parallel(n_jobs=2)(delayed(learn.Ridge().fit)(X, y) for _ in range(2))
    near(both[0].coef_, learn.Ridge().fit(X, y).coef_, 1e-12)


def test_without_scikit_learn():
    script = """
import sys
sys.modules["sklearn"] = None
import fulgurite
assert "fulgurite.learn" not in sys.modules
try:
    import fulgurite.learn
except ImportError as error:
    print(error)
"""
    found = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert "pip install 'fulgurite[learn]'" in found.stdout
    clean = "import sys, fulgurite; print(any(name.startswith('sklearn') for name in sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", clean], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "False"


def test_examples_in_docstrings():
    for name in NAMES:
        kind = getattr(learn, name)
        tests = doctest.DocTestFinder().find(kind, name, globs={}, module=False)
        own = [each for each in tests if each.name == name]
        assert own and own[0].examples
        assert doctest.DocTestRunner().run(own[0]).failed == 0


def test_the_example_of_the_page(capsys):
    page = (pathlib.Path(__file__).parents[3] / "docs" / "learn.md").read_text()
    code, printed = re.findall(r"```(?:python)?\n(.*?)```", page, flags=re.DOTALL)[:2]
    names = {}
    exec(code, names)  # noqa: S102
    lines = capsys.readouterr().out
    for line in printed.splitlines():
        # Digits of a gradient that is nearly zero follow from how sums were cut.
        assert line == "..." or line.split(", gradient")[0] in lines
    assert names["model"][-1].report_["script"] == "glm"
    assert names["model"][-1].report_["iterations"] == 8
    assert names["model"][-1].explain_().splitlines()[0] == "function fit"
