"""Times programs that filter, join and group tables and compute on their columns, on `fulgurite.frame` and on the best peers of each, on the same
data in one run. Each side runs a program in a process of its own, which keeps its tables; the processes take turns. Memory is measured in a further
process of each side. Called by `ci/bench --frames`."""

import argparse
import shutil
import sys
import time
from pathlib import Path

import numpy as np

import bench_frames_data
import bench_frames_programs
import bench_frames_report
from bench_report import fill_readme
from bench_turns import Failed, Measurement, Runner, Turns, distance, keep
from bench_work import size_of
from machine import kind

# Seconds and times before turns that count, after a first execution. One of so many milliseconds gains nothing by more, and counts as a turn.
WARM_UP = "0.2 3"
# The JVM compiles a query when it has run for a while.
WARM_UP_ON_SPARK = "10 20"
AHEAD_MILLISECONDS = 5000
# What is executed in a turn: until so many seconds are spent, and at most so often.
TURN = "0.4 30"
TURN_ON_SPARK = "3 10"
# A slow peer that took so many times the best peer's time has one turn.
SLOW_TIMES = 2


class Line(Measurement):
    """One line of the table: a program on all sides that can run it."""

    def __init__(self, options, program):
        self.options, self.program = options, program
        self.folder = options.scratch / "frames"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.inputs = self.folder / "inputs"
        self.inputs.mkdir(parents=True)
        needed = {"fulgurite", *program.against} - options.without
        self.turns = Turns(program.name, needed)

    def run(self):
        write = bench_frames_data.write_parquet if self.program.group == "spark" else bench_frames_data.write
        write(self.inputs, self.program.make(lambda scale: bench_frames_data.tpch(self.options.scratch, scale)))
        sides = [side for side in self.program.sides() if side not in self.options.without]
        measured, first, kept = self.measured([self.start(side) for side in sides])
        return kept | {
            "threads": self.options.threads,
            "program": self.program.name,
            "group": self.program.group,
            "what": self.program.what,
            "size": size_of(self.program.sizes),
            "reach": self.program.reach,
            "against": list(self.program.against),
            "first_ms": {name: first[name] for name in measured},
            "mb": {name: self.memory(name) for name in measured},
            "without": self.program.without,
            "failures": self.turns.failures,
        }

    def start(self, side):
        python, script = sys.executable, "bench_frames_peer.py"
        given = {"programs": self.options.programs, "inputs": self.inputs, "program": self.program.name, "side": side, "divide": self.options.divide}
        if self.program.group == "spark":
            python, script = self.options.spark_python, "bench_frames_spark_peer.py"
            given["comet"] = self.options.comet
        command = [python, Path(__file__).with_name(script), *(f"--{key}={value}" for key, value in given.items())]
        return Runner(side, command, self.options.threads, self.folder / side)

    def take_turns(self, runners):
        """Gives the milliseconds of each first execution, and the shares of processor time that others took before each round."""
        first, ahead = {}, set()
        on_spark = self.program.group == "spark"

        def begin(runner):
            first[runner.name] = runner.ask("run 0 1")["milliseconds"][0]
            # What compiles or caches first is not slow.
            if first[runner.name] > AHEAD_MILLISECONDS and runner.name != "numba" and not on_spark:
                runner.times.append(first[runner.name])
                ahead.add(runner.name)
            else:
                runner.ask(f"run {WARM_UP_ON_SPARK if on_spark else WARM_UP}")

        def turn(runner):
            if runner.name in ahead:
                ahead.discard(runner.name)
            else:
                runner.times += runner.ask(f"run {TURN_ON_SPARK if on_spark else TURN}")["milliseconds"]

        running = self.turns.each(runners, begin)
        self.compare(running)
        return first, self.turns.rounds(running, turn, self.options.rounds, SLOW_TIMES)

    def compare(self, runners):
        """Whether all have the same rows: those of the first side that is a peer."""
        results = {}
        for runner in runners:
            runner.ask(f"results {runner.results}")
            files = sorted(runner.results.glob("*.npy"), key=lambda path: int(path.stem))
            results[runner.name] = self.program.seen([np.load(path) for path in files])
            shutil.rmtree(runner.results)
        peers = [name for name in results if name != "fulgurite"]
        if not peers:
            return
        expected = results[peers[0]]
        for name, found in results.items():
            if wrong := differences(expected, found, self.program.tolerance):
                raise Failed(f"{name}'s result is not that of {peers[0]}: {wrong}")

    def memory(self, side):
        """The most memory in MB of a second execution, with tables, results and what the first one left, but no code, in a process of its own."""
        runner = self.start(side)
        try:
            runner.ask("run 0 1")
            return round(runner.ask("run 0 1")["peakBytes"] / 1e6, 1)
        finally:
            runner.end()


def differences(expected, found, tolerance):
    """How two results differ in words; nothing where they are the same."""
    if len(expected) != len(found):
        return f"{len(found)} columns, not {len(expected)}"
    for place, (one, other) in enumerate(zip(expected, found, strict=True)):
        if one.shape != other.shape:
            return f"{other.shape[0]} rows, not {one.shape[0]}"
        if (one.dtype.kind == "U") != (other.dtype.kind == "U"):
            return f"column {place} is of {other.dtype}, not of {one.dtype}"
        if one.dtype.kind == "U":
            if np.any(one != other):
                return f"other texts in column {place}"
        elif not (far := distance(np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64))) <= tolerance:
            return f"cells of column {place} lie {far:.3g} apart, as a share of the largest one"
    return ""


def renew(folder, rows, names):
    """Puts the rows into the kept results of this kind of processor."""
    order = list(names)

    def place(row):
        return order.index(row["program"]) if row["program"] in order else None

    tables = keep(folder, "frames", rows, lambda row: row["program"], place, libraries=bench_frames_report.libraries())
    (folder / "FRAMES.md").write_text(bench_frames_report.report(tables))
    fill_readme(folder.parent.parent / "README.md", "bench-frames", bench_frames_report.core(tables[kind()]))


def main():
    parser = argparse.ArgumentParser(prog="ci/bench --frames", description=__doc__)
    parser.add_argument("names", nargs="*", help="programs, or files of tests/bench/frames; all where none is named")
    parser.add_argument("--rows", default="", help="the same, as in tpch-q1,counts")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side")
    parser.add_argument("--threads", type=int, default=2, help="threads of each side")
    parser.add_argument("--without", default="", help="sides that are left out, as in pandas,numba")
    parser.add_argument("--divide", type=int, default=1, help="divides the number of rows, or TPC-H's scale, of each program, to try something out; 10 needs 2 GB of memory, 1 needs 16")
    parser.add_argument("--spark", action="store_true", help="also programs on Spark, which need Java")
    parser.add_argument("--renew", action="store_true", help="put these rows into tests/bench/FRAMES.md and results.json, for this kind of processor")
    for path in ["folder", "scratch"]:
        parser.add_argument(f"--{path}", type=Path, required=True, help=argparse.SUPPRESS)
    for path in ["spark-python", "comet"]:
        parser.add_argument(f"--{path}", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.without = {*options.without.split(",")} - {""}
    if options.rounds < 1 or options.threads < 1 or options.divide < 1:
        parser.error("--rounds, --threads and --divide are at least 1")
    if options.renew and options.divide > 1:
        parser.error("only the sizes that programs declare are kept")
    if unknown := options.without - set(bench_frames_report.PEERS):
        parser.error(f"{min(unknown)} is no side that can be left out; these are {', '.join(bench_frames_report.PEERS)}")
    options.programs = options.folder / "frames"
    options.scratch.mkdir(parents=True, exist_ok=True)
    programs = bench_frames_programs.load(options.programs)
    names = [*options.names, *(name for name in options.rows.split(",") if name)]
    there_is = {*programs, *(program.group for program in programs.values())}
    if unknown := [name for name in names if name not in there_is]:
        parser.error(f"there is no program {unknown[0]}; there are {', '.join(programs)}")
    if not options.spark and any(name in programs and programs[name].group == "spark" or name == "spark" for name in names):
        parser.error("programs on Spark run with --spark")
    started = time.perf_counter()
    rows, failed = [], []
    for program in programs.values():
        if names and program.name not in names and program.group not in names:
            continue
        if program.group == "spark" and not options.spark:
            continue
        if options.divide > 1:
            program = program.divided(options.divide)
        try:
            rows.append(Line(options, program).run())
        except Failed as failure:
            print(f"{program.name}: {failure}", file=sys.stderr)
            failed.append(program.name)
            continue
        bench_frames_report.print_row(rows[-1])
        if options.renew:
            # After each row: a run may be cut off.
            renew(options.folder, rows, programs)
    shutil.rmtree(options.scratch / "frames", ignore_errors=True)
    if rows:
        print("\n".join(["", *bench_frames_report.summary(rows)]))
    print(f"{(time.perf_counter() - started) / 60:.1f} minutes", file=sys.stderr)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
