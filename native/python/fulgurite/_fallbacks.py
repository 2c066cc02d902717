"""Functions that run in NumPy on evaluated values, and the list of those that did."""

from __future__ import annotations

import threading
from typing import NamedTuple

from . import _engine
from ._errors import FallbackError, at_place
from ._places import place

__all__ = ["Fallback", "fallbacks"]


class Fallback(NamedTuple):
    """A function that ran in NumPy."""

    function: str
    reason: str
    place: str
    count: int


_seen = {}
_lock = threading.Lock()


# Why functions of arrays without cells run in NumPy. There is nothing to compute, and so nothing is refused or listed.
NO_CELLS = "no cells"


def note(function, reason):
    """A function runs in NumPy.

    Raises:
        FallbackError: With ``config(fallback="error")``.
    """
    if reason == NO_CELLS:
        return
    where = place()
    if _engine.settings().fallback == "error":
        message = f"'{function}' would run in NumPy: {reason}"
        file, line = where or (None, None)
        raise FallbackError(
            at_place(message, where)
            + '\n   = help: allow it with fulgurite.config(fallback="numpy")',
            "unsupported",
            function,
            file,
            line,
        )
    key = (function, reason, "" if where is None else f"{where[0]}:{where[1]}")
    with _lock:
        _seen[key] = _seen.get(key, 0) + 1


def fallbacks(*, reset=False):
    """What ran in NumPy so far, most frequent first: function, reason, place and count.

    Args:
        reset: Whether to begin anew.

    >>> import fulgurite as fg
    >>> _ = fg.fallbacks(reset=True)
    >>> _ = fg.copysign(fg.ones(2), fg.ones(2))
    >>> [(each.function, each.count) for each in fg.fallbacks()]
    [('copysign', 1)]
    """
    with _lock:
        rows = [Fallback(*key, count) for key, count in _seen.items()]
        if reset:
            _seen.clear()
    return sorted(rows, key=lambda row: (-row.count, row.function, row.place))
