"""Functions over axes are NumPy's."""

import fulgurite as fg
import numpy as np
import pytest
from helpers import DTYPES, SPECIAL, TAME, alike, deviation, hosts, laid_out, many_shapes
from hypothesis import assume, given
from hypothesis import strategies as st

FINITE = SPECIAL[np.isfinite(SPECIAL) & (np.abs(SPECIAL) < 1e100)]
PLAIN = ("sum", "prod", "mean", "max", "min", "any", "all")


@st.composite
def axes_of(draw, ndim, *, several=True, none=True):
    """`None`, an axis or several."""
    kinds = ["one"] * (ndim > 0) + ["none"] * none + ["several"] * (several and ndim > 0)
    kind = draw(st.sampled_from(kinds or ["none"]))
    if kind == "none":
        return None
    if kind == "one":
        return draw(st.integers(-ndim, ndim - 1))
    axes = draw(st.lists(st.integers(0, ndim - 1), unique=True, min_size=1, max_size=ndim))
    return tuple(axis - ndim if draw(st.booleans()) else axis for axis in axes)


def compare(name, call, host, *, rtol=1e-13):
    """Calls a function with `fg` and an array of ours, and with NumPy and its array."""
    try:
        want = call(np, host)
    except (TypeError, ValueError, IndexError) as error:
        with pytest.raises(type(error)):
            call(fg, fg.asarray(host))
        return
    got = call(fg, fg.asarray(host))
    if np.asarray(want).dtype.kind in "fc" and name not in ("max", "min"):
        deviation("sum-places")
        finite = host[np.isfinite(host)]
        size = np.abs(finite).max(initial=1.0) * max(host.size, 1)
        if name in ("var", "std"):
            size = size**2
        if name in ("prod", "cumulative_prod"):
            size = None
        is_single = np.asarray(want).dtype.itemsize < 8
        alike(got, want, rtol=1e-5 if is_single else rtol, scale=size, signs=False)
    else:
        deviation("extreme-zero")
        alike(got, want, signs=False)


@pytest.mark.parametrize("name", PLAIN)
@given(data=st.data())
def test_aggregates(name, data):
    # Sums of huge numbers overflow at other places.
    values = SPECIAL if name not in ("sum", "prod", "mean") else TAME
    host = data.draw(hosts(DTYPES, many_shapes, values))
    axis, keepdims = data.draw(axes_of(host.ndim)), data.draw(st.booleans())
    compare(name, lambda xp, x: getattr(xp, name)(x, axis=axis, keepdims=keepdims), host)


@pytest.mark.parametrize("name", ["sum", "mean", "prod"])
@given(
    host=hosts(("float64",), st.sampled_from([(7,), (3, 4)])), axis=st.sampled_from([None, 0, -1])
)
def test_aggregates_of_special_values(name, host, axis):
    """NaN and infinities are where NumPy has them."""
    host = np.where(np.abs(host) > 1e100, np.sign(host) * np.inf, host)
    compare(name, lambda xp, x: getattr(xp, name)(x, axis=axis), host)


@pytest.mark.parametrize("name", ["var", "std"])
@given(data=st.data(), correction=st.sampled_from([0, 1, 0.5, 0.0, 3]), keepdims=st.booleans())
def test_spread(name, data, correction, keepdims):
    deviation("overflow-of-steps")
    host = data.draw(hosts(("float64", "float32", "int64", "bool"), many_shapes, TAME))
    axis = data.draw(axes_of(host.ndim))
    compare(
        name,
        lambda xp, x: getattr(xp, name)(x, axis=axis, correction=correction, keepdims=keepdims),
        host,
        rtol=1e-12,
    )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@given(data=st.data(), keepdims=st.booleans())
def test_indexes_of_extremes(name, data, keepdims):
    host = data.draw(hosts(DTYPES[:-1], many_shapes))
    axis = data.draw(axes_of(host.ndim, several=False))
    compare(name, lambda xp, x: getattr(xp, name)(x, axis=axis, keepdims=keepdims), host)


@given(data=st.data(), keepdims=st.booleans())
def test_count_nonzero(data, keepdims):
    host = data.draw(hosts(DTYPES, many_shapes))
    axis = data.draw(axes_of(host.ndim))
    want = np.asarray(np.count_nonzero(host, axis=axis, keepdims=keepdims))
    alike(fg.count_nonzero(fg.asarray(host), axis=axis, keepdims=keepdims), want)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
@given(data=st.data(), include_initial=st.booleans())
def test_cumulative(name, data, include_initial):
    host = data.draw(hosts(("float64", "float32", "int32", "bool"), many_shapes, TAME))
    assume(host.ndim)
    axis = data.draw(axes_of(host.ndim, several=False, none=host.ndim == 1))
    compare(
        name,
        lambda xp, x: getattr(xp, name)(x, axis=axis, include_initial=include_initial),
        host,
    )


@pytest.mark.parametrize("name", ["sum", "prod"])
@given(data=st.data(), dtype=st.sampled_from(["float64", "float32", "int64"]))
def test_dtype_of_aggregates(name, data, dtype):
    host = data.draw(hosts(("float64", "int32", "bool"), many_shapes, TAME))
    dtype = np.dtype(dtype)
    compare(name, lambda xp, x: getattr(xp, name)(x, dtype=dtype), host, rtol=1e-6)


@given(data=st.data(), descending=st.booleans())
def test_sort(data, descending):
    host = data.draw(hosts(("float64", "int64", "float32", "uint8", "bool"), many_shapes))
    assume(host.ndim)
    axis = data.draw(st.integers(-host.ndim, host.ndim - 1))
    array = fg.asarray(host)
    want = np.sort(host, axis=axis, stable=True)
    if descending:
        # NaN stays last by the standard's silence; NumPy has no such option.
        assume(host.dtype.kind != "f" or not np.isnan(host).any())
        want = np.flip(want, axis=axis)
    alike(fg.sort(array, axis=axis, descending=descending), want, signs=False)
    order = np.asarray(fg.argsort(array, axis=axis, descending=descending))
    assert order.dtype == np.int64
    np.testing.assert_array_equal(np.take_along_axis(host, order, axis), want)
    if not descending:
        np.testing.assert_array_equal(order, np.argsort(host, axis=axis, stable=True))


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse"])
@given(host=hosts(("float64", "int64"), many_shapes, TAME))
def test_unique(name, host):
    got = getattr(fg, name)(fg.asarray(host))
    for found, want in zip(got, getattr(np, name)(host), strict=True):
        alike(found, want)


@given(data=st.data())
def test_diff(data):
    host = data.draw(hosts(("float64", "int64"), many_shapes))
    assume(host.ndim)
    axis, n = data.draw(st.integers(-host.ndim, host.ndim - 1)), data.draw(st.integers(0, 3))
    alike(fg.diff(fg.asarray(host), axis=axis, n=n), np.diff(host, axis=axis, n=n))
    alike(
        fg.diff(fg.asarray(host), axis=axis, prepend=fg.asarray(host), append=fg.asarray(host)),
        np.diff(host, axis=axis, prepend=host, append=host),
    )


@given(host=hosts(("float64",), st.sampled_from([(6,), (3, 4)])))
def test_aggregates_of_what_is_wrong(host):
    array = fg.asarray(host)
    with pytest.raises(IndexError):
        fg.sum(array, axis=5)
    with pytest.raises(ValueError):
        fg.sum(array, axis=(0, 0))
    with pytest.raises(TypeError):
        fg.sum(array, axis=0.5)


def test_extremes_of_nothing():
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError):
            getattr(fg, name)(fg.zeros((0, 3)))


def test_layouts_of_large_arrays():
    rng = np.random.default_rng(3)
    host = rng.normal(size=(300, 200))
    for layout in ("C", "F", "strided", "reversed", "read-only", "offset", "repeated"):
        cells = laid_out(host, layout)
        array = fg.asarray(cells)
        for axis in (None, 0, 1):
            alike(fg.sum(array, axis=axis), np.sum(cells, axis=axis), rtol=1e-12, scale=300.0)
            alike(fg.max(array, axis=axis), np.max(cells, axis=axis))
        alike(array, cells)
