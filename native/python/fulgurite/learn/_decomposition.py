"""Principal components, truncated singular value decompositions and factors without negative cells."""

from __future__ import annotations

import warnings
from numbers import Integral

import numpy as np
from sklearn import decomposition
from sklearn.base import _fit_context
from sklearn.decomposition._pca import _infer_dimension
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ._base import Fitted, run
from ._given import check_non_negative, issparse, stays, validate_data
from ._inputs import naming
from ._parts import Part

_FLOATS = (np.float64, np.float32)

# Columns up to which a Gram matrix has all its eigenvalues computed, and up to which that is quick.
_MOST = 5000
_QUICK = 1000

# Largest residuals of singular vectors, and most products with a block of them, where only some are computed.
_TOL = 1e-7
_PRODUCTS = 2000


class _Components(Fitted):
    """The side of decompositions that need only some of the singular vectors."""

    def _is_partial(self, X, wanted):
        """Whether only the wanted vectors are computed."""
        if stays(X):
            return False
        smaller = min(X.shape)
        is_large = smaller > _MOST or (issparse(X) and X.shape[1] > _MOST)
        return (is_large and wanted <= smaller) or (smaller > _QUICK and 20 * wanted <= smaller)

    def _fit_partial(self, X, wanted, centred):
        found = self._fit_by(
            "lanczos",
            {"X": X, "k": int(wanted), "tol": _TOL, "most": _PRODUCTS, "seed": 7},
            [*_SVD, "means", "iterations", "converged"],
            tall=X.shape[0] >= X.shape[1],
            centred=centred,
        )
        if not found["converged"]:
            warnings.warn(
                f"Singular vectors did not converge after {found['iterations']} products with a block: their values hardly "
                "differ.",
                ConvergenceWarning,
                stacklevel=4,
            )
        return found


class PCA(_Components, decomposition.PCA):
    """Principal components, by the eigenvalues of the covariance matrix or by singular values.

    Parameters and attributes are those of ``sklearn.decomposition.PCA``. ``svd_solver`` ``"covariance_eigh"`` and
    ``"full"`` are what they say; ``"arpack"`` and ``"randomized"`` give the exact components, too, by a Krylov space if
    they are few of many columns.

    >>> from fulgurite.learn import PCA
    >>> PCA(1).fit([[-1.0, -1.0], [1.0, 1.0]]).explained_variance_.round(6).tolist()
    [4.0]
    """

    _fits_frames = True

    def _fit(self, X):
        if issparse(X) and self.svd_solver not in ("auto", "arpack", "covariance_eigh"):
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and "covariance_eigh" solvers, while '
                f'"{self.svd_solver}" was passed. See TruncatedSVD for a possible alternative.'
            )
        X = validate_data(self, X, dtype=_FLOATS, accept_sparse="csr", ensure_2d=True)
        rows, features = X.shape
        is_sparse = issparse(X)
        smaller = min(rows, features)
        wanted = self.n_components
        solver = self.svd_solver
        if wanted is None:
            wanted = smaller - (solver == "arpack" or (solver == "auto" and is_sparse))
        self._check_components(wanted, solver, rows, features)
        is_number = isinstance(wanted, Integral) and wanted > 0
        any_method = solver in ("auto", "arpack", "randomized")
        if is_number and self._is_partial(X, wanted) and (any_method or features > _MOST):
            if solver not in ("auto", "arpack"):
                self._other_method("svd_solver", "arpack")
            self._fit_svd_solver = "arpack"
            return self._set_partial(X, int(wanted))
        if solver == "auto":
            # Singular values of a matrix that stays on workers can't be had otherwise.
            is_tall = stays(X) or (features <= 1000 and rows >= 10 * features)
            solver = "covariance_eigh" if is_sparse or is_tall else "full"
        elif solver in ("arpack", "randomized"):
            self._other_method("svd_solver", "full")
            solver = "covariance_eigh" if is_sparse else "full"
        if (is_sparse and features > _MOST) or smaller > _MOST:
            self._refuse(f"method for all components of so many columns ({features})")
        self._fit_svd_solver = solver
        found = self._fit_by(
            "pca",
            {"X": X},
            ["means", "S", "V"],
            centred=True,
            method="gram" if solver == "covariance_eigh" else "svd",
            sparse=is_sparse,
        )
        squares = found["S"].ravel()[:smaller]
        variances = squares / (rows - 1) if rows > 1 else squares * np.nan
        total = variances.sum()
        ratios = variances / total
        if wanted == "mle":
            wanted = _infer_dimension(variances, rows)
        elif 0 < wanted < 1.0:
            wanted = int(np.searchsorted(np.cumsum(ratios), wanted, side="right")) + 1
        self.mean_ = found["means"].ravel().astype(X.dtype)
        self.noise_variance_ = float(variances[wanted:].mean()) if wanted < smaller else 0.0
        self.n_samples_ = rows
        self.n_components_ = wanted
        self.components_ = np.array(found["V"][:wanted], dtype=X.dtype, order="C")
        self.explained_variance_ = variances[:wanted].astype(X.dtype)
        self.explained_variance_ratio_ = ratios[:wanted].astype(X.dtype)
        self.singular_values_ = np.sqrt(squares[:wanted]).astype(X.dtype)
        # The place of U is empty: the caller multiplies.
        return None, self.singular_values_, self.components_, X, False, np

    def _set_partial(self, X, wanted):
        """Sets the attributes from some of the singular vectors, as `_fit` does."""
        rows, features = X.shape
        smaller = min(rows, features)
        found = self._fit_partial(X, wanted, True)
        ratio = rows / max(rows - 1, 1)
        values = found["S"].ravel()
        variances, total = values**2 / max(rows - 1, 1), found["total"] * ratio
        self.mean_ = found["means"].ravel().astype(X.dtype)
        rest = max(total - variances.sum(), 0.0)
        self.noise_variance_ = float(rest / (smaller - wanted)) if wanted < smaller else 0.0
        self.n_samples_ = rows
        self.n_components_ = wanted
        self.components_ = np.array(found["V"], dtype=X.dtype, order="C")
        self.explained_variance_ = variances.astype(X.dtype)
        self.explained_variance_ratio_ = (variances / total).astype(X.dtype)
        self.singular_values_ = values.astype(X.dtype)
        return None, self.singular_values_, self.components_, X, False, np

    def _check_components(self, wanted, solver, rows, features):
        smaller = min(rows, features)
        if wanted == "mle":
            if solver in ("arpack", "randomized"):
                raise ValueError(
                    f"n_components={wanted!r} cannot be a string with svd_solver='{solver}'"
                )
            if rows < features:
                raise ValueError("n_components='mle' is only supported if n_samples >= n_features")
        elif solver in ("arpack", "randomized"):
            if not 1 <= wanted <= smaller:
                raise ValueError(
                    f"n_components={wanted!r} must be between 1 and min(n_samples, n_features)={smaller!r} with "
                    f"svd_solver='{solver}'"
                )
            if solver == "arpack" and wanted == smaller:
                raise ValueError(
                    f"n_components={wanted!r} must be strictly less than min(n_samples, n_features)={smaller!r} with "
                    f"svd_solver='{solver}'"
                )
        elif not 0 <= wanted <= smaller:
            raise ValueError(
                f"n_components={wanted} must be between 0 and min(n_samples, n_features)={smaller} with "
                f"svd_solver={solver!r}"
            )


class TruncatedSVD(_Components, decomposition.TruncatedSVD):
    """The largest singular values and their vectors, without centring.

    Parameters and attributes are those of ``sklearn.decomposition.TruncatedSVD``. Both values of ``algorithm`` give the
    exact decomposition, by the eigenvalues of the Gram matrix, or by a Krylov space for few components of many columns.

    >>> from fulgurite.learn import TruncatedSVD
    >>> TruncatedSVD(1).fit([[3.0, 0.0], [0.0, 2.0]]).singular_values_.round(6).tolist()
    [3.0]
    """

    _fits_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_transform(self, X, y=None):
        """Fits the model, and gives the reduced rows."""
        return self._fit_parts(X)

    def _fit_parts(self, X):
        X = validate_data(self, X, accept_sparse="csr", dtype=_FLOATS, ensure_min_features=2)
        rows, features = X.shape
        if self.n_components > features:
            raise ValueError(
                f"n_components({self.n_components}) must be <= n_features({features})."
            )
        if self.algorithm == "arpack" and self.n_components >= min(rows, features):
            raise ValueError(
                f"n_components={self.n_components} must be less than min(n_samples, n_features)={min(rows, features)} "
                "with algorithm='arpack'"
            )
        is_wide = features > _MOST and self.n_components <= rows and not stays(X)
        if is_wide or self._is_partial(X, self.n_components):
            found = self._fit_partial(X, self.n_components, False)
        elif features > _MOST:
            self._refuse(f"method for {self.n_components} components of {features} columns")
        else:
            # Rows of a DataFrame stay where they are.
            outputs = _SVD[:-1] if stays(X) else _SVD
            found = self._fit_by("truncated_svd", {"X": X, "k": self.n_components}, outputs)
        self.components_ = np.ascontiguousarray(found["V"], dtype=X.dtype)
        self.singular_values_ = found["S"].ravel().astype(X.dtype)
        self.explained_variance_ = found["variances"].ravel().astype(X.dtype)
        self.explained_variance_ratio_ = (found["variances"].ravel() / found["total"]).astype(
            X.dtype
        )
        return None if stays(X) else found["Z"].astype(X.dtype, copy=False)


_LOSSES = {2.0: "frobenius", 1.0: "kullback-leibler", 0.0: "itakura-saito"}

_SVD = ["V", "S", "variances", "total", "Z"]


class NMF(Fitted, decomposition.NMF):
    """Factors without negative cells, by coordinate descent or multiplicative updates.

    Parameters and attributes are those of ``sklearn.decomposition.NMF``, which also makes the factors to start from.

    >>> from fulgurite.learn import NMF
    >>> NMF(1, init="nndsvd").fit([[1.0, 2.0], [2.0, 4.0]]).transform([[2.0, 4.0]]).shape
    (1, 1)
    """

    _fits_frames = True

    def fit_transform(self, X, y=None, W=None, H=None):
        """Fits the model, and gives the first factor."""
        with naming(X):
            return super().fit_transform(X, y, W=W, H=H)

    def _fit_transform(self, X, y=None, W=None, H=None, update_H=True):
        self._check_method(X)
        W, H = self._check_w_h(X, W, H, update_H)
        inputs = self._descent(X, W, H.T)
        outputs = ["W", "Ht", "iterations"]
        script, options = "nmf", {"measured": "no"}
        if self.solver == "mu":
            script = "nmf_mu"
            outputs.append("objective")
            beta = inputs["beta"] = float(self._beta_loss)
            options = {
                "loss": _LOSSES.get(beta, "other"),
                "power": 0 if beta < 1 else 1 if beta <= 2 else 2,
            }
        if update_H:
            found = self._fit_by(script, inputs, outputs, both=True, **options)
        else:
            # What transforms does not change the model, its report neither.
            options.update(both=False, verbose=bool(self.verbose))
            values = run(script, inputs, outputs, options)
            found = dict(zip(outputs, values, strict=True))
        iterations = found["iterations"]
        self._warn_at_last(iterations)
        W = found["W"].astype(X.dtype, copy=False)
        H = np.ascontiguousarray(found["Ht"].T, dtype=X.dtype) if update_H else H
        return W, H, iterations

    def _check_method(self, X):
        self._check_params(X)
        if self.shuffle and self.solver == "cd":
            self._other_method("shuffle", "coordinates in their order")
        check_non_negative(X, "NMF (input X)", getattr(self, "feature_names_in_", None))
        if not stays(X) and self._beta_loss <= 0 and X.min() == 0:
            raise ValueError(
                "When beta_loss <= 0 and X contains zeros, the solver may diverge. Please add small values to X, or use a "
                "positive beta_loss."
            )

    def _descent(self, X, W, Ht):
        """Inputs of the script."""
        penalties = np.array([self._compute_regularization(X)], dtype=np.float64)
        return {
            "X": X,
            "W0": W,
            "Ht0": Ht,
            "penalties": penalties,
            "tol": float(self.tol),
            "most": self.max_iter,
        }

    def _warn_at_last(self, iterations):
        if iterations == self.max_iter and self.tol > 0:
            warnings.warn(
                f"Maximum number of iterations {self.max_iter} reached. Increase it to improve convergence.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _fit_parts(self, X):
        """Fits the model to rows that stay on workers, and their factor with them."""
        validate_data(self, X)
        self._check_method(X)
        if self.solver == "mu":
            self._refuse("solver 'mu' on a Spark DataFrame")
        rows, features = X.shape
        k = features if self._n_components == "auto" else self._n_components
        smaller = min(rows, features)
        init = self.init or ("nndsvda" if k <= smaller else "random")
        if init == "custom":
            self._refuse("init='custom' on a Spark DataFrame")
        if init != "random" and k > smaller:
            raise ValueError(
                f"init = '{init}' can only be used when n_components <= min(n_samples, n_features)"
            )
        if features > _MOST:
            self._refuse(f"method for so many columns ({features}) of a Spark DataFrame")
        random = check_random_state(self.random_state)
        inputs = {
            "X": X,
            "k": k,
            "seedW": int(random.randint(2**31 - 1)),
            "seedH": int(random.randint(2**31 - 1)),
        }
        begun, _ = X.data.run("nmf_start", inputs, ["W", "Ht"], {"init": init}, keeps=("W",))
        start = begun["W"]
        try:
            W = Part(X.data, "NmfStart", (rows, k), {"NmfStart": start})
            found = self._fit_by(
                "nmf",
                self._descent(X, W, begun["Ht"]),
                ["Ht", "iterations", "squares"],
                both=True,
                measured="sparse" if X.sparse else "dense",
            )
        finally:
            start.close()
        self._warn_at_last(found["iterations"])
        self.components_ = np.ascontiguousarray(found["Ht"].T)
        self.n_components_ = k
        self.n_iter_ = found["iterations"]
        self.reconstruction_err_ = np.sqrt(np.maximum(found["squares"], 0.0))
