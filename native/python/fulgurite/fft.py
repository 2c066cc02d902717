"""Fourier transforms, which run in NumPy on evaluated values."""

from __future__ import annotations

import numpy as np

from ._array import from_host, on_host
from ._hosted import NO_OPERATOR
from ._info import check_device

__all__ = []


def _transform(name):
    host = getattr(np.fft, name)

    def function(x, /, *, n=None, axis=-1, norm="backward"):
        return on_host(f"fft.{name}", NO_OPERATOR, host, x, n=n, axis=axis, norm=norm)

    return function


def _transform_of_axes(name):
    host = getattr(np.fft, name)

    def function(x, /, *, s=None, axes=None, norm="backward"):
        if s is not None and axes is None:
            # NumPy is about to ask for axes, too.
            axes = tuple(range(np.ndim(x)))[-len(s) :]
        return on_host(f"fft.{name}", NO_OPERATOR, host, x, s=s, axes=axes, norm=norm)

    return function


def _shift(name):
    host = getattr(np.fft, name)

    def function(x, /, *, axes=None):
        return on_host(f"fft.{name}", NO_OPERATOR, host, x, axes=axes)

    return function


def _frequencies(name):
    host = getattr(np.fft, name)

    def function(n, /, *, d=1.0, dtype=None, device=None):
        check_device(device)
        values = host(n, d=d)
        return from_host(values if dtype is None else values.astype(dtype, copy=False))

    return function


for _make, _names in (
    (_transform, "fft ifft rfft irfft hfft ihfft"),
    (_transform_of_axes, "fftn ifftn rfftn irfftn"),
    (_shift, "fftshift ifftshift"),
    (_frequencies, "fftfreq rfftfreq"),
):
    for _name in _names.split():
        _function = _make(_name)
        _function.__name__ = _function.__qualname__ = _name
        _function.__doc__ = f"As ``numpy.fft.{_name}``."
        globals()[_name] = _function
        __all__.append(_name)
