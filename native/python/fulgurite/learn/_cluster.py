"""Clusters."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn import cluster
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import _is_arraylike_not_scalar, check_array

from ._base import NOTHING, Fitted, column
from ._choice import Chooser, rows_at
from ._given import check_sample_weight, issparse, stays, validate_data


class KMeans(Fitted, cluster.KMeans):
    """k-means clustering by Lloyd's iterations, from centres of k-means++.

    Parameters and attributes are those of ``sklearn.cluster.KMeans``. The same ``random_state`` chooses the same first
    centres as scikit-learn does, and the same centres lead to the same clusters, up to rounding.

    >>> from fulgurite.learn import KMeans
    >>> KMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]]).inertia_
    1.0
    """

    _fits_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Finds clusters."""
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            accept_large_sparse=False,
        )
        if X.shape[0] < self.n_clusters:
            raise ValueError(f"n_samples={X.shape[0]} should be >= n_clusters={self.n_clusters}.")
        if self.algorithm != "lloyd":
            self._other_method("algorithm", "lloyd")
        random = check_random_state(self.random_state)
        weights = check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        # Predictions of scikit-learn's class read it.
        self._n_threads = _openmp_effective_n_threads()
        found = self._fit_by(
            "kmeans",
            {
                "X": X,
                "w": column(weights),
                "tol": float(self.tol),
                "k": self.n_clusters,
                "most": self.max_iter,
                **self._seeds(X, weights, random),
            },
            ["C", "objective", "iterations", *([] if stays(X) else ["labels"])],
            centred=not issparse(X),
            seeding=self._seeding(),
        )
        self.cluster_centers_ = found["C"].astype(X.dtype, copy=False)
        self.inertia_ = found["objective"]
        self.n_iter_ = found["iterations"]
        self._n_features_out = self.n_clusters
        if stays(X):
            # They would be as many as rows: predictions give them.
            self.__dict__.pop("labels_", None)
            return self
        self.labels_ = found["labels"].ravel().astype(np.int32) - np.int32(1)
        distinct = len(np.unique(self.labels_))
        if distinct < self.n_clusters:
            warnings.warn(
                f"Number of distinct clusters ({distinct}) found smaller than n_clusters ({self.n_clusters}). Possibly due "
                "to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _seeding(self):
        if isinstance(self.init, str) and self.init == "k-means++":
            return "k-means++"
        return "made" if callable(self.init) else "given"

    def _seeds(self, X, weights, random):
        """What the choice of first centres needs, drawn in scikit-learn's order."""
        k = self.n_clusters
        init = self.init
        is_array = _is_arraylike_not_scalar(init)
        runs = self.n_init
        if runs == "auto":
            runs = 1 if is_array or self._seeding() == "k-means++" else 10
        inputs = {"starts": NOTHING, "first": NOTHING, "draws": NOTHING}
        chooser = Chooser(weights)
        if is_array:
            if runs != 1:
                warnings.warn(
                    f"Explicit initial center position passed: performing only one init in {type(self).__name__} instead of "
                    f"n_init={runs}.",
                    RuntimeWarning,
                    stacklevel=3,
                )
                runs = 1
            inputs["starts"] = check_array(init, dtype=X.dtype, order="C")
            self._validate_center_shape(X, inputs["starts"])
        elif self._seeding() == "k-means++":
            drawn = [choices(random, chooser, k) for _ in range(runs)]
            inputs["first"] = np.vstack([first for first, _ in drawn])
            inputs["draws"] = np.vstack([draws for _, draws in drawn])
        elif callable(init):
            # It gets the points as scikit-learn passes them: shifted to their mean.
            if stays(X):
                self._refuse("init that is a function on a Spark DataFrame")
            points = X if issparse(X) else X - X.mean(axis=0)
            starts = []
            for _ in range(runs):
                centres = check_array(
                    init(points, k, random_state=random), dtype=X.dtype, order="C"
                )
                self._validate_center_shape(X, centres)
                starts.append(centres)
            inputs["starts"] = np.vstack(starts)
        else:
            starts = [rows_at(X, chooser.several(random, k)) for _ in range(runs)]
            inputs["starts"] = np.vstack(starts)
        return {**inputs, "runs": runs}


def choices(random, chances, k):
    """The first point, from 1, and the random numbers of k-means++, in scikit-learn's order."""
    trials = 2 + int(np.log(k))
    chooser = chances if isinstance(chances, Chooser) else Chooser(chances)
    first = np.array([[chooser.one(random) + 1.0]])
    # The script finds the last of equal candidates, and NumPy the first.
    draws = [random.uniform(size=trials)[::-1] for _ in range(k - 1)]
    return first, np.array(draws).reshape(k - 1, trials) if k > 1 else np.zeros((1, trials))
