"""Python functions among the expressions of frames.

A call of one is a leaf of an expression's tree, :class:`Called`, until a step of a frame has it: then the types of its arguments
are known, and it is translated (`_translate`). The step reads it as a column of the step below, :class:`Functions`, which
is planned in two ways. Without rows to run in Python it is the translated expressions. A frame that is collected first counts the
rows that have to run in Python; their results are joined to the others by the row's number.
"""

from __future__ import annotations

import functools
import inspect
import itertools

import numpy as np

from ._errors import FulguriteError
from ._expressions import Expr, col, expression, lit
from ._fallbacks import note
from ._frame_sources import Frames, Memory, table_of
from ._row_functions import apply, column_of, is_running
from ._translate import Untranslatable, translate
from ._trees import Called, Step, moment, parts_of, type_name

__all__ = ["udf"]

_numbers = itertools.count()


def udf(function=None, *, returns=None):
    """Makes a Python function of values one of expressions.

    Where expressions can do what the function does, with Python's exact meaning, they are planned and fused. Rows for which Python
    would raise, or that need whole numbers of more than 64 bits, run in Python, and so do functions that have no translation;
    :func:`fallbacks` lists these with the reason and the line. A missing value is None. An exception of the function is raised when
    the frame is collected, with the row in a note. Names outside the function are what they are when a frame gets the expression.

    Args:
        function: A function of values. Its arguments become names of columns, expressions, or values.
        returns: The type of the result, for functions that have no translation and no annotation. Without one,
            they run when a frame's types are asked for.

    >>> import fulgurite as fg
    >>> @fg.udf
    ... def fee(amount, rate):
    ...     return 0.0 if amount is None or amount < 100 else amount * rate
    >>> frame = fg.frame({"amount": [50.0, 200.0, None]})
    >>> frame.select(fee=fee("amount", 0.5)).collect().to_dict()
    {'fee': [0.0, 100.0, 0.0]}
    """
    if function is None:
        return functools.partial(udf, returns=returns)
    if not callable(function):
        raise TypeError(f"a function is wanted, not {function!r}")
    return _Udf(function, returns)


class _Udf:
    """A function of expressions."""

    def __init__(self, function, returns=None):
        # Objects that can be called, and partial functions, have no name.
        self.__name__ = type(function).__name__
        functools.update_wrapper(self, function)
        self.function = self.__translated__ = function
        self.returns = None if returns is None else type_name(returns)

    def __call__(self, *args, **kwargs):
        if is_running():
            return self.function(*args, **kwargs)
        try:
            bound = inspect.signature(self.function).bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None
        trees, constants = {}, {}
        for name, value in bound.items():
            if isinstance(value, str):
                value = col(value)
            if isinstance(value, Expr):
                if value._many is not None:
                    raise ValueError(f"the argument {name!r} is several columns: name one")
                if _has_aggregate(value._tree):
                    raise ValueError(f"the argument {name!r} is an aggregate: make it a column with with_columns() before")
                trees[name] = value._tree
            else:
                constants[name] = value
        if not trees:
            raise TypeError(f"{self.__name__} gets a column at least")
        return expression(Called(self.function, trees, constants, self.returns), self.__name__)


def _has_aggregate(tree):
    if isinstance(tree, dict):
        return "agg" in tree or any(_has_aggregate(each) for each in tree.values())
    return isinstance(tree, list) and any(_has_aggregate(each) for each in tree)


def mapped(frame, function, name, returns):
    """A frame with a function's results as a further column: parameters are columns by their names."""
    if not isinstance(function, _Udf):
        function = _Udf(function, returns)
    known, args = set(frame.columns), {}
    for each in inspect.signature(function.function).parameters.values():
        if each.name in known or each.default is each.empty:
            # A column that is not there is the planner's error, with near names.
            args[each.name] = expression({"col": each.name}, each.name)
    if name is None:
        name = function.__name__.strip("<>")
    return frame.with_columns(function(**args).alias(name))


def lifted(frame, plan):
    """A step whose trees may call functions as one that reads columns instead."""
    ((kind, body),) = plan.items()
    calls = {}
    for key, value in body.items():
        if key not in _INPUTS:
            _find(value, calls)
    if not calls:
        return plan
    if kind not in ("filter", "select", "with_columns", "sort", "group_by"):
        raise TypeError(f"a function of Python is called in with_columns() before {kind}()")
    step = Functions(frame, list(calls.values()))
    names = {key: {"col": one.name} for key, one in zip(calls, step.functions, strict=True)}
    made = {key: value if key in _INPUTS else _replaced(value, names) for key, value in body.items()}
    made["input"] = step
    plan = {kind: made}
    if kind in ("select", "group_by"):
        return plan
    return {"drop": {"input": plan, "names": [one.name for one in step.functions]}}


_INPUTS = frozenset(("input", "inputs", "left", "right"))


def _find(tree, found):
    if isinstance(tree, Called):
        for each in tree.trees.values():
            # What a function gets may be another one's result: those run first.
            _find(each, inner := {})
            if inner:
                raise TypeError(
                    f"an argument of {tree.name} is computed by a function of Python: give it a column, "
                    "made by with_columns() before"
                )
        found[id(tree)] = tree
    elif isinstance(tree, dict):
        if "agg" in tree:
            _find(tree.get("arg"), found)
            return
        for each in tree.values():
            _find(each, found)
    elif isinstance(tree, list):
        for each in tree:
            _find(each, found)


def _replaced(tree, names):
    if isinstance(tree, Called):
        return names[id(tree)]
    if isinstance(tree, dict):
        return {key: _replaced(value, names) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_replaced(each, names) for each in tree]
    return tree


def _with_arguments(tree, arguments):
    """A translated expression with trees for the parameters."""
    if isinstance(tree, dict):
        if "col" in tree:
            return arguments.get(tree["col"], tree)
        return {key: _with_arguments(value, arguments) for key, value in tree.items()}
    if isinstance(tree, list):
        return [_with_arguments(each, arguments) for each in tree]
    return tree


# How values come to Python that `fulgurite.Frame` has not.
_CARRIED = {"date": "int64", "datetime": "int64", "uint64": "string"}


def _carrying(argument, kind):
    return argument.cast(_CARRIED[kind]) if kind in _CARRIED else argument


def _carried(values, kind):
    """The values of a column, as those of its type are in Python."""
    if kind not in _CARRIED:
        return values
    of = int if kind == "uint64" else functools.partial(moment, kind)
    return [None if value is None else of(value) for value in values]


class _Function:
    """A call in a step: its column, and its translation or the reason why there is none."""

    def __init__(self, frame, called):
        self.called = called
        self.name = f"__function_{next(_numbers)}"
        self.translation = self.reason = None
        kinds = frame.select(*(expression(tree, name) for name, tree in called.trees.items())).schema
        self.kinds = dict(kinds)
        try:
            self.translation = translate(
                called.function, kinds, constants=called.constants, name=self.name + "_{}"
            )
            self._check(frame)
        except (Untranslatable, FulguriteError) as error:
            self.translation = None
            self.reason = str(error).partition("\n")[0]
            note(called.name, self.reason)
            self.kind = called.returns or _annotated(called.function)
        else:
            self.kind = self.translation.type

    def _check(self, frame):
        """Asks the planner whether it has all that the translation uses."""
        for part in self.parts:
            frame = frame.with_columns(expression(part["expr"], part["name"]))
        made = [expression(self.value, "value")]
        if self.guard is not None:
            made.append(expression(self.guard, "guard"))
        _ = frame.select(*made).schema

    @property
    def parts(self):
        """The columns that come before those of a large function."""
        found = self.translation.columns
        return [{"name": name, "expr": _with_arguments(tree, self.called.trees)} for name, tree in found]

    @property
    def value(self):
        return _with_arguments(self.translation.value_json, self.called.trees)

    @property
    def guard(self):
        """Which rows run in Python; None if none do."""
        if self.translation is None:
            return {"lit": True, "type": "boolean"}
        if self.translation.guard_json is None:
            return None
        guard = _with_arguments(self.translation.guard_json, self.called.trees)
        return {"call": "fill_null", "args": [guard, {"lit": True, "type": "boolean"}]}

    def __str__(self):
        name = self.called.name
        if self.translation is None:
            return f"{name}: runs in Python for each row: {self.reason}"
        if self.translation.guard_json is None:
            return f"{name}: translated"
        return f"{name}: translated; rows that raise or leave 64 bits run in Python"


def _annotated(function):
    found = inspect.signature(function).return_annotation
    found = {"bool": bool, "int": int, "float": float, "str": str}.get(found, found)
    try:
        return None if found is inspect.Signature.empty else type_name(found)
    except TypeError:
        return None


class Functions(Step):
    """A step that has the results of functions as further columns."""

    __slots__ = ("_settled", "frame", "functions")

    def __init__(self, frame, calls):
        self.frame = frame
        self.functions = [_Function(frame, called) for called in calls]
        self._settled = None

    def planned(self):
        """The plan if no row runs in Python: for types and explanations."""
        plan = self.frame._plan
        for one in self.functions:
            if one.translation is None and one.kind is None:
                # Its results say what type they have.
                return self.settled()
            plan = self._translated(plan, one)
        return plan

    def settled(self):
        """The plan of the frame that is collected. Rows that have to are run in Python."""
        if self._settled is None:
            plan = self.frame._plan
            for one in self.functions:
                plan = self._translated(plan, one) if self._stays(one) else self._joined(plan, one)
            self._settled = plan
        return self._settled

    def lines(self):
        """What explain() says of the functions."""
        return [str(one) for one in self.functions]

    @staticmethod
    def _translated(plan, one):
        if one.translation is None:
            value = {"lit": None, "type": "null"}
            if one.kind is not None:
                value = {"cast": one.kind, "arg": value}
            return {"with_columns": {"input": plan, "exprs": [{"name": one.name, "expr": value}]}}
        for part in (*one.parts, {"name": one.name, "expr": one.value}):
            plan = {"with_columns": {"input": plan, "exprs": [part]}}
        names = [part["name"] for part in one.parts]
        return {"drop": {"input": plan, "names": names}} if names else plan

    def _stays(self, one):
        """Whether no row runs in Python."""
        if one.guard is None:
            return True
        if one.translation is None:
            return False
        frame = self._with_parts(one)
        counted = frame.select(expression(one.guard, "n").sum())
        return not Frames.of(counted._table()).to_dict()["n"][0]

    def _with_parts(self, one):
        frame = self.frame
        for part in one.parts if one.translation else ():
            frame = frame.with_columns(expression(part["expr"], part["name"]))
        return frame

    def _joined(self, plan, one):
        """The results of rows that ran in Python, joined to the others by the number of the row."""
        row, result = f"{one.name}_row", f"{one.name}_result"
        frame = self._with_parts(one)
        count = frame.select(expression({"agg": "len"}, "n"))
        numbers = lit(np.arange(Frames.of(count._table()).to_dict()["n"][0]))
        arguments = [
            _carrying(expression(tree, f"{one.name}_{name}"), one.kinds[name]) for name, tree in one.called.trees.items()
        ]
        wanted = frame.with_columns(numbers.alias(row)).filter(expression(one.guard, "guard"))
        found = Frames.of(wanted.select(row, *arguments)._table()).to_dict()
        rows = found.pop(row)
        if not rows:
            return self._translated(plan, one)
        columns = {
            name: _carried(values, one.kinds[name])
            for name, values in zip(one.called.trees, found.values(), strict=True)
        }
        given = apply(one.called.function, columns, one.called.constants, rows=rows)
        _, values = column_of(one.called.name, given, one.kind, rows=rows)
        results = Memory(table_of({row: rows, result: values}))
        left = {"with_columns": {"input": plan, "exprs": [{"name": row, "expr": numbers._tree}]}}
        joined = {
            "left": left,
            "right": {"scan": results},
            "how": "left",
            "left_on": [{"col": row}],
            "right_on": [{"col": row}],
            "suffix": "_right",
            "nulls_equal": False,
        }
        plan = {"join": joined}
        value = {"col": result}
        if one.translation is not None:
            for part in one.parts:
                plan = {"with_columns": {"input": plan, "exprs": [part]}}
            value = {"call": "if_else", "args": [one.guard, value, one.value]}
        plan = {"with_columns": {"input": plan, "exprs": [{"name": one.name, "expr": value}]}}
        names = [row, result, *(part["name"] for part in (one.parts if one.translation else ()))]
        return {"drop": {"input": plan, "names": names}}


def settled(plan):
    """A plan whose rows that need it have run in Python."""
    return _without_steps(plan, lambda step: settled(step.settled())) if any(_steps(plan)) else plan


def _steps(plan):
    """The functions of a plan, those that run last first."""
    return (part for part in parts_of(plan) if isinstance(part, Step))


def _without_steps(plan, replace):
    if isinstance(plan, Step):
        return replace(plan)
    if isinstance(plan, dict):
        return {key: _without_steps(value, replace) for key, value in plan.items()}
    if isinstance(plan, list):
        return [_without_steps(each, replace) for each in plan]
    return plan


def explained(plan):
    """Lines for the functions of a plan, those that run first below."""
    return [line for step in _steps(plan) for line in [*step.lines(), *explained(step.frame._plan)]]
