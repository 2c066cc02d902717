"""Measures on a standalone cluster of two workers what iterations of the algorithms move, and compares it with the formulas of scaling.py.
Called by `ci/scaling check`, which builds the jar."""

import argparse
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyspark
from pyspark.sql import SparkSession

import fulgurite
import scaling
from fulgurite import MLContext, dml, dmlFromFile

WORKERS = 2
# Of each: small partitions are put together where there are more than four for each core (CoalescedStripes.scala), and one case has PARTITIONS.
CORES = 5
PARTITIONS = 40
ALGORITHMS = Path(__file__).resolve().parent.parent / "examples" / "algorithms"


@contextmanager
def cluster():
    """The address of a master with its workers, each a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    run = Path(pyspark.__path__[0]) / "bin" / "spark-class"
    url = f"spark://127.0.0.1:{port}"
    deploy = "org.apache.spark.deploy"
    commands = [[run, f"{deploy}.master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", "0"]]
    with tempfile.TemporaryDirectory() as folder:
        commands += [[run, f"{deploy}.worker.Worker", "--cores", str(CORES), "--memory", "2g", "--webui-port", "0", "--work-dir", f"{folder}/{worker}", url]
                     for worker in range(WORKERS)]
        processes = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
        try:
            yield url
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


def session(url):
    # Executors find Python's packages where the driver has them.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (SparkSession.builder.master(url).appName("fulgurite scaling").config("spark.ui.enabled", "false")
               .config("spark.driver.host", "127.0.0.1").config("spark.executor.memory", "1500m").config("spark.driver.memory", "1500m"))
    spark = fulgurite.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    # The second executor may come later than the first job.
    while spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() < 1 + WORKERS:
        time.sleep(0.1)
    return spark


def configured(ml, settings):
    ml.resetConfig()
    for key, value in settings.items():
        ml.setConfigProperty(f"fulgurite.{key}", value)
    return ml


@dataclass(frozen=True)
class Case:
    """An algorithm on small data; so many rounds of its outer loop are run, few and many, and what lies between is compared."""

    algorithm: str
    inputs: dict
    # The argument that says how often the outer loop goes round; without one a whole run is compared.
    iterations: str | None = "maxi"
    matrix: str = "X"
    parameters: dict = field(default_factory=dict)
    few: int = 2
    many: int = 5


class Run:
    """What one execution moved, and how often its loops went round."""

    def __init__(self, ml, case, limit, loops):
        script = dmlFromFile(str(ALGORITHMS / f"{case.algorithm}.dml")).input(case.inputs)
        script.input({f"${name}": name for name in case.inputs})
        if len(case.inputs) > 1:
            # A name, so that the script reads what is bound to the variable. Of kmeans it would be that of a file to write.
            script.input({"$Y": "Y"})
        if case.iterations:
            script.input({f"${case.iterations}": loops})
        configured(ml, {"memory.local": AT_THE_DRIVER, "memory.broadcast": limit})
        results = ml.execute(script)
        self.report = results.report()
        seen = results.statistics()
        spark = seen["spark"]
        self.moved = scaling.Moves(
            scans=next(entry["scans"] for entry in seen["inputs"] if entry["name"] == case.matrix),
            broadcast=spark["bytesBroadcast"], spread=spark["bytesSpread"], shuffled=spark["bytesShuffledWritten"],
            collected=spark["bytesCollected"], jobs=spark["jobs"])
        printed = results._java.printed().mkString("\n")
        inner = re.findall(r"(\d+) inner iterations", printed)
        self.loops = {"iteration": len(re.findall(r"iteration \d+:", printed)), "inner iteration": sum(map(int, inner))}


def generated(ml, rows, cols, density=1.0, partitions=None):
    """A matrix on the executors; by default Spark says in how many partitions."""
    # In other stripes than those that local matrices are cut into, as files and DataFrames have.
    configured(ml, {"memory.local": "20k", "blocksize": 1700})
    matrix = ml.execute(dml(f"X = rand(rows={rows}, cols={cols}, seed=7, sparsity={density})").output("X")).get("X")
    return matrix if partitions is None else ml.matrix(matrix.toDF().repartition(partitions))


ROWS, COLS, CLASSES, NODES = 20000, 50, 5, 20000
# Less than X has, and more than algorithms need for what has a row for each row of X. X is on the workers, the rest at the driver.
AT_THE_DRIVER = "5m"


def cases(ml):
    x, cut = generated(ml, ROWS, COLS), generated(ml, ROWS, COLS, partitions=PARTITIONS)
    random = np.random.default_rng(7)
    # Spark compresses what it shuffles: not this.
    response = random.standard_normal((ROWS, 1))
    labels = random.integers(1, CLASSES + 1, (ROWS, 1)).astype(float)
    binary = (labels > 2).astype(float)
    matrix = scaling.Matrix(ROWS, COLS)
    graph, links = generated(ml, NODES, NODES, 0.002), scaling.Matrix(NODES, NODES, 0.002)
    # As large as vectors may be, or too large to be broadcast.
    for limit in (2**30, 100 * 2**10):
        yield matrix, limit, Case("linreg_cg", {"X": x, "y": response})
        yield matrix, limit, Case("linreg_ds", {"X": x, "y": response}, iterations=None)
        yield matrix, limit, Case("l2svm", {"X": x, "labels": binary})
        yield matrix, limit, Case("mlogreg", {"X": x, "y": labels}, iterations="moi", parameters={"classes": CLASSES})
        yield matrix, limit, Case("glm", {"X": x, "y": binary}, iterations="moi")
        yield matrix, limit, Case("kmeans", {"X": x})
        yield links, limit, Case("pagerank", {"G": graph}, matrix="G")
    yield scaling.Matrix(ROWS, COLS, partitions=PARTITIONS), 2**30, Case("linreg_cg", {"X": cut, "y": response})


# What a shuffle writes around each piece. Of aggregates of few columns, the frame is larger than what it holds.
SHUFFLE_SHARE, SHUFFLE_PIECE = 0.1, 1200


def compare(matrix, measured, predicted):
    """The names of what is not as predicted: all to the byte, but for what a shuffle writes; jobs where nothing is shuffled."""
    exact = ["scans", "broadcast", "spread", "collected"] + (["jobs"] if not predicted.shuffled else [])
    wrong = [name for name in exact if getattr(measured, name) != getattr(predicted, name)]
    pieces = matrix.partitions * predicted.scans if matrix.partitions > scaling.MOST_PARTIALS_ON_DRIVER else 0
    most = predicted.shuffled * (1 + SHUFFLE_SHARE) + pieces * SHUFFLE_PIECE
    return wrong + (["shuffled"] if not predicted.shuffled <= measured.shuffled <= most else [])


def main():
    parser = argparse.ArgumentParser(prog="ci/scaling check", description=__doc__)
    parser.add_argument("algorithms", nargs="*", help="names of algorithms; all where none is named")
    parser.add_argument("--report", action="store_true", help="print the report of each longer run")
    options = parser.parse_args()
    failures = 0
    with cluster() as url:
        spark = session(url)
        ml = MLContext(spark)
        for matrix, limit, case in cases(ml):
            if options.algorithms and case.algorithm not in options.algorithms:
                continue
            many, before, rounds = Run(ml, case, limit, case.many), scaling.Moves(), {"run": 1}
            if case.iterations:
                few = Run(ml, case, limit, case.few)
                before, rounds = few.moved, {loop: many.loops[loop] - few.loops[loop] for loop in many.loops}
            if options.report:
                print(many.report)
            formulas = scaling.FORMULAS[case.algorithm](matrix, scaling.Side(limit), **case.parameters)
            predicted = sum((moves * rounds[loop] for loop, moves in formulas.items()), scaling.Moves())
            measured = many.moved - before
            wrong = compare(matrix, measured, predicted)
            failures += bool(wrong)
            verdict = "NOT AS PREDICTED: " + ", ".join(wrong) if wrong else "as predicted"
            turns = ", ".join(f"{count} x {loop}" for loop, count in rounds.items() if count)
            print(f"{case.algorithm}, broadcasts up to {limit} bytes, {turns}: {verdict}\n   measured  {measured}\n   predicted {predicted}", flush=True)
        spark.stop()
    if failures:
        sys.exit(f"{failures} cases are not as predicted")


if __name__ == "__main__":
    main()
