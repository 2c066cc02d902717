"""Runs tests of the Python package under valgrind, which must find nothing in its extension. Of what it finds in Python's interpreter
and in other packages, nothing is shown.

    python ci/check_memory.py TESTS...

Python is the one that runs this: it has the package, pytest, and what the tests import.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

# How valgrind names the extension's file in the lines of a stack.
EXTENSION = "_native.abi3.so"


def findings(log):
    """The paragraphs of valgrind's log that a line of the extension stands in."""
    paragraphs, lines = [], []
    for line in [*log.splitlines(), "==0== "]:
        text = line.partition("== ")[2].strip()
        if text:
            lines.append(text)
        elif lines:
            paragraphs.append("\n".join(lines))
            lines = []
    return [paragraph for paragraph in paragraphs if EXTENSION in paragraph]


def main():
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        valgrind = ["valgrind", "--num-callers=40", f"--log-file={log}"]
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]
        # Python's own allocator would hide what is read after it was freed.
        status = subprocess.run([*valgrind, *pytest], env=os.environ | {"PYTHONMALLOC": "malloc"}).returncode
        found = findings(log.read_text(errors="replace"))
    print("\n\n".join(found))
    raise SystemExit(1 if found else status)


if __name__ == "__main__":
    main()
