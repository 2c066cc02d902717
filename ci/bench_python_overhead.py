"""What an evaluation takes beside its kernels, and importing the package beside NumPy, for `ci/bench --python`."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

# Rows and columns of the inputs: what is all overhead, and 1e5 cells.
SHAPES = [(10, 10), (317, 317)]
# Executions, whose median is taken.
EXECUTIONS = 3000
IMPORTS = 9

IMPORT = """
import time
start = time.perf_counter()
import numpy
between = time.perf_counter()
import fulgurite
print((between - start) * 1e3, (time.perf_counter() - between) * 1e3)
"""


def measure(threads):
    """In processes of their own."""
    limits = {f"{library}_NUM_THREADS": str(threads) for library in ["OMP", "OPENBLAS"]}
    environment = os.environ | limits
    with tempfile.TemporaryDirectory() as bytecode:
        # As installed packages have it.
        compiled = environment | {"PYTHONPYCACHEPREFIX": bytecode, "PYTHONDONTWRITEBYTECODE": ""}
        _, *found = [ran([sys.executable, "-c", IMPORT], compiled).split() for _ in range(1 + IMPORTS)]
    imported = {"numpy": statistics.median(float(numpy) for numpy, _ in found), "beside_numpy": statistics.median(float(ours) for _, ours in found)}
    return {"import_ms": imported, "evaluations": json.loads(ran([sys.executable, __file__, str(threads)], environment))}


def ran(command, environment):
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def program(xp, X, Y):
    return xp.sum((X * Y + 1) / (Y + 2))


def medians(steps):
    """Microseconds of each of the steps, which are done one after the other, each with what the one before it gave; and those of them that the
    engine took."""
    took, native = [[] for _ in steps], []
    for _ in range(EXECUTIONS):
        given = None
        before = native_seconds()
        for step, times in zip(steps, took, strict=True):
            start = time.perf_counter()
            given = step(given)
            times.append(time.perf_counter() - start)
        native.append(native_seconds() - before)
    return [statistics.median(times) * 1e6 for times in [*took, native]]


def native_seconds():
    import fulgurite as fg

    return fg.statistics()["seconds"]


def main():
    import numpy as np

    import fulgurite as fg

    fg.config(threads=int(sys.argv[1]))
    fused = fg.fuse(lambda X, Y: program(fg, X, Y))
    rows = []
    for height, width in SHAPES:
        random = np.random.default_rng(7)
        X, Y = random.random((height, width)), random.random((height, width))
        A, B = fg.asarray(X), fg.asarray(Y)
        fg.compute(program(fg, A, B), fused(A, B))
        row = {"cells": height * width}
        row["numpy"], _ = medians([lambda _: program(np, X, Y)])
        row["build"], row["evaluate"], row["engine"] = medians([lambda _: program(fg, A, B), fg.compute])
        row["fused"], row["fused_engine"] = medians([lambda _: fg.compute(fused(A, B))])
        rows.append(row)
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
