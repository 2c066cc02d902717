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
import types
from dataclasses import dataclass, field

from . import _translate_calls as calls
from . import _translate_operators as operators
from . import _translate_text as text
from ._translate_nodes import INT_MAX, NULL, Refused, call, cast, column, cut, every, if_else
from ._translate_nodes import negation, number, some
from ._translate_source import Source, Untranslatable
from ._translate_values import Const, Path, Tuple, a_bool, choose, distribute, kind_of, node_of
from ._translate_values import none_of, only, parameter, truth_of

__all__ = ["Translation", "Untranslatable", "translate"]

# Steps of all loops and calls together, and how deep calls are inlined.
_STEPS = 20_000
_DEPTH = 16
# Nodes of expressions.
_SIZE = 5_000

_BINARY = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARED = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_UNARY = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}

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

_UNBOUND = object()


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
    arguments |= {each: _constant(value) for each, value in constants.items()}
    run = _Run()
    result = run.inlined(source, path, (), arguments)
    value, kind, is_nullable = _column_of(path, result)
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
    if kind == "date" and node.op == "lit":
        node = cast("date", node)
    return node, kind, is_nullable


def _constant(value):
    """An object that all rows have."""
    if type(value) is tuple:
        return only(Tuple(tuple(_constant(each) for each in value)))
    return only(Const(value))


class _Frame:
    """A call of a function: what it returns, and the loops that it is in."""

    def __init__(self, source):
        self.source = source
        self.returns = []
        self.loops = []


class _Loop:
    def __init__(self):
        self.breaks, self.continues = [], []


class _State:
    """Where code runs: the path, and the values of names."""

    __slots__ = ("names", "path")

    def __init__(self, path, names):
        self.path, self.names = path, names


class _Run:
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
                names[each.name] = _constant(each.default)
        frame = _Frame(source)
        self._called.append(function)
        try:
            if isinstance(source.tree, ast.Lambda):
                return self._value(frame, _State(path, names), source.tree.body)
            self._check_names(frame, source.tree)
            state = self._block(frame, _State(path, names), source.tree.body)
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
        if self._steps > _STEPS:
            raise Refused(f"loops and calls have over {_STEPS} steps")

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
            self._value(frame, state, node.value)
        return state

    def _do_Pass(self, frame, state, node):
        return state

    def _do_Return(self, frame, state, node):
        value = only(Const(None)) if node.value is None else self._value(frame, state, node.value)
        frame.returns.append((state.path, value))

    def _do_Raise(self, frame, state, node):
        # Python raises it when the row runs there.
        state.path.raises()

    def _do_Assert(self, frame, state, node):
        if not __debug__:
            return state
        condition = truth_of(self._value(frame, state, node.test))
        state.path.guard(negation(condition))
        return state

    def _do_Assign(self, frame, state, node):
        value = self._value(frame, state, node.value)
        names = dict(state.names)
        for target in node.targets:
            self._assign(names, target, value)
        return _State(state.path, names)

    def _do_AnnAssign(self, frame, state, node):
        if node.value is None:
            return state
        names = dict(state.names)
        self._assign(names, node.target, self._value(frame, state, node.value))
        return _State(state.path, names)

    def _do_AugAssign(self, frame, state, node):
        if not isinstance(node.target, ast.Name):
            raise Refused("an assignment to what is not a name")
        left = self._name(frame, state, node.target.id)
        value = self._binary(state.path, node.op, left, self._value(frame, state, node.value))
        return _State(state.path, {**state.names, node.target.id: value})

    def _assign(self, names, target, value):
        if isinstance(target, ast.Name):
            names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = _fixed(value)
            if any(isinstance(each, ast.Starred) for each in target.elts) or len(items) != len(target.elts):
                raise Refused("an assignment of another number of values")
            for each, item in zip(target.elts, items):
                self._assign(names, each, item)
        else:
            raise Refused("an assignment to what is not a name")

    def _do_If(self, frame, state, node):
        condition = truth_of(self._value(frame, state, node.test))
        ends = []
        for branch, body in ((condition, node.body), (negation(condition), node.orelse)):
            path = state.path.also(branch)
            if path is not None:
                end = self._block(frame, _State(path, state.names), body)
                if end is not None:
                    ends.append(end)
        return _merged(state.path, ends)

    def _do_For(self, frame, state, node):
        if node.type_comment:
            raise Refused("a comment of types")
        items = self._iterated(frame, state, node.iter)
        start = state.path
        loop = _Loop()
        for item in items:
            if state is None:
                break
            self._count()
            names = dict(state.names)
            self._assign(names, node.target, item)
            state = self._turn(frame, loop, _State(state.path, names), node.body)
        if state is not None and node.orelse:
            state = self._block(frame, state, node.orelse)
        return _merged(start, loop.breaks + ([] if state is None else [state]))

    def _do_While(self, frame, state, node):
        start = state.path
        loop = _Loop()
        while state is not None:
            self._count()
            condition = truth_of(self._value(frame, state, node.test))
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

    def _iterated(self, frame, state, node):
        """The items of a loop."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
            known = state.names.get(node.func.id)
            function = frame.source.named(node.func.id) if known is None else None
            if function is range:
                args = [self._constant(frame, state, arg, "range()") for arg in node.args]
                try:
                    numbers = range(*args)
                except (TypeError, ValueError) as error:
                    raise Refused(str(error)) from None
                if len(numbers) > _STEPS:
                    raise Refused(f"loops and calls have over {_STEPS} steps")
                return [only(Const(each)) for each in numbers]
            if function is reversed and len(node.args) == 1:
                return self._iterated(frame, state, node.args[0])[::-1]
            if function is enumerate and len(node.args) == 1:
                items = self._iterated(frame, state, node.args[0])
                return [only(Tuple((only(Const(i)), each))) for i, each in enumerate(items)]
            if function is zip and node.args:
                lists = [self._iterated(frame, state, arg) for arg in node.args]
                return [only(Tuple(each)) for each in zip(*lists)]
        return list(_fixed(self._value(frame, state, node)))

    def _constant(self, frame, state, node, what):
        value = self._value(frame, state, node)
        if len(value) == 1 and type(value[0][1]) is Const:
            return value[0][1].value
        raise Refused(f"{what} of what is not a constant")

    # Expressions.

    def _value(self, frame, state, node):
        run = getattr(self, f"_of_{type(node).__name__}", None)
        try:
            if run is None:
                raise Refused(_EXPRESSIONS.get(type(node).__name__, f"a {type(node).__name__} expression"))
            return run(frame, state, node)
        except Refused as refused:
            raise frame.source.refused(str(refused), node) from None

    def _of_Constant(self, frame, state, node):
        return _constant(node.value)

    def _of_Name(self, frame, state, node):
        return self._name(frame, state, node.id)

    def _name(self, frame, state, name):
        if name not in state.names:
            if name in frame.source.function.__code__.co_varnames:
                # Python raises UnboundLocalError.
                return state.path.raises()
            return _constant(frame.source.named(name))
        value = state.names[name]
        for condition, scalar in value:
            if type(scalar) is Const and scalar.value is _UNBOUND:
                state.path.guard(condition)
                value = tuple(case for case in value if case[1] is not scalar)
        return value

    def _of_BinOp(self, frame, state, node):
        left = self._value(frame, state, node.left)
        return self._binary(state.path, node.op, left, self._value(frame, state, node.right))

    def _binary(self, path, op, left, right):
        name = _BINARY.get(type(op))
        if name is None:
            raise Refused("a product of matrices")
        return distribute(path, lambda at, a, b: operators.binary(at, name, a, b), left, right)

    def _of_UnaryOp(self, frame, state, node):
        value = self._value(frame, state, node.operand)
        if isinstance(node.op, ast.Not):
            return only(a_bool(negation(truth_of(value))))
        name = _UNARY[type(node.op)]
        return distribute(state.path, lambda at, x: operators.unary(at, name, x), value)

    def _of_BoolOp(self, frame, state, node):
        """The first operand that decides; the next ones run only if it does not."""
        found = self._value(frame, state, node.values[0])
        if len(node.values) > 1:
            is_true = truth_of(found)
            goes_on = is_true if isinstance(node.op, ast.And) else negation(is_true)
            rest = ast.copy_location(ast.BoolOp(node.op, node.values[1:]), node)
            path = state.path.also(goes_on)
            if path is None:
                return found
            other = self._of_BoolOp(frame, _State(path, state.names), rest)
            stays = negation(goes_on)
            if state.path.also(stays) is None:
                return other
            return choose([(goes_on, other), (stays, _narrowed(found, stays, node.op))])
        return found

    def _of_IfExp(self, frame, state, node):
        condition = truth_of(self._value(frame, state, node.test))
        results = []
        for branch, chosen in ((condition, node.body), (negation(condition), node.orelse)):
            path = state.path.also(branch)
            if path is not None:
                results.append((branch, self._value(frame, _State(path, state.names), chosen)))
        return results[0][1] if len(results) == 1 else choose(results)

    def _of_NamedExpr(self, frame, state, node):
        value = self._value(frame, state, node.value)
        if state.path.nodes:
            raise Refused("an assignment within an expression that may not run")
        state.names[node.target.id] = value
        return value

    def _of_Compare(self, frame, state, node):
        left = self._value(frame, state, node.left)
        path, found = state.path, None
        for op, right_node in zip(node.ops, node.comparators):
            right = self._value(frame, _State(path, state.names), right_node)
            one = self._compared(path, op, left, right)
            if found is None:
                found = one
            else:
                held = truth_of(found)
                found = choose([(held, one), (negation(held), found)])
            if right_node is not node.comparators[-1]:
                path = path.also(truth_of(one))
                if path is None:
                    return found
            left = right
        return found

    def _compared(self, path, op, left, right):
        if isinstance(op, (ast.Is, ast.IsNot)):
            found = distribute(path, lambda at, a, b: operators.identical(a, b), left, right)
        elif isinstance(op, (ast.In, ast.NotIn)):
            found = distribute(path, lambda at, a, b: operators.contains(at, b, a), left, right)
        else:
            name = _COMPARED[type(op)]
            return distribute(path, lambda at, a, b: operators.compare(at, name, a, b), left, right)
        if isinstance(op, (ast.IsNot, ast.NotIn)):
            return only(a_bool(negation(truth_of(found))))
        return found

    def _of_Tuple(self, frame, state, node):
        if any(isinstance(each, ast.Starred) for each in node.elts):
            raise Refused("a starred value")
        return only(Tuple(tuple(self._value(frame, state, each) for each in node.elts)))

    # Lists and sets that are only looked at: loops, `in` and arguments do not change them.
    _of_List = _of_Set = _of_Tuple

    def _of_JoinedStr(self, frame, state, node):
        parts = [self._value(frame, state, each) for each in node.values]
        return distribute(state.path, lambda at, *each: operators.concatenated(*each), *parts)

    def _of_FormattedValue(self, frame, state, node):
        if node.format_spec is not None or node.conversion not in (-1, ord("s")):
            raise Refused("an f-string with a format")
        value = self._value(frame, state, node.value)
        return distribute(state.path, calls.text_of, value)

    def _of_Attribute(self, frame, state, node):
        def one(path, scalar):
            if scalar.kind == "none":
                return path.raises()
            if scalar.kind in ("date", "datetime"):
                return text.date_part(scalar, node.attr)
            if type(scalar) is Const and isinstance(scalar.value, types.ModuleType):
                if not hasattr(scalar.value, node.attr):
                    return path.raises()
                return _constant(getattr(scalar.value, node.attr))
            raise Refused(f"the attribute `{node.attr}` of a {_named_kind(scalar)}")

        return distribute(state.path, one, self._value(frame, state, node.value))

    def _of_Subscript(self, frame, state, node):
        value = self._value(frame, state, node.value)
        if isinstance(node.slice, ast.Slice):
            if node.slice.step is not None:
                raise Refused("a slice with a step")
            bounds = []
            for each in (node.slice.lower, node.slice.upper):
                bound = None if each is None else self._constant(frame, state, each, "a slice")
                if bound is not None and type(bound) is not int:
                    raise Refused("a slice with bounds that are not whole numbers")
                bounds.append(bound)
            return distribute(state.path, lambda at, x: _slice(at, x, *bounds), value)
        index = self._value(frame, state, node.slice)
        return distribute(state.path, self._item, value, index)

    def _item(self, path, holder, index):
        if holder.kind == "none":
            return path.raises()
        if holder.kind == "other" and type(holder.value) is dict:
            return self._looked_up(path, holder.value, index, None)
        if type(index) is not Const or index.kind not in ("int", "bool"):
            raise Refused("an index that is not a constant")
        place = int(index.value)
        if holder.kind == "str":
            return text.character(path, holder, place)
        if holder.kind == "tuple":
            if not -len(holder.items) <= place < len(holder.items):
                return path.raises()
            return holder.items[place]
        if holder.kind == "other" and type(holder.value) is list:
            if not -len(holder.value) <= place < len(holder.value):
                return path.raises()
            return _constant(holder.value[place])
        raise Refused(f"an index of a {_named_kind(holder)}")

    def _looked_up(self, path, table, index, default):
        """What a dictionary of constants has; without a default its lack raises."""
        members = [Const(each) for each in table]
        if len(members) > 256:
            raise Refused("a dictionary of over 256 keys")
        found, results = [], []
        for key, item in zip(members, table.values()):
            if key.kind in ("other", "none") or key.value != key.value:
                raise Refused("a dictionary with keys that are not numbers or strings")
            is_it = node_of(operators.compare(path, "==", key, index))
            found.append(is_it)
            results.append((is_it, _constant(item)))
        lacks = negation(some(*found))
        if default is None:
            path.guard(lacks)
        else:
            results.append((lacks, default))
        return choose(results)

    def _of_Call(self, frame, state, node):
        args = []
        for each in node.args:
            if isinstance(each, ast.Starred):
                raise Refused("a call with starred arguments")
            args.append(self._value(frame, state, each))
        kwargs = {}
        for each in node.keywords:
            if each.arg is None:
                raise Refused("a call with starred arguments")
            kwargs[each.arg] = self._value(frame, state, each.value)
        if isinstance(node.func, ast.Attribute):
            holder = self._value(frame, state, node.func.value)
            scalar = holder[0][1] if len(holder) == 1 else None
            if not (type(scalar) is Const and isinstance(scalar.value, types.ModuleType)):
                return self._method(state, holder, node.func.attr, args, kwargs)
        target = self._value(frame, state, node.func)
        if len(target) != 1 or type(target[0][1]) is not Const:
            raise Refused("a call of what is not one function")
        return self._called_with(state.path, target[0][1].value, args, kwargs)

    def _method(self, state, holder, name, args, kwargs):
        def one(path, scalar):
            if scalar.kind == "none":
                return path.raises()
            if kwargs:
                raise Refused(f"the method `{name}` with keywords")
            if scalar.kind == "str":
                return text.method(path, scalar, name, args)
            if scalar.kind in ("date", "datetime"):
                return text.date_method(path, scalar, name, args)
            if name == "is_integer" and scalar.kind in ("float", "npfloat") and not args:
                whole = call("eq", call("floor", node_of(scalar)), node_of(scalar))
                return a_bool(every(whole, call("is_finite", node_of(scalar))))
            if scalar.kind == "other" and type(scalar.value) is dict and name == "get" and 1 <= len(args) <= 2:
                default = args[1] if len(args) == 2 else only(Const(None))
                return distribute(
                    path, lambda at, key: self._looked_up(at, scalar.value, key, default), args[0]
                )
            raise Refused(f"the method `{name}` of a {_named_kind(scalar)}")

        return distribute(state.path, one, holder)

    def _called_with(self, path, function, args, kwargs):
        try:
            known = calls.CALLS.get(function)
        except TypeError:
            known = None
        if known is not None:
            if kwargs:
                raise Refused(f"{function.__name__}() with keywords")
            try:
                inspect.signature(known).bind(path, *args)
            except TypeError:
                raise Refused(f"{function.__name__}() of {len(args)} arguments") from None
            return known(path, *args)
        if isinstance(function, types.FunctionType):
            return self.inlined(Source(function), path, args, kwargs)
        name = getattr(function, "__qualname__", type(function).__name__)
        raise Refused(f"a call of {name}()")


def _named_kind(scalar):
    return type(scalar.value).__name__ if type(scalar) is Const else scalar.kind


def _slice(path, scalar, first, last):
    if scalar.kind == "none":
        return path.raises()
    if scalar.kind == "str":
        return text.sliced(path, scalar, first, last)
    if scalar.kind == "tuple":
        return Tuple(scalar.items[first:last])
    raise Refused(f"a slice of a {_named_kind(scalar)}")


def _fixed(value):
    """The items of what is the same number of values on all rows."""
    if len(value) == 1:
        scalar = value[0][1]
        if type(scalar) is Tuple:
            return scalar.items
        if type(scalar) is Const and type(scalar.value) in (list, str, dict, range):
            if len(scalar.value) > _STEPS:
                raise Refused(f"loops and calls have over {_STEPS} steps")
            return tuple(_constant(each) for each in scalar.value)
    raise Refused("items of what is not a constant number of values")


def _narrowed(found, stays, op):
    """An operand of `and` that is false, or of `or` that is true: None is not true."""
    if isinstance(op, ast.Or):
        return tuple(case for case in found if case[1].kind != "none")
    return found


def _merged(start, states):
    """One state of several that exclude each other."""
    if not states:
        return None
    if len(states) == 1:
        return states[0]
    conditions = [state.path.condition(without=start.known) for state in states]
    names = {}
    for name in {each: None for state in states for each in state.names}:
        values = [state.names.get(name, only(Const(_UNBOUND))) for state in states]
        first = values[0]
        if all(value is first for value in values[1:]):
            names[name] = first
        else:
            names[name] = choose(list(zip(conditions, values)))
    path = start.also(some(*conditions))
    return _State(start if path is None else path, names)


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
_EXPRESSIONS = {
    "Lambda": "a lambda within the function",
    "Dict": "a dictionary made on each row",
    "ListComp": "a comprehension",
    "SetComp": "a comprehension",
    "DictComp": "a comprehension",
    "GeneratorExp": "a comprehension",
    "Await": "an `await`",
    "Yield": "a `yield`",
    "YieldFrom": "a `yield`",
    "Starred": "a starred value",
}
