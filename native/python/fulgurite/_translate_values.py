"""Values of a translated function: what Python's object is on each row, as cases of one type each.

A value is a tuple of cases `(condition, scalar)`. Conditions exclude each other, and on rows that reach the value one
is true. A column that has nulls has two cases: None, and the others. A path is what is known where code runs. What
raises there, or is not exact, is a guard: a row on which a guard is true runs in Python.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import numpy as np

from ._translate_nodes import (
    FALSE,
    INT_MAX,
    INT_MIN,
    TRUE,
    Node,
    Refused,
    call,
    cast,
    conjuncts,
    every,
    if_else,
    literal,
    negation,
    number,
    some,
    truth,
)

# More cases than this are a function that nobody reads.
_CASES = 64


@dataclass(frozen=True)
class Const:
    """An object that is the same on all rows."""

    value: object

    @property
    def kind(self):
        return kind_of(self.value)


@dataclass(frozen=True)
class Sym:
    """What an expression computes: an object of one type, whole numbers with their bounds."""

    kind: str
    node: Node
    low: int = INT_MIN
    high: int = INT_MAX
    may_be_nan: bool = True


@dataclass(frozen=True)
class Tuple:
    """A tuple of values."""

    items: tuple
    kind = "tuple"


NONE = Const(None)


def kind_of(value):
    """The type of a constant; `other` for what expressions have no values of."""
    if value is None:
        return "none"
    # Subclasses may have operators of their own.
    name = type(value)
    if name is np.float64:
        return "npfloat"
    if name is np.bool_:
        return "npbool"
    kinds = {bool: "bool", int: "int", float: "float", str: "str"}
    kinds |= {datetime.date: "date", datetime.datetime: "datetime"}
    return kinds.get(name, "other")


def only(scalar):
    """The value that is this scalar on all rows."""
    return ((TRUE, scalar),)


def a_bool(node):
    if node is TRUE or node is FALSE:
        return Const(node is TRUE)
    return Sym("bool", node, 0, 1, False)


def an_int(node, low, high):
    return Sym("int", node, low, high, False)


_EPOCH = datetime.datetime(1970, 1, 1)


def node_of(scalar):
    """The expression of a scalar."""
    if type(scalar) is Sym:
        return scalar.node
    if type(scalar) is Tuple:
        raise Refused("a tuple is not a value of a column")
    kind, value = scalar.kind, scalar.value
    if kind == "none":
        return literal(None, "null")
    if kind in ("bool", "npbool"):
        return truth(value)
    if kind == "int":
        return literal(value, "int")
    if kind in ("float", "npfloat"):
        return literal(float(value), "float")
    if kind == "str":
        if any("\ud800" <= each <= "\udfff" for each in value):
            raise Refused("a string has a lone surrogate")
        return literal(value, "string")
    if kind == "date":
        return literal((value - _EPOCH.date()).days, "date")
    if kind == "datetime" and value.tzinfo is None:
        return literal((value - _EPOCH) // datetime.timedelta(microseconds=1), "datetime")
    raise Refused(f"{type(value).__name__} is not a type of columns")


def range_of(scalar):
    if type(scalar) is Const:
        return int(scalar.value), int(scalar.value)
    return scalar.low, scalar.high


def maybe_nan(scalar):
    if type(scalar) is Const:
        return scalar.value != scalar.value
    return scalar.kind in ("float", "npfloat") and scalar.may_be_nan


class Path:
    """What is known where code runs: conditions that all are true, and where guards go."""

    __slots__ = ("guards", "known", "nodes")

    def __init__(self, nodes=(), guards=None):
        self.nodes = nodes
        self.known = frozenset(nodes)
        # Insertion order, each once.
        self.guards = {} if guards is None else guards

    def also(self, condition):
        """The path on which this is true, too; None if it is not reached."""
        added, known = [], set(self.known)
        for each in conjuncts(condition):
            if each is FALSE or negation(each) in known:
                return None
            if each not in known:
                known.add(each)
                added.append(each)
        return Path((*self.nodes, *added), self.guards) if added else self

    def condition(self, *, without=frozenset()):
        return every(*(node for node in self.nodes if node not in without))

    def guard(self, condition):
        """Rows where this is true run in Python."""
        narrow = self.also(condition)
        if narrow is not None:
            self.guards[narrow.condition()] = None

    def raises(self):
        """Python raises an exception here. No value follows."""
        self.guards[self.condition()] = None
        return ()


def distribute(path, function, *values):
    """What a function of scalars gives for each case; it gives a scalar, a value, or nothing if it raises."""
    found = []
    for combination in _combinations(values):
        condition = every(*(case[0] for case in combination))
        reached = path.also(condition)
        if reached is None:
            continue
        result = function(reached, *(case[1] for case in combination))
        if type(result) is not tuple:
            result = only(result)
        found.append((condition, result))
    return choose(found)


def _combinations(values):
    if not values:
        yield ()
        return
    for rest in _combinations(values[:-1]):
        for case in values[-1]:
            yield (*rest, case)


def choose(results):
    """One value of several `(condition, value)` that exclude each other. Scalars of one type become one case."""
    groups = {}
    for condition, value in results:
        for inner, scalar in value:
            both = every(condition, inner)
            if both is FALSE:
                continue
            key = scalar.kind
            if key == "tuple":
                key = ("tuple", len(scalar.items))
            elif key == "other":
                key = ("other", id(scalar.value))
            groups.setdefault(key, []).append((both, scalar))
    if len(groups) > _CASES:
        raise Refused("a value has too many types")
    if len(groups) == 1:
        (members,) = groups.values()
        return only(_merged(members))
    return tuple((some(*(c for c, _ in members)), _merged(members)) for members in groups.values())


def _same(one, other):
    if type(one) is not type(other):
        return False
    if type(one) is Const:
        if one.kind == "other":
            return one.value is other.value
        return one.kind == other.kind and repr(one.value) == repr(other.value)
    return one == other


def _merged(members):
    """One scalar of several of one type."""
    first = members[0][1]
    if all(_same(first, scalar) for _, scalar in members[1:]):
        return first
    if first.kind == "tuple":
        columns = zip(*(scalar.items for _, scalar in members))
        conditions = [condition for condition, _ in members]
        return Tuple(tuple(choose(list(zip(conditions, items))) for items in columns))
    node = node_of(members[-1][1])
    for condition, scalar in reversed(members[:-1]):
        node = if_else(condition, node_of(scalar), node)
    if first.kind == "bool":
        return a_bool(node)
    low = high = 0
    if first.kind == "int":
        ranges = [range_of(scalar) for _, scalar in members]
        low, high = min(each[0] for each in ranges), max(each[1] for each in ranges)
    return Sym(first.kind, node, low, high, any(maybe_nan(scalar) for _, scalar in members))


def truth_of(value):
    """Whether Python takes a value for true."""
    if len(value) == 1:
        return _truth(value[0][1])
    return some(*(every(condition, _truth(scalar)) for condition, scalar in value))


def _truth(scalar):
    if type(scalar) is Tuple:
        return truth(scalar.items)
    if type(scalar) is Const:
        if scalar.kind == "other":
            raise Refused(f"the truth of a {type(scalar.value).__name__}")
        return truth(scalar.value)
    if scalar.kind in ("bool", "npbool"):
        return scalar.node
    if scalar.kind in ("int", "float", "npfloat"):
        # NaN is not equal to 0, and true.
        zero = number(0 if scalar.kind == "int" else 0.0)
        return call("ne", scalar.node, zero)
    if scalar.kind == "str":
        return call("ne", scalar.node, literal("", "string"))
    return TRUE


def none_of(value):
    """Whether a value is None."""
    return some(*(condition for condition, scalar in value if scalar.kind == "none"))


def parameter(node, kind, nullable):
    """The value of a column of a type of the contract: what Python sees of its rows."""
    scalar = _of_column(node, kind)
    if scalar is NONE:
        return only(NONE)
    if not nullable:
        return only(scalar)
    missing = call("is_null", node)
    return ((missing, NONE), (negation(missing), scalar))


_ALIASES = {"bool": "boolean", "int": "int64", "float": "float64"}
_ALIASES |= dict.fromkeys(("str", "utf8", "categorical"), "string")


def _of_column(node, kind):
    kind = _ALIASES.get(kind, kind)
    if kind == "boolean":
        return Sym("bool", node, 0, 1, False)
    if kind in ("float64", "float32"):
        return Sym("float", node if kind == "float64" else cast("float64", node))
    if kind == "int64":
        return an_int(node, INT_MIN, INT_MAX)
    if kind in ("int8", "int16", "int32"):
        bound = 2 ** (int(kind[3:]) - 1)
        return an_int(cast("int64", node), -bound, bound - 1)
    if kind in ("uint8", "uint16", "uint32"):
        return an_int(cast("int64", node), 0, 2 ** int(kind[4:]) - 1)
    if kind == "uint64":
        # Larger ones are guarded.
        small = call("min_horizontal", node, literal(INT_MAX, "int"))
        return an_int(cast("int64", small), 0, INT_MAX)
    if kind == "string":
        return Sym("str", node)
    if kind in ("date", "datetime"):
        return Sym(kind, node)
    if kind == "null":
        return NONE
    raise Refused(f"columns of {kind}")
