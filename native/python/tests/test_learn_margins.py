"""Support vectors with the hinge loss and with L1 penalties, beside liblinear."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import FORMS, KINDS, columns, in_form, near, weights
from scipy import sparse
from sklearn import svm
from sklearn.datasets import load_breast_cancer, make_classification

LOSSES = [{"loss": "hinge"}, {"penalty": "l1"}]


def reached(model, X, y, w):
    """The objective that liblinear has."""
    total = 0.0
    names = np.unique(y)
    for at, told in enumerate(names[1:] if len(names) == 2 else names):
        sign = np.where(y == told, 1.0, -1.0)
        intercept = np.ravel(model.intercept_)[at] if model.fit_intercept else 0.0
        short = np.maximum(1 - sign * (X @ model.coef_[at] + intercept), 0)
        all_of = np.append(model.coef_[at], intercept / model.intercept_scaling)
        if model.penalty == "l1":
            total += np.sum(np.abs(all_of)) + model.C * np.sum(w * short**2)
        else:
            total += 0.5 * np.sum(all_of**2) + model.C * np.sum(w * short)
    return total


def fitted(X, y, w, **options):
    """Our model and scikit-learn's, where it goes on for long."""
    dual = "loss" in options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = learn.LinearSVC(**options).fit(X, y, w)
        longer = {"dual": dual, "tol": 1e-9, "max_iter": 20000, "random_state": 0}
        their = svm.LinearSVC(**options, **longer).fit(X, y, w)
    return ours, their


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", LOSSES, ids=["hinge", "l1"])
def test_objectives(loss, kind, seed, classes):
    rng = np.random.default_rng([seed, KINDS.index(kind), classes])
    X = columns(rng, kind)
    scores = X / (np.abs(X).max(axis=0) + 1e-9) @ rng.normal(size=(X.shape[1], classes))
    y = np.argmax(scores + rng.normal(size=scores.shape), axis=1)
    y[:classes] = range(classes)
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {
        "C": 10.0 ** int(rng.integers(-3, 2)),
        "fit_intercept": bool(rng.random() < 0.7),
        "intercept_scaling": float(rng.choice([1.0, 5.0])),
    }
    ours, their = fitted(X, y, w, **options, **loss)
    v = np.ones(len(y)) if w is None else w
    got, want = reached(ours, X, y, v), reached(their, X, y, v)
    assert got <= want * (1 + 1e-8)
    assert ours.report_["objective"] == pytest.approx(got / (ours.C * v.sum()), rel=1e-9)
    assert ours.coef_.shape == their.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(their.intercept_)


@pytest.mark.parametrize("loss", LOSSES, ids=["hinge", "l1"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_known_data(loss, C):
    for X, y in (
        load_breast_cancer(return_X_y=True),
        make_classification(2000, 20, flip_y=0.1, random_state=0),
        make_classification(60, 300, random_state=1),
    ):
        ours, their = fitted(X, y, None, C=C, **loss)
        w = np.ones(len(y))
        assert reached(ours, X, y, w) <= reached(their, X, y, w) * (1 + 1e-8)
        assert ours.n_iter_ < 100
        wide = sparse.csr_array(X * (np.abs(X) > 0.5))
        ours, their = fitted(wide, y, None, C=C, **loss)
        assert reached(ours, wide, y, w) <= reached(their, wide, y, w) * (1 + 1e-8)


def test_whole_numbers_and_equal_rows():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 3, size=(300, 3)).astype(float)
    y = (X[:, 0] + rng.integers(0, 2, size=300) > 1).astype(int)
    for loss in LOSSES:
        ours, their = fitted(X, y, None, **loss)
        w = np.ones(300)
        assert reached(ours, X, y, w) <= reached(their, X, y, w) * (1 + 1e-8)


def test_many_columns():
    rng = np.random.default_rng(6)
    X = sparse.random_array((300, 4000), density=0.01, rng=rng, format="csr")
    y = (X @ rng.normal(size=4000) > 0).astype(int)
    ours, their = fitted(X, y, None, loss="hinge")
    w = np.ones(300)
    assert reached(ours, X, y, w) <= reached(their, X, y, w) * (1 + 1e-8)


@pytest.mark.parametrize("loss", LOSSES, ids=["hinge", "l1"])
@pytest.mark.parametrize("form", FORMS)
def test_forms(loss, form):
    rng = np.random.default_rng(7)
    X = rng.integers(-5, 6, size=(80, 4)).astype(float)
    y = (X @ [1.0, -1.0, 2.0, 0.0] + rng.normal(size=80) > 0).astype(int)
    want = learn.LinearSVC(**loss).fit(X, y)
    ours = learn.LinearSVC(**loss).fit(in_form(X, form), y)
    near(ours.coef_, want.coef_, 1e-5)
    assert (ours.predict(in_form(X, form)) == want.predict(X)).all()


@pytest.mark.parametrize("loss", LOSSES, ids=["hinge", "l1"])
def test_progress(loss, capfd):
    X, y = make_classification(50, 3, n_informative=2, n_redundant=0, random_state=0)
    model = learn.LinearSVC(verbose=1, **loss).fit(X, y)
    assert "column 1, iteration 1: objective" in capfd.readouterr().out
    with pytest.warns(UserWarning, match="did not converge"):
        learn.LinearSVC(max_iter=1, **loss).fit(X, y)
    assert "function fit" not in model.explain_(level="hops")
