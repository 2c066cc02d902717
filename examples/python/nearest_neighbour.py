"""Classifies images of digits by the nearest image that is known.

    python nearest_neighbour.py                     each fifth image that scikit-learn ships by the others
    python nearest_neighbour.py --library numpy     the same code with NumPy
"""

import argparse
import importlib
import time

import numpy as np


def nearest(xp, queries, known):
    """Where the nearest known row of each query is. The query's own square is the same for all known rows, and left out."""
    return xp.argmin(xp.sum(known * known, axis=1) - 2 * (queries @ known.T), axis=1)


def digits():
    """Known images and their digits, and every fifth image as a query."""
    from sklearn import datasets

    pixels, labels = datasets.load_digits(return_X_y=True)
    held_out = np.arange(len(labels)) % 5 == 4
    return pixels[~held_out], labels[~held_out], pixels[held_out], labels[held_out]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="fulgurite", help="the array library: fulgurite or numpy")
    chosen = parser.parse_args(arguments)
    xp = importlib.import_module(chosen.library)
    pixels, labels, asked, expected = digits()
    started = time.perf_counter()
    found = labels[np.asarray(nearest(xp, xp.asarray(asked), xp.asarray(pixels)))]
    print(f"accuracy {np.mean(found == expected):.4f}")
    print(f"{len(expected)} queries in {time.perf_counter() - started:.3f} s")


if __name__ == "__main__":
    main()
