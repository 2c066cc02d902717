"""Data and estimators that tests on Spark fit."""

import numpy as np
import pandas as pd

COLUMNS = ["a", "b", "c", "d"]

# Name, parameters, label, weight.
CASES = [
    ("LinearRegression", {}, "target", "w"),
    ("LinearRegression", {"positive": True}, "target", "w"),
    ("Ridge", {"alpha": 2.0}, "target", None),
    ("Lasso", {"alpha": 0.1}, "target", "w"),
    ("ElasticNet", {"alpha": 0.1}, "target", None),
    ("LogisticRegression", {}, "two", None),
    ("LogisticRegression", {"class_weight": "balanced"}, "label", "w"),
    ("LogisticRegression", {"solver": "saga", "l1_ratio": 0.5}, "label", "w"),
    ("PoissonRegressor", {"alpha": 0.1}, "count", "w"),
    ("GammaRegressor", {"alpha": 0.1}, "count", None),
    ("TweedieRegressor", {"alpha": 0.1, "power": 1.5}, "count", None),
    ("LinearSVC", {"class_weight": {"no": 2.0}}, "label", "w"),
    ("LinearSVC", {}, "two", None),
    ("LinearSVC", {"loss": "hinge"}, "label", None),
    ("LinearSVC", {"penalty": "l1"}, "two", "w"),
    ("GaussianNB", {}, "label", "w"),
    ("MultinomialNB", {}, "label", "w"),
    ("KMeans", {"n_clusters": 3, "random_state": 0}, None, "w"),
    ("KMeans", {"n_clusters": 3, "init": "random", "n_init": 2, "random_state": 0}, None, None),
    ("GaussianMixture", {"n_components": 3, "random_state": 0}, None, None),
    (
        "GaussianMixture",
        {
            "n_components": 2,
            "n_init": 2,
            "init_params": "random_from_data",
            "covariance_type": "diag",
            "random_state": 0,
        },
        None,
        None,
    ),
    ("PCA", {"n_components": 2}, None, None),
    ("TruncatedSVD", {"n_components": 2}, None, None),
    ("NMF", {"n_components": 2, "random_state": 0, "max_iter": 1000}, None, None),
    ("StandardScaler", {}, None, "w"),
]


def rows(count=2000):
    """A table with columns of numbers, targets, labels, weights and words."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(3, 4)) * 6
    X = np.abs(rng.normal(size=(count, 4)) + centres[rng.integers(0, 3, count)])
    table = pd.DataFrame(X, columns=COLUMNS)
    table["target"] = X @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=count)
    table["count"] = rng.poisson(np.exp(X[:, 0] / 5 - 1)) + 1.0
    best = np.argmax(X[:, :3] + rng.gumbel(size=(count, 3)), axis=1)
    table["label"] = np.array(["no", "yes", "perhaps"])[best]
    table["two"] = best == 1
    table["w"] = rng.integers(1, 4, size=count).astype(float)
    table["word"] = [f"word {number}" for number in range(count)]
    return table


def arguments(table, y, weight):
    """What a fit in process is given."""
    found = {} if y is None else {"y": table[y]}
    return found if weight is None else {**found, "sample_weight": table[weight]}


def attributes(model):
    """What a fit has found."""
    return {
        name: value
        for name, value in vars(model).items()
        if name.endswith("_") and not name.startswith("_") and name != "report_"
    }
