"""What the namespace says of itself, by the array API standard."""

from __future__ import annotations

import numpy as np

__all__ = ["__array_namespace_info__"]

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
_KINDS["integral"] = _KINDS["signed integer"] + _KINDS["unsigned integer"]
_KINDS["numeric"] = _KINDS["integral"] + _KINDS["real floating"] + _KINDS["complex floating"]

_DEFAULTS = {
    "real floating": "float64",
    "complex floating": "complex128",
    "integral": "int64",
    "indexing": "int64",
}


def check_device(device):
    if device not in (None, "cpu"):
        raise ValueError(f"there is no device {device!r}, only 'cpu'")


class Info:
    """Devices and types of cells, and what the namespace can do."""

    __slots__ = ()

    def capabilities(self):
        """Whether masks index arrays and shapes may depend on values, and the largest number of dimensions."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """``"cpu"``"""
        return "cpu"

    def default_dtypes(self, *, device=None):
        """The types of cells of arrays that are made without one."""
        check_device(device)
        return {kind: np.dtype(name) for kind, name in _DEFAULTS.items()}

    def dtypes(self, *, device=None, kind=None):
        """The types of cells by their names, all or those of kinds."""
        check_device(device)
        if kind is None:
            kinds = ("bool", "numeric")
        else:
            kinds = kind if isinstance(kind, tuple) else (kind,)
        for each in kinds:
            if each not in _KINDS:
                raise ValueError(f"there is no kind of types {each!r}, only {', '.join(_KINDS)}")
        return {name: np.dtype(name) for each in kinds for name in _KINDS[each]}

    def devices(self):
        """``("cpu",)``"""
        return ("cpu",)


_INFO = Info()


def __array_namespace_info__():
    """Devices and types of cells, and what the namespace can do.

    >>> import fulgurite as fg
    >>> fg.__array_namespace_info__().default_dtypes()["real floating"]
    dtype('float64')
    """
    return _INFO
