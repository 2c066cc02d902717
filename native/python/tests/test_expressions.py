"""Random expressions, computed at once by the engine and step by step by NumPy."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import fulgurite as fg
import numpy as np
import pytest
from helpers import alike, deviation, laid_out, seeds
from hypothesis import given, settings
from hypothesis import strategies as st

UNARY = (
    lambda xp, x: xp.abs(x),
    lambda xp, x: xp.exp(-xp.abs(x)),
    lambda xp, x: xp.tanh(x),
    lambda xp, x: xp.sqrt(xp.abs(x)),
    lambda xp, x: xp.log1p(xp.abs(x)),
    lambda xp, x: xp.floor(x * 4.0),
    lambda xp, x: -x,
    lambda xp, x: x * 0.5 + 1.0,
    lambda xp, x: 1.0 / (2.0 + xp.abs(x)),
    lambda xp, x: xp.where(x > 0.0, x, 0.1 * x),
    lambda xp, x: xp.clip(x, -1.0, 1.0),
    lambda xp, x: xp.sum(x, axis=0, keepdims=True) / 4.0 if x.ndim else x,
    lambda xp, x: xp.max(x, axis=-1, keepdims=True) if x.ndim else x,
    lambda xp, x: x - xp.mean(x),
    lambda xp, x: xp.matrix_transpose(x) if x.ndim == 2 else x,
    lambda xp, x: x[1:] if x.ndim and x.shape[0] > 2 else x,
    lambda xp, x: x[..., ::-1] if x.ndim else x,
    lambda xp, x: xp.reshape(x, (-1,)),
    lambda xp, x: xp.cumulative_sum(x, axis=0) / 3.0 if x.ndim else x,
    lambda xp, x: xp.astype(x > 0.25, xp.float64) if xp is fg else (x > 0.25).astype(np.float64),
    lambda xp, x: xp.concat([x, x], axis=0) if x.ndim and x.size < 200 else x,
)
BINARY = (
    lambda xp, x, y: x + y,
    lambda xp, x, y: x - y,
    lambda xp, x, y: x * y,
    lambda xp, x, y: x / (1.0 + xp.abs(y)),
    lambda xp, x, y: xp.maximum(x, y),
    lambda xp, x, y: xp.where(x < y, x, y),
    lambda xp, x, y: xp.hypot(x, y),
    lambda xp, x, y: (
        (
            xp.matmul(x, xp.matrix_transpose(y))
            if x.ndim == y.ndim == 2 and x.shape[1] == y.shape[1]
            else x
        )
        / 4.0
    ),
)


# What adds up all cells, or products: fused, in another order or with one rounding less.
SUMS = {UNARY[11], UNARY[13], BINARY[7]}


def goes(x, y):
    try:
        return np.broadcast_shapes(x, y)
    except ValueError:
        return None


@st.composite
def programs(draw, steps=8):
    """Leaves, and steps with the places of their operands."""
    count = draw(st.integers(1, 3))
    rows, cols = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    shapes = [
        draw(st.sampled_from([(rows, cols), (rows, cols), (cols,), (rows, 1), (1, cols), ()]))
        for _ in range(count)
    ]
    steps = [
        (
            draw(st.booleans()),
            draw(st.integers(0, 10**6)),
            draw(st.integers(0, 10**6)),
            draw(st.integers(0, 10**6)),
        )
        for _ in range(draw(st.integers(1, steps)))
    ]
    return shapes, draw(seeds), draw(st.sampled_from(("C", "F", "strided", "reversed"))), steps


def leaves_of(program):
    shapes, seed, layout, _ = program
    rng = np.random.default_rng(seed)
    return [laid_out(np.asarray(rng.normal(size=shape)), layout) for shape in shapes]


def run(xp, leaves, steps, used=None):
    """All values, in the order of their steps. The functions are added to those that were used."""
    values = list(leaves)
    for is_binary, function, first, second in steps:
        x = values[first % len(values)]
        y = values[second % len(values)]
        two = is_binary and goes(x.shape, y.shape) is not None
        applied = BINARY[function % len(BINARY)] if two else UNARY[function % len(UNARY)]
        values.append(applied(xp, x, y) if two else applied(xp, x))
        if used is not None:
            used.add(applied)
    return values


def near(got, want):
    """Up to rounding errors, and what rewrites do to the signs of zeros."""
    deviation("rewritten")
    want = np.asarray(want)
    alike(
        got,
        want,
        rtol=1e-9,
        scale=np.maximum(np.abs(want), np.abs(want).max(initial=1.0)),
        signs=False,
    )


@settings(max_examples=300)
@given(program=programs())
def test_expressions(program):
    hosts = leaves_of(program)
    want = run(np, hosts, program[3])
    with fg.config(fallback="error"):
        got = run(fg, [fg.asarray(host) for host in hosts], program[3])
        near(got[-1], want[-1])
        # The others, together, after the last one was computed.
        fg.compute(*got)
        for found, expected in zip(got, want, strict=True):
            near(found, expected)


@settings(max_examples=150)
@given(program=programs(5))
def test_outputs_together(program):
    """Several outputs at once are each what they are alone."""
    hosts = leaves_of(program)
    together = fg.compute(*run(fg, [fg.asarray(host) for host in hosts], program[3]))
    want = run(np, hosts, program[3])
    together = together if isinstance(together, tuple) else (together,)
    for found, expected in zip(together, want, strict=True):
        near(fg.asarray(found), expected)


_RULES = re.findall(
    r"^\| ([\w-]+) \|.*\| (?:zero's sign|rounding) \|$",
    (Path(__file__).parents[3] / "docs" / "rewrites.md").read_text(),
    flags=re.MULTILINE,
)


@settings(max_examples=100)
@given(program=programs(6))
def test_fused_and_unfused_are_the_same(program):
    """Bit for bit, but for sums; and without rewrites that change bits, what NumPy has up to rounding errors."""
    assert len(_RULES) > 30
    hosts = leaves_of(program)
    found = []
    for policy in ("cost", "none", "fuse-all"):
        for threads in (1, 2):
            entries = {
                "fulgurite.fusion.policy": policy,
                "fulgurite.rewrites.off": ",".join(_RULES),
            }
            with fg.config(entries=entries, threads=threads):
                result = run(fg, [fg.asarray(host) for host in hosts], program[3])[-1]
                found.append(np.asarray(result))
    used = set()
    want = run(np, hosts, program[3], used)[-1]
    for other in found[1:]:
        if not used & SUMS:
            np.testing.assert_array_equal(other, found[0])
        near(fg.asarray(other), want)
    near(fg.asarray(found[0]), want)


@settings(max_examples=60)
@given(program=programs(4))
def test_copies_are_values(program):
    hosts = leaves_of(program)
    value = run(fg, [fg.asarray(host) for host in hosts], program[3])[-1]
    want = np.asarray(value).copy()
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
        alike(other, want)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        alike(pickle.loads(pickle.dumps(value, protocol)), want)


def test_a_deep_expression():
    x = fg.asarray(np.ones((3, 3)))
    for _ in range(3000):
        x = x * 0.999 + 0.001
    alike(x, np.ones((3, 3)), rtol=1e-12)


def test_results_are_not_computed_again():
    x = fg.asarray(np.ones((50, 50)))
    y = fg.exp(x)
    first = np.asarray(y)
    assert np.asarray(y) is first and not first.flags.writeable
    alike(y + 1.0, first + 1.0)


def test_lines_of_shapes_that_do_not_broadcast():
    a = fg.asarray(np.ones((3, 4))) + 1.0
    b = fg.asarray(np.ones((2, 5))) + 1.0
    with pytest.raises(ValueError) as caught:
        a * b
    text = str(caught.value)
    assert "(3, 4) and (2, 5) do not broadcast" in text
    assert text.count("test_expressions.py:") == 3
    with pytest.raises(fg.ShapeError) as caught:
        a @ b
    assert "have no product" in str(caught.value) and str(caught.value).count("-->") == 3
    with pytest.raises(ValueError, match="do not broadcast"):
        fg.where(a > 0, a, b)
