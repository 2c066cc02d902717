"""The engine that evaluations of a context use, and how they are configured."""

from __future__ import annotations

import contextvars
import os
import threading

from . import _native

__all__ = ["config"]


class _Settings:
    """Settings of a context, with the engine that has them."""

    __slots__ = ("_engine", "entries", "fallback", "memory", "progress")

    def __init__(self, entries, memory, fallback, progress):
        self.entries = entries
        self.memory = memory
        self.fallback = fallback
        self.progress = progress
        self._engine = None

    @property
    def engine(self):
        if self._engine is None:
            key = (self.memory, *sorted(self.entries.items()))
            engine = _engines.get(key)
            if engine is None:
                engine = _engines[key] = _native.Engine(self.entries, self.memory)
            self._engine = engine
        return self._engine


_engines = {}
_process = _Settings({}, None, "numpy", None)
_current = contextvars.ContextVar("fulgurite", default=None)
_MAIN = threading.main_thread().ident

os.register_at_fork(after_in_child=_native.forked)


def settings():
    """The settings of this context."""
    return _current.get() or _process


def is_main_thread():
    return threading.get_ident() == _MAIN


_UNITS = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def _bytes(memory):
    """A number of bytes, also written as ``"2g"``."""
    if isinstance(memory, str):
        text = memory.strip().lower()
        number = text.rstrip("bkmgt")
        unit = (
            text[len(number) :].removesuffix("b")
            if len(text) - len(number) > 1
            else text[len(number) :]
        )
        try:
            memory = int(float(number) * _UNITS[unit])
        except (ValueError, KeyError, OverflowError):
            memory = 0
    if isinstance(memory, bool) or not isinstance(memory, int) or memory <= 0:
        raise ValueError("memory is a positive number of bytes, or a text such as '2g'")
    return memory


class config:
    """Changes settings; as a context manager, until its end and for this context alone.

    Args:
        threads: Threads that operators use; all processors by default.
        memory: Bytes that results and intermediates of an evaluation or a script may take at a time, as a number or a text such as
            ``"2g"``. An evaluation that needs more raises :class:`MemoryLimitError` before it allocates them.
        fallback: ``"numpy"`` runs in NumPy what the engine has no operator for; ``"error"`` refuses it.
        compression: ``"on"`` compresses matrices that loops of scripts read, and inputs that are read several times; ``"off"``
            none; ``"auto"``, the default, those where that takes less time.
        progress: Whether long evaluations show a line of progress; by default in terminals and notebooks.
        entries: Keys of the engine's configuration and their values, such as ``{"fulgurite.rewrites.off": "zero-summand"}``.

    >>> import fulgurite as fg
    >>> with fg.config(threads=1):
    ...     float(fg.sum(fg.ones(3)))
    3.0
    """

    def __init__(
        self, *, threads=None, memory=None, fallback=None, compression=None, progress=None, entries=None
    ):
        global _process
        before = settings()
        changed = dict(before.entries)
        if threads is not None:
            if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
                raise ValueError(f"threads is a number from 1, not {threads!r}")
            changed["fulgurite.threads"] = str(threads)
        if compression is not None:
            if compression not in ("auto", "on", "off"):
                raise ValueError(f"compression is 'auto', 'on' or 'off', not {compression!r}")
            changed["fulgurite.compression"] = compression
        for key, value in (entries or {}).items():
            changed[key] = str(value)
        if fallback not in (None, "numpy", "error"):
            raise ValueError(f"fallback is 'numpy' or 'error', not {fallback!r}")
        after = _Settings(
            changed,
            before.memory if memory is None else _bytes(memory),
            before.fallback if fallback is None else fallback,
            before.progress if progress is None else progress,
        )
        # An entry that there is not is found here.
        _ = after.engine
        self._before = before
        self._after = after
        self._process = _process
        self._tokens = []
        if _current.get() is None:
            _process = after
        else:
            _current.set(after)

    def __enter__(self):
        global _process
        # From now on it holds for this context alone.
        if _process is self._after:
            _process = self._process
        self._tokens.append(_current.set(self._after))
        return self

    def __exit__(self, *_):
        _current.reset(self._tokens.pop())

    def __repr__(self):
        return f"config({self._after.entries}, fallback={self._after.fallback!r})"
