"""What the tests have in common: arrays of all layouts and special values, and how results are compared."""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path

import fulgurite as fg
import numpy as np
from hypothesis import strategies as st

warnings.filterwarnings("ignore", category=RuntimeWarning)

SPECIAL = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -2.5, 2.0, 3.0, -7.25, 0.1, 1 / 3, math.pi, math.e]
    + [math.inf, -math.inf, math.nan, 5e-324, -5e-324, 1e-310, 1e-17, 1e-8, 1e16, 2.0**53 + 2]
    + [4503599627370497.5, 1e22, -1e22, 1e150, 1e300, -1e300, 1.7976931348623157e308, 709.5, -745.5]
    + [math.nextafter(1, 2), math.nextafter(1, 0), 20.0, -20.0, 8.0, 1000.0]
)
TAME = np.array([0.0, 1.0, -1.0, 0.5, -1.5, 2.0, 3.0, -4.0, 0.25, 7.0])

DTYPES = ("float64", "float32", "int64", "int32", "int8", "uint8", "uint64", "bool", "complex128")
REAL_DTYPES = tuple(name for name in DTYPES if name != "complex128")

SHAPES = (
    (),
    (1,),
    (2,),
    (5,),
    (17,),
    (1, 1),
    (1, 4),
    (4, 1),
    (3, 4),
    (5, 2),
    (9, 9),
    (0,),
    (0, 3),
    (3, 0),
)
MANY_SHAPES = (*SHAPES, (2, 3, 4), (1, 1, 1), (0, 2, 1), (2, 1, 3, 2))

shapes = st.sampled_from(SHAPES)
many_shapes = st.sampled_from(MANY_SHAPES)
seeds = st.integers(0, 2**32 - 1)


def cells_of(rng, shape, dtype, values=SPECIAL):
    """Cells with special values among ordinary ones."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return rng.random(shape) < 0.5
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -9
        cells = rng.integers(low, 10, shape)
        if values is SPECIAL and rng.random() < 0.2:
            info = np.iinfo(dtype)
            cells = np.where(
                rng.random(shape) < 0.2, rng.choice([info.min, info.max], shape), cells
            )
        return np.asarray(cells).astype(dtype)
    special = rng.random() if values is SPECIAL else rng.random() * 0.5
    cells = np.where(
        rng.random(shape) < special, rng.choice(values, shape), rng.normal(size=shape) * 3
    )
    if dtype.kind == "c":
        return (cells + 1j * rng.normal(size=shape)).astype(dtype)
    return np.asarray(cells).astype(dtype)


LAYOUTS = ("C", "F", "strided", "reversed", "read-only", "offset", "repeated")


def laid_out(cells, layout):
    """The same cells with another layout of memory, but for `repeated`, which has one row for all."""
    if layout == "F":
        return np.asfortranarray(cells)
    if layout == "strided" and cells.ndim:
        wide = np.zeros(tuple(2 * length + 1 for length in cells.shape), cells.dtype)
        view = wide[tuple(slice(0, 2 * length, 2) for length in cells.shape)]
        view[...] = cells
        return view
    if layout == "reversed" and cells.ndim:
        every = tuple(slice(None, None, -1) for _ in cells.shape)
        return np.ascontiguousarray(cells[every])[every]
    if layout == "read-only":
        cells = np.array(cells)
        cells.flags.writeable = False
        return cells
    if layout == "offset" and cells.ndim:
        memory = np.zeros(cells.nbytes + 8, np.uint8)
        view = memory[4 : 4 + cells.nbytes].view(cells.dtype).reshape(cells.shape)
        view[...] = cells
        return view
    if layout == "repeated" and cells.ndim and cells.size:
        return np.broadcast_to(cells[:1], cells.shape)
    return np.array(cells)


@st.composite
def hosts(draw, dtypes=("float64",), shapes=shapes, values=SPECIAL):
    """NumPy's arrays of some dtype, shape and layout."""
    shape = draw(shapes) if isinstance(shapes, st.SearchStrategy) else shapes
    rng = np.random.default_rng(draw(seeds))
    cells = cells_of(rng, shape, draw(st.sampled_from(dtypes)), values)
    return laid_out(cells, draw(st.sampled_from(LAYOUTS)))


@st.composite
def broadcastable(draw, count=2, largest=2):
    """Shapes that go together."""
    shape = draw(st.lists(st.sampled_from((1, 2, 3, 5, 0)), max_size=largest))
    found = []
    for _ in range(count):
        lengths = [length if draw(st.integers(0, 3)) else 1 for length in shape]
        found.append(
            tuple(lengths[draw(st.integers(0, len(lengths))) :] if draw(st.booleans()) else lengths)
        )
    return found


# Deviations.

_ROWS = re.findall(
    r"^\| `([\w-]+)` \|", (Path(__file__).parent / "deviations.md").read_text(), flags=re.MULTILINE
)
DEVIATIONS = frozenset(_ROWS)
named = set()


def deviation(key):
    """A test allows a deviation that the page lists."""
    assert key in DEVIATIONS, f"deviations.md has no row {key!r}"
    named.add(key)
    return key


# Comparisons.


def alike(got, want, *, ulps=0, rtol=0.0, scale=None, signs=True):
    """Asserts that an array of ours is NumPy's: dtype, shape, cells, the signs of zeros.

    `ulps` are units in the last place that cells may differ by, `rtol` a part of them or of `scale`.
    """
    assert isinstance(got, fg.Array), f"{type(got)} is no array of ours"
    want = np.asarray(want)
    assert got.dtype == want.dtype, f"dtype {got.dtype}, not {want.dtype}"
    assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}"
    found = np.asarray(got)
    assert found.dtype == want.dtype and found.shape == want.shape
    if want.dtype.kind not in "fc":
        np.testing.assert_array_equal(found, want)
        return
    if want.dtype.kind == "c":
        np.testing.assert_allclose(found, want, rtol=max(rtol, 1e-12))
        return
    if want.ndim == 2 and np.count_nonzero(want) < 0.4 * want.size:
        deviation("sparse-zero")
        signs = False
    is_same = (found == want) | (np.isnan(found) & np.isnan(want))
    if signs:
        is_same &= (np.signbit(found) == np.signbit(want)) | np.isnan(want)
    if ulps or rtol:
        size = np.maximum(np.abs(found), np.abs(want)) if scale is None else np.asarray(scale)
        apart = np.abs(found - want)
        near = np.isfinite(found) & np.isfinite(want) & (want != 0)
        if rtol:
            near = np.isfinite(found) & np.isfinite(want)
        is_same |= near & ((apart <= ulps * np.spacing(size)) | (apart <= rtol * size))
    assert is_same.all(), (
        f"{int((~is_same).sum())} of {is_same.size} cells differ: "
        f"{found[~is_same][:5]!r} are not {want[~is_same][:5]!r}"
    )
