"""The page of deviations lists what the tests allow, and nothing else; the standard's own cases."""

import re
from pathlib import Path

import fulgurite as fg
import numpy as np
import pytest
from helpers import DEVIATIONS, deviation

FOLDER = Path(__file__).parent


def test_every_row_is_named_by_a_test():
    named = set()
    for path in FOLDER.glob("*.py"):
        named |= set(re.findall(r"deviation\(\"([\w-]+)\"\)", path.read_text()))
    assert named == DEVIATIONS


def test_extremes_of_zeros():
    deviation("extreme-zero")
    assert float(fg.max(fg.maximum(fg.asarray([0.0]), fg.asarray([-0.0])))) == 0.0


def test_infinite_operands_of_floor_division():
    deviation("floor-of-infinity")
    for dtype in (fg.float64, fg.float32):
        left = fg.asarray([np.inf, -np.inf, 1.0, -1.0, np.inf], dtype=dtype)
        right = fg.asarray([2.0, 2.0, -np.inf, np.inf, np.inf], dtype=dtype)
        found = np.asarray(left // right)
        np.testing.assert_array_equal(found, [np.inf, -np.inf, -0.0, -0.0, np.nan])
        assert np.signbit(found[2:4]).all() and found.dtype == dtype


def test_planned_functions_do_not_warn():
    deviation("warnings")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.asarray(fg.log(fg.asarray([-1.0, 0.0])) / 0.0)


def test_complex_functions_are_numpys():
    deviation("complex-special")
    cells = np.array([complex(np.inf, 0.0), complex(0.0, -0.0), complex(np.inf, 1.0)])
    for name in ("expm1", "tanh"):
        np.testing.assert_array_equal(
            np.asarray(getattr(fg, name)(fg.asarray(cells))), getattr(np, name)(cells)
        )


def test_indexes():
    deviation("signed-indexes")
    x = fg.asarray([3.0, 1.0, 0.0])
    assert fg.argsort(x).dtype == fg.argmax(x).dtype == fg.nonzero(x)[0].dtype == fg.int64


# The standard's special cases of functions that are composed.
CASES = [
    ("pow", 1.0, np.nan, 1.0),
    ("pow", -1.0, np.inf, 1.0),
    ("pow", -1.0, -np.inf, 1.0),
    ("pow", np.nan, 0.0, 1.0),
    ("pow", -0.0, -3.0, -np.inf),
    ("pow", -0.0, 3.0, -0.0),
    ("pow", -2.0, 0.3, np.nan),
    ("remainder", -0.0, 2.0, 0.0),
    ("remainder", 0.0, -2.0, -0.0),
    ("remainder", -4.0, 2.0, 0.0),
    ("remainder", 4.0, -2.0, -0.0),
    ("remainder", 1.0, np.inf, 1.0),
    ("remainder", -1.0, np.inf, np.inf),
    ("remainder", 1.0, 0.0, np.nan),
    ("floor_divide", 1.0, 0.1, 9.0),
    ("floor_divide", 0.0, -2.0, -0.0),
    ("floor_divide", -0.0, 0.0, np.nan),
    ("floor_divide", 1.0, -0.0, -np.inf),
    ("atan2", 0.0, -0.0, np.pi),
    ("atan2", -0.0, -0.0, -np.pi),
    ("atan2", -0.0, 0.0, -0.0),
    ("atan2", np.inf, -np.inf, 3 * np.pi / 4),
    ("atan2", 1.0, -np.inf, np.pi),
    ("hypot", np.nan, np.inf, np.inf),
    ("hypot", 1e200, 1e200, 1.414213562373095e200),
    ("hypot", 5e-324, 0.0, 5e-324),
    ("logaddexp", -np.inf, -np.inf, -np.inf),
    ("logaddexp", np.inf, -np.inf, np.inf),
    ("add", -0.0, 0.0, 0.0),
    ("subtract", -0.0, -0.0, 0.0),
]


@pytest.mark.parametrize(("name", "left", "right", "want"), CASES)
def test_special_cases(name, left, right, want):
    function = getattr(fg, name)
    for a, b in (
        (fg.asarray(left), fg.asarray(right)),
        (fg.asarray([left, left]), fg.asarray([right, right])),
        (fg.asarray([left]), right),
        (left, fg.asarray([right])),
        (fg.asarray([[left, 1.0]]), fg.asarray([[right], [2.0]])),
    ):
        found = np.asarray(function(a, b)).ravel()[0]
        assert (
            found == want
            or (np.isnan(found) and np.isnan(want))
            or np.isclose(found, want, rtol=1e-15)
        )
        if want == 0:
            assert np.signbit(found) == np.signbit(want)
