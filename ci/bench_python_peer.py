"""Runs one program of `ci/bench --python` on one side, in a process of its own, as often as lines of the standard input tell. Called by
ci/bench_python.py, which says in which commands."""

import argparse
import importlib
from pathlib import Path

import numpy as np

import bench_python_programs
from bench_work_peer import serve, timed

# Libraries of each side, which are loaded before memory is counted.
LIBRARIES = {
    "fulgurite": ["fulgurite"],
    "fused": ["fulgurite"],
    "jax": ["jax.numpy"],
    "torch": ["torch", "array_api_compat.torch"],
    "numexpr": ["numexpr"],
    "numba": ["numba"],
}


def read(folder):
    """The inputs that `write` left."""
    values = {path.stem: np.load(path) for path in folder.glob("*.npy")}
    for path in folder.glob("*.npz"):
        import scipy.sparse

        values[path.stem] = scipy.sparse.csr_array(scipy.sparse.load_npz(path))
    return values


def write(folder, inputs):
    """Puts arrays of NumPy and sparse arrays of SciPy into files."""
    for name, value in inputs.items():
        if isinstance(value, np.ndarray):
            np.save(folder / f"{name}.npy", value)
        else:
            import scipy.sparse

            scipy.sparse.save_npz(folder / f"{name}.npz", value, compressed=False)


def side(name, program, inputs):
    """A call that runs the program and waits for its results, a function that gives these as NumPy and SciPy have them, and what
    else there is to tell. Inputs become arrays of the library first."""
    return {"fulgurite": lazy, "fused": fused, "jax": jax, "torch": torch}.get(name, plain)(name, program, inputs)


def plain(name, program, inputs):
    form = program.form(name, np)
    return lambda: form(**inputs), lambda result: result, dict


def lazy(name, program, inputs):
    import fulgurite

    form = program.form(name, fulgurite)
    inputs = {name: fulgurite.asarray(value) for name, value in inputs.items()}
    return lambda: fulgurite.compute(*several(form(**inputs))), lambda result: result, lambda: fallbacks(fulgurite)


def fused(name, program, inputs):
    import fulgurite

    form = fulgurite.fuse(program.form(name, fulgurite))
    inputs = {name: fulgurite.asarray(value) for name, value in inputs.items()}
    return lambda: fulgurite.compute(*several(form(**inputs))), lambda result: result, lambda: fallbacks(fulgurite)


def fallbacks(fulgurite):
    return {"fallbacks": [f"{each.function} ({each.reason})" for each in fulgurite.fallbacks()], "statistics": fulgurite.statistics()}


def jax(name, program, inputs):
    import jax

    jax.config.update("jax_enable_x64", True)
    form = jax.jit(program.form(name, jax.numpy))
    inputs = {name: jax.numpy.asarray(value) for name, value in inputs.items()}
    return lambda: jax.block_until_ready(form(**inputs)), lambda result: mapped(np.asarray, result), dict


def torch(name, program, inputs):
    import array_api_compat.torch
    import torch

    form = torch.compile(program.form(name, array_api_compat.torch))
    inputs = {name: torch.from_numpy(value) for name, value in inputs.items()}

    def run():
        with torch.no_grad():
            return form(**inputs)

    return run, lambda result: mapped(lambda each: each.numpy(), result), dict


def several(result):
    return result if isinstance(result, tuple) else (result,)


def mapped(function, result):
    return tuple(map(function, several(result)))


def kilobytes(key):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key))


def forget_peak():
    Path("/proc/self/clear_refs").write_text("5")


class Peer:
    def __init__(self, options, program):
        for library in LIBRARIES.get(options.side, []):
            importlib.import_module(library)
        self.before = kilobytes("VmRSS:") - kilobytes("RssFile:")
        inputs = read(options.inputs)
        self.call, self.arrays, self.more = side(options.side, program, inputs)
        self.last = None

    def run(self, seconds, most):
        """Milliseconds of executions, and the most memory that they took, with inputs and results."""
        forget_peak()
        times = timed(self, self.call, seconds, most)
        # Pages of files are those of libraries, which become resident when they are first used, and stay.
        peak = kilobytes("VmHWM:") - kilobytes("RssFile:")
        return {"milliseconds": times, "peakBytes": max(0, peak - self.before) * 1024}

    def results(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        write(folder, {str(place): as_host(value) for place, value in enumerate(several(self.arrays(self.last)))})
        return self.more()


def as_host(value):
    return value if hasattr(value, "tocsr") else np.asarray(value)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["programs", "inputs"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ["program", "side"]:
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    serve(Peer(options, bench_python_programs.load(options.programs)[options.program]))


if __name__ == "__main__":
    main()
