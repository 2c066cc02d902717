"""Sorts, quantiles and groups of columns, and random numbers."""

import numpy as np
import scipy.sparse
from bench_work_rows import Row

LONG = [{"n": 10_000_000}]
GROUPED = [{"n": 5_000_000, "groups": 1000}]


def column(random, n):
    return {"x": random.random((n, 1))}


def grouped(random, n, groups):
    return {"g": random.integers(1, groups + 1, n), "x": random.random((n, 1))}


def frame_sums(g, X):
    """Of each column by group, in the order of groups."""
    return X.with_columns(g.alias("g")).group_by("g").sum().sort("g").drop("g")


def one_hot(g):
    """A row for each of g, with a one in its column."""
    n = len(g)
    return scipy.sparse.csr_matrix((np.ones(n), g[:, 0] - 1, np.arange(n + 1)))


ROWS = [
    Row(
        "sort",
        what="order(target=x, by=1), one column",
        sizes=LONG,
        inputs=column,
        dml="R = order(target=x, by=1)",
        peers={"numpy": lambda x: np.sort(x[:, 0]), "polars": lambda x: x.sort()},
        reach=0.8,
        tolerance=0,
    ),
    Row(
        "median",
        what="median(x)",
        sizes=LONG,
        inputs=column,
        dml="R = median(x)",
        peers={"numpy": lambda x: np.median(x), "polars": lambda x: x.median()},
        reach=1.2,
    ),
    # NumPy and Polars interpolate between two of the values, which lie 1e-7 apart.
    Row(
        "quantile",
        what="quantile(x, 0.9)",
        sizes=LONG,
        inputs=column,
        dml="R = quantile(x, 0.9)",
        peers={"numpy": lambda x: np.quantile(x, 0.9), "polars": lambda x: x.quantile(0.9, "linear")},
        reach=1.2,
        tolerance=1e-4,
    ),
    Row(
        "group-count",
        what="table(g, 1)",
        sizes=GROUPED,
        inputs=lambda random, n, groups: {"g": random.integers(1, groups + 1, n)},
        dml="R = table(g, 1)",
        peers={
            "numpy": lambda g: np.bincount(g[:, 0])[1:],
            "polars": lambda g: g.alias("g").value_counts().sort("g")["count"],
            "pandas": lambda g: g.value_counts(sort=False).sort_index(),
        },
        reach=1.0,
        tolerance=0,
        bytes=lambda n: 8 * n,
    ),
    Row(
        "group-sum",
        what='aggregate(target=x, groups=g, fn="sum")',
        sizes=GROUPED,
        inputs=grouped,
        dml='R = aggregate(target=x, groups=g, fn="sum")',
        peers={
            "numpy": lambda g, x: np.bincount(g[:, 0], weights=x[:, 0])[1:],
            "polars": lambda g, x: frame_sums(g, x.alias("x").to_frame())["x"],
            "pandas": lambda g, x: x.groupby(g).sum(),
        },
        reach=1.0,
        bytes=lambda n: 16 * n,
    ),
    Row(
        "group-product",
        what="t(table(seq(1, nrow(X)), g)) %*% X, four columns",
        sizes=GROUPED,
        inputs=lambda random, n, groups: {"g": random.integers(1, groups + 1, n), "X": random.random((n, 4))},
        dml="R = t(table(seq(1, nrow(X)), g)) %*% X",
        peers={
            "numpy": lambda g, X: np.stack([np.bincount(g[:, 0], weights=X[:, column])[1:] for column in range(4)], axis=1),
            "scipy": lambda g, X: one_hot(g).T @ X,
            "polars": frame_sums,
            "pandas": lambda g, X: X.groupby(g).sum(),
        },
        reach=1.0,
        bytes=lambda n: 40 * n,
    ),
    # Generators differ: means and variances are compared.
    Row(
        "rand-uniform",
        what="rand(rows=n, cols=1)",
        sizes=[{"n": 20_000_000}],
        dml="R = rand(rows=$n, cols=1, seed=7)",
        peers={"numpy": lambda n: np.random.default_rng(7).random((n, 1))},
        seen=lambda R: [np.array([R.mean(), R.var(), R.min(), R.max()])],
        reach=1.2,
        tolerance=0.01,
        bytes=lambda n: 8 * n,
    ),
    Row(
        "rand-normal",
        what='rand(rows=n, cols=1, pdf="normal")',
        sizes=[{"n": 20_000_000}],
        dml='R = rand(rows=$n, cols=1, pdf="normal", seed=7)',
        peers={"numpy": lambda n: np.random.default_rng(7).standard_normal((n, 1))},
        seen=lambda R: [np.array([R.mean(), R.var(), np.abs(R).mean()])],
        reach=1.2,
        tolerance=0.01,
        bytes=lambda n: 8 * n,
    ),
]
