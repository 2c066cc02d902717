"""Scripts of DML in this process."""

from __future__ import annotations

import os

import numpy as np

from . import _engine, _native
from ._array import Array, evaluate, make, to_numpy
from ._convert import asarray

__all__ = ["run"]


def run(script, *, inputs=None, outputs=(), arguments=None):
    """Runs a script of DML in this process. Lines that it prints are printed while it runs.

    Args:
        script: The text of the script, or the path of a file.
        inputs: Its input variables: arrays, numbers, booleans and texts, by name.
        outputs: The names of variables that are wanted.
        arguments: Its ``$``-arguments, by name.

    Returns:
        The outputs in their order: arrays, and numbers, booleans and texts of Python; for one output the bare value.

    >>> import fulgurite as fg
    >>> G = fg.run("G = t(X) %*% X", inputs={"X": [[1.0], [2.0]]}, outputs=["G"])
    >>> float(G[0, 0])
    5.0
    """
    text, name = _read(script)
    outputs = [outputs] if isinstance(outputs, str) else list(outputs)
    nodes = {}
    arrays = {}
    for key, value in (inputs or {}).items():
        if isinstance(value, (bool, int, float, str)):
            nodes[key] = _native.Node.scalar(value)
        elif isinstance(value, np.generic) and value.ndim == 0:
            nodes[key] = _native.Node.scalar(value.item())
        else:
            arrays[key] = value if type(value) is Array else asarray(value)
    evaluate(list(arrays.values()))
    for key, array in arrays.items():
        nodes[key] = _matrix(key, array)
    arguments = {str(key): _argument(value) for key, value in (arguments or {}).items()}
    engine = _engine.settings().engine
    found, _ = _native.run_script(engine, text, name, nodes, outputs, arguments, print)
    values = [_value(found[output]) for output in outputs]
    return values[0] if len(values) == 1 else tuple(values)


def _read(script):
    path = os.fspath(script) if isinstance(script, os.PathLike) else script
    if isinstance(script, os.PathLike) or (path.endswith(".dml") and "\n" not in path):
        with open(path, encoding="utf-8") as file:
            return file.read(), path
    return path, "script.dml"


def _argument(value):
    if isinstance(value, bool):
        return str(value).upper()
    return str(value)


def _matrix(name, array):
    if array._kind is None:
        host = to_numpy(array)
        if host.ndim > 2 or host.size == 0 or host.dtype.kind not in "biuf":
            raise ValueError(
                f"the input '{name}' is no matrix: it has the shape {host.shape} and the dtype {host.dtype}"
            )
        array = asarray(host.astype(np.float64))
    if array.ndim == 0:
        return _native.Node.scalar(float(array))
    from ._ops import column, matrix

    evaluate((array,))
    node = column(array) if array.ndim == 1 else matrix(array)
    if not node.is_value:
        whole = make(node, array.shape)
        evaluate((whole,))
    return node


def _value(node):
    if node.is_scalar:
        return node.literal()
    return make(node, (node.rows, node.cols), sparse=node.layout != "dense")


