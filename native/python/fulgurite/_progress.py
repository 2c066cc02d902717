"""A line on long evaluations, in terminals and notebooks."""

from __future__ import annotations

import sys

# Seconds before anything is shown.
_PATIENCE = 1.0
# The share of a run from which on it says something about the rest.
_TELLING = 0.02


def line(settings):
    """A progress line for an evaluation, or `None` where nobody would see one."""
    wanted = settings.progress
    if wanted is None:
        wanted = sys.stderr is not None and (sys.stderr.isatty() or "ipykernel" in sys.modules)
    return _Line() if wanted else None


class _Line:
    def __init__(self):
        self._shown = 0

    def __call__(self, seconds, operators, of, rows, of_rows, share):
        if seconds < _PATIENCE:
            return
        parts = [f"fulgurite: {_time(seconds)}", f"{operators} operators done"]
        if of is not None:
            parts[1] = f"{operators} of {max(of, operators)} operators done"
        if of_rows > 1:
            parts.append(f"{rows:,} of {of_rows:,} rows of the next one")
        if share is not None and _TELLING < share < 1.0:
            parts.append(f"about {_time(seconds * (1.0 - share) / share)} left")
        text = ", ".join(parts)
        sys.stderr.write("\r" + text.ljust(self._shown))
        sys.stderr.flush()
        self._shown = max(self._shown, len(text))

    def between(self, show):
        """A function that shows something else: the line makes room for it."""

        def shown(*values):
            self.close()
            show(*values)

        return shown

    def close(self):
        if self._shown:
            sys.stderr.write("\r" + " " * self._shown + "\r")
            sys.stderr.flush()
            self._shown = 0


def _time(seconds):
    if seconds < 100:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"
