"""Generalised linear models of insurance claims, with exposures as weights."""

import numpy as np
from sklearn.linear_model import GammaRegressor, PoissonRegressor, TweedieRegressor
from sklearn.metrics import mean_poisson_deviance
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, SplineTransformer, StandardScaler

rng = np.random.default_rng(0)
X = rng.normal(size=(800, 4))
exposure = rng.uniform(0.2, 1.0, 800)
claims = rng.poisson(exposure * np.exp(0.3 * X[:, 0] - 0.2 * X[:, 1]))
cost = rng.gamma(2.0, np.exp(0.1 * X[:, 2])) + 0.01
train, test = train_test_split(np.arange(800), random_state=0)
frequency = make_pipeline(
    FunctionTransformer(lambda X: X[:, :3]),
    SplineTransformer(n_knots=4),
    StandardScaler(),
    PoissonRegressor(alpha=1e-3, tol=1e-9, max_iter=1000),
)
rates = claims / exposure
frequency.fit(X[train], rates[train], poissonregressor__sample_weight=exposure[train])
results = {
    "deviance": mean_poisson_deviance(
        rates[test], frequency.predict(X[test]), sample_weight=exposure[test]
    ),
    "gamma": GammaRegressor(alpha=0.1, tol=1e-9, max_iter=1000).fit(X, cost).coef_,
    "tweedie": TweedieRegressor(power=1.5, tol=1e-9, max_iter=1000).fit(X, claims).coef_,
    "d2": TweedieRegressor(power=0).fit(X, cost).score(X, cost),
}
