"""Writes the example data sets, which scikit-learn ships, as csv files with .mtd metadata.

    python examples/prepare_data.py FOLDER

makes FOLDER/{digits,cancer,diabetes}/{X,Y,T,TY}.csv: features and labels to train on, and every fifth row held out as T, TY.
Digits' labels are 1 .. 10 (10 is the digit 0), the cancer data's features are standardised, all deterministic.
"""

import json
import sys
from pathlib import Path

import numpy as np
from sklearn import datasets


def load(name):
    if name == "digits":
        X, y = datasets.load_digits(return_X_y=True)
        return X / 16.0, np.where(y == 0, 10, y)
    if name == "cancer":
        X, y = datasets.load_breast_cancer(return_X_y=True)
        return (X - X.mean(axis=0)) / X.std(axis=0), y
    X, y = datasets.load_diabetes(return_X_y=True)
    return X, y


def split(X, y):
    """Training rows and held-out rows: every fifth row is held out."""
    held_out = np.arange(len(X)) % 5 == 4
    return X[~held_out], y[~held_out], X[held_out], y[held_out]


def write_csv(path, matrix):
    matrix = np.asarray(matrix, dtype=np.float64).reshape(len(matrix), -1)
    with open(path, "w") as file:
        for row in matrix:
            file.write(",".join(repr(float(cell)) for cell in row) + "\n")
    metadata = {
        "data_type": "matrix",
        "value_type": "double",
        "rows": matrix.shape[0],
        "cols": matrix.shape[1],
        "nnz": int(np.count_nonzero(matrix)),
        "format": "csv",
        "header": False,
        "sep": ",",
    }
    Path(f"{path}.mtd").write_text(json.dumps(metadata, indent=1) + "\n")


def main(folder):
    for name in ("digits", "cancer", "diabetes"):
        target = Path(folder) / name
        target.mkdir(parents=True, exist_ok=True)
        for file, matrix in zip(("X", "Y", "T", "TY"), split(*load(name))):
            write_csv(target / f"{file}.csv", matrix)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
