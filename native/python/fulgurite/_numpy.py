"""How NumPy's functions find ours: ``np.exp(a)`` and ``np.concatenate([a, b])`` are planned as ours are."""

from __future__ import annotations

import functools
import inspect

import numpy as np

from . import _functions, linalg
from ._array import Array, become, on_host, wrapped
from ._hosted import NO_OPERATOR

# Universal functions that ours have another name for.
_UFUNCS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "conjugate": "conj",
    "fabs": "abs",
    "float_power": "pow",
    "invert": "bitwise_invert",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "power": "pow",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "true_divide": "divide",
}
_REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


def _ufunc(self, ufunc, method, *inputs, **options):
    out = options.pop("out", None)
    result = _of_ufunc(ufunc, method, inputs, options)
    return result if out is None else _put(result, out)


def _of_ufunc(ufunc, method, inputs, options):
    if method == "__call__" and not options:
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        if name in _PUBLIC:
            return getattr(_functions, name)(*inputs)
        if name == "divmod":
            return _functions.floor_divide(*inputs), _functions.remainder(*inputs)
    elif method == "reduce" and set(options) <= {"axis", "keepdims"}:
        name = _REDUCTIONS.get(ufunc.__name__)
        if name is not None:
            return getattr(_functions, name)(*inputs, **{"axis": 0, **options})
    what = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
    return on_host(what, NO_OPERATOR, getattr(ufunc, method), *inputs, **options)


def _put(result, out):
    """Results go where the caller wants them: into arrays of NumPy, or in the place of ours."""
    results = result if isinstance(result, tuple) else (result,)
    for value, place in zip(results, out, strict=True):
        if place is None:
            continue
        if type(place) is not Array:
            np.copyto(place, np.asarray(value), casting="same_kind")
            continue
        if place.shape != value.shape:
            raise ValueError(f"a result of the shape {value.shape} has no place in {place.shape}")
        if not np.can_cast(value.dtype, place.dtype, "same_kind"):
            raise TypeError(f"a result of {value.dtype} has no place among cells of {place.dtype}")
        become(place, _functions.astype(value, place.dtype))
    places = tuple(
        value if place is None else place for value, place in zip(results, out, strict=True)
    )
    return places if isinstance(result, tuple) else places[0]


_PUBLIC = frozenset(_functions.__all__)


class _Unlike(Exception):
    """Arguments that ours have not."""


def _aggregate(name):
    function = getattr(_functions, name)

    def ours(array, axis=None, ddof=0, correction=None, keepdims=False, dtype=None, **more):
        if more:
            raise _Unlike
        options = {"axis": axis, "keepdims": bool(keepdims)}
        if dtype is not None:
            if name not in ("sum", "prod"):
                raise _Unlike
            options["dtype"] = dtype
        if name in ("var", "std"):
            options["correction"] = ddof if correction is None else correction
        elif ddof:
            raise _Unlike
        return function(array, **options)

    return ours


def _cumulative(name):
    function = getattr(_functions, name)

    def ours(array, axis=None, dtype=None, **more):
        if more:
            raise _Unlike
        if axis is None:
            array = _functions.reshape(array, (-1,))
        return function(array, axis=axis, dtype=dtype)

    return ours


def _sorted(name):
    function = getattr(_functions, name)

    def ours(array, axis=-1, kind=None, order=None, stable=None):
        if kind not in (None, "stable") or order is not None:
            raise _Unlike
        if axis is None:
            array, axis = _functions.reshape(array, (-1,)), 0
        return function(array, axis=axis)

    return ours


def _concatenate(arrays, /, axis=0, out=None, dtype=None, casting="same_kind"):
    if out is not None or dtype is not None or casting != "same_kind":
        raise _Unlike
    return _functions.concat(arrays, axis=axis)


def _stack(arrays, axis=0, **more):
    if more:
        raise _Unlike
    return _functions.stack(arrays, axis=axis)


def _vstack(arrays, **more):
    if more:
        raise _Unlike
    return _functions.concat([_at_least_2d(array) for array in arrays], axis=0)


def _hstack(arrays, **more):
    if more:
        raise _Unlike
    arrays = [_functions.asarray(array) for array in arrays]
    arrays = [array if array.ndim else _functions.reshape(array, (1,)) for array in arrays]
    return _functions.concat(arrays, axis=0 if arrays[0].ndim == 1 else 1)


def _column_stack(arrays):
    arrays = [_functions.asarray(array) for array in arrays]
    columns = [array if array.ndim > 1 else _functions.reshape(array, (-1, 1)) for array in arrays]
    return _functions.concat(columns, axis=1)


def _at_least_2d(array):
    array = _functions.asarray(array)
    return _functions.reshape(array, (1, -1)) if array.ndim < 2 else array


def _where(condition, x=None, y=None, /):
    if x is None or y is None:
        raise _Unlike
    return _functions.where(condition, x, y)


def _clip(array, a_min=None, a_max=None, out=None, *, min=None, max=None, **more):
    if more or out is not None:
        raise _Unlike
    return _functions.clip(array, a_min if min is None else min, a_max if max is None else max)


def _dot(a, b, out=None):
    if out is not None:
        raise _Unlike
    if np.ndim(a) == 0 or np.ndim(b) == 0:
        return _functions.multiply(a, b)
    if np.ndim(b) > 2:
        raise _Unlike
    return _functions.matmul(a, b)


def _vdot(a, b, /):
    a, b = (_functions.reshape(_functions.asarray(each), (-1,)) for each in (a, b))
    if a.dtype.kind == "c":
        raise _Unlike
    return _functions.matmul(a, b)


def _transpose(array, axes=None):
    array = _functions.asarray(array)
    if axes is None:
        axes = tuple(reversed(range(array.ndim)))
    return _functions.permute_dims(array, axes) if array.ndim else array


def _reshape(array, /, shape=None, order="C", *, copy=None):
    if order != "C" or shape is None:
        raise _Unlike
    return _functions.reshape(array, shape, copy=copy)


def _ravel(array, order="C"):
    if order != "C":
        raise _Unlike
    return _functions.reshape(array, (-1,))


def _round(array, decimals=0, out=None):
    if decimals or out is not None:
        raise _Unlike
    return _functions.round(array)


def _triangle(name):
    function = getattr(_functions, name)
    return lambda array, k=0: function(array, k=k)


def _diff(array, n=1, axis=-1, **more):
    more = {name: value for name, value in more.items() if value is not np._NoValue}
    if more:
        raise _Unlike
    return _functions.diff(array, n=n, axis=axis)


def _like(name):
    function = getattr(_functions, name)

    def ours(array, dtype=None, order="K", subok=True, shape=None, *, device=None):
        if order != "K" or not subok or shape is not None:
            raise _Unlike
        return function(array, dtype=dtype, device=device)

    return ours


def _full_like(array, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    if order != "K" or not subok or shape is not None:
        raise _Unlike
    return _functions.full_like(array, fill_value, dtype=dtype, device=device)


def _squeeze(array, axis=None):
    if axis is None:
        axis = tuple(at for at, length in enumerate(array.shape) if length == 1)
    return _functions.squeeze(array, axis)


def _outer(a, b, out=None):
    if out is not None:
        raise _Unlike
    a, b = (_functions.reshape(_functions.asarray(each), (-1,)) for each in (a, b))
    return linalg.outer(a, b)


_OURS = {
    **{
        name: _aggregate(name)
        for name in "sum prod mean max min any all var std argmax argmin".split()
    },
    "amax": _aggregate("max"),
    "amin": _aggregate("min"),
    "count_nonzero": _aggregate("count_nonzero"),
    "cumsum": _cumulative("cumulative_sum"),
    "cumprod": _cumulative("cumulative_prod"),
    "sort": _sorted("sort"),
    "argsort": _sorted("argsort"),
    "concatenate": _concatenate,
    "concat": _concatenate,
    "stack": _stack,
    "vstack": _vstack,
    "hstack": _hstack,
    "column_stack": _column_stack,
    "where": _where,
    "clip": _clip,
    "dot": _dot,
    "vdot": _vdot,
    "transpose": _transpose,
    "permute_dims": _transpose,
    "matrix_transpose": lambda array, /: _functions.matrix_transpose(array),
    "reshape": _reshape,
    "ravel": _ravel,
    "round": _round,
    "around": _round,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
    "diff": _diff,
    "zeros_like": _like("zeros_like"),
    "ones_like": _like("ones_like"),
    "empty_like": _like("empty_like"),
    "full_like": _full_like,
    "squeeze": _squeeze,
    "outer": _outer,
    "expand_dims": lambda a, axis: _functions.expand_dims(a, axis),
    "broadcast_to": lambda array, shape, subok=False: _functions.broadcast_to(array, shape),
    "flip": lambda m, axis=None: _functions.flip(m, axis=axis),
    "roll": lambda a, shift, axis=None: _functions.roll(a, shift, axis=axis),
    "moveaxis": lambda a, source, destination: _functions.moveaxis(a, source, destination),
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": lambda a, axis=None: a.size if axis is None else a.shape[axis],
}
_OURS_OF_LINALG = {
    "solve": lambda a, b: linalg.solve(a, b),
    "inv": lambda a: linalg.inv(a),
    "cholesky": lambda a, /, *, upper=False: linalg.cholesky(a, upper=upper),
    "norm": lambda x, ord=None, axis=None, keepdims=False: linalg.norm(x, ord, axis, keepdims),
    "matrix_power": lambda a, n: linalg.matrix_power(a, n),
    "trace": lambda x, /, *, offset=0, dtype=None: linalg.trace(x, offset=offset, dtype=dtype),
    "outer": lambda x1, x2, /: linalg.outer(x1, x2),
    "vector_norm": lambda x, /, **more: linalg.vector_norm(x, **more),
    "matrix_norm": lambda x, /, **more: linalg.matrix_norm(x, **more),
    "diagonal": lambda x, /, *, offset=0: linalg.diagonal(x, offset=offset),
}
_TABLES = {"numpy": _OURS, "numpy.linalg": _OURS_OF_LINALG}


def _function(self, function, types, args, kwargs):
    module = function.__module__ or "numpy"
    ours = _TABLES.get(module, {}).get(function.__name__)
    if ours is not None:
        # `out=None` and what has no value were not given.
        given = {
            name: value
            for name, value in kwargs.items()
            if value is not np._NoValue and not (name == "out" and value is None)
        }
        try:
            return ours(*args, **given)
        except _Unlike:
            pass
        except TypeError:
            # Arguments of NumPy's function that ours has not; NumPy says what is wrong with others.
            if _binds(ours, args, given):
                raise
    name = (
        function.__name__
        if module == "numpy"
        else f"{module.removeprefix('numpy.')}.{function.__name__}"
    )
    return on_host(name, NO_OPERATOR, function, *args, **kwargs)


def _binds(function, args, kwargs):
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


Array.__array_ufunc__ = _ufunc
Array.__array_function__ = _function


# What the standard calls otherwise, and NumPy's users expect.
_NAMES = {"array": "asarray", "concatenate": "concat"}


def named(name):
    """A function or a number of NumPy that this package has no function for: of arrays it is planned where ours has
    operators for it, and else runs in NumPy.

    Raises:
        AttributeError: For what is neither.
    """
    if name in _NAMES:
        return getattr(_functions, _NAMES[name])
    host = None if name.startswith("_") else getattr(np, name, None)
    if isinstance(host, float):
        return host
    if host is None or not callable(host) or isinstance(host, type):
        raise AttributeError(f"module 'fulgurite' has no attribute '{name}'")

    @functools.wraps(host)
    def function(*args, **kwargs):
        args = tuple(map(_ours, args))
        if _has_ours(args) or _has_ours(tuple(kwargs.values())):
            return wrapped(host(*args, **kwargs))
        return on_host(name, "no argument is an array", host, *args, **kwargs)

    return function


def _ours(value):
    if type(value) in (tuple, list):
        return type(value)(map(_ours, value))
    return _functions.asarray(value) if isinstance(value, np.ndarray) else value


def _has_ours(value):
    if type(value) in (tuple, list):
        return any(map(_has_ours, value))
    return type(value) is Array
