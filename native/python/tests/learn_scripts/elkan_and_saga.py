"""Parameters that name another method of the same optimum."""

import warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.decomposition import PCA
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge

warnings.simplefilter("ignore")
X, y = load_iris(return_X_y=True)
Z = (X - X.mean(axis=0)) / X.std(axis=0)
results = {
    "elkan": KMeans(3, algorithm="elkan", n_init=1, random_state=0).fit(X).inertia_,
    "saga": LogisticRegression(solver="saga", tol=1e-10, max_iter=10000).fit(Z, y).coef_,
    "l1": LogisticRegression(solver="saga", l1_ratio=1, tol=1e-10, max_iter=10000)
    .fit(Z, y > 0)
    .coef_,
    "liblinear": LogisticRegression(solver="liblinear", tol=1e-10).fit(Z, y > 1).coef_,
    "full": np.abs(PCA(2, svd_solver="full").fit_transform(X)),
    "cholesky": Ridge(solver="cholesky").fit(Z, y).coef_,
    "sag": Ridge(solver="sag", tol=1e-10, max_iter=10000, random_state=0).fit(Z, y).coef_,
    "lasso": Lasso(0.1, selection="random", tol=1e-10, random_state=0).fit(Z, y).coef_,
    "positive": ElasticNet(0.1, positive=True, tol=1e-10).fit(Z, y).coef_,
}
