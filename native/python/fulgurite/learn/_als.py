"""Factors of ratings."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array, check_is_fitted

from ._base import Fitted, run
from ._inputs import validate_data
from ._ratings import Ratings, predicted


class ALS(Fitted, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Factors of a matrix of ratings by alternating least squares, with the parameters of ``pyspark.ml``'s ``ALS``.

    Rows are users, columns are items. Cells of a sparse matrix that are not stored are missing, and so are zeros of a
    dense one.

    Args:
        rank: The number of factors.
        reg_param: The penalty, weighted by the number of ratings of each user and item.
        max_iter: The number of iterations.
        implicit: Whether ratings say how sure it is that somebody likes something, instead of how much. Cells that are
            not stored are zeros then.
        alpha: How much implicit ratings weigh.
        random_state: Of the factors to start from.
        verbose: Whether each iteration prints a line.

    Attributes:
        user_factors_: Factors of rows.
        item_factors_: Factors of columns.
        n_iter_: Iterations.
        user_ids_, item_ids_: What rows of the factors belong to, after a fit to a Spark DataFrame of ratings.

    >>> from fulgurite.learn import ALS
    >>> model = ALS(1, reg_param=1e-6, random_state=0).fit([[2.0, 4.0], [3.0, 6.0]])
    >>> model.inverse_transform(model.user_factors_).round(3).tolist()
    [[2.0, 4.0], [3.0, 6.0]]
    """

    _parameter_constraints: ClassVar[dict] = {
        "rank": [Interval(Integral, 1, None, closed="left")],
        "reg_param": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "implicit": ["boolean"],
        "alpha": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        rank=10,
        reg_param=0.1,
        max_iter=10,
        implicit=False,
        alpha=1.0,
        *,
        random_state=None,
        verbose=0,
    ):
        self.rank = rank
        self.reg_param = reg_param
        self.max_iter = max_iter
        self.implicit = implicit
        self.alpha = alpha
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None):
        """Finds factors of users and of items."""
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32))
        for name in ("user_ids_", "item_ids_"):
            self.__dict__.pop(name, None)
        random = check_random_state(self.random_state)
        users = self._begun(random, X.shape[0])
        items = self._begun(random, X.shape[1])
        found = self._fit_by(
            "als", self._inputs(X, users, items), ["U", "V", "iterations"], **self._switches(True)
        )
        self.user_factors_ = found["U"].astype(X.dtype, copy=False)
        self.item_factors_ = found["V"].astype(X.dtype, copy=False)
        self.n_iter_ = found["iterations"]
        self._n_features_out = self.rank
        return self

    def _fit_frame(self, frame, y=None, sample_weight=None):
        """Finds factors from the columns user, item and rating."""
        if sample_weight is not None:
            raise TypeError("ALS.fit takes no sample_weight")
        random = check_random_state(self.random_state)
        with Ratings(frame) as ratings:
            rows, cols = ratings.shape
            users, items = self._begun(random, rows), self._begun(random, cols)
            switches = {**self._switches(True), "verbose": bool(self.verbose)}
            found, self.report_, self._program = ratings.fit_by(
                self._numbers(users, items), ["U", "V", "iterations"], switches
            )
        self.user_ids_, self.item_ids_ = ratings.users, ratings.items
        self.user_factors_, self.item_factors_ = found["U"], found["V"]
        self.n_iter_ = found["iterations"]
        self.n_features_in_ = cols
        self.__dict__.pop("feature_names_in_", None)
        self._n_features_out = self.rank
        return self

    def _transform_frame(self, frame):
        """The DataFrame with predicted ratings."""
        check_is_fitted(self)
        if not hasattr(self, "user_ids_"):
            raise ValueError(
                "the model was fitted to a matrix: it knows users and items by their places alone"
            )
        return predicted(self, frame)

    def transform(self, X):
        """The factors of other users, from what they rated."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        users = np.zeros((X.shape[0], self.item_factors_.shape[1]))
        switches = self._switches(False) | {"verbose": False}
        (found,) = run("als", self._inputs(X, users, self.item_factors_), ["U"], switches)
        return found.astype(X.dtype, copy=False)

    def inverse_transform(self, X):
        """Ratings of all items by users of some factors."""
        check_is_fitted(self)
        X = check_array(X, dtype=(np.float64, np.float32))
        (found,) = run("products", {"X": X, "V": self.item_factors_}, ["Z"], {})
        return found.astype(X.dtype, copy=False)

    def _begun(self, random, rows):
        """Rows of length one, as pyspark.ml begins."""
        factors = random.normal(size=(rows, self.rank))
        return factors / np.linalg.norm(factors, axis=1)[:, None]

    def _inputs(self, X, users, items):
        X = sparse.csr_array(X, dtype=np.float64)
        X.sum_duplicates()
        rated = sparse.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
        return {"X": X, "M": rated, **self._numbers(users, items)}

    def _numbers(self, users, items):
        return {
            "U0": users,
            "V0": items,
            "reg": float(self.reg_param),
            "alpha": float(self.alpha),
            "most": self.max_iter,
        }

    def _switches(self, both):
        return {"both": both, "implicit": self.implicit}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
