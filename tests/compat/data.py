"""Generated inputs: the same on every machine and in every version of NumPy, as its old generator is frozen."""

import numpy as np


def rng(seed):
    return np.random.RandomState(seed)


def uniform(rows, cols, seed, low=0.0, high=1.0, digits=4):
    """Rounded to a few digits, so that files are short and sums differ little between orders."""
    return np.round(rng(seed).uniform(low, high, (rows, cols)), digits)


def normal(rows, cols, seed, mean=0.0, deviation=1.0, digits=4):
    return np.round(rng(seed).normal(mean, deviation, (rows, cols)), digits)


def integers(rows, cols, seed, low, high):
    """From low to high, both included; each column has `high` at least once."""
    found = rng(seed).randint(low, high + 1, (rows, cols)).astype(float)
    found[0, :] = high
    return found


def sparse(rows, cols, seed, density, low=0.5, high=5.0, digits=3):
    generator = rng(seed)
    values = np.round(generator.uniform(low, high, (rows, cols)), digits)
    return np.where(generator.uniform(size=(rows, cols)) < density, values, 0.0)


def regression(rows=120, cols=5, seed=1, noise=0.3):
    X = normal(rows, cols, seed)
    weights = np.arange(1, cols + 1) / 2 * np.where(np.arange(cols) % 2, -1, 1)
    y = np.round(X @ weights + 1.5 + rng(seed + 100).normal(0, noise, rows), 4)
    return X, y[:, None]


def clusters(rows=120, cols=3, k=3, seed=3, spread=0.4):
    """Well separated groups, so that rounding moves no row to another one; and the group of each row, from 1."""
    generator = rng(seed)
    centers = generator.uniform(-1, 1, (k, cols)) * 2 + np.arange(k)[:, None] * 6
    label = np.arange(rows) % k
    X = np.round(centers[label] + generator.normal(0, spread, (rows, cols)), 4)
    return X, (label + 1.0)[:, None]


def classes(rows=150, cols=4, k=3, seed=5, spread=1.2):
    """Overlapping groups."""
    generator = rng(seed)
    centers = generator.normal(0, 2, (k, cols))
    label = np.arange(rows) % k
    X = np.round(centers[label] + generator.normal(0, spread, (rows, cols)), 4)
    return X, (label + 1.0)[:, None]


def binary(rows=120, cols=4, seed=7):
    """With labels -1 and 1."""
    X, y = classes(rows, cols, 2, seed)
    return X, np.where(y == 1, -1.0, 1.0)


def missing(matrix, seed, share=0.1, columns=None):
    """NaN in some cells of the columns."""
    generator = rng(seed)
    hit = generator.uniform(size=matrix.shape) < share
    if columns is not None:
        keep = np.zeros(matrix.shape[1], bool)
        keep[list(columns)] = True
        hit &= keep
    return np.where(hit, np.nan, matrix)


def recoded(rows=200, domains=(3, 4, 2, 5), seed=11):
    """Categories from 1, and labels that depend on two of them."""
    generator = rng(seed)
    X = np.column_stack([generator.randint(1, size + 1, rows) for size in domains]).astype(float)
    for column, size in enumerate(domains):
        X[:size, column] = np.arange(1, size + 1)
    y = 1.0 + ((X[:, 0] > 1) & (X[:, 1] <= 2)).astype(float)
    flip = generator.uniform(size=rows) < 0.08
    return X, np.where(flip, 3 - y, y)[:, None]


def graph(nodes=20, seed=13, density=0.15, groups=1, weighted=False):
    """A symmetric adjacency matrix in which each of the groups is connected."""
    generator = rng(seed)
    G = np.zeros((nodes, nodes))
    group = np.arange(nodes) * groups // nodes
    for i in range(nodes):
        for j in range(i + 1, nodes):
            if group[i] == group[j] and (j == i + 1 or generator.uniform() < density):
                G[i, j] = G[j, i] = generator.randint(1, 9) if weighted else 1
    return G


def image(rows=12, cols=10, seed=17):
    return rng(seed).randint(0, 256, (rows, cols)).astype(float)


def survival(rows=100, seed=19, groups=2):
    """Time, event, a group, a stratum, a covariate."""
    generator = rng(seed)
    group = generator.randint(1, groups + 1, rows)
    covariate = np.round(generator.normal(0, 1, rows), 3)
    time = np.round(generator.exponential(10, rows) / np.exp(0.5 * covariate) / group) + 1
    event = (generator.uniform(size=rows) < 0.7).astype(float)
    return np.column_stack([time, event, group, generator.randint(1, 3, rows), covariate])


def series(length=80, seed=23):
    generator = rng(seed)
    noise = generator.normal(0, 1, length)
    values = np.zeros(length)
    for i in range(1, length):
        values[i] = 0.6 * values[i - 1] + noise[i]
    return np.round(values + 2 + np.sin(np.arange(length) / 4), 4)[:, None]
