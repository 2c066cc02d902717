"""Logistic regression and naive Bayes beside scikit-learn's, on data of all kinds."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import FORMS, KINDS, columns, in_form, near, weights
from scipy import sparse
from scipy.special import logsumexp
from sklearn import linear_model, naive_bayes, svm
from sklearn.exceptions import ConvergenceWarning

SEEDS = range(3)


def labels(rng, X, classes, imbalanced=False):
    """Labels that follow from the columns, with noise; all of them occur."""
    spread = np.std(X, axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    scores = Z @ rng.normal(size=(X.shape[1], classes)) + rng.gumbel(size=(len(X), classes))
    if imbalanced:
        scores[:, 0] += 3.0
    y = np.argmax(scores, axis=1)
    y[:classes] = np.arange(classes)
    return y


def objective(model, X, y, w, C, penalises_intercept=False):
    w = np.ones(len(y)) if w is None else w
    codes = np.searchsorted(model.classes_, y)
    scores = np.asarray(X @ model.coef_.T + model.intercept_)
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    losses = logsumexp(scores, axis=1) - scores[np.arange(len(y)), codes]
    penalty = np.sum(model.coef_**2) + penalises_intercept * np.sum(model.intercept_**2)
    return np.sum(w * losses) + (0.0 if np.isinf(C) else penalty / (2 * C))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_logistic_regression(kind, seed, classes):
    rng = np.random.default_rng([seed, KINDS.index(kind), classes])
    X = columns(rng, kind)
    classes = min(classes, len(X) - 1)
    y = labels(rng, X, classes, imbalanced=seed % 2 == 0)
    w = weights(rng, len(X), rng.random() < 0.5)
    if w is not None:
        w[:classes] = 1.0
    options = {
        "C": 10.0 ** int(rng.integers(-3, 3)),
        "fit_intercept": bool(rng.random() < 0.7),
        "tol": float(rng.choice([1e-4, 1e-8])),
        "class_weight": None if rng.random() < 0.7 else "balanced",
        "max_iter": 300,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = learn.LogisticRegression(**options).fit(X, y, w)
        their = linear_model.LogisticRegression(**options).fit(X, y, w)
        better = linear_model.LogisticRegression(
            **{**options, "tol": 1e-10, "max_iter": 100, "solver": "newton-cholesky"}
        ).fit(X, y, w)
    v = w
    if options["class_weight"]:
        from sklearn.utils.class_weight import compute_sample_weight

        v = compute_sample_weight("balanced", y) if w is None else None
    if options["class_weight"] and w is not None:
        return
    C = options["C"]
    got = objective(ours, X, y, v, C)
    assert got <= objective(their, X, y, v, C) * (1 + 1e-8)
    best = objective(better, X, y, v, C)
    assert got <= best * (1 + 1e-8)
    # Where that is the optimum: with columns far from zero it is not found.
    if best <= got * (1 + 1e-9):
        np.testing.assert_allclose(ours.predict_proba(X), better.predict_proba(X), atol=1e-3)
    assert ours.coef_.shape == their.coef_.shape and ours.intercept_.shape == their.intercept_.shape


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("classes", [2, 3])
def test_forms_of_input(classes, form):
    rng = np.random.default_rng(classes)
    X = rng.integers(-5, 6, size=(60, 3)).astype(float)
    y = np.array(["a", "b", "c"])[labels(rng, X, classes)]
    want = learn.LogisticRegression(tol=1e-8).fit(X, y)
    got = learn.LogisticRegression(tol=1e-8).fit(in_form(X, form), y)
    near(got.coef_, want.coef_, 1e-5)
    near(got.intercept_, want.intercept_, 1e-5)
    assert got.coef_.dtype == (np.float32 if form == "float32" else np.float64)
    assert list(got.predict(in_form(X, form))) == list(want.predict(X))


@pytest.mark.parametrize("solver", ["liblinear", "sag", "saga", "newton-cg", "newton-cholesky"])
@pytest.mark.parametrize("seed", range(3))
def test_solvers(solver, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 3)) + 1.0
    y = labels(rng, X, 2, imbalanced=True)
    options = {"C": 0.3, "solver": solver, "intercept_scaling": 2.0 if solver == "liblinear" else 1}
    options |= {"max_iter": 20000, "random_state": 0, "tol": 1e-8}
    ours = learn.LogisticRegression(**options).fit(X, y)
    their = linear_model.LogisticRegression(**options).fit(X, y)
    near(ours.coef_, their.coef_, 1e-4)
    near(ours.intercept_, their.intercept_, 1e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_many_columns_and_no_penalty(classes):
    rng = np.random.default_rng(1)
    X = sparse.random_array((400, 350), density=0.02, rng=rng, format="csr")
    y = labels(rng, X.toarray(), classes)
    options = {"C": 5.0, "tol": 1e-9, "max_iter": 3000}
    ours = learn.LogisticRegression(**options).fit(X, y)
    their = linear_model.LogisticRegression(**options).fit(X, y)
    near(ours.decision_function(X), their.decision_function(X), 1e-5)
    X = X.toarray()[:, :4]
    options = {"C": np.inf, "tol": 1e-9, "max_iter": 3000}
    ours = learn.LogisticRegression(**options).fit(X, y)
    their = linear_model.LogisticRegression(**options).fit(X, y)
    near(ours.predict_proba(X), their.predict_proba(X), 1e-5)


@pytest.mark.parametrize("classes", [2, 4])
def test_warm_start_and_iterations(classes, capsys):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 4))
    y = labels(rng, X, classes)
    model = learn.LogisticRegression(warm_start=True, verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_[0] and "objective" in lines[0] and "gradient" in lines[0]
    assert model.report_["iterations"] == model.n_iter_[0] and model.report_["seconds"] > 0
    coef = model.coef_.copy()
    model.fit(X, y)
    assert model.n_iter_[0] <= 1
    near(model.coef_, coef, 1e-4)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        learn.LogisticRegression(max_iter=1, tol=1e-10).fit(X, y)


def test_what_is_refused():
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="supports only"):
        learn.LogisticRegression(l1_ratio=1.0).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        learn.LogisticRegression().fit(X, [1, 1, 1, 1])
    with pytest.raises(ValueError, match="multiclass"):
        learn.LogisticRegression(solver="liblinear").fit(X, [0, 1, 2, 0])
    with pytest.raises(ValueError, match="NaN"):
        learn.LogisticRegression().fit(np.full((4, 2), np.nan), y)
    with pytest.raises(ValueError, match="[Nn]egative"):
        learn.LogisticRegression().fit(X, y, sample_weight=[1.0, 1.0, -1.0, 1.0])
    for kind in (learn.MultinomialNB,):
        with pytest.raises(ValueError, match="Negative values"):
            kind().fit(-X, y)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_normal_naive_bayes(kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = columns(rng, kind)
    y = labels(rng, X, 3)
    w = weights(rng, len(X), seed % 2)
    options = {"var_smoothing": float(rng.choice([1e-9, 1e-3]))}
    options["priors"] = [0.2, 0.3, 0.5] if seed % 3 == 0 else None
    ours, their = learn.GaussianNB(**options), naive_bayes.GaussianNB(**options)
    for part in np.array_split(np.arange(len(X)), 1 + seed % 3):
        v = None if w is None else w[part]
        if v is not None and not v.any():
            continue
        ours.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=v)
        their.partial_fit(X[part], y[part], classes=[0, 1, 2], sample_weight=v)
    for name in ("theta_", "class_count_", "class_prior_"):
        near(getattr(ours, name), getattr(their, name), 1e-12)
    # Variances of columns that are far from zero lose digits in both.
    near(ours.var_, their.var_, 1e-9)
    if kind != "shifted":
        np.testing.assert_allclose(ours.predict_proba(X), their.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("form", ["csr", "csc", "dense", "int64", "float32", "pandas"])
@pytest.mark.parametrize("seed", range(3))
def test_naive_bayes_of_counts(seed, form):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.5, size=(40, 6)).astype(float)
    y = rng.integers(0, 3, size=40)
    w = weights(rng, 40, seed % 2)
    options = {"alpha": float(rng.choice([0.1, 1.0])), "fit_prior": bool(seed % 2)}
    given = X if form == "dense" else in_form(X, form)
    ours = learn.MultinomialNB(**options).fit(given, y, w)
    their = naive_bayes.MultinomialNB(**options).fit(X, y, w)
    for name in ("feature_count_", "class_count_", "feature_log_prob_", "class_log_prior_"):
        near(getattr(ours, name), getattr(their, name), 1e-12)
    near(ours.predict_proba(given), their.predict_proba(X), 1e-6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 3])
def test_support_vectors(kind, seed, classes):
    rng = np.random.default_rng([seed, KINDS.index(kind), classes])
    X = columns(rng, kind)
    y = labels(rng, X, classes, imbalanced=seed % 2 == 0)
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {
        "C": 10.0 ** int(rng.integers(-3, 2)),
        "fit_intercept": bool(rng.random() < 0.7),
        "intercept_scaling": float(rng.choice([1.0, 5.0])),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = learn.LinearSVC(**options).fit(X, y, w)
        their = svm.LinearSVC(**options, dual=False, tol=1e-10, max_iter=20000).fit(X, y, w)
    v = np.ones(len(y)) if w is None else w

    def reached(model):
        total = 0.0
        for at, told in enumerate([1] if classes == 2 else range(classes)):
            sign = np.where(y == told, 1.0, -1.0)
            intercept = np.ravel(model.intercept_)[at] if model.fit_intercept else 0.0
            short = np.maximum(1 - sign * (X @ model.coef_[at] + intercept), 0)
            size = np.sum(model.coef_[at] ** 2) + (intercept / model.intercept_scaling) ** 2
            total += 0.5 * size + model.C * np.sum(v * short**2)
        return total

    got, want = reached(ours), reached(their)
    assert got <= want * (1 + 1e-8)
    if want <= got * (1 + 1e-10):
        near(ours.decision_function(X), their.decision_function(X), 1e-3)


def test_what_support_vectors_refuse():
    X, y = np.arange(8.0).reshape(4, 2), [0, 1, 0, 1]
    with pytest.raises(learn.UnsupportedError, match="LinearSVC has no"):
        learn.LinearSVC(multi_class="crammer_singer").fit(X, y)
    with pytest.raises(ValueError, match="combination of penalty='l1' and loss='hinge'"):
        learn.LinearSVC(penalty="l1", loss="hinge").fit(X, y)
    with pytest.raises(ValueError, match="not supported when dual=False"):
        learn.LinearSVC(loss="hinge", dual=False).fit(X, y)
    with pytest.raises(ValueError, match="one class"):
        learn.LinearSVC().fit(X, [1, 1, 1, 1])
    balanced = {"class_weight": "balanced"}
    ours = learn.LinearSVC(**balanced).fit(X, [0, 0, 0, 1])
    their = svm.LinearSVC(**balanced, dual=False, tol=1e-10).fit(X, [0, 0, 0, 1])
    near(ours.coef_, their.coef_, 1e-5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("solver", ["saga", "liblinear"])
def test_sparse_logistic_regression(solver, kind, seed, classes):
    # Columns far from zero, with an intercept that is penalised, need more sweeps than max_iter allows.
    if solver == "liblinear" and (classes > 2 or kind == "shifted"):
        return
    rng = np.random.default_rng([seed, KINDS.index(kind), classes])
    X = columns(rng, kind)
    y = labels(rng, X, classes)
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {
        "C": 10.0 ** int(rng.integers(-2, 2)),
        "fit_intercept": bool(rng.random() < 0.7),
        "solver": solver,
        "l1_ratio": 1.0 if solver == "liblinear" else float(rng.choice([0.3, 1.0])),
        "random_state": 0,
        "max_iter": 300,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = learn.LogisticRegression(**options).fit(X, y, w)
        tol = 1e-4 if solver == "saga" else 1e-8
        their = linear_model.LogisticRegression(**options, tol=tol).fit(X, y, w)
    v = np.ones(len(y)) if w is None else w

    def reached(model):
        ratio = options["l1_ratio"]
        size = np.abs(model.coef_).sum()
        if solver == "liblinear":
            size += np.sum(np.abs(model.intercept_))
        squares = np.sum(model.coef_**2)
        smooth = objective(model, X, y, v, np.inf)
        return smooth + (ratio * size + 0.5 * (1 - ratio) * squares) / options["C"]

    got, want = reached(ours), reached(their)
    assert got <= want * (1 + 1e-8)
    assert ours.coef_.shape == their.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(their.intercept_)
    if want <= got * (1 + 1e-10):
        near(ours.predict_proba(X), their.predict_proba(X), 1e-3)
