"""How sides make estimators, and the objectives that these reach. Libraries are imported by the process that uses them."""

import importlib

import numpy as np

# Rows that objectives look at at once.
BLOCK = 50_000


def alike(module, name, intel=False, **parameters):
    """Ours and scikit-learn's of the same name, and Intel's where there is one. A parameter that is a function gets the shape."""

    def maker(path):
        def make(shape):
            given = {key: value(shape) if callable(value) else value for key, value in parameters.items()}
            return getattr(importlib.import_module(path), name)(**given)

        return make

    sides = {"fulgurite": maker("fulgurite.learn"), "sklearn": maker(f"sklearn.{module}")}
    if intel:
        sides["intelex"] = maker(f"sklearnex.{module}")
    return sides


def glum(family, alpha, l1_ratio=0.0, **more):
    """glum's penalty is that of a mean, as scikit-learn's generalised linear models have it."""

    def make(shape):
        import glum

        chosen = family() if callable(family) else family
        return glum.GeneralizedLinearRegressor(family=chosen, alpha=alpha(shape) if callable(alpha) else alpha, l1_ratio=l1_ratio, **more)

    return make


def mllib(name, **parameters):
    """A class of pyspark.ml, and its parameters."""

    def make(shape):
        return name, {key: value(shape) if callable(value) else value for key, value in parameters.items()}

    return make


def blocks(X):
    for start in range(0, X.shape[0], BLOCK):
        part = slice(start, start + BLOCK)
        yield part, X[part]


def coefficients(model):
    """As rows, and intercepts."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    return coef, np.ravel(model.intercept_)


def linear(loss, l1=0.0, l2=0.0, squares=None):
    """The mean of a loss of y and scores, with penalties of coefficients; those are functions of the shape, or numbers."""

    def objective(model, X, y, shape):
        coef, intercept = coefficients(model)
        total = 0.0
        for part, block in blocks(X):
            total += float(np.sum(loss(y[part], np.asarray(block @ coef.T) + intercept)))
        first, second = (value(shape) if callable(value) else value for value in (l1, l2))
        return total / X.shape[0] + first * np.abs(coef).sum() + second / 2 * np.sum(coef**2)

    return objective


def squares(y, scores):
    return 0.5 * (y - scores[:, 0]) ** 2


def logistic(y, scores):
    if scores.shape[1] > 1:
        largest = scores.max(axis=1)
        return largest + np.log(np.exp(scores - largest[:, None]).sum(axis=1)) - scores[np.arange(len(y)), y]
    return np.logaddexp(0.0, scores[:, 0]) - y * scores[:, 0]


def poisson(y, scores):
    return np.exp(scores[:, 0]) - y * scores[:, 0]


def gamma(y, scores):
    return y * np.exp(-scores[:, 0]) + scores[:, 0]


def tweedie(y, scores):
    """Of power 1.5, up to what the model doesn't change."""
    half = np.exp(0.5 * scores[:, 0])
    return 2.0 * (half + y / half)
