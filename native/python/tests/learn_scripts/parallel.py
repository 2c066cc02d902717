"""Processes of joblib: searches and functions that fit."""

import os

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


def fitted(model, X, y, seed):
    rows = np.random.default_rng(seed).integers(0, len(y), len(y))
    return os.getpid(), clone(model).fit(X[rows], y[rows])


if __name__ == "__main__":
    X, y = load_wine(return_X_y=True)
    pairs = Parallel(n_jobs=2)(delayed(fitted)(Ridge(), X, y, seed) for seed in range(4))
    pipe = make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8))
    search = GridSearchCV(pipe, {"logisticregression__C": [0.1, 1.0]}, cv=3, n_jobs=2).fit(X, y)
    bags = BaggingClassifier(
        LogisticRegression(tol=1e-8, max_iter=10000), 4, n_jobs=2, random_state=0
    )
    models = [model for _, model in pairs]
    results = {
        "elsewhere": all(process != os.getpid() for process, _ in pairs),
        "coefs": np.array([model.coef_ for model in models]),
        "scores": search.cv_results_["mean_test_score"],
        "bags": bags.fit(StandardScaler().fit_transform(X), y).predict_proba(X[:5]),
    }
    by_ours = [hasattr(model, "report_") for model in models]
