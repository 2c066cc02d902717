"""Predictions of Spark DataFrames: columns beside those that a DataFrame has, by functions that Spark's Python workers run.

A fitted model travels with the function, whichever side fitted it. Columns are taken by name.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ._frames import SPARSE, Columns, column, kind_of, names_of, require

# What stays at home: it grows with the data of a fit.
_LEFT_OUT = ("labels_", "report_", "_program")

# The column that a method of a model adds.
ADDED = {
    "predict": "prediction",
    "predict_proba": "probability",
    "predict_log_proba": "log_probability",
    "decision_function": "decision",
    "score_samples": "log_likelihood",
    "transform": "transformed",
}


def features_of(model, frame):
    """The columns of a DataFrame that a model takes."""
    kind = type(model).__name__
    names = getattr(model, "feature_names_in_", None)
    vector = getattr(model, "_vectors_in", None)
    if names is None and vector is None:
        # Fitted without names, as arrays are.
        found = [field.name for field in frame.schema.fields]
        kinds = [kind_of(field) for field in frame.schema.fields]
        vectors = [
            name for name, kind in zip(found, kinds, strict=True) if kind in ("vector", "array")
        ]
        numbers = [name for name, kind in zip(found, kinds, strict=True) if kind == "number"]
        if len(vectors) == 1:
            vector = vectors[0]
        elif len(numbers) == model.n_features_in_:
            names = numbers
        else:
            raise ValueError(
                f"X has {len(numbers)} features, but {kind} is expecting {model.n_features_in_} features as input. It was "
                "fitted without names of columns: choose them with df.select(...)"
            )
    wanted = [vector] if names is None else list(names)
    missing = [name for name in wanted if name not in frame.columns]
    if missing:
        raise ValueError(
            f"The feature names should match those that were passed during fit. Feature names seen at fit time, yet now "
            f"missing: {', '.join(map(repr, missing))}"
        )
    require(frame, wanted)
    for name in wanted:
        found = kind_of(frame.schema[name])
        if (found == "number") != (names is not None) or found not in (
            "number",
            "vector",
            "array",
        ):
            raise ValueError(f"the column {name!r} is of type {found}, and the fit had another")
    if names is None:
        return Columns([], vector, kind_of(frame.schema[vector]) == "array")
    return Columns(wanted)


def added(model, frame, methods):
    """The DataFrame with the results of methods as further columns."""
    check_is_fitted(model)
    names = [ADDED[method] for method in methods]
    for name in names:
        if name in frame.columns:
            raise ValueError(f"the DataFrame has a column {name!r} already: drop or rename it")
    columns = features_of(model, frame)
    return with_columns(
        frame,
        columns,
        _results,
        names,
        _types(model, methods),
        _shipped(model),
        methods,
    )


def with_columns(frame, columns, work, names, types, *more):
    """The DataFrame with columns that `work(X, *more)` gives as arrays."""
    from pyarrow import Array
    from pyspark.sql.functions import arrow_udf

    given = columns.names or None
    vector, is_array = columns.vector, columns.is_array
    allow_nan = (
        bool(more) and hasattr(more[0], "get_params") and get_tags(more[0]).input_tags.allow_nan
    )

    def batches(stream):
        for batch in stream:
            X = _matrix(batch, given, vector, is_array)
            _check_finite(X, given, vector, allow_nan)
            yield _together(work(X, *more), names, types)

    fields = ", ".join(f"{name}: {kind}" for name, kind in zip(names, types, strict=True))
    batches.__annotations__ = {"stream": Iterator[Array], "return": Iterator[Array]}
    made = arrow_udf(batches, f"struct<{fields}>")
    held = frame.select("*", made(_expression(columns)).alias(_HELD))
    return held.select("*", *[f"{_HELD}.{name}" for name in names]).drop(_HELD)


_HELD = "__fulgurite_results"


def _expression(columns):
    """Features of a row in one column, as Arrow has them."""
    from pyspark.sql import functions

    if columns.vector is None:
        cells = [column(name).cast("double") for name in columns.names]
        return functions.struct(*[cell.alias(f"c{at}") for at, cell in enumerate(cells)])
    if columns.is_array:
        return column(columns.vector).cast("array<double>")
    return functions.unwrap_udt(column(columns.vector))


def _shipped(model):
    """A model without what predictions do not read."""
    shipped = copy.copy(model)
    for name in _LEFT_OUT:
        shipped.__dict__.pop(name, None)
    return shipped


def _types(model, methods):
    """The types of results in SQL, which one row shows."""
    row = np.zeros((1, model.n_features_in_))
    types = []
    for method in methods:
        found = np.asarray(_plain(model, method)(row))
        kind = {"f": "double", "i": "bigint", "u": "bigint", "b": "boolean"}.get(
            found.dtype.kind, "string"
        )
        types.append(f"array<{kind}>" if found.ndim == 2 else kind)
    return types


def _plain(model, method):
    """A method that gives arrays of NumPy, by the columns' places."""

    def call(X):
        with config_context(transform_output="default"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names")
            return getattr(model, method)(X)

    return call


def score(model, frame, y=None, sample_weight=None):
    """What scikit-learn's `score` gives, by sums on the workers."""
    from pyspark.sql import functions

    check_is_fitted(model)
    targets, weights = names_of(y, "y"), names_of(sample_weight, "sample_weight")
    require(frame, [*targets, *weights])
    weight = column(weights[0]).cast("double") if weights else functions.lit(1.0)
    if not (is_classifier(model) or is_regressor(model)):
        return _row_score(model, frame, weight, bool(weights))
    if len(targets) != 1:
        raise ValueError("y is the name of the column of true values")
    numbered = frame.select("*", weight.alias("__weight"))
    served = added(model, numbered, ["predict"])
    true = column(targets[0])
    if not is_classifier(model):
        true = true.cast("double")
    found = served.select(true.alias("y"), "prediction", functions.col("__weight").alias("w"))
    y, prediction, w = (functions.col(name) for name in ("y", "prediction", "w"))
    rows, nulls, total, mean = found.agg(
        functions.count("*"),
        functions.count_if(y.isNull()),
        functions.sum("w"),
        *([] if is_classifier(model) else [functions.sum(w * y)]),
        *([functions.sum(w * (y == prediction).cast("double"))] if is_classifier(model) else []),
    ).first()
    if not rows:
        raise ValueError("Found array with 0 sample(s) while a minimum of 1 is required.")
    if nulls:
        raise ValueError(f"Input y contains NaN: the column {targets[0]!r} has {nulls} nulls")
    if is_classifier(model):
        return mean / total
    mean = mean / total
    if hasattr(model, "_base_loss"):
        found = with_columns(
            found,
            Columns(["y", "prediction"]),
            _losses,
            ["__own", "__null"],
            ["double", "double"],
            model._base_loss,
            mean,
        )
        own, null = functions.col("__own"), functions.col("__null")
    else:
        own, null = (y - prediction) ** 2, (y - mean) ** 2
    own, null = found.agg(functions.sum(w * own), functions.sum(w * null)).first()
    if null == 0:
        return 1.0 if own == 0 else 0.0
    return 1.0 - own / null


def _row_score(model, frame, weight, is_weighted):
    """Of models without targets: means or sums of what each row adds."""
    from pyspark.sql import functions

    if hasattr(model, "inertia_"):
        near = functions.array_min("transformed") ** 2
        found = added(model, frame.select("*", weight.alias("__weight")), ["transform"])
        return -found.agg(functions.sum(functions.col("__weight") * near)).first()[0]
    if is_weighted:
        raise TypeError(f"{type(model).__name__}.score takes no sample_weight")
    return (
        added(model, frame, ["score_samples"]).agg(functions.avg(ADDED["score_samples"])).first()[0]
    )


# On the workers.


def _results(X, model, methods):
    tags = get_tags(model)
    if sparse.issparse(X) and (not tags.input_tags.sparse or getattr(model, "with_mean", False)):
        X = X.toarray()
    return [_plain(model, method)(X) for method in methods]


def _losses(X, loss, mean):
    """What rows add to the deviance of a prediction, and of the mean."""
    y = np.ascontiguousarray(X[:, 0])
    raw = loss.link.link(np.ascontiguousarray(X[:, 1]))
    # Beyond what a perfect prediction has.
    least = loss.constant_to_optimal_zero(y_true=y, sample_weight=None)
    own = loss.loss(y_true=y, raw_prediction=raw) + least
    null = loss.loss(y_true=y, raw_prediction=np.full(len(y), loss.link.link(mean))) + least
    return own, null


def _matrix(batch, names, vector, is_array):
    """A batch of rows as a matrix; what is missing is NaN."""
    if names is not None:
        return np.column_stack([field.to_numpy(zero_copy_only=False) for field in batch.flatten()])
    if batch.null_count:
        raise ValueError(f"Input X contains NaN: the column {vector!r} has nulls")
    if is_array:
        return _equally_long(batch, vector)
    kinds = batch.field("type").to_numpy(zero_copy_only=False)
    values, indices = batch.field("values"), batch.field("indices")
    cells = values.flatten().to_numpy(zero_copy_only=False)
    if (kinds == 1).all():
        return _equally_long(values, vector)
    sizes = batch.field("size").to_numpy(zero_copy_only=False)
    width = int(sizes[kinds == 0][0])
    lengths = values.value_lengths().to_numpy(zero_copy_only=False)
    if (sizes[kinds == 0] != width).any() or (lengths[kinds == 1] != width).any():
        raise ValueError(f"vectors in the column {vector!r} are not equally long")
    pointers = np.concatenate([[0], np.cumsum(lengths)])
    places = np.empty(len(cells), dtype=np.int32)
    is_sparse_cell = np.repeat(kinds == 0, lengths)
    places[is_sparse_cell] = indices.flatten().to_numpy(zero_copy_only=False)
    places[~is_sparse_cell] = np.tile(np.arange(width), int((kinds == 1).sum()))
    X = sparse.csr_array((cells, places, pointers), shape=(len(kinds), width))
    return X if X.nnz < SPARSE * len(kinds) * width else X.toarray()


def _check_finite(X, names, vector, allow_nan):
    cells = X.data if sparse.issparse(X) else X
    strange = np.isinf(cells) if allow_nan else ~np.isfinite(cells)
    if strange.any():
        at = int(np.argmax(strange.any(axis=0))) if names is not None else 0
        name = vector if names is None else names[at]
        what = "infinity" if np.isinf(cells[strange][0]) else "NaN"
        raise ValueError(f"Input X contains {what}, in the column {name!r}.")


def _equally_long(lists, vector):
    lengths = lists.value_lengths().to_numpy(zero_copy_only=False)
    cells = lists.flatten().to_numpy(zero_copy_only=False)
    if len(lengths) and (lengths != lengths[0]).any():
        raise ValueError(f"vectors in the column {vector!r} are not equally long")
    return cells.reshape(len(lengths), -1)


def _together(results, names, types):
    """Results as a column of structures."""
    import pyarrow

    cells = {
        "double": pyarrow.float64(),
        "bigint": pyarrow.int64(),
        "boolean": pyarrow.bool_(),
        "string": pyarrow.string(),
    }
    arrays = []
    for result, kind in zip(results, types, strict=True):
        result = result.toarray() if sparse.issparse(result) else np.asarray(result)
        is_list = kind.startswith("array<")
        values = pyarrow.array(result.ravel(), type=cells[kind[6:-1] if is_list else kind])
        if is_list:
            ends = np.arange(len(result) + 1, dtype=np.int32) * result.shape[1]
            values = pyarrow.ListArray.from_arrays(ends, values)
        arrays.append(values)
    return pyarrow.StructArray.from_arrays(arrays, names)
