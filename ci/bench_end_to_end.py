"""Whole algorithms for ci/bench: SystemML 1.2's own scripts, by the `fulgurite` command and by SystemDS in each mode.

What is counted. Fulgurite: the wall-clock time of the command, from the start of its process to its end, with reading the inputs from
its binary format, parsing, planning, compiling, running and writing the model. SystemDS: the elapsed time that it reports itself,
which has the same in it, but not the start of its JVM. Both make the same inputs, from a script in tests/bench/end_to_end, beforehand;
calls of `rand` in the algorithms get seeds, so that both run the same iterations."""

import itertools
import re
import statistics
import subprocess
import time

import numpy as np

import bench_report
import systemds_command

# After the one that warms files up.
ROUNDS = 3
# What is slower runs once.
SECONDS = 12
TARGET = {"systemds": 3.0}


class Algorithm:
    """A script that makes the inputs; its comments say what they are for."""

    def __init__(self, file, options):
        self.name = file.stem
        self.data = file.read_text()
        self.scripts = options.scripts
        self.scratch = options.scratch / "end_to_end"

    def words(self, key):
        prefix = f"# {key}:"
        return next((line for line in self.data.splitlines() if line.startswith(prefix)), prefix).removeprefix(prefix).split()

    def measure(self, options):
        started = time.perf_counter()
        self.scratch.mkdir(exist_ok=True)
        script = self.scratch / "algorithm.dml"
        script.write_text(self.with_seeds())
        maker = self.scratch / "make.dml"
        writes = [f'write({name}, ${name}, format="binary")' for name in self.words("inputs")]
        maker.write_text("\n".join([self.data, *writes]) + "\n")

        command = [options.cli, "run", "--threads", "2", "--config", "fulgurite.rand.stream=systemds"]
        self.run_fulgurite([*command, maker], "fulgurite")
        seconds = []
        while len(seconds) <= ROUNDS and sum(seconds) < SECONDS:
            seconds.append(self.run_fulgurite([*command, script], "fulgurite", self.words("arguments")))
        ms = dict.fromkeys(bench_report.COLUMNS) | {"fulgurite": statistics.median(seconds[1:] or seconds) * 1e3}
        model = self.model("fulgurite")

        modes = [mode for mode in systemds_command.MODES if mode not in {*options.without, *self.words("without")}]
        if modes:
            systemds_command.run(self.scratch, modes[0], maker, self.files("systemds"))
        for mode in modes:
            seconds = []
            while not seconds or (len(seconds) < 2 and seconds[0] < SECONDS and options.rounds > 1):
                arguments = [*self.files("systemds"), *self.words("arguments")]
                output = systemds_command.run(self.scratch, mode, script, arguments, options=["-stats"])
                seconds.append(float(systemds_command.statistic(output, "Total elapsed time")))
            ms[mode] = min(seconds) * 1e3
            if not np.allclose(model, self.model("systemds"), rtol=1e-3, atol=1e-3 * np.abs(model).max()):
                raise SystemExit(f"{self.name}: the model of {mode} is not fulgurite's")
        row = {
            "group": "end to end",
            "pattern": self.name,
            "size": " ".join(self.words("size")),
            "ms": ms,
            "percent_of_limit": None,
            "target": TARGET,
            "seconds": round(time.perf_counter() - started, 1),
        }
        bench_report.print_row(row)
        return row

    def with_seeds(self):
        """The algorithm, drawing the same numbers in each run."""
        seeds = itertools.count(11)
        return re.sub(r"\b([Rr]and)\s*\(\s*(?=rows\b)", lambda call: f"{call[1]}(seed={next(seeds)}, ", (self.scripts / self.words("script")[0]).read_text())

    def files(self, system):
        """Arguments that name the inputs and the model."""
        return [f"{name}={self.scratch / f'{self.name}-{system}-{name}'}" for name in [*self.words("inputs"), *self.words("output")]]

    def model(self, system):
        file = self.scratch / f"{self.name}-{system}-{self.words('output')[0]}"
        return np.loadtxt(file, delimiter=",", ndmin=2)

    def run_fulgurite(self, command, system, arguments=()):
        """Seconds of wall-clock time."""
        start = time.perf_counter()
        done = subprocess.run([*command, "-nvargs", *self.files(system), *arguments], capture_output=True, text=True, cwd=self.scratch)
        seconds = time.perf_counter() - start
        if done.returncode != 0:
            raise SystemExit(f"{self.name} failed:\n{done.stdout[-2000:]}{done.stderr}")
        return seconds


def algorithms(options):
    return {file.stem: Algorithm(file, options) for file in sorted((options.folder / "end_to_end").glob("*.dml"))}
