"""Times operators and small programs that users' programs consist of against the best peers of each, on the same data in one run. Each
system runs a row in a process of its own, which keeps its data and what it compiled; the processes take turns. Called by `ci/bench work`."""

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import bench_work_data
import bench_work_report
import bench_work_rows
from bench_turns import Failed, Measurement, Runner, Turns, distance, keep

# What is executed in a turn: until so many seconds are spent, and at most so often.
SECONDS = 0.4
MOST = 50
# Seconds and times before turns that count; an execution of so many milliseconds gains nothing by them, and counts as a turn.
WARM_UP = "0.1 3"
WARM_MILLISECONDS = 2000
# A slow peer that took so many times the best peer's time has one turn.
SLOW_TIMES = 1.5


class Side(Runner):
    """A system, whose first executions may count as its first turn."""

    def __init__(self, *given):
        super().__init__(*given)
        self.peak_bytes, self.ahead = 0, False

    def warm_up(self):
        seen = self.ask(f"run {WARM_UP}")
        self.peak_bytes = seen["peakBytes"]
        self.ahead = min(seen["milliseconds"]) > WARM_MILLISECONDS
        if self.ahead:
            self.times += seen["milliseconds"]

    def turn(self):
        if self.ahead:
            self.ahead = False
            return
        seen = self.ask(f"run {SECONDS} {MOST}")
        self.times += seen["milliseconds"]
        self.peak_bytes = max(self.peak_bytes, seen["peakBytes"])


class Line(Measurement):
    """One line of the table: a row of these sizes, scaled to so many times the work, on so many threads."""

    def __init__(self, options, row, sizes, factor, threads):
        self.options, self.row, self.factor, self.threads = options, row, factor, threads
        self.sizes = row.scaled(sizes, factor)
        self.declared = size_of(sizes)
        self.folder = options.scratch / "work"
        shutil.rmtree(self.folder, ignore_errors=True)
        self.inputs = self.folder / "inputs"
        self.inputs.mkdir(parents=True)
        self.label = f"{row.name} {size_of(sizes)}"

    def run(self):
        paths = self.make_inputs()
        peers = [] if self.options.alone else [*self.row.peers, *(["systemds"] if self.row.systemds else [])]
        measured, _, kept = self.measured([self.fulgurite(paths), *(self.peer(name, paths) for name in peers)])
        return kept | {
            "row": self.row.name,
            "what": self.row.what,
            "size": size_of(self.sizes),
            "declared": self.declared,
            "alone": self.options.alone,
            "factor": self.factor,
            "threads": self.threads,
            "mb": {name: round(runner.peak_bytes / 1e6, 1) for name, runner in measured.items()},
            "reach": self.row.reach,
            "flops": self.row.limit("flops", self.sizes),
            "bytes": self.row.limit("bytes", self.sizes),
        }

    def make_inputs(self):
        """Writes the inputs; gives the paths of those that are files."""
        paths = {}
        for name, value in self.row.make(self.sizes).items():
            if isinstance(value, bench_work_rows.File):
                paths[name] = self.folder / f"{name}{value.suffix}"
                value.write(paths[name])
            else:
                bench_work_data.write(self.inputs, name, value)
        return paths

    def fulgurite(self, paths):
        outputs = () if self.row.writes else self.row.outputs
        return self.script(self.row.dml, outputs, self.with_out(paths, "fulgurite"))

    def script(self, text, outputs, paths):
        script = self.folder / "script.dml"
        script.write_text(textwrap.dedent(text).strip() + "\n")
        command = [self.options.bench, "work", script, "--inputs", self.inputs, "--threads", self.threads]
        command += [f"--output={name}" for name in outputs] + [f"--argument={name}={value}" for name, value in (self.sizes | paths).items()]
        return Side("fulgurite", command, self.threads, self.folder / "fulgurite")

    def peer(self, name, paths):
        paths = {key: str(path) for key, path in self.with_out(paths, name).items()}
        script = Path(__file__).with_name("bench_work_peer.py")
        given = {"rows": self.options.rows, "inputs": self.inputs, "row": self.row.name, "peer": name, "sizes": json.dumps(self.sizes), "paths": json.dumps(paths), "threads": self.threads}
        return Side(name, [sys.executable, script, *(f"--{key}={value}" for key, value in given.items())], self.threads, self.folder / name)

    def with_out(self, paths, name):
        return paths | {"out": self.folder / f"{name}{self.row.writes}"} if self.row.writes else paths

    def take_turns(self, runners):
        """Gives the shares of processor time that others took before each round; of first executions it keeps nothing."""
        turns = Turns(self.label)
        running = turns.each(runners, Side.warm_up)
        self.compare(running)
        return None, turns.rounds(running, Side.turn, self.options.rounds, SLOW_TIMES)

    def compare(self, runners):
        """Whether all give the same numbers."""
        ours, *peers = runners
        expected = self.result(ours)
        for peer in peers:
            apart = [distance(one, other) for one, other in zip(expected, self.result(peer), strict=True)]
            if not all(far <= self.row.tolerance for far in apart):
                raise Failed(f"{self.label}: {peer.name}'s cells lie {', '.join(f'{far:.3g}' for far in apart)} apart from fulgurite's, as a share of the largest one")

    def result(self, runner):
        """What is compared of the outputs, or of the file, of the last execution."""
        out = self.with_out({}, runner.name)
        if self.row.own_back and runner.name == "fulgurite":
            reader = self.script(self.row.own_back, ["R"], out)
            reader.ask("run 0 1")
            outputs = self.outputs(reader, ["R"])
            reader.end()
        elif self.row.writes:
            outputs = [self.row.back(out["out"])]
        else:
            outputs = self.outputs(runner, self.row.outputs)
        seen = self.row.seen(*outputs)
        return seen if isinstance(seen, tuple | list) else [seen]

    def outputs(self, runner, names):
        runner.ask(f"results {runner.results}")
        found = bench_work_data.read(runner.results)
        shutil.rmtree(runner.results)
        return [found[name] for name in names]


def size_of(sizes):
    return " ".join(f"{name}={value}" for name, value in sizes.items())


def limits(options, threads):
    done = subprocess.run([options.bench, "limits", "--threads", str(threads)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def renew(folder, rows, names):
    """Puts the rows into the kept results of this kind of processor."""
    order = list(names)

    def key(row):
        return row["row"], row["factor"], row["threads"], row.get("alone", False)

    def place(row):
        return (order.index(row["row"]), row["factor"], row["threads"]) if row["row"] in order else None

    rows = [{field: row[field] for field in bench_work_report.FIELDS_ALONE} if row["alone"] else row for row in rows]
    tables = keep(folder, "work", rows, key, place)
    (folder / "WORK.md").write_text(bench_work_report.report(tables))


def main():
    parser = argparse.ArgumentParser(prog="ci/bench work", description=__doc__)
    parser.add_argument("names", nargs="*", help="rows, or files of tests/bench/work; all where none is named")
    parser.add_argument("--renew", action="store_true", help="put these rows into tests/bench/WORK.md and results.json, for this kind of processor")
    parser.add_argument("--threads", default="2", help="numbers of threads, as in 1,2")
    parser.add_argument("--sizes", default="1", help="multiples of the work that rows declare, as in 0.1,1,10")
    parser.add_argument("--alone", action="store_true", help="without peers: how Fulgurite's time grows with the work, and what threads gain")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each system")
    for path in ["bench", "folder", "scratch"]:
        parser.add_argument(f"--{path}", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.rows = options.folder / "work"
    options.scratch.mkdir(parents=True, exist_ok=True)
    all_rows = bench_work_rows.load(options.rows)
    if options.rounds < 1:
        parser.error("--rounds must be at least 1")
    chosen = [row for row in all_rows.values() if not options.names or row.name in options.names or row.group in options.names]
    if unknown := [name for name in options.names if not any(name in (row.name, row.group) for row in chosen)]:
        parser.error(f"there is no row {unknown[0]}; there are {', '.join(all_rows)}")
    started = time.perf_counter()
    rows, failed = [], []
    for threads in map(int, options.threads.split(",")):
        # The best seen is the machine's limit; less was the doing of others.
        best = limits(options, threads)
        measured = []
        for row, factor in itertools.product(chosen, map(float, options.sizes.split(","))):
            for sizes in row.sizes:
                try:
                    measured.append(Line(options, row, sizes, factor, threads).run())
                except Failed as failure:
                    print(failure, file=sys.stderr)
                    failed.append(row.name)
                    continue
                now = limits(options, threads)
                best = {name: max(value, now[name]) for name, value in best.items()}
                bench_work_report.print_row(measured[-1] | {"limits": best})
                if options.renew:
                    # After each row: a run may be cut off.
                    renew(options.folder, rows + [row | {"limits": best} for row in measured], all_rows)
        rows += [row | {"limits": best} for row in measured]
    shutil.rmtree(options.scratch / "work", ignore_errors=True)
    print(f"{(time.perf_counter() - started) / 60:.1f} minutes", file=sys.stderr)
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
