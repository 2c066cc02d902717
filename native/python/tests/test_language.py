"""The pages on DML for users of NumPy: what Python prints there, and that both languages give the same values.

UPDATE_DOCS=1 writes outputs anew.
"""

import contextlib
import io
import os
import pathlib
import re

import numpy as np
import pytest

import fulgurite as fg

scipy = pytest.importorskip("scipy")
pytest.importorskip("scipy.stats")

FOLDER = pathlib.Path(__file__).parents[3] / "docs" / "language"


def shown(block, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block, names)
    return printed.getvalue()


def test_the_tutorial_shows_what_python_prints():
    page = FOLDER / "numpy.md"
    text = page.read_text()
    names = {}
    blocks = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
    now, count = blocks.subn(
        lambda block: f"```python\n{block[1]}```\n\n```text\n{shown(block[1], names)}```", text
    )
    assert count >= 2
    if os.environ.get("UPDATE_DOCS"):
        page.write_text(now)
    assert page.read_text() == now, "UPDATE_DOCS=1 writes it anew"


def code_of(cell):
    cell = cell.strip().replace("`<br>`", "\n")
    return cell.strip("`").replace("\\|", "|") if cell.startswith("`") else None


# What gives no value to compare.
EFFECT = re.compile(r"(print|write|stop)\(|\w+ = (read|function)\(")


def rows_of(text):
    """NumPy's and DML's code of each row that gives a value."""
    for line in text.splitlines():
        cells = re.split(r"(?<!\\)\|", line)[1:-1]
        if line.startswith("|") and len(cells) == 4:
            numpy, dml = code_of(cells[1]), code_of(cells[3])
            if numpy and dml and not EFFECT.match(dml):
                yield numpy, dml


def read_table():
    text = (FOLDER / "table.md").read_text()
    setups = {kind: re.search(rf"```{kind}\n(.*?)```", text, re.DOTALL)[1] for kind in ("python", "r")}
    return setups, list(rows_of(text))


def assigned(code):
    """The variables that a statement assigns; none of an expression."""
    targets = re.match(r"([\w, ]+) = ", code)
    return [name.strip() for name in targets[1].split(",")] if targets else []


def plain(value):
    """Numbers in the shape that both languages agree on: NumPy drops dimensions that DML keeps."""
    if isinstance(value, str):
        return value
    return np.squeeze(np.asarray(value, dtype=float))


@pytest.mark.parametrize("row", range(len(read_table()[1])), ids=lambda row: read_table()[1][row][1])
def test_both_languages_give_the_same(row):
    setups, rows = read_table()
    numpy, dml = rows[row]
    names = {"np": np, "scipy": scipy}
    exec(setups["python"], names)
    outputs = assigned(numpy)
    if outputs:
        exec(numpy, names)
        expected = [names[name] for name in outputs]
    else:
        expected = [eval(numpy, names)]
        outputs, dml = ["result"], f"result = {dml}"
    found = fg.run(f"{setups['r']}{dml}\n", outputs=outputs)
    found = [found] if len(outputs) == 1 else found
    for one, other in zip(found, expected, strict=True):
        if isinstance(one, str):
            assert one == other
        else:
            np.testing.assert_allclose(plain(one), plain(other), rtol=1e-9, atol=1e-12)


def test_the_table_is_large():
    assert len(read_table()[1]) >= 100
