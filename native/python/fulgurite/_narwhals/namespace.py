"""Expressions that are made of no other one, and of several; files."""

from __future__ import annotations

from narwhals._compliant import CompliantSelector, LazySelectorNamespace
from narwhals._compliant.namespace import AlignDiagonal
from narwhals._sql.namespace import SQLNamespace
from narwhals._utils import Implementation, not_implemented

from .. import _expression_makers as makers
from .._expressions import call, lit
from .._lazyframe import concat_frames, scan_csv, scan_parquet
from .dataframe import Frame
from .expr import Expr
from .types import ours


class Selectors(LazySelectorNamespace):
    """Columns by their types and names."""

    @property
    def _selector(self):
        return Selector


class Selector(CompliantSelector, Expr):
    """Columns that become an expression each."""

    _window_function = None

    def _to_expr(self):
        return Expr(
            self._call,
            self._window_function,
            evaluate_output_names=self._evaluate_output_names,
            alias_output_names=self._alias_output_names,
            version=self._version,
        )


class Namespace(AlignDiagonal, SQLNamespace):
    """What Narwhals' functions call."""

    _implementation = Implementation.UNKNOWN

    def __init__(self, *, version):
        self._version = version

    @property
    def selectors(self):
        return Selectors.from_namespace(self)

    @property
    def _expr(self):
        return Expr

    @property
    def _lazyframe(self):
        return Frame

    def is_native(self, obj, /):
        return Frame._is_native(obj)

    def from_native(self, data, /):
        if Frame._is_native(data):
            return Frame.from_native(data, context=self)
        raise TypeError(f"Unsupported type: {type(data).__name__!r}")

    def scan_csv(self, source, *, separator=",", **more):
        return Frame.from_native(scan_csv(source, separator=separator, **more), context=self)

    def scan_parquet(self, source, **more):
        return Frame.from_native(scan_parquet(source, **more), context=self)

    # Values.

    def _lit(self, value):
        return lit(value)

    def _when(self, condition, value, otherwise=None):
        return call("if_else", condition, value, lit(None) if otherwise is None else otherwise)

    def _coalesce(self, *exprs):
        return makers.coalesce(exprs)

    def _function(self, name, *args):
        raise NotImplementedError(f"there is no function {name!r}")

    def lit(self, value, dtype):
        kind = None if dtype is None else ours(dtype, self._version)
        if isinstance(value, (list, tuple, dict)):
            raise NotImplementedError("columns have no lists and structs")

        def func(df, _=None):
            return [lit(value, kind)]

        return Expr(
            func,
            func,
            evaluate_output_names=lambda _df: ["literal"],
            alias_output_names=None,
            version=self._version,
        )

    def len(self):
        return Expr(
            lambda _df: [makers.len()],
            evaluate_output_names=lambda _df: ["len"],
            alias_output_names=None,
            version=self._version,
        )

    # Columns together.

    def _horizontal(self, function, exprs):
        return Expr._from_elementwise_horizontal_op(lambda cols: function([*cols]), *exprs)

    def sum_horizontal(self, *exprs):
        return self._horizontal(makers.sum_horizontal, exprs)

    def min_horizontal(self, *exprs):
        return self._horizontal(makers.min_horizontal, exprs)

    def max_horizontal(self, *exprs):
        return self._horizontal(makers.max_horizontal, exprs)

    def mean_horizontal(self, *exprs):
        def mean(cols):
            counts = [each.is_not_null().cast("int64") for each in cols]
            return makers.sum_horizontal(cols) / makers.sum_horizontal(counts)

        return self._horizontal(mean, exprs)

    def concat_str(self, *exprs, separator, ignore_nulls):
        def joined(cols):
            if not ignore_nulls:
                return makers.concat_str(cols, separator=separator)
            texts = [each.cast("string") for each in cols]
            parts = [
                call("if_else", each.is_null(), lit(""), (lit(separator) + each) if separator else each)
                for each in texts
            ]
            whole = call("str.concat", *parts) if len(parts) > 1 else parts[0]
            return whole.str.slice(len(separator)) if separator else whole

        return self._horizontal(joined, exprs)

    def concat(self, items, *, how):
        items = [*items]
        if how == "diagonal":
            items = self.align_diagonal(items)
        elif how != "vertical":
            raise NotImplementedError(f"frames are concatenated vertically or diagonally, not {how!r}")
        schema = items[0].schema
        if not all(each.schema == schema for each in items[1:]):
            raise TypeError("inputs should all have the same schema")
        return items[0]._with_native(concat_frames([each.native for each in items]))

    corr = not_implemented()
    cov = not_implemented()
    struct = not_implemented()
    list = not_implemented()
