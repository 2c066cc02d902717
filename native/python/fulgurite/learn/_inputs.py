"""Checks of inputs: scikit-learn's, whose messages also name the column that is bad."""

from __future__ import annotations

import contextlib

import numpy as np
from scipy import sparse
from sklearn.utils import validation
from sklearn.utils.validation import _get_feature_names


def validate_data(estimator, X="no_validation", y="no_validation", **options):
    """scikit-learn's function of this name. An error about a cell names its column, where X has names."""
    with naming(X):
        return validation.validate_data(estimator, X, y, **options)


@contextlib.contextmanager
def naming(X):
    """Adds to an error about NaN or infinity which column has it."""
    try:
        yield
    except ValueError as error:
        name = None
        lines = str(error).split("\n")
        if "NaN" in lines[0] or "infinity" in lines[0]:
            name = _first(X, lambda cells: not np.isfinite(cells).all())
        if name is None or "Input X" not in lines[0]:
            raise
        lines[0] += f" The first such column is {name!r}."
        raise type(error)("\n".join(lines)) from None


def check_non_negative(X, whom, names=None):
    """scikit-learn's function of this name. The error names the column, given the names of all."""
    try:
        validation.check_non_negative(X, whom)
    except ValueError as error:
        if names is None:
            raise
        cells = X.min(axis=0)
        cells = cells.toarray() if sparse.issparse(cells) else np.asarray(cells)
        name = str(names[int(np.argmax(cells.ravel() < 0))])
        message = str(error).rstrip(".")
        raise ValueError(f"{message}. The first such column is {name!r}.") from None


def _first(X, is_bad):
    """The name of the first column with a bad cell; None if X has no names or columns of numbers."""
    try:
        names = _get_feature_names(X)
    except Exception:  # Names are only for the message: an error in them is another one's to raise.
        names = None
    if names is None:
        return None
    for name in names:
        try:
            cells = np.asarray(X[str(name)], dtype=np.float64)
        except (TypeError, ValueError):
            continue
        if is_bad(cells):
            return str(name)
    return None
