"""Arrays from what others have, and back: nothing is lost, and what cannot be is an error."""

import array
import copy
import gc
import pickle
from fractions import Fraction

import fulgurite as fg
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from helpers import DTYPES, LAYOUTS, alike, deviation, hosts, laid_out, many_shapes
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

LARGE = (300, 200)


@given(host=hosts(DTYPES, many_shapes))
def test_arrays_of_numpy(host):
    alike(fg.asarray(host), host)
    alike(fg.asarray(host, copy=True), host)
    assert np.asarray(fg.asarray(host)).tolist() == host.tolist() or np.isnan(host).any()
    alike(fg.asarray(fg.asarray(host)), host)
    for dtype in (np.float64, np.float32, np.complex128):
        if host.dtype.kind != "c" or dtype is np.complex128:
            alike(fg.asarray(host, dtype=dtype), host.astype(dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_large_arrays_of_numpy(layout):
    host = laid_out(np.random.default_rng(0).normal(size=LARGE), layout)
    kept = np.array(host)
    got = fg.asarray(host)
    alike(got, kept)
    alike(got + 1.0, kept + 1.0)
    alike(fg.asarray(host, copy=True) * 2.0, kept * 2.0)


@pytest.mark.parametrize(
    ("value", "error"),
    [
        (np.array([1, "a"], dtype=object), TypeError),
        (np.array([1, None], dtype=object), TypeError),
        (["a", "b"], TypeError),
        ("text", TypeError),
        (b"bytes", TypeError),
        (None, TypeError),
        ([1.0, None], TypeError),
        ([Fraction(1, 2)], TypeError),
        ({1: 2}, TypeError),
        ({1, 2}, TypeError),
        ((i for i in range(3)), TypeError),
        (object(), TypeError),
        ([[1.0], [1.0, 2.0]], ValueError),
        ([[1.0, 2.0], 3.0], ValueError),
        (np.zeros(2, dtype=[("a", float)]), TypeError),
        (np.array(["2020-01-01"], dtype="M8[D]"), TypeError),
        (np.ma.array([1.0, 2.0], mask=[True, False]), TypeError),
        (2**70, TypeError),
        (pd.Series(["a", "b"]), TypeError),
        (pd.Series([1, "a"], dtype=object), TypeError),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), TypeError),
        (pd.Series(["a"], dtype="category"), TypeError),
        (pd.Series(pd.date_range("2020-01-01", periods=2)), TypeError),
        (pd.DataFrame(), TypeError),
        (pl.Series(["a"]), TypeError),
        (pl.DataFrame({"a": [1.0], "b": ["x"]}), TypeError),
        (pl.DataFrame({"a": [1.0]}).lazy(), TypeError),
        (pa.array(["a"]), TypeError),
        (pa.table({"a": [1.0], "b": ["x"]}), TypeError),
        (sparse.csr_array(np.eye(2, dtype=complex)), TypeError),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, type) else value.__name__,
)
def test_what_is_no_array(value, error):
    with pytest.raises(error) as caught:
        fg.asarray(value)
    assert str(caught.value)


def test_names_of_columns_that_are_no_numbers():
    for frame in (
        pd.DataFrame({"a": [1.0], "who": ["x"]}),
        pl.DataFrame({"a": [1.0], "who": ["x"]}),
        pa.table({"a": [1.0], "who": ["x"]}),
    ):
        with pytest.raises(TypeError, match="'who'"):
            fg.asarray(frame)


def test_bad_arguments():
    with pytest.raises(ValueError, match="device"):
        fg.asarray([1.0], device="gpu")
    with pytest.raises(TypeError):
        fg.asarray([1.0], dtype=str)
    with pytest.raises(TypeError):
        fg.Array()
    with pytest.raises(TypeError):
        fg.ones(2) + "a"
    with pytest.raises(TypeError):
        fg.ones(2) + None
    with pytest.raises(TypeError):
        fg.ones(2) @ {}
    with pytest.raises(TypeError):
        hash(fg.ones(2))
    with pytest.raises(IndexError):
        fg.ones(2)[2]
    with pytest.raises(IndexError):
        fg.ones(2)[0, 0]
    with pytest.raises(IndexError):
        fg.ones(2)["a"]
    with pytest.raises(ValueError):
        fg.reshape(fg.ones(6), (4, 2))
    with pytest.raises(ValueError):
        fg.broadcast_to(fg.ones(3), (2,))
    with pytest.raises(ValueError):
        fg.zeros((-1, 2))
    with pytest.raises((TypeError, ValueError)):
        fg.linalg.inv(fg.ones((2, 2, 3)))


def test_numbers_of_python():
    assert (
        float(fg.asarray(2.5)) == 2.5
        and int(fg.asarray([3])) == 3
        and complex(fg.asarray(1.0)) == 1.0
    )
    assert bool(fg.asarray(True)) and not fg.asarray([[0.0]])
    assert [10, 20, 30][fg.asarray(1)] == 20 and fg.asarray(2.0).item() == 2.0
    assert f"{fg.asarray(2.5):.2f}" == "2.50"
    for bad in (float, int, bool, complex):
        with pytest.raises(TypeError):
            bad(fg.ones(2))
    with pytest.raises(TypeError):
        [1, 2][fg.asarray(1.0)]
    with pytest.raises(ValueError):
        int(fg.asarray(np.nan))
    with pytest.raises(OverflowError):
        int(fg.asarray(np.inf))


def test_nested_lists_of_arrays():
    alike(
        fg.asarray([[fg.asarray(1.0), 2], [3, fg.sum(fg.ones(4))]]),
        np.array([[1.0, 2.0], [3.0, 4.0]]),
    )
    alike(fg.asarray((fg.ones(2), [0.0, 1.0])), np.array([[1.0, 1.0], [0.0, 1.0]]))
    alike(fg.asarray(range(3)), np.arange(3))


# Sharing of memory.


def test_copies_do_not_see_changes():
    for shape in ((3,), LARGE):
        host = np.ones(shape)
        got = fg.asarray(host, copy=True)
        host[...] = 5.0
        alike(got, np.ones(shape))


def test_small_arrays_are_copied():
    host = np.ones(3)
    got = fg.asarray(host) + 0.5
    host[0] = 7.0
    alike(got, np.full(3, 1.5))


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_arrays_are_read_only_while_they_are_read(order):
    host = np.ones(LARGE, order=order)
    view = host[:5]
    got = fg.asarray(host)
    assert order == "F" or np.shares_memory(np.asarray(got), host)
    with pytest.raises(ValueError, match="read-only"):
        host[0, 0] = 7.0
    later = got * 2.0
    other = fg.asarray(host)
    del got
    gc.collect()
    with pytest.raises(ValueError, match="read-only"):
        host[0, 0] = 7.0
    np.asarray(later)
    del other, later
    gc.collect()
    host[0, 0] = 7.0
    assert view[0, 0] == 7.0


def test_memory_of_others_is_copied():
    memory = bytearray(np.ones(20000).tobytes())
    host = np.frombuffer(memory)
    read_only = host.view()
    read_only.flags.writeable = False
    for each in (host, read_only, memoryview(memory).cast("d")):
        got = fg.asarray(each)
        np.frombuffer(memory)[0] = 9.0
        assert float(got[0]) == 1.0
        np.frombuffer(memory)[0] = 1.0
    typed = array.array("d", [1.0] * 20000)
    got = fg.asarray(typed)
    typed[0] = 9.0
    assert float(got[0]) == 1.0


def test_memory_shared_as_it_is():
    host = np.ones(LARGE)
    got = fg.asarray(host, copy=False)
    host[0, 0] = 7.0
    assert float(got[0, 0]) == 7.0 and np.shares_memory(np.asarray(got), host)
    integers = np.arange(5)
    got = fg.asarray(integers, copy=False)
    integers[0] = 9
    assert int(got[0]) == 9 and integers.flags.writeable
    for bad in (
        [1.0],
        1.0,
        range(3),
        host[:, ::2],
        host.astype(">f8"),
        pd.DataFrame({"a": [1], "b": [1.0]}),
    ):
        with pytest.raises(ValueError, match="copy"):
            fg.asarray(bad, copy=False)
    with pytest.raises(ValueError, match="dtype"):
        fg.asarray(host, dtype=np.float32, copy=False)
    with pytest.raises(ValueError, match="dtype"):
        fg.asarray(fg.ones(2), dtype=np.float32, copy=False)


def test_owners_may_end():
    got = [fg.asarray(np.full(LARGE, float(i))) for i in range(4)]
    pieces = [fg.asarray(np.full((1000, 100), float(i))[10:500]) for i in range(4)]
    gc.collect()
    _ = [np.zeros(LARGE) for _ in range(8)]
    for i in range(4):
        assert float(fg.max(got[i])) == float(fg.min(got[i])) == i
        assert float(fg.max(pieces[i])) == float(fg.min(pieces[i])) == i
    results = [np.asarray(each * 2.0) for each in got]
    del got
    gc.collect()
    assert [each[0, 0] for each in results] == [0.0, 2.0, 4.0, 6.0]


def test_subclasses_and_protocols():
    class Lender:
        def __init__(self, host):
            self.host = host

        def __array__(self, dtype=None, copy=None):
            return self.host

    host = np.ones(5)
    got = fg.asarray(Lender(host))
    host[0] = 7.0
    alike(got, np.ones(5))
    assert host.flags.writeable
    alike(fg.asarray(np.matrix([[1.0, 2.0]])), np.array([[1.0, 2.0]]))
    alike(fg.asarray(memoryview(np.ones((2, 3)))), np.ones((2, 3)))
    alike(fg.asarray(array.array("d", [1.0, 2.0])), np.array([1.0, 2.0]))
    alike(fg.asarray(np.float64(2.0)), np.asarray(2.0))
    alike(fg.asarray(np.arange(3, dtype=">f8")), np.arange(3.0))
    for kind in (np.longdouble, np.float16):
        host = np.arange(3, dtype=kind) / 3
        got = fg.asarray(host)
        assert got.dtype == host.dtype
        alike(got, host)
        np.testing.assert_array_equal(np.asarray(got * 2), host * 2)


# Tables.


@pytest.mark.parametrize("rows", [3, 20000])
def test_tables(rows):
    columns = {"a": np.arange(rows) * 0.5, "b": np.arange(rows) * 2.0}
    want = np.stack(list(columns.values()), axis=1)
    for table in (
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pa.table(columns),
        pa.record_batch(columns),
    ):
        alike(fg.asarray(table), want)
        alike(fg.asarray(table) * 2.0, want * 2.0)
        alike(fg.asarray(table, dtype=fg.float32), want.astype(np.float32))
    for column in (
        pd.DataFrame(columns)["b"],
        pl.DataFrame(columns)["b"],
        pa.table(columns)["b"],
        pa.array(columns["b"]),
    ):
        alike(fg.asarray(column), want[:, 1])
    mixed = {"a": np.arange(rows), "b": np.arange(rows) * 0.5, "c": np.arange(rows) % 2 == 0}
    want = np.stack(list(mixed.values()), axis=1).astype(float)
    for table in (pd.DataFrame(mixed), pl.DataFrame(mixed), pa.table(mixed)):
        alike(fg.asarray(table), want)


def test_missing_values():
    want = np.array([1.0, np.nan, 3.0])
    for column in (
        pd.Series([1, None, 3]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([1, None, 3], dtype="Float64"),
        pd.Series([1, None, 3], dtype="int64[pyarrow]"),
        pl.Series([1, None, 3]),
        pl.Series([1.0, None, 3.0]),
        pa.array([1, None, 3]),
        pa.chunked_array([[1.0], [None, 3.0]]),
    ):
        alike(fg.asarray(column), want)
    alike(fg.asarray(pl.Series([True, None])), np.array([1.0, np.nan]))
    alike(fg.asarray(pd.Series([True, None], dtype="boolean")), np.array([1.0, np.nan]))
    alike(fg.asarray(pa.array([True, None])), np.array([1.0, np.nan]))
    alike(fg.asarray(pd.Series([1, 2], dtype="Int32")), np.array([1, 2], dtype=np.int32))
    alike(fg.asarray(pd.Series([True, False])), np.array([True, False]))
    alike(fg.asarray(pd.Index([1.0, 2.0])), np.array([1.0, 2.0]))
    alike(fg.asarray(pd.DataFrame({"a": [1.0]}).iloc[:0]), np.zeros((0, 1)))


def test_frames_that_change():
    frame = pd.DataFrame(np.ones(LARGE))
    got, column = fg.asarray(frame), fg.asarray(frame[0])
    frame.iloc[0, 0] = 7.0
    frame.loc[1] = 8.0
    alike(got, np.ones(LARGE))
    alike(column, np.ones(LARGE[0]))


class _Stream:
    def __init__(self, source):
        self.source = source

    def __arrow_c_stream__(self, requested_schema=None):
        return self.source.__arrow_c_stream__(requested_schema)


class _Piece:
    def __init__(self, source):
        self.source = source

    def __arrow_c_array__(self, requested_schema=None):
        return self.source.__arrow_c_array__(requested_schema)


def test_capsules_of_arrow():
    table = pa.table({"a": [1.0, 2.0], "b": [3, None]})
    want = np.array([[1.0, 3.0], [2.0, np.nan]])
    alike(fg.asarray(_Stream(table)), want)
    alike(fg.asarray(_Stream(table["a"])), want[:, 0])
    alike(fg.asarray(_Piece(table.to_batches()[0])), want)
    alike(fg.asarray(_Piece(pa.array([1.5, 2.5]))), np.array([1.5, 2.5]))
    alike(fg.asarray(_Stream(pl.DataFrame({"a": [1.0, 2.0]}))), np.array([[1.0], [2.0]]))
    with pytest.raises(TypeError):
        fg.asarray(_Stream(pa.table({"a": ["x"]})))
    # And back.
    for host in (np.arange(5.0), np.array([True, False]), np.arange(3, dtype=np.int32)):
        assert pa.array(fg.asarray(host)).to_pylist() == host.tolist()
    assert pl.Series(pa.array(fg.ones(3) * 2.0)).to_list() == [2.0, 2.0, 2.0]
    with pytest.raises(TypeError, match="one dimension"):
        fg.ones((2, 2)).__arrow_c_array__()


# DLPack.


@given(host=hosts(("float64", "float32", "int64", "uint8", "complex128"), many_shapes))
def test_dlpack(host):
    got = fg.asarray(host)
    np.testing.assert_array_equal(np.from_dlpack(got), host)
    alike(fg.from_dlpack(got), host)
    alike(fg.from_dlpack(np.array(host)), np.array(host))
    assert got.__dlpack_device__() == (1, 0)


def test_capsules_of_dlpack():
    deviation("read-only-capsule")

    class Old:
        """Asks as libraries do that know no versions."""

        def __init__(self, of):
            self.of = of

        def __dlpack__(self, **_):
            return self.of.__dlpack__()

        def __dlpack_device__(self):
            return self.of.__dlpack_device__()

    value = fg.ones(4) * 3.0
    lent = np.from_dlpack(Old(value))
    np.testing.assert_array_equal(lent, np.full(4, 3.0))
    with pytest.raises(BufferError):
        value.__dlpack__(copy=False)
    shared = np.from_dlpack(value)
    assert np.shares_memory(shared, np.asarray(value)) and not shared.flags.writeable
    assert not np.shares_memory(np.from_dlpack(value, copy=True), np.asarray(value))
    with pytest.raises(ValueError):
        fg.from_dlpack(value, device="gpu")


# SciPy.


@given(
    rows=st.integers(1, 9),
    cols=st.integers(1, 9),
    seed=st.integers(0, 2**32 - 1),
    form=st.sampled_from(["csr", "csc", "coo", "lil", "dok", "bsr", "dia"]),
)
def test_matrices_of_scipy(rows, cols, seed, form):
    rng = np.random.default_rng(seed)
    host = np.where(rng.random((rows, cols)) < 0.4, rng.normal(size=(rows, cols)), 0.0)
    source = getattr(sparse, f"{form}_array")(host)
    got = fg.asarray(source)
    assert got.is_sparse and got.shape == (rows, cols)
    alike(got, host)
    back = fg.compute(got * 2.0)
    assert sparse.issparse(back)
    np.testing.assert_array_equal(back.toarray(), host * 2.0)
    alike(got @ np.ones(cols), host @ np.ones(cols), rtol=1e-12, scale=10.0, signs=False)
    alike(fg.asarray(sparse.csr_matrix(host)) * fg.asarray(host), host * host)
    np.testing.assert_array_equal(fg.compute(got.T).toarray(), host.T)
    other = pickle.loads(pickle.dumps(got * 3.0))
    assert other.is_sparse
    np.testing.assert_array_equal(fg.compute(other).toarray(), host * 3.0)
    np.testing.assert_array_equal(fg.compute(copy.deepcopy(got)).toarray(), host)


def test_matrices_out_of_order():
    unsorted = sparse.csr_array(
        (np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3)
    )
    alike(fg.asarray(unsorted), unsorted.toarray())
    twice = sparse.csr_array(
        (np.array([1.0, 2.0, 4.0]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 3)
    )
    want = np.array([[0.0, 3.0, 0.0], [4.0, 0.0, 0.0]])
    alike(fg.asarray(twice), want)
    # The source is as it was.
    assert (
        twice.nnz == 3
        and twice.indices.tolist() == [1, 1, 0]
        and unsorted.indices.tolist() == [2, 0, 1]
    )
    stored = sparse.csr_array(
        (np.array([0.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2)
    )
    alike(fg.asarray(stored), np.array([[0.0, 1.0]]))
    for bad in (np.array([0, 5]), np.array([0, -1])):
        broken = sparse.csr_array(
            (np.array([1.0, 1.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2)
        )
        broken.indices = bad.astype(np.int32)
        with pytest.raises((ValueError, fg.FulguriteError)):
            np.asarray(fg.asarray(broken))
    assert fg.asarray(sparse.csr_array((0, 3))).shape == (0, 3)
    alike(fg.asarray(sparse.csr_array(np.eye(3, dtype=np.int64))), np.eye(3))
    with pytest.raises(ValueError, match="copy"):
        fg.asarray(sparse.csc_array(np.eye(3)), copy=False)


def test_large_matrices_of_scipy_are_read_only_while_they_are_read():
    source = sparse.random_array((2000, 2000), density=0.01, rng=np.random.default_rng(0)).tocsr()
    want = source.sum()
    got = fg.asarray(source)
    with pytest.raises(ValueError, match="read-only"):
        source.data[0] = 5.0
    assert abs(float(fg.sum(got)) - want) < 1e-6
    del got
    gc.collect()
    source.data[0] = 5.0
    copied = fg.asarray(source, copy=True)
    source.data[0] = 6.0
    assert float(fg.max(copied)) == 5.0
