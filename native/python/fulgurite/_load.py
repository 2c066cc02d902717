"""Loads the extension, or says in one sentence why it cannot run here.

The engine runs on every processor of the architecture that the extension was built for: it asks for
wider vectors when it chooses code. The loader refuses a processor of another architecture, but its
message does not say so.
"""

import os
from pathlib import Path

# Architectures by their number in the header of an ELF file, named as the system does.
_ARCHITECTURES = {62: "x86_64", 183: "aarch64", 243: "riscv64"}


def _refusal(reason):
    files = sorted(Path(__file__).parent.glob("_native*.so"))
    if not files:
        return (
            "this folder holds fulgurite's sources without its extension: install the wheel that "
            "ci/package builds, and start Python elsewhere"
        )
    with files[0].open("rb") as file:
        header = file.read(20)
    built = _ARCHITECTURES.get(int.from_bytes(header[18:20], "little"), "another architecture")
    here = os.uname().machine
    if built != here:
        return (
            f"this fulgurite was built for processors of type {built}, "
            f"and this machine's processor is of type {here}"
        )
    return f"fulgurite's extension does not load: {reason}"


try:
    from . import _native  # noqa: F401
except ImportError as reason:
    raise ImportError(_refusal(reason), name="fulgurite._native") from None


def numpy_version():
    """The version of NumPy that is installed."""
    import numpy

    return numpy.__version__


def has_arrays():
    """Whether NumPy has what lazy arrays are made of."""
    major, minor = numpy_version().split(".")[:2]
    return (int(major), int(minor)) >= (2, 1)
