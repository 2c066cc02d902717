"""Expressions of a frame's columns, with the names and the meaning that Polars has.

An expression is a tree (`_trees.py`) and the name of the column that it becomes. Nothing is computed here.
"""

from __future__ import annotations

import math

import numpy as np

from ._array import Array, from_host, same
from ._convert import asarray
from ._symbols import Symbol
from ._trees import MOST_SIGNED, Cells, Columns, Horizontal, Listed, is_pattern, literal, parts_of, type_name, with_column, written

__all__ = ["Expr", "col", "lit"]


class Expr(Symbol):
    """A column that is computed from others: made by :func:`col`, :func:`lit` and :func:`when`.

    Operators and methods have Polars' names and meaning, and functions of NumPy and of this package take expressions, too.

    >>> import fulgurite as fg
    >>> frame = fg.frame({"a": [1, 2, 3]})
    >>> frame.select(double=fg.col("a") * 2).collect().to_dict()
    {'double': [2, 4, 6]}
    """

    __slots__ = ("_many", "_name", "_renamed", "_tree")

    __array_priority__ = 2000

    def __init__(self, *_, **__):
        raise TypeError("make expressions with fulgurite.col(), lit() and when()")

    def __bool__(self):
        raise TypeError(
            "whether an expression is true is known for each row alone: combine expressions with & | ~, and choose "
            "with fulgurite.when()"
        )

    def __iter__(self):
        raise TypeError("an expression has no items: it stands for a column")

    def __array__(self, dtype=None, copy=None):
        raise TypeError("an expression has no cells: frame.select(expression).to_array() computes them")

    def __repr__(self):
        return written(self._tree)

    __hash__ = None

    def __reduce__(self):
        return expression, (self._tree, self._name, self._many, self._renamed)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        name = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        return self.function(name, inputs, options)

    def __array_function__(self, function, types, args, kwargs):
        given = {
            name: value
            for name, value in kwargs.items()
            if value is not np._NoValue and not (name == "out" and value is None)
        }
        return self.function(function.__name__, args, given)

    # Operators. Texts among operands are literals, as in Polars.

    def __add__(self, other):
        return _binary("add", self, other)

    def __radd__(self, other):
        return _binary("add", other, self)

    def __sub__(self, other):
        return _binary("sub", self, other)

    def __rsub__(self, other):
        return _binary("sub", other, self)

    def __mul__(self, other):
        return _binary("mul", self, other)

    def __rmul__(self, other):
        return _binary("mul", other, self)

    def __truediv__(self, other):
        return _binary("div", self, other)

    def __rtruediv__(self, other):
        return _binary("div", other, self)

    def __floordiv__(self, other):
        return _binary("floordiv", self, other)

    def __rfloordiv__(self, other):
        return _binary("floordiv", other, self)

    def __mod__(self, other):
        return _binary("mod", self, other)

    def __rmod__(self, other):
        return _binary("mod", other, self)

    def __pow__(self, other):
        return _binary("pow", self, other)

    def __rpow__(self, other):
        return _binary("pow", other, self)

    def __and__(self, other):
        return _binary("and", self, other)

    def __rand__(self, other):
        return _binary("and", other, self)

    def __or__(self, other):
        return _binary("or", self, other)

    def __ror__(self, other):
        return _binary("or", other, self)

    def __xor__(self, other):
        return _binary("xor", self, other)

    def __rxor__(self, other):
        return _binary("xor", other, self)

    def __eq__(self, other):
        return _binary("eq", self, other)

    def __ne__(self, other):
        return _binary("ne", self, other)

    def __lt__(self, other):
        return _binary("lt", self, other)

    def __le__(self, other):
        return _binary("le", self, other)

    def __gt__(self, other):
        return _binary("gt", self, other)

    def __ge__(self, other):
        return _binary("ge", self, other)

    def __neg__(self):
        return call("neg", self)

    def __pos__(self):
        return self

    def __invert__(self):
        return call("not", self)

    def __abs__(self):
        return call("abs", self)

    def __round__(self, decimals=0):
        return self.round(decimals)

    # Names and types.

    def alias(self, name):
        """The expression under another name."""
        if not isinstance(name, str):
            raise TypeError(f"a name is a text, not {name!r}")
        return expression(self._tree, name, self._many)

    def exclude(self, columns, *more_columns):
        """All columns that an expression such as ``col("*")`` has but these."""
        if self._many is None or self._tree != {"col": self._many}:
            raise ValueError("columns are left out of several ones, such as col('*')")
        names = [*([columns] if isinstance(columns, str) else columns), *more_columns]
        many = Columns(self._many.names, self._many.pattern, (*self._many.left_out, *names))
        return expression({"col": many}, None, many, self._renamed)

    def cast(self, dtype, *, strict=True):
        """The values with another type, which Python, NumPy, Polars or a text names; those that do not fit are an error."""
        if not strict:
            raise NotImplementedError("a cast with strict=False, which makes missing what does not fit, is not there yet")
        tree = {"cast": type_name(dtype), "arg": self._tree}
        return expression(tree, self._name, self._many, self._renamed)

    # Aggregates.

    def sum(self):
        """The sum; 0 of nothing. Booleans and small whole numbers give int64."""
        return aggregate("sum", self)

    def mean(self):
        """The mean."""
        return aggregate("mean", self)

    def min(self):
        """The smallest value."""
        return aggregate("min", self)

    def max(self):
        """The largest value."""
        return aggregate("max", self)

    def count(self):
        """How many values are not missing."""
        return aggregate("count", self)

    def len(self):
        """How many values there are, missing ones among them."""
        return aggregate("count", self.is_null())

    def null_count(self):
        """How many values are missing."""
        return aggregate("sum", self.is_null())

    def n_unique(self):
        """How many distinct values there are; missing is one of them."""
        return aggregate("n_unique", self)

    def first(self):
        """The first value."""
        return aggregate("first", self)

    def last(self):
        """The last value."""
        return aggregate("last", self)

    def std(self, ddof=1):
        """The standard deviation, with the count less `ddof` as the divisor."""
        return aggregate("std", self, ddof=_whole("ddof", ddof))

    def var(self, ddof=1):
        """The variance, with the count less `ddof` as the divisor."""
        return aggregate("var", self, ddof=_whole("ddof", ddof))

    def median(self):
        """The median."""
        return aggregate("median", self)

    def quantile(self, quantile, interpolation="nearest"):
        """The value that a share of the others is below.

        Args:
            quantile: The share, from 0 to 1.
            interpolation: ``"nearest"``, ``"lower"``, ``"higher"``, ``"midpoint"`` or ``"linear"``.
        """
        known = ("nearest", "lower", "higher", "midpoint", "linear")
        if interpolation not in known:
            raise ValueError(f"interpolation is one of {known}, not {interpolation!r}")
        if not 0 <= quantile <= 1:
            raise ValueError(f"a quantile is from 0 to 1, not {quantile!r}")
        return aggregate("quantile", self, quantile=float(quantile), interpolation=interpolation)

    def any(self, *, ignore_nulls=True):
        """Whether a value is true; without `ignore_nulls`, missing where none is and some are missing."""
        found = aggregate("any", self)
        return found if ignore_nulls else call("if_else", found, found, _unless(aggregate("any", self.is_null()), found))

    def all(self, *, ignore_nulls=True):
        """Whether all values are true; without `ignore_nulls`, missing where they may be."""
        found = aggregate("all", self)
        return found if ignore_nulls else call("if_else", found, _unless(aggregate("any", self.is_null()), found), found)

    # Missing values and NaN.

    def is_null(self):
        """Where values are missing."""
        return call("is_null", self)

    def is_not_null(self):
        """Where values are not missing."""
        return call("is_not_null", self)

    def is_nan(self):
        """Where values are NaN; missing where they are missing."""
        return call("is_nan", self)

    def is_not_nan(self):
        """Where values are not NaN; missing where they are missing."""
        return call("is_not_nan", self)

    def is_finite(self):
        """Where values are neither NaN nor infinite."""
        return call("is_finite", self)

    def is_infinite(self):
        """Where values are infinite."""
        return call("is_infinite", self)

    def fill_null(self, value):
        """A value in the place of missing ones."""
        return call("fill_null", self, parsed(value, True))

    def fill_nan(self, value):
        """A value in the place of NaN; None makes it missing."""
        return call("fill_nan", self, parsed(value, True))

    # Comparisons.

    def eq_missing(self, other):
        """Where values are equal; missing ones are equal to each other."""
        return call("eq_missing", self, parsed(other, True))

    def ne_missing(self, other):
        """Where values differ; missing ones are equal to each other."""
        return call("ne_missing", self, parsed(other, True))

    def is_in(self, other, *, nulls_equal=False):
        """Where values are among others.

        Args:
            other: The others: a list, a set or an array of values.
            nulls_equal: Whether missing is equal to a missing one among the others; otherwise it gives missing.
        """
        if isinstance(other, (Expr, str, bytes)) or not hasattr(other, "__iter__"):
            raise TypeError(f"is_in() takes a list of values, not {other!r}")
        values = [literal(each) for each in (other.tolist() if hasattr(other, "tolist") else other)]
        return call("is_in", self, values=Listed(values), nulls_equal=bool(nulls_equal))

    def is_between(self, lower_bound, upper_bound, closed="both"):
        """Where values are between two bounds, which belong to it as `closed` says: both, left, right or none."""
        if closed not in ("both", "left", "right", "none"):
            raise ValueError(f"closed is 'both', 'left', 'right' or 'none', not {closed!r}")
        low = call("ge" if closed in ("both", "left") else "gt", self, parsed(lower_bound))
        high = call("le" if closed in ("both", "right") else "lt", self, parsed(upper_bound))
        return call("and", low, high)

    def clip(self, lower_bound=None, upper_bound=None):
        """The values, no smaller and no larger than bounds."""
        return call("clip", self, parsed(lower_bound), parsed(upper_bound))

    # Mathematics.

    def abs(self):
        """The values without their signs."""
        return call("abs", self)

    def round(self, decimals=0, mode="half_to_even"):
        """The values with so many decimals; of two that are as near, the even one."""
        if mode != "half_to_even":
            raise NotImplementedError(f"values are rounded with mode='half_to_even' alone, not {mode!r}")
        return call("round", self, decimals=_whole("decimals", decimals))

    def log(self, base=math.e):
        """The logarithm."""
        if isinstance(base, (int, float)):
            return call("log", self) if base == math.e else call("log", self, base=float(base))
        return call("div", call("log", self), call("log", parsed(base)))

    def pow(self, exponent):
        """``self ** exponent``"""
        return call("pow", self, parsed(exponent))

    # What `_expression_functions` gives NumPy's functions.
    function = None


def _plain(name, doc, function=None):
    def method(self):
        return call(function or name, self)

    method.__name__ = name
    method.__qualname__ = f"Expr.{name}"
    method.__doc__ = doc
    return method


for _name, _doc in {
    "sqrt": "The square root.",
    "exp": "The exponential.",
    "expm1": "``exp(self) - 1``, exact near 0.",
    "log1p": "The logarithm of ``1 + self``, exact near 0.",
    "log2": "The logarithm to the base 2.",
    "log10": "The logarithm to the base 10.",
    "sin": "The sine.",
    "cos": "The cosine.",
    "tan": "The tangent.",
    "arcsin": "The inverse sine.",
    "arccos": "The inverse cosine.",
    "arctan": "The inverse tangent.",
    "sinh": "The hyperbolic sine.",
    "cosh": "The hyperbolic cosine.",
    "tanh": "The hyperbolic tangent.",
    "sign": "-1, 0 or 1.",
    "floor": "The largest whole number that is no larger.",
    "ceil": "The smallest whole number that is no smaller.",
}.items():
    setattr(Expr, _name, _plain(_name, _doc))

_OPERATOR_METHODS = (
    ("add", "add", "``self + other``"),
    ("sub", "sub", "``self - other``"),
    ("mul", "mul", "``self * other``"),
    ("truediv", "div", "``self / other``"),
    ("floordiv", "floordiv", "``self // other``"),
    ("mod", "mod", "``self % other``"),
    ("eq", "eq", "``self == other``"),
    ("ne", "ne", "``self != other``"),
    ("lt", "lt", "``self < other``"),
    ("le", "le", "``self <= other``"),
    ("gt", "gt", "``self > other``"),
    ("ge", "ge", "``self >= other``"),
    ("xor", "xor", "``self ^ other``"),
)


def _operator_method(name, function, doc):
    def method(self, other):
        return _binary(function, self, other)

    method.__name__ = name
    method.__qualname__ = f"Expr.{name}"
    method.__doc__ = doc
    return method


for _name, _function, _doc in _OPERATOR_METHODS:
    setattr(Expr, _name, _operator_method(_name, _function, _doc))


def _joined(name, function, doc):
    def method(self, *others):
        for other in others:
            self = _binary(function, self, other)
        return self

    method.__name__ = name
    method.__qualname__ = f"Expr.{name}"
    method.__doc__ = doc
    return method


Expr.and_ = _joined("and_", "and", "``self & other``, for each of the others")
Expr.or_ = _joined("or_", "or", "``self | other``, for each of the others")
Expr.not_ = _plain("not_", "``~self``", "not")
Expr.neg = _plain("neg", "``-self``", "neg")


def _whole(name, value):
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} is a whole number, not {value!r}")
    return int(value)


def _unless(condition, otherwise):
    return call("if_else", condition, lit(None), otherwise)


# Making them.


def expression(tree, name, many=None, renamed=()):
    """An expression of a tree. `many` are the columns in it that become one expression each; `renamed` functions give its name."""
    made = object.__new__(Expr)
    made._tree = tree
    made._name = name
    made._many = many
    made._renamed = renamed
    return made


def col(name, *more_names):
    """A column of the frame; or several, which become an expression each.

    Args:
        name: The name; ``"*"`` for all columns, ``"^...$"`` for those that a regular expression finds, or a list of names.

    >>> import fulgurite as fg
    >>> frame = fg.frame({"a": [1, 2], "b": [3, 4]})
    >>> frame.select(fg.col("a", "b") + 1).collect().to_dict()
    {'a': [2, 3], 'b': [4, 5]}
    """
    names = [*([name] if isinstance(name, str) else name), *more_names]
    for each in names:
        if not isinstance(each, str):
            raise TypeError(f"columns have names, and {each!r} is no text")
    if len(names) == 1 and isinstance(name, str):
        if name != "*" and not is_pattern(name):
            return expression({"col": name}, name)
        columns = Columns() if name == "*" else Columns(pattern=name)
    else:
        columns = Columns(names=names)
    return expression({"col": columns}, None, columns)


def column(name):
    """The column of this name, which is no pattern."""
    return expression({"col": name}, name)


def lit(value, dtype=None):
    """A value that all rows have; None is missing. An array of as many cells as there are rows is a column.

    Args:
        value: A number, a text, a boolean, a date or a datetime without a zone; or an array of one dimension.
        dtype: The type to cast it to.

    Raises:
        OverflowError: For whole numbers of more than 64 bits.

    >>> import fulgurite as fg
    >>> fg.frame({"a": [1, 2]}).select("a", b=fg.lit("x")).collect().to_dict()
    {'a': [1, 2], 'b': ['x', 'x']}
    """
    made = _of_array(value)
    if made is None:
        made = expression(literal(value), "literal")
    return made if dtype is None else made.cast(dtype)


_INTO = {"b": np.bool_, "i": np.int64, "u": np.int64, "f": np.float64}


def _of_array(value):
    """An array as an expression; `None` for what is no array.

    Raises:
        ValueError: For arrays of more than one dimension.
        TypeError: For cells that are no real numbers or booleans, and for what has an index of its own.
    """
    if type(value) is Array:
        value = same(value)
    elif isinstance(value, np.ndarray):
        if value.ndim and value.dtype.kind not in _INTO:
            raise TypeError(
                f"arrays among columns have numbers or booleans, and this one has {value.dtype}: make a frame of it"
            )
        value = asarray(value) if value.ndim else value[()]
    else:
        library = type(value).__module__.partition(".")[0]
        if library == "pandas" and hasattr(value, "index"):
            raise TypeError(
                "rows of a pandas Series are found by its index: give its to_numpy(), whose rows are in order"
            )
        if library not in ("polars", "pyarrow") or not hasattr(value, "to_numpy"):
            return None
        value = asarray(value)
    if type(value) is not Array:
        return expression(literal(value), "literal")
    kind = value.dtype.kind
    if kind not in _INTO:
        raise TypeError(f"arrays among columns have numbers or booleans, and this one has {value.dtype}")
    if value.ndim == 0:
        # Its value is taken when the frame is computed.
        return expression(Cells(value), "literal")
    if value.ndim != 1:
        raise ValueError(f"an array among columns has one dimension, and this one has the shape {value.shape}")
    if value.dtype != _INTO[kind]:
        host = np.asarray(value)
        if kind == "u" and host.size and int(host.max()) > MOST_SIGNED:
            raise OverflowError(f"whole numbers of arrays have 64 bits with their sign, and {host.max()} needs more")
        value = from_host(host.astype(_INTO[kind]))
    return expression(Cells(value), "array")


class Unfinished:
    """The base of what is nearly an expression."""

    __slots__ = ()

    def finished(self):
        raise NotImplementedError


def parsed(value, text_is_literal=False):
    """What stands for an expression: texts are columns, unless they are literals, and other values are literals."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, str) and not text_is_literal:
        return col(value)
    if isinstance(value, Unfinished):
        return value.finished()
    return lit(value)


def parsed_all(values, named=None):
    """Expressions of values and of lists of them, and of values by names."""
    found = []
    for value in values:
        if _has_items(value):
            found += parsed_all(value)
        else:
            found.append(parsed(value))
    for name, value in (named or {}).items():
        found.append(parsed(value).alias(name))
    return found


def _has_items(value):
    if isinstance(value, (str, bytes, Expr, Unfinished, Array, np.ndarray)):
        return False
    return hasattr(value, "__iter__") and type(value).__module__.partition(".")[0] not in ("pandas", "polars", "pyarrow")


# Calls.


def _many_of(arguments):
    found = None
    for each in arguments:
        if each._many is not None:
            if found is not None and found != each._many:
                raise ValueError(f"one expression has {found!r} and {each._many!r}: write one for each column")
            found = each._many
    return found


def call(function, *arguments, **options):
    """A function of expressions; the first one names the result."""
    tree = {"call": function, "args": [each._tree for each in arguments]}
    if options:
        tree["options"] = options
    first = arguments[0]
    return expression(tree, first._name, _many_of(arguments), first._renamed)


def _binary(function, left, right):
    return call(function, parsed(left, True), parsed(right, True))


def balanced(function, found):
    """A function of two, of all of these: within each other no deeper than has to be."""
    while len(found) > 1:
        pairs = [function(*found[at : at + 2]) for at in range(0, len(found) - 1, 2)]
        found = pairs + found[len(found) - len(found) % 2 :]
    return found[0]


def horizontal(name, make, exprs):
    """What `make` makes of expressions, once the columns are known that they stand for."""
    if all(each._many is None for each in exprs):
        return make(exprs)
    return expression(Horizontal(name, make, exprs), None)


def aggregate(function, argument, **options):
    """An aggregate of an expression."""
    tree = {"agg": function, "arg": argument._tree}
    if options:
        tree["options"] = options
    return expression(tree, argument._name, argument._many, argument._renamed)


def expanded(one, columns):
    """What an expression becomes where `columns()` gives a frame's columns: a name and a tree for each."""
    first, tree = [], one._tree
    if any(isinstance(part, Horizontal) for part in parts_of(tree)):
        tree = _spread(tree, columns, first)
    if one._many is None:
        name = first[0] if one._name is None else one._name
        return [(_named(name, one._renamed), tree)]
    return [
        (_named(name if one._name is None else one._name, one._renamed), with_column(tree, name))
        for name in one._many.among(columns)
    ]


def _spread(tree, columns, first):
    """The tree, in which functions of several columns have those of the frame. `first` gets the names of the first ones."""
    if isinstance(tree, Horizontal):
        found = [each for one in tree.exprs for each in expanded(one, columns)]
        if not found:
            raise TypeError(f"{tree.name}() has no columns in a frame of {columns()}")
        first.append(found[0][0])
        return tree.make([expression(tree, name) for name, tree in found])._tree
    if isinstance(tree, dict):
        return {key: _spread(value, columns, first) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_spread(each, columns, first) for each in tree]
    return tree


def _named(name, functions):
    for function in functions:
        name = function(name)
    return name
