"""Times programs that NumPy's users write on Fulgurite's Python package and on the best peers of each, on the same data in one run. Each side runs
a program in a process of its own, which keeps its data and what it compiled; the processes take turns. Memory is measured in a further process of
each side. Called by `ci/bench --python`."""

import argparse
import dataclasses
import shutil
import sys
import time
from pathlib import Path

import numpy as np

import bench_python_overhead
import bench_python_peer
import bench_python_programs
import bench_python_report
from bench_report import fill_readme
from bench_turns import Failed, Measurement, Runner, Turns, before, distance, keep
from bench_work import size_of
from machine import kind

OURS = ["fulgurite", "fused"]
# Seconds and times before turns that count.
WARM_UP = "0.2 3"
# What is executed in a turn: until so many seconds are spent, and at most so often.
TURN = "0.4 30"
# A slow peer that took so many times the best peer's time has one turn.
SLOW_TIMES = 2


class Line(Measurement):
    """One line of the table: a program on all sides that can run it."""

    def __init__(self, options, program):
        self.options, self.program = options, program
        self.folder = options.scratch / "python"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.inputs = self.folder / "inputs"
        self.inputs.mkdir(parents=True)

    def run(self):
        bench_python_peer.write(self.inputs, self.program.make())
        sides = [side for side in self.program.sides() if side not in self.options.without]
        measured, first, kept = self.measured([self.start(side) for side in sides])
        return kept | {
            "threads": self.options.threads,
            "program": self.program.name,
            "group": self.program.group,
            "what": self.program.what,
            "size": size_of(self.program.sizes),
            "first_ms": {name: first[name] for name in measured},
            "mb": {name: self.memory(name) for name in measured},
            "fallbacks": self.fallbacks,
            "without": self.program.without,
        }

    def start(self, side):
        python = self.options.torch_python if side == "torch" else sys.executable
        script = Path(__file__).with_name("bench_python_peer.py")
        given = {"programs": self.options.programs, "inputs": self.inputs, "program": self.program.name, "side": side}
        return Runner(side, [python, script, *(f"--{key}={value}" for key, value in given.items())], self.options.threads, self.folder / side)

    def take_turns(self, runners):
        """Gives the milliseconds of each first execution, and the shares of processor time that others took before each round."""
        first = {}

        def begin(runner):
            first[runner.name] = runner.ask("run 0 1")["milliseconds"][0]
            runner.ask(f"run {WARM_UP}")

        def turn(runner):
            runner.times += runner.ask(f"run {TURN}")["milliseconds"]

        turns = Turns(self.program.name, needed=["fulgurite", "numpy"])
        running = turns.each(runners, begin)
        self.compare(running)
        return first, turns.rounds(running, turn, self.options.rounds, SLOW_TIMES, OURS)

    def compare(self, runners):
        """Whether all give NumPy's numbers; keeps what Fulgurite left to NumPy."""
        results, told = {}, {}
        for runner in runners:
            told[runner.name] = runner.ask(f"results {runner.results}")
            found = bench_python_peer.read(runner.results)
            outputs = self.program.seen(*(found[name] for name in sorted(found, key=int)))
            results[runner.name] = outputs if isinstance(outputs, tuple) else (outputs,)
            shutil.rmtree(runner.results)
        self.fallbacks = told["fulgurite"]["fallbacks"]
        for name, outputs in results.items():
            apart = [distance(as_floats(one), as_floats(other)) for one, other in zip(results["numpy"], outputs, strict=True)]
            if not all(far <= self.program.tolerance for far in apart):
                raise Failed(f"{name}'s cells lie {', '.join(f'{far:.3g}' for far in apart)} apart from NumPy's, as a share of the largest one")

    def memory(self, side):
        """The most memory in MB of a second execution, with inputs, results and what the first one left, but no code, in a process of its own."""
        runner = self.start(side)
        try:
            runner.ask("run 0 1")
            return round(runner.ask("run 0 1")["peakBytes"] / 1e6, 1)
        finally:
            runner.end()


def as_floats(value):
    return value if hasattr(value, "tocsr") else np.asarray(value, dtype=np.float64)


def renew(folder, rows, overhead, names):
    """Puts the rows into the kept results of this kind of processor."""
    order = list(names)

    def place(row):
        return order.index(row["program"]) if row["program"] in order else None

    overhead = overhead or before(folder, "python").get("overhead")
    tables = keep(folder, "python", rows, lambda row: row["program"], place, libraries=bench_python_report.libraries(), overhead=overhead)
    (folder / "PYTHON.md").write_text(bench_python_report.report(tables))
    fill_readme(folder.parent.parent / "README.md", "bench-python", bench_python_report.core(tables[kind()]))


def main():
    parser = argparse.ArgumentParser(prog="ci/bench --python", description=__doc__)
    parser.add_argument("names", nargs="*", help="programs, or files of tests/bench/python, or `overhead`; all where none is named")
    parser.add_argument("--rows", default="", help="the same, as in sum3,exp,overhead")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each side")
    parser.add_argument("--threads", type=int, default=2, help="threads of each side")
    parser.add_argument("--without", default="", help="sides that are left out, as in torch,numba")
    parser.add_argument("--divide", type=int, default=1, help="divides the first size of each program, to try something out")
    parser.add_argument("--renew", action="store_true", help="put these rows into tests/bench/PYTHON.md and results.json, for this kind of processor")
    for path in ["folder", "scratch", "torch-python"]:
        parser.add_argument(f"--{path}", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.without = {*options.without.split(",")} - {""}
    if options.torch_python is None:
        options.without.add("torch")
    if options.rounds < 1 or options.threads < 1 or options.divide < 1:
        parser.error("--rounds, --threads and --divide are at least 1")
    if options.renew and options.divide > 1:
        parser.error("only the sizes that programs declare are kept")
    if unknown := options.without - {"", "fused", "jax", "torch", "numexpr", "numba"}:
        parser.error(f"{min(unknown)} is no side that can be left out; these are fused, jax, torch, numexpr, numba")
    options.programs = options.folder / "python"
    options.scratch.mkdir(parents=True, exist_ok=True)
    programs = bench_python_programs.load(options.programs)
    names = [*options.names, *(name for name in options.rows.split(",") if name)]
    there_is = {*programs, *(program.group for program in programs.values()), "overhead"}
    if unknown := [name for name in names if name not in there_is]:
        parser.error(f"there is no program {unknown[0]}; there are {', '.join(programs)}")
    started = time.perf_counter()
    rows, failed, overhead = [], [], None
    if not names or "overhead" in names:
        overhead = bench_python_overhead.measure(options.threads)
        print("\n".join(bench_python_report.overhead_lines(overhead)), flush=True)
    for program in programs.values():
        if names and program.name not in names and program.group not in names:
            continue
        if options.divide > 1:
            first, *others = program.sizes.items()
            program = dataclasses.replace(program, sizes={first[0]: max(100, first[1] // options.divide), **dict(others)})
        try:
            rows.append(Line(options, program).run())
        except Failed as failure:
            print(f"{program.name}: {failure}", file=sys.stderr)
            failed.append(program.name)
            continue
        bench_python_report.print_row(rows[-1])
        if options.renew:
            # After each row: a run may be cut off.
            renew(options.folder, rows, overhead, programs)
    if options.renew and not rows:
        renew(options.folder, rows, overhead, programs)
    shutil.rmtree(options.scratch / "python", ignore_errors=True)
    if rows:
        print("\n".join(["", *bench_python_report.summary(rows)]))
    print(f"{(time.perf_counter() - started) / 60:.1f} minutes", file=sys.stderr)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
