"""Times the patterns in tests/bench/patterns: Fulgurite fused and unfused, NumPy or SciPy, JAX, and SystemDS without code generation and
with it. Peers run on the same cells in the same run; rounds are interleaved, medians are over all rounds. Called by ci/bench."""

import argparse
import datetime
import json
import platform
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import peers

REPEAT = 5
ROUNDS = 3
# Executions before those that count.
WARM_UP = 2

COLUMNS = ["fulgurite", "unfused", "systemds_base", "systemds_fused", "systemds_gen", "numpy", "jax", "scipy"]


def fulgurite(options, *arguments):
    command = [options.bench, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


class Pattern:
    """A folder with data.dml, which makes the inputs, and pattern.dml, which is timed and sets `result`."""

    def __init__(self, folder):
        self.name = folder.name
        self.folder = folder
        self.data = (folder / "data.dml").read_text()
        self.script = (folder / "pattern.dml").read_text()

    def words(self, key):
        return next(line for line in self.data.splitlines() if line.startswith(f"# {key}:")).split()[2:]


class Shape:
    """ROWSxCOLSxSPARSITY of the pattern's X."""

    def __init__(self, text):
        rows, cols, sparsity = text.split("x")
        self.rows, self.cols, self.sparsity = int(rows), int(cols), float(sparsity)
        self.arguments = {"rows": rows, "cols": cols, "sparsity": sparsity}

    def __str__(self):
        return f"{self.rows}x{self.cols} " + ("dense" if self.sparsity == 1 else f"{self.sparsity:g}")


def measure(options, pattern, shape):
    arguments = ["pattern", pattern.folder, *(f"--{name}={value}" for name, value in shape.arguments.items())]
    dump = options.scratch / "inputs"
    shutil.rmtree(dump, ignore_errors=True)
    fulgurite(options, *arguments, "--repeat", 1, "--dump", dump)
    running = peers.available(options.without, pattern, shape, dump, options.scratch)
    times = {name: [] for name in COLUMNS}
    checksums, limits = {}, []
    for _ in range(options.rounds):
        for name, policy in [("fulgurite", "cost"), ("unfused", "none")]:
            [seen] = fulgurite(options, *arguments, "--repeat", REPEAT + WARM_UP, "--policy", policy)
            times[name] += seen["milliseconds"][WARM_UP:]
            checksums[name] = seen["checksum"]
            limits.append((seen["readGigabytesPerSecond"], seen["gigaflopsPerSecond"]))
        for name, peer in running.items():
            seen, checksums[name] = peer.run(REPEAT)
            times[name] += seen
    for name, checksum in checksums.items():
        if abs(checksum - checksums["unfused"]) > 1e-9 * abs(checksum):
            raise SystemExit(f"{pattern.name} {shape}: unfused gives {checksums['unfused']}, {name} {checksum}")
    shutil.rmtree(dump)
    medians = {name: statistics.median(values) if values else None for name, values in times.items()}
    # The best figures seen are the machine's; what is less was another's doing.
    bandwidth, flops = (max(values) for values in zip(*limits))
    work = seen_work(pattern, fulgurite(options, *arguments, "--repeat", 1)[0], bandwidth, flops)
    row = {
        "pattern": pattern.name,
        "size": str(shape),
        "ms": medians,
        "percent_of_limit": round(100 * work["milliseconds"] / medians["fulgurite"], 1),
        "limit": work["limit"],
        "bandwidth_gb_s": round(bandwidth, 1),
        "flops_gf_s": round(flops, 1),
    }
    print_row(row)
    return row


def seen_work(pattern, run, bandwidth, flops):
    """The time that the machine's limits leave: each input read once, and the pattern's operations on each non-zero of X."""
    read = run["inputBytes"] / bandwidth / 1e6
    compute = run["mainNonZeros"] * float(pattern.words("flops")[0]) / flops / 1e6
    return {"milliseconds": max(read, compute), "limit": "bandwidth" if read >= compute else "flops"}


def best_peer(row):
    rivals = {name: value for name, value in row["ms"].items() if value and name not in ("fulgurite", "unfused")}
    return min(rivals.items(), key=lambda rival: rival[1]) if rivals else None


def print_row(row):
    cells = "  ".join(f"{name} {value:.2f}" for name, value in row["ms"].items() if value is not None)
    print(f"{row['pattern']:9} {row['size']:18} {row['percent_of_limit']:5.0f} % of {row['limit']:9}  {cells}", flush=True)


def report(results):
    def cell(value):
        return "-" if value is None else f"{value:.2f}"

    lines = [
        "# Benchmark results",
        "",
        f"Made by `ci/bench` on {results['date']}: {results['machine']}; two threads, FP64.",
        "",
        f"Limits measured in the same run, the best seen: {results['bandwidth_gb_s']} GB/s read, {results['flops_gf_s']} GFLOP/s. `% of limit` is the time that reading each input once at the row's "
        "bandwidth, or its operations at the row's FLOP rate, would take, as a share of Fulgurite's time. Milliseconds are medians; SystemDS 3.4: base without fusion, "
        "fused with its hand-written operators (its default), gen with code generation.",
        "",
        "| pattern | size | " + " | ".join(name.replace("_", " ") for name in COLUMNS) + " | best peer / fulgurite | % of limit |",
        "|---|---|" + "---:|" * (len(COLUMNS) + 2),
    ]
    for row in results["rows"]:
        best = best_peer(row)
        ratio = f"{best[1] / row['ms']['fulgurite']:.1f} ({best[0].replace('_', ' ')})" if best else "-"
        cells = " | ".join(cell(row["ms"][name]) for name in COLUMNS)
        lines.append(f"| {row['pattern']} | {row['size']} | {cells} | {ratio} | {row['percent_of_limit']:.0f} ({row['limit']}) |")
    return "\n".join(lines) + "\n"


def machine():
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")), platform.processor())
    cores = len(__import__("os").sched_getaffinity(0))
    return f"{model}, {cores} cores"


def main():
    parser = argparse.ArgumentParser(prog="ci/bench", description=__doc__, epilog=f"peers: {', '.join(COLUMNS[2:])}")
    parser.add_argument("patterns", nargs="*", help="names of patterns; all where none is named")
    parser.add_argument("--without", nargs="*", default=[], metavar="PEER", help="peers that are left out")
    parser.add_argument("--shape", help="ROWSxCOLSxSPARSITY, instead of the patterns' own")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep", action="store_true", help="write tests/bench/RESULTS.md and results.json, which belong to a whole run")
    parser.add_argument("--bench", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--scratch", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    all_patterns = {folder.name: Pattern(folder) for folder in sorted((options.folder / "patterns").iterdir())}
    if unknown := [name for name in options.patterns if name not in all_patterns]:
        parser.error(f"there is no pattern {unknown[0]}; there are {', '.join(all_patterns)}")
    options.scratch.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    rows = []
    for name in options.patterns or all_patterns:
        for shape in [options.shape] if options.shape else all_patterns[name].words("shapes"):
            rows.append(measure(options, all_patterns[name], Shape(shape)))
    results = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "bandwidth_gb_s": max(row["bandwidth_gb_s"] for row in rows),
        "flops_gf_s": max(row["flops_gf_s"] for row in rows),
        "rows": rows,
    }
    folder = options.folder if options.keep else options.scratch
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "RESULTS.md").write_text(report(results))
    print(f"{folder}/RESULTS.md; {(time.perf_counter() - started) / 60:.0f} minutes", file=sys.stderr)


if __name__ == "__main__":
    main()
