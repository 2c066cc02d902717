"""Python functions of columns as expressions, with Python's exact meaning.

:func:`translate` follows the function's syntax tree with values that stand for all rows (`_translate_values`): branches
are conditions, loops with constant bounds are unrolled, calls are inlined. It gives the expression of the result, and a
guard: the rows on which Python would raise, or on which the expression is not exact. Those run in Python. What has no
exact translation is refused, with the line. Names outside the function are what they are when it is translated.
"""

from __future__ import annotations

import ast
import inspect
import json
from dataclasses import dataclass, field

from . import _translate_operators as operators
from ._translate_expressions import STEPS, UNBOUND, Call, Expressions, Loop, State, constant, fixed
from ._translate_nodes import INT_MAX, NULL, Refused, call, column, cut, every, if_else
from ._translate_nodes import negation, number, some
from ._translate_source import Source, Untranslatable
from ._translate_values import Const, Path, choose, node_of, none_of, only, parameter
from ._translate_values import truth_of

__all__ = ["Translation", "Untranslatable", "translate"]

# How deep calls are inlined.
_DEPTH = 16
# Nodes of expressions.
_SIZE = 5_000

_TYPES = {
    "none": "null",
    "bool": "boolean",
    "npbool": "boolean",
    "int": "int64",
    "float": "float64",
    "npfloat": "float64",
    "str": "string",
    "date": "date",
    "datetime": "datetime",
}


@dataclass(frozen=True)
class Translation:
    """A function as expressions of the relational plan's JSON.

    `value_json` is the result on rows where `guard_json` is not true; the others run in Python. `guard_json` is None if
    no row does. `type` is the column's type, `nullable` whether it may have nulls. Large functions have `columns`,
    `(name, JSON)`, which come before both.
    """

    value_json: dict
    guard_json: dict | None
    type: str
    nullable: bool = False
    columns: list = field(default_factory=list)

    def to_json(self):
        """The expressions as text."""
        return json.dumps(
            {"columns": self.columns, "value": self.value_json, "guard": self.guard_json}
        )


def translate(function, schema, nullable=None, *, constants=None, name="__{}"):
    """The expression that a Python function of columns is.

    Args:
        function: A function whose parameters are columns of these names.
        schema: The type of each parameter's column, as the contract names types.
        nullable: Whether a column has nulls; they may, if nothing is said.
        constants: Parameters that are Python objects.
        name: What columns for parts of a large function are called, with `{}` for their number.

    Raises:
        Untranslatable: With the reason and the line.
    """
    try:
        return _translate(function, dict(schema), dict(nullable or {}), dict(constants or {}), name)
    except RecursionError:
        raise Untranslatable("the function nests too deeply") from None
    except Refused as refused:
        raise Untranslatable(str(refused)) from None


def _translate(function, schema, nullable, constants, name):
    source = Source(function)
    path = Path()
    arguments = {}
    for each, kind in schema.items():
        node = column(each)
        arguments[each] = parameter(node, kind, nullable.get(each, True))
        if kind == "uint64":
            path.guard(every(call("is_not_null", node), call("gt", node, number(INT_MAX))))
    arguments |= {each: constant(value) for each, value in constants.items()}
    run = _Run()
    result = run.inlined(source, path, (), arguments)
    try:
        value, kind, is_nullable = _column_of(path, result)
    except Refused as refused:
        raise Untranslatable(str(refused), source.first, source.text(1)) from None
    guard = some(*path.guards)
    if guard.op == "lit" and dict(guard.options)["value"]:
        raise Untranslatable("it raises on every row", source.first, source.text(1))
    has_guard = guard.op != "lit"
    roots = [value, guard] if has_guard else [value]
    if len(_nodes(roots)) > _SIZE:
        raise Untranslatable(f"its expression has over {_SIZE} parts")
    columns, made = cut(roots, name.format)
    return Translation(made[0], made[1] if has_guard else None, kind, is_nullable, columns)


def _nodes(roots):
    seen, stack = set(), list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack.extend(node.args)
    return seen


def _column_of(path, result):
    """The expression, type and nullability of a column of results.

    Whole numbers among floats are floats where they are exact; so NumPy, pandas, Polars and Arrow take a list of both.
    """
    kinds = {}
    for condition, scalar in result:
        node = node_of(scalar)
        kinds.setdefault(_TYPES[scalar.kind], []).append((condition, scalar, node))
    absent = none_of(result)
    is_nullable = "null" in kinds
    kinds.pop("null", None)
    if set(kinds) == {"int64", "float64"}:
        for condition, scalar, _ in kinds["int64"]:
            narrow = path.also(condition)
            if narrow is not None:
                narrow.guard(operators.is_inexact(scalar))
        whole = [(c, s, operators.float_node(s)) for c, s, _ in kinds.pop("int64")]
        kinds["float64"] = whole + kinds["float64"]
    if len(kinds) > 1:
        raise Refused(f"the result is {' or '.join(sorted(kinds))}")
    if not kinds:
        return NULL, "null", True
    ((kind, cases),) = kinds.items()
    node = cases[-1][2]
    for condition, _, each in reversed(cases[:-1]):
        node = if_else(condition, each, node)
    if is_nullable:
        node = call("if_else", absent, NULL, node)
    return node, kind, is_nullable


class _Run(Expressions):
    """Follows a function and those that it calls."""

    def __init__(self):
        self._steps = 0
        self._called = []

    def inlined(self, source, path, args, kwargs):
        """The value of a call."""
        function = source.function
        if function in self._called:
            raise Refused(f"{function.__name__} calls itself")
        if len(self._called) >= _DEPTH:
            raise Refused(f"calls nest more than {_DEPTH} deep")
        try:
            signature = inspect.signature(function, follow_wrapped=False)
            variadic = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
            if any(each.kind in variadic for each in signature.parameters.values()):
                raise Refused(f"{function.__name__} takes any number of arguments")
            names = dict(signature.bind(*args, **kwargs).arguments)
        except TypeError as error:
            raise Refused(f"{function.__name__}: {error}") from None
        for each in signature.parameters.values():
            if each.name not in names:
                names[each.name] = constant(each.default)
        frame = Call(source)
        self._called.append(function)
        try:
            if isinstance(source.tree, ast.Lambda):
                return self.value(frame, State(path, names), source.tree.body)
            self._check_names(frame, source.tree)
            state = self._block(frame, State(path, names), source.tree.body)
        finally:
            self._called.pop()
        if state is not None:
            frame.returns.append((state.path, only(Const(None))))
        return _first_of(path, frame.returns)

    def _check_names(self, frame, tree):
        for node in ast.walk(tree):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                raise frame.source.refused("a name of an outer scope is assigned", node)

    # Statements.

    def _block(self, frame, state, body):
        for statement in body:
            if state is None:
                return None
            self._count()
            state = self._statement(frame, state, statement)
        return state

    def _count(self):
        self._steps += 1
        if self._steps > STEPS:
            raise Refused(f"loops and calls have over {STEPS} steps")

    def _statement(self, frame, state, node):
        run = getattr(self, f"_do_{type(node).__name__}", None)
        try:
            if run is None:
                raise Refused(_STATEMENTS.get(type(node).__name__, f"a {type(node).__name__} statement"))
            return run(frame, state, node)
        except Refused as refused:
            raise frame.source.refused(str(refused), node) from None

    def _do_Expr(self, frame, state, node):
        # A docstring, or an expression that may raise.
        if not isinstance(node.value, ast.Constant):
            self.value(frame, state, node.value)
        return state

    def _do_Pass(self, frame, state, node):
        return state

    def _do_Return(self, frame, state, node):
        value = only(Const(None)) if node.value is None else self.value(frame, state, node.value)
        frame.returns.append((state.path, value))

    def _do_Raise(self, frame, state, node):
        # Python raises it when the row runs there.
        state.path.raises()

    def _do_Assert(self, frame, state, node):
        if not __debug__:
            return state
        condition = truth_of(self.value(frame, state, node.test))
        state.path.guard(negation(condition))
        return state

    def _do_Assign(self, frame, state, node):
        value = self.value(frame, state, node.value)
        names = dict(state.names)
        for target in node.targets:
            self._assign(names, target, value)
        return State(state.path, names)

    def _do_AnnAssign(self, frame, state, node):
        if node.value is None:
            return state
        names = dict(state.names)
        self._assign(names, node.target, self.value(frame, state, node.value))
        return State(state.path, names)

    def _do_AugAssign(self, frame, state, node):
        if not isinstance(node.target, ast.Name):
            raise Refused("an assignment to what is not a name")
        left = self.name(frame, state, node.target.id)
        value = self.binary(state.path, node.op, left, self.value(frame, state, node.value))
        return State(state.path, {**state.names, node.target.id: value})

    def _assign(self, names, target, value):
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = fixed(value)
            if any(isinstance(each, ast.Starred) for each in target.elts) or len(items) != len(target.elts):
                raise Refused("an assignment of another number of values")
            for each, item in zip(target.elts, items):
                self._assign(names, each, item)
        else:
            raise Refused("an assignment to what is not a name")

    def _do_If(self, frame, state, node):
        condition = truth_of(self.value(frame, state, node.test))
        ends = []
        for branch, body in ((condition, node.body), (negation(condition), node.orelse)):
            path = state.path.also(branch)
            if path is not None:
                end = self._block(frame, State(path, state.names), body)
                if end is not None:
                    ends.append(end)
        return _merged(state.path, ends)

    def _do_For(self, frame, state, node):
        if node.type_comment:
            raise Refused("a comment of types")
        items = self.iterated(frame, state, node.iter)
        start = state.path
        loop = Loop()
        for item in items:
            if state is None:
                break
            self._count()
            names = dict(state.names)
            self._assign(names, node.target, item)
            state = self._turn(frame, loop, State(state.path, names), node.body)
        if state is not None and node.orelse:
            state = self._block(frame, state, node.orelse)
        return _merged(start, loop.breaks + ([] if state is None else [state]))

    def _do_While(self, frame, state, node):
        start = state.path
        loop = Loop()
        while state is not None:
            self._count()
            condition = truth_of(self.value(frame, state, node.test))
            if condition.op != "lit":
                raise Refused("a loop whose condition depends on the row")
            if not dict(condition.options)["value"]:
                break
            state = self._turn(frame, loop, state, node.body)
        if state is not None and node.orelse:
            state = self._block(frame, state, node.orelse)
        return _merged(start, loop.breaks + ([] if state is None else [state]))

    def _turn(self, frame, loop, state, body):
        """One pass of a loop: what goes on to the next one."""
        start = state.path
        loop.continues = []
        frame.loops.append(loop)
        try:
            end = self._block(frame, state, body)
        finally:
            frame.loops.pop()
        return _merged(start, loop.continues + ([] if end is None else [end]))

    def _do_Break(self, frame, state, node):
        frame.loops[-1].breaks.append(state)

    def _do_Continue(self, frame, state, node):
        frame.loops[-1].continues.append(state)


def _merged(start, states):
    """One state of several that exclude each other."""
    if not states:
        return None
    if len(states) == 1:
        return states[0]
    conditions = [state.path.condition(without=start.known) for state in states]
    names = {}
    for name in {each: None for state in states for each in state.names}:
        values = [state.names.get(name, only(Const(UNBOUND))) for state in states]
        first = values[0]
        if all(value is first for value in values[1:]):
            names[name] = first
        else:
            names[name] = choose(list(zip(conditions, values)))
    path = start.also(some(*conditions))
    return State(start if path is None else path, names)


def _first_of(start, returns):
    """The value of a call, from what it returns on each path."""
    known, results = set(start.known), []
    for path, value in returns:
        left = [node for node in path.nodes if node not in known]
        results.append((every(*left), value))
    return choose(results)


_STATEMENTS = {
    "Try": "a `try` statement",
    "TryStar": "a `try` statement",
    "With": "a `with` statement",
    "Match": "a `match` statement",
    "FunctionDef": "a function within the function",
    "ClassDef": "a class within the function",
    "Import": "an import within the function",
    "ImportFrom": "an import within the function",
    "Delete": "a `del` statement",
}
