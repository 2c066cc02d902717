"""Types of the public names; written by `native/python/tests/stubs.py`."""

from builtins import bool as _Bool
from builtins import str as _Str
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Sized
from os import PathLike
from types import EllipsisType, ModuleType
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import Array, _Axis, _Cells

def fft(
    x: _Cells,
    /,
    *,
    n: int | None = None,
    axis: _Axis = -1,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def ifft(
    x: _Cells,
    /,
    *,
    n: int | None = None,
    axis: _Axis = -1,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def rfft(
    x: _Cells,
    /,
    *,
    n: int | None = None,
    axis: _Axis = -1,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def irfft(
    x: _Cells,
    /,
    *,
    n: int | None = None,
    axis: _Axis = -1,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def hfft(
    x: _Cells,
    /,
    *,
    n: int | None = None,
    axis: _Axis = -1,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def ihfft(
    x: _Cells,
    /,
    *,
    n: int | None = None,
    axis: _Axis = -1,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def fftn(
    x: _Cells,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: _Axis | tuple[Sequence[int], Sequence[int]] = None,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def ifftn(
    x: _Cells,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: _Axis | tuple[Sequence[int], Sequence[int]] = None,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def rfftn(
    x: _Cells,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: _Axis | tuple[Sequence[int], Sequence[int]] = None,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def irfftn(
    x: _Cells,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: _Axis | tuple[Sequence[int], Sequence[int]] = None,
    norm: Literal["backward", "ortho", "forward"] = 'backward',
) -> Array: ...

def fftshift(
    x: _Cells,
    /,
    *,
    axes: _Axis | tuple[Sequence[int], Sequence[int]] = None,
) -> Array: ...

def ifftshift(
    x: _Cells,
    /,
    *,
    axes: _Axis | tuple[Sequence[int], Sequence[int]] = None,
) -> Array: ...

def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Array: ...

def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Array: ...
