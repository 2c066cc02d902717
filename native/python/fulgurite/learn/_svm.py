"""Linear support vector machines."""

from __future__ import annotations

import numpy as np
from sklearn import svm
from sklearn.base import _fit_context

from ._base import Fitted, column
from ._given import (
    check_sample_weight,
    classes_of,
    signs_of,
    validate_data,
    weighted_by_class,
)
from ._logistic import DIRECT


class LinearSVC(Fitted, svm.LinearSVC):
    """A linear classifier with the squared hinge loss and an L2 penalty, by Newton's method.

    Parameters and attributes are those of ``sklearn.svm.LinearSVC``. The intercept is penalised as liblinear does. Several
    classes are each told from the rest. The hinge loss, the L1 penalty and ``crammer_singer`` are not there yet.

    >>> from fulgurite.learn import LinearSVC
    >>> LinearSVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.5], [2.5]]).tolist()
    [0, 1]
    """

    _fits_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fits the model."""
        if self.penalty != "l2":
            self._refuse(f"penalty {self.penalty!r}")
        if self.loss != "squared_hinge":
            self._refuse(f"loss {self.loss!r}")
        if self.multi_class != "ovr":
            self._refuse(f"multi_class {self.multi_class!r}")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, accept_large_sparse=False
        )
        self.classes_, codes = classes_of(y)
        classes = len(self.classes_)
        if classes < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]!r}"
            )
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if self.class_weight is not None:
            weights = weighted_by_class(
                weights, self.class_weight, self.classes_, codes, y, sample_weight
            )
        if self.dual is True:
            self._other_method("dual", "the primal problem")
        told = [1] if classes == 2 else range(classes)
        signs = signs_of(codes, told)
        features = X.shape[1]
        alpha = 1.0 / (self.C * weights.sum())
        found = self._fit_by(
            "glm",
            {
                "X": X,
                "y": signs,
                "w": column(weights),
                "start": np.zeros((features + 1, len(told))),
                "alpha": float(alpha),
                "alpha0": float(alpha / self.intercept_scaling**2) if self.fit_intercept else 0.0,
                "tol": float(self.tol),
                "most": self.max_iter,
            },
            ["B", "intercepts", "iterations", "objective", "converged"],
            family="squared hinge",
            link="identity",
            power=0,
            icpt=int(self.fit_intercept),
            direct=features <= DIRECT,
        )
        self.coef_ = np.ascontiguousarray(found["B"].T)
        self.intercept_ = found["intercepts"].ravel() if self.fit_intercept else 0.0
        self.n_iter_ = found["iterations"]
        self._warn_unless(found["converged"], found["iterations"])
        return self
