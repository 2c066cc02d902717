"""Least squares, and classifiers by linear functions."""

import numpy as np

from bench_learn_rows import DENSE, SHAPES, SPARSE, TALL, TINY, WIDE, Row
from makers import alike, coefficients, glum, linear, logistic, mllib, squares

WITHOUT_SPARSE = (*DENSE, TINY)


def per_row(shape):
    return 1.0 / shape.rows


def squared_hinge(model, X, y, shape):
    coef, intercept = coefficients(model)
    margins = (2 * y - 1) * (np.ravel(X @ coef[0]) + intercept[0])
    return 0.5 * (np.sum(coef**2) + np.sum(intercept**2)) + np.sum(np.maximum(0.0, 1 - margins) ** 2)


HESSIAN = {("glum", SPARSE.name): "its Hessian of 10,000 columns takes minutes"}
# MLlib's squared loss is of scaled columns, unless it is told not to.
UNSCALED = {"standardization": False}

ROWS = [
    Row(
        "linear-regression",
        "LinearRegression()",
        SHAPES,
        alike("linear_model", "LinearRegression", intel=True) | {"mllib": mllib("LinearRegression", solver="normal")},
        target="real",
        objective=linear(squares),
        without={("mllib", SPARSE.name): "its normal equations take 4,096 columns"},
    ),
    Row(
        "ridge",
        "Ridge()",
        SHAPES,
        alike("linear_model", "Ridge", intel=True)
        | {"glum": glum("normal", per_row), "mllib": mllib("LinearRegression", solver="auto", regParam=per_row, **UNSCALED)},
        target="real",
        objective=linear(squares, l2=per_row),
        without=HESSIAN,
    ),
    Row(
        "lasso",
        "Lasso(alpha=0.01)",
        WITHOUT_SPARSE,
        alike("linear_model", "Lasso", alpha=0.01)
        | {"glum": glum("normal", 0.01, 1.0), "mllib": mllib("LinearRegression", solver="l-bfgs", regParam=0.01, elasticNetParam=1.0, **UNSCALED)},
        target="real",
        objective=linear(squares, l1=0.01),
    ),
    Row(
        "elastic-net",
        "ElasticNet(alpha=0.01)",
        WITHOUT_SPARSE,
        alike("linear_model", "ElasticNet", alpha=0.01)
        | {"glum": glum("normal", 0.01, 0.5), "mllib": mllib("LinearRegression", solver="l-bfgs", regParam=0.01, elasticNetParam=0.5, **UNSCALED)},
        target="real",
        objective=linear(squares, l1=0.005, l2=0.005),
    ),
    Row(
        "logistic",
        "LogisticRegression(), two classes",
        SHAPES,
        alike("linear_model", "LogisticRegression", intel=True, max_iter=1000)
        | {"glum": glum("binomial", per_row), "mllib": mllib("LogisticRegression", regParam=per_row, tol=1e-4, **UNSCALED)},
        target="binary",
        objective=linear(logistic, l2=per_row),
        without=HESSIAN,
    ),
    Row(
        "logistic-classes",
        "LogisticRegression(), five classes",
        (TALL, WIDE, SPARSE, TINY),
        alike("linear_model", "LogisticRegression", intel=True, max_iter=1000)
        | {"mllib": mllib("LogisticRegression", regParam=per_row, tol=1e-4, **UNSCALED)},
        target="classes",
        objective=linear(logistic, l2=per_row),
    ),
    Row(
        "logistic-l1",
        'LogisticRegression(l1_ratio=1, solver="saga")',
        (TALL, WIDE, TINY),
        alike("linear_model", "LogisticRegression", l1_ratio=1, solver="saga", C=lambda shape: 100 / shape.rows, max_iter=1000)
        | {"glum": glum("binomial", 0.01, 1.0), "mllib": mllib("LogisticRegression", regParam=0.01, elasticNetParam=1.0, tol=1e-4, **UNSCALED)},
        target="binary",
        objective=linear(logistic, l1=0.01),
    ),
    Row(
        "linear-svc",
        "LinearSVC(), squared hinge",
        SHAPES,
        alike("svm", "LinearSVC", max_iter=1000),
        target="binary",
        objective=squared_hinge,
    ),
]
