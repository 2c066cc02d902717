"""Models with L1 penalties of many columns, beside scikit-learn's."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import near
from scipy import sparse
from sklearn import linear_model, svm


def cells(rng, rows, features, form):
    if form == "sparse":
        return sparse.random_array((rows, features), density=0.02, rng=rng, format="csr")
    X = rng.normal(size=(rows, features)) + rng.normal(size=features)
    # Equal columns, and one that is constant.
    X[:, 1] = X[:, 0]
    X[:, 2] = 1.0
    return X


def quadratic(model, X, y, w, alpha, ratio):
    coef = np.atleast_2d(model.coef_)
    apart = y.reshape(len(y), -1) - X @ coef.T - np.ravel(model.intercept_)
    square = np.sum(apart**2 * w[:, None]) / (2 * w.sum())
    return square + alpha * (ratio * np.abs(coef).sum() + 0.5 * (1 - ratio) * (coef**2).sum())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("features", [600, 6000])
@pytest.mark.parametrize("options", [{}, {"positive": True}, {"l1_ratio": 0.3}, {"targets": 2}])
def test_elastic_nets(options, features, form):
    options = dict(options)
    rng = np.random.default_rng(features)
    X = cells(rng, 150, features, form)
    targets = options.pop("targets", 1)
    y = X[:, :9] @ rng.normal(size=(9, targets)) + 0.1 * rng.normal(size=(150, targets))
    y = y.ravel() if targets == 1 else y
    w = rng.integers(1, 3, size=150).astype(float)
    alpha = 0.01 * np.abs(y).mean()
    ratio = options.setdefault("l1_ratio", 0.9)
    ours = learn.ElasticNet(alpha, **options).fit(X, y, w)
    their = linear_model.ElasticNet(alpha, **options, tol=1e-9, max_iter=20000).fit(X, y, w)
    assert ours.report_["script"] == "elastic_net_wide"
    assert ours.coef_.shape == their.coef_.shape
    got, want = (quadratic(each, X, y, w, alpha, ratio) for each in (ours, their))
    assert got <= want * (1 + 1e-8)
    near(ours.predict(X), their.predict(X), 1e-3)
    if options.get("positive"):
        assert ours.coef_.min() >= 0
    again = learn.ElasticNet(alpha, **options, warm_start=True).fit(X, y, w).fit(X, y, w)
    assert np.max(again.n_iter_) <= 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("features, classes", [(600, 2), (600, 3), (6000, 2)])
def test_classes(features, classes, form):
    rng = np.random.default_rng(features + classes)
    X = cells(rng, 150, features, form)
    y = np.argmax(X[:, :9] @ rng.normal(size=(9, classes)), axis=1)
    y[:classes] = range(classes)
    w = np.ones(150)
    options = {"C": 0.5 if form == "dense" else 20.0, "l1_ratio": 0.8}
    ours = learn.LogisticRegression(solver="saga", **options).fit(X, y)
    longer = {"tol": 1e-8, "max_iter": 300, "random_state": 0}
    their = linear_model.LogisticRegression(solver="saga", **options, **longer).fit(X, y)

    def reached(model):
        scores = X @ model.coef_.T + model.intercept_
        scores = np.hstack([np.zeros((150, 1)), scores]) if classes == 2 else scores
        own = scores[np.arange(150), y]
        loss = np.sum(np.logaddexp.reduce(scores, axis=1) - own)
        size = 0.8 * np.abs(model.coef_).sum() + 0.1 * (model.coef_**2).sum()
        return options["C"] * loss + size

    assert reached(ours) <= reached(their) * (1 + 1e-8)
    ours = learn.LinearSVC(penalty="l1", C=1.0).fit(X, y)
    their = svm.LinearSVC(penalty="l1", dual=False, C=1.0, tol=1e-6, max_iter=200).fit(X, y)
    total = [0.0, 0.0]
    for place, model in enumerate((ours, their)):
        for at, told in enumerate([1] if classes == 2 else range(classes)):
            sign = np.where(y == told, 1.0, -1.0)
            short = np.maximum(1 - sign * (X @ model.coef_[at] + model.intercept_[at]), 0)
            size = np.abs(model.coef_[at]).sum() + abs(model.intercept_[at])
            total[place] += np.sum(w * short**2) + size
    assert total[0] <= total[1] * (1 + 1e-8)


def test_more_columns_than_a_working_set(monkeypatch):
    from fulgurite.learn import _linear

    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 700))
    y = X @ rng.normal(size=700)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        want = learn.ElasticNet(0.01, l1_ratio=0.5).fit(X, y)
        assert (want.coef_ != 0).sum() > 300
        monkeypatch.setattr(_linear, "SET", 200)
        ours = learn.ElasticNet(0.01, l1_ratio=0.5).fit(X, y)
    near(ours.coef_, want.coef_, 1e-5)
