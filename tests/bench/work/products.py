"""Dense products."""

import numpy as np
from bench_work_rows import Row, jnp


def two(random, m, k, n):
    return {"X": random.random((m, k)), "Y": random.random((k, n))}


def square(random, n):
    return {"X": random.random((n, n)), "Y": random.random((n, n))}


def tall(random, n, m):
    return {"X": random.random((n, m))}


ROWS = [
    Row(
        "product",
        what="X %*% Y",
        sizes=[{"m": 2000, "k": 2000, "n": 2000}, {"m": 500, "k": 500, "n": 500}, {"m": 128, "k": 784, "n": 128}],
        grows={"m": 3, "k": 3, "n": 3},
        inputs=two,
        dml="R = X %*% Y",
        peers={"numpy": lambda X, Y: X @ Y, "jax": lambda X, Y: X @ Y},
        reach=1.0,
        flops=lambda m, k, n: 2 * m * k * n,
    ),
    Row(
        "product-transposed",
        what="t(X) %*% Y",
        sizes=[{"n": 2000}],
        grows={"n": 3},
        inputs=square,
        dml="R = t(X) %*% Y",
        peers={"numpy": lambda X, Y: X.T @ Y, "jax": lambda X, Y: X.T @ Y},
        reach=1.0,
        flops=lambda n: 2 * n**3,
    ),
    # NumPy computes one triangle, too, and the operations are those of one.
    Row(
        "gram",
        what="t(X) %*% X",
        sizes=[{"n": 20_000, "m": 1000}, {"n": 100_000, "m": 200}],
        inputs=tall,
        dml="R = t(X) %*% X",
        peers={"numpy": lambda X: X.T @ X, "jax": lambda X: X.T @ X},
        reach=1.0,
        flops=lambda n, m: n * m * (m + 1),
    ),
    Row(
        "attention",
        what="softmax(Q %*% t(K) / 8) %*% V",
        sizes=[{"n": 3000, "d": 64}],
        grows={"n": 2},
        inputs=lambda random, n, d: {name: random.standard_normal((n, d)) for name in "QKV"},
        dml="""
            S = Q %*% t(K) / 8
            E = exp(S - rowMaxs(S))
            R = (E / rowSums(E)) %*% V
        """,
        peers={"numpy": lambda Q, K, V: attention(np, Q, K, V), "jax": lambda Q, K, V: attention(jnp, Q, K, V)},
        reach=1.2,
        # Thirty for an exponential, as in tests/bench/RESULTS.md.
        flops=lambda n, d: n * n * (4 * d + 30),
    ),
    Row(
        "kernel-rows",
        what="rowSums(exp(-D / 2s)), D the squared distances to m points",
        sizes=[{"n": 50_000, "m": 500, "d": 20}],
        inputs=lambda random, n, m, d: {"X": random.standard_normal((n, d)), "C": random.standard_normal((m, d))},
        dml="""
            D = rowSums(X^2) - 2 * (X %*% t(C)) + t(rowSums(C^2))
            R = rowSums(exp(-D / 20))
        """,
        peers={"numpy": lambda X, C: kernel_rows(np, X, C), "jax": lambda X, C: kernel_rows(jnp, X, C)},
        reach=1.2,
        flops=lambda n, m, d: n * m * (2 * d + 30),
    ),
    Row(
        "kmeans-step",
        what="centroids after one step of k-means",
        sizes=[{"n": 200_000, "d": 20, "k": 10}],
        inputs=lambda random, n, d, k: {"X": random.standard_normal((n, d)), "C": random.standard_normal((k, d))},
        dml="""
            D = -2 * (X %*% t(C)) + t(rowSums(C^2))
            P = D <= rowMins(D)
            P = P / rowSums(P)
            R = (t(P) %*% X) / t(colSums(P))
        """,
        peers={"numpy": lambda X, C: kmeans_step(np, X, C), "jax": lambda X, C: kmeans_step(jnp, X, C)},
        reach=1.2,
        flops=lambda n, d, k: 4 * n * d * k,
        bytes=lambda n, d: 8 * n * d,
    ),
]


def attention(np, Q, K, V):
    S = Q @ K.T / 8
    E = np.exp(S - S.max(axis=1, keepdims=True))
    return (E / E.sum(axis=1, keepdims=True)) @ V


def kernel_rows(np, X, C):
    D = (X**2).sum(axis=1, keepdims=True) - 2 * (X @ C.T) + (C**2).sum(axis=1)
    return np.exp(-D / 20).sum(axis=1)


def kmeans_step(np, X, C):
    D = -2 * (X @ C.T) + (C**2).sum(axis=1)
    P = (D <= D.min(axis=1, keepdims=True)).astype(float)
    P = P / P.sum(axis=1, keepdims=True)
    return (P.T @ X) / P.sum(axis=0)[:, None]
