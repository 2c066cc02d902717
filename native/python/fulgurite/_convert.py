"""Arrays from what others have, and back."""

from __future__ import annotations

import sys
import threading
import weakref

import numpy as np

from ._array import FLOAT, Array, evaluate, from_host, make, note_look, same, to_numpy
from ._info import check_device
from ._native import Node
from ._tables import host_of_table

__all__ = ["asarray", "to_scipy"]

# Bytes from which on memory is shared, where a copy is not asked for.
SHARED_BYTES = 1 << 16

# Modules of owners of memory that does not change, but through NumPy's arrays: our results, Arrow's and Polars' columns,
# files.
_UNCHANGING = frozenset(("fulgurite", "pyarrow", "polars", "mmap"))

# By the address of an array's object: how many arrays of ours read its memory.
_sealed = {}
# By the address of an array's object: its views that become writable with it.
_waiting = {}
_lock = threading.RLock()


def asarray(obj, /, dtype=None, *, device=None, copy=None):
    """An array of what somebody has: numbers, nested lists, NumPy arrays, SciPy matrices, columns and tables.

    Args:
        obj: What becomes an array. Tables of pandas, Polars and Arrow, and what gives Arrow data by the PyCapsule
            interface, have numbers or booleans in all columns; their missing values become NaN. Memory comes through
            the protocols of NumPy, DLPack and buffers, too. By default pandas' memory is copied.
        dtype: The type of its cells; by default as NumPy has it.
        device: ``"cpu"`` or ``None``.
        copy: ``True`` copies, so that later changes are not seen. ``None`` shares the memory of large arrays of
            NumPy in C or Fortran order: as long as arrays read it, it is read-only for others, too, so that no result
            is made of old and new cells; writing raises ``ValueError``. What can't be protected so is copied. (A
            view that somebody took before stays writable: call ``asarray`` with ``copy=True`` if there are such.)
            ``False`` shares the memory as it is, or raises ``ValueError``: changes before an evaluation are seen,
            and the caller sees to it that there are none while one runs.

    Raises:
        TypeError: For cells that are no numbers: texts, objects, dates, masked cells.
        ValueError: For ragged lists, and for ``copy=False`` where a copy is needed.

    >>> import numpy as np
    >>> import fulgurite as fg
    >>> x = fg.asarray(np.arange(6.0).reshape(2, 3))
    >>> (x + 1).shape
    (2, 3)
    """
    if device is not None:
        check_device(device)
    if dtype is not None:
        dtype = _dtype(dtype)
    if type(obj) is np.ndarray:
        return _of_numpy(obj, dtype, copy)
    if type(obj) is Array:
        return _of_array(obj, dtype, copy)
    if isinstance(obj, np.ndarray):
        if isinstance(obj, np.ma.MaskedArray):
            raise TypeError("masked arrays have cells without a value: fill them with filled()")
        return _of_numpy(np.asarray(obj), dtype, copy)
    if _is_scipy(obj):
        return _of_scipy(obj, dtype, copy)
    is_plain = isinstance(obj, _PLAIN)
    table = None if is_plain else host_of_table(obj)
    host, memory = table or (_host(obj, dtype), None if is_plain else "lent")
    if memory is not None:
        # pandas writes through arrays of its own.
        copied = memory == "open" and copy is None
        return _of_numpy(host, dtype, True if copied else copy)
    if copy is False and not isinstance(obj, np.generic):
        raise ValueError(f"an array of this {type(obj).__name__} needs a copy")
    return _of_fresh(host if dtype is None else host.astype(dtype, copy=False))


# What has no memory of an array, and is no table.
_PLAIN = (float, int, list, tuple, complex, str, bytes, range, np.generic)


def _dtype(dtype):
    wanted = np.dtype(dtype)
    if wanted.kind not in "biufc":
        raise TypeError(f"cells are numbers or booleans, not {wanted}")
    return wanted


def _host(obj, dtype):
    """As NumPy has it.

    Raises:
        TypeError: For what is no array of numbers.
        ValueError: For ragged lists.
    """
    if isinstance(obj, (list, tuple)):
        obj = _with_numbers(obj)
    elif not hasattr(obj, "__array__") and hasattr(obj, "__dlpack__"):
        obj = np.from_dlpack(obj)
    try:
        host = np.asarray(obj, dtype=dtype)
    except ValueError as error:
        raise ValueError(f"no array can be made of this {type(obj).__name__}: {error}") from None
    return _checked(host, obj)


def _with_numbers(nested):
    """Nested lists with NumPy's arrays in the place of ours."""
    for each in nested:
        if isinstance(each, (list, tuple)) or type(each) is Array:
            break
    else:
        return nested
    return [
        _with_numbers(each)
        if isinstance(each, (list, tuple))
        else to_numpy(each)
        if type(each) is Array
        else each
        for each in nested
    ]


def _checked(host, obj):
    if host.dtype.kind not in "biufc":
        raise TypeError(
            f"cells are numbers or booleans, and those of this {type(obj).__name__} are {host.dtype}"
        )
    return host


def _of_array(array, dtype, copy):
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ValueError("a change of the dtype needs a copy")
        from ._creation import astype

        return astype(array, dtype)
    # Arrays change only where somebody assigns to cells, which gives one of them other cells.
    return same(array) if copy else array


def _of_numpy(host, dtype, copy):
    _checked(host, host)
    if dtype is not None and host.dtype != dtype:
        if copy is False:
            raise ValueError("a change of the dtype needs a copy")
        return _of_fresh(host.astype(dtype))
    if not host.dtype.isnative:
        if copy is False:
            raise ValueError("an array in another order of bytes needs a copy")
        return _of_fresh(host.astype(host.dtype.newbyteorder("=")))
    if host.dtype != np.float64 or not 1 <= host.ndim <= 2 or host.size == 0:
        if copy is not False:
            return _of_fresh(host.copy())
        # NumPy reads it as it is.
        host = host.view()
        host.flags.writeable = False
        return from_host(host)
    flags = host.flags
    if not (flags.c_contiguous or flags.f_contiguous) or not flags.aligned:
        if copy is False:
            raise ValueError("an array with strides needs a copy")
        return _of_fresh(np.array(host, order="C", copy=True))
    if copy is False:
        return _leaf(host, False)
    if copy or host.nbytes < SHARED_BYTES:
        return _leaf(host, True)
    return _leaf(_protected(host), False)


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
    """The arrays whose memory it is; `None` where somebody else may write into it."""
    arrays = []
    while isinstance(host, np.ndarray):
        arrays.append(host)
        owner = host.base
        if owner is None or isinstance(owner, bytes):
            return arrays
        if (
            type(owner).__module__.partition(".")[0] in _UNCHANGING
            or type(owner).__name__ == "PySeries"
        ):
            return arrays
        host = owner
    return None


def _protected(host):
    """A view of memory that is read-only for its owners as long as there is the view; a copy of what can't be protected."""
    chain = _chain(host)
    if chain is None:
        return host.copy(order="K")
    with _lock:
        for array in chain:
            count, was = _sealed.get(id(array), (0, array.flags.writeable))
            _sealed[id(array)] = (count + 1, was)
            if array.flags.writeable:
                array.flags.writeable = False
    view = host.view()
    weakref.finalize(view, _release, host)
    return view


def _release(host):
    with _lock:
        # From the owner on: a view may not be writable before what it is a view of.
        for array in reversed(_chain(host) or []):
            count, was = _sealed.pop(id(array), (1, False))
            if count > 1:
                _sealed[id(array)] = (count - 1, was)
                continue
            if was:
                _unseal(array)
            # Views that had to wait for it.
            for view in _waiting.pop(id(array), ()):
                _unseal(view)


def _unseal(array):
    """Makes an array writable again, or later, with what it is a view of."""
    base = array.base
    if isinstance(base, np.ndarray) and not base.flags.writeable and id(base) in _sealed:
        _waiting.setdefault(id(base), []).append(array)
    else:
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
    # What was converted is nobody else's.
    lent = csr is source
    if copy is False and not (lent and values is csr.data and indices is csr.indices):
        raise ValueError("a sparse matrix in another format than CSR of float64 needs a copy")
    if copy is None and lent:
        indices = _protected(indices) if indices is csr.indices else indices
        values = _protected(values) if values is csr.data else values
    node = Node.csr((rows, cols), pointers, indices, values, copy is True)
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
