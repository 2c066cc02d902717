"""Columns of mean zero and variance one."""

from __future__ import annotations

import numpy as np
from sklearn import preprocessing
from sklearn.base import _fit_context
from sklearn.utils.validation import check_array, check_is_fitted

from ._base import NOTHING, Fitted, column, run
from ._given import check_sample_weight, issparse, validate_data

_FLOATS = (np.float64, np.float32)


class StandardScaler(Fitted, preprocessing.StandardScaler):
    """Columns shifted to mean zero and scaled to variance one. Missing cells stay missing.

    Parameters and attributes are those of ``sklearn.preprocessing.StandardScaler``. Results are new arrays with
    ``copy=False``, too.

    >>> from fulgurite.learn import StandardScaler
    >>> StandardScaler().fit_transform([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]).tolist()
    [[-1.0, -1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, 1.0]]
    """

    _fits_frames = True
    _fits_batches_of_frames = True

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Takes a batch into means and variances."""
        is_first = not hasattr(self, "n_samples_seen_")
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=_FLOATS,
            ensure_all_finite="allow-nan",
            reset=is_first,
        )
        features = X.shape[1]
        weighted = sample_weight is not None
        if weighted:
            sample_weight = check_sample_weight(
                sample_weight, X, dtype=X.dtype, ensure_non_negative=True
            )
        if issparse(X) and self.with_mean:
            raise ValueError(
                "Cannot center sparse matrices: pass `with_mean=False` instead. See docstring for motivation and alternatives."
            )
        kind = X.dtype if weighted else np.int64
        # Rows that are only counted have no weights in scikit-learn.
        weighted = weighted and (self.with_mean or self.with_std or issparse(X))
        zeros = np.zeros((1, features))
        counts, means, squares = zeros, zeros, zeros
        if not is_first:
            counts = np.broadcast_to(
                np.asarray(self.n_samples_seen_, np.float64), (1, features)
            ).copy()
            if self.mean_ is not None:
                means = np.reshape(self.mean_, (1, -1))
            if self.var_ is not None:
                squares = np.reshape(self.var_, (1, -1)) * counts
        found = self._fit_by(
            "scaler",
            {
                "X": X,
                "w": column(sample_weight) if weighted else NOTHING,
                "counts0": counts,
                "means0": means,
                "squares0": squares,
            },
            ["counts", "means", "variances"],
            weighted=weighted,
            sparse=issparse(X),
        )
        counts = found["counts"].ravel().astype(kind)
        self.n_samples_seen_ = counts[0] if counts.max() == counts.min() else counts
        keeps_means = self.with_std or (self.with_mean and not issparse(X))
        self.mean_ = found["means"].ravel() if keeps_means else None
        self.var_ = self.scale_ = None
        if self.with_std:
            self.var_ = found["variances"].ravel()
            # Variances that rounding errors explain, as scikit-learn bounds them.
            eps = np.finfo(np.float64).eps
            bound = counts * eps * self.var_ + (counts * self.mean_ * eps) ** 2
            self.scale_ = np.where(self.var_ <= bound, 1.0, np.sqrt(self.var_))
        return self

    def transform(self, X, copy=None):
        """Shifts and scales columns."""
        check_is_fitted(self)
        X = validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr",
            dtype=_FLOATS,
            ensure_all_finite="allow-nan",
        )
        return self._scaled(X, "center", back=False)

    def inverse_transform(self, X, copy=None):
        """Scales and shifts columns back."""
        check_is_fitted(self)
        X = check_array(X, accept_sparse="csr", dtype=_FLOATS, ensure_all_finite="allow-nan")
        return self._scaled(X, "uncenter", back=True)

    def _scaled(self, X, verb, back):
        if issparse(X) and self.with_mean:
            raise ValueError(
                f"Cannot {verb} sparse matrices: pass `with_mean=False` instead. See docstring for motivation and alternatives."
            )
        inputs = {
            "X": X,
            "means": np.reshape(self.mean_, (1, -1)) if self.with_mean else NOTHING,
            "scales": np.reshape(self.scale_, (1, -1)) if self.with_std else NOTHING,
        }
        switches = {"centred": self.with_mean, "scaled": self.with_std, "back": back}
        (Z,) = run("scale", inputs, ["Z"], switches, keeps_sparse=issparse(X))
        if issparse(X):
            made = type(X)
            Z = Z if type(Z) is made else made(Z)
        return Z.astype(X.dtype, copy=False)
