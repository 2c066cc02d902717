"""Times the patterns in tests/bench/patterns: Fulgurite fused and unfused, NumPy or SciPy, JAX, and SystemDS without code generation and
with it. Peers run on the same cells in the same run; rounds are interleaved, medians are over all rounds. The names `compile` and
`end-to-end` stand for compile times and whole algorithms. Called by ci/bench."""

import argparse
import datetime
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import bench_compile
import bench_end_to_end
import bench_report
import peers
from machine import machine, settle

REPEAT = 5
ROUNDS = 3
# A whole run ends within 40 minutes; end to end has its own part of them.
MINUTES = 28
# Executions before those that count, and seconds after which a pattern is not executed again.
WARM_UP = 2
SECONDS = 6


def fulgurite(options, *arguments):
    command = [options.bench, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class Pattern:
    """A folder with data.dml, which makes the inputs, and pattern.dml, which is timed and sets `result`. In a pattern of so many steps, the
    lines with {i}, which stand together, take turns."""

    def __init__(self, folder, scratch, steps=None):
        self.key = folder.name
        self.steps = steps
        self.data = (folder / "data.dml").read_text()
        self.script = (folder / "pattern.dml").read_text()
        self.folder = folder
        if steps:
            lines, templates = self.script.splitlines(), [line for line in self.script.splitlines() if "{i" in line]
            chain = [templates[(i - 1) % len(templates)].format(i=i) for i in range(1, steps + 1)]
            place = lines.index(templates[0])
            lines[place : place + len(templates)] = chain
            self.script = "\n".join(lines) + "\n"
            self.folder = scratch / f"{self.key}-{steps}"
            self.folder.mkdir(exist_ok=True)
            (self.folder / "data.dml").write_text(self.data)
            (self.folder / "pattern.dml").write_text(self.script)
        self.threads = int(self.words("threads", "2")[0])
        self.passes = int(self.words("passes", "1")[0])
        self.flops = float(self.words("flops")[0]) + (steps or 0) * float(self.words("flops of a step", "0")[0])
        self.left_out = self.words("left out", "") + (self.words("left out beyond 10 steps", "") if (steps or 0) > 10 else [])

    def words(self, key, default=None):
        lines = (line for line in self.data.splitlines() if line.startswith(f"# {key}:"))
        return next(lines, f"# {key}: {default}").removeprefix(f"# {key}:").split()

    def variants(self, scratch):
        return [Pattern(self.folder, scratch, int(steps)) for steps in self.words("steps", "")] or [self]

    def target(self, shape):
        """What is to be reached, as in {"bandwidth": 90}."""
        words = self.words("target", "") + self.words("dense target" if shape.sparsity == 1 else "sparse target", "")
        return {name: float(value) for name, value in (word.split("=") for word in words)}


class Shape:
    """ROWSxCOLSxSPARSITY of the pattern's X."""

    def __init__(self, text):
        rows, cols, sparsity = text.split("x")
        self.rows, self.cols, self.sparsity = int(rows), int(cols), float(sparsity)
        self.arguments = {"rows": rows, "cols": cols, "sparsity": sparsity}

    def __str__(self):
        return f"{self.rows}x{self.cols} " + ("dense" if self.sparsity == 1 else f"{self.sparsity:g}")


def measure(options, pattern, shape, on_pace):
    started = time.perf_counter()
    arguments = ["pattern", pattern.folder, *(f"--{name}={value}" for name, value in shape.arguments.items()), "--threads", pattern.threads]
    dump = options.scratch / "inputs"
    shutil.rmtree(dump, ignore_errors=True)
    fulgurite(options, *arguments, "--repeat", 1, "--dump", dump)
    left_out = {*options.without, *pattern.left_out}
    running = peers.available(left_out, pattern, shape, dump, options.scratch)
    policies = {name: policy for name, policy in [("fulgurite", "cost"), ("unfused", "none")] if name not in left_out}
    times = {name: [] for name in bench_report.COLUMNS}
    checksums, limits = {}, []
    for done in range(options.rounds):
        if done and not on_pace():
            break
        settle()
        for name, policy in policies.items():
            [seen] = fulgurite(options, *arguments, "--repeat", REPEAT + WARM_UP, "--seconds", SECONDS, "--policy", policy)
            times[name] += seen["milliseconds"][WARM_UP:]
            checksums[name] = seen["checksum"]
            limits.append((seen["readGigabytesPerSecond"], seen["gigaflopsPerSecond"]))
            if policy == "cost":
                run = seen
        for name, peer in list(running.items()):
            settle()
            try:
                seen, checksums[name] = peer.run(REPEAT)
            except Exception as failure:  # Whatever a peer raises when memory is short, say.
                print(f"{pattern.key} {shape}: {name} can't: {str(failure).splitlines()[0]}", file=sys.stderr)
                del running[name]
                continue
            times[name] += seen
    for name, checksum in checksums.items():
        if abs(checksum - checksums["fulgurite"]) > 1e-9 * abs(checksum):
            raise SystemExit(f"{pattern.key} {shape}: fulgurite gives {checksums['fulgurite']}, {name} {checksum}")
    shutil.rmtree(dump)
    medians = {name: statistics.median(values) if values else None for name, values in times.items()}
    # The best figures seen are the machine's; what is less was another's doing.
    bandwidth, flops = (max(values) for values in zip(*limits))
    # What the limits leave: each input read once, and the pattern's operations on each non-zero of X.
    read = pattern.passes * run["inputBytes"] / bandwidth / 1e6
    compute = run["mainNonZeros"] * pattern.flops / flops / 1e6
    row = {
        "group": "cell chains" if pattern.threads == 1 else "patterns",
        "pattern": pattern.key,
        "size": size_of(pattern, shape),
        "ms": medians,
        "percent_of_limit": round(100 * max(read, compute) / medians["fulgurite"], 1),
        "limit": "bandwidth" if read >= compute else "flops",
        "target": pattern.target(shape),
        "threads": pattern.threads,
        "non_zeros": run["mainNonZeros"],
        "bandwidth_gb_s": round(bandwidth, 1),
        "flops_gf_s": round(flops, 1),
        "seconds": round(time.perf_counter() - started, 1),
    }
    bench_report.print_row(row)
    return row


def size_of(pattern, shape):
    steps = f", n={pattern.steps}" if pattern.steps else ""
    passes = f", {pattern.passes} times" if pattern.passes > 1 else ""
    return f"{shape}{steps}{passes}"


def estimate(options, names):
    """Says how long the run will take: as the last one that was kept, and what was not in it a minute each. `names` has one for each row."""
    file = options.folder / "results.json"
    rows = json.loads(file.read_text())["rows"] if file.exists() else []
    last = {name: [row["seconds"] for row in rows if row["pattern"] == name and "seconds" in row] for name in names}
    seconds = sum(statistics.mean(last[name] or [60]) for name in names)
    print(f"{len(names)} rows, about {seconds / 60:.0f} minutes with all peers", file=sys.stderr)


def renewed(results, rows, date):
    """Kept results, with rows that were measured again."""
    def key(row):
        return row["group"], row["pattern"], row["size"]

    again = {key(row): row | {"date": date} for row in rows}
    if missing := [" ".join(place) for place in again if place not in map(key, results["rows"])]:
        raise SystemExit(f"the kept results have no {', '.join(missing)}: measure all with --keep")
    return results | {"rows": [again.get(key(row), row) for row in results["rows"]]}


def main():
    parser = argparse.ArgumentParser(prog="ci/bench", description=__doc__, epilog=f"peers: {', '.join(bench_report.COLUMNS[2:])}")
    parser.add_argument("names", nargs="*", help="patterns, `compile`, `end-to-end` or names of its algorithms; all where none is named")
    parser.add_argument("--without", nargs="*", default=[], metavar="PEER", help="peers that are left out")
    parser.add_argument("--shape", help="ROWSxCOLSxSPARSITY, instead of the patterns' own")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="at most; fewer where the whole would take too long")
    parser.add_argument("--resume", action="store_true", help="take the rows over that the last run had measured when it was cut off")
    parser.add_argument("--keep", action="store_true", help="write tests/bench/RESULTS.md, results.json and the table in README.md, which belong to a whole run")
    parser.add_argument("--renew", action="store_true", help="put these rows, with their date, in the place that they have in what --keep wrote")
    for path in ["bench", "cli", "folder", "scratch", "scripts"]:
        parser.add_argument(f"--{path}", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.keep and options.renew:
        parser.error("--keep belongs to a whole run, --renew to some rows")
    options.scratch.mkdir(parents=True, exist_ok=True)
    all_patterns = {folder.name: Pattern(folder, options.scratch) for folder in sorted((options.folder / "patterns").iterdir())}
    algorithms = bench_end_to_end.algorithms(options)
    chosen = set(options.names) or {*all_patterns, *algorithms, "compile"}
    if "end-to-end" in chosen:
        chosen = (chosen - {"end-to-end"}) | set(algorithms)
    if unknown := sorted(chosen - {*all_patterns, *algorithms, "compile"}):
        parser.error(f"there is no {unknown[0]}; there are {', '.join([*all_patterns, 'compile', 'end-to-end', *algorithms])}")
    runs = [
        (variant, Shape(shape))
        for name, pattern in all_patterns.items()
        if name in chosen
        for variant in pattern.variants(options.scratch)
        for shape in ([options.shape] if options.shape else pattern.words("shapes"))
    ]
    estimate(options, [pattern.key for pattern, _ in runs] + [name for name in algorithms if name in chosen])
    started = time.perf_counter()
    unfinished = options.scratch / "rows.json"
    rows = json.loads(unfinished.read_text()) if options.resume and unfinished.exists() else []
    measured = {(row["pattern"], row["size"]) for row in rows}
    failures = []

    def attempt(measure):
        """The other rows are worth having where one fails, or where the run is cut off."""
        try:
            rows.extend(measure())
            unfinished.write_text(json.dumps(rows))
        except SystemExit as failure:
            print(failure, file=sys.stderr)
            failures.append(failure)

    for place, (pattern, shape) in enumerate(runs, 1):
        if (pattern.key, size_of(pattern, shape)) in measured:
            continue
        # More rounds as long as no more than its share of the time is used up.
        attempt(lambda: [measure(options, pattern, shape, lambda: time.perf_counter() - started < MINUTES * 60 * place / len(runs))])
    if "compile" in chosen and not any(row["group"] == "compile times" for row in rows):
        attempt(lambda: bench_compile.measure(options, fulgurite(options, "compile")))
    for name in sorted(chosen & set(algorithms) - {pattern for pattern, _ in measured}):
        attempt(lambda: [algorithms[name].measure(options)])
    two_threads = [row for row in rows if row.get("threads") == 2]
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "bandwidth_gb_s": max((row["bandwidth_gb_s"] for row in two_threads), default=None),
        "flops_gf_s": max((row["flops_gf_s"] for row in two_threads), default=None),
        "minutes": round((time.perf_counter() - started) / 60, 1),
        "rows": rows,
    }
    kept = options.folder / "results.json"
    before = json.loads(kept.read_text()) if kept.exists() else {}
    if options.renew:
        results = renewed(before, rows, results["date"])
    # `ci/bench work`, `--python`, `--learn` and `--frames` keep their figures there, too.
    results |= {name: before[name] for name in ["work", "python", "learn", "frames"] if name in before}
    folder = options.folder if options.keep or options.renew else options.scratch
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "RESULTS.md").write_text(bench_report.report(results))
    if options.keep or options.renew:
        bench_report.fill_readme(options.folder.parent.parent / "README.md", "bench", bench_report.core(results))
    print(f"{folder}/RESULTS.md; {(time.perf_counter() - started) / 60:.0f} minutes", file=sys.stderr)
    if failures:
        raise SystemExit(f"{len(failures)} rows failed")
    unfinished.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
