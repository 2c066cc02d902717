"""The one exception of the package."""

from contextlib import contextmanager


class FulguriteError(Exception):
    """What went wrong, where in the script, and what to do next; the parts are there for programs.

    ``kind`` is one of syntax, validation, dimension, argument, io, data, plan, unsupported, memory, runtime, stopped,
    interrupted, backend and internal. ``position`` is ``(file, line, column)``, counted from 1, or None.
    """

    def __init__(self, kind, message, position=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.position = position


def error(kind, message, help):
    """As errors of the JVM look."""
    return FulguriteError(kind, f"{kind} error: {message}\n   = help: {help}")


@contextmanager
def java_errors(bridge):
    """Turns exceptions of the JVM into FulguriteError, without the stack traces of two languages."""
    # Spark's: without pyspark there is no JVM.
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as failure:
        kind, message, file, line, column = list(bridge.describe(failure.java_exception))
        position = (file, int(line), int(column)) if file is not None else None
        raise FulguriteError(kind, message, position) from None
