"""What stands for cells that are not there yet: expressions of a frame's columns.

Functions of arrays see them in the place of an array, and hand the call to :meth:`Symbol.function`. This module knows neither
arrays nor frames, so that both can know it.
"""

from __future__ import annotations

__all__ = ["Rows", "Symbol", "symbol_in"]


class Symbol:
    """The base of expressions."""

    __slots__ = ()

    @staticmethod
    def function(name, args, kwargs):
        """What a function of NumPy or of the array API standard, by its name, gives of expressions."""
        raise NotImplementedError(name)


class Rows:
    """The base of lazy frames."""

    __slots__ = ()

    @staticmethod
    def _concat(frames):
        """The rows of frames, one behind the other."""
        raise NotImplementedError


def symbol_in(args):
    """The first expression among arguments, or `None`."""
    for each in args:
        if isinstance(each, Symbol):
            return each
    return None
