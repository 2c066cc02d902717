"""Lazy frames: tables that are computed when somebody collects them, with the names and the meaning that Polars has.

A frame is the plan that the engine reads (`_trees.py` says what stands in it), the kind of table that it becomes, and the place
in Python that asked for its last step. It computes nothing: the plan is resolved, optimized and run in Rust.
"""

from __future__ import annotations

import numpy as np

from . import _engine, _native
from ._array import BOOL, FLOAT, INT, make, to_numpy, watched
from ._errors import FulguriteError
from ._expression_makers import coalesce, condition
from ._expressions import Expr, balanced, col, column, expanded, parsed_all
from ._frame_plans import array_of, cells_of, count, each_of, headers, too_deep, written
from ._frame_sources import Arrow, CsvFile, Frames, Pandas, ParquetFile, Polars, source_of
from ._ops import column as column_of
from ._places import place
from ._symbols import Rows
from ._trees import literal
from ._udf import explained, lifted, mapped, settled

__all__ = ["GroupBy", "LazyFrame", "concat_frames", "frame", "scan_csv", "scan_parquet"]

_JOINS = ("inner", "left", "right", "full", "semi", "anti", "cross")


class LazyFrame(Rows):
    """A table that is computed when somebody collects it: made by :func:`frame`, :func:`scan_csv` and :func:`scan_parquet`.

    Methods give new frames, and compute nothing but where they say so. Names and meaning are Polars'.

    >>> import fulgurite as fg
    >>> cities = fg.frame({"state": ["A", "B", "A"], "people": [3, 1, 2]})
    >>> totals = cities.group_by("state").agg(fg.col("people").sum()).sort("state")
    >>> totals.collect().to_dict()
    {'state': ['A', 'B'], 'people': [5, 1]}
    """

    __slots__ = ("_before", "_kind", "_place", "_plan", "_types")

    def __init__(self, *_, **__):
        raise TypeError("make frames with fulgurite.frame(), scan_csv() and scan_parquet()")

    # What it is.

    @property
    def schema(self):
        """The types of the columns, by their names."""
        if self._types is None:
            text, sources, _ = written(self._plan)
            try:
                found = _native.relation_schema(text, headers(sources), place())
            except FulguriteError:
                self._blame()
                raise
            self._types = dict(found)
        return dict(self._types)

    def collect_schema(self):
        """The types of the columns, by their names."""
        return self.schema

    @property
    def columns(self):
        """The names of the columns."""
        return list(self.schema)

    @property
    def dtypes(self):
        """The types of the columns."""
        return list(self.schema.values())

    @property
    def width(self):
        """The number of columns."""
        return len(self.schema)

    def explain(self, *, optimized=True, run=False):
        """The plan as text: the steps, those that are run first below.

        Args:
            optimized: Whether it is the plan that would run, or the one that was written.
            run: Runs the plan, and shows what was done in the order of time: the row groups of Parquet files that were read, how
                rows were selected and what the other way would have moved, how many groups and rows there were, and the fused
                operators with their costs.
        """
        if run:
            notes = []
            shown = self._run(_native.relation_observed, notes=notes)
            return "\n".join([*notes, shown])
        text, sources, _ = written(self._plan)
        try:
            shown = _native.relation_explain(text, headers(sources), bool(optimized), place())
        except FulguriteError:
            self._blame()
            raise
        lines = explained(self._plan)
        return "\n".join([shown.rstrip("\n"), "functions:", *(f"  {line}" for line in lines)]) if lines else shown

    def __repr__(self):
        try:
            return f"LazyFrame\n{self.explain(optimized=False)}"
        except Exception as error:
            return f"LazyFrame, whose plan is wrong: {error}"

    def __bool__(self):
        raise TypeError("whether a lazy frame has rows is known when it is collected")

    def __len__(self):
        raise TypeError("the number of rows is known when a frame is collected: frame.select(fg.len()).collect()")

    def __iter__(self):
        raise TypeError("a lazy frame has no rows before collect()")

    def __getitem__(self, key):
        raise TypeError("parts of a lazy frame are taken by select(), filter() and slice()")

    def __array__(self, dtype=None, copy=None):
        raise TypeError("a lazy frame has no cells: call its to_array()")

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table().__arrow_c_stream__(requested_schema)

    __hash__ = None

    def _blame(self):
        """Raises the error of the first step that is wrong, with the line that asked for it."""
        for each in self._before:
            each._blame()
        text, sources, _ = written(self._plan)
        _native.relation_schema(text, headers(sources), self._place)

    # Rows.

    def filter(self, *predicates, **constraints):
        """The rows for which all predicates are true; a missing one is not. Rows keep their order.

        Args:
            predicates: Expressions, names of columns and arrays of booleans.
            constraints: Values that columns are equal to.
        """
        tests = self._expanded([condition(predicates, constraints)])
        tree = balanced(_both, [each["expr"] for each in tests])
        return self._then({"filter": {"input": self._plan, "predicate": tree}})

    def slice(self, offset, length=None):
        """So many rows from one on, counted from 0; a negative offset counts from the end."""
        offset = count("offset", offset, negative=True)
        length = None if length is None else count("length", length)
        return self._then({"slice": {"input": self._plan, "offset": offset, "length": length}})

    def head(self, n=5):
        """The first `n` rows."""
        return self.slice(0, count("n", n))

    def limit(self, n=5):
        """The first `n` rows."""
        return self.head(n)

    def tail(self, n=5):
        """The last `n` rows."""
        n = count("n", n)
        return self.slice(-n, n) if n else self.slice(0, 0)

    def first(self):
        """The first row."""
        return self.head(1)

    def last(self):
        """The last row."""
        return self.tail(1)

    def sort(self, by, *more_by, descending=False, nulls_last=False, maintain_order=True):
        """The rows in the order of columns or expressions; rows that are equal keep their order.

        Args:
            by: Columns and expressions, the first one before the others. NaN is larger than all numbers.
            descending: Whether large values come first, for all or for each of them.
            nulls_last: Whether missing values come last, for all or for each of them; otherwise they come first.
            maintain_order: Is there for Polars' sake: the order of equal rows is kept in any case.
        """
        keys = self._expanded(parsed_all([by, *more_by]))
        falls, lasts = each_of("descending", descending, keys), each_of("nulls_last", nulls_last, keys)
        orders = [
            {"expr": key["expr"], "descending": fall, "nulls_last": last}
            for key, fall, last in zip(keys, falls, lasts, strict=True)
        ]
        return self._then({"sort": {"input": self._plan, "by": orders}})

    def top_k(self, k, *, by):
        """The `k` rows with the largest values of columns or expressions, the largest first."""
        return self.sort(by, descending=True, nulls_last=True).head(k)

    def bottom_k(self, k, *, by):
        """The `k` rows with the smallest values of columns or expressions, the smallest first."""
        return self.sort(by, nulls_last=True).head(k)

    def unique(self, subset=None, *, keep="any", maintain_order=False):
        """One row of those that are equal.

        Args:
            subset: The columns that have to be equal; all by default.
            keep: Which one: ``"any"``, ``"first"`` or ``"last"``; ``"none"`` keeps rows alone that no other one is equal to.
            maintain_order: Whether rows keep their order. They do in any case today.
        """
        if keep not in ("any", "first", "last", "none"):
            raise ValueError(f"keep is 'any', 'first', 'last' or 'none', not {keep!r}")
        names = None if subset is None else self._names([subset])
        return self._then({"unique": {"input": self._plan, "subset": names, "keep": keep}})

    def drop_nulls(self, subset=None):
        """The rows without missing values, in all columns or in some."""
        return self._all_true(subset, Expr.is_not_null)

    def drop_nans(self, subset=None):
        """The rows without NaN, in all columns of floats or in some."""
        if subset is None:
            subset = self._floats()
        # Missing values are no NaN.
        return self._all_true(subset, lambda one: one.is_not_nan().fill_null(True))

    def _all_true(self, subset, test):
        names = self.columns if subset is None else self._names([subset])
        return self.filter(*(test(column(name)) for name in names)) if names else self

    # Columns.

    def select(self, *exprs, **named_exprs):
        """Columns: names of the frame's, expressions, and values; `named_exprs` have their names.

        Aggregates beside other expressions stand in all rows.
        """
        made = self._expanded(parsed_all(exprs, named_exprs))
        return self._then({"select": {"input": self._plan, "exprs": made}})

    def with_columns(self, *exprs, **named_exprs):
        """The frame with further columns, or with others in the place of its own.

        An array of one dimension is a column, too; it has as many cells as the frame has rows, in their order.

        Raises:
            ShapeError: When it is collected, for an array of another length.
        """
        made = self._expanded(parsed_all(exprs, named_exprs))
        return self._then({"with_columns": {"input": self._plan, "exprs": made}})

    def map(self, function, *, name=None, returns=None):
        """The frame with a column that a Python function gives of others: its parameters are their names.

        :func:`fulgurite.udf` says what becomes of the function.

        Args:
            function: A function of values. A parameter with a default is a column if there is one of its name.
            name: The name of the column; by default, that of the function.
            returns: The type of the column, for functions that have no translation and no annotation.

        >>> import fulgurite as fg
        >>> def total(price, count):
        ...     return price * count if count > 0 else 0.0
        >>> fg.frame({"price": [1.5, 2.0], "count": [2, 0]}).map(total).collect().to_dict()
        {'price': [1.5, 2.0], 'count': [2, 0], 'total': [3.0, 0.0]}
        """
        return mapped(self, function, name, returns)

    def drop(self, *columns, strict=True):
        """The frame without columns; those that it has not are an error, unless `strict` is false."""
        names = self._names(columns)
        if not strict:
            known = set(self.columns)
            names = [name for name in names if name in known]
        return self._then({"drop": {"input": self._plan, "names": names}})

    def rename(self, mapping, *, strict=True):
        """The frame with other names: new ones by old ones, or what a function makes of each.

        Args:
            strict: Whether a name that it has not is an error.
        """
        if callable(mapping):
            mapping = {name: mapping(name) for name in self.columns}
        if not strict:
            known = set(self.columns)
            mapping = {old: new for old, new in mapping.items() if old in known}
        for old, new in mapping.items():
            if not isinstance(old, str) or not isinstance(new, str):
                raise TypeError(f"names are texts, and {old!r}: {new!r} is no pair of them")
        return self._then({"rename": {"input": self._plan, "names": dict(mapping)}})

    def cast(self, dtypes):
        """The columns with other types: one for all, or types by names."""
        if not isinstance(dtypes, dict):
            return self.select(col("*").cast(dtypes))
        return self.with_columns(*(column(name).cast(dtype) for name, dtype in dtypes.items()))

    def fill_null(self, value):
        """A value in the place of missing ones, in all columns whose type goes with it."""
        if isinstance(value, Expr):
            return self.select(col("*").fill_null(value))
        wanted = _FILLED.get(literal(value)["type"], ())
        names = [name for name, kind in self.schema.items() if kind in wanted]
        return self.with_columns(col(names).fill_null(value)) if names else self

    def fill_nan(self, value):
        """A value in the place of NaN, in all columns of floats; None makes it missing."""
        names = self._floats()
        return self.with_columns(col(names).fill_nan(value)) if names else self

    def _floats(self):
        return [name for name, kind in self.schema.items() if kind in ("float32", "float64")]

    # Groups and joins.

    def group_by(self, *by, maintain_order=False, **named_by):
        """Groups of rows whose keys are equal; missing and NaN are keys of their own.

        Args:
            by: Columns and expressions.
            maintain_order: Whether groups are in the order of their first rows; otherwise they are in any order.
        """
        keys = self._expanded(parsed_all(by, named_by))
        if not keys:
            raise TypeError("group_by() takes a key at least")
        return GroupBy(self, keys, bool(maintain_order))

    def join(
        self,
        other,
        on=None,
        how="inner",
        *,
        left_on=None,
        right_on=None,
        suffix="_right",
        nulls_equal=False,
        coalesce=None,
        maintain_order=None,
    ):
        """The rows of two frames whose keys are equal.

        Args:
            other: The frame at the right.
            on: The keys of both: columns and expressions.
            how: ``"inner"``, ``"left"``, ``"right"``, ``"full"``, ``"semi"`` (rows that find one), ``"anti"`` (rows that find none),
                or ``"cross"`` (each with each, without keys).
            left_on: Keys of this frame, with `right_on` for the other one's.
            suffix: What names of the other frame get that this one has, too.
            nulls_equal: Whether missing keys are equal to each other.
            coalesce: Whether keys are one column; by default they are but in full joins.
            maintain_order: Is there for Polars' sake. Rows are in the order of the left frame, and those that one row of it finds
                in the order of the right frame; in right joins it is the other way round.
        """
        if not isinstance(other, LazyFrame):
            raise TypeError(f"frames are joined with lazy frames, not with {type(other).__name__}: make one with fulgurite.frame()")
        how = "full" if how == "outer" else how
        if how not in _JOINS:
            raise ValueError(f"how is one of {', '.join(_JOINS)}, not {how!r}")
        if how == "cross":
            if not (on is left_on is right_on is None):
                raise ValueError("a cross join has no keys")
            lefts = rights = []
        else:
            if on is not None and (left_on is not None or right_on is not None):
                raise ValueError("keys are given by 'on', or by 'left_on' and 'right_on'")
            if on is None and (left_on is None or right_on is None):
                raise ValueError("a join has keys: 'on', or 'left_on' and 'right_on'")
            lefts = self._expanded(parsed_all([on if left_on is None else left_on]))
            rights = other._expanded(parsed_all([on if right_on is None else right_on]))
            if len(lefts) != len(rights):
                raise ValueError(f"as many keys on both sides, not {len(lefts)} and {len(rights)}")
        if coalesce is False and how in ("inner", "left", "right"):
            raise NotImplementedError(f"a join with how={how!r} and coalesce=False, which keeps both keys, is not there yet")
        if how == "right":
            return _right_join(self, other, lefts, rights, suffix, nulls_equal)
        joined = _joined(self, other, how, lefts, rights, suffix, nulls_equal)
        return _one_key(joined, self, lefts, rights, suffix) if how == "full" and coalesce else joined

    # The way out.

    def collect(self):
        """Computes the frame, as the kind of table that it was made of: pandas, Polars, pyarrow, or else :class:`Frame`."""
        return self._kind.of(self._table())

    def to_pandas(self):
        """Computes the frame as a table of pandas."""
        kind = self._kind if isinstance(self._kind, Pandas) else Pandas()
        return kind.of(self._table())

    def to_polars(self):
        """Computes the frame as a table of Polars."""
        return Polars.of(self._table())

    def to_arrow(self):
        """Computes the frame as a table of pyarrow."""
        return Arrow.of(self._table())

    def to_array(self, columns=None, *, nulls="nan"):
        """Computes columns as an array: of two dimensions, or of one for the name of a single column.

        Args:
            columns: Names of columns of numbers or booleans; all by default.
            nulls: ``"nan"`` gives NaN for missing values, in cells of float64; ``"refuse"`` is an error where there are some.

        Raises:
            TypeError: For columns of texts and dates.
            ValueError: For missing values that are refused.

        >>> import fulgurite as fg
        >>> frame = fg.frame({"a": [1.0, None], "b": [2.0, 3.0]})
        >>> frame.to_array(["a", "b"]).tolist()
        [[1.0, 2.0], [nan, 3.0]]
        """
        if nulls not in ("nan", "refuse"):
            raise ValueError(f"nulls is 'nan' or 'refuse', not {nulls!r}")
        wanted = self if columns is None else self.select(columns)
        kind = _kind_of_cells(wanted.dtypes) if nulls == "nan" else None
        if kind is not None:
            found = wanted._matrix(kind, isinstance(columns, (str, Expr)) and wanted.width == 1)
            if found is not None:
                return found
        table = wanted._table()
        hosts = [cells_of(table, name, nulls) for name in table.names]
        if isinstance(columns, (str, Expr)) and len(hosts) == 1:
            return array_of(hosts[0])
        if not hosts:
            raise TypeError("a table without columns has no cells")
        together = np.empty((table.rows, len(hosts)), dtype=np.result_type(*hosts))
        for at, host in enumerate(hosts):
            together[:, at] = host
        return array_of(together)

    def pipe(self, function, *args, **kwargs):
        """What a function makes of the frame: ``function(frame, *args, **kwargs)``."""
        return function(self, *args, **kwargs)

    def lazy(self):
        """The frame itself."""
        return self

    def _table(self):
        """The frame's rows, computed."""
        return self._run(_native.relation_collect)

    def _matrix(self, kind, is_vector):
        """The frame's columns as an array of a kind that waits; `None` where its kind depends on values."""
        names = self.columns
        rows, node, may_lack, is_whole = self._run(_native.relation_matrix, names)
        if kind is not FLOAT and (may_lack or not is_whole or not rows):
            return None
        return make(node, (rows,) if is_vector else (rows, len(names)), kind)

    def _run(self, function, *more, notes=None):
        where = place()
        text, sources, arrays = written(settled(self._plan))
        try:
            header = headers(sources)
            plan, reads = _native.relation_planned(text, header, where)
            notes = [] if notes is None else notes
            tables = [source.table(read, notes) for source, read in zip(sources, reads, strict=True)]
            cells = [column_of(array) if array._kind is FLOAT else to_numpy(array) for array in arrays]
            settings = _engine.settings()
            with watched(settings) as (is_main, progress):
                return function(settings.engine, plan, tables, cells, *more, is_main, progress, where)
        except FulguriteError:
            self._blame()
            raise

    def _then(self, plan):
        return made(lifted(self, plan), self._kind, (self,))

    def _expanded(self, exprs):
        """Names and trees of expressions, where some of them are columns of this frame."""
        try:
            return [
                {"name": name, "expr": tree} for one in exprs for name, tree in expanded(one, lambda: self.columns)
            ]
        except RecursionError:
            raise too_deep() from None

    def _names(self, columns):
        found = self._expanded(parsed_all(columns))
        for each in found:
            if set(each["expr"]) != {"col"}:
                raise TypeError("columns are given by their names here, not by expressions")
        return [each["expr"]["col"] for each in found]


class GroupBy:
    """Groups of a frame's rows: made by :meth:`LazyFrame.group_by`."""

    __slots__ = ("_frame", "_keeps_order", "_keys")

    def __init__(self, frame, keys, keeps_order):
        self._frame = frame
        self._keys = keys
        self._keeps_order = keeps_order

    def agg(self, *aggs, **named_aggs):
        """A row for each group: its keys, and expressions of aggregates."""
        frame = self._frame
        # Keys are none of several columns.
        keys = {key["name"] for key in self._keys}
        found = []
        for one in parsed_all(aggs, named_aggs):
            for name, tree in expanded(one, lambda: [name for name in frame.columns if name not in keys]):
                found.append({"name": name, "expr": tree})
        plan = {"input": frame._plan, "keys": self._keys, "aggs": found, "maintain_order": self._keeps_order}
        return frame._then({"group_by": plan})

    def len(self, name="len"):
        """The number of rows of each group."""
        from ._expression_makers import len as rows

        return self.agg(rows().alias(name))

    def sum(self):
        """The sums of all other columns."""
        return self.agg(col("*").sum())

    def mean(self):
        """The means of all other columns."""
        return self.agg(col("*").mean())

    def min(self):
        """The smallest values of all other columns."""
        return self.agg(col("*").min())

    def max(self):
        """The largest values of all other columns."""
        return self.agg(col("*").max())

    def median(self):
        """The medians of all other columns."""
        return self.agg(col("*").median())

    def n_unique(self):
        """How many distinct values all other columns have."""
        return self.agg(col("*").n_unique())

    def first(self):
        """The first values of all other columns."""
        return self.agg(col("*").first())

    def last(self):
        """The last values of all other columns."""
        return self.agg(col("*").last())


_FILLED = {
    "int": tuple("int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()),
    "float": tuple("int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64".split()),
    "boolean": ("boolean",),
    "string": ("string",),
    "date": ("date",),
    "datetime": ("datetime",),
}


def _both(one, other):
    return {"call": "and", "args": [one, other]}


def made(plan, kind, before=()):
    """A frame of a plan."""
    frame = object.__new__(LazyFrame)
    frame._plan = plan
    frame._kind = kind
    frame._before = before
    frame._place = place()
    frame._types = None
    return frame


# Making them.


def frame(table):
    """A lazy frame of a table.

    Args:
        table: A table of pandas (without its index), Polars, pyarrow, or DuckDB; what has ``__arrow_c_stream__``; lists or arrays of
            NumPy by names; a :class:`Frame`. Later changes of it are not seen.

    >>> import fulgurite as fg
    >>> fg.frame({"a": [1, None], "b": ["x", "y"]}).schema
    {'a': 'int64', 'b': 'string'}
    """
    if isinstance(table, LazyFrame):
        return table
    source, kind = source_of(table)
    return made({"scan": source}, kind)


def scan_parquet(source):
    """A lazy frame of a Parquet file. Columns that nobody needs are not read.

    Args:
        source: The path of the file. It is read when the frame is collected; if it was changed by then, that is an error.
    """
    return made({"scan": ParquetFile(source)}, Frames)


def scan_csv(source, *, separator=",", has_header=True, null_values=None):
    """A lazy frame of a csv file. Types of columns follow from all of its rows.

    Args:
        source: The path of the file. It is read when a frame needs its rows or types, and kept then.
        separator: One character between fields.
        has_header: Whether the first line has the names; otherwise they are ``column_1`` and so on.
        null_values: A text or several that stand for missing values, as empty fields do.
    """
    if not isinstance(separator, str) or len(separator.encode()) != 1:
        raise ValueError(f"a separator is one character of ASCII, not {separator!r}")
    nulls = [] if null_values is None else [null_values] if isinstance(null_values, str) else list(null_values)
    return made({"scan": CsvFile(source, separator, bool(has_header), nulls)}, Frames)


def concat_frames(frames):
    """The rows of frames with the same columns, one behind the other."""
    frames = list(frames)
    for each in frames:
        if not isinstance(each, LazyFrame):
            raise TypeError(f"lazy frames are joined with each other, not with {type(each).__name__}")
    if not frames:
        raise ValueError("a frame at least is needed")
    plan = {"concat": {"inputs": [each._plan for each in frames]}}
    return made(plan, frames[0]._kind, tuple(frames))


LazyFrame._concat = staticmethod(concat_frames)


def _kind_of_cells(dtypes):
    """The kind of the cells of columns together, none of which is missing; `None` if arrays that wait have no such cells."""
    names = [str(dtype).lower() for dtype in dtypes]
    if not names or not all(name.startswith(("int", "uint", "float", "bool")) for name in names):
        return None
    together = np.result_type(*(np.dtype(name.removesuffix("ean")) for name in names))
    return {"float64": FLOAT, "int64": INT, "bool": BOOL}.get(together.name)


# Joins.


def _joined(left, right, how, lefts, rights, suffix, nulls_equal):
    plan = {
        "left": left._plan,
        "right": right._plan,
        "how": how,
        "left_on": [key["expr"] for key in lefts],
        "right_on": [key["expr"] for key in rights],
        "suffix": suffix,
        "nulls_equal": bool(nulls_equal),
    }
    return made({"join": plan}, left._kind, (left, right))


def _one_key(joined, left, lefts, rights, suffix):
    """A full join with one column for each pair of keys."""
    known = set(left.columns)
    keys = []
    for mine, its in zip(lefts, rights, strict=True):
        if set(mine["expr"]) != {"col"} or set(its["expr"]) != {"col"}:
            raise ValueError("keys that become one column are columns")
        name = its["expr"]["col"]
        keys.append((mine["expr"]["col"], name + suffix if name in known else name))
    with_keys = joined.with_columns(*(coalesce(column(mine), column(its)).alias(mine) for mine, its in keys))
    return with_keys.drop([its for _, its in keys])


def _right_join(left, right, lefts, rights, suffix, nulls_equal):
    """A left join of the frames the other way round, with columns where a right join has them."""
    if any(set(key["expr"]) != {"col"} for key in lefts):
        raise ValueError("keys of a right join are columns at the left")
    dropped = {key["expr"]["col"] for key in lefts}
    kept = [name for name in left.columns if name not in dropped]
    renamed = {name: name + suffix for name in right.columns if name in kept}
    # Names at the left that the join would rename.
    inner = {name: f"{name}\0left" for name in kept}
    ours = left.rename(inner)
    joined = _joined(right, ours, "left", rights, lefts, suffix, nulls_equal)
    mine = [column(inner[name]).alias(name) for name in kept]
    theirs = [column(name).alias(renamed.get(name, name)) for name in right.columns]
    result = joined.select(*mine, *theirs)
    result._kind = left._kind
    return result


