"""What `ci/bench --learn` prints and keeps: a line for each fit, LEARN.md, and the README's block."""

import importlib.metadata

from bench_python_report import mean
from bench_work_report import BUSY, circumstances, number

PEERS = ["sklearn", "intelex", "glum", "implicit", "mllib"]
NAMES = {"sklearn": "scikit-learn", "intelex": "scikit-learn-intelex", "glum": "glum", "implicit": "implicit", "mllib": "MLlib"}
GROUPS = {"linear": "Linear models", "generalised": "Generalised linear models and naive Bayes", "unsupervised": "Clusters, components and factors"}
# What is to be reached: geometric means of a peer's time by ours, and the least of each row.
MEANS = {"sklearn": 3.0, "intelex": 1.0, "glum": 1.0, "mllib": 3.0}
LEAST = 1.0
# The shape that is all overhead: at most so many times scikit-learn's time.
TINY, TINY_TIMES = "150x4", 2.0
# MB above scikit-learn's peak that are not counted: first fits plan and compile, and start threads.
SLACK = 2
# By how much an objective may be worse than scikit-learn's, relative to it.
WORSE = 1e-8


def libraries():
    found = {}
    for name in ["numpy", "scipy", "scikit-learn", "scikit-learn-intelex", "glum", "implicit"]:
        found[name] = importlib.metadata.version(name)
    return found


def ratio(row, peer):
    """A peer's time as a multiple of ours."""
    return row["ms"][peer] / row["ms"]["fulgurite"] if peer in row["ms"] else None


def reference(row):
    """The peer whose memory and objective ours are compared with."""
    return next((name for name in ["sklearn", "implicit"] if name in row["ms"]), None)


def excess(row, side="fulgurite"):
    """By how much the objective is worse than the reference's, relative to it; below zero it is better."""
    other = reference(row)
    ours, theirs = row["objective"].get(side), row["objective"].get(other)
    return None if ours is None or theirs is None else (ours - theirs) / max(abs(theirs), 1e-300)


def takes_more(row):
    other = reference(row)
    return other is not None and row["mb"]["fulgurite"] > row["mb"][other] + SLACK


def verdict(row):
    found = []
    for peer in PEERS:
        against = ratio(row, peer)
        if against is None or (row["shape"] == TINY and peer != "sklearn"):
            continue
        least = 1 / TINY_TIMES if row["shape"] == TINY else LEAST
        if against < least:
            found.append(f"slower than {NAMES[peer]}: {against:.2f}")
    if takes_more(row):
        found.append("more memory")
    worse = excess(row)
    if worse is not None and worse > WORSE:
        found.append(f"objective worse by {worse:.1e}")
    return ", ".join(found) or "reached"


def against_all(row):
    return ", ".join(f"{ratio(row, name):.2f} ({name})" for name in PEERS if name in row["ms"]) or "-"


def memory(row):
    other = reference(row)
    return f"{row['mb']['fulgurite']:.0f} / {row['mb'][other]:.0f}" if other else f"{row['mb']['fulgurite']:.0f} / -"


def objectives(row):
    """Of each peer that is compared: how much worse than scikit-learn it is. Zero is the same."""
    found = [(name, excess(row, name)) for name in ["fulgurite", *PEERS] if name in row["ms"] and name != reference(row)]
    return ", ".join(f"{name} {value:+.0e}" for name, value in found if value is not None) or "-"


def print_row(row):
    cells = "  ".join(f"{name} {number(value)}" for name, value in row["ms"].items())
    print(f"{row['row'] + ' ' + row['size']:34} {cells}  | {against_all(row)} | MB {memory(row)} | objective {objectives(row)} | {verdict(row)}", flush=True)


def means(rows):
    """Geometric means over fits of large data, and over the small ones."""
    lines = []
    large, tiny = [row for row in rows if row["shape"] != TINY], [row for row in rows if row["shape"] == TINY]
    for name in PEERS:
        against = [ratio(row, name) for row in large if name in row["ms"]]
        if against:
            to_reach = f", to reach: {MEANS[name]:g}" if name in MEANS else ""
            lines.append(f"{NAMES[name]} / fulgurite: {mean(against):.2f} over {len(against)} fits{to_reach}; {sum(value >= 1 for value in against)} are won, {sum(value < 1 for value in against)} lost.")
    times = [1 / ratio(row, "sklearn") for row in tiny if "sklearn" in row["ms"]]
    if times:
        lines.append(f"At {TINY}, fulgurite / scikit-learn: {mean(times):.2f} over {len(times)} fits, at most {max(times):.2f}; to reach: at most {TINY_TIMES:g}.")
    return lines


def listed(rows):
    return ", ".join(f"{row['row']}/{row['shape']} {against_all(row)}" for row in rows)


def least(row):
    return min((ratio(row, name) for name in PEERS if name in row["ms"]), default=1)


def summary(rows):
    """Means, wins and losses, for terminals; tables of documents have a verdict in each line."""
    lines = means(rows)
    won = sorted((row for row in rows if least(row) >= 1), key=least, reverse=True)
    lost = sorted((row for row in rows if least(row) < 1), key=least)
    lines.append(f"Faster than all peers: {len(won)}. {listed(won)}")
    lines.append(f"Slower than one of them: {len(lost)}. {listed(lost)}")
    above = [row for row in rows if takes_more(row)]
    lines.append(f"More memory: {len(above)}. " + ", ".join(f"{row['row']}/{row['shape']} {memory(row)} MB" for row in above))
    worse = [row for row in rows if (excess(row) or 0) > WORSE]
    lines.append(f"Worse objective: {len(worse)}. " + ", ".join(f"{row['row']}/{row['shape']} {excess(row):+.0e}" for row in worse))
    return [line.strip() for line in lines]


def misses(rows):
    """A table of what is not reached."""
    missed = sorted((row for row in rows if verdict(row) != "reached"), key=least)
    lines = [f"Not reached by {len(missed)} of {len(rows)}:", "", "| fit | peer / fulgurite | MB, fulgurite / scikit-learn | what |", "|---|---|---:|---|"]
    for row in missed:
        lines.append(f"| {row['row']} {row['size']} | {against_all(row)} | {memory(row)} | {verdict(row)} |")
    return lines if missed else []


def table(rows):
    peers = [name for name in PEERS if any(name in row["ms"] for row in rows)]
    heads = ["row", "what", "size", "fulgurite", *(NAMES[name] for name in peers), "peer / fulgurite", "first fit", "objective", "MB, fulgurite / scikit-learn", "verdict"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---|" + "---:|" * (len(peers) + 1) + "---|---:|---|---:|---|"]
    for row in rows:
        cells = [row["row"], row["what"], row["size"], *(number(row["ms"].get(name)) for name in ["fulgurite", *peers])]
        cells += [against_all(row), number(row["first_ms"]["fulgurite"]), objectives(row), memory(row), verdict(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def is_disturbed(rows):
    """Whether other processes ran beside most of the fits."""
    return sum(row["busy"] >= BUSY for row in rows) > len(rows) / 2


CAUTION = (
    "Most of these figures are of a busy machine, and ratios can be wrong by far. Threads of OpenMP wait actively, so that small fits of peers take up to a hundred times longer there "
    "than on an idle one. Measure them again before you rely on them."
)


def section(kind, results):
    rows = results["rows"]
    versions = ", ".join(f"{name} {version}" for name, version in results["libraries"].items())
    lines = ["", f"## {kind}", "", f"{results['date']}, {results['machine']}, {sum(row['seconds'] for row in rows) / 60:.0f} minutes; {versions}."]
    lines += circumstances([row | {"fit": f"{row['row']}/{row['shape']}"} for row in rows], results["date"], "fit")
    if is_disturbed(rows):
        lines += ["", CAUTION]
    for group, text in GROUPS.items():
        chosen = [row for row in rows if row["group"] == group]
        if chosen:
            lines += ["", f"### {text}", "", *table(chosen)]
    if results.get("failed"):
        lines += ["", "### What Fulgurite can't fit", "", *(f"- {label}: {why}." for label, why in results["failed"].items())]
    left = {f"{row['row']}/{row['shape']}: {failure}" for row in rows for failure in row["failures"].values()}
    if left:
        lines += ["", "### What peers can't do", "", *(f"- {line}." for line in sorted(left))]
    return [*lines, "", "### Summary", "", *(f"- {line}" for line in means(rows)), "", *misses(rows)] if rows else lines


def report(tables):
    lines = [
        "# Fits of estimators",
        "",
        "Made by `ci/bench --learn --renew`: fits of `fulgurite.learn` and of other libraries' estimators, declared in [learn](learn/README.md). Milliseconds are medians; FP64. Ratios are a peer's time "
        "by Fulgurite's: below 1, Fulgurite is slower. `-` is a library that has no such estimator or can't fit these data.",
        "",
        "All sides fit the same data with the same parameters and tolerance. Each keeps its data in the memory of one process and finds what it compiled before. The sides take turns on the same cores. A peer "
        "that takes over a second and twice the best peer's time has one turn. `first fit` is Fulgurite's first one, which plans and compiles.",
        "",
        "`objective` is how much worse than scikit-learn's the objective is that a side reached, relative to it: below zero it is better. Fits without one are closed forms, which are checked to be the same. "
        "`MB` is the most memory of the process during its first fit, above the data, and without the pages of libraries' code.",
    ]
    for kind, results in sorted(tables.items()):
        lines += section(kind, results)
    return "\n".join(lines) + "\n"


def core(results):
    """The README's block."""
    rows = results["rows"]
    if is_disturbed(rows):
        return "[LEARN.md](tests/bench/LEARN.md) has the fits that were measured, beside other processes so far."
    lines = [f"{len(rows)} fits of `fulgurite.learn` on {results['machine']}, two threads, on {results['date']}; all of it, with the objectives reached, in [LEARN.md](tests/bench/LEARN.md).", ""]
    missed = sum(verdict(row) != "reached" for row in rows) + len(results.get("failed", {}))
    return "\n".join([*lines, *(f"- {line}" for line in means(rows)), f"- Not reached by {missed} fits, in time, memory or objective."])
