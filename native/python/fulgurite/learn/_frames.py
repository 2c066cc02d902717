"""What columns of Spark DataFrames are to estimators: features, labels, or nothing that they take."""

from __future__ import annotations

import difflib
import math

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

# Vectors of fewer non-zeros, as a part of all cells, take the way of sparse matrices.
SPARSE = 0.1

# More values of a label column than that are no classes.
_MOST_CLASSES = 100_000


def is_frame(value):
    """Whether it is a DataFrame of Spark. PySpark is not loaded to find out."""
    return any(
        base.__name__ == "DataFrame" and base.__module__.startswith("pyspark.sql.")
        for base in type(value).__mro__
    )


def has_arrow_functions():
    """Whether this PySpark has what predictions are made of."""
    from pyspark.sql import functions

    return hasattr(functions, "arrow_udf")


class Columns:
    """Which columns of a DataFrame are features: numbers, or one column of vectors.

    Attributes:
        names: Columns of numbers, in order.
        vector: The column of vectors, or `None`.
        is_array: Whether its vectors are arrays of SQL.
    """

    def __init__(self, names, vector=None, is_array=False):
        self.names = names
        self.vector = vector
        self.is_array = is_array

    def cells(self):
        """The columns to convert, as expressions of Spark."""
        from pyspark.sql import functions

        if self.vector is None:
            return [column(name).cast("double").alias(name) for name in self.names]
        if not self.is_array:
            return [column(self.vector)]
        from pyspark.ml.functions import array_to_vector

        numbers = functions.transform(column(self.vector), lambda cell: cell.cast("double"))
        return [array_to_vector(numbers).alias(self.vector)]


def column(name):
    from pyspark.sql import functions

    return functions.col("`" + name.replace("`", "``") + "`")


def kind_of(field):
    """What is in a column: ``number``, ``vector``, ``array``, or anything else by its name in SQL."""
    from pyspark.sql import types

    kind = field.dataType
    if isinstance(kind, (types.NumericType, types.BooleanType)):
        return "number"
    if type(kind).__name__ == "VectorUDT":
        return "vector"
    if isinstance(kind, types.ArrayType) and isinstance(kind.elementType, types.NumericType):
        return "array"
    return kind.simpleString()


def require(frame, names):
    """Refuses a DataFrame without such columns."""
    for name in names:
        there = [found for found in frame.columns if found == name]
        if len(there) == 1:
            continue
        if there:
            raise ValueError(f"{len(there)} columns of the DataFrame are called {name!r}")
        near = difflib.get_close_matches(name, frame.columns, n=3)
        hint = f": did you mean {' or '.join(map(repr, near))}?" if near else ""
        raise ValueError(f"the DataFrame has no column {name!r}{hint}")


def columns_of(frame, but):
    """The columns of features: all but those named."""
    # The number of a row says nothing about it.
    fields = [field for field in frame.schema.fields if field.name not in {*but, "__INDEX"}]
    kinds = {field.name: kind_of(field) for field in fields}
    require(frame, kinds)
    vectors = [name for name, kind in kinds.items() if kind in ("vector", "array")]
    for name, kind in kinds.items():
        if kind not in ("number", "vector", "array"):
            raise ValueError(
                f"the column {name!r} is of type {kind}, which is no number: encode it as numbers first, or leave it out "
                f"with df.drop({name!r})"
            )
    if not fields:
        raise ValueError("Found array with 0 feature(s): the DataFrame has no columns of features")
    if vectors and len(fields) > 1:
        others = [name for name in kinds if name != vectors[0]]
        raise ValueError(
            f"features are columns of numbers, or one column of vectors, and beside {vectors[0]!r} there is {others[0]!r}: "
            "choose with df.select(...)"
        )
    if vectors:
        return Columns([], vectors[0], kinds[vectors[0]] == "array")
    return Columns(list(kinds))


def require_number(frame, name):
    kind = kind_of(frame.schema[name])
    if kind != "number":
        raise ValueError(f"the column {name!r} is of type {kind}, which is no number")


def check_vectors(frame, columns, numbers):
    """Refuses vectors of different lengths, and what can't stand beside them in one."""
    from pyspark.sql import functions

    vector = column(columns.vector)
    size = functions.size(vector)
    bad = vector.isNull()
    if columns.is_array:
        bad = bad | functions.exists(vector, lambda cell: cell.isNull())
    else:
        fields = functions.unwrap_udt(vector)
        size = functions.coalesce(fields["size"], functions.size(fields["values"]))
    counts = [
        functions.count_if(column(name).isNull() | functions.isnan(column(name).cast("double")))
        for name in numbers
    ]
    least, most, nulls, *counts = frame.agg(
        functions.min(size), functions.max(size), functions.count_if(bad), *counts
    ).first()
    if nulls:
        raise ValueError(
            f"Input X contains NaN: {nulls} rows of the column {columns.vector!r} have nulls: drop or fill them"
        )
    for name, count in zip(numbers, counts, strict=True):
        if count:
            raise ValueError(f"Input contains NaN: {count} rows of the column {name!r} have none")
    if least != most:
        raise ValueError(
            f"vectors in the column {columns.vector!r} have from {least} to {most} elements: all of a fit are equally long"
        )


def assembled(frame, names, together):
    """Vectors with further cells behind them."""
    from pyspark.ml.feature import VectorAssembler

    made = VectorAssembler(inputCols=names, outputCol=together).transform(frame)
    return made.select(together)


def encoded(frame, name, weights):
    """The classes in a column of labels, sums of their weights, and their numbers from 1 as a column."""
    from pyspark.sql import functions

    kind = frame.schema[name].dataType.simpleString()
    if kind in ("tinyint", "smallint", "int", "bigint"):
        kind = "bigint"
    elif kind.startswith("decimal") or kind in ("float", "double"):
        kind = "double"
    elif kind not in ("string", "boolean"):
        raise ValueError(
            f"the column {name!r} is of type {kind}, and labels are numbers, texts or booleans"
        )
    label = column(name).cast(kind)
    weight = column(weights[0]).cast("double") if weights else functions.lit(1.0)
    groups = (
        frame.select(label.alias("label"), weight.alias("weight"))
        .groupBy("label")
        .agg(functions.sum("weight").alias("total"))
        .limit(_MOST_CLASSES + 1)
        .collect()
    )
    found = [group["label"] for group in groups]
    if any(each is None or (isinstance(each, float) and math.isnan(each)) for each in found):
        raise ValueError(f"Input y contains NaN: the column {name!r} has rows without a label")
    if not found:
        raise ValueError(
            "Found array with 0 sample(s) while a minimum of 1 is required: the DataFrame has no rows"
        )
    if len(found) > _MOST_CLASSES:
        raise ValueError(
            f"Unknown label type: the column {name!r} has more than {_MOST_CLASSES} different values"
        )
    classes, order = np.unique(np.array(found), return_index=True)
    check_classification_targets(classes)
    totals = np.array([groups[at]["total"] for at in order], dtype=np.float64)
    literals = functions.array(*[functions.lit(each) for each in classes.tolist()])
    codes = functions.array_position(literals, label).cast("double").alias(name)
    return classes, totals, codes


def compare(estimator, names, features):
    """Refuses other columns than those of the first batch."""
    if features != estimator.n_features_in_:
        raise ValueError(
            f"X has {features} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as input."
        )
    before = getattr(estimator, "feature_names_in_", None)
    if before is not None and names is not None and list(before) != list(names):
        raise ValueError("The feature names should match those that were passed during fit.")


def names_of(value, role):
    """Names of columns, given as one name or a list of them."""
    if value is None:
        return []
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{role} is the name of a column of the DataFrame, not a {type(value).__name__}"
        )
    return list(names)
