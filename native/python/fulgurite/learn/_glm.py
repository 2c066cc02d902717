"""Generalised linear models."""

from __future__ import annotations

import numpy as np
from sklearn import linear_model
from sklearn.base import _fit_context

from ._base import Fitted, column
from ._given import average, check_array, check_sample_weight, extremes, validate_data
from ._logistic import DIRECT


class _Glm(Fitted):
    _fits_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fits the model."""
        if not isinstance(self.solver, str):
            self._refuse(f"solver {self.solver!r}")
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            y_numeric=True,
            multi_output=False,
        )
        y = check_array(y, dtype=X.dtype, order="C", ensure_2d=False)
        weights = check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        self._base_loss = self._get_loss()
        if not self._base_loss.in_y_true_range(extremes(y)):
            raise ValueError(
                f"Some value(s) of y are out of the valid range of the loss {type(self._base_loss).__name__!r}."
            )
        power, link = self._family()
        features = X.shape[1]
        start = np.zeros((features + 1, 1))
        if self.warm_start and hasattr(self, "coef_"):
            start[:-1, 0] = self.coef_
            start[-1, 0] = self.intercept_
        elif self.fit_intercept:
            start[-1, 0] = self._base_loss.link.link(average(y, weights))
        found = self._fit_by(
            "glm",
            {
                "X": X,
                "y": column(y),
                "w": column(weights),
                "start": start,
                "alpha": float(self.alpha),
                "alpha0": 0.0,
                "tol": float(self.tol),
                "most": self.max_iter,
            },
            ["B", "intercepts", "iterations", "objective", "converged"],
            family="tweedie",
            link=link,
            power=power,
            icpt=int(self.fit_intercept),
            direct=features <= DIRECT,
        )
        self.coef_ = found["B"].ravel().astype(X.dtype)
        self.intercept_ = X.dtype.type(found["intercepts"][0, 0]) if self.fit_intercept else 0.0
        self.n_iter_ = found["iterations"]
        self._warn_unless(found["converged"], found["iterations"])
        return self


class PoissonRegressor(_Glm, linear_model.PoissonRegressor):
    """Regression of counts: Poisson's distribution with a logarithmic link and an L2 penalty, by Newton's method.

    Parameters and attributes are those of ``sklearn.linear_model.PoissonRegressor``.

    >>> from fulgurite.learn import PoissonRegressor
    >>> model = PoissonRegressor(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> model.predict([[3.0]]).round(3).tolist()
    [8.0]
    """

    def _family(self):
        return 1, "log"


class GammaRegressor(_Glm, linear_model.GammaRegressor):
    """Regression of positive numbers: the gamma distribution with a logarithmic link and an L2 penalty, by Newton's method.

    Parameters and attributes are those of ``sklearn.linear_model.GammaRegressor``.

    >>> from fulgurite.learn import GammaRegressor
    >>> model = GammaRegressor(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> model.predict([[3.0]]).round(3).tolist()
    [8.0]
    """

    def _family(self):
        return 2, "log"


class TweedieRegressor(_Glm, linear_model.TweedieRegressor):
    """Regression with a distribution of Tweedie's family and an L2 penalty, by Newton's method.

    Parameters and attributes are those of ``sklearn.linear_model.TweedieRegressor``.

    >>> from fulgurite.learn import TweedieRegressor
    >>> model = TweedieRegressor(power=1.5, alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> model.predict([[3.0]]).round(3).tolist()
    [8.0]
    """

    def _family(self):
        link = self.link
        if link == "auto":
            link = "identity" if self.power <= 0 else "log"
        return self.power, link
