"""Products of sparse matrices."""

from bench_work_rows import Row, random_csr

ROWS = [
    Row(
        "sparse-gram",
        what="t(X) %*% X, X sparse: 1 %",
        sizes=[{"n": 100_000, "m": 1000}, {"n": 100_000, "m": 4000}],
        inputs=lambda random, n, m: {"X": random_csr(random, n, m, 0.01)},
        dml="R = t(X) %*% X",
        peers={"scipy": lambda X: X.T @ X},
        reach=1.5,
    ),
    Row(
        "sparse-product",
        what="X %*% Y, both sparse: 0.2 %",
        sizes=[{"n": 10_000}],
        grows={"n": 3},
        inputs=lambda random, n: {"X": random_csr(random, n, n, 0.002), "Y": random_csr(random, n, n, 0.002)},
        dml="R = X %*% Y",
        peers={"scipy": lambda X, Y: X @ Y},
        reach=1.5,
    ),
]
