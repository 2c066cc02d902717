"""Systems of equations and factorizations."""

import numpy as np
import scipy.linalg
from bench_work_rows import Row

SIZES = {"sizes": [{"n": 1000}, {"n": 2000}], "grows": {"n": 3}, "reach": 0.95}


def general(random, n):
    return {"A": random.standard_normal((n, n)) + n * np.eye(n), "b": random.standard_normal((n, 1))}


def symmetric(random, n):
    A = random.standard_normal((n, n))
    return {"A": A + A.T}


ROWS = [
    Row(
        "solve",
        what="solve(A, b)",
        **SIZES,
        inputs=general,
        dml="R = solve(A, b)",
        peers={"numpy": lambda A, b: np.linalg.solve(A, b), "scipy": lambda A, b: scipy.linalg.solve(A, b)},
        flops=lambda n: 2 * n**3 / 3,
    ),
    Row(
        "inv",
        what="inv(A)",
        **SIZES,
        inputs=general,
        dml="R = inv(A)",
        peers={"numpy": lambda A: np.linalg.inv(A), "scipy": lambda A: scipy.linalg.inv(A)},
        flops=lambda n: 2 * n**3,
    ),
    # Vectors have two signs: the values are compared, and the vectors by what they give back.
    Row(
        "eigen",
        what="eigen(A), A symmetric",
        **SIZES,
        inputs=symmetric,
        dml="[w, V] = eigen(A)",
        outputs=("w", "V"),
        seen=lambda w, V: [w, (V * w.ravel()) @ V.T],
        peers={"numpy": lambda A: np.linalg.eigh(A), "scipy": lambda A: scipy.linalg.eigh(A)},
    ),
    Row(
        "svd",
        what="svd(A)",
        **SIZES,
        inputs=lambda random, n: {"A": random.standard_normal((n, n))},
        dml="""
            [U, S, V] = svd(A)
            s = diag(S)
        """,
        outputs=("U", "s", "V"),
        seen=lambda U, s, V: [s, (U * s.ravel()) @ V.T],
        peers={"numpy": lambda A: numpy_svd(A)},
    ),
]


def numpy_svd(A):
    U, s, V = np.linalg.svd(A, full_matrices=False)
    return U, s, V.T
