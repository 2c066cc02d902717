"""Loops: of scalars against CPython, of small matrices against NumPy."""

import numpy as np
from bench_work_rows import Row

STEPS = [{"n": 100_000}]


def loop(n):
    s = 0.0
    for i in range(1, n + 1):
        s = s * 0.999 + i
    return s


def loop_branch(n):
    s = 0.0
    for i in range(1, n + 1):
        if i % 3 == 0:
            s = s + i
        else:
            s = s - 0.5
    return s


def step(s, i):
    return s * 0.999 + i


def loop_calls(n):
    s = 0.0
    for i in range(1, n + 1):
        s = step(s, i)
    return s


def loop_elements(n):
    v = [0.0] * n
    v[0] = 1.0
    for i in range(1, n):
        v[i] = v[i - 1] * 0.999 + i
    return v


def small_matrices(A, B, steps):
    for _ in range(steps):
        A = A @ B
        A = A / np.max(A)
    return A


def gradient_descent(X, y, steps):
    w = np.zeros((X.shape[1], 1))
    for _ in range(steps):
        w = w - 0.0001 * (X.T @ (X @ w - y))
    return w


ROWS = [
    Row(
        "loop",
        what="a loop of scalars",
        sizes=STEPS,
        dml="""
            s = 0
            for (i in 1:$n) {
              s = s * 0.999 + i
            }
        """,
        outputs=("s",),
        peers={"python": loop},
        reach=3,
    ),
    Row(
        "loop-branch",
        what="a loop of scalars with a branch",
        sizes=STEPS,
        dml="""
            s = 0
            for (i in 1:$n) {
              if (i %% 3 == 0) { s = s + i } else { s = s - 0.5 }
            }
        """,
        outputs=("s",),
        peers={"python": loop_branch},
        reach=3,
    ),
    Row(
        "loop-calls",
        what="a loop of scalars with a call of a function",
        sizes=STEPS,
        dml="""
            step = function(double s, double i) return (double next) {
              next = s * 0.999 + i
            }
            s = 0
            for (i in 1:$n) {
              s = step(s, i)
            }
        """,
        outputs=("s",),
        peers={"python": loop_calls},
        reach=3,
    ),
    Row(
        "loop-elements",
        what="a loop that assigns the elements of a column",
        sizes=STEPS,
        dml="""
            v = matrix(0, rows=$n, cols=1)
            v[1, 1] = 1
            for (i in 2:$n) {
              v[i, 1] = as.scalar(v[i-1, 1]) * 0.999 + (i - 1)
            }
        """,
        outputs=("v",),
        peers={"python": loop_elements},
        reach=3,
    ),
    Row(
        "loop-small-matrices",
        what="A = A %*% B, divided by its maximum, 10 x 10, in a loop",
        sizes=[{"steps": 20_000}],
        inputs=lambda random: {"A": random.random((10, 10)), "B": random.random((10, 10))},
        dml="""
            for (i in 1:$steps) {
              A = A %*% B
              A = A / max(A)
            }
        """,
        outputs=("A",),
        peers={"numpy": small_matrices},
        reach=1.5,
    ),
    Row(
        "gradient-descent",
        what="linear regression by steps of the gradient, 1000 x 20",
        sizes=[{"steps": 1000}],
        inputs=lambda random: {"X": random.standard_normal((1000, 20)), "y": random.standard_normal((1000, 1))},
        dml="""
            w = matrix(0, rows=ncol(X), cols=1)
            for (i in 1:$steps) {
              w = w - 0.0001 * (t(X) %*% (X %*% w - y))
            }
        """,
        outputs=("w",),
        peers={"numpy": gradient_descent},
        reach=1.5,
    ),
]
