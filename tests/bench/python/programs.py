"""Small programs of users: statistics, machine learning, time series. All are written for the array API standard."""

import math

import numpy as np
from bench_python_programs import Program
from bench_work_rows import Later

kernels, numexpr = Later("kernels"), Later("numexpr")
jax = Later("jax")


def normal(*names):
    """Standard normal matrices `n` x `m`."""
    return lambda random, n, m: {name: random.standard_normal((n, m)) for name in names}


def softmax_cross_entropy(xp, X, W, Y):
    """The loss, and its gradient by W; Y has a one in each row."""
    scores = X @ W
    scores = scores - xp.max(scores, axis=1, keepdims=True)
    exponentials = xp.exp(scores)
    totals = xp.sum(exponentials, axis=1, keepdims=True)
    loss = xp.mean(xp.log(totals)) - xp.sum(Y * scores) / X.shape[0]
    return loss, X.T @ (exponentials / totals - Y) / X.shape[0]


def classes(random, n, m, k):
    return {"X": random.standard_normal((n, m)), "W": random.standard_normal((m, k)) / 10, "Y": np.eye(k)[random.integers(k, size=n)]}


def layer_norm(xp, X, gain, shift):
    mean = xp.mean(X, axis=1, keepdims=True)
    variance = xp.var(X, axis=1, keepdims=True)
    return (X - mean) / xp.sqrt(variance + 1e-5) * gain + shift


def huber(xp, predicted, actual):
    far = xp.abs(predicted - actual)
    return xp.mean(xp.where(far <= 1, 0.5 * far * far, far - 0.5))


def squared_distances(xp, X, C):
    return xp.sum(X * X, axis=1)[:, None] - 2 * (X @ C.T) + xp.sum(C * C, axis=1)


def standardised_gram(xp, X):
    Z = (X - xp.mean(X, axis=0)) / xp.std(X, axis=0)
    return Z.T @ Z / X.shape[0]


def logsumexp(xp, X):
    largest = xp.max(X, axis=1)
    return largest + xp.log(xp.sum(xp.exp(X - largest[:, None]), axis=1))


def smoothing(xp, X, share):
    level = X[0, :]
    for t in range(1, X.shape[0]):
        level = share * X[t, :] + (1 - share) * level
    return level


def mahalanobis(xp, X, mean, inverse):
    D = X - mean
    return xp.sqrt(xp.sum((D @ inverse) * D, axis=1))


def density(xp, points, sample, width):
    far = (points[:, None] - sample[None, :]) / width
    return xp.mean(xp.exp(-0.5 * far * far), axis=1) / (width * math.sqrt(2 * math.pi))


def cosine(xp, queries, items):
    queries = queries / xp.sqrt(xp.sum(queries * queries, axis=1, keepdims=True))
    items = items / xp.sqrt(xp.sum(items * items, axis=1, keepdims=True))
    return queries @ items.T


def cosine_top(xp, queries, items, k):
    """Where the `k` most similar items of each query are, the best one first."""
    return xp.argsort(-cosine(xp, queries, items), axis=1)[:, :k]


def cosine_top_numpy(queries, items, k):
    """The same as NumPy's users write it, for whose partition the standard has no name."""
    similar = cosine(np, queries, items)
    top = np.argpartition(-similar, k, axis=1)[:, :k]
    return np.take_along_axis(top, np.argsort(-np.take_along_axis(similar, top, axis=1), axis=1), axis=1)


def poisson_irls(xp, X, y, steps):
    weights = xp.zeros(X.shape[1])
    for _ in range(steps):
        linear = X @ weights
        mean = xp.exp(linear)
        working = linear + (y - mean) / mean
        weights = xp.linalg.solve(X.T @ (X * mean[:, None]), X.T @ (mean * working))
    return weights


def counts(random, n, m):
    X = random.standard_normal((n, m)) / math.sqrt(m)
    return {"X": X, "y": random.poisson(np.exp(X @ random.standard_normal(m))).astype(float)}


def nmf_update(xp, V, W, H):
    H = H * (W.T @ V) / (W.T @ W @ H + 1e-9)
    W = W * (V @ H.T) / (W @ (H @ H.T) + 1e-9)
    return W, H


def power_iteration(xp, A, v, steps):
    for _ in range(steps):
        v = A @ v
        v = v / xp.sqrt(xp.sum(v * v))
    return v, xp.sum(v * (A @ v))


def correlation(xp, X):
    D = X - xp.mean(X, axis=0)
    covariance = D.T @ D
    deviation = xp.sqrt(xp.sum(D * D, axis=0))
    return covariance / deviation[:, None] / deviation[None, :]


def quantile_clip(xp, x):
    """Clips at the hundredth and the ninety-ninth hundredth."""
    ordered = xp.sort(x)
    low, high = ordered[x.shape[0] // 100], ordered[x.shape[0] - x.shape[0] // 100]
    return xp.clip(x, low, high)


def quantile_clip_numpy(x):
    at = len(x) // 100
    low, high = np.partition(x, [at, len(x) - at])[[at, len(x) - at]]
    return np.clip(x, low, high)


def ridge(xp, X, y):
    return xp.linalg.solve(X.T @ X + 0.1 * xp.eye(X.shape[1]), X.T @ y)


def pca(xp, X, k):
    """Coordinates in the plane of most variance."""
    D = X - xp.mean(X, axis=0)
    _, directions = xp.linalg.eigh(D.T @ D / (X.shape[0] - 1))
    return D @ directions[:, -k:]


def with_trend(random, n, m):
    """Columns whose variances differ."""
    return {"X": random.standard_normal((n, m)) * (1 + np.arange(m))}


def kmeans_step(xp, X, C):
    """Means of the rows that are nearest to each centre."""
    distances = xp.sum(C * C, axis=1) - 2 * (X @ C.T)
    nearest = xp.asarray(distances <= xp.min(distances, axis=1, keepdims=True), dtype=xp.float64)
    return (nearest.T @ X) / xp.sum(nearest, axis=0)[:, None]


def group_means(xp, X, labels, groups):
    members = xp.asarray(labels[:, None] == xp.arange(groups), dtype=xp.float64)
    return (members.T @ X) / xp.sum(members, axis=0)[:, None]


def group_means_numpy(X, labels, groups):
    """By sorted rows: the product with ones takes longer."""
    order = np.argsort(labels, kind="stable")
    sums = np.add.reduceat(X[order], np.searchsorted(labels[order], np.arange(groups)), axis=0)
    return sums / np.bincount(labels, minlength=groups)[:, None]


def rolling_means(xp, x, window):
    sums = xp.cumulative_sum(x)
    return (sums[window:] - sums[:-window]) / window


def columns(*names):
    return lambda random, n: {name: random.standard_normal(n) for name in names}


PROGRAMS = [
    Program("softmax-cross-entropy", what="loss and gradient", sizes={"n": 200_000, "m": 64, "k": 10}, inputs=classes, run=softmax_cross_entropy),
    Program(
        "layer-norm",
        what="rows to mean 0 and deviation 1, scaled and shifted",
        sizes={"n": 50_000, "m": 256},
        inputs=lambda random, n, m: {"X": random.standard_normal((n, m)), "gain": random.random(m), "shift": random.random(m)},
        run=layer_norm,
        forms={"numba": lambda X, gain, shift: kernels.layer_norm(X, gain, shift)},
    ),
    Program(
        "huber",
        what="mean Huber loss",
        sizes={"n": 10_000_000},
        inputs=columns("predicted", "actual"),
        run=huber,
        forms={
            "numexpr": lambda predicted, actual: np.mean(
                numexpr.evaluate("where(far <= 1, 0.5 * far * far, far - 0.5)", {"far": numexpr.evaluate("abs(predicted - actual)")})
            ),
            "numba": lambda predicted, actual: kernels.huber(predicted, actual),
        },
    ),
    Program(
        "nearest-centre",
        what="pairwise distances, argmin",
        sizes={"n": 100_000, "m": 16, "k": 100},
        inputs=lambda random, n, m, k: {"X": random.standard_normal((n, m)), "C": random.standard_normal((k, m))},
        run=lambda xp, X, C: xp.argmin(squared_distances(xp, X, C), axis=1),
        forms={"numba": lambda X, C: kernels.nearest(X, C)},
    ),
    Program("standardised-gram", what="Z.T @ Z of standardised columns", sizes={"n": 200_000, "m": 50}, inputs=normal("X"), run=standardised_gram),
    Program(
        "logsumexp",
        what="log of sums of exponentials of rows",
        sizes={"n": 100_000, "m": 100},
        inputs=normal("X"),
        run=logsumexp,
        forms={"numba": lambda X: kernels.logsumexp(X)},
    ),
    Program(
        "exponential-smoothing",
        what="last level of n series of m steps",
        sizes={"n": 50_000, "m": 100, "share": 0.3},
        inputs=lambda random, n, m: {"X": random.standard_normal((m, n))},
        run=smoothing,
        forms={"numba": lambda X, share: kernels.smoothing(X, share)},
    ),
    Program(
        "mahalanobis",
        what="distances of rows to a mean",
        sizes={"n": 200_000, "m": 32},
        inputs=lambda random, n, m: {"X": random.standard_normal((n, m)), "mean": random.standard_normal(m), "inverse": np.eye(m) + 0.01},
        run=mahalanobis,
        forms={"numba": lambda X, mean, inverse: kernels.mahalanobis(X, mean, inverse)},
    ),
    Program(
        "kernel-density",
        what="Gaussian densities at n points of a sample of m",
        sizes={"n": 5000, "m": 5000, "width": 0.2},
        inputs=lambda random, n, m: {"points": random.standard_normal(n), "sample": random.standard_normal(m)},
        run=density,
        forms={
            "numexpr": lambda points, sample, width: np.mean(numexpr.evaluate("exp(-0.5 * ((p - s) / width)**2)", {"p": points[:, None], "s": sample, "width": width}), axis=1)
            / (width * math.sqrt(2 * math.pi)),
            "numba": lambda points, sample, width: kernels.density(points, sample, width),
        },
    ),
    Program(
        "cosine-top",
        what="the k most similar of n items for each of q queries",
        sizes={"n": 20_000, "q": 100, "m": 64, "k": 10},
        inputs=lambda random, n, q, m: {"queries": random.standard_normal((q, m)), "items": random.standard_normal((n, m))},
        run=cosine_top,
        forms={
            "fulgurite": cosine_top_numpy,
            "fused": cosine_top_numpy,
            "numpy": cosine_top_numpy,
            "jax": lambda queries, items, k: jax.lax.top_k(cosine(jax.numpy, queries, items), k)[1],
        },
    ),
    Program("poisson-irls", what="5 steps of a Poisson regression", sizes={"n": 200_000, "m": 20, "steps": 5}, inputs=counts, run=poisson_irls, tolerance=1e-6),
    Program(
        "nmf-update",
        what="multiplicative update of both factors, rank k",
        sizes={"n": 4000, "m": 2000, "k": 20},
        inputs=lambda random, n, m, k: {"V": random.random((n, m)), "W": random.random((n, k)), "H": random.random((k, m))},
        run=nmf_update,
    ),
    Program(
        "power-iteration",
        what="the largest eigenvalue, its vector",
        sizes={"n": 3000, "steps": 20},
        inputs=lambda random, n: {"A": (A := random.random((n, n))) + A.T, "v": random.random(n)},
        run=power_iteration,
    ),
    Program("correlation", what="correlations of columns", sizes={"n": 200_000, "m": 50}, inputs=normal("X"), run=correlation),
    Program(
        "quantile-clip",
        what="clips at two quantiles",
        sizes={"n": 2_000_000},
        inputs=columns("x"),
        run=quantile_clip,
        forms={"numpy": quantile_clip_numpy},
    ),
    Program(
        "ridge",
        what="solves (X.T @ X + 0.1 I) w = X.T @ y",
        sizes={"n": 500_000, "m": 50},
        inputs=lambda random, n, m: {"X": random.standard_normal((n, m)), "y": random.standard_normal(n)},
        run=ridge,
    ),
    Program(
        "pca",
        what="projection on k directions of most variance",
        sizes={"n": 200_000, "m": 50, "k": 2},
        inputs=with_trend,
        run=pca,
        # Directions have no sign.
        seen=lambda projected: np.abs(projected),
        tolerance=1e-6,
    ),
    Program(
        "kmeans-step",
        what="means of the rows nearest to each of k centres",
        sizes={"n": 200_000, "m": 16, "k": 10},
        inputs=lambda random, n, m, k: {"X": random.standard_normal((n, m)), "C": random.standard_normal((k, m))},
        run=kmeans_step,
    ),
    Program(
        "group-means",
        what="means of rows by their labels",
        sizes={"n": 500_000, "m": 10, "groups": 20},
        inputs=lambda random, n, m, groups: {"X": random.standard_normal((n, m)), "labels": random.integers(groups, size=n)},
        run=group_means,
        forms={"numpy": group_means_numpy, "numba": lambda X, labels, groups: kernels.group_means(X, labels, groups)},
    ),
    Program(
        "rolling-means",
        what="means of windows of a series",
        sizes={"n": 5_000_000, "window": 50},
        inputs=columns("x"),
        run=rolling_means,
        forms={"numba": lambda x, window: kernels.rolling_means(x, window)},
    ),
]
