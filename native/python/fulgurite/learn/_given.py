"""What fits ask of their input, of arrays and of parts of a Spark DataFrame alike.

Arrays go to scikit-learn's own functions. Of a part the answer is known already (`_parts`), or an expression of its script.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.utils import validation
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from . import _inputs
from ._parts import Features, Labels, Part, Targets


def validate_data(estimator, X, y="no_validation", **checks):
    """As scikit-learn's function; it sets names and numbers of columns."""
    if isinstance(X, Features):
        X.data.validate(estimator, **checks)
        return X if isinstance(y, str) else (X, y)
    return _inputs.validate_data(estimator, X, y, **checks)


def check_array(array, **checks):
    """As scikit-learn's function."""
    return array if isinstance(array, Part) else validation.check_array(array, **checks)


def check_sample_weight(sample_weight, X, **checks):
    """As scikit-learn's function. Weights of a DataFrame were checked when it was converted."""
    if not isinstance(X, Features):
        return validation._check_sample_weight(sample_weight, X, **checks)
    if sample_weight is not None:
        return sample_weight
    rows = X.shape[0]
    return Part(X.data, f"matrix(1, {rows}, 1)", (rows,), total=float(rows))


def check_non_negative(X, whom, names=None):
    """As scikit-learn's function. Of parts it looks at features: weights are checked when they become parts."""
    if not isinstance(X, Part):
        _inputs.check_non_negative(X, whom, names)
    elif isinstance(X, Features) and X.low.min() < 0:
        name = X.data.names[int(X.low.argmin())]
        raise ValueError(
            f"Negative values in data passed to {whom}: the smallest of {name} is {X.low.min()}."
        )


def stays(X):
    """Whether rows stay on Spark's workers."""
    return isinstance(X, Part)


def issparse(X):
    """Whether a fit takes the way of sparse matrices."""
    return X.sparse if isinstance(X, Features) else sparse.issparse(X)


def classes_of(y):
    """The classes, sorted, and the numbers from 0 that rows have of them."""
    if isinstance(y, Labels):
        check_classification_targets(y.classes)
        return y.classes, y
    check_classification_targets(y)
    return np.unique(y, return_inverse=True)


def codes_of(y, classes):
    """The numbers from 0 that rows have of classes which are known."""
    if isinstance(y, Labels):
        there = y.classes
    else:
        there = np.unique(y)
    strange = ~np.isin(there, classes)
    if strange.any():
        raise ValueError(
            f"The target label(s) {there[strange]} in y do not exist in the initial classes {classes}"
        )
    return y if isinstance(y, Labels) else np.searchsorted(classes, y)


def weighted_by_class(weights, class_weight, classes, codes, y, sample_weight):
    """Weights of rows times those of their classes."""
    if isinstance(codes, Labels):
        # Weights of balanced classes follow from their sums alone.
        sizes = compute_class_weight(
            class_weight, classes=classes, y=classes, sample_weight=codes.totals
        )
        # Classes of rows without weight get none.
        sizes = np.where(codes.totals > 0, sizes, 0.0)
        text = f"({weights.text} * (({codes.indicators().text}) %*% class_sizes))"
        needs = {**weights.needs, **codes.needs, "class_sizes": sizes.reshape(-1, 1)}
        total = float(np.sum(sizes * codes.totals))
        return Part(weights.data, text, weights.shape, needs, total)
    sizes = compute_class_weight(class_weight, classes=classes, y=y, sample_weight=sample_weight)
    # A class whose rows all weigh nothing has an infinite weight.
    return np.where(weights > 0, weights * sizes[codes], 0.0)


def signs_of(codes, told):
    """A column for each class that is told from the rest: one for its rows, minus one for others."""
    if isinstance(codes, Labels):
        return (codes if len(told) == 1 else codes.indicators()).as_column() * 2 - 1
    return np.stack([np.where(codes == each, 1.0, -1.0) for each in told], axis=1)


def extremes(y):
    """Numbers whose range is that of all targets."""
    return np.array([y.low.min(), y.high.max()]) if isinstance(y, Targets) else y


def average(y, weights):
    """The weighted mean of a vector of targets."""
    return y.mean[0] if isinstance(y, Targets) else np.average(y, weights=weights)
