"""Fits in batches, and fits that go on from the last one."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import ElasticNet, LogisticRegression, PoissonRegressor
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.preprocessing import StandardScaler

X, y = load_digits(return_X_y=True)
scaler, normal, multinomial = StandardScaler(), GaussianNB(), MultinomialNB()
for part in np.array_split(np.arange(len(y)), 5):
    scaler.partial_fit(X[part])
    normal.partial_fit(X[part], y[part], classes=np.arange(10))
    multinomial.partial_fit(X[part], y[part], classes=np.arange(10))
Z = scaler.transform(X)
path = ElasticNet(warm_start=True, l1_ratio=0.9, tol=1e-10, max_iter=10000)
coefs = [path.set_params(alpha=alpha).fit(Z, y).coef_.copy() for alpha in (1.0, 0.3, 0.1)]
counts = PoissonRegressor(warm_start=True, tol=1e-9, max_iter=1000)
warm = [counts.set_params(alpha=alpha).fit(Z, y).coef_.copy() for alpha in (1.0, 0.1)]
model = LogisticRegression(warm_start=True, max_iter=1000, tol=1e-8).fit(Z, y > 4)
results = {
    "means": scaler.mean_,
    "back": scaler.inverse_transform(Z[:5]),
    "normal": normal.predict_proba(X[:50]),
    "multinomial": multinomial.predict_proba(X[:50]),
    "path": np.array(coefs),
    "counts": np.array(warm),
    "again": model.fit(Z, y > 4).coef_,
}
