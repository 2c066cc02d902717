"""The machine that figures belong to."""

import os
import platform
from pathlib import Path


def machine():
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), platform.processor())
    return f"{model}, {len(os.sched_getaffinity(0))} cores"
