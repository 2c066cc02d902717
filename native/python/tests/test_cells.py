"""Functions of cells are NumPy's at every value, in every dtype, shape and layout."""

import fulgurite as fg
import numpy as np
import pytest
from helpers import (
    DTYPES,
    REAL_DTYPES,
    SPECIAL,
    alike,
    broadcastable,
    cells_of,
    deviation,
    hosts,
    laid_out,
    many_shapes,
)
from hypothesis import given
from hypothesis import strategies as st

EXACT_UNARY = "abs ceil floor sqrt negative positive square reciprocal sign trunc round isnan isinf isfinite".split()
NEAR_UNARY = (
    "acos acosh asin asinh atan atanh cos cosh exp expm1 log log10 log1p log2 sin sinh tan tanh"
).split()
EXACT_BINARY = "add subtract multiply divide remainder".split()
COMPARISONS = "less less_equal greater greater_equal equal not_equal".split()
LOGICAL = "logical_and logical_or logical_xor".split()
ULPS = 4


def many_cells():
    rng = np.random.default_rng(7)
    return np.concatenate(
        [
            SPECIAL,
            -SPECIAL,
            rng.normal(size=500),
            rng.normal(size=500) * 100,
            10.0 ** rng.uniform(-300, 300, size=300),
            rng.integers(-40, 40, size=200) / 2,
            2.0 ** np.arange(-1070, 1020, 7),
            10.0 ** np.arange(-300, 300, 9),
        ]
    )


@pytest.mark.parametrize("name", EXACT_UNARY + NEAR_UNARY)
def test_unary_at_many_values(name):
    cells = many_cells()
    ulps = ULPS if name in NEAR_UNARY else 0
    deviation("last-places")
    with fg.config(fallback="error"):
        alike(getattr(fg, name)(fg.asarray(cells)), getattr(np, name)(cells), ulps=ulps)


@pytest.mark.parametrize("name", EXACT_UNARY + NEAR_UNARY)
@given(host=hosts(DTYPES, many_shapes))
def test_unary(name, host):
    try:
        want = getattr(np, name)(host)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(fg, name)(fg.asarray(host))
        return
    array = fg.asarray(host)
    got = getattr(fg, name)(array)
    # The sizes of complex numbers depend on how they lie in memory.
    is_near = name in NEAR_UNARY or host.dtype.kind == "c"
    alike(got, want, ulps=ULPS if is_near else 0)
    assert fg.all(fg.asarray(host) == array) or np.isnan(host).any()


def pairs():
    rng = np.random.default_rng(11)
    left, right = np.meshgrid(SPECIAL, SPECIAL)
    more = rng.integers(-6, 7, (2, 600)) / rng.choice([1, 2, 3, 10], (2, 600))
    wide = rng.normal(size=(2, 300)) * 10.0 ** rng.integers(-20, 20, (2, 300))
    return (
        np.concatenate([left.ravel(), more[0], wide[0]]),
        np.concatenate([right.ravel(), more[1], wide[1]]),
    )


def compare_binary(name, got, want, left, right):
    """Compares results but where a deviation is listed."""
    want = np.asarray(want)
    if name in ("maximum", "minimum"):
        deviation("extreme-zero")
        alike(got, want, signs=False)
    elif name == "floor_divide" and want.dtype.kind == "f":
        deviation("floor-of-infinity")
        is_infinite = np.isinf(left) | np.isinf(right)
        alike(got, np.where(is_infinite, np.floor(np.divide(left, right)), want).astype(want.dtype))
    elif name == "logaddexp" and want.dtype.kind == "f":
        deviation("cancelled-places")
        scale = np.maximum(np.maximum(np.abs(left), np.abs(right)), 1.0)
        alike(got, want, rtol=1e-15 if want.dtype == np.float64 else 1e-6, scale=scale)
    elif name in ("pow", "atan2", "hypot"):
        alike(got, want, ulps=ULPS)
    else:
        alike(got, want)


BINARY = [*EXACT_BINARY, "maximum", "minimum", "floor_divide", "pow", "atan2", "hypot", "logaddexp"]


@pytest.mark.parametrize("name", BINARY + COMPARISONS)
def test_binary_at_many_values(name):
    left, right = pairs()
    with fg.config(fallback="error"):
        got = getattr(fg, name)(fg.asarray(left), fg.asarray(right))
        compare_binary(name, got, getattr(np, name)(left, right), left, right)


@pytest.mark.parametrize("value", [float(value) for value in SPECIAL] + [2, -1, 0, True])
@pytest.mark.parametrize("name", BINARY + COMPARISONS)
def test_binary_with_a_number(name, value):
    cells = np.concatenate([SPECIAL, -SPECIAL])
    array, function = fg.asarray(cells), getattr(np, name)
    numbers = np.full_like(cells, value)
    with fg.config(fallback="error"):
        if not (name == "pow" and value == 0.5):
            compare_binary(
                name, getattr(fg, name)(array, value), function(cells, numbers), cells, numbers
            )
        compare_binary(
            name, getattr(fg, name)(value, array), function(numbers, cells), numbers, cells
        )
        if isinstance(value, float):
            single = fg.asarray(value)
            compare_binary(
                name, getattr(fg, name)(array, single), function(cells, numbers), cells, numbers
            )


def test_the_power_of_one_half_is_the_root():
    cells = many_cells()
    alike(fg.asarray(cells) ** 0.5, np.sqrt(cells))
    alike(fg.asarray(cells) ** 2, cells * cells)


@st.composite
def two_hosts(draw, dtypes=DTYPES, largest=2):
    shapes = draw(broadcastable(2, largest))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    layouts = st.sampled_from(("C", "F", "strided", "reversed"))
    names = [draw(st.sampled_from(dtypes)) for _ in shapes]
    if "float64" in dtypes and draw(st.booleans()):
        names[0] = "float64"
    return [
        laid_out(cells_of(rng, shape, name), draw(layouts))
        for shape, name in zip(shapes, names, strict=True)
    ]


@pytest.mark.parametrize("name", BINARY + COMPARISONS + LOGICAL)
@given(both=two_hosts(largest=3))
def test_binary(name, both):
    left, right = both
    try:
        want = getattr(np, name)(left, right)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error)):
            getattr(fg, name)(fg.asarray(left), fg.asarray(right))
        return
    got = getattr(fg, name)(fg.asarray(left), fg.asarray(right))
    compare_binary(name, got, want, left, right)


OPERATORS = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "remainder": lambda a, b: a % b,
    "floor_divide": lambda a, b: a // b,
    "pow": lambda a, b: a**b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
}
NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2, 3, 0.0, -0.0, 0.5, 2.0, -3.5, np.inf, np.nan, True, False, 10**6])
)


@pytest.mark.parametrize("name", OPERATORS)
@given(host=hosts(REAL_DTYPES, many_shapes), number=NUMBERS, is_left=st.booleans())
def test_operators_with_numbers(name, host, number, is_left):
    function = OPERATORS[name]
    if name == "pow" and not is_left and host.dtype == np.float64 and number == -1:
        # A quotient is exact.
        number = 2
    try:
        want = function(number, host) if is_left else function(host, number)
    except (TypeError, ValueError, OverflowError) as error:
        with pytest.raises(type(error)):
            array = fg.asarray(host)
            np.asarray(function(number, array) if is_left else function(array, number))
        return
    array = fg.asarray(host)
    got = function(number, array) if is_left else function(array, number)
    numbers = (
        np.full_like(host, number, dtype=float) if np.asarray(want).dtype.kind == "f" else number
    )
    both = (numbers, host) if is_left else (host, numbers)
    compare_binary(name, got, want, *both)


@given(host=hosts(("bool",), many_shapes))
def test_logical_not(host):
    alike(fg.logical_not(fg.asarray(host)), np.logical_not(host))
    alike(~fg.asarray(host), ~host)


@given(both=two_hosts(("bool",), 3))
def test_operators_of_booleans(both):
    left, right = both
    a, b = fg.asarray(left), fg.asarray(right)
    alike(a & b, left & right)
    alike(a | b, left | right)
    alike(a ^ b, left ^ right)


@given(shapes=broadcastable(3, 3), seed=st.integers(0, 2**32 - 1), dtype=st.sampled_from(DTYPES))
def test_where(shapes, seed, dtype):
    rng = np.random.default_rng(seed)
    condition = cells_of(rng, shapes[0], "bool")
    x, y = cells_of(rng, shapes[1], "float64"), cells_of(rng, shapes[2], dtype)
    got = fg.where(fg.asarray(condition), fg.asarray(x), fg.asarray(y))
    alike(got, np.where(condition, x, y))
    alike(fg.where(fg.asarray(condition), 1.5, fg.asarray(x)), np.where(condition, 1.5, x))


@given(
    host=hosts(("float64",), many_shapes),
    low=st.sampled_from([None, -1.0, 0.0, 2.0, np.nan, -np.inf]),
    high=st.sampled_from([None, 1.0, 3.5, np.inf]),
)
def test_clip(host, low, high):
    want = np.clip(host, low, high) if (low, high) != (None, None) else host
    alike(fg.clip(fg.asarray(host), low, high), want, signs=False)


@given(both=two_hosts(("float64",)))
def test_clip_between_arrays(both):
    x, low = both
    if np.broadcast_shapes(x.shape, low.shape) == x.shape:
        alike(fg.clip(fg.asarray(x), fg.asarray(low), None), np.clip(x, low, None), signs=False)


HOSTED = "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift copysign nextafter".split()


@pytest.mark.parametrize("name", HOSTED)
@given(both=two_hosts(("float64", "int32", "int64", "bool"), 3))
def test_hosted(name, both):
    left, right = both
    if "shift" in name:
        right = abs(right)
    try:
        want = getattr(np, name)(left, right)
    except TypeError:
        with pytest.raises(TypeError):
            getattr(fg, name)(fg.asarray(left), fg.asarray(right))
        return
    alike(getattr(fg, name)(fg.asarray(left), fg.asarray(right)), want)


@given(host=hosts(("float64", "complex128", "float32"), many_shapes))
def test_parts(host):
    array = fg.asarray(host)
    alike(fg.real(array), np.real(host))
    alike(fg.imag(array), np.imag(host))
    alike(fg.conj(array), np.conj(host))
    if host.dtype.kind == "f":
        alike(fg.signbit(array), np.signbit(host))
