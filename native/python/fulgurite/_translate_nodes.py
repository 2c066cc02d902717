"""Nodes of expressions that a translated function becomes, and their JSON.

Nodes are interned: equal expressions are one object, so that identity is equality. Builders of booleans fold
constants. A boolean may be null only on rows that do not reach it, and Kleene's logic keeps those out.
"""

from __future__ import annotations

import math
import weakref

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
# Whole numbers up to here are exact as floats.
EXACT = 2**53


class Refused(Exception):
    """Why something has no translation; the walker adds the line."""


class Node:
    """An expression: what it is, its arguments, and options that are constants."""

    __slots__ = ("__weakref__", "args", "depth", "op", "options", "size")

    def __init__(self, op, args, options):
        self.op, self.args, self.options = op, args, options
        # Nodes of the tree, in which shared ones count each time.
        self.size = 1 + sum(arg.size for arg in args)
        self.depth = 1 + max((arg.depth for arg in args), default=0)


_interned = weakref.WeakValueDictionary()


def _node(op, args=(), options=()):
    key = (op, args, tuple((name, type(value), repr(value)) for name, value in options))
    found = _interned.get(key)
    if found is None:
        found = _interned[key] = Node(op, args, options)
    return found


def column(name):
    return _node("col", (), (("name", name),))


def literal(value, kind):
    """A constant; `kind` is a type of the contract's literals."""
    if kind == "int" and not INT_MIN <= value <= INT_MAX:
        raise Refused(f"{value} is beyond 64 bits")
    return _node("lit", (), (("value", value), ("type", kind)))


def call(function, *args, **options):
    return _node(function, args, tuple(sorted(options.items())))


def cast(kind, arg):
    return _node("cast", (arg,), (("type", kind),))


TRUE, FALSE = literal(True, "boolean"), literal(False, "boolean")
NULL = literal(None, "null")


def number(value):
    return literal(value, "float" if isinstance(value, float) else "int")


def truth(value):
    return TRUE if value else FALSE


_OPPOSITES = {"is_null": "is_not_null", "is_not_null": "is_null", "eq": "ne", "ne": "eq"}
_OPPOSITES |= {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "is_nan": "is_not_nan"}
_OPPOSITES |= {"is_not_nan": "is_nan"}


def negation(node):
    if node is TRUE:
        return FALSE
    if node is FALSE:
        return TRUE
    if node.op == "not":
        return node.args[0]
    opposite = _OPPOSITES.get(node.op)
    # The contract orders all values, NaN last, so that the opposite of a comparison is one.
    return call("not", node) if opposite is None else _node(opposite, node.args)


def _flat(op, nodes):
    for node in nodes:
        if node.op == op:
            yield from _flat(op, node.args)
        else:
            yield node


def _joined(op, nodes, neutral, final):
    """Kleene's `and` or `or` of any number, folded."""
    kept = {}
    for node in _flat(op, nodes):
        if node is final or negation(node) in kept:
            return final
        if node is not neutral:
            kept[node] = None
    kept = list(kept)
    if not kept:
        return neutral
    return _halves(op, kept)


def _halves(op, nodes):
    """A tree of little depth."""
    if len(nodes) == 1:
        return nodes[0]
    middle = (len(nodes) + 1) // 2
    return call(op, _halves(op, nodes[:middle]), _halves(op, nodes[middle:]))


def every(*nodes):
    return _joined("and", nodes, TRUE, FALSE)


def some(*nodes):
    return _joined("or", nodes, FALSE, TRUE)


def if_else(condition, yes, no):
    if condition is TRUE or yes is no:
        return yes
    if condition is FALSE:
        return no
    opposite = negation(condition)
    if yes is TRUE or yes is condition:
        return some(condition, no)
    if no is FALSE or no is condition:
        return every(condition, yes)
    if yes is FALSE or yes is opposite:
        return every(opposite, no)
    if no is TRUE or no is opposite:
        return some(opposite, yes)
    return call("if_else", condition, yes, no)


def conjuncts(node):
    """What is true when the node is."""
    if node.op == "and":
        for arg in node.args:
            yield from conjuncts(arg)
    elif node.op == "not" and node.args[0].op == "or":
        for arg in node.args[0].args:
            yield from conjuncts(negation(arg))
    elif node is not TRUE:
        yield node


# JSON.

_TYPED = frozenset(
    "add sub mul div floordiv mod pow fmod eq ne lt le gt ge min_horizontal".split()
)
_WIDE = {"int": "int64", "float": "float64"}
_SPECIAL = {math.inf: "inf", -math.inf: "-inf"}


def to_json(node, made=None):
    """The contract's JSON. Shared nodes are shared objects."""
    made = {} if made is None else made
    found = made.get(node)
    if found is None:
        found = made[node] = _json(node, made)
    return found


def _json(node, made):
    options = dict(node.options)
    if node.op == "col":
        return {"col": options["name"]}
    if node.op == "lit":
        return _wide(node)
    args = [to_json(arg, made) for arg in node.args]
    if node.op == "cast":
        # A literal is cast as it is.
        bare = _bare(node.args[0]) if node.args[0].op == "lit" else args[0]
        return {"cast": options["type"], "arg": bare}
    if node.op in _TYPED and any(arg.op != "lit" for arg in node.args):
        # Beside an operand of a type a literal takes it.
        args = [_bare(arg) if arg.op == "lit" else each for arg, each in zip(node.args, args)]
    made_of = {"call": node.op, "args": args}
    if options:
        made_of["options"] = options
    return made_of


def _bare(node):
    options = dict(node.options)
    value = options["value"]
    if options["type"] == "float" and not math.isfinite(value):
        value = _SPECIAL.get(value, "NaN")
    return {"lit": value, "type": options["type"]}


def _wide(node):
    """A literal with a type of its own: others are as wide as their neighbours."""
    kind = _WIDE.get(dict(node.options)["type"])
    return _bare(node) if kind is None else {"cast": kind, "arg": _bare(node)}


# A tree of more nodes, or a deeper one, is cut into columns of its own.
_LARGEST, _DEEPEST = 2000, 40
_WORTH_A_COLUMN = 8


def cut(roots, name):
    """The roots' JSON and, if trees are large, columns that come before: `(name, JSON)` in the order of their use.

    Expressions have no names for parts, so that a part that is used twice is written twice.
    """
    made, columns = {}, []
    if sum(root.size for root in roots) <= _LARGEST and all(root.depth <= _DEEPEST for root in roots):
        return columns, [to_json(root, made) for root in roots]
    uses, order = {}, []
    stack = [(root, False) for root in roots]
    while stack:
        node, is_done = stack.pop()
        if is_done:
            order.append(node)
            continue
        uses[node] = uses.get(node, 0) + 1
        if uses[node] == 1:
            stack.append((node, True))
            stack.extend((arg, False) for arg in node.args)
    sizes, depths = {}, {}
    for node in order:
        size = 1 + sum(sizes[arg] for arg in node.args)
        depth = 1 + max((depths[arg] for arg in node.args), default=0)
        json = to_json(node, made)
        if (uses[node] > 1 and size >= _WORTH_A_COLUMN) or depth >= _DEEPEST:
            columns.append((name(len(columns)), json))
            made[node] = {"col": columns[-1][0]}
            size = depth = 1
        sizes[node], depths[node] = size, depth
    return columns, [to_json(root, made) for root in roots]
