"""Mixtures of normal distributions."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import mixture
from sklearn.base import _fit_context
from sklearn.cluster import kmeans_plusplus
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture._gaussian_mixture import _compute_precision_cholesky_from_precisions
from sklearn.utils import check_random_state

from .._errors import FulguriteError
from ._base import NOTHING, Fitted
from ._cluster import KMeans
from ._given import stays, validate_data
from ._parts import Part, nearest, side_by_side


class GaussianMixture(Fitted, mixture.GaussianMixture):
    """A mixture of normal distributions, by expectation maximisation.

    Parameters and attributes are those of ``sklearn.mixture.GaussianMixture``. It starts from clusters of our ``KMeans``,
    which are those of scikit-learn for the same ``random_state``.

    >>> from fulgurite.learn import GaussianMixture
    >>> model = GaussianMixture(2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> model.means_.round(3).ravel().tolist()
    [9.5, 0.5]
    """

    _fits_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit_predict(self, X, y=None):
        """Fits the model, and gives the component of each row."""
        X = validate_data(self, X, dtype=(np.float64, np.float32), ensure_min_samples=2)
        rows, features = X.shape
        k = self.n_components
        if rows < k:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = {k}, n_samples = {rows}"
            )
        self._check_parameters(X, xp=np)
        begins = not (self.warm_start and hasattr(self, "converged_"))
        kind = self.covariance_type
        runs = self.n_init if begins else 1
        inputs = {
            "X": X,
            "R0": NOTHING,
            "weights0": np.full((1, k), 1.0 / k),
            "means0": np.zeros((k, features)),
            "factors0": NOTHING,
            "bound0": float(-np.inf if begins else self.lower_bound_),
            "reg": float(self.reg_covar),
            "tol": float(self.tol),
            "k": k,
            "runs": runs,
            "most": self.max_iter,
        }
        if begins:
            random = check_random_state(self.random_state)
            weights, means = self.weights_init, self.means_init
            factors = None
            if self.precisions_init is not None:
                factors = _compute_precision_cholesky_from_precisions(
                    self.precisions_init, kind, np
                )
            if weights is None or means is None or factors is None:
                inputs["R0"] = self._all_parts(X, random, runs)
        else:
            weights, means = self.weights_, self.means_
            factors = self.precisions_cholesky_
        if factors is not None:
            factors = np.asarray(factors, dtype=np.float64)
            if kind == "spherical":
                factors = np.repeat(factors[:, None], features, axis=1)
            inputs["factors0"] = factors.reshape(-1, features)
        if weights is not None:
            inputs["weights0"] = np.reshape(weights, (1, k))
        if means is not None:
            inputs["means0"] = np.reshape(means, (k, features))
        outputs = [
            "weights",
            "means",
            "S",
            "F",
            "bounds",
            "iterations",
            "objective",
            "converged",
        ]
        if not stays(X):
            outputs.append("labels")
        try:
            found = self._fit_by(
                "gaussian_mixture",
                inputs,
                outputs,
                kind=kind,
                begins=begins,
                weighted=weights is not None,
                placed=means is not None,
                shaped=factors is not None,
            )
        except FulguriteError as error:
            if error.operator != "p(cholesky)" and "p(cholesky)" not in str(error):
                raise
            raise ValueError(
                "Fitting the mixture model failed because some components have ill-defined empirical covariance (for "
                "instance caused by singleton or collapsed samples). Try to decrease the number of components, increase "
                "reg_covar, or scale the input data."
            ) from error
        self.weights_ = found["weights"].ravel().astype(X.dtype)
        self.means_ = found["means"].astype(X.dtype)
        if begins or self.max_iter:
            self.covariances_ = self._shaped(found["S"], features).astype(X.dtype)
            self.precisions_cholesky_ = self._shaped(found["F"], features).astype(X.dtype)
            self._set_precisions()
        self.converged_ = found["converged"]
        self.n_iter_ = found["iterations"]
        self.lower_bound_ = found["objective"]
        self.lower_bounds_ = found["bounds"].ravel()[: self.n_iter_].tolist()
        if not self.converged_ and self.max_iter > 0:
            warnings.warn(
                "Best performing initialization did not converge. Try different init parameters, or increase max_iter, tol, "
                "or check for degenerate data.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return None if stays(X) else found["labels"].ravel().astype(np.int64) - 1

    def _all_parts(self, X, random, runs):
        """Parts of rows before the first iteration, of all runs side by side."""
        if not stays(X):
            return np.hstack([self._parts(X, random) for _ in range(runs)])
        return side_by_side([self._parts_there(X, random, run) for run in range(runs)])

    def _parts_there(self, X, random, run):
        """As `_parts`, of rows that stay on workers: an expression of the script."""
        rows, k = len(X), self.n_components
        if self.init_params == "kmeans":
            centres = KMeans(k, n_init=1, random_state=random).fit(X).cluster_centers_
            return nearest(X, centres, f"of_run{run}")
        if self.init_params == "random_from_data":
            chosen = random.choice(rows, size=k, replace=False)
            needs = {f"of_run{run}": chosen.reshape(-1, 1) + 1.0}
            return Part(
                X.data,
                f"table(of_run{run}, seq(1, {k}), {rows}, {k})",
                (rows, k),
                needs,
            )
        if self.init_params == "random":
            # Other numbers than NumPy draws, which would all pass through this process.
            seed = int(random.randint(2**31 - 1))
            drawn = Part(X.data, f"rand(rows={rows}, cols={k}, seed={seed})", (rows, k))
            return drawn.shared()
        self._refuse(f"init_params={self.init_params!r} on a Spark DataFrame")

    def _parts(self, X, random):
        """The parts that rows have in the components before the first iteration, as scikit-learn makes them."""
        rows, k = len(X), self.n_components
        parts = np.zeros((rows, k))
        if self.init_params == "kmeans":
            labels = KMeans(k, n_init=1, random_state=random).fit(X).labels_
            parts[np.arange(rows), labels] = 1.0
        elif self.init_params == "random":
            parts = random.uniform(size=(rows, k))
            parts /= parts.sum(axis=1)[:, None]
        elif self.init_params == "random_from_data":
            parts[random.choice(rows, size=k, replace=False), np.arange(k)] = 1.0
        else:
            _, chosen = kmeans_plusplus(X, k, random_state=random)
            parts[chosen, np.arange(k)] = 1.0
        return parts

    def _shaped(self, values, features):
        """Covariances, or factors of their inverses, in scikit-learn's shape."""
        if self.covariance_type == "full":
            return values.reshape(self.n_components, features, features)
        return values[:, 0].copy() if self.covariance_type == "spherical" else values

    def _set_precisions(self):
        factors = self.precisions_cholesky_
        if self.covariance_type == "full":
            self.precisions_ = factors @ factors.transpose(0, 2, 1)
        elif self.covariance_type == "tied":
            self.precisions_ = factors @ factors.T
        else:
            self.precisions_ = factors**2
