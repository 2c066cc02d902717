"""Python functions of values as Spark's functions, which run natively on batches of columns."""

import functools
import inspect
import itertools
import linecache

__all__ = ["udf"]

# A call costs as much as thousands of rows, so that batches are put together up to so many.
_ROWS = 1 << 17
_TYPES = {float: "double", int: "bigint", bool: "boolean", str: "string"}


def udf(function=None, returnType=None):
    """Makes a Python function of values one of Spark's columns.

    Executors translate the function to expressions, and run these natively. Rows for which Python would raise, or on which
    expressions are not exact, run in Python; so do functions that have no translation. A null is None. The executors need
    Fulgurite's wheel.

    Args:
        function: A function of values, one for each parameter.
        returnType: The type of the result, as PySpark has it. Without one, the function's annotation says it.

    Returns:
        A function of columns for ``select`` and ``withColumn``, which ``spark.udf.register`` takes, too.

        from fulgurite.spark import udf

        @udf(returnType="double")
        def score(age, income):
            return 0.2 * age + 0.001 * income if age > 18 else 0.0

        df.withColumn("score", score("age", "income"))
    """
    if function is None:
        return functools.partial(udf, returnType=returnType)
    if not callable(function):
        raise TypeError(f"a function is wanted, not {function!r}")
    kind = returnType if returnType is not None else _annotated(function)
    run = _Rows(function, kind)
    try:
        from pyspark.sql.functions import ArrowUDFType, arrow_udf
    except ImportError:
        made = _of_pandas(run, kind)
    else:
        made = arrow_udf(run.results, kind, ArrowUDFType.SCALAR_ITER)
    functools.update_wrapper(made, function)
    return made


def _annotated(function):
    annotation = inspect.signature(function).return_annotation
    if isinstance(annotation, str):
        annotation = {kind.__name__: kind for kind in _TYPES}.get(annotation)
    if annotation not in _TYPES:
        name = getattr(function, "__name__", "the function")
        raise TypeError(f'Spark needs the type of the result: udf({name}, "double"), or an annotation, def {name}(…) -> float')
    return _TYPES[annotation]


def _of_pandas(run, kind):
    """For Spark 3.5, which has functions of pandas' series only."""
    from pyspark.sql.pandas.functions import PandasUDFType, pandas_udf

    def results(batches):
        import pyarrow

        def arrow(batch):
            columns = batch if isinstance(batch, tuple) else (batch,)
            return tuple(pyarrow.Array.from_pandas(column) for column in columns)

        for column in run.results(map(arrow, batches)):
            yield column.to_pandas()

    return pandas_udf(results, kind, PandasUDFType.SCALAR_ITER)


class _Rows:
    """What executors run."""

    def __init__(self, function, kind):
        self.function = function
        self.kind = kind
        self.names = list(inspect.signature(function).parameters)
        # An executor may not have the file, or the cell of the notebook, that the function is written in.
        code = getattr(function, "__code__", None)
        self.file = code.co_filename if code else None
        self.lines = linecache.getlines(self.file) if code else []

    def results(self, batches):
        """A column of results for each few batches of arguments."""
        import pyarrow
        from pyspark.sql.pandas.types import to_arrow_type
        from pyspark.sql.types import DataType, _parse_datatype_string

        import fulgurite

        if self.lines and not linecache.getlines(self.file):
            linecache.cache[self.file] = (sum(map(len, self.lines)), None, self.lines, self.file)
        returns = to_arrow_type(self.kind if isinstance(self.kind, DataType) else _parse_datatype_string(self.kind))
        called = fulgurite.udf(self.function, returns=_name(returns))
        for columns in _joined(batches):
            names = self.names[: len(columns)]
            table = pyarrow.table(dict(zip(names, columns, strict=True)))
            frame = fulgurite.frame(table).select(called(**{name: fulgurite.col(name) for name in names}).alias("result"))
            found = frame.collect()["result"]
            yield _array(found).cast(returns)


def _joined(batches):
    """Columns of arguments, several batches at a time."""
    import pyarrow

    batches = (batch if isinstance(batch, tuple) else (batch,) for batch in batches)
    for first in batches:
        parts, rows = [first], len(first[0])
        while rows < _ROWS and (more := next(batches, None)) is not None:
            parts.append(more)
            rows += len(more[0])
        yield [pyarrow.chunked_array(list(column)) for column in itertools.zip_longest(*parts)]


def _array(column):
    import pyarrow

    if isinstance(column, pyarrow.ChunkedArray):
        column = column.combine_chunks()
    return column


def _name(kind):
    """What frames call an Arrow type."""
    names = {"double": "float64", "float": "float32", "bool": "boolean", "date32[day]": "date"}
    return names.get(str(kind), str(kind))
