"""Trees of expressions: the JSON that the planner reads, as dictionaries and lists that nobody changes.

Leaves that JSON has not stand in a tree as they are until a frame writes its plan: arrays (:class:`Cells`), columns whose
names the frame knows (:class:`Columns`), functions of several of these (:class:`Horizontal`), and calls of functions of Python (:class:`Called`), whose results are a step of the plan
(:class:`Step`).
"""

from __future__ import annotations

import datetime
import math
import re

import numpy as np

__all__ = [
    "TYPES",
    "Called",
    "Cells",
    "Columns",
    "Horizontal",
    "Listed",
    "Step",
    "literal",
    "moment",
    "parts_of",
    "type_name",
    "with_column",
    "written",
]

_EPOCH = datetime.datetime(1970, 1, 1)
MOST_SIGNED = (1 << 63) - 1
# Without a sign there is room for more.
MOST, LEAST = (1 << 64) - 1, -(1 << 63)


class Columns:
    """Columns whose names are known with the frame: all but some, or those whose names a pattern finds."""

    __slots__ = ("left_out", "names", "pattern")

    def __init__(self, names=None, pattern=None, left_out=()):
        self.names = names
        self.pattern = pattern
        self.left_out = left_out

    def among(self, columns):
        """Their names, where a frame has these columns."""
        if self.names is not None:
            found = self.names
        elif self.pattern is not None:
            found = [name for name in columns() if re.search(self.pattern, name)]
        else:
            found = columns()
        return [name for name in found if not any(_is_named(name, out) for out in self.left_out)]

    def __eq__(self, other):
        same_ones = (self.names, self.pattern, self.left_out)
        return type(other) is Columns and same_ones == (other.names, other.pattern, other.left_out)

    __hash__ = None

    def __repr__(self):
        names = ["*"] if self.names is None and self.pattern is None else self.names or [self.pattern]
        text = f"col({', '.join(map(repr, names))})"
        return text + (f".exclude({list(self.left_out)!r})" if self.left_out else "")


def is_pattern(name):
    return name.startswith("^") and name.endswith("$")


def _is_named(name, text):
    return re.search(text, name) is not None if is_pattern(text) else name == text


class Cells:
    """An array among columns, or a value if it has no dimensions: a tree of its own.

    It keeps the cells that the array has now.
    """

    __slots__ = ("array",)

    def __init__(self, array):
        self.array = array

    def __repr__(self):
        return f"array{self.array.shape}"


class Listed:
    """Literals of a list: a leaf, as there may be many."""

    __slots__ = ("literals",)

    def __init__(self, literals):
        self.literals = literals

    def __eq__(self, other):
        return type(other) is Listed and self.literals == other.literals

    __hash__ = None

    def __repr__(self):
        return repr(self.literals)


class Called:
    """A call of a Python function with trees for some of its parameters, and with values for others."""

    __slots__ = ("constants", "function", "returns", "trees")

    def __init__(self, function, trees, constants, returns):
        self.function = function
        self.trees = trees
        self.constants = constants
        self.returns = returns

    @property
    def name(self):
        """What the function is called."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def __repr__(self):
        given = [f"{name}={written(tree)}" for name, tree in self.trees.items()]
        given += [f"{name}={value!r}" for name, value in self.constants.items()]
        return f"{self.name}({', '.join(given)})"


class Horizontal:
    """A function of several columns, of which some are known with the frame.

    Args:
        name: What the function is called.
        make: Makes one expression of several.
        exprs: The expressions; some stand for several columns.
    """

    __slots__ = ("exprs", "make", "name")

    def __init__(self, name, make, exprs):
        self.name = name
        self.make = make
        self.exprs = exprs

    def __repr__(self):
        return f"{self.name}({', '.join(map(repr, self.exprs))})"


class Step:
    """The base of steps of a plan that Python takes."""

    __slots__ = ()

    def planned(self):
        """The plan that stands for it where types and texts of plans are wanted."""
        raise NotImplementedError

    def settled(self):
        """The plan that is run."""
        raise NotImplementedError


def literal(value):
    """A value as a plan has it.

    Raises:
        TypeError: For what is no value of a column.
        OverflowError: For whole numbers of more than 64 bits.
    """
    if isinstance(value, np.generic):
        value = _of_numpy(value)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return {"lit": None, "type": "null"}
    if isinstance(value, bool):
        return {"lit": value, "type": "boolean"}
    if isinstance(value, int):
        if not LEAST <= value <= MOST:
            raise OverflowError(f"whole numbers have 64 bits here, and {value} needs more")
        return {"lit": int(value), "type": "int"}
    if isinstance(value, float):
        value = float(value)
        if math.isfinite(value):
            return {"lit": value, "type": "float"}
        text = "NaN" if math.isnan(value) else "inf" if value > 0 else "-inf"
        return {"lit": text, "type": "float"}
    if isinstance(value, str):
        return {"lit": str(value), "type": "string"}
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            raise TypeError(f"datetimes have no zone here, and {value} has: convert it with astimezone() and drop the zone")
        micros = (value.replace(fold=0) - _EPOCH) // datetime.timedelta(microseconds=1)
        return {"lit": micros, "type": "datetime"}
    if isinstance(value, datetime.date):
        return {"lit": (value - _EPOCH.date()).days, "type": "date"}
    raise TypeError(
        f"columns have numbers, booleans, texts, dates and datetimes, and {value!r} is of the type {type(value).__name__}"
    )


def _of_numpy(value):
    if value.dtype.kind != "M":
        return value.item()
    if np.isnat(value):
        return None
    unit = np.datetime_data(value.dtype)[0]
    return value.astype("M8[D]" if unit in ("Y", "M", "W", "D") else "M8[us]").item()


TYPES = (
    "boolean int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 string date datetime"
).split()
_TYPE_NAMES = {
    "bool": "boolean",
    "double": "float64",
    "float": "float64",
    "int": "int64",
    "str": "string",
    "utf8": "string",
    "large_string": "string",
    "large_utf8": "string",
    "string_view": "string",
    "halffloat": "float16",
    "date32[day]": "date",
}
_PYTHON_TYPES = {
    bool: "boolean",
    int: "int64",
    float: "float64",
    str: "string",
    datetime.date: "date",
    datetime.datetime: "datetime",
}


def type_name(dtype):
    """The name of a type that Python, NumPy, Polars or Arrow has.

    Raises:
        TypeError: For types that columns have not.
    """
    if dtype in _PYTHON_TYPES:
        return _PYTHON_TYPES[dtype]
    name = dtype
    if isinstance(dtype, type) and issubclass(dtype, np.generic):
        name = np.dtype(dtype).name
    elif isinstance(dtype, np.dtype):
        name = "datetime" if dtype.kind == "M" else "string" if dtype.kind in "UT" else dtype.name
    name = str(name).lower()
    if name.startswith(("datetime(", "timestamp[", "datetime64[")) and not re.search(r"zone='|tz=", name):
        name = "datetime"
    name = _TYPE_NAMES.get(name, name)
    if name not in TYPES:
        raise TypeError(f"columns have the types {', '.join(TYPES)}, and not {dtype!r}")
    return name


def parts_of(plan):
    """All parts of a plan or of a tree, which may be deeper than calls. Leaves are not looked into."""
    waiting = [plan]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part, dict):
            waiting.extend(reversed(part.values()))
        elif isinstance(part, list):
            waiting.extend(reversed(part))


def moment(kind, number):
    """The date of days since 1970, or the datetime of microseconds."""
    if kind == "date":
        return _EPOCH.date() + datetime.timedelta(days=number)
    return _EPOCH + datetime.timedelta(microseconds=number)


def with_column(tree, name):
    if isinstance(tree, dict):
        if isinstance(tree.get("col"), Columns):
            return {"col": name}
        return {key: with_column(value, name) for key, value in tree.items()}
    if isinstance(tree, list):
        return [with_column(each, name) for each in tree]
    return tree


_SIGNS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
    "xor": "^",
}


def written(tree, inner=False):
    """A tree as Python writes it."""
    if isinstance(tree, (Called, Cells, Horizontal)):
        return repr(tree)
    if "col" in tree:
        return f"col({tree['col']!r})" if isinstance(tree["col"], str) else repr(tree["col"])
    if "lit" in tree:
        value, kind = tree["lit"], tree.get("type")
        return f"lit({moment(kind, value)})" if kind in ("date", "datetime") else repr(value)
    if "cast" in tree:
        return f"{written(tree['arg'], True)}.cast({tree['cast']!r})"
    options = [f"{name}={value!r}" for name, value in tree.get("options", {}).items()]
    if "agg" in tree:
        if "arg" not in tree:
            return f"{tree['agg']}()"
        return f"{written(tree['arg'], True)}.{tree['agg']}({', '.join(options)})"
    function, arguments = tree["call"], tree["args"]
    if function in _SIGNS:
        text = f"{written(arguments[0], True)} {_SIGNS[function]} {written(arguments[1], True)}"
        return f"({text})" if inner else text
    if function == "if_else":
        parts = [written(each) for each in arguments]
        return f"when({parts[0]}).then({parts[1]}).otherwise({parts[2]})"
    first, *others = arguments
    return f"{written(first, True)}.{function}({', '.join([*map(written, others), *options])})"
