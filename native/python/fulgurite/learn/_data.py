"""Spark DataFrames as the data of a fit: converted once to one matrix of features, targets and weights, and checked there.

`_parts` are its columns in a script. Rows can't be paired wrongly, since nothing is converted apart.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import is_classifier

from .. import _engine
from .._errors import FulguriteError
from ._frames import (
    SPARSE,
    assembled,
    check_vectors,
    column,
    columns_of,
    compare,
    encoded,
    names_of,
    require,
    require_number,
)
from ._parts import Features, Labels, Part, Targets

# The name of the matrix in scripts.
_ALL = "AllColumns"


class Data:
    """A DataFrame as the data of one fit. As a context manager it frees its memory on the workers.

    Attributes:
        X: Its features.
        y: Its targets or labels, or `None`.
        weights: Weights of rows, or `None`.
        names: What messages call the columns.
    """

    def __init__(
        self,
        estimator,
        frame,
        y=None,
        sample_weight=None,
        supervised=False,
        features=None,
    ):
        targets = names_of(y, "y")
        weights = names_of(sample_weight, "sample_weight")
        if len(weights) > 1:
            raise ValueError("sample_weight is one column of the DataFrame")
        require(frame, [*targets, *weights])
        columns = columns_of(frame, [*targets, *weights]) if features is None else features
        if not supervised:
            # Columns that a fit without targets leaves out.
            targets = []
        for name in [*weights, *([] if is_classifier(estimator) else targets)]:
            require_number(frame, name)
        if supervised and not targets:
            raise ValueError(
                f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
            )
        self._columns = columns
        self._frame = frame
        classes = totals = None
        classifies = supervised and is_classifier(estimator)
        cells = columns.cells()
        added = []
        if columns.vector is not None:
            check_vectors(frame, columns, [*([] if classifies else targets), *weights])
        if classifies:
            if len(targets) > 1:
                raise ValueError("y should be a 1d array: it is one column of labels")
            classes, totals, codes = encoded(frame, targets[0], weights)
            added.append(codes)
        else:
            added += [column(name).cast("double").alias(name) for name in targets]
        added += [column(name).cast("double").alias(name) for name in weights]
        self._added = [*targets, *weights]
        if columns.vector is not None and added:
            chosen = assembled(frame.select(*cells, *added), [columns.vector, *self._added], _ALL)
        else:
            chosen = frame.select(*cells, *added)
        self._chosen = chosen
        self.matrix = self._converted()
        try:
            self._describe(targets, weights, classes, totals, single=isinstance(y, str))
        except BaseException:
            self.close()
            raise

    def _converted(self):
        self._context = context_of(self._frame)
        try:
            return self._context.matrix(self._chosen)
        except FulguriteError as error:
            self._context.close()
            if error.kind != "data":
                raise
            raise ValueError(f"Input X: {error}") from None

    def _describe(self, targets, weights, classes, totals, single):
        rows, width = self.matrix.shape
        features = width - len(self._added)
        self.names = self._columns.names or [
            f"{self._columns.vector}[{at}]" for at in range(features)
        ]
        if rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {features})) while a minimum of 1 is required."
            )
        found = self.run(
            "columns",
            {"A": Part(self, _ALL, (rows, width)), "weights": width},
            ["strange", "nans", "low", "high", "sums", "total"],
            {"weighted": bool(weights)},
        )[0]
        strange, nans, low, high, sums = (
            found[name].ravel() for name in ("strange", "nans", "low", "high", "sums")
        )
        self._strange, self._nans = strange[:features], nans[:features]
        total = float(found["total"])
        last = slice(features, features + len(targets))
        names = [*self.names, *self._added]
        for at in range(features, width):
            if strange[at]:
                role = "sample_weight" if weights and at == width - 1 else "y"
                raise ValueError(
                    f"Input {role} contains NaN or infinity, in the column {names[at]!r}."
                )
        self.weights = None
        if weights:
            if low[-1] < 0:
                raise ValueError(
                    f"Negative values in data passed to `sample_weight`, the column {weights[0]!r}: {low[-1]}"
                )
            if total == 0:
                raise ValueError(
                    f"Sample weights must contain at least one non-zero number, and the column {weights[0]!r} has none."
                )
            self.weights = Part(self, f"{_ALL}[, {width}]", (rows,), total=total)
        # Of targets and weights, most cells are stored.
        stored = int(self.matrix._java.nnz()) - rows * len(self._added)
        sparse = self._columns.vector is not None and stored < SPARSE * rows * features
        means = None if weights else sums[:features] / rows
        text = f"{_ALL}[, 1:{features}]" if self._added else _ALL
        self.X = Features(self, text, (rows, features), low[:features], means, sparse)
        self.y = None
        if classes is not None:
            if low[features] < 1:
                raise ValueError(
                    f"the labels in the column {targets[0]!r} were others at a second look: persist the DataFrame"
                )
            self.y = Labels(self, f"({_ALL}[, {features + 1}] - 1)", (rows,), classes, totals)
        elif targets:
            shape = (rows,) if single else (rows, len(targets))
            text = f"{_ALL}[, {features + 1}:{features + len(targets)}]"
            self.y = Targets(self, text, shape, low[last], high[last], sums[last] / total)

    def validate(
        self,
        estimator,
        reset=True,
        ensure_all_finite=True,
        ensure_min_samples=1,
        ensure_min_features=1,
        **_,
    ):
        """What scikit-learn's function of this name checks, and what it sets."""
        rows, features = self.X.shape
        name = type(estimator).__name__
        if rows < ensure_min_samples:
            raise ValueError(
                f"Found array with {rows} sample(s) (shape={self.X.shape}) while a minimum of {ensure_min_samples} is required by {name}."
            )
        if features < ensure_min_features:
            raise ValueError(
                f"Found array with {features} feature(s) (shape={self.X.shape}) while a minimum of {ensure_min_features} is required by {name}."
            )
        refused = self._strange if ensure_all_finite is True else self._strange - self._nans
        if refused.any():
            at = int(np.flatnonzero(refused)[0])
            what = "NaN" if self._nans[at] else "infinity"
            raise ValueError(f"Input X contains {what}, in the column {self.names[at]!r}.")
        if not reset:
            compare(
                estimator,
                self.names if self._columns.vector is None else None,
                features,
            )
            return
        estimator.n_features_in_ = features
        if self._columns.vector is None:
            estimator.feature_names_in_ = np.array(self.names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        estimator._vectors_in = self._columns.vector

    def run(self, script, inputs, outputs, arguments, reports=False, keeps=()):
        """The outputs of a script by name, and what Spark did. Outputs that are kept stay where they are."""
        made = script_of(script, inputs, outputs, arguments, self.matrix)
        results = self._context.execute(made)
        found = {
            name: results.get(name) if name in keeps else host(results.get(name))
            for name in outputs
        }
        return found, results.statistics() if reports else None

    def fit_by(self, script, inputs, outputs, arguments):
        """The outputs of the script of a fit by name, its report, and what can explain it."""
        started = time.perf_counter()
        found, statistics = self.run(script, inputs, outputs, arguments, reports=True)
        report = {
            "script": script,
            "seconds": time.perf_counter() - started,
            "spark": statistics,
        }
        report |= {name: found[name] for name in ("iterations", "objective") if name in found}
        # The size of a matrix that will be gone tells its plan.
        lasting = {
            name: value.made_up() if isinstance(value, Part) else value
            for name, value in inputs.items()
        }
        return found, report, Plan(self._chosen, script, lasting, outputs, arguments)

    def close(self):
        """Frees the memory of the matrix."""
        self.matrix.close()
        self._context.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def context_of(frame):
    """A context with the settings of `fulgurite.config`."""
    from ..spark import MLContext

    context = MLContext(frame.sparkSession)
    for key, value in _engine.settings().entries.items():
        context.setConfigProperty(key, value)
    return context


def script_of(script, inputs, outputs, arguments, columns=None):
    """A script of ours, whose parts are columns of a matrix."""
    from ..spark import dml
    from ._base import text_of

    parts = {name: value for name, value in inputs.items() if isinstance(value, Part)}
    # All in the first line, which is a comment in every script: messages name the script's lines.
    before = " ".join(f"{name} = {part.text};" for name, part in parts.items())
    made = dml(before + text_of(script))
    made.name = f"{script}.dml"
    if columns is not None:
        made.input({_ALL: columns})
    for name, value in inputs.items():
        made.input(value.needs if name in parts else {name: _bound(value)})
    made.input({f"${name}": value for name, value in arguments.items()})
    return made.output(*outputs)


def _bound(value):
    """A number or an array as an input of a script: floats are matrices of one cell, as in process."""
    if isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return np.array([[value]])
    return value


def host(value):
    """A result as a NumPy array or a number."""
    if not hasattr(value, "toNumPy"):
        return value
    cells = value.toNumPy()
    value.close()
    return cells


class Plan:
    """What a fit on Spark would run. Copies of a model have none."""

    def __init__(self, frame, *program):
        self._frame = frame
        self._program = program

    def explain(self, level, format):
        """Converts the data again, which may have changed: their sizes are all that counts."""
        if self._frame is None:
            raise FulguriteError(
                "a copy of a model has no plan of its fit on Spark: call explain_() of the fitted one",
                "argument",
            )
        context = context_of(self._frame)
        try:
            return self._explained(context, level, format)
        finally:
            context.close()

    def _explained(self, context, level, format):
        script, inputs, outputs, arguments = self._program
        matrix = context.matrix(self._frame)
        try:
            return context.explain(
                script_of(script, inputs, outputs, arguments, matrix), level, format
            )
        finally:
            matrix.close()

    def __reduce__(self):
        return Plan, (None,)

    def __deepcopy__(self, memo):
        return Plan(None)
