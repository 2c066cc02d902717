"""Code that was written for NumPy finds its names."""

import fulgurite as fg
import numpy as np
import pytest

X = np.arange(12.0).reshape(4, 3)
V = np.array([1.0, -2.0, 0.5])

PLANNED = {
    "dot": lambda xp, x, v: xp.dot(x, v),
    "concatenate": lambda xp, x, v: xp.concatenate([x, x], 1),
    "vstack": lambda xp, x, v: xp.vstack([x, v]),
    "cumsum": lambda xp, x, v: xp.cumsum(v),
    "sum": lambda xp, x, v: xp.sum(x, 0) + xp.mean(x, 0),
    "arctan2": lambda xp, x, v: xp.arctan2(x, v),
    "ones_like": lambda xp, x, v: xp.ones_like(x) + xp.array(V, np.float64),
}
OF_NUMPY = {
    "einsum": lambda xp, x, v: xp.einsum("ij,j->i", x, v),
    "median": lambda xp, x, v: xp.median(x, axis=0),
    "nan_to_num": lambda xp, x, v: xp.nan_to_num(x / 0.0),
}


@pytest.mark.parametrize("name", [*PLANNED, *OF_NUMPY])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions_give_what_numpy_gives(name):
    function = {**PLANNED, **OF_NUMPY}[name]
    fg.fallbacks(reset=True)
    result = function(fg, fg.asarray(X), fg.asarray(V))
    assert type(result) is fg.Array
    assert bool(fg.fallbacks()) == (name in OF_NUMPY)
    np.testing.assert_allclose(np.asarray(result), function(np, X, V), rtol=1e-14)


def test_arrays_of_numpy_become_ours():
    fg.fallbacks(reset=True)
    joined = fg.hstack([V, V])
    assert type(joined) is fg.Array and not fg.fallbacks()
    assert np.asarray(joined).tolist() == [*V, *V]


def test_what_is_no_function_is_not_there():
    for name in ("nothing", "ndarray", "float16", "random", "_globals"):
        with pytest.raises(AttributeError, match=name):
            getattr(fg, name)
    assert fg.euler_gamma == np.euler_gamma
