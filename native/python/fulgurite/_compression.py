"""Compressed matrices."""

from __future__ import annotations

from ._array import Array, evaluate, make, node_of
from ._convert import asarray

__all__ = ["compress"]


def compress(a, /):
    """The same matrix in column groups: each distinct row of values once, and a short code for each row.

    Products, aggregates and functions of cells work on the groups as they are. Everything else expands them.

    Args:
        a: A matrix, as :func:`asarray` takes it. It is computed first.

    Returns:
        An array of the same cells, to the bit; as it is where groups would not be smaller. ``compression`` tells which.

    >>> import fulgurite as fg
    >>> x = fg.compress(fg.asarray([[1.0, float(row % 4)] for row in range(10000)]))
    >>> x.compression["ratio"] > 10
    True
    >>> float(fg.sum(x))
    25000.0
    """
    array = a if type(a) is Array else asarray(a)
    if array.ndim != 2:
        raise ValueError(f"only matrices are compressed, not arrays of {array.ndim} dimensions")
    node = node_of(array)
    if not node.is_value:
        evaluate((array,))
        node = array._node
    compressed = node.compressed()
    if compressed is None:
        return array
    return make(compressed, array.shape, array._kind, sparse=array._sparse)
