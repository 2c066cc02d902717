"""A search over parameters, some of which ours does not have: the choice falls at each fit."""

from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

X, y = load_diabetes(return_X_y=True)
pipe = Pipeline([("scale", StandardScaler()), ("model", Ridge())])
grid = [
    {"model__alpha": [0.1, 1.0, 10.0], "model__positive": [False, True]},
    {"model": [LinearRegression()], "model__fit_intercept": [False, True]},
]
search = GridSearchCV(pipe, grid, cv=4, scoring="r2").fit(X, y)
results = {
    "scores": search.cv_results_["mean_test_score"],
    "best": sorted(search.best_params_.items(), key=str),
    "prediction": search.predict(X[:5]),
}
