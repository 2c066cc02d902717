"""The source of a Python function, and the objects that its names are."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
import types

from ._translate_nodes import Refused


class Untranslatable(Exception):
    """Why a function has no translation, and on which line."""

    def __init__(self, reason, line=None, source_line=None):
        self.reason, self.line, self.source_line = reason, line, source_line
        place = "" if line is None else f" (line {line}: `{source_line}`)"
        super().__init__(reason + place)


class Source:
    """A function's syntax tree with its lines in the file."""

    def __init__(self, function):
        self.function = function
        self.first = 0
        self._lines = []
        if not isinstance(function, types.FunctionType):
            raise Untranslatable(f"a {type(function).__name__} is not a Python function")
        code = function.__code__
        if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
            raise Untranslatable(f"{function.__name__} is a generator or a coroutine")
        try:
            # Of the code: a wrapper is not the function that it wraps.
            self._lines, first = inspect.getsourcelines(code)
        except (OSError, TypeError):
            raise Untranslatable(f"the source of {function.__name__} is not there") from None
        self.first = max(first, 1)
        self.tree = self._tree(code)

    def _tree(self, code):
        for tree in self._parsed():
            found = [node for node in ast.walk(tree) if _is_of(node, code)]
            for node in found:
                if _is_compiled_to(node, code):
                    return node
        raise Untranslatable(
            f"the source of {code.co_name} is not what it was compiled from", self.first, self.text(1)
        )

    def _parsed(self):
        """The lines as a module. A lambda may begin within a statement, whose lines are only part of it."""
        text = textwrap.dedent("".join(self._lines))
        try:
            yield ast.parse(text)
            return
        except SyntaxError:
            pass
        line = "".join(self._lines)
        start = line.find("lambda")
        # Its end is not marked: the longest text that is an expression.
        for end in range(len(line), start, -1) if start >= 0 else ():
            try:
                tree = ast.parse("(" + line[start:end] + "\n)")
            except SyntaxError:
                continue
            yield tree

    def line_of(self, node):
        return self.first + node.lineno - 1

    def text(self, line):
        """A line of the function, counted from 1."""
        return self._lines[line - 1].strip() if 0 < line <= len(self._lines) else ""

    def refused(self, reason, node):
        return Untranslatable(reason, self.line_of(node), self.text(node.lineno))

    def named(self, name):
        """What a free name is now."""
        function = self.function
        free = function.__code__.co_freevars
        if name in free:
            try:
                return function.__closure__[free.index(name)].cell_contents
            except ValueError:
                raise Refused(f"`{name}` has no value yet") from None
        if name in function.__globals__:
            return function.__globals__[name]
        if hasattr(builtins, name):
            return getattr(builtins, name)
        raise Refused(f"`{name}` is not defined")


def _is_of(node, code):
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>"
    return isinstance(node, ast.FunctionDef) and node.name == code.co_name


def _is_compiled_to(node, code):
    """Whether this tree gives this code. A file may have changed since, and a line may have several lambdas."""
    if isinstance(node, ast.Lambda):
        inner = ast.Expr(node)
    else:
        inner = ast.FunctionDef(
            node.name, node.args, node.body, [], node.returns, getattr(node, "type_comment", None)
        )
        if hasattr(node, "type_params"):
            inner.type_params = node.type_params
    # Names of closures are locals of a function around it.
    free = [ast.arg(name) for name in code.co_freevars]
    arguments = ast.arguments([], free, None, [], [], None, [])
    body = [inner]
    if isinstance(node, ast.FunctionDef) and node.name not in code.co_freevars:
        # The name is not one of a closure, so that calls of it look elsewhere.
        body.insert(0, ast.Global([node.name]))
    outer = ast.FunctionDef("outer", arguments, body, [], None, None)
    if hasattr(node, "type_params"):
        outer.type_params = []
    module = ast.fix_missing_locations(ast.Module([outer], []))
    try:
        compiled = compile(module, "<source>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    stack = [compiled]
    while stack:
        each = stack.pop()
        if each.co_name == code.co_name and _is_like(each, code):
            return True
        stack.extend(const for const in each.co_consts if isinstance(const, types.CodeType))
    return False


def _is_like(one, other):
    def seen(code):
        constants = [
            (type(each), repr(each)) for each in code.co_consts if not isinstance(each, types.CodeType)
        ]
        return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants

    return seen(one) == seen(other)
