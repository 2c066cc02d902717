"""scikit-learn's own classes that use or extend those that are patched."""

import warnings

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import StackingRegressor, VotingClassifier
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import (
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MultiTaskLasso,
    Ridge,
    RidgeClassifier,
    RidgeCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import ComplementNB, GaussianNB
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import LinearSVC

warnings.simplefilter("ignore")
X, y = load_diabetes(return_X_y=True)
Z, c = load_breast_cancer(return_X_y=True)
Z = StandardScaler().fit_transform(Z)
F, s = load_iris(return_X_y=True)
logistic = LogisticRegression(tol=1e-9)
stacked = StackingRegressor([("r", Ridge()), ("l", LinearRegression())], final_estimator=RidgeCV())
voting = VotingClassifier([("l", logistic), ("g", GaussianNB())], voting="soft")
targets = np.stack([y > 100, y > 150], axis=1)
results = {
    "calibrated": CalibratedClassifierCV(LinearSVC(tol=1e-9), cv=3).fit(Z, c).predict_proba(Z),
    "target": TransformedTargetRegressor(Ridge(), func=np.log, inverse_func=np.exp)
    .fit(X, y)
    .predict(X),
    "stacked": stacked.fit(X, y).predict(X),
    "voting": voting.fit(Z, c).predict_proba(Z),
    "rfe": RFE(LinearRegression(), n_features_to_select=4).fit(X, y).support_,
    "selected": SelectFromModel(Lasso(1.0)).fit(X, y).get_support(),
    "lasso cv": LassoCV(cv=3).fit(X, y).coef_,
    "elastic cv": ElasticNetCV(cv=3).fit(X, y).coef_,
    "ridge cv": RidgeCV(cv=3).fit(X, y).coef_,
    "ridge classes": RidgeClassifier().fit(Z, c).coef_,
    "logistic cv": LogisticRegressionCV(Cs=3, cv=3, tol=1e-8, max_iter=1000).fit(F, s).coef_,
    "tasks": MultiTaskLasso(1.0).fit(X, np.stack([y, -y], axis=1)).coef_,
    "rest": OneVsRestClassifier(logistic).fit(F, s).predict_proba(F),
    "outputs": MultiOutputClassifier(logistic).fit(X, targets).predict(X),
    "chain": ClassifierChain(logistic).fit(X, targets).predict(X),
    "complement": ComplementNB().fit(F, s).predict(F),
    "power": PowerTransformer().fit_transform(F),
}
