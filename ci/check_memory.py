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
from xml.etree import ElementTree

# The file of the extension.
EXTENSION = "_native.abi3.so"


def findings(report):
    """Errors in valgrind's report with a function of the extension on their stacks, as text. What is never freed, since it is there
    for as long as the process, is none."""
    for error in ElementTree.parse(report).iter("error"):
        if error.findtext("kind").startswith("Leak_"):
            continue
        frames = [{part.tag: part.text for part in frame} for frame in error.iter("frame")]
        if any(Path(frame.get("obj", "")).name == EXTENSION for frame in frames):
            what = error.findtext("what") or error.findtext("xwhat/text")
            yield "\n".join([what, *(f"  {frame.get('fn', '?')} ({frame.get('obj', '?')})" for frame in frames)])


def main():
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        valgrind = ["valgrind", "--num-callers=40", "--xml=yes", f"--xml-file={report}"]
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]
        # Python's own allocator would hide what is read after it was freed.
        status = subprocess.run([*valgrind, *pytest], env=os.environ | {"PYTHONMALLOC": "malloc"}).returncode
        found = list(findings(report))
    print("\n\n".join(found))
    raise SystemExit(1 if found else status)


if __name__ == "__main__":
    main()
