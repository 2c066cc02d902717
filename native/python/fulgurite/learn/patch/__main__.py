"""Runs a script, or a module, with our estimators in the place of scikit-learn's."""

from __future__ import annotations

import argparse
import logging
import os
import runpy
import sys

from . import patch


def main():
    parser = argparse.ArgumentParser(
        prog="python -m fulgurite.learn.patch",
        description="Runs a script with Fulgurite's estimators in the place of scikit-learn's.",
        usage="%(prog)s [-v] [--only NAMES] (script.py | -m module) [argument ...]",
    )
    parser.add_argument(
        "-v",
        "--verbose",
        action="store_true",
        help="write what falls back to scikit-learn, and why, to the standard error stream",
    )
    parser.add_argument("--only", metavar="NAMES", help="these classes, as in KMeans,PCA")
    parser.add_argument("-m", dest="is_module", action="store_true", help="run a module")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.verbose:
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(name)s: %(message)s"))
        log = logging.getLogger("fulgurite.learn")
        log.addHandler(handler)
        log.setLevel(logging.INFO)
    try:
        patch(options.only.split(",") if options.only else None)
    except ValueError as error:
        parser.error(str(error))
    sys.argv = [options.script, *options.arguments]
    if options.is_module:
        # As `python -m` has it: modules are found from the current folder.
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.script, run_name="__main__", alter_sys=True)
    else:
        if not os.path.exists(options.script):
            parser.error(f"there is no file {options.script}")
        sys.path[0] = os.path.dirname(os.path.abspath(options.script))
        runpy.run_path(options.script, run_name="__main__")


if __name__ == "__main__":
    main()
