"""The machine that figures belong to."""

import os
import platform
import time
from pathlib import Path

# Share of all cores' time that others may take while something is timed, and seconds to wait for that.
BUSY = 0.05
PATIENCE = 10


def machine():
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), platform.processor())
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def settle():
    """Waits until nothing is done behind the scenes: files being written out, a peer that compiles or collects garbage."""
    os.sync()
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and busy(0.3) > BUSY:
        pass


def busy(seconds):
    """Share of all cores' time that is not idle."""
    before = cpu_times()
    time.sleep(seconds)
    passed = [after - before for before, after in zip(before, cpu_times())]
    idle = passed[3] + passed[4]
    return 1 - idle / max(1, sum(passed))


def cpu_times():
    return [int(ticks) for ticks in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
