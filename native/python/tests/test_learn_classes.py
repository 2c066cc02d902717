"""Logistic regression and naive Bayes beside scikit-learn's, on data of all kinds."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import FORMS, KINDS, columns, in_form, near, weights
from scipy import sparse
from scipy.special import logsumexp
from sklearn import linear_model, naive_bayes
from sklearn.exceptions import ConvergenceWarning

SEEDS = range(5)


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
        "max_iter": 1000,
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
