"""The patterns of RESULTS.md, as a NumPy user writes them."""

import numpy as np
import scipy.sparse
from bench_python_programs import Program
from bench_work_rows import Later

kernels, numexpr = Later("kernels"), Later("numexpr")

DENSE = {"n": 20_000, "m": 1000}
CELLS = {"n": 10_000, "m": 1000}
SPARSE = {"n": 100_000, "m": 1000, "density": 0.01}
GRAPH = {"n": 10_000, "m": 10_000, "density": 0.01}

NO_SPARSE = {"jax": "its products of CSR are experimental", "torch": "its compiler takes no sparse arrays"}


def matrix(random, n, m):
    return random.uniform(0.5, 1.5, (n, m))


def csr(random, n, m, density):
    """Cells from 0.5 to 1.5."""
    cells = scipy.sparse.random_array((n, m), density=density, format="csr", rng=random)
    cells.data += 0.5
    return cells


def three(random, n, m):
    return {name: matrix(random, n, m) for name in "XYZ"}


def three_sparse(random, n, m, density):
    return {name: csr(random, n, m, density) for name in "XYZ"}


def chain(columns):
    return lambda random, n, m: {"X": matrix(random, n, m), "V": matrix(random, m, columns)}


def sparse_chain(columns):
    return lambda random, n, m, density: {"X": csr(random, n, m, density), "V": matrix(random, m, columns)}


def mlrinner(xp, X, V, P):
    P = P[:, : V.shape[1]]
    Q = P * (X @ V)
    return X.T @ (Q - P * xp.sum(Q, axis=1, keepdims=True))


def rowchain(xp, X, steps):
    Y = X / xp.sum(X, axis=1, keepdims=True)
    for step in range(1, steps + 1):
        Y = Y * (1 + step / 1000) if step % 2 else xp.maximum(Y, step / 1e6)
    return xp.sum(Y)


def dots(X, U, V):
    """Of the rows of U and V at each non-zero of X."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.einsum("ij,ij->i", U[rows], V[X.indices])


def of_pattern(values, X):
    """X's pattern with other values."""
    return scipy.sparse.csr_array((values, X.indices, X.indptr), X.shape)


def factors(rank):
    return lambda random, n, m, density: {"X": csr(random, n, m, density), "U": matrix(random, n, rank), "V": matrix(random, m, rank)}


def of_cells(name, what, low, high, run, expression, numba):
    """A sum over a function of cells."""
    return Program(
        name,
        what=what,
        sizes=CELLS,
        inputs=lambda random, n, m: {"X": random.uniform(low, high, (n, m))},
        run=run,
        forms={"numexpr": lambda X: np.sum(numexpr.evaluate(expression)), "numba": numba},
    )


PROGRAMS = [
    Program(
        "sum3",
        what="sum(X * Y * Z)",
        sizes=DENSE,
        inputs=three,
        run=lambda xp, X, Y, Z: xp.sum(X * Y * Z),
        forms={"numexpr": lambda X, Y, Z: np.sum(numexpr.evaluate("X * Y * Z")), "numba": lambda X, Y, Z: kernels.sum3(X, Y, Z)},
    ),
    Program(
        "sum3-sparse",
        what="sum(X * Y * Z), CSR",
        sizes=SPARSE,
        inputs=three_sparse,
        run=lambda xp, X, Y, Z: (X * Y * Z).sum(),
        without=NO_SPARSE,
    ),
    Program(
        "magg",
        what="sum(X * Y), sum(X * Z)",
        sizes=DENSE,
        inputs=three,
        run=lambda xp, X, Y, Z: xp.stack([xp.sum(X * Y), xp.sum(X * Z)]),
        forms={"numba": lambda X, Y, Z: kernels.magg(X, Y, Z)},
    ),
    Program(
        "mvchain",
        what="X.T @ (X @ v)",
        sizes=DENSE,
        inputs=lambda random, n, m: {"X": matrix(random, n, m), "v": random.uniform(0.5, 1.5, m)},
        run=lambda xp, X, v: X.T @ (X @ v),
    ),
    Program(
        "mvchain-sparse",
        what="X.T @ (X @ v), CSR",
        sizes=SPARSE,
        inputs=lambda random, n, m, density: {"X": csr(random, n, m, density), "v": random.uniform(0.5, 1.5, m)},
        run=lambda xp, X, v: X.T @ (X @ v),
        without=NO_SPARSE,
    ),
    *(
        Program(f"mmchain{columns}", what=f"X.T @ (X @ V), {columns} columns", sizes=DENSE, inputs=chain(columns), run=lambda xp, X, V: X.T @ (X @ V))
        for columns in [2, 4, 8]
    ),
    Program("mmchain2-sparse", what="X.T @ (X @ V), 2 columns, CSR", sizes=SPARSE, inputs=sparse_chain(2), run=lambda xp, X, V: X.T @ (X @ V), without=NO_SPARSE),
    Program(
        "mlrinner",
        what="inner loop of logistic regression, 4 classes",
        sizes=DENSE,
        inputs=lambda random, n, m: {"X": matrix(random, n, m), "V": matrix(random, m, 4), "P": matrix(random, n, 5)},
        run=mlrinner,
    ),
    Program(
        "mlrinner-sparse",
        what="inner loop of logistic regression, 4 classes, CSR",
        sizes=SPARSE,
        inputs=lambda random, n, m, density: {"X": csr(random, n, m, density), "V": matrix(random, m, 4), "P": matrix(random, n, 5)},
        run=mlrinner,
        without=NO_SPARSE,
    ),
    Program(
        "outer",
        what="sum(X * log(U @ V.T + 1e-15)), rank 100",
        sizes={"n": 5000, "m": 5000},
        inputs=lambda random, n, m: {"X": matrix(random, n, m), "U": matrix(random, n, 100), "V": matrix(random, m, 100)},
        run=lambda xp, X, U, V: xp.sum(X * xp.log(U @ V.T + 1e-15)),
    ),
    Program(
        "outer-sparse",
        what="sum(X * log(U @ V.T + 1e-15)), rank 100, CSR",
        sizes=GRAPH,
        inputs=factors(100),
        run=lambda xp, X, U, V: (X * xp.log(U @ V.T + 1e-15)).sum(),
        forms={"numpy": lambda X, U, V: X.data @ np.log(dots(X, U, V) + 1e-15)},
        without=NO_SPARSE,
    ),
    Program(
        "alsupd",
        what="((X != 0) * (U @ V.T)) @ V + 1e-6 * U * r, rank 20, CSR",
        sizes=GRAPH,
        inputs=lambda random, n, m, density: (given := factors(20)(random, n, m, density)) | {"r": np.diff(given["X"].indptr)[:, None].astype(float)},
        run=lambda xp, X, U, V, r: ((X != 0) * (U @ V.T)) @ V + 1e-6 * U * r,
        forms={"numpy": lambda X, U, V, r: of_pattern(dots(X, U, V), X) @ V + 1e-6 * U * r},
        without=NO_SPARSE,
    ),
    Program(
        "rowchain",
        what="10 operators on rows of X / sum(X, axis=1)",
        sizes=DENSE | {"steps": 10},
        inputs=lambda random, n, m: {"X": matrix(random, n, m)},
        run=rowchain,
        forms={"numba": lambda X, steps: kernels.rowchain(X, steps)},
    ),
    of_cells("exp", "sum(exp(0.5 * X - 1))", -5, 5, lambda xp, X: xp.sum(xp.exp(0.5 * X - 1)), "exp(0.5 * X - 1)", lambda X: kernels.exp(X)),
    of_cells("log", "sum(X * log(X))", 0.001, 1000, lambda xp, X: xp.sum(X * xp.log(X)), "X * log(X)", lambda X: kernels.log(X)),
    of_cells("sigmoid", "sum(X / (1 + exp(-X)))", -10, 10, lambda xp, X: xp.sum(X * (1 / (1 + xp.exp(-X)))), "X * (1 / (1 + exp(-X)))", lambda X: kernels.sigmoid(X)),
    of_cells("tanh", "sum(1 - tanh(X)**2)", -3, 3, lambda xp, X: xp.sum(1 - xp.tanh(X) ** 2), "1 - tanh(X)**2", lambda X: kernels.tanh(X)),
    of_cells("pow", "sum((X + 1)**1.7)", 0.1, 10, lambda xp, X: xp.sum((X + 1) ** 1.7), "(X + 1)**1.7", lambda X: kernels.power(X)),
]
