"""What an evaluation takes beside its kernels, and importing the package beside NumPy, for `ci/bench --python`."""

import json
import os
import statistics
import subprocess
import sys
import time

# Rows and columns of the inputs: what is all overhead, and 1e5 cells.
SHAPES = [(10, 10), (317, 317)]
# Executions of a batch, whose mean is taken, and batches, whose median is.
BATCH, BATCHES = 200, 15
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
    found = [ran([sys.executable, "-c", IMPORT], environment).split() for _ in range(IMPORTS)]
    imported = {"numpy": statistics.median(float(numpy) for numpy, _ in found), "beside_numpy": statistics.median(float(ours) for _, ours in found)}
    return {"import_ms": imported, "evaluations": json.loads(ran([sys.executable, __file__, str(threads)], environment))}


def ran(command, environment):
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def program(xp, X, Y):
    return xp.sum((X * Y + 1) / (Y + 2))


def batches(call, native):
    """Microseconds of an execution, and those of them that are not in the native evaluation."""
    call()
    took, beside = [], []
    for _ in range(BATCHES):
        seconds = native()
        start = time.perf_counter()
        for _ in range(BATCH):
            call()
        whole = time.perf_counter() - start
        took.append(whole / BATCH * 1e6)
        beside.append((whole - (native() - seconds)) / BATCH * 1e6)
    return statistics.median(took), statistics.median(beside)


def main():
    import numpy as np

    import fulgurite as fg

    fg.config(threads=int(sys.argv[1]))
    fused = fg.fuse(lambda X, Y: program(fg, X, Y))
    rows = []
    for rows_, cols in SHAPES:
        random = np.random.default_rng(7)
        X, Y = random.random((rows_, cols)), random.random((rows_, cols))
        A, B = fg.asarray(X), fg.asarray(Y)
        row = {"cells": rows_ * cols}
        row["numpy"], _ = batches(lambda: float(program(np, X, Y)), lambda: 0.0)
        row["fulgurite"], row["fulgurite_beside"] = batches(lambda: float(program(fg, A, B)), native_seconds)
        row["fused"], row["fused_beside"] = batches(lambda: float(fused(A, B)), native_seconds)
        rows.append(row)
    print(json.dumps(rows))


def native_seconds():
    import fulgurite as fg

    return fg.statistics()["seconds"]


if __name__ == "__main__":
    main()
