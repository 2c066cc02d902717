"""Functions of shapes, and cells by their places."""

import fulgurite as fg
import numpy as np
import pytest
from helpers import (
    DTYPES,
    SHAPES,
    alike,
    broadcastable,
    cells_of,
    hosts,
    many_shapes,
    seeds,
    shapes,
)
from hypothesis import assume, given
from hypothesis import strategies as st

SOME = ("float64", "float64", "bool", "int64", "float32")


def both(call, *host):
    """Calls a function with arrays of ours and with NumPy's: the results, or the class of the error, are the same."""
    try:
        want = call(np, *host)
    except (TypeError, ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            np.asarray(call(fg, *map(fg.asarray, host)))
        return
    got = call(fg, *map(fg.asarray, host))
    if isinstance(want, (tuple, list)):
        assert type(got) is tuple and len(got) == len(want)
        for found, expected in zip(got, want, strict=True):
            alike(found, expected)
    else:
        alike(got, want)


@given(host=hosts(SOME, many_shapes), seed=seeds)
def test_reshape(host, seed):
    rng = np.random.default_rng(seed)
    divisors = [d for d in range(1, host.size + 1) if host.size % d == 0] or [0]
    rows = int(rng.choice(divisors))
    for shape in (
        (-1,),
        (rows, -1),
        (-1, rows),
        (rows, host.size // max(rows, 1)),
        (1, -1),
        host.shape,
        (7, 3),
        (-1, -1),
    ):
        both(lambda xp, x, shape=shape: xp.reshape(x, shape), host)


@given(host=hosts(SOME, many_shapes))
def test_transposes(host):
    both(lambda xp, x: xp.matrix_transpose(x), host)
    both(lambda xp, x: xp.permute_dims(x, tuple(reversed(range(x.ndim)))), host)
    alike(fg.asarray(host).T, host.T)
    if host.ndim >= 2:
        alike(fg.asarray(host).mT, host.mT)
        both(lambda xp, x: xp.moveaxis(x, 0, -1), host)


@given(host=hosts(SOME, many_shapes), data=st.data())
def test_dimensions(host, data):
    axis = data.draw(st.integers(-host.ndim - 2, host.ndim + 1))
    both(lambda xp, x: xp.expand_dims(x, axis=axis), host)
    if host.ndim:
        # NumPy lets an axis of nothing pass.
        both(lambda xp, x: xp.squeeze(x, axis=axis), host)
    ones = tuple(at for at, length in enumerate(host.shape) if length == 1)
    both(lambda xp, x: xp.squeeze(x, axis=ones), host)
    both(lambda xp, x: xp.flip(x), host)
    both(lambda xp, x: xp.flip(x, axis=axis), host)
    both(lambda xp, x: xp.unstack(x, axis=axis), host)
    shift = data.draw(st.integers(-7, 7))
    both(lambda xp, x: xp.roll(x, shift), host)
    both(lambda xp, x: xp.roll(x, shift, axis=axis), host)


@given(data=st.data())
def test_joins(data):
    shape = data.draw(many_shapes)
    count = data.draw(st.integers(1, 3))
    parts = [data.draw(hosts(("float64",), shape)) for _ in range(count)]
    if data.draw(st.booleans()):
        parts[0] = data.draw(hosts(("int32", "bool"), shape))
    axis = data.draw(st.one_of(st.none(), st.integers(-len(shape) - 1, len(shape))))
    both(lambda xp, *arrays: xp.concat(arrays, axis=axis), *parts)
    if axis is not None:
        both(lambda xp, *arrays: xp.stack(arrays, axis=axis), *parts)


@given(data=st.data())
def test_joins_of_other_shapes(data):
    parts = [data.draw(hosts(("float64",), shapes)) for _ in range(2)]
    for axis in (0, 1):
        both(lambda xp, *arrays, axis=axis: xp.concat(arrays, axis=axis), *parts)
    both(lambda xp, *arrays: xp.stack(arrays), *parts)


@given(pair=broadcastable(2, 3), seed=seeds)
def test_broadcasts(pair, seed):
    rng = np.random.default_rng(seed)
    first, second = (cells_of(rng, shape, "float64") for shape in pair)
    both(lambda xp, x, y: xp.broadcast_arrays(x, y), first, second)
    both(lambda xp, x: xp.broadcast_to(x, pair[1]), first)
    assert fg.broadcast_shapes(*pair) == np.broadcast_shapes(*pair)


@given(host=hosts(SOME, many_shapes), k=st.integers(-3, 3))
def test_triangles(host, k):
    assume(host.ndim >= 2)
    for name in ("tril", "triu"):
        both(lambda xp, x, name=name: getattr(xp, name)(x), host)
        both(lambda xp, x, name=name: getattr(xp, name)(x, k=k), host)


@given(
    x=hosts(SOME, st.sampled_from([(3,), (1,), (0,), (5,)])),
    y=hosts(("float64",), st.sampled_from([(2,), (4,)])),
)
def test_grids(x, y):
    for indexing in ("xy", "ij"):
        both(lambda xp, *arrays, i=indexing: xp.meshgrid(*arrays, indexing=i), x, y)
        both(lambda xp, *arrays, i=indexing: xp.meshgrid(*arrays, indexing=i), x)
        both(lambda xp, *arrays, i=indexing: xp.meshgrid(*arrays, indexing=i), x, y, x)


@given(host=hosts(SOME, many_shapes), repeats=st.integers(0, 3))
def test_repetitions(host, repeats):
    both(lambda xp, x: xp.repeat(x, repeats), host)
    both(lambda xp, x: xp.tile(x, (2, repeats)), host)


# Cells.


@st.composite
def keys(draw, shape):
    """Keys of ranges, whole numbers, `...` and `None`, some of them out of bounds."""
    parts = []
    for length in shape[: draw(st.integers(0, len(shape)))]:
        kind = draw(st.integers(0, 3))
        if kind == 0:
            parts.append(draw(st.integers(-length - 1, length)))
        else:
            ends = st.one_of(st.none(), st.integers(-length - 2, length + 2))
            step = draw(st.sampled_from([None, 1, 1, -1, 2, -3]))
            parts.append(slice(draw(ends), draw(ends), step))
    if draw(st.integers(0, 3)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), None)
    if draw(st.integers(0, 3)) == 0:
        parts.insert(draw(st.integers(0, len(parts))), ...)
    return parts[0] if len(parts) == 1 and draw(st.booleans()) else tuple(parts)


@given(host=hosts(SOME, many_shapes), data=st.data())
def test_ranges(host, data):
    key = data.draw(keys(host.shape))
    both(lambda xp, x: x[key], host)
    # Of what is not computed yet, too.
    if host.dtype == np.float64:
        both(lambda xp, x: (x * 2.0)[key], host)


@given(host=hosts(SOME, many_shapes), data=st.data(), seed=seeds)
def test_masks_and_arrays_of_indexes(host, data, seed):
    mask = np.random.default_rng(seed).random(host.shape) < 0.5
    both(lambda xp, x, m: x[m], host, mask)
    if host.ndim and host.shape[0]:
        places = np.random.default_rng(seed).integers(0, host.shape[0], 4)
        both(lambda xp, x, p: x[p], host, places)
        both(lambda xp, x, p: xp.take(x, p, axis=0), host, places)


@given(host=hosts(SOME, many_shapes), data=st.data(), value=st.sampled_from([0, 1.5, -1, True]))
def test_assignments(host, data, value):
    key = data.draw(keys(host.shape))
    want = np.array(host)
    array = fg.asarray(host)
    before = array + 0 if host.dtype == np.float64 else array.copy()
    kept = np.asarray(before).copy()
    try:
        want[key] = value
    except (IndexError, ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            array[key] = value
        return
    array[key] = value
    alike(array, want)
    np.testing.assert_array_equal(np.asarray(before), kept)


def test_assignments_change_one_array_alone():
    first = fg.asarray([1.0, 2.0, 3.0])
    others = [
        +first,
        first.copy(),
        first * 1,
        fg.astype(first, fg.float64),
        fg.concat([first]),
        fg.roll(first, 0),
    ]
    others += [fg.diff(first, n=0), fg.asarray(first, copy=True)]
    first[0] = 9.0
    for other in others:
        alike(other, np.array([1.0, 2.0, 3.0]))
    alike(first, np.array([9.0, 2.0, 3.0]))


def test_results_in_the_place_of_arrays():
    a, host = fg.ones(3), np.ones(3)
    b = a
    a += 1
    alike(a, np.full(3, 2.0))
    alike(b, np.ones(3))
    host += a
    assert type(host) is np.ndarray and host.tolist() == [3.0, 3.0, 3.0]
    np.multiply(a, 3.0, out=a)
    alike(a, np.full(3, 6.0))


def test_iteration():
    host = np.arange(6.0).reshape(2, 3)
    for row, want in zip(fg.asarray(host), host, strict=True):
        alike(row, want)
    with pytest.raises(TypeError):
        iter(fg.asarray(1.0)).__next__()
    with pytest.raises(TypeError):
        len(fg.asarray(1.0))
    assert len(fg.asarray(host)) == 2 and 5.0 in fg.asarray(host)


# New arrays.


@given(shape=many_shapes, dtype=st.sampled_from((None, *DTYPES)))
def test_new_arrays(shape, dtype):
    for name in ("zeros", "ones"):
        alike(getattr(fg, name)(shape, dtype=dtype), getattr(np, name)(shape, dtype=dtype))
        like = fg.zeros(shape, dtype=dtype)
        alike(getattr(fg, f"{name}_like")(like), getattr(np, name)(shape, dtype=dtype))
    assert fg.empty(shape, dtype=dtype).shape == shape
    for value in (2, 2.5, True):
        alike(fg.full(shape, value), np.full(shape, value))
        alike(fg.full(shape, value, dtype=dtype), np.full(shape, value, dtype=dtype))


@given(rows=st.integers(0, 5), cols=st.one_of(st.none(), st.integers(0, 5)), k=st.integers(-6, 6))
def test_eye(rows, cols, k):
    alike(fg.eye(rows, cols, k=k), np.eye(rows, cols, k=k))


@given(
    start=st.integers(-5, 5), stop=st.integers(-5, 9), step=st.sampled_from([1, 2, -1, 0.5, -0.25])
)
def test_ranges_of_numbers(start, stop, step):
    alike(fg.arange(start, stop, step), np.arange(start, stop, step))
    alike(fg.arange(stop), np.arange(stop))
    alike(fg.linspace(start, stop, 7), np.linspace(start, stop, 7))
    alike(fg.linspace(start, stop, 7, endpoint=False), np.linspace(start, stop, 7, endpoint=False))


def test_shapes_are_all_there():
    assert {len(shape) for shape in SHAPES} == {0, 1, 2}


@given(host=hosts(("float64",), many_shapes), data=st.data())
def test_assignments_in_plans(host, data):
    """Of arrays and values that are not computed yet."""
    key = data.draw(keys(host.shape))
    want = np.asarray(host * 2.0)
    try:
        shape = want[key].shape
    except IndexError:
        with pytest.raises(IndexError):
            array = fg.asarray(host) * 2.0
            array[key] = 1.0
        return
    value = data.draw(st.sampled_from(["number", "same", "row", "one"]))
    cells = np.random.default_rng(0).normal(size=shape)
    cells = {"number": 1.5, "same": cells, "row": cells[:1] if shape else cells, "one": np.ones((1,))}[value]
    try:
        want[key] = cells + 1.0
    except ValueError:
        # NumPy takes no array of one cell for a number here.
        return
    array = fg.asarray(host) * 2.0
    before = array + 0.5
    array[key] = fg.asarray(cells) + 1.0
    alike(array, want)
    alike(before, host * 2.0 + 0.5)


@given(host=hosts(("float64",), many_shapes))
def test_assignments_by_masks(host):
    for make in (lambda xp, x: x, lambda xp, x: x * 1.0):
        want = np.array(make(np, host))
        want[want > 0.25] = -1.0
        array = make(fg, fg.asarray(host))
        array[array > 0.25] = -1.0
        alike(array, want)


def test_assignments_write_into_cells_that_nobody_else_reads():
    array = fg.zeros(5)
    seen = []
    for at in range(5):
        array[at] = at
        if at == 2:
            seen = [np.asarray(array), array * 1.0, np.asarray(array)[:2]]
    alike(array, np.arange(5.0))
    np.testing.assert_array_equal(seen[0], [0, 1, 2, 0, 0])
    alike(seen[1], np.array([0, 1, 2, 0, 0.0]))
    np.testing.assert_array_equal(seen[2], [0, 1])
    first = array._host
    array[0] = 7.0
    assert array._host is not first or float(array[0]) == 7.0
    large = fg.asarray(np.zeros(100000))
    twice = large * 2.0
    large[0] = 1.0
    large[1] = 1.0
    alike(twice, np.zeros(100000))
    assert float(fg.sum(large)) == 2.0
    with fg.config(fallback="error"):
        x = fg.ones((3, 4)) * 2.0
        x[0, :] = 0.0
        x[:, 1] = x[:, 0] + 1.0
        x[x > 1.5] = 9.0
        alike(x, np.array([[0.0, 1, 0, 0], [9, 9, 9, 9], [9, 9, 9, 9]]))


def test_assignments_do_not_write_into_views():
    lent = np.zeros((2, 3), dtype=np.float32)
    array = fg.asarray(lent, copy=False)
    array[0, 0] = 7.0
    assert lent[0, 0] == 0.0 and float(array[0, 0]) == 7.0
    whole = fg.asarray(np.arange(6, dtype=np.int32))
    turned = fg.reshape(whole, (2, 3))
    turned[0, 0] = 9
    alike(whole, np.arange(6, dtype=np.int32))
    row = next(iter(fg.asarray(np.arange(6).reshape(2, 3))))
    row[0] = 9
    single = fg.asarray(np.float32(1.0), copy=False)
    single[()] = 2.0
    assert float(single) == 2.0
