"""Rows drawn at random, the same ones wherever they are."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ._parts import Part


class Chooser:
    """Draws numbers of rows as NumPy does, with chances that are a part of the sum of weights."""

    def __init__(self, weights):
        self._weights = weights
        self._rows = weights.shape[0]

    def one(self, random):
        """The number of a row."""
        if isinstance(self._weights, Part):
            return int(self._at(np.array([random.random_sample()]), [])[0])
        return random.choice(self._rows, p=self._weights / self._weights.sum())

    def several(self, random, count):
        """Numbers of different rows."""
        if not isinstance(self._weights, Part):
            chances = self._weights / self._weights.sum()
            return random.choice(self._rows, size=count, replace=False, p=chances)
        # As NumPy's legacy generator: numbers that occur twice are drawn anew, among the rest.
        chosen = []
        while len(chosen) < count:
            drawn = random.random_sample((count - len(chosen),))
            for number in self._at(drawn, chosen):
                if number not in chosen:
                    chosen.append(int(number))
        return np.array(chosen)

    def _at(self, drawn, but):
        """The rows whose cumulated chances reach numbers from 0 to 1, some rows left out."""
        weights = self._weights
        inputs = {
            "w": weights.as_column(),
            "drawn": drawn.reshape(1, -1),
            # A row that there is not leaves out none.
            "but": np.array([[number + 1.0] for number in but] or [[0.0]]),
        }
        found, _ = weights.data.run("choose", inputs, ["chosen"], {"some": bool(but)})
        return np.asarray(found["chosen"], dtype=np.int64).ravel() - 1


def rows_at(X, numbers):
    """Rows of a matrix, dense."""
    if isinstance(X, Part):
        inputs = {"X": X, "chosen": np.asarray(numbers, np.float64).reshape(-1, 1) + 1}
        return X.data.run("rows", inputs, ["Z"], {})[0]["Z"]
    rows = X[numbers]
    return rows.toarray() if sparse.issparse(rows) else rows
