"""Parameters that ours does not have, or does otherwise."""

import warnings

import numpy as np
from sklearn.datasets import load_iris
from sklearn.decomposition import NMF
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.mixture import GaussianMixture
from sklearn.svm import LinearSVC

warnings.simplefilter("ignore")
X, y = load_iris(return_X_y=True)
multiplied = NMF(2, solver="mu", beta_loss="kullback-leibler", init="random", random_state=0)
weights = multiplied.fit_transform(X)
together = LinearSVC(multi_class="crammer_singer", random_state=0, max_iter=20000)
together.fit(X, y)
begun = GaussianMixture(3, precisions_init=np.stack([np.eye(4)] * 3), random_state=0).fit(X)
positive = LinearRegression(positive=True).fit(X, y)
results = {
    "weights": weights,
    "transformed": multiplied.transform(X[:7]),
    "together": together.coef_,
    # A refit with other parameters is decided anew.
    "apart": together.set_params(multi_class="ovr", dual=False, tol=1e-9).fit(X, y).predict(X),
    "mixture": begun.score(X),
    "positive": positive.coef_,
    "free": positive.set_params(positive=False).fit(X, y).coef_,
    "ridge": Ridge(positive=True, solver="lbfgs").fit(X, y).coef_.round(4),
}
