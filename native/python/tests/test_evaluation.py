"""Evaluations: what is computed, kept and compiled, what ends them, what they may take, and what they say."""

import os
import subprocess
import sys
import threading

import fulgurite as fg
import numpy as np
import pytest

X = np.random.default_rng(1).random((200, 30))


def counts():
    return fg.statistics()


def test_nothing_is_computed_before_somebody_looks_and_nothing_twice():
    x = fg.asarray(X)
    before = counts()["evaluations"]
    y = fg.exp(x) + 1
    total = fg.sum(y)
    assert counts()["evaluations"] == before
    found, cells = fg.compute(total, y)
    assert counts()["evaluations"] == before + 1
    np.testing.assert_allclose(found, np.sum(np.exp(X) + 1))
    np.testing.assert_allclose(cells, np.exp(X) + 1)
    fg.compute(total, y), float(total), y.tolist()
    assert counts()["evaluations"] == before + 1


def test_one_structure_is_one_program_whatever_values_and_sizes():
    def ask(x, factor):
        return float(fg.sum(fg.asarray(x) * factor))

    ask(X, 2.0)
    before = counts()["programs"]
    for rows in (200, 150, 3):
        assert ask(X[:rows], 2.0) == pytest.approx(X[:rows].sum() * 2.0)
    assert counts()["programs"] == before
    for factor in range(3, 40):
        assert ask(X, float(factor)) == pytest.approx(X.sum() * factor)
    # A number is a literal in the first ones, and a variable of the last.
    assert counts()["programs"] <= before + 4


def test_a_loop_that_looks_at_a_value_each_time_does_not_compute_all_again():
    w, x = fg.zeros(30), fg.asarray(X)
    programs = []
    for _ in range(12):
        w = w - 0.01 * (x.T @ (x @ w - 1.0)) / 200
        float(fg.sum(w))
        programs.append(counts()["programs"])
    assert len(set(programs[4:])) == 1
    expected = np.zeros(30)
    for _ in range(12):
        expected = expected - 0.01 * (X.T @ (X @ expected - 1.0)) / 200
    np.testing.assert_allclose(np.asarray(w), expected, rtol=1e-12)


def test_arrays_in_fortran_order_are_never_copied():
    source = np.asfortranarray(np.random.default_rng(2).random((300, 200)))
    x = fg.asarray(source)
    for turn in range(4):
        np.testing.assert_allclose(float(fg.sum(x * (turn + 1.5))), source.sum() * (turn + 1.5))
    assert not x._node.is_value


def test_what_light_operators_compute_of_one_large_array_is_not_kept():
    """Its readers read what it is computed from: that takes as long as reading it would."""
    x = fg.asarray(np.random.default_rng(3).random((700, 100)))
    centred = x - fg.mean(x, axis=0)
    for _ in range(3):
        assert float(fg.sum(centred * centred)) > 0 and not centred._node.is_value
    # What takes a processor longer, and what many of them compute, is.
    for many in (fg.exp(x), ((((x * 2.0 + 1.0) * 3.0 - x) * 5.0) - 7.0)):
        assert float(fg.sum(many)) > 0 and not many._node.is_value
        assert float(fg.max(many)) > 0 and many._node.is_value


def test_what_is_used_a_second_time_is_kept():
    x = fg.asarray(X)
    y = fg.exp(x)
    assert float(fg.sum(y)) > 0 and not y._node.is_value
    assert float(fg.max(y)) > 0 and y._node.is_value


def test_what_does_not_fit_is_refused_before_it_is_there():
    x = fg.asarray(np.ones((1000, 10)))
    wide = x @ fg.ones((10, 1000))
    with fg.config(memory="1m"):
        with pytest.raises(fg.MemoryLimitError, match="config"):
            np.asarray(wide)
        # The sums alone fit: a fused operator stores no more.
        assert float(fg.sum(x * 2.0)) == 20000.0
    assert isinstance(fg.MemoryLimitError("none"), MemoryError)
    assert np.asarray(wide)[0, 0] == 10.0


@pytest.mark.parametrize(
    "bad",
    [
        {"memory": 0},
        {"memory": "much"},
        {"memory": True},
        {"threads": 0},
        {"threads": "two"},
        {"fallback": "maybe"},
        {"entries": {"fulgurite.no": 1}},
    ],
)
def test_settings_that_there_are_not(bad):
    before = repr(fg.config())
    with pytest.raises(ValueError):
        fg.config(**bad)
    assert repr(fg.config()) == before


@pytest.mark.parametrize(
    "text, size", [("2g", 2 << 30), ("1.5k", 1536), ("7mb", 7 << 20), ("9", 9)]
)
def test_sizes_of_memory(text, size):
    from fulgurite import _engine

    with fg.config(memory=text):
        assert _engine.settings().memory == size


def test_settings_hold_for_their_context_alone():
    seen = []
    with fg.config(fallback="error"):
        other = threading.Thread(target=lambda: seen.append(fg.copysign(fg.ones(1), -1.0).tolist()))
        other.start()
        other.join()
        with pytest.raises(fg.FallbackError, match="copysign"):
            fg.copysign(fg.ones(1), -1.0)
    assert seen == [[-1.0]]


def test_threads_evaluate_at_the_same_time():
    x = fg.asarray(X)
    shared = fg.sum(fg.exp(x @ x.T))
    expected = np.sum(np.exp(X @ X.T))
    found, errors = [], []

    def work(number):
        try:
            for turn in range(20):
                own = fg.sum(x * float(number * 100 + turn))
                assert float(own) == pytest.approx(X.sum() * (number * 100 + turn))
            found.append(float(shared))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    np.testing.assert_allclose(found, [expected] * 4)


def test_errors_name_the_lines_of_python():
    with pytest.raises(ValueError, match=r"(?s)do not broadcast.*test_evaluation.py:\d+") as raised:
        fg.ones((3, 4)) + fg.ones((3, 5))
    assert raised.value.kind == "dimension" and raised.value.line > 0
    for scale in (1.0, 0.0):
        system = fg.linalg.solve(fg.eye(2) * scale, fg.ones(2))
        if scale:
            assert system.tolist() == [1.0, 1.0]
        else:
            with pytest.raises(np.linalg.LinAlgError, match=r"test_evaluation.py:\d+"):
                system.tolist()


def test_plans_can_be_looked_at():
    x = fg.asarray(X)
    y = fg.sum(fg.exp(x) * 2.0)
    text = fg.explain(y)
    assert "fused(0)" in text and "test_evaluation.py" in text
    assert fg.explain(y, format="json").lstrip().startswith("{")
    assert "ua(+)" in fg.why(y, operators="ua(+)")
    assert "<svg" in y._repr_html_()
    float(y)
    assert "<pre>" in y._repr_html_() and "<svg" not in y._repr_html_()
    with pytest.raises(TypeError):
        fg.explain(3.0)
    with pytest.raises(ValueError):
        fg.explain(fg.sum(x), level="nothing")


def test_progress_is_shown_where_it_is_asked_for(capsys):
    from fulgurite._progress import line

    shown = line(type("Settings", (), {"progress": True}))
    shown(0.5, 0, 3, 0, 100, 0.2)
    assert not capsys.readouterr().err
    shown(2.0, 1, 3, 250000, 1000000, 0.25)
    text = "fulgurite: 2.0 s, 1 of 3 operators done, 250,000 of 1,000,000 rows of the next one, about 6.0 s left"
    assert capsys.readouterr().err.strip() == text
    shown(200.0, 7, None, 0, 0, None)
    assert capsys.readouterr().err.strip() == "fulgurite: 3 min, 7 operators done"
    lines = []
    shown.between(lines.append)("printed")
    assert lines == ["printed"] and capsys.readouterr().err.endswith("\r")
    shown.close()
    assert not capsys.readouterr().err
    assert line(type("Settings", (), {"progress": False})) is None
    assert line(type("Settings", (), {"progress": None})) is None


@pytest.mark.parametrize("is_script", [False, True])
def test_long_evaluations_tell_how_far_they_are(monkeypatch, is_script):
    from fulgurite import _progress

    told = []
    monkeypatch.setattr(_progress._Line, "__call__", lambda _, *what: told.append(what))
    rows = 3_000_000
    x = fg.asarray(np.random.default_rng(0).standard_normal((rows, 4)))
    with fg.config(progress=True, threads=2):
        # One may be through before anybody looks.
        for _ in range(20):
            if is_script:
                script = "y = rowSums(atan(sin(X)))\nz = order(target=y)"
                fg.run(script, inputs={"X": x}, outputs=["z"])
            else:
                fg.compute(fg.sort(fg.sum(fg.atan(fg.sin(x)), axis=1)))
            if any(of_rows == rows for *_, of_rows, _ in told):
                break
    assert any(of_rows == rows for *_, of_rows, _ in told)
    for seconds, operators, of, done, of_rows, share in told:
        assert seconds > 0 and operators >= 0 and 0 <= done <= of_rows
        if is_script:
            assert of is None and share is None
        elif share is not None:
            assert of >= 2 and 0.0 <= share <= 1.0


def test_a_forked_process_says_what_it_cannot_do():
    script = """
import os, sys
import fulgurite as fg
float(fg.sum(fg.ones(3)))
child = os.fork()
if child == 0:
    try:
        float(fg.sum(fg.ones(4)))
    except fg.FulguriteError as error:
        os._exit(7 if "forked" in str(error) else 1)
    os._exit(2)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
print(float(fg.sum(fg.ones(5))))
"""
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.stdout == "5.0\n", ran.stderr


def test_small_arrays_are_shared_where_that_is_asked_for():
    source = np.ones(4)
    shared, copied = fg.asarray(source, copy=False), fg.asarray(source)
    source[0] = 5.0
    assert float(fg.sum(shared)) == 8.0 and float(fg.sum(copied)) == 4.0


def test_what_a_function_of_numpy_reads_is_kept_with_what_it_was_made_of():
    x = fg.asarray(np.random.default_rng(0).standard_normal((30, 20)))
    similar = x @ x.T
    places = np.argpartition(-similar, 3, axis=1)
    before = fg.statistics()["evaluations"]
    similar_cells = np.asarray(similar)
    assert fg.statistics()["evaluations"] == before
    # NumPy has whole numbers that the engine has not read: no cell of them is converted.
    few = places[:, :3]
    assert few.dtype == np.int64 and few.shape == (30, 3)
    assert fg.statistics()["evaluations"] == before
    expected = np.argpartition(-similar_cells, 3, axis=1)[:, :3]
    np.testing.assert_array_equal(np.asarray(few), expected)
