"""Clusters, components and factors."""

import numpy as np

from bench_learn_rows import DENSE, SHAPES, SPARSE, TALL, TINY, WIDE, Row
from makers import alike, blocks, mllib

RATING_ITERATIONS = 10


def inertia(model, X, y, shape):
    """Of the centres that were found, whichever way a library sums up."""
    centres = np.asarray(model.cluster_centers_, dtype=np.float64)
    lengths = np.sum(centres**2, axis=1)
    total = 0.0
    for _, block in blocks(X):
        own = np.asarray(block.multiply(block).sum(axis=1)).ravel() if hasattr(block, "tocsr") else np.einsum("ij,ij->i", block, block)
        total += np.sum(own + np.min(lengths - 2 * np.asarray(block @ centres.T), axis=1))
    return float(total)


def captured(model, X, y, shape):
    """Minus the squares that the components keep."""
    return -float(np.sum(np.asarray(model.singular_values_) ** 2))


def unlikely(model, X, y, shape):
    return -float(np.mean([model.score(block) for _, block in blocks(X)]))


def apart(model, X, y, shape):
    return float(model.reconstruction_err_)


def rated(users, items, X):
    """The objective of implicit ratings without a penalty: cells that are not stored are zeros."""
    gram = (users.T @ users) * (items.T @ items)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    total = float(gram.sum())
    for start in range(0, X.nnz, 2_000_000):
        part = slice(start, start + 2_000_000)
        seen = np.einsum("ij,ij->i", users[rows[part]], items[X.indices[part]])
        total += float(np.sum((1 + X.data[part]) * (1 - seen) ** 2 - seen**2))
    return total


def of_ratings(model, X, y, shape):
    if hasattr(model, "user_factors_"):
        return rated(model.user_factors_, model.item_factors_, X)
    # implicit was given confidences, which are one more.
    values = X.copy()
    values.data = values.data - 1
    return rated(np.float64(model.user_factors), np.float64(model.item_factors), values)


class Implicit:
    """The fit of the library implicit, with the call that the others have."""

    def __init__(self):
        from implicit.cpu.als import AlternatingLeastSquares

        self.model = AlternatingLeastSquares(10, regularization=0.0, dtype=np.float64, iterations=RATING_ITERATIONS, num_threads=2, random_state=0)

    def fit(self, X, y=None):
        self.model.fit(X, show_progress=False)
        return self.model


def confident(X):
    """As implicit's users have it: cells are confidences, which the others make of ratings by adding one."""
    import scipy.sparse

    return scipy.sparse.csr_matrix((X.data + 1, X.indices, X.indptr), X.shape)


def ours(shape):
    from fulgurite.learn import ALS

    return ALS(10, reg_param=0.0, max_iter=RATING_ITERATIONS, implicit=True, random_state=0)


def not_negative(X):
    return X if hasattr(X, "tocsr") else np.abs(X, out=X)


def components(shape):
    return min(10, shape.columns - 1)


ROWS = [
    Row(
        "kmeans",
        "KMeans(8, n_init=1)",
        SHAPES,
        alike("cluster", "KMeans", intel=True, n_clusters=8, n_init=1, random_state=0) | {"mllib": mllib("KMeans", k=8, maxIter=300, tol=1e-4, seed=0)},
        objective=inertia,
    ),
    Row(
        "mini-batch-kmeans",
        "MiniBatchKMeans(8, n_init=1)",
        SHAPES,
        alike("cluster", "MiniBatchKMeans", n_clusters=8, n_init=1, random_state=0),
        objective=inertia,
    ),
    Row(
        "gaussian-mixture",
        "GaussianMixture(4, max_iter=10)",
        (TALL, WIDE, TINY),
        alike("mixture", "GaussianMixture", n_components=4, max_iter=10, random_state=0) | {"mllib": mllib("GaussianMixture", k=4, maxIter=10, seed=0)},
        objective=unlikely,
    ),
    Row(
        "pca",
        "PCA(10)",
        (*DENSE, TINY),
        alike("decomposition", "PCA", intel=True, n_components=components) | {"mllib": mllib("PCA", k=components)},
        objective=captured,
    ),
    Row(
        "truncated-svd",
        "TruncatedSVD(10)",
        (*DENSE, TINY),
        alike("decomposition", "TruncatedSVD", n_components=components, random_state=0),
        objective=captured,
    ),
    Row(
        "nmf",
        'NMF(10, init="random", max_iter=20)',
        SHAPES,
        alike("decomposition", "NMF", n_components=components, init="random", max_iter=20, random_state=0),
        objective=apart,
        prepare=not_negative,
    ),
    Row(
        "standard-scaler",
        "StandardScaler()",
        SHAPES,
        alike("preprocessing", "StandardScaler", with_mean=lambda shape: shape.stored is None)
        | {"mllib": mllib("StandardScaler", withMean=lambda shape: shape.stored is None)},
        seen=lambda model: [model.var_],
    ),
    Row(
        "als",
        "ALS(10, reg_param=0, implicit=True)",
        (SPARSE,),
        {
            "fulgurite": ours,
            "implicit": lambda shape: Implicit(),
            "mllib": mllib("ALS", rank=10, maxIter=RATING_ITERATIONS, regParam=0.0, implicitPrefs=True, alpha=1.0, seed=0),
        },
        objective=of_ratings,
        forms={"implicit": confident},
    ),
]
