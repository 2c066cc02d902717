"""Linear models of least squares."""

from __future__ import annotations

import logging
import warnings
from numbers import Real

import numpy as np
from sklearn import linear_model
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning

from ._base import NOTHING, SET, WIDE, Fitted, column
from ._given import check_array, check_sample_weight, issparse, validate_data

# A Gram matrix tells directions apart down to about this part of the largest singular value.
_RESOLUTION = 1e-7

# Columns up to which a Gram matrix is kept for sweeps.
_MOST = 5000

_FLOATS = (np.float64, np.float32)


class _LeastSquares(Fitted):
    _fits_frames = True

    def _keeps_targets(self, y):
        """Whether the coefficients of a matrix of targets are a matrix."""
        return True

    def _solve(self, X, y, sample_weight, alpha, tol, most):
        """Sets coefficients and intercept. What else the script found."""
        weighted = sample_weight is not None
        Y = column(y)
        inputs = {"X": X, "Y": Y, "w": column(sample_weight) if weighted else NOTHING}
        inputs["alpha"] = np.broadcast_to(np.asarray(alpha, np.float64), (1, Y.shape[1])).copy()
        switches = {"icpt": self.fit_intercept, "weighted": weighted}
        if self.positive:
            features = X.shape[1]
            if features > _MOST:
                self._refuse(f"method for so many columns ({features}) with positive=True")
            found = self._fit_by(
                "nonnegative",
                {**inputs, "most": int(most)},
                ["B", "intercept", "iterations", "objective", "converged"],
                sparse=issparse(X),
                **switches,
            )
            if not found["converged"]:
                warnings.warn(
                    f"Coefficients did not converge after {found['iterations']} rounds: increase max_iter, or scale the "
                    "data.",
                    ConvergenceWarning,
                    stacklevel=4,
                )
        elif issparse(X):
            found = self._fit_by(
                "linear_sparse",
                {**inputs, "tol": float(tol), "most": int(most)},
                ["B", "intercept", "iterations"],
                **switches,
            )
        else:
            found = self._fit_by(
                "linear",
                {**inputs, "tol": float(max(tol, _RESOLUTION))},
                ["B", "intercept", "l", "rank"],
                **switches,
            )
        coef = found["B"].T.astype(X.dtype, order="C", copy=False)
        intercept = found["intercept"].ravel().astype(X.dtype, copy=False)
        self.coef_ = coef if y.ndim == 2 and self._keeps_targets(y) else coef.ravel()
        if not self.fit_intercept:
            self.intercept_ = 0.0
        else:
            self.intercept_ = intercept if y.ndim == 2 else intercept[0]
        return found


class LinearRegression(_LeastSquares, linear_model.LinearRegression):
    """Ordinary least squares, by the eigenvalues of the Gram matrix and iterative refinement.

    Parameters and attributes are those of ``sklearn.linear_model.LinearRegression``. Of several solutions it is the one of
    the smallest norm. For sparse `X`, conjugate gradients solve the normal equations.

    >>> import numpy as np
    >>> from fulgurite.learn import LinearRegression
    >>> X = np.array([[1, 1], [1, 2], [2, 2], [2, 3]])
    >>> model = LinearRegression().fit(X, X @ [1, 2] + 3)
    >>> model.predict([[3, 5]]).round(6).tolist()
    [16.0]
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fits the model."""
        accepted = False if self.positive else "csr"
        X, y = validate_data(
            self, X, y, accept_sparse=accepted, y_numeric=True, multi_output=True, dtype=_FLOATS
        )
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=X.dtype, ensure_non_negative=True
            )
        if self.tol < _RESOLUTION and not issparse(X) and not self.positive:
            self._log(
                logging.INFO,
                f"tol={self.tol}: singular values below {_RESOLUTION} of the largest count as zero all the same",
            )
        # An objective is flat at its minimum: a gradient far smaller than the tolerance costs few iterations.
        tol = 1e-3 * min(self.tol, 1e-6) if issparse(X) else self.tol
        found = self._solve(X, y, sample_weight, 0.0, max(tol, 1e-13), 10 * min(X.shape) + 100)
        if "l" in found:
            self.rank_ = int(found["rank"])
            self.singular_ = np.sqrt(np.maximum(found["l"].ravel()[::-1], 0.0)).astype(X.dtype)
        return self


class Ridge(_LeastSquares, linear_model.Ridge):
    """Least squares with an L2 penalty, by the eigenvalues of the Gram matrix and iterative refinement.

    Parameters and attributes are those of ``sklearn.linear_model.Ridge``. All solvers have the same optimum, which this
    one reaches. For sparse `X`, conjugate gradients solve the normal equations.

    >>> import numpy as np
    >>> from fulgurite.learn import Ridge
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> Ridge(alpha=2.0).fit(X, [0.0, 1.0, 2.0]).coef_.tolist()
    [0.5]
    """

    def _keeps_targets(self, y):
        # As scikit-learn has it.
        return y.shape[1] > 1

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None):
        """Fits the model."""
        if self.solver == "lbfgs" and not self.positive:
            raise ValueError(
                "'lbfgs' solver can be used only when positive=True. Please use another solver."
            )
        if self.positive and self.solver not in ("auto", "lbfgs"):
            raise ValueError(
                f"solver='{self.solver}' does not support positive fitting. Please set the solver to 'auto' or 'lbfgs', or "
                "set `positive=False`"
            )
        is_sparse = issparse(X)
        if is_sparse and self.fit_intercept and self.solver in ("svd", "cholesky", "saga"):
            raise ValueError(
                f"solver='{self.solver}' does not support fitting the intercept on sparse data. Please set the solver to "
                "'auto' or 'lsqr', 'sparse_cg', 'sag', 'lbfgs' or set `fit_intercept=False`"
            )
        accepted = False if self.solver == "svd" else "csr"
        X, y = validate_data(
            self, X, y, accept_sparse=accepted, dtype=_FLOATS, multi_output=True, y_numeric=True
        )
        if sample_weight is not None:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=X.dtype, ensure_non_negative=True
            )
        alpha = self.alpha
        if not isinstance(alpha, Real):
            alpha = np.asarray(alpha, dtype=np.float64).ravel()
            targets = 1 if y.ndim == 1 else y.shape[1]
            if alpha.size not in (1, targets):
                raise ValueError(
                    f"Number of targets and number of penalties do not correspond: {alpha.size} != {targets}"
                )
        used = "sparse_cg" if is_sparse else "svd"
        if self.positive:
            used = "lbfgs"
        elif self.solver not in ("auto", used):
            self._other_method("solver", used)
        most = self.max_iter or 10 * min(X.shape) + 100
        tol = max(1e-6 * min(self.tol, 1e-4), 1e-13) if is_sparse else _RESOLUTION
        found = self._solve(X, y, sample_weight, alpha, tol, most)
        self.solver_ = used
        self.n_iter_ = None
        if is_sparse and not self.positive:
            self.n_iter_ = np.full(1 if y.ndim == 1 else y.shape[1], found["iterations"], np.int32)
        return self


class _CoordinateDescent(Fitted):
    _fits_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y, sample_weight=None, check_input=True):
        """Fits the model."""
        if self.alpha == 0:
            warnings.warn(
                "With alpha=0, this algorithm does not converge well. You are advised to use the LinearRegression estimator",
                stacklevel=2,
            )
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=_FLOATS, multi_output=True, y_numeric=True
        )
        y = check_array(y, dtype=X.dtype, ensure_2d=False)
        features = X.shape[1]
        weighted = sample_weight is not None and not isinstance(sample_weight, Real)
        if weighted:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=X.dtype, ensure_non_negative=True
            )
        if self.precompute is not False:
            self._log(logging.INFO, "precompute: the fit computes the Gram matrix by itself")
        if self.selection != "cyclic":
            self._other_method("selection", "cyclic")
        Y = column(y)
        targets = Y.shape[1]
        start = np.zeros((features, targets))
        if self.warm_start and hasattr(self, "coef_"):
            start[:] = np.reshape(self.coef_, (targets, features)).T
        switches = {"icpt": self.fit_intercept, "weighted": weighted, "positive": self.positive}
        if features > WIDE:
            switches["set"] = SET
        found = self._fit_by(
            "elastic_net_wide" if features > WIDE else "elastic_net",
            {
                "X": X,
                "Y": Y,
                "w": column(sample_weight) if weighted else NOTHING,
                "start": start,
                "l1": float(self.alpha * self.l1_ratio),
                "l2": float(self.alpha * (1.0 - self.l1_ratio)),
                # Sweeps cost no scan of X: the optimum is found more closely than is asked for.
                "tol": float(max(1e-6 * min(self.tol, 1e-4), 1e-14)),
                "most": self.max_iter,
            },
            ["B", "intercept", "gaps", "sweeps", "squares", "iterations", "objective"],
            sparse=issparse(X),
            **switches,
        )
        gaps, squares = found["gaps"].ravel(), found["squares"].ravel()
        if np.any(gaps > np.maximum(self.tol, 1e-14) * squares):
            warnings.warn(
                f"Objective did not converge. You might want to increase the number of iterations. Duality gap: "
                f"{gaps.max():.3e}, tolerance: {self.tol * squares.max():.3e}",
                ConvergenceWarning,
                stacklevel=2,
            )
        coef = found["B"].T.astype(X.dtype, order="C", copy=False)
        intercept = found["intercept"].ravel().astype(X.dtype, copy=False)
        sweeps = found["sweeps"].ravel().astype(int)
        single = targets == 1
        self.coef_ = coef.ravel() if single else coef
        self.intercept_ = 0.0
        if self.fit_intercept:
            self.intercept_ = intercept[0] if y.ndim == 1 else intercept
        self.n_iter_ = int(sweeps[0]) if single else sweeps.tolist()
        self.dual_gap_ = gaps[0] if single else gaps
        return self


class ElasticNet(_CoordinateDescent, linear_model.ElasticNet):
    """Least squares with L1 and L2 penalties, by coordinate descent on the Gram matrix.

    Parameters and attributes are those of ``sklearn.linear_model.ElasticNet``.

    >>> from fulgurite.learn import ElasticNet
    >>> ElasticNet(alpha=0.5).fit([[-1.0], [0.0], [1.0]], [-1.0, 0.0, 1.0]).coef_.round(6).tolist()
    [0.454545]
    """


class Lasso(_CoordinateDescent, linear_model.Lasso):
    """Least squares with an L1 penalty, by coordinate descent on the Gram matrix.

    Parameters and attributes are those of ``sklearn.linear_model.Lasso``.

    >>> from fulgurite.learn import Lasso
    >>> Lasso(alpha=0.1).fit([[-1.0], [0.0], [1.0]], [-1.0, 0.0, 1.0]).coef_.round(6).tolist()
    [0.85]
    """
