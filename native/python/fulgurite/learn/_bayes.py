"""Naive Bayes classifiers."""

from __future__ import annotations

import numpy as np
from sklearn import naive_bayes
from sklearn.utils.multiclass import _check_partial_fit_first_call

from ._base import Fitted, column
from ._given import check_non_negative, check_sample_weight, classes_of, codes_of, validate_data


class GaussianNB(Fitted, naive_bayes.GaussianNB):
    """Naive Bayes with a normal distribution for each class and column.

    Parameters and attributes are those of ``sklearn.naive_bayes.GaussianNB``.

    >>> from fulgurite.learn import GaussianNB
    >>> GaussianNB().fit([[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1]).predict([[2.0], [8.0]]).tolist()
    [0, 1]
    """

    _fits_frames = True

    def _partial_fit(self, X, y, classes=None, _refit=False, sample_weight=None):
        if _refit:
            self.classes_ = None
        is_first = _check_partial_fit_first_call(self, classes)
        X, y = validate_data(self, X, y, reset=is_first)
        weights = check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=sample_weight is not None
        )
        kind = X.dtype if X.dtype == np.float32 else np.float64
        size = len(self.classes_)
        features = X.shape[1]
        if is_first:
            counts, means = np.zeros((size, 1)), np.zeros((size, features))
            variances = means
            self.class_prior_ = self._priors(size)
        else:
            if features != self.theta_.shape[1]:
                raise ValueError(
                    f"Number of features {features} does not match previous data {self.theta_.shape[1]}."
                )
            counts, means = column(self.class_count_), self.theta_
            variances = self.var_
        codes = codes_of(y, self.classes_)
        found = self._fit_by(
            "gaussian_nb",
            {
                "X": X,
                "y": column(codes + 1),
                "w": column(weights),
                "counts0": counts,
                "means0": means,
                "variances0": variances,
                "smoothing": float(self.var_smoothing),
            },
            ["counts", "means", "variances", "epsilon"],
            first=is_first,
        )
        self.epsilon_ = found["epsilon"]
        self.theta_ = found["means"].astype(kind)
        self.var_ = found["variances"].astype(kind)
        self.class_count_ = found["counts"].ravel().astype(kind)
        if self.priors is None:
            self.class_prior_ = self.class_count_ / self.class_count_.sum()
        return self

    def _fit_parts(self, X, y, sample_weight=None):
        return self._partial_fit(X, y, y.classes, _refit=True, sample_weight=sample_weight)

    def _priors(self, size):
        if self.priors is None:
            return np.zeros(size)
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape[0] != size:
            raise ValueError("Number of priors must match number of classes.")
        if not np.isclose(priors.sum(), 1.0):
            raise ValueError("The sum of the priors should be 1.")
        if np.any(priors < 0):
            raise ValueError("Priors must be non-negative.")
        return priors


class MultinomialNB(Fitted, naive_bayes.MultinomialNB):
    """Naive Bayes for counts.

    Parameters and attributes are those of ``sklearn.naive_bayes.MultinomialNB``.

    >>> from fulgurite.learn import MultinomialNB
    >>> MultinomialNB().fit([[3, 0], [2, 1], [0, 3]], ["a", "a", "b"]).predict([[1, 0], [0, 2]]).tolist()
    ['a', 'b']
    """

    _fits_frames = True

    def _fit_parts(self, X, y, sample_weight=None):
        X, y = self._check_X_y(X, y)
        self.classes_, codes = classes_of(y)
        Y = codes.indicators()
        if sample_weight is not None:
            Y = Y.weighted(sample_weight)
        self._init_counters(len(self.classes_), X.shape[1])
        self._count(X, Y)
        self._update_feature_log_prob(self._check_alpha())
        self._update_class_log_prior(class_prior=self.class_prior)

    def _check_X_y(self, X, y, reset=True):
        return validate_data(self, X, y, accept_sparse="csr", reset=reset)

    def _count(self, X, Y):
        check_non_negative(X, "MultinomialNB (input X)", getattr(self, "feature_names_in_", None))
        # Indicators of classes, times weights.
        check_non_negative(Y, "MultinomialNB (sample_weight)")
        found = self._fit_by("class_sums", {"X": X, "Y": Y}, ["S", "counts"])
        self.feature_count_ += found["S"]
        self.class_count_ += found["counts"].ravel()
