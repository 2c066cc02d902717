"""Arrays from what others have, and back."""

from __future__ import annotations

import sys
import threading
import weakref

import numpy as np

from ._array import FLOAT, Array, evaluate, from_host, make, note_look
from ._native import Node

__all__ = ["asarray", "to_scipy"]

# Bytes from which on memory is shared, where a copy is not asked for.
SHARED_BYTES = 1 << 16

# By the address of an array's object: how many arrays of ours read its memory.
_sealed = {}
_lock = threading.RLock()


def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of what somebody has: numbers, nested lists, NumPy arrays, SciPy matrices, columns and tables.

    Args:
        obj: What becomes an array.
        dtype: The type of its cells; by default as NumPy has it.
        device: ``"cpu"`` or ``None``.
        copy: ``True`` copies, so that later changes are not seen. ``None`` shares the memory of large arrays of
            NumPy in C or Fortran order: as long as arrays read it, it is read-only for others, too, so that no result
            is made of old and new cells; writing raises ``ValueError``. What can't be protected so is copied.
            ``False`` shares the memory as it is, or raises ``ValueError``: changes before an evaluation are seen,
            and the caller sees to it that there are none while one runs.

    >>> import numpy as np
    >>> import fulgurite as fg
    >>> x = fg.asarray(np.arange(6.0).reshape(2, 3))
    >>> (x + 1).shape
    (2, 3)
    """
    if device not in (None, "cpu"):
        raise ValueError(f"there is no device {device!r}, only 'cpu'")
    if type(obj) is Array:
        return _of_array(obj, dtype, copy)
    if _is_scipy(obj):
        return _of_scipy(obj, dtype, copy)
    if isinstance(obj, np.ndarray):
        return _of_numpy(obj, dtype, copy)
    host = _host(obj, dtype)
    if copy is False and not _has_memory(obj):
        raise ValueError("an array of this needs a copy")
    if isinstance(host, np.ma.MaskedArray):
        raise TypeError("masked arrays have cells without a value: fill them with filled()")
    if host is obj or np.may_share_memory(host, obj) if isinstance(obj, np.ndarray) else False:
        return _of_numpy(host, dtype, copy)
    return _of_numpy(host, None, copy if _has_memory(obj) else False)


def _has_memory(obj):
    return hasattr(obj, "__array_interface__") or hasattr(obj, "__dlpack__") or _has_buffer(obj)


def _has_buffer(obj):
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def _host(obj, dtype):
    """As NumPy has it.

    Raises:
        TypeError: For what is no array of numbers.
        ValueError: For ragged lists.
    """
    if isinstance(obj, (list, tuple)):
        obj = _with_numbers(obj)
    if not hasattr(obj, "__array__") and hasattr(obj, "__dlpack__"):
        obj = np.from_dlpack(obj)
    try:
        host = np.asarray(obj, dtype=dtype)
    except ValueError as error:
        raise ValueError(f"no array can be made of this {type(obj).__name__}: {error}") from None
    return _checked(host, obj)


def _with_numbers(nested):
    """Nested lists with NumPy's arrays in the place of ours."""
    if isinstance(nested, (list, tuple)):
        return [_with_numbers(each) for each in nested]
    return np.asarray(nested) if type(nested) is Array else nested


def _checked(host, obj):
    if host.dtype.kind not in "biufc":
        raise TypeError(
            f"cells are numbers or booleans, and those of this {type(obj).__name__} are {host.dtype}"
        )
    return host


def _of_array(array, dtype, copy):
    if dtype is not None and array.dtype != np.dtype(dtype):
        if copy is False:
            raise ValueError("a change of the dtype needs a copy")
        from ._functions import astype

        return astype(array, dtype)
    if copy:
        if array._node is None:
            return from_host(array._host)
        # Arrays change only where somebody assigns to cells, which makes another node.
        return make(array._node, array._shape, array._kind, array._row, array._sparse)
    return array


def _of_numpy(source, dtype, copy):
    if isinstance(source, np.ma.MaskedArray):
        raise TypeError("masked arrays have cells without a value: fill them with filled()")
    host = np.asarray(source)
    _checked(host, source)
    if dtype is not None and host.dtype != np.dtype(dtype):
        if copy is False:
            raise ValueError("a change of the dtype needs a copy")
        return _of_fresh(host.astype(dtype))
    if host.dtype != np.float64 or not 1 <= host.ndim <= 2 or host.size == 0:
        if copy is False:
            return from_host(host)
        return _of_fresh(host.copy())
    in_order = host.flags.c_contiguous or host.flags.f_contiguous
    if not in_order or not host.flags.aligned or not host.dtype.isnative:
        if copy is False:
            raise ValueError("an array with strides needs a copy")
        return _of_fresh(np.array(host, dtype=np.float64, order="C", copy=True))
    if copy is False:
        return _leaf(host, False)
    if copy or host.nbytes < SHARED_BYTES or not _protect(host):
        return _of_fresh(host.copy(order="K"))
    shared = host.view()
    weakref.finalize(shared, _release, host)
    return _leaf(shared, False)


def _of_fresh(host):
    """An array of cells that nobody else has."""
    if host.dtype == np.float64 and 1 <= host.ndim <= 2 and host.size:
        return _leaf(host, False)
    host.flags.writeable = False
    return from_host(host)


def _leaf(host, copied):
    if host.ndim == 1:
        return make(Node.dense(host, host.size, 1, copied), host.shape)
    rows, cols = host.shape
    if host.flags.c_contiguous:
        return make(Node.dense(host, rows, cols, copied), host.shape)
    from ._ops import TRANSPOSE

    return make(TRANSPOSE((Node.dense(host, cols, rows, copied),)), host.shape)


def _chain(host):
    """The arrays whose memory it is; `None` where somebody else's is."""
    arrays = []
    while isinstance(host, np.ndarray):
        arrays.append(host)
        if host.base is None or isinstance(host.base, bytes):
            return arrays
        if type(host.base).__module__ in ("fulgurite._native", "mmap"):
            return arrays
        host = host.base
    return None if any(array.flags.writeable for array in arrays) else arrays


def _protect(host):
    """Makes memory read-only for its owners as long as arrays of ours read it; says whether that could be done."""
    chain = _chain(host)
    if chain is None:
        return False
    with _lock:
        for array in chain:
            count, was = _sealed.get(id(array), (0, array.flags.writeable))
            _sealed[id(array)] = (count + 1, was)
            if array.flags.writeable:
                array.flags.writeable = False
    return True


def _release(host):
    with _lock:
        # From the owner on: a view may not be writable before what it is a view of.
        for array in reversed(_chain(host) or []):
            count, was = _sealed.pop(id(array), (1, False))
            if count > 1:
                _sealed[id(array)] = (count - 1, was)
            elif was:
                array.flags.writeable = True


def _is_scipy(obj):
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and sparse.issparse(obj)


def _of_scipy(source, dtype, copy):
    if dtype is not None and np.dtype(dtype) != np.float64:
        raise TypeError("sparse matrices have cells of float64 here")
    if source.dtype.kind not in "biuf":
        raise TypeError(f"cells are numbers, and those of this sparse matrix are {source.dtype}")
    if source.ndim != 2:
        raise ValueError("sparse arrays have two dimensions here")
    rows, cols = source.shape
    csr = source.tocsr()
    if csr.shape[0] == 0 or csr.shape[1] == 0:
        return _of_fresh(csr.toarray().astype(np.float64))
    if not csr.has_canonical_format:
        csr = csr.copy()
        csr.sum_duplicates()
    values = csr.data.astype(np.float64, copy=False)
    indices = csr.indices.astype(np.int32, copy=False)
    pointers = csr.indptr.astype(np.int64, copy=False)
    shared = copy is not True
    if shared and copy is None:
        owned = [part for part in (indices, values) if part is csr.data or part is csr.indices]
        shared = all(_protect(part) for part in owned) if source is csr or owned else True
        views = [part.view() for part in (indices, values)]
        for view, part in zip(views, (indices, values), strict=True):
            if shared and any(part is own for own in owned):
                weakref.finalize(view, _release, part)
        indices, values = views
    if copy is False and (values is not csr.data or indices is not csr.indices or csr is not source):
        raise ValueError("a sparse matrix in another format than CSR of float64 needs a copy")
    node = Node.csr((rows, cols), pointers, indices, values, not shared)
    return make(node, (rows, cols), FLOAT, False, True)


def to_scipy(array):
    """A SciPy matrix in CSR of a sparse array's cells.

    Raises:
        ImportError: Where SciPy is not installed.
    """
    from scipy import sparse

    note_look()
    evaluate((array,))
    pointers, indices, values = array._node.csr_parts()
    return sparse.csr_array((values, indices, pointers), shape=array._shape)
