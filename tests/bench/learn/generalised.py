"""Generalised linear models, and naive Bayes classifiers."""

import numpy as np

from bench_learn_rows import DENSE, SHAPES, SPARSE, TALL, TINY, WIDE, Row
from makers import alike, gamma, glum, linear, mllib, poisson, tweedie


def of_power():
    from glum import TweedieDistribution

    return TweedieDistribution(1.5)


def counted(X):
    """Counts: cells that are not negative, and whole."""
    if not hasattr(X, "tocsr"):
        np.abs(X, out=X)
        np.floor(X, out=X)
    return X


ROWS = [
    Row(
        "poisson",
        "PoissonRegressor(alpha=1e-3)",
        SHAPES,
        alike("linear_model", "PoissonRegressor", alpha=1e-3, max_iter=1000)
        | {"glum": glum("poisson", 1e-3), "mllib": mllib("GeneralizedLinearRegression", family="poisson", link="log", regParam=1e-3)},
        target="counts",
        objective=linear(poisson, l2=1e-3),
        without={("glum", SPARSE.name): "its Hessian of 10,000 columns takes minutes", ("mllib", SPARSE.name): "it takes 4,096 columns"},
    ),
    Row(
        "gamma",
        "GammaRegressor(alpha=1e-3)",
        (TALL, WIDE, TINY),
        alike("linear_model", "GammaRegressor", alpha=1e-3, max_iter=1000)
        | {"glum": glum("gamma", 1e-3, link="log"), "mllib": mllib("GeneralizedLinearRegression", family="gamma", link="log", regParam=1e-3)},
        target="positive",
        objective=linear(gamma, l2=1e-3),
    ),
    Row(
        "tweedie",
        "TweedieRegressor(power=1.5, alpha=1e-3)",
        (TALL, WIDE, TINY),
        alike("linear_model", "TweedieRegressor", power=1.5, alpha=1e-3, max_iter=1000)
        | {
            "glum": glum(of_power, 1e-3, link="log"),
            "mllib": mllib("GeneralizedLinearRegression", family="tweedie", variancePower=1.5, linkPower=0.0, regParam=1e-3),
        },
        target="positive",
        objective=linear(tweedie, l2=1e-3),
    ),
    Row(
        "gaussian-nb",
        "GaussianNB()",
        (*DENSE, TINY),
        alike("naive_bayes", "GaussianNB") | {"mllib": mllib("NaiveBayes", modelType="gaussian")},
        target="classes",
        seen=lambda model: [model.theta_, model.var_],
    ),
    Row(
        "multinomial-nb",
        "MultinomialNB()",
        SHAPES,
        alike("naive_bayes", "MultinomialNB"),
        target="classes",
        seen=lambda model: [model.feature_log_prob_],
        prepare=counted,
    ),
]
