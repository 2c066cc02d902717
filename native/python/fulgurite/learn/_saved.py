"""Models in a directory: `model.json` says what they are, and `arrays.arrow` has their arrays, without pickle.

The file of Arrow has one row, with a list for each array; `model.json` has their shapes. Numbers are kept to the bit. A
directory is written beside its place and renamed, so that there is no half of a model.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np
import sklearn
from scipy import sparse

from .. import __version__
from ._data import Plan

# Of the directory. Readers refuse larger numbers.
FORMAT = 1

# What is not written: what fits make anew, and what a model can't be used without it for.
_LEFT_OUT = frozenset(["_program", "_base_loss"])

_MODEL, _ARRAYS = "model.json", "arrays.arrow"

_SPARSE = {
    name: getattr(sparse, name)
    for name in ("csr_array", "csc_array", "csr_matrix", "csc_matrix", "coo_array", "coo_matrix")
}


def save(model, path, overwrite=False):
    """Writes a model as a directory.

    Args:
        model: An estimator of this package, fitted or not.
        path: Of the directory, which must not exist.
        overwrite: Whether a model that is there may be replaced.
    """
    path = Path(path)
    if path.exists() and not (overwrite and (path / _MODEL).is_file()):
        what = "is no saved model" if overwrite else "exists: say overwrite=True to replace a model"
        raise FileExistsError(f"'{path}' {what}")
    kind = type(model)
    arrays = {}
    defaults = kind().get_params(deep=False)
    written = {
        "format": FORMAT,
        "class": kind.__name__,
        "fulgurite": __version__,
        "scikit-learn": sklearn.__version__,
        "parameters": {},
        "defaults": [],
        "attributes": {},
    }
    for name, value in model.get_params(deep=False).items():
        written["parameters"][name] = _encoded(value, f"parameter {name}", arrays)
        default = defaults[name]
        if value is default or (type(value) is type(default) and _same(value, default)):
            written["defaults"].append(name)
    for name, value in vars(model).items():
        if name in written["parameters"] or name in _LEFT_OUT or isinstance(value, Plan):
            continue
        written["attributes"][name] = _encoded(value, f"attribute {name}", arrays)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    try:
        _write_arrays(beside / _ARRAYS, arrays)
        with (beside / _MODEL).open("w", encoding="utf-8") as file:
            json.dump(written, file, indent=1, allow_nan=False)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        beside.chmod(0o777 & ~_mask())
        _put(beside, path)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def load(path):
    """The model in a directory that `save` wrote, with this or an older version.

    >>> import tempfile
    >>> from fulgurite.learn import Ridge, load
    >>> folder = tempfile.mkdtemp()
    >>> Ridge().fit([[0.0], [1.0]], [0.0, 1.0]).save(f"{folder}/model")
    >>> load(f"{folder}/model").predict([[2.0]]).round(2).tolist()
    [1.0]
    """
    from . import _MODELS

    path = Path(path)
    try:
        text = (path / _MODEL).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FileNotFoundError(f"'{path}' is no saved model: it has no {_MODEL}") from None
    try:
        written = json.loads(text)
        number, name = written["format"], written["class"]
        parameters, attributes = written["parameters"], written["attributes"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"'{path}' is damaged: {_MODEL} can't be read ({error})") from None
    if number > FORMAT:
        raise ValueError(
            f"'{path}' was saved by fulgurite {written['fulgurite']} in format {number}, and fulgurite {__version__} reads up "
            f"to {FORMAT}: install a newer one"
        )
    kind = _MODELS.get(name)
    if kind is None:
        raise ValueError(
            f"'{path}' is a {name}, saved by fulgurite {written['fulgurite']}: fulgurite {__version__} has no such class"
        )
    arrays = _read_arrays(path / _ARRAYS)
    known = kind._get_param_names()
    model = kind()
    for key, value in parameters.items():
        if key in known:
            setattr(model, key, _decoded(value, arrays))
        elif key not in written["defaults"]:
            raise ValueError(f"'{path}' sets the parameter {key!r}, which {name} has no more")
        else:
            warnings.warn(f"{name} has no parameter {key!r} any more", stacklevel=2)
    for key, value in attributes.items():
        model.__dict__[key] = _decoded(value, arrays)
    if attributes and hasattr(model, "_get_loss"):
        model._base_loss = model._get_loss()
    return model


def _same(value, default):
    try:
        return bool(value == default)
    except ValueError:
        return False


def _mask():
    """Of new files, as far as the operating system tells."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _put(beside, path):
    """Renames a directory to its place. A model that is there goes first, and comes back if that fails."""
    if not path.exists():
        beside.rename(path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}-old-", dir=path.parent)) / path.name
    path.rename(old)
    try:
        beside.rename(path)
    except BaseException:
        old.rename(path)
        raise
    finally:
        shutil.rmtree(old.parent, ignore_errors=True)


# Values.


def _encoded(value, what, arrays):
    """A value as JSON has it. What JSON has not is an object of one key, which says what it is."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if type(value) is int:
        return value
    if type(value) is float:
        # JSON has neither infinity nor NaN; other numbers come back to the bit.
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, np.generic):
        return {"scalar": _array(np.asarray(value), what, arrays)}
    if isinstance(value, np.ndarray):
        return {"array": _array(value, what, arrays)}
    if sparse.issparse(value):
        return {"sparse": _sparse(value, what, arrays)}
    if isinstance(value, (list, tuple)):
        items = [_encoded(each, what, arrays) for each in value]
        return items if type(value) is list else {"tuple": items}
    if isinstance(value, dict):
        return {
            "dict": [
                [_encoded(key, what, arrays), _encoded(each, what, arrays)]
                for key, each in value.items()
            ]
        }
    if isinstance(value, np.random.RandomState):
        return {"RandomState": _encoded(value.get_state(legacy=True), what, arrays)}
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return {"dtype": np.dtype(value).str}
    raise TypeError(f"a {type(value).__name__} can't be saved: {what}")


def _array(value, what, arrays):
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    described = {"shape": list(value.shape), "dtype": value.dtype.str, "order": order}
    cells = value.ravel(order=order)
    if value.dtype.kind == "O":
        # Labels of pandas, as a rule.
        return described | {"cells": [_encoded(each, what, arrays) for each in cells.tolist()]}
    if value.dtype.kind in "mM":
        cells = cells.view(np.int64)
    elif value.dtype.kind not in "biufU":
        raise TypeError(f"an array of {value.dtype} can't be saved: {what}")
    name = f"{what} {len(arrays)}"
    arrays[name] = cells
    return described | {"column": name}


def _sparse(value, what, arrays):
    name = type(value).__name__
    if name not in _SPARSE:
        raise TypeError(f"a {name} can't be saved: {what}")
    parts = ("data", "row", "col") if name.startswith("coo") else ("data", "indices", "indptr")
    return {
        "kind": name,
        "shape": list(value.shape),
        "parts": {part: _array(getattr(value, part), what, arrays) for part in parts},
    }


def _decoded(value, arrays):
    if isinstance(value, list):
        return [_decoded(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    ((kind, held),) = value.items()
    if kind == "float":
        return float(held)
    if kind == "scalar":
        return _cells(held, arrays)[()]
    if kind == "array":
        return _cells(held, arrays)
    if kind == "sparse":
        parts = {part: _cells(each, arrays) for part, each in held["parts"].items()}
        shape, made = tuple(held["shape"]), _SPARSE[held["kind"]]
        if "row" in parts:
            return made((parts["data"], (parts["row"], parts["col"])), shape=shape)
        return made((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    if kind == "tuple":
        return tuple(_decoded(each, arrays) for each in held)
    if kind == "dict":
        return {_decoded(key, arrays): _decoded(each, arrays) for key, each in held}
    if kind == "RandomState":
        random = np.random.RandomState()
        random.set_state(_decoded(held, arrays))
        return random
    if kind == "dtype":
        return np.dtype(held)
    raise ValueError(f"a value of the kind {kind!r} is unknown to fulgurite {__version__}")


def _cells(described, arrays):
    dtype, shape = np.dtype(described["dtype"]), tuple(described["shape"])
    if "cells" in described:
        cells = np.empty(len(described["cells"]), dtype=object)
        cells[:] = [_decoded(each, arrays) for each in described["cells"]]
    else:
        cells = arrays[described["column"]]
        cells = cells.view(dtype) if dtype.kind in "mM" else cells.astype(dtype)
    return cells.reshape(shape, order=described["order"])


# Arrow.


def _arrow():
    try:
        import pyarrow
        import pyarrow.ipc
    except ImportError:
        raise ImportError(
            "models are saved and loaded with pyarrow: pip install 'fulgurite[learn]'"
        ) from None
    return pyarrow


def _write_arrays(path, arrays):
    pyarrow = _arrow()
    lists, fields = [], []
    for name, cells in arrays.items():
        native = cells if cells.dtype.isnative else cells.astype(cells.dtype.newbyteorder("="))
        values = pyarrow.array(
            native, type=pyarrow.large_string() if cells.dtype.kind == "U" else None
        )
        # NaN is a number here, not a missing value.
        lists.append(
            pyarrow.LargeListArray.from_arrays(
                pyarrow.array([0, len(values)], pyarrow.int64()), values
            )
        )
        fields.append(pyarrow.field(name, lists[-1].type))
    schema = pyarrow.schema(fields)
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.ipc.new_file(file, schema) as writer:
        if fields:
            writer.write_batch(pyarrow.record_batch(lists, schema=schema))


def _read_arrays(path):
    pyarrow = _arrow()
    try:
        with pyarrow.OSFile(str(path), "rb") as file, pyarrow.ipc.open_file(file) as reader:
            if reader.num_record_batches == 0:
                return {}
            batch = reader.get_batch(0)
            return {
                name: column.values.to_numpy(zero_copy_only=False)
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            }
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"'{path}' is damaged: {error}") from None
