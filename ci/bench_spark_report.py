"""What ci/bench --spark prints and keeps."""

import math
import statistics

POLICIES = ["cost", "fuse-all", "fuse-no-redundancy", "none"]
# `cost` on a DataFrame, as MLlib has it.
FRAME = "frame"
COLUMNS = [*POLICIES, FRAME, "systemds_base", "systemds_fused", "systemds_gen", "mllib"]
# By peer our variant on the same data, and how many times as long the peer is to take in geometric mean; SystemDS is never to be faster.
TARGETS = {"systemds_gen": ("cost", 3.0), "mllib": (FRAME, 2.0)}
HANDOVER_SHARE = 0.05


def number(seconds):
    return f"{seconds:.2f}" if seconds < 100 else f"{seconds:.0f}"


def cell(row, variant):
    seconds = row["seconds"].get(variant)
    return row["notes"].get(variant, "-") if seconds is None else number(seconds)


def ratio(row, peer):
    """How many times as long as ours on the same data it takes, where both ran."""
    ours, theirs = row["seconds"].get(TARGETS[peer][0]), row["seconds"].get(peer)
    return theirs / ours if ours and theirs else None


def print_row(row):
    cells = "  ".join(f"{variant} {cell(row, variant)}" for variant in COLUMNS if variant in row["seconds"])
    print(f"{row['algorithm']:12} {row['size']:24} {cells}", flush=True)


def print_handover(row):
    print(f"{row['operator']:28} {row['blocks']:.1f} blocks: operator {row['operator_us']:.0f} us each, handover {row['task_us']:.0f} us, {row['share']:.1%}; job {row['job_ms']:.1f} ms", flush=True)


def table(heads, rows, texts=1):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * texts + "---:|" * (len(heads) - texts)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]


def times(rows):
    columns = [variant for variant in COLUMNS if any(variant in row["seconds"] for row in rows)]
    peers = [peer for peer in TARGETS if peer in columns]
    others = [policy for policy in POLICIES[1:] if policy in columns]
    lines = []
    for row in rows:
        best = min((row["seconds"][policy] for policy in others if row["seconds"].get(policy)), default=None)
        ours = row["seconds"].get("cost")
        compared = [f"{ours / best:.2f}" if ours and best else "-"] if others else []
        compared += [f"{found:.1f}" if (found := ratio(row, peer)) else "-" for peer in peers]
        reading = number(row["reading"]) if row["reading"] is not None else "-"
        lines.append([row["algorithm"], row["size"], str(row["iterations"] or "-"), *(cell(row, variant) for variant in columns), reading, *compared])
    heads = ["algorithm", "large input", "iterations", *(variant.replace("_", " ") for variant in columns)]
    heads += ["of frame reading", *(["cost / best other"] if others else [])]
    return table([*heads, *(f"{peer.replace('_', ' ')} / {TARGETS[peer][0]}" for peer in peers)], lines, 2)


def verdicts(rows):
    lines = []
    for peer, (ours, wanted) in TARGETS.items():
        ratios = {row["algorithm"]: found for row in rows if (found := ratio(row, peer))}
        if not ratios:
            continue
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        text = f"{peer.replace('_', ' ')} takes {mean:.1f} times as long as `{ours}` in geometric mean of {len(ratios)} algorithms; {'reached' if mean >= wanted else 'missed'}: {wanted:g} times."
        slower = [f"{name} ({found:.2f})" for name, found in ratios.items() if found < 1]
        if peer == "systemds_gen":
            text += f" Missed: never slower, is slower in {', '.join(slower)}." if slower else " Reached: never slower."
        lines += ["", text]
    return lines


def where(rows):
    """What ran on Spark, in the same runs."""
    lines = []
    for row in rows:
        ours = row["evidence"].get("cost")
        cells = [f"{ours['on_spark']} of {ours['runs']}", str(ours["jobs"]), f"{ours['scans']:.0f}", number(ours["native"])] if ours else ["-"] * 4
        for mode in ("systemds_base", "systemds_fused", "systemds_gen"):
            theirs = row["evidence"].get(mode)
            cells.append(", ".join(f"{code} {count}" for code, count in sorted(theirs["on_spark"].items(), key=lambda found: -found[1])) if theirs else "-")
        peaks = [f"{row['peak'][variant] / 2**30:.1f}" if row["peak"].get(variant) else "-" for variant in ("cost", "systemds_gen", "mllib")]
        lines.append([row["algorithm"], f"{row['budget'] / 2**20:.0f}", *cells, *peaks])
    heads = ["algorithm", "budget, MiB", "operator runs on Spark, cost", "jobs", "scans of the large input", "native s", "SystemDS base on Spark", "fused", "gen"]
    return table([*heads, "most GiB, cost", "SystemDS gen", "MLlib"], lines)


def handover(rows):
    lines = []
    for name in dict.fromkeys(row["operator"] for row in rows):
        of = [row for row in rows if row["operator"] == name]
        # What a task takes by its number of blocks, by a straight line.
        further, task = statistics.linear_regression([row["blocks"] for row in of], [row["task_us"] for row in of])
        for row in of:
            low, high = row["shares"]
            lines.append([
                f"`{name}`", f"{row['blocks']:.0f}", f"{row['operator_us']:.0f}", f"{row['task_us'] / row['blocks']:.0f}", f"{row['share']:.1%}", f"{low:.1%}-{high:.1%}",
                ("reached" if row["share"] <= HANDOVER_SHARE else "missed") + f": {HANDOVER_SHARE:.0%}", f"{task:.0f} + {further:.1f} a block", f"{row['job_ms']:.1f}",
            ])
    return table(["operator", "blocks a task", "operator us a block", "handover us a block", "share", "runs", "target", "us of a task, by a line", "job ms beside its tasks"], lines)


def report(results):
    rows = results["rows"]
    lines = [
        "# Algorithms on Spark",
        "",
        f"Made by `ci/bench --spark --size {results['settings']['size']}` on {results['date']} in {results['seconds'] / 60:.0f} minutes: {results['machine']}; FP64. "
        "Seconds are medians of runs that take turns, each in a process of its own.",
        "",
        f"All run with `local[2]`, a heap of {results['settings']['heap']}, and a local budget of 1/{results['budgets']} of their large input, so that what reads it is distributed: "
        "`fulgurite.memory.local` here, in SystemDS, where the budget follows the heap, the memory that it believes to have. Fulgurite and MLlib run on Spark 4.3, SystemDS 3.4 on Spark 3.5, "
        "in hybrid mode; base without fusion, fused with its hand-written operators, gen with code generation, compiled by Janino. Fulgurite and SystemDS run the same scripts, examples/algorithms, with tolerance 0 and so with the same iterations, and "
        "come to the same models, which is checked: a peer's time does not count where its model is another one than those of Fulgurite and of a further peer. MLlib minimises other losses or by other methods; it gets as many iterations as the script has passes of its inner loop.",
        "",
        "Counted is what happens once the JVM, Spark's context and the DataFrame of a file that nobody has read are there, until the model is on the driver, or for SystemDS in a file. Reading the data is in it: "
        "Fulgurite and SystemDS read their own binary files, by `read` in the script; MLlib reads a Parquet file of vectors, and so does `frame`, which is `cost` on the same DataFrame: how long it takes to make stripes of it is told. Files are in the page cache, each JVM is cold. MLlib caches the blocks that it makes of the vectors; the DataFrame is not cached beside them. `-`: left out, or there is no such algorithm.",
    ]
    if rows:
        lines += ["", *times(rows), *verdicts(rows), "", "## What ran where", ""]
        lines += [
            "Of the last runs. Operator runs are the control program's, local ones included; scans are how often operators on Spark read all of the large input, native seconds those of both cores "
            "together; SystemDS: instructions on Spark by code, `spoof` those that it generated. Memory is the most that the JVM's process had, native memory included.",
            "", *where(rows),
        ]
    if results["handover"]:
        lines += [
            "", "## What handing a block over takes", "",
            f"Measured on {results['handover']['date']}. Operators on a cached dense matrix in stripes of 1000 x 1000, in two tasks, each run ten times in a loop, and that several times after some that do not count: medians, with the range of the shares. "
            "The handover is what tasks take on their executor, from reading the task to writing its result, beside the operators themselves: JNI, Arrow, the task's JSON, Spark's storage and accumulators, and "
            "what Spark does in a task. Both are timed in the same runs, on the same clock, so that it does not matter how fast memory is at the time. Spark rounds two times down to milliseconds; one more is counted for each task. "
            f"The fewest blocks are the 128 MB that Spark reads of a file at a time. An empty job of two tasks takes {results['handover']['empty_ms']:.1f} ms in the same process.",
            "", *handover(results["handover"]["rows"]),
        ]
    return "\n".join(lines) + "\n"
