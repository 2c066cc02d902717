"""Arrays from files, and of random numbers."""

from __future__ import annotations

import operator
import os
import secrets

from ._array import make
from ._native import Node, Operator
from ._places import place
from ._scripts import run
from ._shapes import lengths

__all__ = ["rand", "randn", "read"]

_RAND = Operator("dg(rand)")


def read(path, **options):
    """The matrix in a file: csv, text, MatrixMarket, libsvm or binary, as its name or its metadata say.

    Args:
        path: The file.
        options: What ``read`` of the language takes, such as ``format="csv"``, ``header=True``, ``sep=";"``.

    >>> import tempfile, pathlib
    >>> import fulgurite as fg
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.csv"
    >>> _ = path.write_text("1,2\\n3,4\\n")
    >>> fg.read(path).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    named = "".join(f", {name}={_written(value)}" for name, value in options.items())
    return run(f"X = read($path{named})", outputs=["X"], arguments={"path": f'"{os.fspath(path)}"'})


def _written(value):
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, (int, float)):
        return repr(value)
    text = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return f'"{text}"'


def rand(*shape, low=0.0, high=1.0, density=1.0, seed=None):
    """Random numbers, evenly distributed between `low` and `high`.

    Args:
        shape: One or two lengths.
        density: The share of cells that are not zero; below 0.4 the array is stored sparsely.
        seed: The same seed gives the same numbers; by default they are new ones.

    >>> import fulgurite as fg
    >>> fg.rand(2, 3, seed=7).shape
    (2, 3)
    """
    return _random(shape, low, high, density, seed, "uniform")


def randn(*shape, density=1.0, seed=None):
    """Random numbers of the standard normal distribution; arguments as those of :func:`rand`."""
    return _random(shape, 0.0, 1.0, density, seed, "normal")


def _random(shape, low, high, density, seed, pdf):
    shape = lengths(shape[0] if len(shape) == 1 else shape)
    if not 1 <= len(shape) <= 2 or any(length < 1 for length in shape):
        raise ValueError(f"random arrays have one or two lengths from 1, not {shape}")
    seed = secrets.randbelow(1 << 31) if seed is None else operator.index(seed)
    rows, cols = (*shape, 1)[:2]
    # A variable of programs: another seed is the same program.
    seed = Node.scalar(seed)
    inputs = (rows, cols, float(low), float(high), float(density), seed, pdf, 1.0)
    node = _RAND(inputs, place(), (rows, cols))
    return make(node, shape)
