"""The examples with tables and the programs of `ci/bench --frames`, at small sizes, give what pandas and Polars give."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fulgurite as fg

for needed in ("pandas", "polars", "pyarrow", "scipy"):
    pytest.importorskip(needed)

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "weld"

# What the programs import.
sys.path[:0] = [str(ROOT / "ci")]

import bench_frames  # noqa: E402
import bench_frames_data  # noqa: E402
import bench_frames_programs  # noqa: E402
import bench_frames_report  # noqa: E402

# Those on Spark are SQL, of which Spark's own tests have more.
IN_PROCESS = [group for group in bench_frames_programs.GROUPS if group != "spark"]
PROGRAMS = bench_frames_programs.load(ROOT / "tests" / "bench" / "frames", IN_PROCESS)

import tpch  # noqa: E402


def small(program):
    """The program at a size that takes milliseconds."""
    limits = {"n": 5000, "distinct": 700}
    return dataclasses.replace(program, sizes={name: min(size, limits.get(name, size)) for name, size in program.sizes.items()})


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_the_same_rows_on_all_sides(name, tmp_path):
    program = small(PROGRAMS[name])
    bench_frames_data.write(tmp_path, program.make(lambda scale: tpch.data(4000)))
    found = {}
    # Numba and DuckDB are not among the libraries of tests.
    for side in ("pandas", "fulgurite", "polars"):
        tables = bench_frames_data.as_side(side, bench_frames_data.read(tmp_path))
        found[side] = program.seen(bench_frames_data.columns(program.run(side, tables)))
    assert len(found["pandas"][0]) > 0
    for side in ("fulgurite", "polars"):
        assert bench_frames.differences(found["pandas"], found[side], program.tolerance) == "", side


@pytest.mark.parametrize(
    "arguments",
    [
        ["crime_index.py"],
        ["crime_index.py", "--model", "linear"],
        ["zip_codes.py"],
        ["count_keys.py"],
        ["score_rows.py"],
        ["recommend.py"],
        ["star_regression.py"],
        *(["tpch.py", "--query", query] for query in tpch.QUERIES),
    ],
    ids=" ".join,
)
def test_an_example_prints_two_answers_that_are_the_same(arguments):
    path = os.pathsep.join([str(Path(fg.__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / arguments[0]), *arguments[1:], "--rows", "4000"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answers, answer = {}, []
    for line in done.stdout.splitlines():
        if line.endswith(":"):
            answer = answers.setdefault(line.removesuffix(":"), [])
        elif not line.startswith("in "):
            answer.append(line)
    assert list(answers) == ["fulgurite", "pandas and NumPy"]
    assert answers["fulgurite"] == answers["pandas and NumPy"]
    assert answers["fulgurite"]


def test_differences_are_told():
    texts, numbers = np.array(["a", "b"]), np.array([1.0, 2.0])
    assert bench_frames.differences([texts, numbers], [texts, numbers * (1 + 1e-12)], 1e-9) == ""
    assert "1 columns" in bench_frames.differences([texts, numbers], [texts], 1e-9)
    assert "1 rows" in bench_frames.differences([numbers], [numbers[:1]], 1e-9)
    assert "texts" in bench_frames.differences([texts], [texts[::-1]], 1e-9)
    assert "apart" in bench_frames.differences([numbers], [numbers + [0, 0.1]], 1e-9)
    assert "apart" in bench_frames.differences([numbers], [np.array([1.0, np.nan])], 1e-9)
    assert "column 0" in bench_frames.differences([texts], [numbers], 1e-9)


def test_rows_without_an_order_are_compared_sorted():
    program = next(each for each in PROGRAMS.values() if not each.ordered)
    keys, counts = program.seen([np.array([3, 1, 2]), np.array([30, 10, 20])])
    assert keys.tolist() == [1, 2, 3] and counts.tolist() == [10, 20, 30]


def test_losses_are_told():
    row = {
        "program": "count-10",
        "group": "crossing",
        "size": "n=10",
        "what": "counts",
        "reach": 1.5,
        "against": ["polars"],
        "ms": {"fulgurite": 2.0, "pandas": 9.0, "polars": 2.4, "duckdb": 1.0},
        "mb": {"fulgurite": 30.0, "pandas": 20.0, "polars": 40.0, "duckdb": 50.0},
    }
    assert bench_frames_report.verdict(row) == "missed, 1.20: 1.5 times polars"
    assert bench_frames_report.verdict(row | {"reach": 1.1}) == "reached: 1.1 times polars"
    assert bench_frames_report.verdict(row | {"against": [], "reach": 0.4}) == "reached: 0.4"
    text = "\n".join(bench_frames_report.summary([row]) + bench_frames_report.misses([row]))
    assert "Lost: 1. count-10 0.50 (duckdb)" in text and "of which 1 are slower" in text
    assert "Against pandas: 4.50" in text and "30 / 20 (pandas)" in text
