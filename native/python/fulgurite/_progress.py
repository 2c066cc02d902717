"""A line on long evaluations, in terminals and notebooks."""

from __future__ import annotations

import sys

# Seconds before anything is shown.
_PATIENCE = 1.0


def line(settings):
    """A progress line for an evaluation, or `None` where nobody would see one."""
    wanted = settings.progress
    if wanted is None:
        wanted = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    return _Line() if wanted else None


class _Line:
    def __init__(self):
        self._shown = 0

    def __call__(self, seconds, done, of):
        if seconds < _PATIENCE:
            return
        text = f"fulgurite: {seconds:.1f} s, {done} kinds of operators done of at most {of}"
        sys.stderr.write("\r" + text.ljust(self._shown))
        sys.stderr.flush()
        self._shown = len(text)

    def close(self):
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
