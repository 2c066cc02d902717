"""Compares what a script wrote with what is recorded of the reference."""

import numpy as np

from case import number


def difference(expected, found, tolerance):
    """Where two matrices differ most beyond the tolerance, in words; `None` where they agree.

    A cell may be off by the tolerance times the largest of 1, its own size and a thousandth of the largest of its column: rounding
    of a sum shows in all cells of what was computed from it.
    """
    expected, found = np.atleast_2d(np.asarray(expected, float)), np.atleast_2d(np.asarray(found, float))
    if expected.shape != found.shape:
        return f"is {shape(found)}, expected {shape(expected)}"
    if expected.size == 0:
        return None
    with np.errstate(invalid="ignore"):
        off = np.abs(expected - found)
        same = (expected == found) | (np.isnan(expected) & np.isnan(found))
    finite = np.isfinite(expected)
    sizes = np.where(finite, np.abs(expected), 0)
    scale = np.maximum(np.maximum(1.0, sizes), np.max(sizes, axis=0, keepdims=True) * 1e-3)
    wrong = ~same & ~(np.isfinite(found) & finite & (off <= tolerance * scale))
    if not wrong.any():
        return None
    off = np.where(wrong, np.where(np.isfinite(off), off / scale, np.inf), -1)
    row, col = np.unravel_index(np.argmax(off), off.shape)
    count = int(wrong.sum())
    cells = f", {count} cells of {expected.size} differ" if count > 1 else ""
    return f"[{row + 1}, {col + 1}] is {number(found[row, col])}, expected {number(expected[row, col])}{cells}"


def shape(matrix):
    return f"{matrix.shape[0]} x {matrix.shape[1]}"


def same_cell(expected, found, tolerance):
    if expected == found:
        return True
    try:
        return difference([[float(expected)]], [[float(found)]], tolerance) is None
    except ValueError:
        return False


def frame_difference(expected, found, tolerance):
    if len(expected) != len(found):
        return f"has {len(found)} rows, expected {len(expected)}"
    for row, (left, right) in enumerate(zip(expected, found, strict=True), 1):
        cells, others = left.split(","), right.split(",")
        if len(cells) != len(others) or not all(same_cell(a, b, tolerance) for a, b in zip(cells, others, strict=True)):
            return f"row {row} is {right!r}, expected {left!r}"
    return None


def outputs(case, recorded, found):
    """The first output that differs from its recording, in words."""
    for output in case.outputs:
        kind, expected = recorded[output.name]
        value = found[output.name]
        if kind == "matrix":
            text = difference(expected, value, case.tolerance)
        elif kind == "scalar":
            text = difference([[expected]], [[value]], case.tolerance)
        elif kind == "frame":
            text = frame_difference(expected, value, case.tolerance)
        else:
            text = None if expected == value else f"is {value[:60]!r}, expected {expected[:60]!r}"
        if text:
            return f"{output.name} {text}"
    return None


def shapes(case, recorded, found):
    """The first output that has another size than the recording: all that can be compared where the reference varies."""
    for output in case.outputs:
        kind, expected = recorded[output.name]
        if kind == "matrix":
            sizes = [np.shape(np.atleast_2d(value)) for value in (expected, found[output.name])]
            if sizes[0] != sizes[1]:
                return f"{output.name} is {sizes[1][0]} x {sizes[1][1]}, expected {sizes[0][0]} x {sizes[0][1]}"
        elif kind == "frame" and len(expected) != len(found[output.name]):
            return f"{output.name} has {len(found[output.name])} rows, expected {len(expected)}"
    return None
