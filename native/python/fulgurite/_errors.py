"""The exceptions of the package: the kind of an error, and the class that Python's users catch for it."""

from __future__ import annotations

import linecache
import re

import numpy as np

__all__ = [
    "ColumnError",
    "FallbackError",
    "FulguriteError",
    "MemoryLimitError",
    "ShapeError",
]


class FulguriteError(Exception):
    """An error of the engine.

    Attributes:
        kind: What went wrong, in a word: ``dimension``, ``memory``, ``data``, ``argument`` ...
        operator: The code of the operator that failed, such as ``ba(+*)``; or ``None``.
        file: The script, or the file of Python, that asked for it; or ``None``.
        line: The line in it, from 1; or ``None``.
        help: What to do next; or ``None``.
        column: The column in the line, from 1; or ``None``.
    """

    def __init__(
        self, message, kind="runtime", operator=None, file=None, line=None, help=None, column=None
    ):
        super().__init__(message)
        self.kind = kind
        self.operator = operator
        self.file = file
        self.line = line
        self.help = help
        self.column = column

    @property
    def message(self):
        """All of it as text: what went wrong, where, and what to do next."""
        return str(self)

    @property
    def code(self):
        """Its stable code, such as ``E0401``, which ``fulgurite check --explain`` explains; or ``None``."""
        found = re.match(r"\w+ error\[([A-Z]\d{4})\]", str(self))
        return found and found[1]

    @property
    def position(self):
        """``(file, line, column)``, or ``None``."""
        return None if self.file is None else (self.file, self.line, self.column)

    def __reduce__(self):
        place = (self.file, self.line, self.help, self.column)
        return type(self), (str(self), self.kind, self.operator, *place)


class ShapeError(FulguriteError, ValueError):
    """Sizes that do not go together."""


class ArgumentError(FulguriteError, ValueError):
    """A value that an operator or a setting does not have."""


class ColumnError(FulguriteError, KeyError):
    """A column that a frame has not, or has twice."""

    # That of KeyError quotes.
    __str__ = Exception.__str__


class MemoryLimitError(FulguriteError, MemoryError):
    """More memory is needed than ``config(memory=...)`` or the machine allows."""


class SingularError(FulguriteError, np.linalg.LinAlgError):
    """A linear system without a solution, or a matrix that has no such factors."""


class FileError(FulguriteError, OSError):
    """A file that can't be found, read or written."""


class FallbackError(FulguriteError, NotImplementedError):
    """A function would run in NumPy, which ``config(fallback="error")`` refuses."""


_CLASSES = {
    "dimension": ShapeError,
    "argument": ArgumentError,
    "validation": ArgumentError,
    "data": ArgumentError,
    "syntax": ArgumentError,
    "memory": MemoryLimitError,
    "io": FileError,
}


def class_of(kind):
    """The class of errors of a kind."""
    return _CLASSES.get(kind, FulguriteError)


# How messages about names of columns begin.
_OF_COLUMNS = ("there is no column '", "two columns have the name '")

# Operators that fail for matrices with these numbers.
_LINEAR = ("p(solve)", "p(inv)", "p(cholesky)")


def at_place(message, place):
    """The message with the line of Python that a place names."""
    if place is None:
        return message
    file, line = place
    source = linecache.getline(file, line).strip()
    text = f"{message}\n  --> {file}:{line}"
    if source:
        number = str(line)
        gutter = " " * len(number)
        text += f"\n {gutter} |\n {number} | {source}"
    return text


def from_engine(kind, message, operator, file, line, help, text, code):
    """The exception for an error of the engine."""
    if kind == "interrupted":
        return KeyboardInterrupt()
    if text is None or file is None:
        text = f"{kind} error[{code}]: {message}"
        if operator:
            text += f" (in {operator})"
        text = at_place(text, None if file is None else (file, line))
        if help:
            text += f"\n   = help: {help}"
    made = SingularError if kind == "runtime" and operator in _LINEAR else _CLASSES.get(kind)
    if kind == "validation" and message.startswith(_OF_COLUMNS):
        made = ColumnError
    return (made or FulguriteError)(text, kind, operator, file, line or None, help)
