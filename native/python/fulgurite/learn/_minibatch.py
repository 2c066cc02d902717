"""Clusters that are found on batches of the points."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn import cluster
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import (
    _check_sample_weight,
    _is_arraylike_not_scalar,
    check_array,
)

from ._base import NOTHING, Fitted, column
from ._cluster import choices
from ._inputs import validate_data

# Steps that one run of the script makes at most, and the cells of row numbers that it gets at most.
_STEPS = 32
_CELLS = 2**18

_FLOATS = (np.float64, np.float32)

# State of a fit that has made no step, as the script has it.
_NEW = (0.0, 0.0, 0.0, 0.0, np.inf)


class MiniBatchKMeans(Fitted, cluster.MiniBatchKMeans):
    """k-means clustering on random batches.

    Parameters and attributes are those of ``sklearn.cluster.MiniBatchKMeans``. The same ``random_state`` chooses the same
    first centres and batches as scikit-learn does, and so leads to the same clusters, up to rounding.

    >>> from fulgurite.learn import MiniBatchKMeans
    >>> MiniBatchKMeans(2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]]).labels_.tolist()
    [1, 1, 0, 0]
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Finds clusters."""
        X, weights = self._checked(X, sample_weight)
        init = self._set_up(X)
        random = check_random_state(self.random_state)
        rows = X.shape[0]
        places = random.randint(0, rows, self._init_size)
        judged = (X[places], weights[places])
        best = None
        for _ in range(self._n_init):
            centres, objective = self._start(X, weights, judged, init, random, best is not None)
            if best is None or objective < best[1]:
                best = (centres, objective)
        if self.tol > 0:
            found = self._fit_by(
                "minibatch_spread",
                {"X": X},
                ["spread"],
                adds=True,
                main=False,
                centred=not sparse.issparse(X),
            )
            self._tol = self.tol * found["spread"]
        smooth = self._iterate(X, weights, best[0], random)
        self.n_iter_ = int(np.ceil(self.n_steps_ * self._batch_size / rows))
        if self.compute_labels:
            self._label(X, weights)
        else:
            self.inertia_ = smooth * weights.sum()
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Moves the centres by one batch."""
        known = hasattr(self, "cluster_centers_")
        X, weights = self._checked(X, sample_weight, known)
        random = self._random_state = getattr(
            self, "_random_state", check_random_state(self.random_state)
        )
        self.n_steps_ = getattr(self, "n_steps_", 0)
        if not known:
            init = self._set_up(X)
            judged = (X[:1], weights[:1])
            self.cluster_centers_, _ = self._start(X, weights, judged, init, random)
            self._counts = np.zeros(self.n_clusters, X.dtype)
            self._n_since_last_reassign = 0
        state = np.array([[0.0, self._n_since_last_reassign, *_NEW[2:]]])
        centres = self.cluster_centers_
        counts = column(self._counts)
        found = self._step(X, NOTHING, weights, None, centres, counts, state, 1, not known)
        if found["wanting"]:
            jumps = self._jumps(found["total"], X.shape[0], random)
            found = self._step(X, NOTHING, weights, jumps, centres, counts, state, 1, True)
        self.cluster_centers_ = found["C"].astype(X.dtype, copy=False)
        self._counts = found["counts"].ravel().astype(X.dtype, copy=False)
        self._n_since_last_reassign = int(found["after"][0, 1])
        if self.compute_labels:
            self._label(X, weights)
        self.n_steps_ += 1
        self._n_features_out = self.n_clusters
        return self

    def _checked(self, X, sample_weight, known=False):
        X = validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=_FLOATS,
            order="C",
            accept_large_sparse=False,
            reset=not known,
        )
        weights = _check_sample_weight(sample_weight, X, dtype=X.dtype, ensure_non_negative=True)
        return X, weights

    def _set_up(self, X):
        """What scikit-learn derives from the parameters, and the first centres if there are given ones."""
        tol, self.tol = self.tol, 0.0
        try:
            # It would compute variances of the whole of X.
            self._check_params_vs_input(X)
        finally:
            self.tol = tol
        # Predictions of scikit-learn's class read it.
        self._n_threads = _openmp_effective_n_threads()
        init = self.init
        if _is_arraylike_not_scalar(init):
            init = check_array(init, dtype=X.dtype, copy=True, order="C")
            self._validate_center_shape(X, init)
        return init

    def _start(self, X, weights, judged, init, random, adds=False):
        """First centres, drawn in scikit-learn's order, and their objective for some points."""
        k = self.n_clusters
        if self._init_size < X.shape[0]:
            places = random.randint(0, X.shape[0], self._init_size)
            X, weights = X[places], weights[places]
        inputs = {"X": X, "w": column(weights), "first": NOTHING, "draws": NOTHING}
        inputs["starts"] = NOTHING
        seeding = "given"
        if isinstance(init, str) and init == "k-means++":
            seeding = init
            inputs["first"], inputs["draws"] = choices(random, weights / weights.sum(), k)
        elif isinstance(init, str):
            rows = random.choice(X.shape[0], size=k, replace=False, p=weights / weights.sum())
            inputs["starts"] = X[rows]
        elif callable(init):
            centres = check_array(init(X, k, random_state=random), dtype=X.dtype, order="C")
            self._validate_center_shape(X, centres)
            inputs["starts"] = centres
        else:
            inputs["starts"] = init
        if sparse.issparse(inputs["starts"]):
            inputs["starts"] = inputs["starts"].toarray()
        found = self._fit_by(
            "minibatch_start",
            {**inputs, "V": judged[0], "v": column(judged[1]), "k": k},
            ["C", "objective"],
            adds=adds,
            main=False,
            centred=not sparse.issparse(X),
            seeding=seeding,
        )
        return found["C"].astype(X.dtype, copy=False), found["objective"]

    def _iterate(self, X, weights, centres, random):
        """Makes steps until the fit has converged. The smoothed objective."""
        rows, size = X.shape[0], self._batch_size
        shares = np.cumsum(weights / weights.sum(), dtype=np.float64)
        shares /= shares[-1]
        counts = np.zeros((self.n_clusters, 1))
        state = np.array([_NEW])
        most = self.max_iter * rows // size
        room = max(1, min(_STEPS, _CELLS // size, most))
        ahead = room
        numbers = np.ones((room * size, 1))
        ones = np.ones(size)
        done = 0
        ended = False
        while done < most and not ended:
            steps = min(ahead, most - done)
            before = random.get_state(legacy=False)
            self._draw(numbers[: steps * size, 0], shares, random)
            found = self._step(X, numbers, ones, None, centres, counts, state, steps, True)
            made = found["made"]
            if made < steps:
                # Random numbers are drawn as if nothing had been drawn ahead.
                random.set_state(before)
                random.random_sample(made * size)
            if found["wanting"]:
                self._draw(numbers[:size, 0], shares, random)
                jumps = self._jumps(found["total"], size, random)
                centres, counts, state = found["C"], found["counts"], found["after"]
                found = self._step(X, numbers, ones, jumps, centres, counts, state, 1, True)
                done += 1
            ahead = max(1, made) if made < steps else min(2 * ahead, room)
            done += made
            centres, counts, state = found["C"], found["counts"], found["after"]
            ended = found["ended"]
        self.cluster_centers_ = centres.astype(X.dtype, copy=False)
        self._counts = counts.ravel().astype(X.dtype, copy=False)
        self._n_since_last_reassign = int(state[0, 1])
        self._n_features_out = self.n_clusters
        self.n_steps_ = done
        self.report_["iterations"] = done
        return state[0, 3]

    @staticmethod
    def _draw(numbers, shares, random):
        """Rows of batches, as `choice` draws them, which would add up the shares each time."""
        numbers[:] = shares.searchsorted(random.random_sample(len(numbers)), side="right")
        numbers += 1

    def _jumps(self, total, size, random):
        """The rows of a batch to which centres of few points jump, from 1; zero for the others."""
        total = total.ravel()
        few = total < self.reassignment_ratio * total.max()
        if few.sum() > 0.5 * size:
            few[np.argsort(total)[int(0.5 * size) :]] = False
        jumps = np.zeros((len(total), 1))
        jumps[few, 0] = random.choice(size, replace=False, size=few.sum()) + 1
        return jumps

    def _step(self, X, rows, weights, jumps, centres, counts, state, steps, adds):
        """Makes steps on batches, or one step on X if there are no rows of batches."""
        whole = rows is NOTHING
        total = X.shape[0] if whole else self.max_iter * X.shape[0] // self._batch_size
        patience = np.inf if self.max_no_improvement is None else self.max_no_improvement
        part = min(self._batch_size * 2.0 / (X.shape[0] + 1), 1.0)
        tol = self._tol if self.tol > 0 else 0.0
        options = [
            steps,
            self._batch_size,
            self.reassignment_ratio,
            tol,
            patience,
            part,
            total,
        ]
        return self._fit_by(
            "minibatch_steps",
            {
                "X": X,
                "rows": rows,
                "w": column(weights),
                "jumps": np.zeros((len(centres), 1)) if jumps is None else jumps,
                "start": centres,
                "begun": counts,
                "state": state,
                "options": np.array([options]),
            },
            ["C", "counts", "after", "made", "ended", "wanting", "total", "objective"],
            adds=adds,
            whole=whole,
            centred=not sparse.issparse(X),
        )

    def _label(self, X, weights):
        """Sets clusters of all points, and the objective."""
        found = self._fit_by(
            "minibatch_labels",
            {"X": X, "w": column(weights), "C": self.cluster_centers_},
            ["labels", "objective"],
            adds=True,
            main=False,
            centred=not sparse.issparse(X),
        )
        self.labels_ = found["labels"].ravel().astype(np.int32) - np.int32(1)
        self.inertia_ = found["objective"]
        self.report_["objective"] = self.inertia_
