"""Least squares whose coefficients are not negative, beside scikit-learn's."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import FORMS, KINDS, columns, in_form, near, weights
from scipy import optimize, sparse
from sklearn import linear_model as theirs
from test_learn_linear import no_worse, objective

SEEDS = range(6)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
def test_objectives(name, kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = columns(rng, kind)
    targets = int(rng.integers(0, 3))
    shape = (len(X), targets) if targets else (len(X),)
    y = rng.normal(size=shape) + X @ rng.normal(size=(X.shape[1], *shape[1:]))
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {"fit_intercept": bool(rng.random() < 0.7), "positive": True}
    alpha = 0.0
    if name == "Ridge":
        alpha = options["alpha"] = float(10.0 ** rng.integers(-3, 3))
    ours = getattr(learn, name)(**options).fit(X, y, w)
    assert np.all(ours.coef_ >= 0)
    scale = np.sum(y**2) * (1 if w is None else w.max())
    if name == "Ridge":
        options["tol"] = 1e-12
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            their = getattr(theirs, name)(**options).fit(X, y, w)
    except RuntimeError:
        # SciPy's method may end without a result for collinear columns.
        return
    assert ours.coef_.shape == their.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(their.intercept_)
    no_worse(objective(ours, X, y, w, alpha), objective(their, X, y, w, alpha), scale)
    if name == "LinearRegression" and kind not in ("collinear", "wide"):
        near(ours.coef_, their.coef_, 1e-6)


def test_many_columns():
    rng = np.random.default_rng(1)
    X = rng.random((400, 300))
    y = X @ rng.normal(size=300) + rng.normal(size=400)
    ours = learn.LinearRegression(positive=True, fit_intercept=False).fit(X, y)
    coef, norm = optimize.nnls(X, y)
    near(ours.coef_, coef, 1e-8)
    no_worse(objective(ours, X, y, None), norm**2, np.sum(y**2))
    assert ours.report_["iterations"] < 100


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    rng = np.random.default_rng(2)
    X = rng.integers(-5, 6, size=(60, 4)).astype(float)
    y = X @ [1.0, -1.0, 2.0, 0.0] + rng.normal(size=60)
    want = theirs.Ridge(0.5, positive=True, tol=1e-12).fit(X, y)
    ours = learn.Ridge(0.5, positive=True).fit(in_form(X, form), y)
    near(ours.coef_, want.coef_, 1e-5)
    near(ours.predict(in_form(X, form)), want.predict(X), 1e-5)
    assert ours.solver_ == "lbfgs" and ours.n_iter_ is None
    if form != "csr" and form != "csc":
        want = theirs.LinearRegression(positive=True).fit(X, y)
        near(learn.LinearRegression(positive=True).fit(in_form(X, form), y).coef_, want.coef_, 1e-5)


def test_what_is_refused():
    X, y = np.eye(3), [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="does not support positive"):
        learn.Ridge(positive=True, solver="svd").fit(X, y)
    with pytest.raises(TypeError, match="Sparse"):
        learn.LinearRegression(positive=True).fit(sparse.csr_array(X), y)
    wide = sparse.csr_array((3, 6000))
    with pytest.raises(learn.UnsupportedError, match="so many columns"):
        learn.Ridge(positive=True).fit(wide, y)
    assert np.all(learn.Ridge(positive=True).fit(X, [-1.0, -2.0, -3.0]).coef_ >= 0)


def test_progress(capfd):
    X = np.random.default_rng(3).normal(size=(30, 3))
    model = learn.Ridge(positive=True)
    model.verbose = True
    model.fit(X, X @ [1.0, 2.0, -1.0])
    assert "iteration 1: objective" in capfd.readouterr().out
