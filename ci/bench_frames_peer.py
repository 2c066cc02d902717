"""Runs one program of `ci/bench --frames` on one side, in a process of its own, as often as lines of the standard input tell. Called by
ci/bench_frames.py, which says in which commands."""

import argparse
import gc
import importlib
from pathlib import Path

import numpy as np
import pyarrow

import bench_frames_data
import bench_frames_programs
from bench_python_peer import forget_peak, kilobytes
from bench_work_peer import serve, timed

# Libraries of each side, which are loaded before memory is counted.
LIBRARIES = {"fulgurite": ["fulgurite"], "pandas": ["pandas"], "polars": ["polars"], "duckdb": ["duckdb"], "numba": ["pandas", "numba"], "python": ["pandas"]}


class Peer:
    def __init__(self, options, program):
        for library in LIBRARIES[options.side]:
            importlib.import_module(library)
        self.before = kilobytes("VmRSS:") - kilobytes("RssFile:")
        self.tables = bench_frames_data.as_side(options.side, bench_frames_data.read(options.inputs))
        # What was read, if it is not what the side has, is nobody's.
        gc.collect()
        pyarrow.default_memory_pool().release_unused()
        self.program, self.side, self.last = program, options.side, None

    def run(self, seconds, most):
        """Milliseconds of executions, and the most memory that they took, with inputs and results."""
        forget_peak()
        times = timed(self, lambda: self.program.run(self.side, self.tables), seconds, most)
        # Pages of files are those of libraries, which become resident when they are first used, and stay.
        peak = kilobytes("VmHWM:") - kilobytes("RssFile:")
        return {"milliseconds": times, "peakBytes": max(0, peak - self.before) * 1024}

    def results(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for place, column in enumerate(bench_frames_data.columns(self.last)):
            np.save(folder / f"{place}.npy", column)
        return {}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["programs", "inputs"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ["program", "side"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--divide", type=int, default=1)
    options = parser.parse_args()
    program = bench_frames_programs.load(options.programs)[options.program]
    serve(Peer(options, program.divided(options.divide) if options.divide > 1 else program))


if __name__ == "__main__":
    main()
