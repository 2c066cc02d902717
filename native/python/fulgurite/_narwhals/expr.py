"""Expressions: each is a function of a frame, and gives expressions of ours."""

from __future__ import annotations

from narwhals._sql.expr import SQLExpr
from narwhals._utils import NO_DEFAULT, Implementation, not_implemented

from .._expressions import call, column, lit
from .texts import Dates, Texts
from .types import ours

_NO_WINDOWS = "windows (`over`) are not there: group the frame and join the result"


def lacking(*_, **__):
    raise NotImplementedError(_NO_WINDOWS)


class Expr(SQLExpr):
    """See :class:`narwhals._sql.expr.SQLExpr`; what it composes for SQL is an operator of ours in most cases."""

    _implementation = Implementation.UNKNOWN

    def __init__(
        self,
        call,
        window_function=None,
        *,
        evaluate_output_names,
        alias_output_names,
        version,
        implementation=Implementation.UNKNOWN,
    ):
        self._call = call
        self._window_function = window_function
        self._evaluate_output_names = evaluate_output_names
        self._alias_output_names = alias_output_names
        self._version = version

    def __narwhals_namespace__(self):
        from .namespace import Namespace

        return Namespace(version=self._version)

    @classmethod
    def from_column_names(cls, evaluate_column_names, /, *, context):
        return cls(
            lambda df: [column(name) for name in evaluate_column_names(df)],
            evaluate_output_names=evaluate_column_names,
            alias_output_names=None,
            version=context._version,
        )

    @classmethod
    def from_column_indices(cls, *column_indices, context):
        def func(df):
            names = df.columns
            return [column(names[at]) for at in column_indices]

        return cls(
            func,
            evaluate_output_names=cls._eval_names_indices(column_indices),
            alias_output_names=None,
            version=context._version,
        )

    @classmethod
    def _alias_native(cls, expr, name, /):
        return expr.alias(name)

    def broadcast(self):
        # Aggregates stand in all rows by themselves.
        return self

    def _window_expression(self, *_, **__):
        raise NotImplementedError(_NO_WINDOWS)

    def over(self, partition_by, order_by):
        raise NotImplementedError(_NO_WINDOWS)

    # Operators.

    def __invert__(self):
        return self._with_elementwise(lambda x: ~x)

    def __neg__(self):
        return self._with_elementwise(lambda x: -x)

    def __xor__(self, other):
        return self._with_binary(lambda x, other: x ^ other, other)

    def __floordiv__(self, other):
        return self._with_binary(lambda x, other: x // other, other)

    def __rfloordiv__(self, other):
        return self._with_binary(lambda x, other: other // x, other).alias("literal")

    def __mod__(self, other):
        return self._with_binary(lambda x, other: x % other, other)

    def __rmod__(self, other):
        return self._with_binary(lambda x, other: other % x, other).alias("literal")

    # Aggregates.

    def _aggregate(self, function):
        return self._with_callable(function, lacking)

    def all(self):
        return self._aggregate(lambda x: x.all())

    def any(self):
        return self._aggregate(lambda x: x.any())

    def sum(self):
        return self._aggregate(lambda x: x.sum())

    def mean(self):
        return self._aggregate(lambda x: x.mean())

    def median(self):
        return self._aggregate(lambda x: x.median())

    def min(self):
        return self._aggregate(lambda x: x.min())

    def max(self):
        return self._aggregate(lambda x: x.max())

    def count(self):
        return self._aggregate(lambda x: x.count())

    def len(self):
        return self._aggregate(lambda x: x.len())

    def null_count(self):
        return self._aggregate(lambda x: x.null_count())

    def n_unique(self):
        return self._aggregate(lambda x: x.n_unique())

    def std(self, *, ddof):
        return self._aggregate(lambda x: x.std(ddof))

    def var(self, *, ddof):
        return self._aggregate(lambda x: x.var(ddof))

    def quantile(self, quantile, interpolation):
        return self._aggregate(lambda x: x.quantile(quantile, interpolation))

    def first(self, order_by=()):
        return self._ordered("first", order_by)

    def last(self, order_by=()):
        return self._ordered("last", order_by)

    def _ordered(self, name, order_by):
        if order_by:
            raise NotImplementedError(f"`{name}` with `order_by` is not there: sort the frame before")
        return self._aggregate(lambda x: getattr(x, name)())

    def any_value(self, *, ignore_nulls):
        return self._aggregate(lambda x: x.max() if ignore_nulls else x.first())

    # Cell by cell.

    def abs(self):
        return self._with_elementwise(lambda x: x.abs())

    def cast(self, dtype):
        kind = ours(dtype, self._version)
        return self._with_elementwise(lambda x: x.cast(kind))

    def is_null(self):
        return self._with_elementwise(lambda x: x.is_null())

    def is_nan(self):
        return self._with_elementwise(lambda x: x.is_nan())

    def is_finite(self):
        return self._with_elementwise(lambda x: x.is_finite())

    def is_in(self, other):
        values = list(other)
        return self._with_elementwise(lambda x: x.is_in(values))

    def fill_nan(self, value):
        return self._with_elementwise(lambda x: x.fill_nan(value))

    def fill_null(self, value, strategy, limit):
        if strategy is not None:
            raise NotImplementedError("`fill_null` with a strategy is not there: give a value")
        return self._with_elementwise(lambda x, value: x.fill_null(value), expression_args={"value": value})

    def clip(self, lower_bound, upper_bound):
        bounds = {"low": lower_bound, "high": upper_bound}
        return self._with_elementwise(lambda x, low, high: x.clip(low, high), expression_args=bounds)

    def clip_lower(self, lower_bound):
        return self._with_elementwise(lambda x, low: x.clip(low), expression_args={"low": lower_bound})

    def clip_upper(self, upper_bound):
        return self._with_elementwise(lambda x, high: x.clip(None, high), expression_args={"high": upper_bound})

    def round(self, decimals):
        return self._with_elementwise(lambda x: x.round(decimals))

    def floor(self):
        return self._with_elementwise(lambda x: x.floor())

    def ceil(self):
        return self._with_elementwise(lambda x: x.ceil())

    def sin(self):
        return self._with_elementwise(lambda x: x.sin())

    def cos(self):
        return self._with_elementwise(lambda x: x.cos())

    def sqrt(self):
        return self._with_elementwise(lambda x: x.sqrt())

    def exp(self):
        return self._with_elementwise(lambda x: x.exp())

    def log(self, base):
        return self._with_elementwise(lambda x: x.log(base))

    def replace_strict(self, default, old, new, *, return_dtype):
        if default is NO_DEFAULT:
            raise NotImplementedError("`replace_strict` takes a `default` here")
        kind = None if return_dtype is None else ours(return_dtype, self._version)

        def replaced(x, default):
            for before, after in reversed(list(zip(old, new, strict=True))):
                default = call("if_else", x.eq_missing(before), lit(after), default)
            return default if kind is None else default.cast(kind)

        return self._with_elementwise(replaced, expression_args={"default": default})

    @property
    def str(self):
        return Texts(self)

    @property
    def dt(self):
        return Dates(self)

    cum_sum = cum_max = cum_min = cum_count = cum_prod = lacking
    rolling_sum = rolling_mean = rolling_var = rolling_std = lacking
    diff = shift = rank = is_first_distinct = is_last_distinct = is_unique = lacking
    mode = lacking
    skew = not_implemented()
    kurtosis = not_implemented()
    list = not_implemented()
    map = not_implemented()
    struct = not_implemented()
