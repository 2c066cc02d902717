"""Whitens images of digits and scores them by a logistic regression.

    python score_digits.py                          the images that scikit-learn ships
    python score_digits.py --images 1000000         as many, which repeat
    python score_digits.py --library numpy          the same code with NumPy
"""

import argparse
import importlib
import time

import numpy as np

CLASSES = 10


def statistics(xp, images):
    """The mean and the standard deviation of each pixel; pixels that never change keep their size."""
    deviation = xp.std(images, axis=0)
    return xp.mean(images, axis=0), xp.where(deviation > 0, deviation, 1.0)


def whiten(images, mean, deviation):
    return (images - mean) / deviation


def probabilities(xp, scores):
    """Softmax of each row."""
    scores = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return scores / xp.sum(scores, axis=1, keepdims=True)


def train(xp, images, targets, steps=200, rate=0.5):
    """Weights and intercepts by gradient descent; `targets` has a column for each class."""
    weights = xp.zeros((images.shape[1], targets.shape[1]))
    intercepts = xp.zeros(targets.shape[1])
    for _ in range(steps):
        wrong = (probabilities(xp, images @ weights + intercepts) - targets) / images.shape[0]
        weights = weights - rate * (images.T @ wrong)
        intercepts = intercepts - rate * xp.sum(wrong, axis=0)
    return weights, intercepts


def score(xp, images, mean, deviation, weights, intercepts):
    """The most probable digit of each image."""
    return xp.argmax(whiten(images, mean, deviation) @ weights + intercepts, axis=1)


def digits(images=None):
    """Images of 8 x 8 pixels and their digits, repeated until there are so many."""
    from sklearn import datasets

    pixels, labels = datasets.load_digits(return_X_y=True)
    order = np.arange(len(labels) if images is None else images) % len(labels)
    return pixels[order], labels[order]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=None)
    parser.add_argument("--library", default="fulgurite", help="the array library: fulgurite or numpy")
    chosen = parser.parse_args(arguments)
    xp = importlib.import_module(chosen.library)

    pixels, labels = digits()
    images = xp.asarray(pixels)
    mean, deviation = statistics(xp, images)
    weights, intercepts = train(xp, whiten(images, mean, deviation), xp.asarray(np.eye(CLASSES)[labels]))

    pixels, labels = digits(chosen.images)
    images = xp.asarray(pixels)
    started = time.perf_counter()
    found = np.asarray(score(xp, images, mean, deviation, weights, intercepts))
    print(f"accuracy {np.mean(found == labels):.4f}")
    print(f"{len(labels)} images in {time.perf_counter() - started:.3f} s")


if __name__ == "__main__":
    main()
