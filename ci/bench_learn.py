"""Times fits of `fulgurite.learn` and of other libraries' estimators, on the same data at the same tolerance in one run. Each side fits in a process
of its own, which keeps its data; the processes take turns. The objectives that they reach stand beside the times. Called by `ci/bench --learn`."""

import argparse
import shutil
import sys
import time
from pathlib import Path

import numpy as np

import bench_learn_report
import bench_learn_rows
from bench_report import fill_readme
from bench_turns import PATIENCE, Failed, Measurement, Runner, Turns, before, distance, keep
from machine import kind, settle

# What is executed in a turn: until so many seconds are spent, and at most so often.
TURN = "0.5 100"
# Fits before turns that count, after the first one. A first fit of so many milliseconds gains nothing by more, and counts as a turn.
WARM_UP = "0.2 3"
AHEAD_MILLISECONDS = 10_000
# A slow peer that took so many times the best peer's time has one turn.
SLOW_TIMES = 2
# How far closed forms may lie apart, as a share of the largest cell.
TOLERANCE = 1e-6


class Line(Measurement):
    """One line of the table: a row at a shape, on all sides that can do it."""

    def __init__(self, options, row, shape):
        self.options, self.row, self.shape = options, row, shape
        self.label = row.label(shape)
        self.folder = options.scratch / "learn"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.turns = Turns(self.label)

    def run(self):
        self.data = bench_learn_rows.make(self.options.scratch / "learn-data", self.shape)
        sides = [side for side in self.row.sides_of(self.shape) if side not in self.options.without]
        measured, first, kept = self.measured([self.start(side) for side in sides])
        return kept | {
            "threads": self.options.threads,
            "row": self.row.name,
            "group": self.row.group,
            "what": self.row.what,
            "shape": self.shape.name,
            "size": str(self.shape),
            "first_ms": {name: first[name]["milliseconds"][0] for name in measured},
            "mb": {name: round(first[name]["peakBytes"] / 1e6, 1) for name in measured},
            "objective": {name: self.found[name]["objective"] for name in measured},
            "iterations": {name: self.found[name]["iterations"] for name in measured},
            "failures": self.turns.failures,
        }

    def start(self, side):
        python = self.options.spark_python if side == "mllib" else sys.executable
        script = Path(__file__).with_name("bench_learn_peer.py")
        given = {"rows": self.options.rows, "data": self.data, "row": self.row.name, "side": side, "shape": self.shape.name}
        return Runner(side, [python, script, *(f"--{key}={value}" for key, value in given.items())], self.options.threads, self.folder / side)

    def take_turns(self, runners):
        """Gives each first fit, and the shares of processor time that others took before each round."""
        first, ahead = {}, set()

        def begin(runner):
            first[runner.name] = runner.ask("run 0 1")
            took = first[runner.name]["milliseconds"]
            if took[0] > AHEAD_MILLISECONDS:
                runner.times += took
                ahead.add(runner.name)
            else:
                runner.ask(f"run {WARM_UP}")

        def turn(runner):
            if runner.name in ahead:
                ahead.discard(runner.name)
            else:
                runner.times += runner.ask(f"run {TURN}")["milliseconds"]

        settle(PATIENCE)
        running = self.turns.each(runners, begin)
        self.found = self.compare(running)
        return first, self.turns.rounds(running, turn, self.options.rounds, SLOW_TIMES)

    def compare(self, runners):
        """What each reached; closed forms must be the same."""
        told, seen = {}, {}
        for runner in runners:
            told[runner.name] = runner.ask(f"results {runner.results}")
            seen[runner.name] = [np.load(path) for path in sorted(runner.results.glob("*.npy"))]
        expected = seen.get("sklearn", [])
        for name, outputs in seen.items():
            for one, other in zip(expected, outputs, strict=False):
                if distance(np.float64(one), np.float64(other)) > TOLERANCE:
                    raise Failed(f"{name}'s cells lie {distance(np.float64(one), np.float64(other)):.3g} apart from scikit-learn's, as a share of the largest one")
        return told


def renew(folder, rows, order, failed):
    """Puts the rows, and what ours could not fit, into the kept results of this kind of processor."""

    def key(row):
        return row["row"], row["shape"]

    def place(row):
        return order.index(key(row)) if key(row) in order else None

    fitted = {"/".join(key(row)) for row in rows}
    failed_before = before(folder, "learn").get("failed", {})
    failed_before = {label: why for label, why in failed_before.items() if label not in fitted and tuple(label.split("/")) in order}
    tables = keep(folder, "learn", rows, key, place, libraries=bench_learn_report.libraries(), failed=failed_before | failed)
    (folder / "LEARN.md").write_text(bench_learn_report.report(tables))
    fill_readme(folder.parent.parent / "README.md", "bench-learn", bench_learn_report.core(tables[kind()]))


def chosen(rows, names):
    """Rows and their shapes: names of rows, of shapes, of files, or row/shape."""
    lines = []
    for row in rows.values():
        for shape in row.shapes:
            if not names or {row.name, row.group, shape.name, row.label(shape)} & set(names):
                lines.append((row, shape))
    return lines


def main():
    parser = argparse.ArgumentParser(prog="ci/bench --learn", description=__doc__)
    parser.add_argument("names", nargs="*", help="rows, shapes such as 1e6x100, a row at a shape such as ridge/1e6x100, or files of tests/bench/learn; all where none is named")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side")
    parser.add_argument("--threads", type=int, default=2, help="threads of each side")
    parser.add_argument("--without", default="", help="sides that are left out, as in intelex,glum")
    parser.add_argument("--mllib", action="store_true", help="with MLlib, which needs Java")
    parser.add_argument("--divide", type=int, default=1, help="divides the number of rows of each shape but the smallest, to try something out")
    parser.add_argument("--renew", action="store_true", help="put these rows into tests/bench/LEARN.md and results.json, for this kind of processor")
    for path in ["folder", "scratch", "spark-python"]:
        parser.add_argument(f"--{path}", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.without = {*options.without.split(",")} - {""}
    if unknown := options.without - set(bench_learn_report.PEERS):
        parser.error(f"{min(unknown)} is no side that can be left out; these are {', '.join(bench_learn_report.PEERS)}")
    if not options.mllib:
        options.without.add("mllib")
    if options.rounds < 1 or options.threads < 1 or options.divide < 1:
        parser.error("--rounds, --threads and --divide are at least 1")
    if options.renew and options.divide > 1:
        parser.error("only the shapes that rows declare are kept")
    options.rows = options.folder / "learn"
    options.scratch.mkdir(parents=True, exist_ok=True)
    rows = bench_learn_rows.load(options.rows)
    lines = chosen(rows, options.names)
    there_is = {name for row, shape in chosen(rows, []) for name in (row.name, row.group, shape.name, row.label(shape))}
    if unknown := [name for name in options.names if name not in there_is]:
        parser.error(f"there is no row {unknown[0]}; there are {', '.join(rows)}")
    order = [(row.name, shape.name) for row, shape in chosen(rows, [])]
    # Rows of one shape follow each other: its files stay in memory.
    lines.sort(key=lambda line: bench_learn_rows.SHAPES.index(line[1]))
    started = time.perf_counter()
    measured, failed = [], {}
    for row, shape in lines:
        try:
            measured.append(Line(options, row, shape.divided(options.divide)).run())
        except Failed as failure:
            print(f"{row.label(shape)}: {failure}", file=sys.stderr)
            failed[row.label(shape)] = str(failure)
        else:
            bench_learn_report.print_row(measured[-1])
        if options.renew:
            # After each row: a run may be cut off.
            renew(options.folder, measured, order, failed)
    shutil.rmtree(options.scratch / "learn", ignore_errors=True)
    if measured:
        print("\n".join(["", *bench_learn_report.summary(measured)]))
    print(f"{(time.perf_counter() - started) / 60:.1f} minutes", file=sys.stderr)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
