"""Runs cases on the reference systems and records what they give.

    python tests/compat/record.py [--stale] [CASE or FAMILY ...]

By hand, on a machine with Java 17, after `ci/fetch-oracles --jars`. Each case runs twice: where the two differ, the reference is
not a function of its inputs, and the recording says so.
"""

import argparse
import re
import sys

import case as cases
import common
import compare
import oracles

TITLES = {"systemds": "SystemDS 3.4.0", "systemml": "SystemML 1.2.0"}


def reason(output, errors):
    """The innermost message of what the JVM printed."""
    lines = [line.strip() for line in (output + "\n" + errors).splitlines()]
    # SystemDS lists the messages from the outermost to the innermost one; SystemML leaves Java's stack trace.
    causes = [line for line in lines if re.match(r"[A-Z]\w+ --", line)] or [line for line in lines if line.startswith("Caused by: ")]
    if not causes or causes[-1].endswith("--"):
        # What is wrong in the text of a script: the innermost one is last.
        causes = [line for line in lines if " error] -> " in line]
    line = causes[-1] if causes else next((line for line in lines if re.search("rror|xception", line)), "no message")
    return re.sub(r"^(Caused by: |[A-Z]\w+ -- |[\w.$]+(Exception|Error): |ERROR: )*", "", line)[:200] or line[:200]


def once(case, limit):
    """The outputs, or the error in words."""
    with common.folder_of(case) as folder:
        for script, arguments in common.steps_of(case):
            code, output, errors = oracles.execute(oracles.command(case.system, script, arguments), folder, limit)
            if code is None:
                return f"not done after {limit} s"
            if code != 0 or "An Error Occurred" in output + errors:
                return reason(output, errors)
            if bad := cases.forbidden_line(case, output):
                return bad
        try:
            return common.run_outputs(case, folder)
        except (OSError, ValueError, KeyError) as error:
            return f"outputs are not readable: {error}"


def record(case, limit):
    """Writes the recording and gives its verdict."""
    first = once(case, limit)
    text = f"# {TITLES[case.system]} {common.fingerprint(case)}\n"
    if isinstance(first, str):
        # What the system says is its own text, which stays out of the repository.
        verdict = common.FAILED + (first if first.startswith("not done") else "it ends with an error")
        text += verdict + "\n"
    else:
        # A test that only reports needs no second run.
        second = once(case, limit) if case.outputs else first
        dumped = cases.dump(case, first)
        if isinstance(second, str):
            verdict = f"{common.VARIES}: the second run failed, {second}"
        else:
            other = compare.outputs(case, cases.load(dumped), second)
            verdict = f"{common.VARIES}: {other}" if other else ""
        text += (verdict + "\n" if verdict else "") + dumped
    path = common.recording(case)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return verdict


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="CASE or FAMILY")
    parser.add_argument("--stale", action="store_true", help="only what was not recorded yet or from other inputs")
    parser.add_argument("--limit", type=int, default=60, help="seconds a run")
    options = parser.parse_args()
    oracles.need_scripts()
    chosen = common.select(common.load_cases(), options.words)
    for case in chosen:
        if options.stale and (known := common.read_recording(case)) and known[0] == common.fingerprint(case):
            continue
        verdict = record(case, options.limit)
        size = common.recording(case).stat().st_size
        print(f"{case.name}: {verdict or 'recorded'} ({size} bytes)", flush=True)
    names = {common.recording(case) for group in cases.FAMILIES.values() for case in group}
    for path in sorted(set(common.RECORDED.rglob("*.txt")) - names):
        print(f"{path.name} belongs to no case", file=sys.stderr)


if __name__ == "__main__":
    main()
