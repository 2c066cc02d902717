"""Types of columns as Narwhals has them, and back."""

from __future__ import annotations

_NAMES = {
    "boolean": "Boolean",
    "int8": "Int8",
    "int16": "Int16",
    "int32": "Int32",
    "int64": "Int64",
    "uint8": "UInt8",
    "uint16": "UInt16",
    "uint32": "UInt32",
    "uint64": "UInt64",
    "float32": "Float32",
    "float64": "Float64",
    "string": "String",
    "date": "Date",
}
_OURS = {theirs: ours for ours, theirs in _NAMES.items()}


def theirs(kind, version):
    dtypes = version.dtypes
    if kind == "datetime":
        return dtypes.Datetime("us")
    name = _NAMES.get(kind)
    return dtypes.Unknown() if name is None else getattr(dtypes, name)()


def ours(dtype, version):
    """
    Raises:
        NotImplementedError: For types that columns have not.
    """
    name = dtype.__name__ if isinstance(dtype, type) else type(dtype).__name__
    if name == "Datetime":
        if getattr(dtype, "time_zone", None):
            raise NotImplementedError("datetimes have no time zone here")
        return "datetime"
    if name not in _OURS:
        raise NotImplementedError(f"columns have no type {dtype!r}")
    return _OURS[name]
