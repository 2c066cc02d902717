"""Functions that are traced: what is one plan, what is traced again, what runs as it is."""

import warnings

import fulgurite as fg
import numpy as np
import pytest

X = np.arange(12.0).reshape(4, 3)


def counted(function):
    """A fused function, and how often it was called."""
    calls = []

    @fg.fuse
    def fused(*args, **kwargs):
        calls.append(1)
        return function(*args, **kwargs)

    return fused, calls


def test_one_structure_is_traced_once_for_all_values():
    fused, calls = counted(lambda x, y, k: fg.sum(fg.exp(x - y) * k))
    before = fg.statistics()["programs"]
    for k in (1.0, -2.5, 3.0, 4.0, 5.0, 6.0, 7.0):
        x, y = X + k, X * 0.5
        result = float(fused(fg.asarray(x), fg.asarray(y), k))
        assert result == pytest.approx(float(np.sum(np.exp(x - y) * k)), rel=1e-14)
    assert len(calls) == 1
    assert fg.statistics()["programs"] == before + 1


def test_whole_numbers_are_arguments():
    fused, calls = counted(lambda x, n: x * n + n)
    assert [fused(fg.asarray([1.0, 2.0]), n).tolist() for n in (2, 3)] == [[4.0, 6.0], [6.0, 9.0]]
    assert len(calls) == 1


def test_shapes_types_and_other_values_are_traced_again():
    fused, calls = counted(lambda x, name: x + 1 if name == "up" else x - 1)
    ones = fg.ones((2, 3))
    assert fused(ones, "up").tolist() == [[2.0] * 3] * 2
    assert fused(ones, "down").tolist() == [[0.0] * 3] * 2
    assert fused(fg.ones((3, 2)), "up").shape == (3, 2)
    assert fused(fg.ones(3), "up").tolist() == [2.0] * 3
    assert len(calls) == 4
    fused(ones * 5, "down")
    assert len(calls) == 4


def test_arguments_and_results_lie_in_tuples_and_dicts():
    fused, calls = counted(lambda pair, *, more: {"a": (pair[0] + pair[1], more["k"]), "b": [pair[0]]})
    for shift in (0.0, 10.0):
        x, y = fg.asarray(X + shift), fg.asarray(X)
        given = fused((x, y), more={"k": 2.0})
        assert given["a"][0].tolist() == (X + shift + X).tolist()
        assert float(given["a"][1]) == 2.0 and given["b"][0].tolist() == (X + shift).tolist()
    assert len(calls) == 1


def test_two_arguments_that_were_one_array_are_two():
    fused, _ = counted(lambda x, y: x - y)
    x = fg.asarray(X)
    assert not np.asarray(fused(x, x)).any()
    assert np.asarray(fused(x, fg.zeros((4, 3)))).tolist() == X.tolist()


def test_what_looks_at_values_runs_at_each_call_and_says_so():
    fused, calls = counted(lambda x: x + 1 if float(fg.sum(x)) > 0 else x - 1)
    with pytest.warns(UserWarning, match="test_fuse.py.*looks at a value"):
        assert fused(fg.ones(2)).tolist() == [2.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fused(fg.ones(2) * -1).tolist() == [-2.0, -2.0]
    assert len(calls) == 2


def test_a_long_loop_in_a_trace_is_no_constant():
    def many(x):
        for _ in range(300):
            x = x * 0.5 + 1.0
        return x

    fused, calls = counted(many)
    for start in (0.0, 1e80):
        assert fused(fg.asarray([start])).tolist() == pytest.approx(many(np.array([start])).tolist())
    assert len(calls) == 1


def test_callers_do_not_see_what_is_assigned_to_arguments():
    def change(x):
        x[0] = 99.0
        return x

    x = fg.asarray([1.0, 2.0])
    fused = fg.fuse(change)
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert fused(x).tolist() == [99.0, 2.0]
        assert x.tolist() == [1.0, 2.0]


def test_arrays_that_the_engine_has_not_run_in_numpy_and_are_listed():
    fg.fallbacks(reset=True)
    fused = fg.fuse(lambda x: x + 1)
    assert fused(fg.asarray([1, 2], dtype=np.int32)).tolist() == [2, 3]
    assert fused(fg.asarray(np.ones((2, 2, 2)))).shape == (2, 2, 2)
    assert any("an argument of dtype int32" in each.reason for each in fg.fallbacks())
    with fg.config(fallback="error"), pytest.raises(fg.FallbackError):
        fused(fg.asarray([1, 2]))


def test_each_configuration_has_traces_of_its_own():
    fused, calls = counted(lambda x: fg.sum(x * 1.0 + 0.0))
    assert float(fused(fg.ones(3))) == 3.0
    with fg.config(threads=1, entries={"fulgurite.rewrites.off": "zero-summand"}):
        assert float(fused(fg.ones(3))) == 3.0
    assert len(calls) == 2


def test_errors_name_the_line_of_the_function():
    fused = fg.fuse(lambda a, b: fg.linalg.solve(a, b))
    assert fused(fg.eye(2), fg.ones(2)).tolist() == [1.0, 1.0]
    with pytest.raises(np.linalg.LinAlgError, match="test_fuse.py"):
        fused(fg.zeros((2, 2)), fg.ones(2))


def test_methods_and_sparse_matrices():
    from scipy import sparse

    class Model:
        @fg.fuse
        def scores(self, x, w):
            return x @ w

    x = sparse.random(20, 5, 0.3, format="csr", random_state=1)
    model, w = Model(), fg.asarray(np.arange(5.0))
    for scale in (1.0, 2.0):
        found = model.scores(fg.asarray(x * scale), w)
        np.testing.assert_allclose(np.asarray(found), (x * scale) @ np.arange(5.0))
