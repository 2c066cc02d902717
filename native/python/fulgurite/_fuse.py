"""Functions of arrays whose calls are one plan."""

from __future__ import annotations

import functools
import threading
import warnings

import numpy as np

from . import _array, _engine, _native
from ._array import Array, make
from ._convert import asarray
from ._fallbacks import note

__all__ = ["fuse"]

# Traces that a function keeps.
_TRACES = 64


def fuse(function):
    """Traces a function of arrays once for each structure of its arguments: its calls are one plan and do not build it anew.

    Arguments are arrays and numbers, also in tuples, lists and dicts; other values are constants, for each of which
    the function is traced again. What the function gives are arrays in tuples, lists and dicts.
    A function that looks at the values of its arguments, as ``if`` does, runs at each call, and a warning names the
    line. So does one of arrays that the engine has not, which :func:`fallbacks` lists. The function gets arrays of its
    own, and numbers as arrays without dimensions: what it assigns to them, the caller does not see.

    >>> import fulgurite as fg
    >>> @fg.fuse
    ... def scaled(x, factor):
    ...     return (x - fg.mean(x)) * factor
    >>> scaled(fg.asarray([1.0, 3.0]), 2.0).tolist()
    [-2.0, 2.0]
    """
    return functools.wraps(function)(_Fused(function))


class _Unlike(Exception):
    """An array that the engine has not; its dtype and dimensions."""


class _Fused:
    def __init__(self, function):
        self._function = function
        self._traces = {}
        self._warned = set()
        self._lock = threading.Lock()

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args, **kwargs):
        arrays = []
        settings = _engine.settings()
        try:
            flat = _flat(args, arrays), _flat(kwargs, arrays) if kwargs else None
        except _Unlike as unlike:
            note(self._function.__name__, f"an argument of {unlike}")
            return self._function(*args, **kwargs)
        # Plans follow from the engine's configuration.
        key = (*flat, settings.engine, settings.fallback)
        _array.evaluate([array for array in arrays if array._node is not None])
        try:
            known = self._traces.get(key)
        except TypeError:
            raise TypeError(
                "arguments of a fused function are arrays, numbers and values that can be keys"
            ) from None
        if known is None:
            return self._trace(key, args, kwargs, arrays)
        traced, results = known
        if traced is None:
            return self._of_own(args, kwargs, map(_array.same, arrays))
        nodes = [_array.node_of(array) for array in arrays]
        with _array.watched(settings) as (is_main, progress):
            nodes = iter(traced(settings.engine, nodes, is_main, progress))
        return _built(results, nodes)

    def _of_own(self, args, kwargs, arrays):
        """What the function gives of these arrays in the place of its arguments."""
        arrays = iter(arrays)
        return self._function(*_replaced(args, arrays), **_replaced(kwargs, arrays))

    def _trace(self, key, args, kwargs, arrays):
        # Nodes of their own, so that two arguments that are one array are two of the next call.
        own = [_copied(array) for array in arrays]
        arguments = [_array.node_of(array) for array in own]
        before, looks = _array.looked(), []
        _array.begin_trace(looks)
        try:
            given = self._of_own(args, kwargs, own)
        finally:
            _array.end_trace(before)
        nodes = []
        results = _described(given, nodes)
        if looks:
            where = looks[0]
            if where not in self._warned:
                self._warned.add(where)
                file, line = where or ("?", 0)
                warnings.warn(
                    f"{file}:{line}: {self._function.__name__} looks at a value here, so that its calls are not one plan",
                    stacklevel=3,
                )
            traced = None
        else:
            traced = _native.Traced(_engine.settings().engine, arguments, nodes)
        with self._lock:
            if len(self._traces) >= _TRACES:
                self._traces.pop(next(iter(self._traces)))
            self._traces[key] = traced, results
        return given


def _flat(value, arrays):
    """The structure of arguments, without the values of arrays and numbers, which go to `arrays`."""
    if type(value) is Array:
        array = value
    elif type(value) in (float, int) or isinstance(value, (np.floating, np.integer)):
        array = _number(value)
    elif isinstance(value, np.ndarray):
        array = asarray(value)
    elif isinstance(value, (tuple, list)):
        return (type(value), *(_flat(each, arrays) for each in value))
    elif isinstance(value, dict):
        return (dict, *((name, _flat(each, arrays)) for name, each in value.items()))
    else:
        return (type(value), value)
    if array._kind is None:
        raise _Unlike(f"dtype {array.dtype} and shape {array.shape}")
    arrays.append(array)
    return (array._kind, array._shape, array._row, array._sparse)


def _number(value):
    kind = _array.FLOAT if isinstance(value, (float, np.floating)) else _array.INT
    return make(_native.Node.scalar(float(value)), (), kind)


def _copied(array):
    node = _array.node_of(array)
    return make(node.alias(), array._shape, array._kind, array._row, array._sparse)


def _replaced(value, arrays):
    if type(value) is Array or isinstance(value, (np.ndarray, np.floating, np.integer)):
        return next(arrays)
    if type(value) in (float, int):
        return next(arrays)
    if isinstance(value, (tuple, list)):
        parts = [_replaced(each, arrays) for each in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {name: _replaced(each, arrays) for name, each in value.items()}
    return value


def _described(value, nodes):
    """How results lie in tuples and dicts; their nodes go to `nodes`."""
    if type(value) is Array and value._kind is not None:
        nodes.append(_array.node_of(value))
        return ("array", value._shape, value._kind, value._row, value._sparse)
    if isinstance(value, (tuple, list)):
        return ("items", type(value), [_described(each, nodes) for each in value])
    if isinstance(value, dict):
        return ("dict", {name: _described(each, nodes) for name, each in value.items()})
    return ("value", value)


def _built(described, nodes):
    what, *rest = described
    if what == "array":
        return make(next(nodes), *rest)
    if what == "items":
        kind, parts = rest
        parts = [_built(part, nodes) for part in parts]
        return kind(*parts) if hasattr(kind, "_fields") else kind(parts)
    if what == "dict":
        return {name: _built(part, nodes) for name, part in rest[0].items()}
    return rest[0]


