"""Factors of ratings beside what the systems of their definition say."""

import itertools

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import near
from scipy import sparse


def rows(X, rated, V, reg, implicit, alpha):
    """The factors of each row, by its own system."""
    k = V.shape[1]
    found = np.zeros((len(X), k))
    for i in range(len(X)):
        if implicit:
            weights = alpha * np.abs(X[i])
            A = V.T @ V + V.T @ (V * weights[:, None])
            b = V.T @ ((X[i] > 0) * (1 + weights))
            count = np.sum(X[i] > 0)
        else:
            A = V[rated[i]].T @ V[rated[i]]
            b = V[rated[i]].T @ X[i, rated[i]]
            count = rated[i].sum()
        if count:
            found[i] = np.linalg.solve(A + reg * count * np.eye(k), b)
    return found


@pytest.mark.parametrize("implicit", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_iterations(seed, implicit):
    rng = np.random.default_rng(seed)
    rated = rng.random((25, 12)) < 0.4
    rated[3] = False
    rated[:, 4] = False
    X = np.where(rated, rng.integers(-1, 6, size=(25, 12)).astype(float), 0.0)
    # Ratings of zero are stored, too.
    users, items = np.nonzero(rated)
    given = sparse.csr_array((X[rated], (users, items)), shape=X.shape)
    options = {"rank": 3, "reg_param": 0.1, "max_iter": 3, "implicit": implicit, "alpha": 2.0}
    ours = learn.ALS(**options, random_state=seed).fit(given)
    U = learn.ALS(**options)._begun(np.random.RandomState(seed), 25)
    for _ in range(3):
        V = rows(X.T, rated.T, U, 0.1, implicit, 2.0)
        U = rows(X, rated, V, 0.1, implicit, 2.0)
    near(ours.item_factors_, V, 1e-7)
    near(ours.user_factors_, U, 1e-7)
    near(ours.transform(given), U, 1e-7)
    near(ours.inverse_transform(ours.user_factors_), U @ V.T, 1e-7)
    assert not ours.user_factors_[3].any() and not ours.item_factors_[4].any()


@pytest.mark.parametrize("implicit", [False, True])
def test_lines_of_progress_fall(implicit, capsys):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 20), density=0.3, rng=rng, format="csr")
    learn.ALS(4, implicit=implicit, verbose=1, random_state=0).fit(X)
    values = [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines()]
    assert len(values) == 10 and all(a >= b * (1 - 1e-9) for a, b in itertools.pairwise(values))
