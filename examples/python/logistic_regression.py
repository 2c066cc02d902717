"""Trains a binary logistic regression by gradient descent.

    python logistic_regression.py                     100,000 random records of 20 features
    python logistic_regression.py --records 1000000   more of them
    python logistic_regression.py --library numpy     the same code with NumPy
"""

import argparse
import importlib
import time

import numpy as np


def step(xp, features, labels, weights, rate, penalty):
    """Weights after one step down the gradient of the penalised negative log likelihood."""
    probabilities = 1 / (1 + xp.exp(-(features @ weights)))
    gradient = features.T @ (probabilities - labels) / features.shape[0] + penalty * weights
    return weights - rate * gradient


def train(xp, features, labels, steps=20, rate=1.0, penalty=1e-3):
    """Weights of the features, after so many steps from zeros."""
    weights = xp.zeros(features.shape[1])
    for _ in range(steps):
        weights = step(xp, features, labels, weights, rate, penalty)
    return weights


def loss(xp, features, labels, weights):
    """The mean negative log likelihood, in a form that large margins do not overflow."""
    margins = (1 - 2 * labels) * (features @ weights)
    return xp.mean(xp.maximum(margins, 0.0) + xp.log(1 + xp.exp(-xp.abs(margins))))


def records(count, features=20, seed=7):
    """Random features, and labels that a hidden model draws."""
    random = np.random.default_rng(seed)
    values = random.standard_normal((count, features))
    hidden = random.standard_normal(features)
    labels = random.random(count) < 1 / (1 + np.exp(-values @ hidden))
    return values, labels.astype(np.float64)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--library", default="fulgurite", help="the array library: fulgurite or numpy")
    chosen = parser.parse_args(arguments)
    xp = importlib.import_module(chosen.library)
    features, labels = map(xp.asarray, records(chosen.records))
    started = time.perf_counter()
    weights = train(xp, features, labels)
    reached = float(loss(xp, features, labels, weights))
    right = float(xp.mean((features @ weights > 0) == (labels > 0.5)))
    print(f"loss {reached:.6f}, accuracy {right:.4f}")
    print(f"{chosen.records} records in {time.perf_counter() - started:.3f} s")


if __name__ == "__main__":
    main()
