"""Random frames, and random pipelines as text that Polars and this package both run: `m` is either module."""

from __future__ import annotations

import datetime
import math

import fulgurite as fg
import numpy as np
import polars as pl

TYPES = {
    "int64": pl.Int64,
    "int32": pl.Int32,
    "float64": pl.Float64,
    "float32": pl.Float32,
    "string": pl.String,
    "boolean": pl.Boolean,
}

TEXTS = ["", "a", "Straße", "naïve café", "東京", "a,b", "ab ab", "ÅB", " x ", "😀 ok", "zz9", "007", "-42"]
FLOATS = [0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf, 1e300, 3.0, 0.1]


def random_frame(rng, rows=None):
    """A frame of Polars: nulls, NaN, few and many keys, texts of several alphabets, a column that is missing throughout."""
    rows = int(rng.choice([0, 1, 2, 7, 23, 60])) if rows is None else rows

    def some(values, missing=0.2):
        return [None if rng.random() < missing else values[int(rng.integers(len(values)))] for _ in range(rows)]

    days = [datetime.date(1969, 12, 31), datetime.date(2000, 2, 29), datetime.date(2024, 12, 30)]
    times = [datetime.datetime(1969, 12, 31, 23, 59, 59, 5), datetime.datetime(2024, 2, 29, 12, 30, 1)]
    frame = pl.DataFrame(
        {
            "k": pl.Series(some([1, 2, 3]), dtype=pl.Int64),
            "i": pl.Series(some(list(range(-9, 10))), dtype=pl.Int64),
            "j": pl.Series(some(list(range(-4, 5)), 0.0), dtype=pl.Int32),
            "f": pl.Series(some(FLOATS), dtype=pl.Float64),
            "g": pl.Series(some([0.5, -1.25, 2.0, 7.5]), dtype=pl.Float32),
            "b": pl.Series(some([True, False]), dtype=pl.Boolean),
            "s": pl.Series(some(TEXTS), dtype=pl.String),
            "c": pl.Series(some(["x", "ü", "z"]), dtype=pl.Categorical if rng.random() < 0.5 else pl.String),
            "d": pl.Series(some(days), dtype=pl.Date),
            "t": pl.Series(some(times), dtype=pl.Datetime("us")),
            "z": pl.Series([None] * rows, dtype=pl.Float64),
        }
    )
    # Columns that begin within their memory.
    return frame.slice(1) if rows > 2 and rng.random() < 0.3 else frame


class Grammar:
    """Expressions as text. Depth is how many operators may still stand within each other.

    Literals stand beside columns: what is made of literals alone has a type of its own in Polars.
    """

    def __init__(self, rng):
        self.rng = rng

    def one(self, *choices):
        return choices[int(self.rng.integers(len(choices)))]

    def whole(self, depth=2):
        if depth == 0 or self.rng.random() < 0.2:
            return self.one('m.col("i")', 'm.col("j")', 'm.col("k")')
        x = lambda: self.whole(depth - 1)  # noqa: E731
        y = lambda: self.one(x, x, lambda: f"m.lit({self.rng.integers(-3, 4)})")()  # noqa: E731
        return self.one(
            lambda: f"({x()} + {y()})",
            lambda: f"({x()} - {y()})",
            lambda: f"({x()} * {self.rng.integers(-3, 4)})",
            lambda: f"({x()} // {y()})",
            lambda: f"({x()} % {y()})",
            lambda: f"(-{x()})",
            lambda: f"({x()}).abs()",
            lambda: f"({x()}).fill_null({self.rng.integers(0, 4)})",
            lambda: f"({x()}).clip(-2, {self.rng.integers(0, 4)})",
            lambda: f"m.when({self.truth(depth - 1)}).then({x()}).otherwise({y()})",
            lambda: f"m.coalesce({x()}, {y()})",
            lambda: f'{self.text(depth - 1)}.str.{self.one("len_chars", "len_bytes")}().cast(T("int64"))',
            lambda: f'm.col("{self.one("d", "t")}").dt.{self.one("year", "month", "day", "weekday")}().cast(T("int64"))',
            lambda: f'm.col("t").dt.{self.one("hour", "minute", "second")}().cast(T("int64"))',
            lambda: f'm.max_horizontal({x()}, {y()})',
        )()

    def real(self, depth=2):
        if depth == 0 or self.rng.random() < 0.2:
            return self.one('m.col("f")', 'm.col("g")', 'm.col("z")', 'm.col("f").fill_nan(2.5)')
        x = lambda: self.real(depth - 1)  # noqa: E731
        y = lambda: self.one(x, x, lambda: "m.lit(0.5)")()  # noqa: E731
        return self.one(
            lambda: f"({x()} + {y()})",
            lambda: f"({x()} - {self.whole(depth - 1)})",
            lambda: f"({x()} * {y()})",
            lambda: f"({self.whole(depth - 1)} / {self.whole(depth - 1)})",
            lambda: f"({x()} / {y()})",
            lambda: f"({x()}).abs().sqrt()",
            lambda: f"({x()}).clip(-5.0, 5.0).exp()",
            lambda: f"({x()}).abs().log1p()",
            lambda: f"({x()}).tanh()",
            lambda: f"({x()}).floor()",
            lambda: f"({x()}).ceil()",
            lambda: f"({x()}).sign()",
            lambda: f"({x()}) ** 2",
            lambda: f"({x()}).fill_null(0.25)",
            lambda: f"({x()}).fill_nan(None)",
            lambda: f"m.when({self.truth(depth - 1)}).then({x()}).otherwise({y()})",
            lambda: f'({self.whole(depth - 1)}).cast(T("float64"))',
            lambda: f"m.min_horizontal({x()}, {y()})",
            lambda: f"np.cos(({x()}).clip(-3.0, 3.0))",
        )()

    def truth(self, depth=2):
        if depth == 0 or self.rng.random() < 0.15:
            return self.one('m.col("b")', 'm.col("i").is_null()', '(m.col("k") > 1)')
        sign = self.one("<", "<=", "==", "!=", ">", ">=")
        return self.one(
            lambda: f"({self.whole(depth - 1)} {sign} {self.whole(depth - 1)})",
            lambda: f"({self.real(depth - 1)} {sign} {self.real(depth - 1)})",
            lambda: f"({self.text(depth - 1)} {sign} {self.text(depth - 1)})",
            lambda: f'(m.col("d") {sign} datetime.date(2000, 2, 29))',
            lambda: f'(m.col("c") == "ü")',
            lambda: f"({self.truth(depth - 1)} & {self.truth(depth - 1)})",
            lambda: f"({self.truth(depth - 1)} | {self.truth(depth - 1)})",
            lambda: f"(~{self.truth(depth - 1)})",
            lambda: f"({self.whole(depth - 1)}).is_in([1, 2, 5])",
            lambda: f"({self.text(depth - 1)}).is_in(['a', 'Straße', None])",
            lambda: f"({self.whole(depth - 1)}).is_between(-1, 3, {self.one('both', 'left', 'right', 'none')!r})",
            lambda: f"({self.real(depth - 1)}).{self.one('is_nan', 'is_not_nan', 'is_finite', 'is_infinite')}()",
            lambda: f"({self.real(depth - 1)}).{self.one('is_null', 'is_not_null')}()",
            lambda: f"({self.text(depth - 1)}).str.contains({self.one('a', '[0-9]+', '^S', 'é')!r})",
            lambda: f"({self.text(depth - 1)}).str.contains('a,b', literal=True)",
            lambda: f"({self.text(depth - 1)}).str.{self.one('starts_with', 'ends_with')}({self.one('a', '京', '')!r})",
            lambda: f"({self.whole(depth - 1)}).{self.one('eq', 'ne')}_missing({self.whole(depth - 1)})",
        )()

    def text(self, depth=2):
        if depth == 0 or self.rng.random() < 0.2:
            return 'm.col("s")'
        x = self.text(depth - 1)
        return self.one(
            lambda: f"({x} + '_ü')",
            lambda: f"({x} + {self.text(depth - 1)})",
            lambda: f"(m.lit('é9') + {x})",
            lambda: f"{x}.str.{self.one('to_uppercase', 'to_lowercase')}()",
            lambda: f"{x}.str.slice({self.rng.integers(-4, 4)}, {self.one(None, 0, 1, 3)})",
            lambda: f"{x}.str.{self.one('head', 'tail')}({self.rng.integers(-3, 4)})",
            lambda: f"{x}.str.{self.one('strip_chars', 'strip_chars_start', 'strip_chars_end')}({self.one('', 'None', repr('aé 京'))})",
            lambda: f"{x}.str.{self.one('replace', 'replace_all')}('a', 'ÄÄ')",
            lambda: f"{x}.str.{self.one('replace', 'replace_all')}('([ab])', '<$1>')",
            lambda: f"{x}.str.extract('([a-z]+)', 1)",
            lambda: f"{x}.str.zfill(5)",
            lambda: f"({x}).fill_null('?')",
            lambda: f"m.when({self.truth(depth - 1)}).then({x}).otherwise(m.lit('no'))",
        )()

    def value(self, depth=2):
        return self.one(self.whole, self.real, self.truth, self.text)(depth)

    def aggregate(self, depth=1):
        return self.one(
            lambda: f"({self.one(self.whole, self.real)(depth)}).{self.one('sum', 'mean', 'min', 'max')}()",
            # Between two infinities Polars has one median in groups, and another one without.
            lambda: f"({self.whole(depth)}).{self.one('std(0)', 'std(1)', 'var(1)', 'median()')}",
            lambda: f"({self.value(depth)}).{self.one('count', 'n_unique', 'first', 'last', 'null_count', 'len')}()",
            lambda: f"({self.text(depth)}).{self.one('min', 'max')}()",
            lambda: f"({self.truth(depth)}).{self.one('sum', 'any', 'all')}()",
            lambda: f"({self.whole(depth)}).quantile({self.one(0.0, 0.25, 0.9)}, {self.one('nearest', 'lower', 'linear')!r})",
            lambda: "m.len()",
            lambda: f"(({self.whole(depth)}).sum() / m.len())",
            lambda: f"({self.real(depth)}).max() - ({self.real(depth)}).min()",
        )()

    def key(self):
        return self.one('"k"', '"c"', '"b"', '"f"', '"s"', '"d"', '(m.col("i") % 3).alias("key")', '"z"', '"j"')

    # Steps that keep all columns, and steps that end a pipeline.

    def step(self):
        return self.one(
            lambda: f".filter({self.truth()})",
            lambda: f".filter({self.truth(1)}, {self.truth(1)})",
            lambda: f".with_columns({self.one('i', 'k')}={self.whole()})",
            lambda: f".with_columns(f={self.real()}, s={self.text()})",
            lambda: f".with_columns(b={self.truth()})",
            lambda: f".with_columns(f=m.col('f') - m.col('f').max(), i=m.len() - m.col('i'))",
            lambda: f".sort({self.key()}, {self.real(1)}, descending=[{self.one(True, False)}, {self.one(True, False)}], nulls_last={self.one(True, False)}, maintain_order=True)",
            lambda: f".sort(m.col('s') + {self.text(1)}, descending={self.one(True, False)}, maintain_order=True)",
            lambda: f".unique({self.one('None', repr(['k']), repr(['c', 'b']), repr(['f']), repr('s'))}, keep={self.one('first', 'last', 'none')!r}, maintain_order=True)",
            lambda: f".slice({self.rng.integers(-30, 30)}, {self.one(None, 0, 3, 40)})",
            lambda: f".{self.one('head', 'tail', 'limit')}({self.one(0, 1, 5)})",
            lambda: f".join(other.lazy(), on={self.one(repr('k'), repr(['k', 'c']), repr('s'), repr('f'))}, how={self.one('semi', 'anti')!r}, maintain_order='left')",
            lambda: f".join(other.lazy().select('k', x=m.col('i') * 2), on='k', how={self.one('inner', 'left')!r}, maintain_order='left_right')",
            lambda: ".drop_nulls(['i', 's'])",
        )()

    def end(self):
        names = iter("pqruvw")
        return self.one(
            lambda: "",
            lambda: f".select({', '.join(f'{next(names)}={self.value()}' for _ in range(3))})",
            lambda: f".select({', '.join(f'{next(names)}={self.aggregate()}' for _ in range(3))})",
            lambda: f".select({next(names)}={self.aggregate()}, {next(names)}={self.value()})",
            lambda: f".group_by({self.key()}, maintain_order=True).agg({', '.join(f'{next(names)}={self.aggregate()}' for _ in range(3))})",
            lambda: f".group_by({self.key()}, maintain_order=True).agg({next(names)}={self.aggregate(2)})",
            lambda: f".group_by('k', 'c', maintain_order=True).agg({next(names)}={self.aggregate()}, {next(names)}=m.len())",
            lambda: ".drop('d', 't').rename({'i': 'ï', 's': 'text'})",
            lambda: f".select(m.col('i', 'j') + 1, m.col('f').cast(T('string')).alias('txt').is_null())",
            lambda: f".join(other.lazy(), on={self.one(repr('k'), repr(['k', 'c']), repr('f'))}, how={self.one('inner', 'left', 'full', 'right')!r}, nulls_equal={self.one(True, False)})",
            lambda: f".join(other.lazy().select('k', 's').head(3), how='cross')",
            lambda: f".select(m.col('*').{self.one('count', 'n_unique', 'null_count')}())",
        )()

    def pipeline(self):
        """A pipeline as text, and whether its rows have an order."""
        steps = [self.step() for _ in range(int(self.rng.integers(0, 4)))]
        end = self.end()
        return "".join(["frame.lazy()", *steps, end]), not end.startswith(".join(")


def evaluated(text, module, frame, other):
    """What a pipeline gives of two frames of Polars, as a frame of Polars."""
    scope = {"m": module, "np": np, "datetime": datetime}
    if module is pl:
        scope |= {"T": TYPES.get, "frame": frame, "other": other}
        # Its optimizer changes the order of rows, and which of them `slice` takes.
        return eval(text, scope).collect(optimizations=pl.QueryOptFlags.none())
    scope |= {"T": str, "frame": fg.frame(frame), "other": fg.frame(other)}
    return eval(text, scope).to_polars()


def alike(got, want, is_ordered=True, tolerance=1e-9):
    """Asserts that a frame of ours is the one of Polars: names, kinds of types, values, and the order of rows.

    `tolerance` is for floats of 64 bits; those of 32 bits have another one.
    """
    assert got.columns == want.columns
    assert got.height == want.height, f"{got.height} rows, not {want.height}"
    for name in want.columns:
        mine, its = got[name].dtype, want[name].dtype
        assert _kind(mine) == _kind(its), f"{name}: {mine}, not {its}"
    rows, wanted = (frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).rows() for frame in (got, want))
    if not is_ordered:
        rows, wanted = sorted(rows, key=_order), sorted(wanted, key=_order)
    narrow = [pl.Float32 in (got[name].dtype, want[name].dtype) for name in want.columns]
    for at, (row, its) in enumerate(zip(rows, wanted, strict=True)):
        for name, one, other, is_narrow in zip(want.columns, row, its, narrow, strict=True):
            assert _same(one, other, 1e-5 if is_narrow else tolerance), f"row {at} of {name!r}: {one!r}, not {other!r}"


def _kind(dtype):
    if dtype.is_integer():
        return "integer"
    return "text" if dtype in (pl.Categorical, pl.String) else str(dtype)


def _order(row):
    return [(value is None, value != value, str(value + 0.0 if isinstance(value, float) else value)) for value in row]


def _same(one, other, tolerance):
    if isinstance(one, float) and isinstance(other, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return one == other or math.isclose(one, other, rel_tol=tolerance, abs_tol=1e-9)
    return one == other and type(one) is type(other)
