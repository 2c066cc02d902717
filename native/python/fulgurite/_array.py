"""Arrays that are computed when somebody looks at them."""

from __future__ import annotations

import sys
import threading

import numpy as np

from . import _engine, _native
from ._fallbacks import note
from ._places import place
from ._progress import line
from ._symbols import symbol_in

__all__ = ["Array", "compute"]

# What an array's cells are: the engine's numbers stand for each of them.
FLOAT = "float64"
BOOL = "bool"
INT = "int64"

_DTYPES = {FLOAT: np.dtype(np.float64), BOOL: np.dtype(np.bool_), INT: np.dtype(np.int64)}

# Up to here whole numbers are exact in float64.
EXACT_INT = 1 << 53

# Operators in one expression that nobody looks at, after which it is computed all the same.
LONGEST = 200


class Array:
    """An array of at most two dimensions that is computed when somebody looks at it; or any array of NumPy.

    Make one with :func:`asarray`, :func:`zeros` and the like. Operators and functions of arrays give arrays, and
    compute nothing: ``np.asarray(a)``, ``float(a)``, ``print(a)`` and :func:`compute` do.

    >>> import fulgurite as fg
    >>> x = fg.asarray([[1.0, 2.0], [3.0, 4.0]])
    >>> float(fg.sum(x * x))
    30.0
    """

    __slots__ = ("__weakref__", "_host", "_kind", "_node", "_row", "_shape", "_sparse")

    # NumPy leaves operators to us.
    __array_priority__ = 1000

    def __init__(self, *_, **__):
        raise TypeError("make arrays with fulgurite.asarray()")

    # What it is.

    @property
    def shape(self):
        """Sizes of the dimensions."""
        return self._shape

    @property
    def ndim(self):
        """The number of dimensions."""
        return len(self._shape)

    @property
    def size(self):
        """The number of cells."""
        size = 1
        for length in self._shape:
            size *= length
        return size

    @property
    def dtype(self):
        """The type of cells, as NumPy has it."""
        return self._host.dtype if self._kind is None else _DTYPES[self._kind]

    @property
    def itemsize(self):
        """Bytes of a cell."""
        return self.dtype.itemsize

    @property
    def nbytes(self):
        """Bytes of all cells."""
        return self.size * self.itemsize

    @property
    def device(self):
        """Where it is: ``"cpu"``."""
        return "cpu"

    def to_device(self, device, /, *, stream=None):
        """The array itself: there is one device, ``"cpu"``."""
        if device != "cpu":
            raise ValueError(f"there is no device {device!r}, only 'cpu'")
        if stream is not None:
            raise ValueError("the device 'cpu' has no streams")
        return self

    @property
    def compression(self):
        """How the matrix is compressed: a dict of its column ``groups`` by kind, ``bytes`` and ``ratio``; ``None`` where it is not.

        >>> import fulgurite as fg
        >>> codes = fg.compress(fg.asarray([[float(row % 3)] for row in range(9999)]))
        >>> codes.compression["groups"]
        {'ddc': 1}
        """
        return None if self._node is None else self._node.compression

    @property
    def is_sparse(self):
        """Whether results are SciPy matrices."""
        return self._sparse

    def __array_namespace__(self, *, api_version=None):
        import fulgurite

        if api_version is not None and api_version not in fulgurite.SUPPORTED_API_VERSIONS:
            raise ValueError(
                f"the array API is there in the versions {fulgurite.SUPPORTED_API_VERSIONS}, not {api_version!r}"
            )
        return fulgurite

    # Looking at it.

    def __array__(self, dtype=None, copy=None):
        array = to_numpy(self)
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError("a change of the dtype needs a copy")
            return array.astype(dtype)
        if copy:
            return array.copy()
        return array

    def __float__(self):
        return float(self._item("float"))

    def __int__(self):
        return int(self._item("int"))

    def __bool__(self):
        return bool(self._item("bool"))

    def __complex__(self):
        return complex(self._item("complex"))

    def __index__(self):
        if self.dtype.kind not in "iu":
            raise TypeError("only arrays of integers can be an index")
        return int(self._item("an index"))

    def item(self, *index):
        """A cell as a number of Python."""
        return to_numpy(self).item(*index)

    def tolist(self):
        """All cells in nested lists."""
        return to_numpy(self).tolist()

    def _item(self, what):
        if self.size != 1:
            raise TypeError(
                f"only an array of one cell can become {what}, this one has the shape {self._shape}"
            )
        return to_numpy(self).reshape(())[()]

    def __len__(self):
        if not self._shape:
            raise TypeError("an array without dimensions has no length")
        return self._shape[0]

    def __iter__(self):
        if not self._shape:
            raise TypeError("an array without dimensions has no items")
        for row in to_numpy(self):
            yield from_host(np.asarray(row))

    def __contains__(self, value):
        return bool(np.any(to_numpy(self) == to_numpy(value)))

    def __str__(self):
        return str(to_numpy(self))

    def __repr__(self):
        return "Array" + repr(to_numpy(self)).removeprefix("array")

    def __format__(self, spec):
        if self._shape:
            return format(str(self), spec)
        return format(self._item("text"), spec)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        host = to_numpy(self)
        if max_version is None or max_version[0] < 1:
            # Versions before 1.0 can't say that memory is read-only: who asks gets cells to write into.
            if copy is False:
                raise BufferError("without a copy the memory of an array is read-only")
            host, copy = host.copy(), None
        more = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
        return host.__dlpack__(stream=stream, **more)

    def __dlpack_device__(self):
        return (1, 0)

    def __arrow_c_array__(self, requested_schema=None):
        if len(self._shape) != 1:
            raise TypeError(f"an Arrow array has one dimension, this one has {len(self._shape)}")
        try:
            import pyarrow
        except ImportError:
            raise ImportError("to give cells to Arrow, install pyarrow") from None
        return pyarrow.array(to_numpy(self)).__arrow_c_array__(requested_schema)

    def __reduce__(self):
        value = compute(self)
        return _unpickled, (value if self._sparse else np.array(value), self._sparse)

    def __copy__(self):
        return same(self)

    def __deepcopy__(self, _):
        compute(self)
        return same(self)

    __hash__ = None


def _unpickled(value, is_sparse):
    from ._convert import asarray

    return asarray(value) if is_sparse else from_host(np.asarray(value))


def make(node, shape, kind=FLOAT, row=False, sparse=False):
    """An array of a node: `row` says that one of one dimension lies as a row of a matrix."""
    array = object.__new__(Array)
    array._node = node
    array._shape = shape
    array._kind = kind
    array._row = row
    array._sparse = sparse
    array._host = None
    # A trace would take its value for a constant.
    if node.depth > LONGEST and looked() is None:
        evaluate((array,), keeps_named=True)
    return array


def same(array):
    """Another array of the same cells, which assignments to the first do not change."""
    other = object.__new__(Array)
    other._node = array._node
    other._shape = array._shape
    other._kind = array._kind
    other._row = array._row
    other._sparse = array._sparse
    other._host = array._host
    return other


def become(array, other):
    """An array has the cells of another one from now on."""
    for slot in ("_node", "_shape", "_kind", "_row", "_sparse", "_host"):
        setattr(array, slot, getattr(other, slot))


def from_host(host):
    """An array of NumPy's values, which nobody else writes into."""
    array = object.__new__(Array)
    array._node = None
    array._shape = host.shape
    array._row = False
    array._sparse = False
    array._host = host
    array._kind = _kind_of(host)
    return array


def _kind_of(host):
    """The kind of cells if the engine has such arrays; else `None`."""
    if host.ndim > 2 or host.size == 0:
        return None
    if host.dtype == np.float64:
        return FLOAT
    if host.dtype == np.bool_:
        return BOOL
    if host.dtype == np.int64 and -EXACT_INT <= host.min() and host.max() <= EXACT_INT:
        return INT
    return None


def node_of(array):
    """The node of an array whose kind the engine has."""
    node = array._node
    if node is None:
        host = array._host
        if host.ndim == 0:
            node = _native.Node.scalar(float(host))
        else:
            rows, cols = host.shape if host.ndim == 2 else (host.shape[0], 1)
            cells = np.ascontiguousarray(host, dtype=np.float64)
            # Nobody else has the values of an array.
            node = _native.Node.dense(cells, rows, cols, False)
        array._node = node
    return node


# Where a function that is traced looks at values.
_tracing = threading.local()


def looked():
    return getattr(_tracing, "looks", None)


def begin_trace(looks):
    _tracing.looks = looks


def end_trace(before):
    _tracing.looks = before


def note_look():
    looks = getattr(_tracing, "looks", None)
    if looks is not None:
        looks.append(place())


def evaluate(arrays, keeps_named=False):
    """Computes arrays together; results on the way that have names, too, if nobody looked at any."""
    nodes = [array._node for array in arrays if array._host is None]
    if nodes:
        settings = _engine.settings()
        with watched(settings) as (is_main, progress):
            _native.evaluate(settings.engine, nodes, is_main, progress, keeps_named)


class watched:
    """Whether this is the main thread, and the line of progress of an evaluation, if there is one."""

    __slots__ = ("_line", "_settings")

    def __init__(self, settings):
        self._settings = settings

    def __enter__(self):
        is_main = _engine.is_main_thread()
        self._line = line(self._settings) if is_main else None
        return is_main, self._line

    def __exit__(self, *_):
        if self._line is not None:
            self._line.close()


def to_numpy(value):
    """An array's cells, dense and read-only; what is no array of ours as NumPy has it."""
    if type(value) is not Array:
        return np.asarray(value)
    host = value._host
    if host is not None:
        return host
    note_look()
    node = value._node
    if not node.is_value:
        evaluate((value,))
    return _host_of(value)


def is_known(value):
    """Whether the cells of an array are there already."""
    if type(value) is not Array or value._host is not None:
        return True
    # A sparse matrix stays one.
    return value._node.is_value and not value._sparse


def own_host(array):
    """The cells of an array as NumPy's array to write into, which nobody else reads: its own, or a copy."""
    host = array._host
    if host is None or array._node is not None or host.base is not None:
        return np.array(to_numpy(array))
    if sys.getrefcount(host) > _ALONE:
        return np.array(host)
    host.flags.writeable = True
    return host


def _host_of(array):
    """The values of an array that was computed."""
    node = array._node
    if node.is_scalar:
        host = np.array(node.number())
    else:
        host = node.cells()
        if len(array._shape) == 2:
            host = host.reshape(array._shape)
        elif not array._shape:
            host = host.reshape(())
    kind = array._kind
    if kind is not FLOAT:
        host = host.astype(_DTYPES[kind])
    if host.flags.writeable:
        host.flags.writeable = False
    if not (array._sparse and node.layout != "dense"):
        array._host = host
    return host


def _result(value):
    if type(value) is not Array:
        return np.asarray(value)
    if value._sparse:
        from ._convert import to_scipy

        return to_scipy(value)
    return to_numpy(value)


def compute(*values):
    """Computes arrays together, as one program.

    Args:
        values: Arrays, and what else has values already.

    Returns:
        NumPy arrays in the order of the arguments, a SciPy matrix for a sparse result; for one argument the bare
        value. Arrays are views of the results that arrays of ours keep, and read-only: ``np.array(a)`` is a copy.

    >>> import fulgurite as fg
    >>> x = fg.asarray([1.0, 2.0, 3.0])
    >>> total, largest = fg.compute(fg.sum(x), fg.max(x))
    >>> float(total), float(largest)
    (6.0, 3.0)
    """
    evaluate([value for value in values if type(value) is Array])
    if len(values) == 1:
        return _result(values[0])
    return tuple(map(_result, values))


def on_host(name, reason, function, *args, **kwargs):
    """Runs a function of NumPy on evaluated values; arrays in what it gives become ours."""
    symbol = symbol_in(args)
    if symbol is not None:
        return symbol.function(name, args, kwargs)
    note(name, reason)
    arrays = []
    _collect(args, arrays)
    _collect(kwargs, arrays)
    evaluate(arrays, keeps_named=True)
    result = function(*_mapped(args), **_mapped(kwargs))
    return wrapped(result)


def _collect(value, arrays):
    if type(value) is Array:
        arrays.append(value)
    elif isinstance(value, (tuple, list)):
        for each in value:
            _collect(each, arrays)
    elif isinstance(value, dict):
        for each in value.values():
            _collect(each, arrays)


def _mapped(value):
    if type(value) is Array:
        return to_numpy(value)
    if type(value) is tuple or type(value) is list:
        return type(value)(map(_mapped, value))
    if type(value) is dict:
        return {key: _mapped(each) for key, each in value.items()}
    return value


def wrapped(result):
    """What NumPy gave, with arrays of ours."""
    if isinstance(result, np.ndarray):
        return from_host(_own(result))
    if isinstance(result, np.generic):
        return from_host(np.asarray(result))
    if isinstance(result, tuple):
        parts = [wrapped(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else tuple(parts)
    if isinstance(result, list):
        return [wrapped(part) for part in result]
    return result


def _own(array):
    """A result that nobody writes into; a view keeps what it is a view of."""
    array = array.view()
    array.flags.writeable = False
    return array


def _alone():
    """What `own_host` counts of an array that it alone refers to."""
    array = from_host(np.zeros(1))
    host = array._host
    return sys.getrefcount(host)


_ALONE = _alone()
