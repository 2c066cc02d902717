"""Errors of the client, and exceptions of the JVM, as the package's own exception."""

from contextlib import contextmanager

from .._errors import FulguriteError

__all__ = ["FulguriteError", "error", "failed", "java_errors"]


# The codes of errors that have none of their own, by kind, as the engine has them.
_CODES = {"argument": "E0500", "io": "E0600", "data": "E0700", "unsupported": "E0900", "backend": "E1400"}


def failed(kind, message, position=None):
    """An exception with a whole message; ``position`` is ``(file, line, column)``."""
    heading = f"{kind} error: "
    if kind in _CODES and message.startswith(heading):
        message = f"{kind} error[{_CODES[kind]}]: {message[len(heading):]}"
    file, line, column = position or (None, None, None)
    return FulguriteError(message, kind, file=file, line=line, column=column)


def error(kind, message, help):
    """As errors of the JVM look."""
    return failed(kind, f"{kind} error: {message}\n   = help: {help}")


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
        raise failed(kind, message, position) from None
