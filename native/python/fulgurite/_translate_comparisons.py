"""Python's comparisons of scalars of a translated function: orders, identity, and what a container has."""

from __future__ import annotations

import math

from ._translate_nodes import EXACT, FALSE, TRUE, Refused, call, every, negation, some
from ._translate_operators import (
    FOLDED,
    LARGEST_CONSTANT,
    NUMBERS,
    are_constant,
    as_int,
    float_node,
    fold,
    is_inexact,
)
from ._translate_values import Const, Sym, Tuple, a_bool, maybe_nan, node_of, range_of

_CALLS = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


def compare(path, op, left, right):
    """`==`, `!=` and orders."""
    if "none" in (left.kind, right.kind):
        if op in ("==", "!="):
            return Const((left.kind == right.kind) == (op == "=="))
        return path.raises()
    if "other" in (left.kind, right.kind):
        raise Refused("a comparison with an object")
    if are_constant(left, right):
        return fold(path, FOLDED[op], left.value, right.value)
    if left.kind == "tuple" or right.kind == "tuple":
        raise Refused("a comparison of tuples")
    numbers = (*NUMBERS, "npbool")
    if left.kind in numbers and right.kind in numbers:
        return _compared_numbers(path, op, left, right)
    if left.kind != right.kind:
        if op in ("==", "!="):
            return Const(op == "!=")
        return path.raises()
    return a_bool(call(_CALLS[op], node_of(left), node_of(right)))


def _compared_numbers(path, op, left, right):
    numpys = any(each.kind.startswith("np") for each in (left, right))
    if left.kind in ("bool", "npbool") and right.kind in ("bool", "npbool") and op in ("==", "!="):
        one, other = node_of(left), node_of(right)
        is_one = some(every(one, other), every(negation(one), negation(other)))
        return _truth_value(is_one if op == "==" else negation(is_one), numpys)
    if "npbool" in (left.kind, right.kind):
        raise Refused("a comparison with a truth value of NumPy")
    left, right = as_int(left), as_int(right)
    if left.kind != right.kind and "int" in (left.kind, right.kind):
        left, right = _comparable(path, left, right)
    if left.kind == right.kind == "int":
        decided = _decided(op, range_of(left), range_of(right))
        if decided is not None:
            return Const(decided) if not numpys else _truth_value(TRUE if decided else FALSE, True)
    node = call(_CALLS[op], node_of(left), node_of(right))
    # The engine takes NaN for the largest number, and equal to itself; to Python no order holds with it.
    suspect = {"==": left, "!=": left, "<": right, "<=": right, ">": left, ">=": left}[op]
    if type(suspect) is Const and op in ("==", "!="):
        suspect = right
    if maybe_nan(suspect) and not (op in ("==", "!=") and not (maybe_nan(left) and maybe_nan(right))):
        is_nan = TRUE if type(suspect) is Const else call("is_nan", suspect.node)
        node = some(node, is_nan) if op == "!=" else every(node, negation(is_nan))
    return _truth_value(node, numpys)


def _truth_value(node, numpys):
    if not numpys:
        return a_bool(node)
    return Sym("npbool", node, 0, 1, False)


def _decided(op, left, right):
    """What bounds say of two whole numbers."""
    (a, b), (c, d) = left, right
    if op in ("==", "!="):
        return op == "!=" if b < c or d < a else None
    if op in (">", ">="):
        op, (a, b), (c, d) = {">": "<", ">=": "<="}[op], right, left
    if b < c or (op == "<=" and b <= c):
        return True
    if d < a or (op == "<" and d <= a):
        return False
    return None


def _comparable(path, left, right):
    """A whole number and a float as two of one type that compare alike: Python compares exactly."""
    if left.kind == "int":
        whole, other = left, right
    else:
        whole, other = right, left
    if type(other) is Const and other.value == other.value and abs(other.value) < EXACT:
        # Rounding does not cross what is exact.
        if float(other.value).is_integer():
            other = Const(int(other.value))
        else:
            whole = Sym("float", float_node(whole), may_be_nan=False)
    elif type(whole) is Const:
        if abs(whole.value) > 2**1000 or int(float(whole.value)) != whole.value:
            raise Refused(f"a float is compared with {whole.value}, which is none")
        whole = Const(float(whole.value))
    else:
        if not (type(other) is Const and not math.isfinite(other.value)):
            path.guard(is_inexact(whole))
        whole = Sym("float", float_node(whole), may_be_nan=False)
    return (whole, other) if left.kind == "int" else (other, whole)


def identical(left, right):
    """`is`, with None and truth values; of other objects the identity is an accident."""
    singles = [each for each in (left, right) if type(each) is Const and each.kind in ("none", "bool")]
    if not singles:
        if "none" in (left.kind, right.kind):
            return Const(False)
        raise Refused("`is` with what is not None, True or False")
    single = singles[0]
    other = right if single is left else left
    if type(other) is Const:
        return Const(other.value is single.value)
    if single.value is None or other.kind != "bool":
        return Const(False)
    return a_bool(other.node if single.value else negation(other.node))


def contains(path, container, item):
    """`item in container`: of constants, or of a text in a string."""
    if container.kind == "none":
        return path.raises()
    if container.kind == "str":
        if item.kind != "str":
            return path.raises()
        if are_constant(container, item):
            return Const(item.value in container.value)
        if type(item) is not Const:
            raise Refused("`in` looks for a string that is not a constant")
        return a_bool(call("str.contains", container.node, pattern=item.value, literal=True))
    if container.kind in NUMBERS:
        return path.raises()
    members = _members(container)
    found = FALSE
    for each in members:
        found = some(found, node_of(_equals(path, each, item)))
    return a_bool(found)


def _members(container):
    if type(container) is Tuple:
        for item in container.items:
            if len(item) != 1:
                raise Refused("`in` a tuple of values of several types")
        return [item[0][1] for item in container.items]
    if type(container) is Const and type(container.value) in (tuple, list, set, frozenset, dict):
        members = [Const(each) for each in container.value]
        if len(members) > LARGEST_CONSTANT // 16:
            raise Refused("`in` a container that is too large")
        return members
    raise Refused(f"`in` a {container.kind}")


def _equals(path, member, item):
    if type(member) is Const and member.value != member.value:
        raise Refused("`in` finds NaN by its identity")
    if maybe_nan(member):
        raise Refused("`in` finds NaN by its identity")
    return compare(path, "==", member, item)

