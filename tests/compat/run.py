"""Runs every case on Fulgurite, compares with what the reference systems gave, and writes STATUS.md.

    python tests/compat/run.py [--fulgurite PATH] [CASE or FAMILY ...]

Needs no Java. Exits with 1 where a case that `expected.txt` lists fails: it passed before.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import time

import case as cases
import common
import compare
import oracles
import status

POLICIES = ("none", "cost")
FORMS = ("dense", "sparse")
# Where operators run: in this process, or, where they need more than a few kilobytes, as dataflow on workers in it.
PLACES = ("here", "workers")
WORKERS = {"fulgurite.backend": "local", "fulgurite.memory.local": "4k"}
EXPECTED = common.HERE / "expected.txt"


# How often a case that passed before is tried again, where no more than so many fail.
AGAIN = 2
MOST_AGAIN = 3


class Runner:
    def __init__(self, command, limit, forms, policies, place="here"):
        self.command, self.limit = command, limit
        self.elsewhere = WORKERS if place == "workers" else {}
        self.modes = [(policy, form) for form in forms for policy in policies]
        listed = subprocess.run([command, "config"], capture_output=True, text=True, check=True).stdout
        self.keys = set(re.findall(r"^(fulgurite\.[\w.]+) = ", listed, re.M))

    def configuration(self, case, policy):
        scripts = oracles.SCRIPTS[case.system]
        entries = {"fulgurite.fusion.policy": policy, "fulgurite.threads": "1", "fulgurite.rand.stream": case.system, "fulgurite.dialect": case.system}
        entries.update(self.elsewhere)
        if case.system == "systemds":
            entries["fulgurite.builtins"] = str(scripts / "builtin")
        # Of the keys, a command of today knows what it knows.
        return [word for key, value in entries.items() if key in self.keys for word in ("--config", f"{key}={value}")]

    def once(self, case, recorded, policy, form):
        """What is wrong in one mode, in words; `None` where nothing is."""
        with common.folder_of(case, sparse=form == "sparse") as folder:
            for script, arguments in common.steps_of(case):
                line = [self.command, "run", *self.configuration(case, policy), script, *arguments]
                code, output, errors = oracles.execute(line, folder, self.limit, {**os.environ, "LC_ALL": "C.UTF-8"})
                if code is None:
                    return f"not done after {self.limit} s"
                if code != 0:
                    return first_line(errors) if code == 1 else f"exit code {code}: {first_line(errors)}"
                if bad := cases.forbidden_line(case, output):
                    return bad
            try:
                found = common.run_outputs(case, folder)
            except (OSError, ValueError, KeyError) as error:
                return f"outputs are not readable: {error}"
        _, verdict, values = recorded
        if verdict.startswith(common.VARIES):
            return compare.shapes(case, values, found)
        return compare.outputs(case, values, found)

    def run(self, case):
        """Failures by mode; `None` where the reference itself fails, so that there is nothing to compare with."""
        recorded = common.read_recording(case)
        if recorded is None:
            return {"": "not recorded"}
        if recorded[0] != common.fingerprint(case):
            return {"": "recorded from other inputs: run tests/compat/record.py --stale"}
        if recorded[1].startswith(common.FAILED):
            return None
        failures = {}
        for policy, form in self.modes:
            text = self.once(case, recorded, policy, form)
            if text:
                failures[f"{form}, {policy}"] = text
        return failures


def first_line(errors):
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return re.sub(r"/\S*/(?=scripts/|driver)", "", lines[0]) if lines else "no message"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="CASE or FAMILY")
    parser.add_argument("--fulgurite", default=str(oracles.ROOT / "target" / "ci" / "fulgurite"), help="the command, of target/ci unless told")
    parser.add_argument("--limit", type=int, default=30, help="seconds a run")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--policy", choices=POLICIES, help="only this one")
    parser.add_argument("--form", choices=FORMS, help="only this form of inputs")
    parser.add_argument("--place", choices=PLACES, default="here", help="where operators run that need more than a few kilobytes")
    parser.add_argument("--check", action="store_true", help="leave STATUS.md as it is")
    parser.add_argument("--bless", action="store_true", help="write expected.txt: what passes now has to pass from now on")
    options = parser.parse_args()
    oracles.need_scripts()
    command = str(pathlib.Path(options.fulgurite).resolve())
    forms = [options.form] if options.form else FORMS
    policies = [options.policy] if options.policy else POLICIES
    runner = Runner(command, options.limit, forms, policies, options.place)
    families = common.load_cases()
    chosen = common.select(families, options.words)
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.workers) as pool:
        results = dict(zip((f"{case.family}: {case.name}" for case in chosen), pool.map(runner.run, chosen), strict=True))
    whole = not options.words and not options.form and not options.policy and options.place == "here"
    for name, failures in results.items():
        if failures and not whole:
            print(name, *(f"\n  {mode}: {text}" for mode, text in failures.items()), sep="")
    compared = {name: failures for name, failures in results.items() if failures is not None}
    passed = {name for name, failures in compared.items() if not failures}
    print(f"{len(passed)} of {len(compared)} cases pass, {time.monotonic() - started:.0f} s")
    if whole and not options.check:
        print(status.write(common.HERE / "STATUS.md", families, results))
    if options.bless and whole:
        EXPECTED.write_text("".join(f"{name}\n" for name in sorted(passed)))
    expected = set(EXPECTED.read_text().splitlines()) if EXPECTED.exists() else set()
    lost = sorted(expected & set(compared) - passed)
    # Scripts that check gradients draw numbers without a seed, and now and then one lies where a slope changes: what fails is tried again.
    again = {f"{case.family}: {case.name}": case for case in chosen}
    for _ in range(AGAIN if len(lost) <= MOST_AGAIN else 0):
        lost = [name for name in lost if runner.run(again[name])]
    for name in lost:
        mode, text = next(iter(results[name].items()))
        print(f"passed before: {name} ({mode}): {text}", file=sys.stderr)
    sys.exit(1 if lost else 0)


if __name__ == "__main__":
    main()
