"""Where a line of the caller asks for an operator."""

from __future__ import annotations

import sys

_PACKAGE = __name__.rpartition(".")[0]
# Callers of the package that nobody wrote a line of.
_BETWEEN = frozenset((_PACKAGE, f"{_PACKAGE}._narwhals", "narwhals", "narwhals._sql", "narwhals._compliant"))


def place():
    """The file and the line of the innermost caller outside this package."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_globals.get("__package__") not in _BETWEEN:
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return None
