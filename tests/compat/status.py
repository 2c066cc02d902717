"""Writes STATUS.md: a row for each script of the reference systems."""

import case as cases
import common
import oracles

# The scripts that a family is to cover, so that none is forgotten.
WHOLE = {
    "SystemML algorithms": ("systemml", "algorithms", lambda path: path.stem),
    "SystemML datagen": ("systemml", "datagen", lambda path: path.stem),
    "SystemML utils": ("systemml", "utils", lambda path: path.stem),
    "SystemDS builtins": ("systemds", "builtin", lambda path: path.stem),
    "SystemDS nn layers": ("systemds", "nn/layers", lambda path: path.stem),
    "SystemDS nn optim": ("systemds", "nn/optim", lambda path: path.stem),
    "SystemDS nn networks": ("systemds", "nn/networks", lambda path: path.stem),
    "SystemDS algorithms": ("systemds", "algorithms", lambda path: path.stem),
    "SystemDS utils": ("systemds", "utils", lambda path: path.stem),
}

PASS, FAIL, UNRUN, EXCLUDED, MISSING = "passes", "fails", "the reference fails", "excluded", "no case"


def rows(family, group, results):
    """(script, state, words) for each script."""
    by_script = {}
    for case in group:
        for script in case.covers:
            by_script.setdefault(script, []).append(case)
    excluded = {item.script: item.reason for item in cases.EXCLUDED if item.family == family}
    names = set(by_script) | set(excluded)
    if family in WHOLE:
        system, folder, name = WHOLE[family]
        names |= {name(path) for path in (oracles.SCRIPTS[system] / folder).glob("*.dml")}
    for script in sorted(names, key=str.lower):
        if script in by_script:
            yield script, *verdict(by_script[script], results)
        elif script in excluded:
            yield script, EXCLUDED, excluded[script]
        else:
            yield script, MISSING, ""


def verdict(group, results):
    """A script passes if all its cases do that the reference itself can run."""
    remarks, ran = [], 0
    for case in group:
        known = common.read_recording(case)
        recorded = known[1] if known else ""
        if recorded.startswith(common.FAILED):
            remarks.append(f"`{case.name}`: {recorded[len(common.FAILED) :]}")
            continue
        ran += 1
        if failures := results[f"{case.family}: {case.name}"]:
            mode, text = next(iter(failures.items()))
            where = "" if len(failures) == 4 or not mode else f" ({'; '.join(failures)})"
            name = f"`{case.name}`: " if len(group) > 1 or case.name not in case.covers else ""
            return FAIL, name + text + where
        if recorded.startswith(common.VARIES):
            remarks.append("the reference differs from run to run: sizes are compared")
        if case.note:
            remarks.append(case.note)
    words = "; ".join(dict.fromkeys(remarks))
    return (PASS, words.replace("`: ", "`: the reference fails: ", 1) if words.startswith("`") else words) if ran else (UNRUN, words)


def cell(text):
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= 170 else text[:167] + "..."


def write(path, families, results):
    """Gives the totals in a line."""
    tables, totals = [], []
    for family in [*families, *(name for name in WHOLE if name not in families)]:
        found = list(rows(family, families.get(family, []), results))
        counts = {state: sum(row[1] == state for row in found) for state in (PASS, FAIL, UNRUN, EXCLUDED, MISSING)}
        totals.append((family, len(found), counts))
        tables.append(f"\n## {family}\n\n| Script | Result | |\n|---|---|---|\n")
        tables += [f"| {script} | {state} | {cell(words)} |\n" for script, state, words in found]
    lines = ["# Scripts of SystemML 1.2 and SystemDS 3.4 on Fulgurite\n\n"]
    lines.append("`tests/compat/run.py` writes this page. A script passes if its cases agree with the reference under the fusion\n")
    lines.append("policies `none` and `cost`, each with dense and with sparse inputs.\n\n")
    lines.append("| Family | Scripts | pass | fail | the reference fails | excluded | without a case |\n|---|---|---|---|---|---|---|\n")
    for family, count, counts in totals:
        lines.append(f"| {family} | {count} | {' | '.join(str(counts[state]) for state in (PASS, FAIL, UNRUN, EXCLUDED, MISSING))} |\n")
    path.write_text("".join(lines + tables))
    return "; ".join(f"{family}: {counts[PASS]} of {count}" for family, count, counts in totals)
