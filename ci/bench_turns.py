"""Sides that do the same work in processes of their own, which take turns on the same cores: what all benchmarks of rows and peers do."""

import contextlib
import datetime
import json
import os
import statistics
import subprocess
import sys
import time

import numpy as np
import scipy.sparse

from machine import busy, kind, machine, settle

# A peer that took longer than so many milliseconds, and so much longer than the best peer, has one turn.
SLOW_MILLISECONDS = 1000
# Seconds to wait for the machine to be idle before each round.
PATIENCE = 1


class Failed(Exception):
    pass


class Runner:
    """A process that runs one row, as commands tell. `times` are the milliseconds that count."""

    def __init__(self, name, command, threads, results):
        self.name, self.results = name, results
        limits = {f"{library}_NUM_THREADS": str(threads) for library in ["OMP", "OPENBLAS", "NUMEXPR", "NUMBA"]} | {"POLARS_MAX_THREADS": str(threads)}
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"} | limits
        cores = sorted(os.sched_getaffinity(0))[:threads]
        self.process = subprocess.Popen(
            list(map(str, command)), env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, cores)
        )
        self.times = []

    def ask(self, command):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            said = self.process.communicate()[1].strip().splitlines()
            raise Failed(f"{self.name} can't: {said[-1] if said else f'it ended with {self.process.returncode}'}")
        return json.loads(line)

    def median(self):
        return statistics.median(self.times)

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait()


class Turns:
    """The turns of some sides. One that fails is left out, and `failures` says why; without those that are `needed` there are none."""

    def __init__(self, label, needed=("fulgurite",)):
        self.label, self.needed = label, needed
        self.failures = {}

    def each(self, runners, act):
        """Those that could."""
        able = []
        for runner in runners:
            try:
                act(runner)
                able.append(runner)
            except Failed as failure:
                print(f"{self.label}: {failure}", file=sys.stderr)
                self.failures[runner.name] = str(failure)
                if runner.name in self.needed:
                    raise
        return able

    def rounds(self, runners, act, count, slow_times, ours=("fulgurite",)):
        """Gives each so many turns, and the shares of processor time that others took before each round."""
        loads, running = [], runners
        for place in range(count):
            settle(PATIENCE)
            loads.append(busy(0.1))
            # None always runs after the same other one.
            shift = place % len(running)
            running = self.each(running[shift:] + running[:shift], act)
            best = min((runner.median() for runner in running if runner.name not in ours), default=0)
            slow = max(SLOW_MILLISECONDS, slow_times * best)
            running = sorted((runner for runner in running if runner.name in ours or runner.median() <= slow), key=runners.index)
        return loads


class Measurement:
    """One line of a table. Who extends it has `options`, and `take_turns`: of runners, what their first executions gave, and the shares of
    processor time that others took before each round."""

    def measured(self, runners):
        """The runners that have times, by their names, what first executions gave, and what is kept of all lines."""
        started = time.perf_counter()
        try:
            first, loads = self.take_turns(runners)
        finally:
            for runner in runners:
                runner.end()
        measured = {runner.name: runner for runner in runners if runner.times}
        kept = {
            "date": datetime.date.today().isoformat(),
            "ms": {name: runner.median() for name, runner in measured.items()},
            "least_ms": {name: min(runner.times) for name, runner in measured.items()},
            "busy": round(max(loads), 2),
            "rounds": self.options.rounds,
            "seconds": round(time.perf_counter() - started, 1),
        }
        return measured, first, kept


def distance(one, other):
    """How far cells lie apart at most, as a share of the largest one; infinite where there are not as many."""
    if scipy.sparse.issparse(one) and scipy.sparse.issparse(other):
        if one.shape != other.shape:
            return np.inf
        apart, largest = abs(one - other), abs(one)
        return apart.max() / (largest.max() or 1.0)
    one, other = (np.ravel(value.toarray() if scipy.sparse.issparse(value) else value) for value in (one, other))
    if one.shape != other.shape:
        return np.inf
    largest = np.max(np.abs(one), initial=0.0) or 1.0
    return np.max(np.abs(one - other), initial=0.0) / largest


def keep(folder, table, rows, key, place, **more):
    """Puts the rows into the kept results of this kind of processor, in their places. Gives the tables of all kinds."""
    file = folder / "results.json"
    kept = json.loads(file.read_text())
    tables = kept.setdefault(table, {})
    again = {key(row) for row in rows}
    # Rows that are no longer declared have no place.
    rest = [row for row in before(folder, table).get("rows", []) if key(row) not in again and place(row) is not None]
    merged = sorted(rest + rows, key=place)
    tables[kind()] = {"date": datetime.date.today().isoformat(), "machine": machine(), **more, "rows": merged}
    file.write_text(json.dumps(kept, indent=1) + "\n")
    return tables


def before(folder, table):
    """What is kept of this kind of processor."""
    return json.loads((folder / "results.json").read_text()).get(table, {}).get(kind(), {})
