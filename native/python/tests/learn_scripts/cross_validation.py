"""Scores of several models by cross-validation, with weights passed on by metadata routing."""

import numpy as np
from sklearn import config_context
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    StratifiedKFold,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

X, y = load_wine(return_X_y=True)
cv = StratifiedKFold(5, shuffle=True, random_state=0)
results = {}
for model in (GaussianNB(), LinearSVC(tol=1e-8), LogisticRegression(tol=1e-8)):
    pipe = make_pipeline(StandardScaler(), model)
    results[type(model).__name__] = cross_val_score(pipe, X, y, cv=cv)
results["predicted"] = cross_val_predict(GaussianNB(), X, y, cv=cv)
weights = np.random.default_rng(0).integers(1, 4, len(y))
with config_context(enable_metadata_routing=True):
    routed = LogisticRegression(tol=1e-8, max_iter=5000).set_fit_request(sample_weight=True)
    routed.set_score_request(sample_weight=True)
    pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), routed)
    results["routed"] = cross_validate(pipe, X, y, cv=cv, params={"sample_weight": weights})[
        "test_score"
    ]
