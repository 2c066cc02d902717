"""Writes the type stubs of the package from the signatures that its functions have, and types by the names of parameters.

Run as a script with `PYTHONPATH=native/python` it writes them; `test_stubs.py` compares them.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import fulgurite as fg
import numpy as np
from fulgurite import _api, _expression_texts, _lazyframe

FOLDER = Path(fg.__file__).parent
WIDTH = 100

HEADER = '''"""Types of the public names; written by `native/python/tests/stubs.py`."""

from builtins import bool as _Bool
from builtins import str as _Str
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from os import PathLike
from types import EllipsisType, ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

'''

MAIN = """from . import fft as fft
from . import linalg as linalg

_Number: TypeAlias = _Bool | int | float | complex
_Cells: TypeAlias = Array | NDArray[Any] | np.generic | _Number
_Axis: TypeAlias = int | tuple[int, ...] | None
_Shape: TypeAlias = int | Sequence[int]
_Part: TypeAlias = int | slice | EllipsisType | Array | NDArray[Any] | Sequence[int] | None
_Key: TypeAlias = _Part | tuple[_Part, ...]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_Value: TypeAlias = Any
_Type: TypeAlias = Any

__version__: str
__array_api_version__: str
SUPPORTED_API_VERSIONS: tuple[str, ...]
e: float
pi: float
inf: float
nan: float
newaxis: None

"""

# What stubs can't be written for from a signature alone.
WHOLE = {
    "fuse": "def fuse(function: _Function) -> _Function: ...\n",
    "udf": """@overload
def udf(function: Callable[..., Any], *, returns: _Type | None = None) -> Callable[..., Expr]: ...
@overload
def udf(
    function: None = None, *, returns: _Type | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Expr]]: ...
""",
    "config": """class config:
    def __init__(
        self,
        *,
        threads: int | None = None,
        memory: int | str | None = None,
        fallback: Literal["numpy", "error"] | None = None,
        progress: _Bool | None = None,
        entries: dict[str, object] | None = None,
    ) -> None: ...
    def __enter__(self) -> config: ...
    def __exit__(self, *_: object) -> None: ...
""",
    "len": """@overload
def len() -> Expr: ...
@overload
def len(values: Sized, /) -> int: ...
""",
    "concat": """@overload
def concat(arrays: Sequence[LazyFrame], /) -> LazyFrame: ...
@overload
def concat(arrays: Sequence[_Cells], /, axis: _Axis = 0) -> Array: ...
""",
    "FulguriteError": """class FulguriteError(Exception):
    kind: str
    operator: str | None
    file: str | None
    line: int | None
    help: str | None
    @property
    def code(self) -> str | None: ...
""",
}

PARAMETERS = {
    "x": "_Cells",
    "x1": "_Cells",
    "x2": "_Cells",
    "condition": "_Cells",
    "indices": "_Cells",
    "sorter": "_Cells | None",
    "prepend": "_Cells | None",
    "append": "_Cells | None",
    "low": "float",
    "high": "float",
    "min": "_Cells | None",
    "max": "_Cells | None",
    "obj": "object",
    "other": "_Cells",
    "fill_value": "_Cells",
    "start": "_Cells",
    "stop": "_Cells | None",
    "step": "_Cells",
    "num": "int",
    "endpoint": "_Bool",
    "axis": "_Axis",
    "axes": "_Axis | tuple[Sequence[int], Sequence[int]]",
    "source": "int | tuple[int, ...]",
    "destination": "int | tuple[int, ...]",
    "shape": "_Shape",
    "dtype": "DTypeLike | None",
    "device": "str | None",
    "copy": "_Bool | None",
    "keepdims": "_Bool",
    "correction": "float | None",
    "ddof": "float | None",
    "include_initial": "_Bool",
    "descending": "_Bool",
    "stable": "_Bool",
    "invert": "_Bool",
    "upper": "_Bool",
    "full_matrices": "_Bool",
    "k": "int",
    "n": "int | None",
    "s": "Sequence[int] | None",
    "d": "float",
    "norm": 'Literal["backward", "ortho", "forward"]',
    "n_rows": "int",
    "n_cols": "int | None",
    "repeats": "_Cells",
    "repetitions": "_Shape",
    "shift": "int | tuple[int, ...]",
    "offset": "int",
    "rtol": "float | None",
    "ord": "float | str | None",
    "mode": 'Literal["reduced", "complete"]',
    "side": 'Literal["left", "right"]',
    "indexing": 'Literal["xy", "ij"]',
    "reset": "_Bool",
    "kind": "str | tuple[str, ...] | None",
    "decimals": "int",
    "density": "float",
    "seed": "int | None",
    "script": "str | PathLike[str]",
    "path": "str | PathLike[str]",
}
OF_FUNCTION = {
    ("concat", "arrays"): "Sequence[_Cells]",
    ("stack", "arrays"): "Sequence[_Cells]",
    ("meshgrid", "arrays"): "_Cells",
    ("broadcast_arrays", "arrays"): "_Cells",
    ("broadcast_shapes", "shapes"): "tuple[int, ...]",
    ("astype", "dtype"): "DTypeLike",
    ("isdtype", "dtype"): "DTypeLike",
    ("isdtype", "kind"): "DTypeLike | tuple[DTypeLike, ...]",
    ("can_cast", "from_"): "DTypeLike | Array",
    ("can_cast", "to"): "DTypeLike",
    ("finfo", "type"): "DTypeLike | Array",
    ("iinfo", "type"): "DTypeLike | Array",
    ("permute_dims", "axes"): "Sequence[int]",
    ("expand_dims", "axis"): "int | tuple[int, ...]",
    ("squeeze", "axis"): "int | tuple[int, ...] | None",
    ("matrix_power", "n"): "int",
    ("fftfreq", "n"): "int",
    ("rfftfreq", "n"): "int",
    ("rand", "shape"): "int",
    ("randn", "shape"): "int",
    ("unstack", "axis"): "int",
    ("explain", "arrays"): "Array",
    ("why", "arrays"): "Array",
}
RESULTS = {
    "compute": "Any",
    "unique_all": "_UniqueAll",
    "unique_counts": "_UniqueCounts",
    "unique_inverse": "_UniqueInverse",
    "nonzero": "tuple[Array, ...]",
    "unstack": "tuple[Array, ...]",
    "meshgrid": "tuple[Array, ...]",
    "broadcast_arrays": "tuple[Array, ...]",
    "broadcast_shapes": "tuple[int, ...]",
    "can_cast": "_Bool",
    "isdtype": "_Bool",
    "result_type": "np.dtype[Any]",
    "finfo": "_FloatInfo",
    "iinfo": "np.iinfo[Any]",
    "fallbacks": "list[_Fallback]",
    "statistics": "dict[str, Any]",
    "explain": "Any",
    "why": "Any",
    "run": "Any",
    "__array_namespace_info__": "_Info",
    "eig": "_Eigen",
    "eigh": "_Eigen",
    "qr": "_QR",
    "slogdet": "_SignAndLogarithm",
    "svd": "_SVD",
    "lstsq": "Any",
    "item": "_Number",
    "tolist": "Any",
}
RECORDS = {
    "_UniqueAll": "values indices inverse_indices counts",
    "_UniqueCounts": "values counts",
    "_UniqueInverse": "values inverse_indices",
}
OF_LINALG = {
    "_Eigen": "eigenvalues eigenvectors",
    "_QR": "Q R",
    "_SignAndLogarithm": "sign logabsdet",
    "_SVD": "U S Vh",
}
MORE = """class _Fallback(NamedTuple):
    function: str
    reason: str
    place: str
    count: int  # type: ignore[assignment]

class _FloatInfo(NamedTuple):
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: np.dtype[Any]

class _Info:
    def capabilities(self) -> dict[str, Any]: ...
    def default_device(self) -> str: ...
    def default_dtypes(self, *, device: str | None = None) -> dict[str, np.dtype[Any]]: ...
    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, np.dtype[Any]]: ...
    def devices(self) -> tuple[str, ...]: ...
"""

# Parameters of what frames and expressions have, and results that are none of their own class.
OF_FRAMES = {
    "other": "_Value",
    "value": "_Value",
    "values": "_Value",
    "lower_bound": "_Value",
    "upper_bound": "_Value",
    "exponent": "_Value",
    "base": "_Value",
    "others": "_Value",
    "exprs": "_Value",
    "more_exprs": "_Value",
    "named_exprs": "_Value",
    "predicates": "_Value",
    "constraints": "_Value",
    "by": "_Value",
    "more_by": "_Value",
    "named_by": "_Value",
    "aggs": "_Value",
    "named_aggs": "_Value",
    "dtype": "_Type | None",
    "dtypes": "_Type | Mapping[_Str, _Type]",
    "name": "_Str",
    "columns": "_Value",
    "more_columns": "_Str",
    "more_names": "_Str",
    "subset": "_Value",
    "on": "_Value",
    "left_on": "_Value",
    "right_on": "_Value",
    "suffix": "_Str",
    "prefix": "_Str",
    "pattern": "_Str",
    "characters": "_Str | None",
    "separator": "_Str",
    "has_header": "_Bool",
    "null_values": "_Str | Sequence[_Str] | None",
    "source": "_Str | PathLike[_Str]",
    "table": "object",
    "literal": "_Bool",
    "strict": "_Bool",
    "ignore_nulls": "_Bool",
    "nulls_equal": "_Bool",
    "maintain_order": "Any",
    "optimized": "_Bool",
    "descending": "_Bool | Sequence[_Bool]",
    "nulls_last": "_Bool | Sequence[_Bool]",
    "coalesce": "_Bool | None",
    "closed": 'Literal["both", "left", "right", "none"]',
    "interpolation": 'Literal["nearest", "lower", "higher", "midpoint", "linear"]',
    "mode": 'Literal["half_to_even"]',
    "keep": 'Literal["any", "first", "last", "none"]',
    "how": 'Literal["inner", "left", "right", "full", "semi", "anti", "cross"]',
    "nulls": 'Literal["nan", "refuse"]',
    "quantile": "float",
    "ddof": "int",
    "decimals": "int",
    "n": "int",
    "k": "int",
    "offset": "int",
    "length": "int | None",
    "group_index": "int",
    "mapping": "Mapping[_Str, _Str] | Callable[[_Str], _Str]",
    "function": "Callable[..., Any]",
    "returns": "_Type | None",
}
OF_FRAME_METHODS = {
    ("is_in", "other"): "Collection[Any] | Array | NDArray[Any]",
    ("replace", "value"): "_Str",
    ("replace_all", "value"): "_Str",
    ("slice", "length"): "int | None",
    ("zfill", "length"): "int",
    ("col", "name"): "_Str | Sequence[_Str]",
    ("join", "other"): "LazyFrame",
    ("cast", "dtype"): "_Type",
    ("map", "name"): "_Str | None",
}
FRAME_RESULTS = {
    "schema": "dict[_Str, _Str]",
    "collect_schema": "dict[_Str, _Str]",
    "columns": "list[_Str]",
    "dtypes": "list[_Str]",
    "width": "int",
    "explain": "_Str",
    "collect": "Any",
    "to_pandas": "Any",
    "to_polars": "Any",
    "to_arrow": "Any",
    "to_array": "Array",
    "pipe": "Any",
    "group_by": "_GroupBy",
    "str": "_Texts",
    "dt": "_Dates",
    "name": "_Names",
    "when": "_When",
}
# Methods of strings, dates and names hide builtins in their classes, and give expressions all the same.
FRAMES = ("frame", "scan_csv", "scan_parquet")
EXPRESSIONS = (
    "all_horizontal any_horizontal coalesce col concat_str lit max_horizontal min_horizontal sum_horizontal when".split()
)
CHOICES = """class _When:
    def then(self, value: _Value) -> _Then: ...

class _Then(Expr):
    def when(self, *predicates: _Value, **constraints: _Value) -> _When: ...
    def otherwise(self, value: _Value) -> Expr: ...
"""

PROPERTIES = {
    "shape": "tuple[int, ...]",
    "ndim": "int",
    "size": "int",
    "dtype": "np.dtype[Any]",
    "itemsize": "int",
    "nbytes": "int",
    "device": "str",
    "is_sparse": "_Bool",
    "T": "Array",
    "mT": "Array",
}
BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
SPECIAL = {
    "__neg__": "self) -> Array",
    "__pos__": "self) -> Array",
    "__abs__": "self) -> Array",
    "__invert__": "self) -> Array",
    "__lt__": "self, other: _Cells, /) -> Array",
    "__le__": "self, other: _Cells, /) -> Array",
    "__gt__": "self, other: _Cells, /) -> Array",
    "__ge__": "self, other: _Cells, /) -> Array",
    "__getitem__": "self, key: _Key, /) -> Array",
    "__setitem__": "self, key: _Key, value: _Cells, /) -> None",
    "__float__": "self) -> float",
    "__int__": "self) -> int",
    "__bool__": "self) -> _Bool",
    "__complex__": "self) -> complex",
    "__index__": "self) -> int",
    "__len__": "self) -> int",
    "__iter__": "self) -> Iterator[Array]",
    "__contains__": "self, value: object, /) -> _Bool",
    "__array__": "self, dtype: DTypeLike | None = None, copy: _Bool | None = None) -> NDArray[Any]",
    "__array_namespace__": "self, *, api_version: str | None = None) -> ModuleType",
    "__arrow_c_array__": "self, requested_schema: object = None) -> tuple[object, object]",
    "__dlpack_device__": "self) -> tuple[int, int]",
}


def _default(value):
    return repr(value) if isinstance(value, (bool, int, float, str, tuple, type(None))) else "..."


def _parameter(function, parameter, of_frames=False):
    name = parameter.name
    kind = OF_FRAME_METHODS.get((function, name), OF_FRAMES.get(name, "Any")) if of_frames else None
    kind = kind or OF_FUNCTION.get((function, name), PARAMETERS.get(name, "Any"))
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    text = f"{star}{name}: {kind}"
    if parameter.default is not parameter.empty:
        text += f" = {_default(parameter.default)}"
    return text


def _signature(name, function, *, is_method=False, gives=None):
    parameters = list(inspect.signature(function).parameters.values())
    texts, was_positional, had_star = [], False, False
    for at, parameter in enumerate(parameters):
        if was_positional and parameter.kind is not parameter.POSITIONAL_ONLY:
            texts.append("/")
        was_positional = parameter.kind is parameter.POSITIONAL_ONLY
        if parameter.kind is parameter.KEYWORD_ONLY and not had_star:
            texts.append("*")
            had_star = True
        had_star |= parameter.kind is parameter.VAR_POSITIONAL
        texts.append("self" if is_method and at == 0 else _parameter(name, parameter, gives is not None))
    if was_positional:
        texts.append("/")
    result = gives or RESULTS.get(name, "Array")
    line = f"def {name}({', '.join(texts)}) -> {result}: ..."
    indent = "    " * is_method
    if len(indent + line) <= WIDTH:
        return line
    parameters = "".join(f"{indent}    {text},\n" for text in texts)
    return f"def {name}(\n{parameters}{indent}) -> {result}: ..."


def _record(name, fields):
    lines = [f"    {field}: Array" for field in fields.split()]
    return "\n".join([f"class {name}(NamedTuple):", *lines]) + "\n"


def _array():
    lines = [
        "class Array:",
        "    __array_priority__: int",
        "    __hash__: None  # type: ignore[assignment]",
    ]
    for name, kind in PROPERTIES.items():
        lines += ["    @property", f"    def {name}(self) -> {kind}: ..."]
    for name in BINARY:
        lines.append(f"    def __{name}__(self, other: _Cells, /) -> Array: ...")
        lines.append(f"    def __r{name}__(self, other: _Cells, /) -> Array: ...")
    for name in ("eq", "ne"):
        lines.append(
            f"    def __{name}__(self, other: object, /) -> Array: ...  # type: ignore[override]"
        )
    lines += [f"    def {name}({text}: ..." for name, text in SPECIAL.items()]
    lines.append("    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any: ...")
    for name, function in sorted(vars(fg.Array).items()):
        if callable(function) and not name.startswith("_"):
            lines.append("    " + _signature(name, function, is_method=True))
    return "\n".join(lines) + "\n"


def _frames(name, kind, gives):
    """A class of frames or expressions, most of whose methods give `gives`."""
    lines = [f"class {name}:"]
    if kind is fg.Expr:
        lines.append("    __array_priority__: int")
        lines.append("    __hash__: None  # type: ignore[assignment]")
        for each in "add sub mul truediv floordiv mod pow and or xor".split():
            lines.append(f"    def __{each}__(self, other: _Value, /) -> Expr: ...")
            lines.append(f"    def __r{each}__(self, other: _Value, /) -> Expr: ...")
        for each in ("eq", "ne"):
            lines.append(f"    def __{each}__(self, other: object, /) -> Expr: ...  # type: ignore[override]")
        for each in ("lt", "le", "gt", "ge"):
            lines.append(f"    def __{each}__(self, other: _Value, /) -> Expr: ...")
        for each in ("neg", "pos", "abs", "invert"):
            lines.append(f"    def __{each}__(self) -> Expr: ...")
    if kind is fg.LazyFrame:
        lines.append("    def __arrow_c_stream__(self, requested_schema: object = None) -> object: ...")
    for each, value in sorted(vars(kind).items()):
        if each.startswith("_") or each == "function":
            continue
        if isinstance(value, property):
            lines += ["    @property", f"    def {each}(self) -> {FRAME_RESULTS[each]}: ..."]
        elif callable(value):
            result = FRAME_RESULTS.get(each, gives) if kind is fg.LazyFrame else gives
            lines.append("    " + _signature(each, value, is_method=True, gives=result))
    return "\n".join(lines) + "\n"


def main_stub():
    parts = [HEADER + MAIN, _array(), MORE]
    parts.append(_frames("Expr", fg.Expr, "Expr"))
    for name, kind in (("_Texts", _expression_texts.Texts), ("_Dates", _expression_texts.Dates), ("_Names", _expression_texts.Names)):
        parts.append(_frames(name, kind, "Expr"))
    parts += [CHOICES, _frames("LazyFrame", fg.LazyFrame, "LazyFrame"), _frames("_GroupBy", _lazyframe.GroupBy, "LazyFrame")]
    parts += [_record(name, fields) for name, fields in RECORDS.items()]
    for name in _api.DTYPES:
        parts.append(f"{name} = np.{'bool_' if name == 'bool' else name}\n")
    for name in sorted(set(_api.__all__)):
        value = getattr(fg, name)
        if name in WHOLE:
            parts.append(WHOLE[name])
        elif isinstance(value, type) and issubclass(value, Exception):
            bases = ", ".join(base.__name__ for base in value.__bases__)
            parts.append(f"class {name}({bases}): ...\n")
        elif name in (*FRAMES, *EXPRESSIONS):
            gives = FRAME_RESULTS.get(name, "LazyFrame" if name in FRAMES else "Expr")
            parts.append(_signature(name, value, gives=gives) + "\n")
        elif inspect.isfunction(value):
            parts.append(_signature(name, value) + "\n")
    return "\n".join(parts)


def extension_stub(module):
    own = {
        name: getattr(module, name)
        for name in module.__all__
        if name not in ("matmul", "matrix_transpose", "tensordot", "vecdot")
    }
    shared = [name for name in module.__all__ if name not in own]
    parts = [HEADER + "from . import Array, _Axis, _Cells\n"]
    if shared:
        parts.append("".join(f"from . import {name} as {name}\n" for name in shared))
        parts += [_record(name, fields) for name, fields in OF_LINALG.items()]
    parts += [_signature(name, value) + "\n" for name, value in own.items()]
    return "\n".join(parts)


def stubs():
    """Texts by paths."""
    return {
        FOLDER / "__init__.pyi": main_stub(),
        FOLDER / "linalg.pyi": extension_stub(fg.linalg),
        FOLDER / "fft.pyi": extension_stub(fg.fft),
    }


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
