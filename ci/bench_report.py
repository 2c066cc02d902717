"""What ci/bench prints and keeps: a line for each row, RESULTS.md, and the table in README.md."""

COLUMNS = ["fulgurite", "unfused", "systemds_base", "systemds_fused", "systemds_gen", "numpy", "jax", "scipy"]

# The rows that the README shows, as pattern and size.
README_ROWS = [
    ("sum3", "100000x1000 dense"),
    ("magg", "100000x1000 dense"),
    ("mvchain", "100000x1000 dense"),
    ("mvchain", "100000x1000 0.1"),
    ("mmchain2", "100000x1000 dense"),
    ("mlrinner", "100000x1000 dense"),
    ("mlrinner", "100000x1000 0.1"),
    ("outer", "10000x10000 0.001"),
    ("alsupd", "10000x10000 0.01"),
    ("blackscholes", None),
    ("l2svm", None),
    ("mlogreg5", None),
    ("glm", None),
    ("kmeans", None),
    ("linreg_cg", None),
    ("als_cg", None),
]
MEANING = {
    "sum3": "sum(X*Y*Z)",
    "magg": "sum(X*Y), sum(X*Z)",
    "mvchain": "t(X) %*% (X %*% v)",
    "mmchain2": "t(X) %*% (X %*% V), two columns",
    "mlrinner": "inner loop of logistic regression, four classes",
    "outer": "sum(X * log(U %*% t(V) + 1e-15)), rank 100",
    "alsupd": "update of alternating least squares, rank 20",
    "blackscholes": "Black-Scholes, 1e8 records, one thread",
}

GROUPS = {
    "patterns": "Patterns, two threads. `unfused` is Fulgurite without fusion.",
    "cell chains": "Cell operations on one thread, as NumPy runs them; JAX is kept on one core, SystemDS runs one thread of operators.",
    "compile times": "Compiling one operator, all different ones, and finding it again. Nodes of Fulgurite include inputs and literals; JAX: XLA's part of `jit`; SystemDS: Janino's part, the mean of a "
    "dozen operators in one run. Neither says how long a hit takes.",
    "end to end": "SystemML 1.2's own scripts. Fulgurite: wall-clock time of the command, with the start of its process, reading the inputs, planning and compiling. SystemDS: the elapsed time that "
    "it reports, which has all of these in it except the start of its JVM; the better of two runs, of one where that takes longer than 12 s. Both read their own binary format and run the same iterations.",
}


def rivals(row, among=None):
    return {name: value for name, value in row["ms"].items() if value and name not in ("fulgurite", "unfused") and (among is None or name.startswith(among))}


def best_peer(row, among=None):
    return min(rivals(row, among).items(), key=lambda rival: rival[1], default=None)


def ratio(row, among=None):
    """How many times as long the best of these peers takes."""
    best = best_peer(row, among)
    return best[1] / row["ms"]["fulgurite"] if best else None


def verdicts(row):
    """What is to be reached, what is, and whether."""
    found = []
    for name, wanted in row.get("target", {}).items():
        if name in ("bandwidth", "flops"):
            if name == row["limit"]:
                reached = row["percent_of_limit"]
                found.append((f"{wanted:.0f} % of {name}", f"{reached:.0f} %", reached >= wanted))
        elif name == "ms":
            reached = row["ms"]["fulgurite"]
            found.append((f"at most {wanted:g} ms", f"{reached:.2g} ms", reached <= wanted))
        elif name == "ns":
            reached = row["ms"]["fulgurite"] * 1e6 * row["threads"] / row["non_zeros"]
            found.append((f"{wanted:g} ns per non-zero and thread", f"{reached:.1f} ns", reached <= wanted))
        elif (reached := ratio(row, None if name == "peers" else name)) is not None:
            found.append((f"{wanted:g} x {'the best peer' if name == 'peers' else name}", f"{reached:.1f} x", reached >= wanted))
    if (reached := ratio(row)) is not None and not any(wanted.endswith("the best peer") for wanted, _, _ in found):
        found.append(("as fast as the best peer", f"{reached:.1f} x", reached >= 1))
    return found


def verdict(row):
    found = verdicts(row)
    missed = [f"missed: {wanted}, is {reached}" for wanted, reached, good in found if not good]
    return "; ".join(missed) if missed else "reached: " + ", ".join(wanted for wanted, _, _ in found) if found else "-"


def print_row(row):
    cells = "  ".join(f"{name} {number(value)}" for name, value in row["ms"].items() if value is not None)
    limit = "" if row["percent_of_limit"] is None else f"{row['percent_of_limit']:.0f} % of {row['limit']}"
    print(f"{row['pattern']:12} {row['size']:24} {limit:18} {cells}  | {verdict(row)}", flush=True)


def number(value):
    return "-" if value is None else f"{value:.4f}" if value < 0.1 else f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def named(name):
    return name.replace("_", " ")


def compared(row):
    best = best_peer(row)
    return f"{ratio(row):.1f} ({named(best[0])})" if best else "-"


def table(rows):
    """Peers that run none of the rows are left out."""
    columns = [name for name in COLUMNS if any(row["ms"][name] is not None for row in rows)]
    limits = any(row["percent_of_limit"] is not None for row in rows)
    heads = ["pattern", "size", *map(named, columns), "best peer / fulgurite", *(["% of limit"] if limits else []), "target"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 3) + "---|"]
    for row in rows:
        cells = [row["pattern"], row["size"], *(number(row["ms"][name]) for name in columns), compared(row)]
        cells += [f"{row['percent_of_limit']:.0f} ({row['limit']})"] if limits else []
        lines.append("| " + " | ".join([*cells, verdict(row)]) + " |")
    return lines


def steps_line(rows):
    """Whether a chain's time is linear in its steps: what each further one takes, between neighbouring rows."""
    chains = [(int(row["size"].rsplit("n=")[1]), row["ms"]["fulgurite"]) for row in rows if "n=" in row["size"]]
    slopes = [f"{n0} to {n1}: {(t1 - t0) / (n1 - n0):.2f}" for (n0, t0), (n1, t1) in zip(chains, chains[1:])]
    return ["", f"Milliseconds for each further row operation of `rowchain`: {', '.join(slopes)}."] if slopes else []


def report(results):
    lines = [
        "# Benchmark results",
        "",
        f"Made by `ci/bench` on {results['date']} in {results['minutes']:.0f} minutes: {results['machine']}; FP64. Milliseconds are medians.",
        "",
        f"Limits of two threads measured in the same run, the best seen: {results['bandwidth_gb_s']} GB/s read, {results['flops_gf_s']} GFLOP/s. `% of limit` is the time that reading each input once "
        "at the bandwidth measured for the row, or its operations at the row's FLOP rate, would take, as a share of Fulgurite's time. Inputs that fit into the last-level cache, as 80 MB do on some machines, can be "
        "read faster than that. A multiplication or an addition counts as an operation, an exponential, a logarithm or a hyperbolic tangent as thirty, a power as sixty.",
        "",
        "SystemDS 3.4: base without fusion, fused with its hand-written operators (its default), gen with code generation. `-`: what a peer can't do, or was left out because it takes minutes. Executions of a pattern after its first one find the program, its plan and compiled operators that it left, as JAX's calls do; `compile` tells what compiling an operator takes, and whole algorithms plan and compile in each run.",
    ]
    again = sorted({(row["date"], row["pattern"]) for row in results["rows"] if "date" in row})
    if again:
        lines += ["", f"Measured again since, with the limits of then: {', '.join(f'{pattern} ({date})' for date, pattern in again)}."]
    for group, text in GROUPS.items():
        rows = [row for row in results["rows"] if row["group"] == group]
        if rows:
            lines += ["", f"## {group.capitalize()}", "", text, "", *table(rows), *steps_line(rows)]
    judged = [found for row in results["rows"] for found in verdicts(row)]
    lines += ["", f"Targets: {sum(good for _, _, good in judged)} of {len(judged)} reached."]
    return "\n".join(lines) + "\n"


def core(results):
    """The README's table."""
    found = {(row["pattern"], size): row for row in reversed(results["rows"]) for size in (row["size"], None)}
    lines = [
        f"Milliseconds on {results['machine']}, two threads, FP64, on {results['date']}; all of it, with each peer and what the machine's limits leave, in [RESULTS.md](tests/bench/RESULTS.md).",
        "",
        "| what | size | Fulgurite | best of NumPy, SciPy, JAX, SystemDS | ratio |",
        "|---|---|---:|---:|---:|",
    ]
    for key in README_ROWS:
        if (row := found.get(key)) and (best := best_peer(row)):
            what = f"`{MEANING[row['pattern']]}`" if "(" in MEANING.get(row["pattern"], "") else MEANING.get(row["pattern"], f"{row['pattern']}, end to end")
            lines.append(f"| {what} | {row['size']} | {number(row['ms']['fulgurite'])} | {number(best[1])} ({named(best[0])}) | {ratio(row):.1f} |")
    return "\n".join(lines)


def fill_readme(file, name, text):
    """Puts a text between the marks of this name, where the README has them."""
    begin, end = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
    readme = file.read_text()
    if begin in readme:
        before, rest = readme.split(begin)
        file.write_text(f"{before}{begin}\n{text}\n{end}{rest.split(end)[1]}")
