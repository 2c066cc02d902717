"""Types of cells are those of the standard, as `array-api-strict` has them."""

import array_api_strict as strict
import fulgurite as fg
import numpy as np
import pytest
from helpers import alike, cells_of

NAMES = (
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128"
).split()
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum
    minimum multiply nextafter not_equal pow remainder subtract""".split()
UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf
    isnan log log10 log1p log2 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan
    tanh trunc""".split()
REDUCTIONS = "sum prod mean var std max min any all argmax argmin cumulative_sum cumulative_prod count_nonzero".split()

strict.set_array_api_strict_flags(api_version="2024.12")


def pair(name, shape=(2, 3)):
    cells = np.abs(cells_of(np.random.default_rng(5), shape, name, np.array([1.0, 2.0, 0.5])))
    cells = np.where(cells == 0, 1, cells).astype(name) if name != "bool" else cells
    return fg.asarray(cells), strict.asarray(cells)


def same(call, ours, theirs, **kwargs):
    """Where the standard has a result, ours has its dtype, shape and cells."""
    try:
        want = call(strict, *theirs, **kwargs)
    except (TypeError, AttributeError):
        return False
    got = call(fg, *ours, **kwargs)
    host = np.asarray(want)
    assert got.dtype == host.dtype and got.shape == host.shape
    np.testing.assert_allclose(np.asarray(got), host, rtol=1e-5)
    return True


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    compared = 0
    for left in NAMES:
        for right in NAMES:
            a, b = pair(left), pair(right)
            compared += same(lambda xp, x, y: getattr(xp, name)(x, y), (a[0], b[0]), (a[1], b[1]))
    assert compared or name not in dir(strict)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    for dtype in NAMES:
        ours, theirs = pair(dtype)
        same(lambda xp, x: getattr(xp, name)(x), (ours,), (theirs,))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    for dtype in NAMES:
        ours, theirs = pair(dtype)
        for axis in (0, 1, -1) if name.startswith("cumulative") else (None, 0, 1, (0, 1)):
            if isinstance(axis, tuple) and name.startswith("arg"):
                continue
            same(lambda xp, x, axis=axis: getattr(xp, name)(x, axis=axis), (ours,), (theirs,))


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<<": lambda a, b: a << b,
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_with_numbers(name):
    function = OPERATORS[name]
    for dtype in NAMES:
        ours, theirs = pair(dtype)
        for number in (True, 2, 1.5, 1 + 2j):
            same(lambda _, x, number=number: function(x, number), (ours,), (theirs,))
            same(lambda _, x, number=number: function(number, x), (ours,), (theirs,))


def test_promotion():
    types = {name: getattr(fg, name) for name in NAMES}
    for left in NAMES:
        for right in NAMES:
            try:
                want = strict.result_type(getattr(strict, left), getattr(strict, right))
            except TypeError:
                continue
            assert fg.result_type(types[left], types[right]) == np.dtype(
                str(want).rpartition(".")[2]
            )
            assert fg.result_type(fg.ones(2, dtype=types[left]), types[right]) == fg.result_type(
                types[left], types[right]
            )
    assert fg.result_type(fg.ones(2, dtype=fg.float32), 1.5) == fg.float32
    assert fg.result_type(fg.ones(2, dtype=fg.int8), 1) == fg.int8
    assert fg.result_type(fg.asarray(1.0), fg.ones(2, dtype=fg.float32)) == fg.float64


def test_kinds():
    kinds = (
        "bool",
        "signed integer",
        "unsigned integer",
        "integral",
        "real floating",
        "complex floating",
        "numeric",
    )
    for name in NAMES:
        for kind in kinds:
            assert fg.isdtype(getattr(fg, name), kind) == strict.isdtype(
                getattr(strict, name), kind
            )
    assert fg.isdtype(fg.float64, ("bool", fg.float64))


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("wanted", NAMES)
def test_astype(source, wanted):
    if source.startswith("complex") and not wanted.startswith("complex"):
        return
    array, _ = pair(source)
    alike(fg.astype(array, getattr(fg, wanted)), np.asarray(array).astype(wanted))
    assert fg.can_cast(getattr(fg, source), getattr(fg, wanted)) == np.can_cast(source, wanted)


def test_limits():
    assert fg.finfo(fg.float32).dtype == np.float32 and fg.finfo(fg.float64).eps == 2.0**-52
    assert isinstance(fg.finfo(fg.float32).max, float)
    assert fg.iinfo(fg.int8).max == 127 and fg.finfo(fg.ones(2)).bits == 64


def test_the_namespace():
    info = fg.__array_namespace_info__()
    assert info.default_device() in info.devices()
    assert set(info.dtypes()) == set(NAMES)
    assert set(info.dtypes(kind="real floating")) == {"float32", "float64"}
    assert info.default_dtypes()["integral"] == np.int64
    with pytest.raises(ValueError):
        info.dtypes(kind="text")
    with pytest.raises(ValueError):
        info.dtypes(device="gpu")
    array = fg.ones(2)
    assert array.__array_namespace__(api_version="2025.12") is fg
    with pytest.raises(ValueError):
        array.__array_namespace__(api_version="2019.12")
    names = [name for name in dir(strict) if not name.startswith("_") and "flags" not in name]
    ignored = {
        "ArrayAPIStrictFlags",
        "ModuleType",
        "Device",
        "set_array_api_strict_flags",
        "get_array_api_strict_flags",
    }
    missing = [name for name in names if not hasattr(fg, name) and name not in ignored]
    assert missing == []
    for extension in ("linalg", "fft"):
        theirs = getattr(strict, extension).__all__
        assert [name for name in theirs if not hasattr(getattr(fg, extension), name)] == []
