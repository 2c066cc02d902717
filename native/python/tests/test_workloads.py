"""The examples and the programs of `ci/bench --python`, at small sizes, give what NumPy gives; the notebooks run."""

import dataclasses
import importlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fulgurite as fg

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "python"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))

pytest.importorskip("scipy")

# What the programs import.
sys.path[:0] = [str(EXAMPLES), str(ROOT / "ci")]

import bench_python_programs  # noqa: E402

PROGRAMS = bench_python_programs.load(ROOT / "tests" / "bench" / "python")

# What is left to NumPy, until the engine has it.
LEFT_TO_NUMPY = {"cosine-top", "pca"}


def ran(name, *arguments):
    """What an example prints, less the times."""
    if name == "score_digits" or name == "nearest_neighbour":
        pytest.importorskip("sklearn")
    path = os.pathsep.join([str(Path(fg.__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if " in " not in line]


@pytest.mark.parametrize(
    ("name", "arguments", "other"),
    [
        ("black_scholes", ["--records", "1000"], "numpy"),
        ("score_digits", ["--images", "3000"], "numpy"),
        ("nearest_neighbour", [], "numpy"),
        ("logistic_regression", ["--records", "2000"], "numpy"),
        ("pagerank", ["--nodes", "1000"], "scipy"),
    ],
)
def test_an_example_prints_what_it_prints_with_numpy(name, arguments, other):
    printed = ran(name, *arguments)
    assert printed
    assert printed == ran(name, *arguments, "--library", other)


def test_black_scholes_is_the_sum_of_its_blocks():
    black_scholes = importlib.import_module("black_scholes")
    whole = black_scholes.mean_prices(fg, 3000, block=1000)
    assert np.allclose(whole, black_scholes.mean_prices(np, 3000, block=1000), rtol=1e-12)


def test_pagerank_sums_to_one_where_nodes_have_no_links():
    pagerank = importlib.import_module("pagerank")
    links = pagerank.graph(200, links=1)
    assert np.any(links.sum(axis=0) == 0)
    ranks = np.asarray(pagerank.pagerank(fg, fg.asarray(links)))
    assert np.allclose(ranks.sum(), 1)
    assert np.allclose(ranks, pagerank.pagerank(np, links), rtol=1e-12)


def small(program):
    """The program at a size that takes milliseconds."""
    limits = {"n": 600, "m": 40, "steps": 5, "k": 5, "groups": 5}
    sizes = {name: min(size, limits.get(name, size)) for name, size in program.sizes.items()}
    return dataclasses.replace(program, sizes=sizes)


def several(result):
    return result if isinstance(result, tuple) else (result,)


def dense(value):
    return np.asarray(value.toarray() if hasattr(value, "toarray") else value)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_with_numpy(name):
    program = small(PROGRAMS[name])
    inputs = program.make()
    expected = several(program.bound(program.run, np)(**inputs))
    fg.fallbacks(reset=True)
    arrays = {key: fg.asarray(value) for key, value in inputs.items()}
    lazy = fg.compute(*several(program.form("fulgurite", fg)(**arrays)))
    assert bool(fg.fallbacks()) == (name in LEFT_TO_NUMPY), fg.fallbacks()
    for one, other in zip(several(program.seen(*several(lazy))), several(program.seen(*expected)), strict=True):
        one, other = dense(one), dense(other)
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert np.allclose(one, other, rtol=0, atol=program.tolerance * max(1.0, np.max(np.abs(other))))


@pytest.mark.parametrize("name", sorted(PROGRAMS.keys() - LEFT_TO_NUMPY))
def test_a_fused_program_gives_what_it_gives_unfused(name):
    program = small(PROGRAMS[name])
    arrays = {key: fg.asarray(value) for key, value in program.make().items()}
    lazy = fg.compute(*several(program.form("fulgurite", fg)(**arrays)))
    fused = fg.fuse(program.form("fulgurite", fg))
    for _ in range(2):
        again = fg.compute(*several(fused(**arrays)))
        for one, other in zip(several(again), several(lazy), strict=True):
            one, other = dense(one), dense(other)
            assert (one.shape, one.dtype) == (other.shape, other.dtype)
            assert np.allclose(one, other, rtol=0, atol=program.tolerance * max(1.0, np.max(np.abs(other))))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_is_kept_without_outputs(path, tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        assert cell.cell_type != "code" or (not cell.outputs and cell.execution_count is None)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(Path(fg.__file__).parents[1]), before]))
    try:
        resources = {"metadata": {"path": str(tmp_path)}}
        nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before
    assert any(cell.get("outputs") for cell in notebook.cells)
