"""Functions of cells, aggregates of columns, and ranges."""

import numpy as np
from bench_work_rows import Row, jnp

LONG = [{"n": 10_000_000}]
WIDE = [{"n": 100_000, "m": 200}]


def column(random, n):
    return {"X": random.uniform(-100, 100, (n, 1))}


def wide(random, n, m):
    return {"X": random.standard_normal((n, m))}


def of_both(function):
    """A peer in NumPy and in JAX, whose first parameter is the library."""
    return {"numpy": lambda X: function(np, X), "jax": lambda X: function(jnp, X)}


def stencil(np, X):
    """Of the four neighbours and the cell itself."""
    return 0.2 * (X[1:-1, 1:-1] + X[:-2, 1:-1] + X[2:, 1:-1] + X[1:-1, :-2] + X[1:-1, 2:])


ROWS = [
    Row(
        "column-aggregates",
        what="colSums(X), colMaxs(X), colMeans(X) in one script",
        sizes=WIDE,
        inputs=wide,
        dml="""
            S = colSums(X)
            M = colMaxs(X)
            A = colMeans(X)
        """,
        outputs=("S", "M", "A"),
        peers=of_both(lambda np, X: (X.sum(axis=0), X.max(axis=0), X.mean(axis=0))),
        reach=1.2,
        bytes=lambda n, m: 8 * n * m,
    ),
    Row(
        "column-variances",
        what="colVars(X)",
        sizes=WIDE,
        inputs=wide,
        dml="R = colVars(X)",
        peers=of_both(lambda np, X: X.var(axis=0, ddof=1)),
        reach=1.2,
        bytes=lambda n, m: 8 * n * m,
    ),
    Row(
        "stencil",
        what="five-point stencil by ranges of X",
        sizes=[{"n": 4000}],
        grows={"n": 2},
        inputs=lambda random, n: {"X": random.random((n, n))},
        dml="""
            n = nrow(X)
            R = 0.2 * (X[2:(n-1), 2:(n-1)] + X[1:(n-2), 2:(n-1)] + X[3:n, 2:(n-1)] + X[2:(n-1), 1:(n-2)] + X[2:(n-1), 3:n])
        """,
        peers=of_both(stencil),
        reach=1.0,
        bytes=lambda n: 16 * n * n,
    ),
    # No value lies halfway, where the libraries round to even.
    Row("round", what="round(X)", sizes=LONG, inputs=column, dml="R = round(X)", peers=of_both(lambda np, X: np.rint(X)), reach=1.2, tolerance=0, bytes=lambda n: 16 * n),
    Row("whole-quotient", what="X %/% 3", sizes=LONG, inputs=column, dml="R = X %/% 3", peers=of_both(lambda np, X: np.floor(X / 3)), reach=1.2, tolerance=0, bytes=lambda n: 16 * n),
    Row(
        "sum-of-rounded",
        what="sum(round(X * 10) / 10)",
        sizes=LONG,
        inputs=column,
        dml="R = sum(round(X * 10) / 10)",
        peers=of_both(lambda np, X: (np.rint(X * 10) / 10).sum()),
        reach=1.2,
        bytes=lambda n: 8 * n,
    ),
    Row(
        "column-recurrence",
        what="Y[, i] = 0.9 * Y[, i-1] + X[, i], for each i",
        sizes=[{"n": 100_000, "m": 100}],
        inputs=wide,
        dml="""
            Y = X
            for (i in 2:ncol(X)) {
              Y[, i] = 0.9 * Y[, i-1] + X[, i]
            }
        """,
        outputs=("Y",),
        peers={"numpy": lambda X: column_recurrence(X)},
        reach=1.0,
        bytes=lambda n, m: 16 * n * m,
    ),
]


def column_recurrence(X):
    Y = X.copy()
    for i in range(1, X.shape[1]):
        Y[:, i] = 0.9 * Y[:, i - 1] + X[:, i]
    return Y
