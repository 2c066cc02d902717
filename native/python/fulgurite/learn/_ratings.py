"""Ratings in a Spark DataFrame of the columns `user`, `item` and `rating`, as `pyspark.ml`'s `ALS` has them."""

from __future__ import annotations

import time

import numpy as np

from ._data import Plan, context_of, host, script_of
from ._frames import column, kind_of, require

USER, ITEM, RATING = "user", "item", "rating"


class Ratings:
    """Ratings as matrices: what they are, and ones where they are. As a context manager it frees their memory.

    Attributes:
        users, items: The ids of rows and of columns, sorted.
        shape: How many of them there are.
    """

    def __init__(self, frame):
        from pyspark.sql import functions

        require(frame, [USER, ITEM, RATING])
        if kind_of(frame.schema[RATING]) != "number":
            raise ValueError(f"the column {RATING!r} holds no numbers")
        rating = column(RATING).cast("double")
        cells = frame.select(column(USER), column(ITEM), rating.alias(RATING))
        # Ratings that occur twice are summed up, as in a matrix of SciPy.
        cells = cells.repartition(_partitions(frame.sparkSession), USER, ITEM)
        cells = cells.groupBy(USER, ITEM).agg(functions.sum(RATING).alias(RATING))
        # Both matrices are made of it.
        self._cells = cells.persist()
        try:
            _check(cells)
            self.users, self.items = _ids(cells, USER), _ids(cells, ITEM)
            self.shape = len(self.users), len(self.items)
            numbered = _numbered(_numbered(cells, USER, self.users), ITEM, self.items)
            self._frames = (
                numbered.select(USER, ITEM, RATING),
                numbered.select(USER, ITEM, functions.lit(1.0).alias(RATING)),
            )
            self._context = context_of(frame)
            self._matrices = self._made(self._context)
        except BaseException:
            cells.unpersist()
            raise

    def _made(self, context):
        rows, cols = self.shape
        return [context.matrix(each, format="ijv", rows=rows, cols=cols) for each in self._frames]

    def fit_by(self, inputs, outputs, arguments):
        """The outputs of the script, its report, and what explains it."""
        started = time.perf_counter()
        ratings, rated = self._matrices
        made = script_of("als", {"X": ratings, "M": rated, **inputs}, outputs, arguments)
        results = self._context.execute(made)
        found = {name: host(results.get(name)) for name in outputs}
        report = {
            "script": "als",
            "seconds": time.perf_counter() - started,
            "spark": results.statistics(),
        }
        report |= {name: found[name] for name in ("iterations", "objective") if name in found}
        return found, report, RatingsPlan(self._frames, self.shape, inputs, outputs, arguments)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for matrix in self._matrices:
            matrix.close()
        self._context.close()
        self._cells.unpersist()


class RatingsPlan(Plan):
    """What a fit to ratings on Spark would run."""

    def __init__(self, frames, shape, *program):
        super().__init__(frames[0], *program)
        self._frames = frames
        self._shape = shape

    def _explained(self, context, level, format):
        rows, cols = self._shape
        inputs, outputs, arguments = self._program
        made = [context.matrix(each, format="ijv", rows=rows, cols=cols) for each in self._frames]
        try:
            inputs = {"X": made[0], "M": made[1], **inputs}
            return context.explain(script_of("als", inputs, outputs, arguments), level, format)
        finally:
            for matrix in made:
                matrix.close()


def _partitions(spark):
    """Not many more than tasks that run at a time: each is a task of many jobs."""
    most = int(spark.conf.get("spark.sql.shuffle.partitions"))
    return max(1, min(most, 4 * spark.sparkContext.defaultParallelism))


def _check(cells):
    from pyspark.sql import functions

    rating = column(RATING)
    rows, users, items, ratings, strange = cells.agg(
        functions.count("*"),
        functions.count_if(column(USER).isNull()),
        functions.count_if(column(ITEM).isNull()),
        functions.count_if(rating.isNull() | functions.isnan(rating)),
        functions.count_if(functions.abs(rating) == float("inf")),
    ).first()
    if not rows:
        raise ValueError("Found array with 0 sample(s): the DataFrame has no ratings")
    for name, count in ((USER, users), (ITEM, items), (RATING, ratings)):
        if count:
            raise ValueError(f"Input X contains NaN, in the column {name!r}.")
    if strange:
        raise ValueError(f"Input X contains infinity, in the column {RATING!r}.")


def _ids(cells, name):
    """The different values of a column, sorted."""
    return np.unique(np.array([row[0] for row in cells.select(name).distinct().collect()]))


def _numbered(cells, name, ids):
    """Ids by their numbers from 1."""
    import pyarrow
    from pyspark.sql import functions

    number = "__number"
    table = cells.sparkSession.createDataFrame(
        pyarrow.table({name: pyarrow.array(ids), number: np.arange(1, len(ids) + 1)})
    )
    table = table.withColumn(name, column(name).cast(cells.schema[name].dataType))
    joined = cells.join(functions.broadcast(table), name)
    others = [column(other) for other in cells.columns if other != name]
    return joined.select(column(number).alias(name), *others)


def predicted(model, frame):
    """The DataFrame with a column of ratings for its users and items; NaN for those that the fit had not."""
    from collections.abc import Iterator

    from pyarrow import Array
    from pyspark.sql import functions

    require(frame, [USER, ITEM])
    if "prediction" in frame.columns:
        raise ValueError("the DataFrame has a column 'prediction' already: drop or rename it")
    users, items = model.user_ids_, model.item_ids_
    user_factors, item_factors = model.user_factors_, model.item_factors_

    def ratings(stream):
        import pyarrow

        for batch in stream:
            found, u = _places(batch.field("user"), users)
            there, i = _places(batch.field("item"), items)
            rating = np.einsum("rk,rk->r", user_factors[u], item_factors[i])
            yield pyarrow.array(np.where(found & there, rating, np.nan), type=pyarrow.float64())

    ratings.__annotations__ = {"stream": Iterator[Array], "return": Iterator[Array]}
    pair = functions.struct(column(USER).alias("user"), column(ITEM).alias("item"))
    return frame.select("*", functions.arrow_udf(ratings, "double")(pair).alias("prediction"))


def _places(values, ids):
    """Whether values are ids, and where."""
    values = values.to_numpy(zero_copy_only=False)
    if ids.dtype.kind == "U":
        values = values.astype(str)
    at = np.minimum(np.searchsorted(ids, values), len(ids) - 1)
    return ids[at] == values, at
