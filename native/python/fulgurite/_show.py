"""What would be executed, and what was."""

from __future__ import annotations

import html

from . import _engine, _native
from ._array import Array, to_numpy
from ._errors import FulguriteError

__all__ = ["explain", "statistics", "why"]


def _nodes(arrays):
    nodes = []
    for array in arrays:
        if type(array) is not Array:
            raise TypeError(f"only arrays of fulgurite have plans, not {type(array).__name__}")
        if array._node is not None:
            nodes.append(array._node)
    return nodes


def explain(*arrays, level="plan", format="text"):
    """What would be executed for arrays that are computed together.

    Args:
        arrays: Arrays that have no values yet.
        level: ``hops``, ``rewrites``, ``memo``, ``partitions``, ``plan``, ``cplan``, ``clif``, ``asm`` or ``stats``.
        format: ``text``, ``json`` or another that the level has.

    >>> import fulgurite as fg
    >>> x = fg.zeros((100, 10))
    >>> print(fg.explain(fg.sum(x + 1), level="rewrites").split()[0])
    filled-result
    """
    return _native.explain_dag(_engine.settings().engine, _nodes(arrays), level, format)


def why(*arrays, operators):
    """Why operators are in the plan that they are in.

    Args:
        arrays: Arrays that have no values yet.
        operators: Those asked about, as ``fulgurite explain --why`` takes them.
    """
    return _native.explain_dag(_engine.settings().engine, _nodes(arrays), "plan", "text", operators)


def statistics():
    """What happened in this process so far: evaluations, programs that were made for them, seconds, fused operators that
    were compiled.

    >>> import fulgurite as fg
    >>> fg.statistics()["evaluations"] >= 0
    True
    """
    counts = _native.statistics()
    whole = ("evaluations", "programs", "operators_compiled", "operators_reused")
    return {name: int(value) if name in whole else value for name, value in counts.items()}


def _as_html(self):
    """Shape, type, and the plan of what is not computed yet or else the cells."""
    title = f"Array {self.shape}, {self.dtype}"
    node = self._node
    if node is None or node.is_value:
        shown = f"<pre>{html.escape(str(to_numpy(self)))}</pre>"
    else:
        try:
            shown = explain(self, format="svg")
        except FulguriteError as error:
            shown = f"<pre>{html.escape(str(error))}</pre>"
        title += ", to be computed so"
    return f"<div><p>{html.escape(title)}</p>{shown}</div>"


Array._repr_html_ = _as_html
