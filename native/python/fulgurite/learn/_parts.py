"""Parts of data that stay on Spark's workers: what a fit gets in the place of arrays.

A part is an expression of DML over the one matrix that a DataFrame became (`_data`), with the numbers about it that a
fit needs before its script runs. `_given` has the functions that take arrays and parts alike.
"""

from __future__ import annotations

import numpy as np


class Part:
    """Columns of the data, or what follows from them row by row.

    Attributes:
        data: The data that it is a part of.
        text: Its expression.
        shape: As scikit-learn sees it: a vector has one dimension.
        needs: Arrays that the expression reads, by name.
        total: The sum of all cells, where it is known.
    """

    dtype = np.dtype(np.float64)

    def __init__(self, data, text, shape, needs=None, total=None):
        self.data = data
        self.text = text
        self.shape = shape
        self.needs = needs or {}
        self.total = total

    @property
    def ndim(self):
        return len(self.shape)

    def __len__(self):
        return self.shape[0]

    def __add__(self, number):
        return self._with(f"({self.text} + {number!r})")

    def __sub__(self, number):
        return self._with(f"({self.text} - {number!r})")

    def __mul__(self, number):
        return self._with(f"({self.text} * {number!r})")

    def _with(self, text):
        return Part(self.data, text, self.shape, self.needs)

    def shared(self):
        """Rows as parts of their sums."""
        return self._with(f"({self.text} / rowSums({self.text}))")

    def weighted(self, weights):
        """Rows times their weights."""
        needs = {**self.needs, **weights.needs}
        return Part(self.data, f"({self.text} * {weights.text})", self.shape, needs)

    def made_up(self):
        """Numbers in the place of a matrix that only one run has; any other part as it is."""
        if not any(hasattr(value, "toNumPy") for value in self.needs.values()):
            return self
        rows, cols = self.shape
        return Part(self.data, f"rand(rows={rows}, cols={cols}, seed=1)", self.shape)

    def as_column(self):
        """As a matrix."""
        shape = self.shape if self.ndim == 2 else (*self.shape, 1)
        return Part(self.data, self.text, shape, self.needs, self.total)

    def astype(self, dtype, **_):
        """Itself: cells are of double precision."""
        return self

    def sum(self):
        """The sum of all cells, which is known of weights."""
        if self.total is None:
            raise AssertionError(f"nobody has summed up {self.text}")
        return self.total


class Features(Part):
    """The columns of features.

    Attributes:
        low: The smallest cell of each.
        means: The mean of each.
        sparse: Whether it takes the way of sparse matrices.
    """

    def __init__(self, data, text, shape, low, means, sparse):
        super().__init__(data, text, shape)
        self.low = low
        self.means = means
        self.sparse = sparse


class Targets(Part):
    """Numbers to predict.

    Attributes:
        low, high: The smallest and the largest.
        mean: Their weighted mean.
    """

    def __init__(self, data, text, shape, low, high, mean):
        super().__init__(data, text, shape)
        self.low = low
        self.high = high
        self.mean = mean


class Labels(Part):
    """Classes of rows, as numbers from 0.

    Attributes:
        classes: The classes, sorted.
        totals: The sums of their weights.
    """

    def __init__(self, data, text, shape, classes, totals):
        super().__init__(data, text, shape)
        self.classes = classes
        self.totals = totals

    def indicators(self):
        """A column of zeros and ones for each class."""
        rows, classes = self.shape[0], len(self.classes)
        text = f"table(seq(1, {rows}), {self.text} + 1, {rows}, {classes})"
        return Part(self.data, text, (rows, classes), self.needs)


def nearest(X, centres, name):
    """Zeros and ones that say which centre is nearest to a row, the first one of equals."""
    # rowIndexMin gives the last one of equals. Rows far from zero lose fewer digits beside the mean.
    last_first = (centres - X.means)[::-1]
    needs = {
        f"{name}_means": X.means.reshape(1, -1),
        f"{name}_slopes": -2.0 * last_first.T,
        f"{name}_squares": np.sum(last_first**2, axis=1).reshape(1, -1),
    }
    rows, k = len(X), len(centres)
    distances = f"({X.text} - {name}_means) %*% {name}_slopes + {name}_squares"
    text = f"table(seq(1, {rows}), {k + 1} - rowIndexMin({distances}), {rows}, {k})"
    return Part(X.data, text, (rows, k), {**X.needs, **needs})


def side_by_side(parts):
    """Columns of several parts."""
    if len(parts) == 1:
        return parts[0]
    needs = {}
    for part in parts:
        needs.update(part.needs)
    shape = (len(parts[0]), sum(part.shape[1] for part in parts))
    return Part(parts[0].data, f"cbind({', '.join(part.text for part in parts)})", shape, needs)


def data_of(inputs):
    """The data that inputs of a script are parts of, if they are."""
    return next((value.data for value in inputs.values() if isinstance(value, Part)), None)
