"""Lazy frames give what Polars gives: random pipelines on random frames."""

import numpy as np
import pytest

pl = pytest.importorskip("polars")

import fulgurite as fg  # noqa: E402
import pipelines  # noqa: E402

# Of each pair of frames.
PIPELINES = 12

REFUSED_BY_POLARS = (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError)


def compare(seed):
    """How many pipelines were compared."""
    rng = np.random.default_rng(seed)
    frame, other = pipelines.random_frame(rng), pipelines.random_frame(rng)
    compared = 0
    for _ in range(PIPELINES):
        text, is_ordered = pipelines.Grammar(rng).pipeline()
        try:
            want = pipelines.evaluated(text, pl, frame, other)
        except REFUSED_BY_POLARS:
            continue
        try:
            # Functions of single floats differ in the last place, and so does what is computed from them.
            tolerance = 1e-5 if 'm.col("g")' in text else 1e-9
            pipelines.alike(pipelines.evaluated(text, fg, frame, other), want, is_ordered, tolerance)
        except Exception as error:
            error.add_note(f"seed {seed}: {text}")
            raise
        compared += 1
    return compared


@pytest.mark.parametrize("first", range(0, 250, 25))
def test_random_pipelines(first):
    for seed in range(first, first + 25):
        compare(seed)


def test_most_pipelines_are_compared():
    """Polars refuses few of them."""
    assert sum(map(compare, range(20))) > 0.8 * 20 * PIPELINES
