"""Scripts of DML, files and random numbers."""

import subprocess
import sys

import fulgurite as fg
import numpy as np
import pytest
from scipy import sparse

X = np.arange(6.0).reshape(3, 2)


def test_inputs_and_outputs_of_all_kinds():
    script = """
    s = sum(X) * k + ncol(X)
    B = X > 2
    v = rowSums(X) + w
    yes = flag & k > 1
    text = "k is " + name
    """
    inputs = {"X": X, "k": 2.5, "w": [1.0, 2.0, 3.0], "flag": True, "name": "two"}
    s, b, v, yes, text = fg.run(script, inputs=inputs, outputs=["s", "B", "v", "yes", "text"])
    assert (s, yes, text) == (15 * 2.5 + 2, True, "k is two")
    assert b.tolist() == (X > 2).astype(float).tolist()
    assert v.tolist() == [[2.0], [7.0], [12.0]]


def test_inputs_may_be_waiting_transposed_sparse_or_whole_numbers():
    waiting = fg.asarray(X).T + 1.0
    rows = sparse.csr_array(np.eye(3))
    script = "R = A %*% S; n = sum(I); v = t(r)"
    inputs = {
        "A": waiting,
        "S": rows,
        "I": np.arange(4),
        "r": fg.sum(fg.asarray(X), axis=0),
    }
    r, n, v = fg.run(script, inputs=inputs, outputs=["R", "n", "v"])
    assert r.tolist() == (X.T + 1.0).tolist() and n == 6.0
    assert v.tolist() == [X.sum(axis=0).tolist()]


def test_sparse_results_stay_so():
    given = fg.run(
        "Y = X * 2",
        inputs={"X": sparse.random(50, 40, 0.05, format="csr")},
        outputs="Y",
    )
    assert sparse.issparse(fg.compute(given))


def test_lines_are_printed_and_arguments_taken(capsys, tmp_path):
    path = tmp_path / "script.dml"
    path.write_text('print("n is " + $n); print($flag)')
    fg.run(path, arguments={"n": 3, "flag": False})
    fg.run(str(path), arguments={"n": "three", "flag": True})
    assert capsys.readouterr().out.split("\n") == [
        "n is 3",
        "FALSE",
        "n is three",
        "TRUE",
        "",
    ]


@pytest.mark.parametrize(
    "script, error, text",
    [
        ("x = ", ValueError, "syntax"),
        ("x = y", ValueError, "script.dml:1"),
        ("print(sum(X %*% X))", fg.ShapeError, "script.dml:1"),
        ('stop("enough")', fg.FulguriteError, "enough"),
        ('print(sum(read("/nowhere/x.csv")))', OSError, "/nowhere"),
    ],
)
def test_errors_of_scripts(script, error, text):
    with pytest.raises(error, match=text):
        fg.run(script, inputs={"X": X}, outputs=[])


@pytest.mark.parametrize("bad", [np.ones((2, 2, 2)), np.ones((0, 3)), np.array([1j])])
def test_inputs_that_are_no_matrices(bad):
    with pytest.raises(ValueError, match="'X' is no matrix"):
        fg.run("s = sum(X)", inputs={"X": bad}, outputs=["s"])


def test_files(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n1;2\n3;4\n")
    read = fg.read(path, format="csv", header=True, sep=";")
    assert read.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    with pytest.raises(OSError):
        fg.read(tmp_path / "none.csv")


def test_random_numbers_follow_their_seed():
    one, same, other = (fg.rand(40, 30, seed=seed) for seed in (1, 1, 2))
    assert (np.asarray(one) == np.asarray(same)).all() and (
        np.asarray(one) != np.asarray(other)
    ).any()
    assert fg.rand((4,)).shape == (4,) and fg.rand(3).shape == (3,)
    low = np.asarray(fg.rand(1000, low=-2.0, high=-1.0, seed=3))
    assert low.min() >= -2.0 and low.max() <= -1.0
    assert abs(np.asarray(fg.randn(10000, seed=4)).std() - 1.0) < 0.05
    assert 0.1 < np.mean(np.asarray(fg.rand(100, 100, density=0.2, seed=5)) != 0) < 0.3
    assert (np.asarray(fg.rand(5)) != np.asarray(fg.rand(5))).any()
    for shape in ((), (0,), (2, 3, 4)):
        with pytest.raises(ValueError):
            fg.rand(*shape)
    with pytest.raises(TypeError):
        fg.rand(2.5)


def test_a_forked_process_runs_no_scripts():
    script = """
import os
import fulgurite as fg
fg.run("s = sum(rand(rows=1000, cols=1000))", outputs=["s"])
child = os.fork()
if child == 0:
    try:
        fg.run("s = sum(rand(rows=1000, cols=1000))", outputs=["s"])
    except fg.FulguriteError as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=60)


_TWICE = "Y = X * 2\nif (sum(Y) > 1e9) {print('')}\nZ = Y + 1\n"
_CALL = """
f = function(matrix[double] A) return (matrix[double] B) {
  B = A + 1
  if (sum(B) > 1e9) {print('')}
  B = B * A
}
Z = f(X)
"""


@pytest.mark.parametrize(
    ("script", "too_small", "enough"),
    [
        ("Z = sum(X * 2 + X)", None, "10k"),
        ("Z = X * 2", "700k", "900k"),
        (_TWICE, "1m", "2m"),
        (_CALL, "1m", "2m"),
        # What lists hold, and variables that wait for a function that is called by its name.
        (
            "l = list()\nfor (i in 1:4) { l = append(l, X * i) }\nZ = as.matrix(l[1]) * 2",
            "2m",
            "6m",
        ),
        (
            "f = function(matrix[double] A) return (matrix[double] B) { B = A * 2 }\nY = X + 1\nif (sum(Y) > 1e9) {print('')}\n"
            "Z = eval('f', X)\nZ = Z + Y",
            "1m",
            "4m",
        ),
        (
            "n = 1\nwhile (n < 4) { Z = matrix(n, n * 50000, 1)\n n = n + 1 }",
            "1500k",
            "3m",
        ),
        (
            "Z = matrix(0, 1000, 100)\nparfor (i in 1:100) { Z[, i] = X[, i] * 2 }",
            "500k",
            "3m",
        ),
    ],
)
def test_scripts_keep_to_the_memory_of_the_configuration(script, too_small, enough):
    inputs = {"X": np.arange(1e5).reshape(1000, 100) / 1e5}
    expected = fg.run(script, inputs=inputs, outputs=["Z"])
    with fg.config(memory=enough):
        got = fg.run(script, inputs=inputs, outputs=["Z"])
    np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))
    if too_small:
        with (
            fg.config(memory=too_small),
            pytest.raises(fg.MemoryLimitError, match="memory="),
        ):
            fg.run(script, inputs=inputs, outputs=["Z"])


def test_scripts_of_a_folder_are_functions(tmp_path):
    (tmp_path / "doubled.dml").write_text(
        "m_doubled = function(Matrix[Double] X, Double by = 2.0) return (Matrix[Double] Y) { Y = X * by }"
    )
    call = "Y = doubled(X); Z = eval('doubled', list(X=X, by=3))"
    Y, Z = fg.run(call, inputs={"X": [[1.0, 2.0]]}, outputs=["Y", "Z"], builtins=tmp_path)
    assert Y.tolist() == [[2.0, 4.0]]
    assert Z.tolist() == [[3.0, 6.0]]
    with pytest.raises(fg.FulguriteError, match="unknown function 'tripled'") as raised:
        fg.run("Y = tripled(X)", inputs={"X": [[1.0]]}, outputs=["Y"], builtins=[tmp_path])
    assert str(tmp_path) in str(raised.value)


def test_lists_are_lists_or_dicts():
    text = """
        named = list(a=3, b="text", X=matrix("1 2", 1, 2), inner=list(TRUE, 2.5), F=as.frame("x"))
        bare = list(1, matrix(2, 2, 2))
        mixed = list(a=1, 2)
        empty = list()
        """
    named, bare, mixed, empty = fg.run(text, outputs=["named", "bare", "mixed", "empty"])
    assert list(named) == ["a", "b", "X", "inner", "F"]
    assert (named["a"], named["b"], named["inner"]) == (3, "text", [True, 2.5])
    np.testing.assert_array_equal(np.asarray(named["X"]), [[1.0, 2.0]])
    assert isinstance(named["F"], fg.Frame) and named["F"].to_dict() == {"C1": ["x"]}
    assert bare[0] == 1 and float(fg.sum(bare[1])) == 8.0
    assert (mixed, empty) == ([1, 2], [])


def test_examples_are_functions():
    X = np.linspace(-1, 1, 40).reshape(20, 2) ** 2
    fit = fg.run(
        "B = linreg_ds(X, y, icpt=1, reg=1e-9); fit = list(B=B, P=linreg_predict(X, B))",
        inputs={"X": X, "y": (X @ [1.0, 2.0] + 3.0)[:, None]},
        outputs="fit",
        builtins="examples",
    )
    np.testing.assert_allclose(np.asarray(fit["P"])[:, 0], X @ [1.0, 2.0] + 3.0, atol=1e-5)
