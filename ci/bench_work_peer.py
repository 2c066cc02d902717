"""Runs one peer of one row of `ci/bench work`, in a process of its own, as often as lines of the standard input tell; the commands are those of
`fulgurite-bench work`, tests/bench/src/work.rs. Called by ci/bench_work.py."""

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

import bench_work_data
import bench_work_rows


def for_jax(inputs):
    import jax

    jax.config.update("jax_enable_x64", True)
    return {name: jax.numpy.asarray(value) if hasattr(value, "shape") else value for name, value in inputs.items()}


def for_frames(series, frame):
    """A column as a series, other matrices as a frame."""

    def convert(value):
        return value if not hasattr(value, "shape") else series(value[:, 0]) if value.shape[1] == 1 else frame(value)

    return lambda inputs: {name: convert(value) for name, value in inputs.items()}


def polars_frame(value):
    import polars

    return polars.DataFrame({f"c{column}": value[:, column] for column in range(value.shape[1])})


def prepared(peer, inputs):
    """As its users have them in memory."""
    if peer == "jax":
        return for_jax(inputs)
    if peer in ("polars", "pandas"):
        library = importlib.import_module(peer)
        return for_frames(library.Series, polars_frame if peer == "polars" else library.DataFrame)(inputs)
    return inputs


def compiled(peer, function, sizes):
    if peer != "jax":
        return function
    import jax

    static = [name for name in sizes if name in bench_work_rows.inspect.signature(function).parameters]
    program = jax.jit(function, static_argnames=static)
    return lambda **values: jax.block_until_ready(program(**values))


def arrays(result):
    """The outputs of a peer, as NumPy or SciPy have them; several are a tuple."""
    results = result if isinstance(result, tuple) else [result]
    return [value.to_numpy() if hasattr(value, "to_numpy") else value for value in results]


def kilobytes(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith(key)), 0)


def forget_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        pass


class Peer:
    def __init__(self, options, row):
        sizes = json.loads(options.sizes)
        function = compiled(options.peer, row.peers[options.peer], sizes)
        values = sizes | json.loads(options.paths)
        wanted = bench_work_rows.inspect.signature(row.peers[options.peer]).parameters
        # Libraries are loaded before memory is counted.
        if options.peer in ("numpy", "scipy", "jax", "polars", "pandas", "torch", "sklearn"):
            importlib.import_module(options.peer)
        self.before = kilobytes("VmRSS:")
        values |= prepared(options.peer, bench_work_data.read(options.inputs))
        values = {name: values[name] for name in wanted if name in values}
        self.row, self.call, self.last = row, lambda: function(**values), None

    def run(self, seconds, most):
        forget_peak()
        times = timed(self, self.call, seconds, most)
        return {"milliseconds": times, "peakBytes": max(0, kilobytes("VmHWM:") - self.before) * 1024}

    def results(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in zip(self.row.outputs, arrays(self.last), strict=True):
            bench_work_data.write(folder, name, value)
        return {}


def timed(peer, call, seconds, most):
    """Milliseconds of executions, until so many seconds are spent, and at most so many. The last result is the peer's."""
    times = []
    started = time.perf_counter()
    while not times or (time.perf_counter() - started < seconds and len(times) < most):
        # The last result makes room before the clock runs, as in fulgurite-bench.
        peer.last = None
        start = time.perf_counter()
        peer.last = call()
        times.append((time.perf_counter() - start) * 1e3)
    return times


def serve(peer):
    """Does what lines of the standard input tell, and answers each with a line."""
    for line in sys.stdin:
        match line.split():
            case ["run", seconds, most]:
                reply = peer.run(float(seconds), int(most))
            case ["results", folder]:
                reply = peer.results(Path(folder))
        print(json.dumps(reply), flush=True)


def serve_systemds(row, options):
    import bench_work_systemds

    peer = bench_work_systemds.SystemDs(row, json.loads(options.sizes), json.loads(options.paths), options.inputs, int(options.threads))
    try:
        serve(peer)
    finally:
        peer.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["rows", "inputs"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ["row", "peer", "sizes", "paths", "threads"]:
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    row = bench_work_rows.load(options.rows)[options.row]
    if options.peer == "systemds":
        serve_systemds(row, options)
        return
    serve(Peer(options, row))


if __name__ == "__main__":
    main()
