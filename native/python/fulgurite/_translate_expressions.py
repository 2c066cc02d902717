"""Expressions of a translated function: what each node of the syntax tree is on all rows."""

from __future__ import annotations

import ast
import inspect
import types

from . import _translate_calls as calls
from . import _translate_comparisons as comparisons
from . import _translate_operators as operators
from . import _translate_text as text
from ._translate_nodes import Refused, call, every, negation, some
from ._translate_source import Source
from ._translate_values import (
    Const,
    Tuple,
    a_bool,
    choose,
    distribute,
    node_of,
    only,
    truth_of,
)

# Steps of all loops and calls together.
STEPS = 20_000

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

# What a name is that has no value yet.
UNBOUND = object()


def constant(value):
    """An object that all rows have."""
    if type(value) is tuple:
        return only(Tuple(tuple(constant(each) for each in value)))
    return only(Const(value))


class Call:
    """A call of a function: what it returns, and the loops that it is in."""

    def __init__(self, source):
        self.source = source
        self.returns = []
        self.loops = []


class Loop:
    def __init__(self):
        self.breaks, self.continues = [], []


class State:
    """Where code runs: the path, and the values of names."""

    __slots__ = ("names", "path")

    def __init__(self, path, names):
        self.path, self.names = path, names


class Expressions:
    """Follows expressions; statements and calls of functions are its subclass's."""

    def inlined(self, source, path, args, kwargs):
        """The value of a call."""
        raise NotImplementedError

    def iterated(self, frame, state, node):
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
                if len(numbers) > STEPS:
                    raise Refused(f"loops and calls have over {STEPS} steps")
                return [only(Const(each)) for each in numbers]
            if function is reversed and len(node.args) == 1:
                return self.iterated(frame, state, node.args[0])[::-1]
            if function is enumerate and len(node.args) == 1:
                items = self.iterated(frame, state, node.args[0])
                return [only(Tuple((only(Const(i)), each))) for i, each in enumerate(items)]
            if function is zip and node.args:
                lists = [self.iterated(frame, state, arg) for arg in node.args]
                return [only(Tuple(each)) for each in zip(*lists)]
        return list(fixed(self.value(frame, state, node)))

    def _constant(self, frame, state, node, what):
        value = self.value(frame, state, node)
        if len(value) == 1 and type(value[0][1]) is Const:
            return value[0][1].value
        raise Refused(f"{what} of what is not a constant")

    def value(self, frame, state, node):
        run = getattr(self, f"_of_{type(node).__name__}", None)
        try:
            if run is None:
                raise Refused(_EXPRESSIONS.get(type(node).__name__, f"a {type(node).__name__} expression"))
            return run(frame, state, node)
        except Refused as refused:
            raise frame.source.refused(str(refused), node) from None

    def _of_Constant(self, frame, state, node):
        return constant(node.value)

    def _of_Name(self, frame, state, node):
        return self.name(frame, state, node.id)

    def name(self, frame, state, name):
        if name not in state.names:
            if name in frame.source.function.__code__.co_varnames:
                # Python raises UnboundLocalError.
                return state.path.raises()
            return constant(frame.source.named(name))
        value = state.names[name]
        for condition, scalar in value:
            if type(scalar) is Const and scalar.value is UNBOUND:
                state.path.guard(condition)
                value = tuple(case for case in value if case[1] is not scalar)
        return value

    def _of_BinOp(self, frame, state, node):
        left = self.value(frame, state, node.left)
        return self.binary(state.path, node.op, left, self.value(frame, state, node.right))

    def binary(self, path, op, left, right):
        name = _BINARY.get(type(op))
        if name is None:
            raise Refused("a product of matrices")
        return distribute(path, lambda at, a, b: operators.binary(at, name, a, b), left, right)

    def _of_UnaryOp(self, frame, state, node):
        value = self.value(frame, state, node.operand)
        if isinstance(node.op, ast.Not):
            return only(a_bool(negation(truth_of(value))))
        name = _UNARY[type(node.op)]
        return distribute(state.path, lambda at, x: operators.unary(at, name, x), value)

    def _of_BoolOp(self, frame, state, node):
        """The first operand that decides; the next ones run only if it does not."""
        found = self.value(frame, state, node.values[0])
        if len(node.values) > 1:
            is_true = truth_of(found)
            goes_on = is_true if isinstance(node.op, ast.And) else negation(is_true)
            rest = ast.copy_location(ast.BoolOp(node.op, node.values[1:]), node)
            path = state.path.also(goes_on)
            if path is None:
                return found
            other = self._of_BoolOp(frame, State(path, state.names), rest)
            stays = negation(goes_on)
            if state.path.also(stays) is None:
                return other
            return choose([(goes_on, other), (stays, _narrowed(found, stays, node.op))])
        return found

    def _of_IfExp(self, frame, state, node):
        condition = truth_of(self.value(frame, state, node.test))
        results = []
        for branch, chosen in ((condition, node.body), (negation(condition), node.orelse)):
            path = state.path.also(branch)
            if path is not None:
                results.append((branch, self.value(frame, State(path, state.names), chosen)))
        return results[0][1] if len(results) == 1 else choose(results)

    def _of_NamedExpr(self, frame, state, node):
        value = self.value(frame, state, node.value)
        if state.path.nodes:
            raise Refused("an assignment within an expression that may not run")
        state.names[node.target.id] = value
        return value

    def _of_Compare(self, frame, state, node):
        left = self.value(frame, state, node.left)
        path, found = state.path, None
        for op, right_node in zip(node.ops, node.comparators):
            right = self.value(frame, State(path, state.names), right_node)
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
            found = distribute(path, lambda at, a, b: comparisons.identical(a, b), left, right)
        elif isinstance(op, (ast.In, ast.NotIn)):
            found = distribute(path, lambda at, a, b: comparisons.contains(at, b, a), left, right)
        else:
            name = _COMPARED[type(op)]
            return distribute(path, lambda at, a, b: comparisons.compare(at, name, a, b), left, right)
        if isinstance(op, (ast.IsNot, ast.NotIn)):
            return only(a_bool(negation(truth_of(found))))
        return found

    def _of_Tuple(self, frame, state, node):
        if any(isinstance(each, ast.Starred) for each in node.elts):
            raise Refused("a starred value")
        return only(Tuple(tuple(self.value(frame, state, each) for each in node.elts)))

    # Lists and sets that are only looked at: loops, `in` and arguments do not change them.
    _of_List = _of_Set = _of_Tuple

    def _of_JoinedStr(self, frame, state, node):
        parts = [self.value(frame, state, each) for each in node.values]
        return distribute(state.path, lambda at, *each: operators.concatenated(*each), *parts)

    def _of_FormattedValue(self, frame, state, node):
        if node.format_spec is not None or node.conversion not in (-1, ord("s")):
            raise Refused("an f-string with a format")
        value = self.value(frame, state, node.value)
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
                return constant(getattr(scalar.value, node.attr))
            raise Refused(f"the attribute `{node.attr}` of a {_named_kind(scalar)}")

        return distribute(state.path, one, self.value(frame, state, node.value))

    def _of_Subscript(self, frame, state, node):
        value = self.value(frame, state, node.value)
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
        index = self.value(frame, state, node.slice)
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
            return constant(holder.value[place])
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
            is_it = node_of(comparisons.compare(path, "==", key, index))
            found.append(is_it)
            results.append((is_it, constant(item)))
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
            args.append(self.value(frame, state, each))
        kwargs = {}
        for each in node.keywords:
            if each.arg is None:
                raise Refused("a call with starred arguments")
            kwargs[each.arg] = self.value(frame, state, each.value)
        if isinstance(node.func, ast.Attribute):
            holder = self.value(frame, state, node.func.value)
            scalar = holder[0][1] if len(holder) == 1 else None
            if not (type(scalar) is Const and isinstance(scalar.value, types.ModuleType)):
                return self._method(state, holder, node.func.attr, args, kwargs)
        target = self.value(frame, state, node.func)
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
        # Functions of expressions are functions of values here.
        function = getattr(function, "__translated__", function)
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


def fixed(value):
    """The items of what is the same number of values on all rows."""
    if len(value) == 1:
        scalar = value[0][1]
        if type(scalar) is Tuple:
            return scalar.items
        if type(scalar) is Const and type(scalar.value) in (list, str, dict, range):
            if len(scalar.value) > STEPS:
                raise Refused(f"loops and calls have over {STEPS} steps")
            return tuple(constant(each) for each in scalar.value)
    raise Refused("items of what is not a constant number of values")


def _narrowed(found, stays, op):
    """An operand of `and` that is false, or of `or` that is true: None is not true."""
    if isinstance(op, ast.Or):
        return tuple(case for case in found if case[1].kind != "none")
    return found


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
