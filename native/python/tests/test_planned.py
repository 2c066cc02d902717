"""What is planned: with `fallback="error"` these functions of float64 in at most two dimensions do not run in NumPy."""

import fulgurite as fg
import numpy as np
import pytest

X = np.arange(1.0, 13.0).reshape(3, 4) / 8
S = np.array([[4.0, 1.0], [1.0, 3.0]])
V = np.array([0.5, -1.5, 2.0])

UNARY = """abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log10 log1p log2
    negative positive reciprocal round sign sin sinh sqrt square tan tanh trunc logical_not count_nonzero""".split()
BINARY = """add atan2 divide equal floor_divide greater greater_equal hypot less less_equal logaddexp maximum minimum
    multiply not_equal pow remainder subtract logical_and logical_or logical_xor""".split()
AGGREGATES = "sum prod mean var std max min any all argmax argmin count_nonzero".split()

EXPRESSIONS = """
x @ x.T
x @ x[0]
x[0] @ x.T
v @ v
x.T
x.mT
x[1:, ::-1]
x[0]
x[..., 1]
x[:, None, 0]
v[None, :] * v[:, None]
x > 0.5
(x > 0.5) & (x < 1.0)
~(x > 0.5)
(x > 0.5) == (x > 0.7)
fg.where(x > 0.5, x, 0.0)
fg.clip(x, 0.25, 1.0)
fg.sum(x > 0.5) / x.size
fg.mean(x > 0.5, axis=0)
fg.argmax(x, axis=1) == 3
fg.argmax(x, axis=1) < fg.argmin(x, axis=1)
fg.sqrt(fg.argmax(x, axis=1))
fg.cumulative_sum(x, axis=1)
fg.cumulative_prod(v)
fg.sort(v)
fg.argsort(v, descending=True)
fg.reshape(x, (4, 3))
fg.reshape(x, (-1,))
fg.concat([x, x])
fg.concat([v, v])
fg.stack([v, v], axis=1)
fg.flip(x)
fg.roll(x, 1, axis=0)
fg.roll(v, -1)
fg.diff(x, axis=0)
fg.unstack(x)
fg.expand_dims(v, axis=0)
fg.squeeze(x[:1], axis=0)
fg.permute_dims(x, (1, 0))
fg.moveaxis(x, 0, 1)
fg.broadcast_to(v, (2, 3))
fg.broadcast_arrays(v, fg.ones((2, 1)))
fg.meshgrid(v, v)
fg.tril(s)
fg.triu(s)
fg.tril(x, k=-1)
fg.triu(x, k=2)
fg.vecdot(x, x)
fg.tensordot(x, x.T, axes=1)
fg.matmul(x, x.T)
fg.linalg.solve(s, s)
fg.linalg.inv(s)
fg.linalg.cholesky(s)
fg.linalg.outer(v, v)
fg.linalg.trace(s)
fg.linalg.diagonal(s)
fg.linalg.vector_norm(x, axis=0)
fg.linalg.vector_norm(x, ord=1)
fg.linalg.matrix_norm(x)
fg.linalg.matrix_power(s, 5)
fg.zeros((2, 3)) + fg.ones(3) * fg.full((2, 1), 2.0) + fg.eye(2, 3) + fg.zeros_like(x[:2, :3])
fg.arange(4.0) + fg.linspace(0, 1, 4)
fg.astype(x > 0.5, fg.float64)
fg.astype(x, fg.bool)
np.exp(x)
np.sum(x, axis=0)
np.concatenate([x, x])
np.where(x > 0.5, x, 0.0)
np.dot(x, x.T)
np.linalg.norm(v)
""".strip().splitlines()


@pytest.fixture(autouse=True)
def strict():
    with fg.config(fallback="error"):
        yield


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    np.asarray(getattr(fg, name)(fg.asarray(X)))


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    x = fg.asarray(X)
    for right in (x, x[0], x[:, :1], 0.5, fg.asarray(0.5)):
        np.asarray(getattr(fg, name)(x, right))
        np.asarray(getattr(fg, name)(right, x))


@pytest.mark.parametrize("name", AGGREGATES)
def test_aggregates(name):
    for axis in (None, 0, 1):
        np.asarray(getattr(fg, name)(fg.asarray(X), axis=axis))


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_expressions(text):
    names = {"fg": fg, "np": np, "x": fg.asarray(X), "s": fg.asarray(S), "v": fg.asarray(V)}
    result = eval(text, names)
    for each in result if isinstance(result, tuple) else (result,):
        assert isinstance(each, fg.Array)
        np.asarray(each)


@pytest.mark.parametrize(
    "text",
    [
        "i + 1",
        "fg.zeros((2, 2, 2)) + 1",
        "fg.nonzero(x)",
        "fg.linalg.svd(x)",
        "x[x > 0.5]",
        "fg.fft.fft(v)",
    ],
)
def test_what_is_refused(text):
    names = {
        "fg": fg,
        "x": fg.asarray(X),
        "v": fg.asarray(V),
        "i": fg.asarray(np.arange(3, dtype=np.int8)),
    }
    with pytest.raises(fg.FallbackError, match="would run in NumPy"):
        eval(text, names)


def test_fallbacks_are_listed():
    with fg.config(fallback="numpy"):
        fg.fallbacks(reset=True)
        for _ in range(3):
            fg.asarray([1, 2]) + 1
        (row,) = fg.fallbacks(reset=True)
    assert (row.function, row.count) == ("add", 3) and "test_planned.py:" in row.place
    assert fg.fallbacks() == []


def test_cells_that_numpy_has_are_looked_up():
    """Nothing is computed, so nothing is refused."""
    whole = fg.asarray(np.arange(24).reshape(2, 3, 4))
    assert int(whole[1, 2, 3]) == 23 and whole[0, ..., ::2].shape == (3, 2)
    assert fg.asarray([3, 1])[fg.asarray([True, False])].tolist() == [3]
    assert fg.astype(whole, fg.float64).dtype == fg.float64
    assert fg.fallbacks() == []


def test_arrays_without_cells_have_nothing_to_compute():
    empty = fg.asarray(np.zeros((0, 3)))
    assert (empty + 1.0).shape == (0, 3) and float(fg.sum(empty)) == 0.0
    assert fg.exp(empty).dtype == np.float64 and (empty == empty).dtype == np.bool_
    assert fg.concat([empty, empty]).shape == (0, 3) and (empty.T @ empty).tolist() == np.zeros((3, 3)).tolist()
    assert fg.fallbacks() == []


def test_choices_of_whole_numbers():
    condition = fg.asarray(np.array([0.2, 0.7, 0.9])) > 0.5
    chosen = fg.where(condition, 1, 0)
    assert chosen.dtype == np.int64 and chosen.tolist() == [0, 1, 1]
    with pytest.raises(fg.FallbackError):
        fg.where(condition, 2**60 + 1, 0)
    with fg.config(fallback="numpy"):
        assert fg.where(condition, 2**60 + 1, 0).tolist() == [0, 2**60 + 1, 2**60 + 1]


def test_whole_numbers_meet_floats_and_are_compared():
    labels = np.array([0, 2, 1, 2, -5])
    weights = np.array([0.5, 1.5, -2.0, 0.25, 3.0])
    y, w = fg.asarray(labels), fg.asarray(weights)
    fg.fallbacks(reset=True)
    assert y.dtype == np.int64
    for ours, theirs in [
        (y == 2, labels == 2),
        (y[:, None] == fg.arange(3), labels[:, None] == np.arange(3)),
        (w - y, weights - labels),
        (y * 0.5, labels * 0.5),
        (y / 2, labels / 2),
        (w > y, weights > labels),
        (fg.where(y > 0, y, -1), np.where(labels > 0, labels, -1)),
        (fg.sum(fg.where(y == 2, w, 0.0)), np.sum(weights[labels == 2])),
    ]:
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(np.asarray(ours), theirs)
    assert fg.fallbacks() == []


@pytest.mark.parametrize("far", [2**53 + 1, -(2**53) - 1])
def test_whole_numbers_that_no_float_has_stay_whole(far):
    y = fg.asarray(np.array([far, 1]))
    with pytest.raises(fg.FallbackError):
        y == far - 1
    with fg.config(fallback="numpy"):
        assert (y == far - 1).tolist() == [False, False]
        assert y.tolist() == [far, 1]


def test_a_column_and_a_row_are_combined_without_a_matrix_of_either():
    a, b = np.linspace(-1, 1, 700), np.linspace(0, 1, 900)
    x, y = fg.asarray(a), fg.asarray(b)
    density = fg.sum(fg.exp(-((x[:, None] - y) ** 2)), axis=1)
    plan = fg.explain(density, level="cplan")
    assert plan.count("fused(") == 1 and "Row(main, column, row" in plan
    np.testing.assert_allclose(np.asarray(density), np.sum(np.exp(-((a[:, None] - b) ** 2)), axis=1), rtol=1e-12)
    for combined in (lambda p, q: p[:, None] / q, lambda p, q: p - q[:, None], lambda p, q: (p[:, None] > q) & (q < p[:, None])):
        np.testing.assert_array_equal(np.asarray(combined(x, y[:700])), combined(a, b[:700]))
