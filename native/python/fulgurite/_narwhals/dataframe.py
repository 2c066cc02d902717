"""Lazy frames, and groups of their rows."""

from __future__ import annotations

import functools
import operator

from narwhals._sql.dataframe import SQLLazyFrame
from narwhals._sql.group_by import SQLGroupBy
from narwhals._utils import Implementation, extend_bool, parse_columns_to_drop
from narwhals.exceptions import (
    ColumnNotFoundError,
    DuplicateError,
    InvalidOperationError,
    ShapeError,
)

from .. import _errors
from .._expressions import column, lit
from .._lazyframe import LazyFrame, concat_frames
from .types import theirs


def of_narwhals(error):
    """The exception that users of Narwhals catch for an error of ours."""
    if isinstance(error, _errors.ColumnError):
        is_twice = "two columns have the name" in str(error)
        return DuplicateError(str(error)) if is_twice else ColumnNotFoundError(str(error))
    if isinstance(error, _errors.ShapeError):
        return ShapeError(str(error))
    if error.kind in ("validation", "data"):
        return InvalidOperationError(str(error))
    return error


def named(df, exprs):
    """Expressions of ours under the names that they have."""
    found = []
    for expr in exprs:
        names = expr._evaluate_output_names(df)
        if expr._alias_output_names is not None:
            names = expr._alias_output_names(names)
        found += [one.alias(name) for name, one in zip(names, expr(df), strict=True)]
    return found


class Frame(SQLLazyFrame):
    """A lazy frame."""

    _implementation = Implementation.UNKNOWN

    def __init__(self, df, *, version):
        self._native_frame = df
        self._version = version

    @staticmethod
    def _is_native(obj):
        return isinstance(obj, LazyFrame)

    @classmethod
    def from_native(cls, data, /, *, context):
        return cls(data, version=context._version)

    def to_narwhals(self, *_, **__):
        return self._version.lazyframe(self, level="lazy")

    def __narwhals_lazyframe__(self):
        return self

    def __native_namespace__(self):
        import fulgurite

        return fulgurite

    def __narwhals_namespace__(self):
        from .namespace import Namespace

        return Namespace(version=self._version)

    def _with_native(self, df):
        return type(self)(df, version=self._version)

    def _with_version(self, version):
        return type(self)(self.native, version=version)

    @property
    def columns(self):
        return list(self.schema)

    @property
    def schema(self):
        try:
            found = self.native.schema
        except _errors.FulguriteError as error:
            raise of_narwhals(error) from error
        return {name: theirs(kind, self._version) for name, kind in found.items()}

    def collect_schema(self):
        return self.schema

    def _iter_columns(self):
        for name in self.columns:
            yield column(name)

    def collect(self, backend, **_):
        try:
            return self._collected(backend)
        except _errors.FulguriteError as error:
            raise of_narwhals(error) from error

    def _collected(self, backend):
        more = {"version": self._version}
        if backend is None or backend is Implementation.PYARROW:
            from narwhals._arrow.dataframe import ArrowDataFrame

            table = self.native.to_arrow()
            return ArrowDataFrame(table, validate_backend_version=True, validate_column_names=True, **more)
        if backend is Implementation.PANDAS:
            from narwhals._pandas_like.dataframe import PandasLikeDataFrame

            return PandasLikeDataFrame(
                self.native.to_pandas(),
                implementation=Implementation.PANDAS,
                validate_backend_version=True,
                validate_column_names=True,
                **more,
            )
        if backend is Implementation.POLARS:
            from narwhals._polars.dataframe import PolarsDataFrame

            return PolarsDataFrame(self.native.to_polars(), validate_backend_version=True, **more)
        raise ValueError(f"frames are collected as those of pyarrow, pandas and Polars, not of {backend}")

    # Columns.

    def simple_select(self, *column_names):
        return self._with_native(self.native.select([column(name) for name in column_names]))

    def select(self, *exprs):
        return self._with_native(self.native.select(named(self, exprs)))

    def aggregate(self, *exprs):
        return self.select(*exprs)

    def with_columns(self, *exprs):
        return self._with_native(self.native.with_columns(named(self, exprs)))

    def drop(self, columns, *, strict):
        names = parse_columns_to_drop(self, columns, strict=strict)
        return self._with_native(self.native.drop([column(name) for name in names])) if names else self

    def rename(self, mapping):
        return self._with_native(self.native.rename(dict(mapping)))

    # Rows.

    def _filter(self, predicate):
        return self._with_native(self.native.filter(predicate(self)[0]))

    def filter(self, predicate):
        # Aggregates may stand in conditions.
        return self._filter(predicate)

    def head(self, n):
        return self._with_native(self.native.head(n))

    def tail(self, n):
        return self._with_native(self.native.tail(n))

    def sort(self, *by, descending, nulls_last):
        keys = [column(name) for name in by]
        falls = list(extend_bool(descending, len(by)))
        return self._with_native(self.native.sort(keys, descending=falls, nulls_last=nulls_last))

    def top_k(self, k, *, by, reverse):
        by = list(by)
        falls = [not each for each in extend_bool(reverse, len(by))]
        keys = [column(name) for name in by]
        return self._with_native(self.native.sort(keys, descending=falls, nulls_last=True).head(k))

    def unique(self, subset, *, keep, order_by):
        if subset and (error := self._check_columns_exist(subset)):
            raise error
        frame = self.native
        if order_by:
            frame = frame.sort([column(name) for name in order_by])
        names = None if subset is None else [column(name) for name in subset]
        return self._with_native(frame.unique(names, keep=keep))

    def drop_nulls(self, subset):
        names = self.columns if subset is None else subset
        tests = [column(name).is_not_null() for name in names]
        return self._with_native(self.native.filter(functools.reduce(operator.and_, tests))) if tests else self

    # Groups and joins.

    def group_by(self, keys, *, drop_null_keys):
        return GroupBy(self, keys, drop_null_keys=drop_null_keys)

    def join(self, other, *, how, left_on, right_on, suffix):
        if how == "cross":
            return self._with_native(self.native.join(other.native, how="cross", suffix=suffix))
        left, right = ([column(name) for name in names] for names in (left_on, right_on))
        joined = self.native.join(other.native, how=how, left_on=left, right_on=right, suffix=suffix)
        return self._with_native(joined)

    def unpivot(self, on, index, variable_name, value_name):
        index = [] if index is None else list(index)
        on = [name for name in self.columns if name not in index] if on is None else list(on)
        kinds = {self.native.schema[name] for name in on}
        parts = []
        for name in on:
            value = column(name) if len(kinds) == 1 else column(name).cast("float64")
            kept = [column(each) for each in index]
            parts.append(self.native.select(kept, lit(name).alias(variable_name), value.alias(value_name)))
        return self._with_native(concat_frames(parts))

    def join_asof(self, *_, **__):
        raise NotImplementedError("`join_asof` is not there")

    def explode(self, *_, **__):
        raise NotImplementedError("`explode` is not there: columns have no lists")

    def with_row_index(self, *_, **__):
        raise NotImplementedError("`with_row_index` is not there")

    def gather_every(self, *_, **__):
        raise NotImplementedError("`gather_every` is not there")

    def sink_parquet(self, file):
        from pyarrow import parquet

        parquet.write_table(self.native.to_arrow(), file)


class GroupBy(SQLGroupBy):
    """Groups of a frame's rows."""

    def __init__(self, df, keys, /, *, drop_null_keys):
        frame, self._keys, self._output_key_names = self._parse_keys(df, keys=keys)
        self._compliant_frame = frame.drop_nulls(self._keys) if drop_null_keys else frame

    def agg(self, *exprs):
        made = list(self._evaluate_exprs(exprs))
        keys = [column(name) for name in self._keys]
        result = self.compliant._with_native(self.compliant.native.group_by(keys).agg(made))
        return result.rename(dict(zip(self._keys, self._output_key_names, strict=True)))
