"""Classes of users that extend scikit-learn's."""

from typing import ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.model_selection import cross_val_score


class Rounded(LinearRegression):
    """Another prediction."""

    def predict(self, X):
        return np.round(super().predict(X))


class Logarithmic(LinearRegression):
    """Another fit, and a parameter of its own."""

    def __init__(self, shift=1.0, fit_intercept=True):
        super().__init__(fit_intercept=fit_intercept)
        self.shift = shift

    def fit(self, X, y):
        return super().fit(X, np.log(y + self.shift))

    def predict(self, X):
        return np.exp(super().predict(X)) - self.shift


class Whitened(PCA):
    """Calls a private method of scikit-learn's class."""

    def fit(self, X, y=None):
        U, S, *_ = self._fit(X)
        self.lengths_ = (U * S).std(axis=0)
        return self


class Halved(PoissonRegressor):
    """Overrides a private method of the fit."""

    def _get_loss(self, *args, **kwargs):
        self.asked_ = True
        return super()._get_loss(*args, **kwargs)


class Threshold(LogisticRegression):
    """A parameter that is checked."""

    _parameter_constraints: ClassVar[dict] = {
        **LogisticRegression._parameter_constraints,
        "at": [float],
    }

    def __init__(self, at=0.5, C=1.0, tol=1e-8):
        super().__init__(C=C, tol=tol)
        self.at = at

    def predict(self, X):
        return self.classes_[(self.predict_proba(X)[:, 1] > self.at).astype(int)]


X, y = load_diabetes(return_X_y=True)
halved = Halved(tol=1e-9, max_iter=1000).fit(X, y)
results = {
    "rounded": Rounded().fit(X, y).predict(X),
    "logarithmic": cross_val_score(clone(Logarithmic(shift=2.0)), X, y, cv=3),
    "whitened": Whitened(3, svd_solver="full").fit(X).lengths_,
    "halved": halved.coef_,
    "asked": halved.asked_,
    "threshold": Threshold(0.3).fit(X, y > 140).predict(X),
}
