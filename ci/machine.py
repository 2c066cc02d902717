"""The machine that figures belong to."""

import os
import platform
import time
from pathlib import Path

# Share of all cores' time that others may take while something is timed, and seconds to wait for that.
BUSY = 0.05
PATIENCE = 10


def machine():
    return f"{cpu_info('model name') or platform.processor()}, {len(os.sched_getaffinity(0))} cores"


def kind():
    """The processor, without what differs between machines that have it."""
    avx512 = "with AVX-512" if "avx512f" in cpu_info("flags").split() else "without AVX-512"
    return f"{cpu_info('model name') or platform.processor()}, {avx512}"


def cpu_info(key):
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.split(":", 1)[1].strip() for line in lines if line.split(":")[0].strip() == key), "")


def settle(patience=PATIENCE):
    """Waits until nothing is done behind the scenes: files being written out, a peer that compiles or collects garbage."""
    os.sync()
    until = time.monotonic() + patience
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
