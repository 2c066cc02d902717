"""What `ci/bench --frames` prints and keeps: a line for each program, FRAMES.md, and the README's block."""

import importlib.metadata

from bench_python_report import mean
from bench_work_report import circumstances, number

PEERS = ["pandas", "polars", "duckdb", "numba", "python", "spark", "comet", "scala"]
GROUPS = {
    "crossing": "Programs that cross from tables into mathematics, most of them Weld's; [examples/weld](../../examples/weld) has them",
    "queries": "Queries of TPC-H at scale factor 1, on tables in memory",
    "counts": "Counts of 1e8 whole numbers",
    "functions": "A function of Python on each row. `python` calls it, Numba compiles it, and the others run what somebody wrote for them",
    "spark": "SQL on sessions of Spark 3.5 with two threads: Fulgurite's extension, Spark's own code, and Comet 0.12; a function of each row in Scala, in Python, of pandas, and Python's as Fulgurite translates it, which runs in Python's workers. `MB` is the JVM's alone",
}
# What programs that cross are to reach in geometric mean; each of them is to be no slower than the best peer.
MEAN = 3.0
LEAST = 1.0


def libraries():
    return {name: importlib.metadata.version(name) for name in ["numpy", "pandas", "polars", "duckdb", "numba"]}


def best_peer(row, among=PEERS):
    return min(((name, row["ms"][name]) for name in among if name in row["ms"]), key=lambda rival: rival[1])


def rivals(row):
    """Those that the program is to reach something against."""
    return row["against"] or PEERS


def ratio(row, among=PEERS):
    """The best peer's time as a multiple of ours."""
    return best_peer(row, among)[1] / row["ms"]["fulgurite"]


def least_ratio(row):
    return min(row["least_ms"][name] for name in PEERS if name in row["least_ms"]) / row["least_ms"]["fulgurite"]


def least_memory(row):
    """Of a peer."""
    return min(((name, row["mb"][name]) for name in PEERS if name in row["mb"]), key=lambda rival: rival[1])


def reached(row):
    return ratio(row, rivals(row)) >= row["reach"]


def verdict(row):
    against = f" times {', '.join(row['against'])}" if row["against"] else ""
    found = ratio(row, rivals(row))
    said = "reached" if reached(row) else f"missed, {found:.2f}"
    return f"{said}: {row['reach']:g}{against}"


def print_row(row):
    cells = "  ".join(f"{name} {number(value)}" for name, value in row["ms"].items())
    least = least_memory(row)
    print(f"{row['program']:18} {row['size']:38} {cells}  | {ratio(row):.2f} ({best_peer(row)[0]}) {verdict(row)} | MB {row['mb']['fulgurite']:.0f} / {least[1]:.0f} ({least[0]})", flush=True)


def means(rows):
    """Geometric means over programs, by group and by peer."""
    lines = []
    crossing = [ratio(row) for row in rows if row["group"] == "crossing"]
    if crossing:
        slower = sum(value < LEAST for value in crossing)
        lines.append(f"Programs that cross: geometric mean of best peer / fulgurite {mean(crossing):.2f} over {len(crossing)}, of which {slower} are slower; to reach: {MEAN:g}, and none.")
    lines.append(f"All: {mean([ratio(row) for row in rows]):.2f} over {len(rows)} programs.")
    for name in PEERS:
        against = [row["ms"][name] / row["ms"]["fulgurite"] for row in rows if name in row["ms"]]
        if against:
            lines.append(f"Against {name}: {mean(against):.2f} over {len(against)} programs, of which {sum(value >= 1 for value in against)} are won.")
    return lines


def summary(rows):
    """Means, wins and losses, for terminals; tables of documents have a verdict in each line."""
    lines = means(rows)
    won = sorted((row for row in rows if ratio(row) >= 1), key=ratio, reverse=True)
    lost = sorted((row for row in rows if ratio(row) < 1), key=ratio)
    lines.append(f"Won: {len(won)}. {listed(won)}")
    lines.append(f"Lost: {len(lost)}. {listed(lost)}")
    missed = [row for row in rows if not reached(row)]
    lines.append(f"Not reached: {len(missed)}. " + ", ".join(f"{row['program']} {verdict(row)}" for row in missed))
    above = [row for row in rows if row["mb"]["fulgurite"] > least_memory(row)[1]]
    lines.append(f"Peak memory above the least of the peers': {len(above)}. " + ", ".join(f"{row['program']} {memory(row)} MB" for row in above))
    return [line.strip() for line in lines]


def misses(rows):
    """A table of what is not reached."""
    heads = ["program", "best peer / fulgurite", "to reach", "MB, fulgurite / least peer"]
    missed = sorted((row for row in rows if not reached(row)), key=ratio)
    lines = [f"Not reached by {len(missed)} of {len(rows)}:", "", "| " + " | ".join(heads) + " |", "|---|---:|---|---:|"]
    for row in missed:
        lines.append(f"| {row['program']} | {ratio(row):.2f} ({best_peer(row)[0]}) | {verdict(row)} | {memory(row)} |")
    return lines if missed else []


def listed(rows):
    return ", ".join(f"{row['program']} {ratio(row):.2f} ({best_peer(row)[0]})" for row in rows)


def memory(row):
    least = least_memory(row)
    return f"{row['mb']['fulgurite']:.0f} / {least[1]:.0f} ({least[0]})"


def table(rows):
    peers = [name for name in PEERS if any(name in row["ms"] for row in rows)]
    heads = ["program", "what", "size", "fulgurite", *peers, "best peer / fulgurite", "of least times", "first call", "MB, fulgurite / least peer", "verdict"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---|" + "---:|" * (len(heads) - 4) + "---|"]
    for row in rows:
        cells = [row["program"], row["what"].replace("|", "\\|"), row["size"], *(number(row["ms"].get(name)) for name in ["fulgurite", *peers])]
        cells += [f"{ratio(row):.2f} ({best_peer(row)[0]})", f"{least_ratio(row):.2f}", number(row["first_ms"]["fulgurite"]), memory(row), verdict(row)]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


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
    return lines


def report(tables):
    lines = [
        "# Programs on tables",
        "",
        "Made by `ci/bench --frames --renew`: programs that filter, join and group tables and compute on their columns, declared in [frames](frames/README.md). Milliseconds are medians. Ratios are the "
        "best peer's time by Fulgurite's: below 1, Fulgurite is slower. `-` is a peer that can't run a program, or that takes so much longer that it is left out.",
        "",
        "Each side runs what its users write: pandas with NumPy, Polars' lazy frames (the engine, in memory or streaming, that is faster), SQL on DuckDB's own tables, and loops that Numba compiles over pandas' "
        "columns. Peers leave their library for NumPy only where that is faster.",
        "",
        "Each side keeps its tables in the memory of one process, in its own form, and finds what it compiled before. The sides take turns on the same cores. All have the same rows, within the tolerance that "
        "the program declares. `of least times` is the ratio of fastest executions, which other processes disturb less. `first call` is Fulgurite's first execution in milliseconds. `MB` is the most memory of a "
        "further process during its second execution, with tables and results, less what it had before it loaded the tables, and without the pages of libraries' code.",
    ]
    for kind, results in sorted(tables.items()):
        lines += section(kind, results)
    return "\n".join(lines) + "\n"


def core(results):
    """The README's block."""
    rows = results["rows"]
    about = "Programs that filter, join and group tables and compute on their columns, against pandas, Polars, DuckDB and Numba:"
    lines = [about, "", f"{len(rows)} programs on tables on {results['machine']}, two threads, on {results['date']}; all of it in [FRAMES.md](tests/bench/FRAMES.md).", ""]
    return "\n".join([*lines, *(f"- {line}" for line in means(rows)), "", *misses(rows)] if rows else lines)
