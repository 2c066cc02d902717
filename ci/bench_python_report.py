"""What `ci/bench --python` prints and keeps: a line for each program, PYTHON.md, and the README's block."""

import importlib.metadata
import math

from bench_work_report import circumstances, number

OURS = ["fulgurite", "fused"]
PEERS = ["numpy", "numexpr", "numba", "jax", "torch"]
GROUPS = {
    "patterns": "The patterns of [RESULTS.md](RESULTS.md)",
    "weld": "The workloads of Weld, which are the programs of [examples/python](../../examples/python)",
    "programs": "Small programs of users",
}
# What is to be reached: the geometric mean of best peer / fulgurite, and its least.
MEAN, LEAST = 1.5, 0.95
# MB above NumPy's peak that are not counted against Fulgurite: plans, machine code, the stacks of threads.
SLACK = 1


def libraries():
    found = {}
    for name in ["numpy", "scipy", "numexpr", "numba", "jax"]:
        found[name] = importlib.metadata.version(name)
    return found


def best_peer(row):
    return min(((name, row["ms"][name]) for name in PEERS if name in row["ms"]), key=lambda rival: rival[1])


def ratio(row, side="fulgurite"):
    """The best peer's time as a multiple of ours."""
    return best_peer(row)[1] / row["ms"][side] if side in row["ms"] else None


def least_ratio(row):
    return min(row["least_ms"][name] for name in PEERS if name in row["least_ms"]) / row["least_ms"]["fulgurite"]


def mean(values):
    """Geometric."""
    return math.exp(sum(map(math.log, values)) / len(values))


def takes_more(row):
    """Whether Fulgurite takes more memory than NumPy."""
    return row["mb"]["fulgurite"] > row["mb"]["numpy"] + SLACK


def verdict(row):
    found = []
    if ratio(row) < LEAST:
        found.append(f"slower: {ratio(row):.2f}")
    if takes_more(row):
        found.append("more memory")
    return ", ".join(found) or "reached"


def print_row(row):
    cells = "  ".join(f"{name} {number(value)}" for name, value in row["ms"].items())
    memory = f"{row['mb']['fulgurite']:.0f} / {row['mb']['numpy']:.0f}"
    left = f" | in NumPy: {', '.join(row['fallbacks'])}" if row["fallbacks"] else ""
    print(f"{row['program']:22} {row['size']:32} {cells}  | {ratio(row):.2f} ({best_peer(row)[0]}) {verdict(row)} | MB {memory}{left}", flush=True)


def means(rows):
    """Geometric means over programs."""
    ratios = [ratio(row) for row in rows]
    lines = [f"Geometric mean of best peer / fulgurite: {mean(ratios):.2f} over {len(rows)} programs; to reach: {MEAN}."]
    fused = [ratio(row, "fused") for row in rows if "fused" in row["ms"]]
    if fused:
        lines.append(f"With `@fg.fuse`: {mean(fused):.2f} over {len(fused)} programs.")
    for name in PEERS:
        against = [row["ms"][name] / row["ms"]["fulgurite"] for row in rows if name in row["ms"]]
        if against:
            lines.append(f"Against {name}: {mean(against):.2f} over {len(against)} programs, of which {sum(value >= 1 for value in against)} are won.")
    return lines


def summary(rows):
    """Means, wins and losses, for terminals; tables of documents have a verdict in each line."""
    lines = means(rows)
    ratios = [ratio(row) for row in rows]
    won = sorted((row for row in rows if ratio(row) >= 1), key=ratio, reverse=True)
    lost = sorted((row for row in rows if ratio(row) < 1), key=ratio)
    lines.append(f"Won: {len(won)}. {listed(won)}")
    lines.append(f"Lost: {len(lost)}. {listed(lost)}")
    lines.append(f"Slower than {LEAST} times the best peer's speed: {sum(value < LEAST for value in ratios)}.")
    above = [row for row in rows if takes_more(row)]
    lines.append(f"Peak memory more than {SLACK} MB above NumPy's: {len(above)}. " + ", ".join(f"{row['program']} {row['mb']['fulgurite']:.0f} / {row['mb']['numpy']:.0f} MB" for row in above))
    return [line.strip() for line in lines]


def misses(rows):
    """A table of what is not reached."""
    heads = ["program", "best peer / fulgurite", "MB, fulgurite / numpy"]
    missed = sorted((row for row in rows if verdict(row) != "reached"), key=ratio)
    lines = [f"Not reached by {len(missed)} of {len(rows)}:", "", "| " + " | ".join(heads) + " |", "|---|---:|---:|"]
    for row in missed:
        lines.append(f"| {row['program']} | {ratio(row):.2f} ({best_peer(row)[0]}) | {row['mb']['fulgurite']:.0f} / {row['mb']['numpy']:.0f} |")
    return lines if missed else []


def listed(rows):
    return ", ".join(f"{row['program']} {ratio(row):.2f} ({best_peer(row)[0]})" for row in rows)


def table(rows):
    peers = [name for name in PEERS if any(name in row["ms"] for row in rows)]
    heads = ["program", "what", "size", *OURS, *peers, "best peer / fulgurite", "of least times", "/ fused", "first call", "MB, fulgurite / numpy", "verdict"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---|" + "---:|" * (len(heads) - 4) + "---|"]
    for row in rows:
        fused = ratio(row, "fused")
        cells = [row["program"], row["what"].replace("|", "\\|"), row["size"], *(number(row["ms"].get(name)) for name in [*OURS, *peers])]
        cells += [f"{ratio(row):.2f} ({best_peer(row)[0]})", f"{least_ratio(row):.2f}", "-" if fused is None else f"{fused:.2f}", number(row["first_ms"]["fulgurite"])]
        lines.append("| " + " | ".join([*cells, f"{row['mb']['fulgurite']:.0f} / {row['mb']['numpy']:.0f}", verdict(row)]) + " |")
    return lines


def overhead_lines(overhead):
    lines = [
        "Microseconds of `sum((X * Y + 1) / (Y + 2))`, whose structure was evaluated before. `engine` is what the engine took to run the plan, by `fg.statistics()`; `beside` is what evaluating took beside it.",
        "",
        "| cells | numpy | build | evaluate | engine | beside | fused | engine | beside |",
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in overhead["evaluations"]:
        beside, fused_beside = row["evaluate"] - row["engine"], row["fused"] - row["fused_engine"]
        figures = [row["numpy"], row["build"], row["evaluate"], row["engine"], beside, row["fused"], row["fused_engine"], fused_beside]
        lines.append("| " + " | ".join([str(row["cells"]), *(f"{figure:.1f}" for figure in figures)]) + " |")
    imported = overhead["import_ms"]
    return [*lines, "", f"Importing takes {imported['beside_numpy']:.0f} ms beside NumPy, which takes {imported['numpy']:.0f} ms."]


def section(kind, results):
    rows = results["rows"]
    versions = ", ".join(f"{name} {version}" for name, version in results["libraries"].items())
    lines = ["", f"## {kind}", "", f"{results['date']}, {results['machine']}, {sum(row['seconds'] for row in rows) / 60:.0f} minutes; {versions}."]
    lines += circumstances(rows, results["date"], "program")
    for group, text in GROUPS.items():
        chosen = [row for row in rows if row["group"] == group]
        if chosen:
            lines += ["", f"### {group.capitalize()}", "", f"{text}.", "", *table(chosen)]
    if rows:
        lines += ["", "### Summary", "", *(f"- {line}" for line in means(rows)), "", *misses(rows)]
    left = [row for row in rows if row["fallbacks"]]
    if left:
        lines += ["", "What ran in NumPy:", "", *(f"- {row['program']}: {', '.join(row['fallbacks'])}" for row in left)]
    if results["overhead"]:
        lines += ["", "### Overhead", "", *overhead_lines(results["overhead"])]
    return lines


def report(tables):
    lines = [
        "# Programs in Python",
        "",
        "Made by `ci/bench --python --renew`: programs that NumPy's users write, declared in [python](python/README.md). Milliseconds are medians; FP64. Ratios are the best peer's time by Fulgurite's: "
        "below 1, Fulgurite is slower. `-` is a peer that can't run a program, or that takes so much longer that it is left out.",
        "",
        "`fulgurite` runs the program of NumPy's users with another import: it builds the expression and evaluates it in each execution. `fused` runs it under `@fg.fuse`, as JAX runs it under `jit` and PyTorch "
        "under `compile`. Numexpr and Numba run programs that are written for them.",
        "",
        "Each side keeps its data in the memory of one process and finds what it compiled before. The sides take turns on the same cores. All give NumPy's numbers, within the tolerance that the program declares. "
        "`of least times` is the ratio of fastest executions, which other processes disturb less. `first call` is Fulgurite's first execution in milliseconds, which plans and compiles. `MB` is the most memory "
        "of a further process during its second execution, with inputs and results, less what it had before it loaded the inputs, and without the pages of libraries' code.",
    ]
    for kind, results in sorted(tables.items()):
        lines += section(kind, results)
    return "\n".join(lines) + "\n"


def core(results):
    """The README's block."""
    rows = results["rows"]
    lines = [f"{len(rows)} programs of NumPy's users on {results['machine']}, two threads, on {results['date']}; all of it in [PYTHON.md](tests/bench/PYTHON.md).", ""]
    return "\n".join([*lines, *(f"- {line}" for line in means(rows)), "", *misses(rows)] if rows else lines)
