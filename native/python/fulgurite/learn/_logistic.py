"""Logistic regression of two and of several classes."""

from __future__ import annotations

import logging
import warnings

import numpy as np
from sklearn import linear_model
from sklearn.base import _fit_context
from sklearn.linear_model._logistic import _check_solver

from ._base import SET, WIDE, Fitted, column
from ._given import check_sample_weight, classes_of, validate_data, weighted_by_class

# Up to so many columns the Hessian is solved; beyond, conjugate gradients take products with it.
DIRECT = 300


class LogisticRegression(Fitted, linear_model.LogisticRegression):
    """Logistic regression with L1 and L2 penalties or without, by Newton's method.

    Parameters and attributes are those of ``sklearn.linear_model.LogisticRegression``. All solvers of a penalty have the
    same optimum, which this one reaches; ``liblinear`` penalises the intercept, too.

    >>> from fulgurite.learn import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"])
    >>> model.predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    _fits_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fits the model."""
        penalty = self._penalty()
        solver = _check_solver(self.solver, penalty, self.dual)
        if penalty == "elasticnet" and self.l1_ratio is None:
            raise ValueError("l1_ratio must be specified when penalty is elasticnet.")
        if self.n_jobs is not None:
            warnings.warn(
                "'n_jobs' has no effect since 1.8 and will be removed in 1.10. "
                f"You provided 'n_jobs={self.n_jobs}', please leave it unspecified.",
                FutureWarning,
                stacklevel=2,
            )
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32))
        self.classes_, codes = classes_of(y)
        classes = len(self.classes_)
        if solver == "liblinear" and classes > 2:
            raise ValueError(
                "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). Either use another "
                "solver or wrap the estimator in a OneVsRestClassifier to keep applying a one-versus-rest scheme."
            )
        if classes < 2:
            raise ValueError(
                "This solver needs samples of at least 2 classes in the data, but the data contains only one class: "
                f"{self.classes_[0]!r}"
            )
        weights = check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        weights = weights.astype(np.float64)
        if self.class_weight is not None:
            weights = weighted_by_class(
                weights, self.class_weight, self.classes_, codes, y, sample_weight
            )
        if solver not in ("lbfgs", "newton-cg", "newton-cholesky"):
            self._other_method("solver", "newton-cg")
        C = np.inf if penalty is None else self.C
        alpha = 1.0 / (C * weights.sum())
        features = X.shape[1]
        rows = 1 if classes == 2 else classes
        start = np.zeros((features + 1, rows))
        if self.warm_start and hasattr(self, "coef_"):
            start[:-1] = self.coef_.T
            start[-1] = self.intercept_ if self.fit_intercept else 0.0
        inputs = {
            "X": X,
            "w": column(weights),
            "start": start,
            "alpha": float(alpha),
            "tol": float(self.tol),
            "most": self.max_iter,
        }
        penalised = solver == "liblinear" and self.fit_intercept
        if penalty in ("l1", "elasticnet"):
            ratio = 1.0 if penalty == "l1" else self.l1_ratio
            inputs["l1"], inputs["l2"] = float(alpha * ratio), float(alpha * (1.0 - ratio))
            del inputs["alpha"]
            found = self._fit_by(
                "logistic_l1",
                {**inputs, "y": column(codes + 1), "scaling": float(self.intercept_scaling)},
                ["B", "b", "iterations", "objective", "converged"],
                icpt=int(self.fit_intercept and not penalised),
                penalised=penalised,
                wide=features > WIDE,
                set=SET,
            )
            coef, intercept = found["B"].T, found["b"].ravel()
            if classes > 2 and not penalised:
                intercept = intercept - intercept.mean()
        elif classes == 2:
            found = self._fit_by(
                "glm",
                {
                    **inputs,
                    "y": column(codes),
                    "alpha0": float(alpha / self.intercept_scaling**2) if penalised else 0.0,
                },
                ["B", "intercepts", "iterations", "objective", "converged"],
                family="logistic",
                link="logit",
                power=0,
                icpt=int(self.fit_intercept),
                direct=features <= DIRECT,
            )
            coef, intercept = found["B"].T, found["intercepts"].ravel()
        else:
            found = self._fit_by(
                "multinomial",
                {**inputs, "y": column(codes + 1)},
                ["B", "b", "iterations", "objective", "converged"],
                icpt=int(self.fit_intercept),
            )
            coef, intercept = found["B"].T, found["b"].ravel()
            # The classes' scores have a free constant.
            intercept = intercept - intercept.mean()
        self.coef_ = np.ascontiguousarray(coef, dtype=X.dtype)
        self.intercept_ = intercept.astype(X.dtype)
        if solver == "liblinear" and not self.fit_intercept:
            self.intercept_ = 0.0
        self.n_iter_ = np.array([found["iterations"]], dtype=np.int32)
        self._warn_unless(found["converged"], found["iterations"])
        return self

    def _penalty(self):
        """The penalty that parameters ask for, with scikit-learn's warnings."""
        if self.penalty == "deprecated":
            if self.l1_ratio is None:
                warnings.warn(
                    "'l1_ratio=None' was deprecated in version 1.8 and will trigger an error in 1.10. Use 0<=l1_ratio<=1 "
                    "instead.",
                    FutureWarning,
                    stacklevel=3,
                )
            if np.isinf(self.C):
                return None
            if not self.l1_ratio:
                return "l2"
            return "l1" if self.l1_ratio == 1 else "elasticnet"
        warnings.warn(
            "'penalty' was deprecated in version 1.8 and will be removed in 1.10. To avoid this warning, leave 'penalty' "
            "set to its default value and use 'l1_ratio' or 'C' instead. Use l1_ratio=0 instead of penalty='l2', "
            "l1_ratio=1 instead of penalty='l1', l1_ratio set to a float between 0 and 1 instead of penalty='elasticnet', "
            "and C=np.inf instead of penalty=None.",
            FutureWarning,
            stacklevel=3,
        )
        if self.penalty is None and self.C != 1.0:
            warnings.warn(
                "Setting penalty=None will ignore the C and l1_ratio parameters", stacklevel=3
            )
        if self.penalty != "elasticnet" and self.l1_ratio:
            self._log(logging.WARNING, f"l1_ratio is not used with penalty={self.penalty!r}")
        return self.penalty
