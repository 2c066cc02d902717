"""Linear support vector machines."""

from __future__ import annotations

import numpy as np
from sklearn import svm
from sklearn.base import _fit_context
from sklearn.svm._base import _get_liblinear_solver_type
from sklearn.svm._classes import _validate_dual_parameter

from ._base import SET, WIDE, Fitted, column
from ._given import (
    check_sample_weight,
    classes_of,
    signs_of,
    validate_data,
    weighted_by_class,
)
from ._logistic import DIRECT

# Equations that are solved at a time.
_SYSTEM = 2000


class LinearSVC(Fitted, svm.LinearSVC):
    """A linear classifier with the hinge loss or its square, and an L2 or an L1 penalty, by Newton's method.

    Parameters and attributes are those of ``sklearn.svm.LinearSVC``. The intercept is penalised as liblinear does. Several
    classes are each told from the rest; ``crammer_singer`` is not there yet.

    >>> from fulgurite.learn import LinearSVC
    >>> LinearSVC().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[0.5], [2.5]]).tolist()
    [0, 1]
    """

    _fits_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fits the model."""
        if self.multi_class != "ovr":
            self._refuse(f"multi_class {self.multi_class!r}")
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, accept_large_sparse=False
        )
        dual = _validate_dual_parameter(self.dual, self.loss, self.penalty, self.multi_class, X)
        # It refuses combinations that liblinear does not have.
        _get_liblinear_solver_type(self.multi_class, self.penalty, self.loss, dual)
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
        is_hinge = self.loss == "hinge"
        if self.dual is True and not is_hinge:
            self._other_method("dual", "the primal problem")
        told = [1] if classes == 2 else range(classes)
        signs = signs_of(codes, told)
        # What the script has is divided by C and the weights.
        alpha = 1.0 / (self.C * weights.sum())
        inputs = {"w": column(weights), "tol": float(self.tol), "most": self.max_iter}
        if is_hinge:
            found = self._fit_hinge({**inputs, "X": X, "Y": signs, "alpha": float(alpha)})
        elif self.penalty == "l1":
            found = self._fit_l1({**inputs, "X": X, "Y": signs, "l1": float(alpha)})
        else:
            found = self._fit_squared({**inputs, "X": X, "y": signs, "alpha": float(alpha)})
        self.coef_ = np.ascontiguousarray(found["B"].T)
        self.intercept_ = found["intercepts"].ravel() if self.fit_intercept else 0.0
        self.n_iter_ = found["iterations"]
        self._warn_unless(found["converged"], found["iterations"])
        return self

    def _fit_squared(self, inputs):
        features = inputs["X"].shape[1]
        columns = inputs["y"].shape[1]
        penalty = inputs["alpha"] / self.intercept_scaling**2
        return self._fit_by(
            "glm",
            {
                **inputs,
                "start": np.zeros((features + 1, columns)),
                "alpha0": float(penalty) if self.fit_intercept else 0.0,
            },
            _OUTPUTS,
            family="squared hinge",
            link="identity",
            power=0,
            icpt=int(self.fit_intercept),
            direct=features <= DIRECT,
        )

    def _fit_hinge(self, inputs):
        inputs["scaling"] = float(self.intercept_scaling)
        # liblinear stops by another measure, and later for a smaller tolerance, too.
        inputs["tol"] = float(max(1e-5 * min(self.tol, 1e-4), 1e-13))
        return self._fit_by("hinge", inputs, _OUTPUTS, icpt=int(self.fit_intercept), direct=_SYSTEM)

    def _fit_l1(self, inputs):
        features = inputs["X"].shape[1]
        inputs["scaling"] = float(self.intercept_scaling)
        return self._fit_by(
            "hinge_l1",
            inputs,
            _OUTPUTS,
            icpt=int(self.fit_intercept),
            wide=features > WIDE,
            set=SET,
        )


_OUTPUTS = ["B", "intercepts", "iterations", "objective", "converged"]
