"""The plugin of Narwhals: code that is written for Narwhals runs on lazy frames of this package.

Narwhals finds it by its entry point, and calls it when it meets a :class:`fulgurite.LazyFrame`. Lazy frames are what it has:
eager frames and series are those of pyarrow, pandas or Polars, which ``collect(backend=...)`` gives.
"""

from __future__ import annotations

NATIVE_PACKAGE = "fulgurite"


def is_native(native_object, /):
    """Whether it is a lazy frame of this package."""
    from .._lazyframe import LazyFrame

    return isinstance(native_object, LazyFrame)


def __narwhals_namespace__(version):  # noqa: N807
    from .namespace import Namespace

    return Namespace(version=version)
