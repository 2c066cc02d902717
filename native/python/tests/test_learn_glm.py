"""Generalised linear models beside scikit-learn's, on data of all kinds."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import FORMS, KINDS, columns, in_form, near, weights
from sklearn import linear_model as theirs
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model._linear_loss import LinearModelLoss

SEEDS = range(2)
MODELS = [
    ("PoissonRegressor", {}),
    ("GammaRegressor", {}),
    ("TweedieRegressor", {"power": 0}),
    ("TweedieRegressor", {"power": 0, "link": "log"}),
    ("TweedieRegressor", {"power": 1.5}),
    ("TweedieRegressor", {"power": 3}),
]


def response(rng, name, options, X):
    spread = np.std(X, axis=0)
    Z = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    mean = np.exp(0.3 * Z @ rng.normal(size=X.shape[1]) / np.sqrt(X.shape[1]))
    power = options.get("power", {"PoissonRegressor": 1, "GammaRegressor": 2}.get(name))
    if power == 0:
        return mean + 0.1 * rng.normal(size=len(X))
    if power >= 2:
        return rng.gamma(2.0, mean / 2.0) + 1e-3
    return rng.poisson(3 * mean).astype(float) * (1.0 if power == 1 else rng.random(len(X)))


def objective(model, X, y, w, alpha):
    loss = LinearModelLoss(base_loss=model._get_loss(), fit_intercept=True)
    coef = np.append(model.coef_, model.intercept_)
    return loss.loss(coef, X, y, w, alpha)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name, family", MODELS)
def test_models(name, family, kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = columns(rng, kind)
    y = response(rng, name, family, X)
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {
        "alpha": 10.0 ** int(rng.integers(-3, 2)),
        "fit_intercept": kind != "shifted",
        "tol": float(rng.choice([1e-4, 1e-7])),
        "max_iter": 300,
        **family,
    }
    if kind == "shifted":
        X = X - 1e4
    if kind == "scaled":
        # Steps of scikit-learn's method leave the range of exp.
        X = np.clip(X, -30, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = getattr(learn, name)(**options).fit(X, y, w)
        their = getattr(theirs, name)(**options).fit(X, y, w)
    v = np.ones(len(y)) if w is None else w
    got, want = (objective(each, X, y, v, options["alpha"]) for each in (ours, their))
    assert got <= want + 1e-8 * abs(want)
    if want <= got + 1e-9 * abs(got):
        near(ours.predict(X), their.predict(X), 1e-3)


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_input(form):
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(50, 3)).astype(float)
    y = rng.poisson(np.exp(0.3 * X[:, 0]))
    want = learn.PoissonRegressor(tol=1e-9).fit(X, y)
    got = learn.PoissonRegressor(tol=1e-9).fit(in_form(X, form), y)
    near(got.coef_, want.coef_, 1e-5)
    near(got.predict(in_form(X, form)), want.predict(X), 1e-5)


def test_warm_start_and_what_is_refused():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    y = rng.poisson(np.exp(X[:, 0]))
    model = learn.PoissonRegressor(warm_start=True).fit(X, y)
    first = model.n_iter_
    assert first > 1 and model.fit(X, y).n_iter_ <= 1
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        learn.PoissonRegressor(max_iter=1).fit(X, y)
    with pytest.raises(ValueError, match="out of the valid range"):
        learn.PoissonRegressor().fit(X, -1.0 - y)
    with pytest.raises(ValueError, match="out of the valid range"):
        learn.GammaRegressor().fit(X, np.zeros(50))
    with pytest.raises(ValueError, match="[Nn]egative"):
        learn.GammaRegressor().fit(X, y + 1.0, sample_weight=-np.ones(50))
    # Another link's means have to stay positive.
    y = 5.0 + X @ [0.5, 0.2, -0.3] + 0.1 * rng.normal(size=50)
    options = {"power": 1, "link": "identity", "alpha": 0.0, "tol": 1e-8}
    ours = learn.TweedieRegressor(**options).fit(X, y)
    near(ours.predict(X), theirs.TweedieRegressor(**options).fit(X, y).predict(X), 1e-5)
