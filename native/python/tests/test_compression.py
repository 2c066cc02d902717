"""Compressed matrices: the same cells, and the same results."""

import numpy as np
import pytest

import fulgurite as fg

ROWS = 6000


def table():
    rows = np.arange(ROWS)
    columns = [rows % 7 - 3.0, rows // 500, np.full(ROWS, 2.5), np.where(rows % 90 == 0, 4.0, 0.0)]
    dummies = [(rows % 5 == code).astype(float) for code in range(5)]
    return np.ascontiguousarray(np.column_stack([*columns, *dummies, np.sin(rows)]))


def test_compressing_keeps_cells_to_the_bit():
    cells = table()
    cells[5, 0], cells[6, 0], cells[7, 0] = np.nan, np.inf, -0.0
    compressed = fg.compress(cells)
    kinds = compressed.compression
    assert kinds["ratio"] > 3
    assert kinds["bytes"] < cells.nbytes / 3
    assert sum(kinds["groups"].values()) >= 3
    assert np.array_equal(np.asarray(compressed).view(np.int64), cells.view(np.int64))
    assert compressed.shape == cells.shape and not compressed.is_sparse


def test_operators_on_groups_give_what_numpy_gives():
    cells = table()
    x = fg.compress(cells)
    v, w = np.linspace(-1, 1, cells.shape[1]), np.linspace(0, 2, ROWS)
    pairs = [
        (x @ v, cells @ v),
        (x.T @ w, cells.T @ w),
        (w @ x, w @ cells),
        (x.T @ x, cells.T @ cells),
        (x.T @ (w * (x @ v)), cells.T @ (w * (cells @ v))),
        (fg.sum(x), cells.sum()),
        (fg.sum(x * x), (cells * cells).sum()),
        (x.mean(axis=0), cells.mean(axis=0)),
        (fg.max(x, axis=1), cells.max(axis=1)),
        (x != 0, cells != 0),
        (x * 2 - 1, cells * 2 - 1),
        (x - fg.mean(x, axis=0), cells - cells.mean(axis=0)),
        (x * w[:, None], cells * w[:, None]),
        (fg.exp(x), np.exp(cells)),
        (x[:, 2:5], cells[:, 2:5]),
        (x[10], cells[10]),
        (x.T, cells.T),
        (fg.sort(x, axis=0), np.sort(cells, axis=0)),
        (1 / (1 + fg.exp(-(x @ v))), 1 / (1 + np.exp(-(cells @ v)))),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-11, atol=1e-9)


def test_what_does_not_compress_is_the_array_itself():
    noise = fg.asarray(np.random.default_rng(0).normal(size=(500, 4)))
    assert fg.compress(noise) is noise
    assert noise.compression is None


def test_only_matrices_are_compressed():
    with pytest.raises(ValueError, match="only matrices"):
        fg.compress(np.arange(5.0))


def test_scripts_compress_what_loops_read():
    text = "R = 0; for (i in 1:3) { R = R + sum(X %*% matrix(i, ncol(X), 1)) }"
    cells = table()
    totals = []
    for mode in ("on", "off", "auto"):
        with fg.config(compression=mode):
            totals.append(float(fg.run(text, inputs={"X": cells}, outputs=["R"])))
    np.testing.assert_allclose(totals, 6 * cells.sum(), rtol=1e-11)


def test_modes_have_names():
    with pytest.raises(ValueError, match="'auto', 'on' or 'off'"):
        fg.config(compression="yes")
