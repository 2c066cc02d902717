"""Models that are pickled, copied and compared."""

import copy
import io
import pickle

import joblib
import numpy as np
import sklearn.linear_model
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

X, y = load_iris(return_X_y=True)
results = {}
for model in (
    LogisticRegression(tol=1e-8, max_iter=1000),
    Ridge(),
    GaussianNB(),
    StandardScaler(),
):
    name = type(model).__name__
    model.fit(X, y)
    file = io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    made = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load(file)]
    said = "transform" if hasattr(model, "transform") else "predict"
    results[name] = np.array([getattr(each, said)(X) for each in made], dtype=float)
    unfitted = clone(model)
    results[name + " is fitted"] = hasattr(unfitted, "n_features_in_")
    results[name + " repr"] = repr(unfitted)
    results[name + " params"] = sorted(unfitted.get_params().items(), key=str)
    results[name + " weights"] = has_fit_parameter(model, "sample_weight")
    check_is_fitted(model)
results["classes"] = [
    is_classifier(LogisticRegression()),
    is_regressor(Ridge()),
    isinstance(Ridge(), sklearn.linear_model.Ridge),
    isinstance(Ridge(), LogisticRegression),
    issubclass(sklearn.linear_model.LogisticRegressionCV, LogisticRegression),
]
