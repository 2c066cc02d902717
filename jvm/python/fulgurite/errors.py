"""The one exception of the package."""

from contextlib import contextmanager

from py4j.protocol import Py4JJavaError


class FulguriteError(Exception):
    """What went wrong, where in the script, and what to do next; the parts are there for programs.

    ``kind`` is one of syntax, validation, dimension, argument, io, data, plan, unsupported, memory, runtime, stopped,
    backend and internal. ``position`` is ``(file, line, column)``, counted from 1, or None.
    """

    def __init__(self, kind, message, position=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.position = position


@contextmanager
def java_errors(bridge):
    """Turns exceptions of the JVM into FulguriteError, without the stack traces of two languages."""
    try:
        yield
    except Py4JJavaError as error:
        kind, message, file, line, column = list(bridge.describe(error.java_exception))
        position = (file, int(line), int(column)) if file is not None else None
        raise FulguriteError(kind, message, position) from None
