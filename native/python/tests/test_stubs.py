"""The type stubs are those of the functions that there are. `BLESS=1` writes them."""

import os
import subprocess
import sys

import pytest
import stubs

SAMPLE = """
import fulgurite as fg
import numpy as np

def loss(x: fg.Array) -> fg.Array:
    y = fg.exp(x) * 2.0 + np.ones(3) @ x - 1
    return fg.where(y > 0, y, 0.0).sum(axis=0)

@fg.fuse
def scaled(x: fg.Array, scale: float) -> fg.Array:
    return x * scale

a = fg.asarray([1.0, 2.0], dtype=fg.float64)
with fg.config(threads=1):
    total: float = float(fg.sum(a[0:1]))
u, s, v = fg.linalg.svd(fg.ones((2, 2)))
rows: int = scaled(fg.fft.fft(u), 2.0).shape[0]
frame = fg.frame({"key": ["x"], "n": [1]})
totals = frame.filter(fg.col("n") > 0, key="x").group_by("key").agg(fg.col("n").sum() / fg.len(), top=fg.col("n").max())
names: list[str] = fg.concat([totals, totals]).sort("key", descending=[True]).columns
chosen: fg.Expr = fg.when(fg.col("n") > 1).then("n").when(n=1).then(2).otherwise(fg.lit(0)).alias("m")
cells: fg.Array = frame.with_columns(chosen, fg.col("key").str.slice(0, 2).str.len_chars()).to_array(["n"])
try:
    fg.compute(a)
except fg.FulguriteError as error:
    print(error.kind, error.line)
"""


def test_stubs():
    for path, text in stubs.stubs().items():
        if os.environ.get("BLESS"):
            path.write_text(text)
        assert path.read_text() == text, f"{path} is not what stubs.py writes: run with BLESS=1"
    assert (stubs.FOLDER / "py.typed").exists()


def test_types_of_a_program(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "sample.py").write_text(SAMPLE)
    environment = {**os.environ, "MYPYPATH": str(stubs.FOLDER.parent)}
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "sample.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
