"""Trains the three example models three ways and compares what comes out. Called by ci/demo, which builds what it needs."""

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyspark
from pyspark.sql import SparkSession

import fulgurite
from fulgurite import MLContext, dmlFromFile

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
TOLERANCE = 1e-8
# Operators of a report that are shown.
SHOWN = 8
# Below the size of each X, so that X is distributed and everything that reads it runs on Spark.
LOCAL_MEMORY = {"mlogreg": "200k", "l2svm": "50k", "linreg_cg": "15k"}


@dataclass
class Example:
    """A script, its data and what its predictions are worth."""

    script: str
    data: str
    arguments: dict
    classifies: bool

    def quality(self, predictions, truth):
        """Accuracy of a classifier, R2 of a regression, on held-out rows."""
        if self.classifies:
            return "accuracy", float(np.mean(predictions == truth))
        residual = np.sum((truth - predictions) ** 2)
        return "R2", float(1 - residual / np.sum((truth - truth.mean()) ** 2))


RUNS = [
    Example("mlogreg", "digits", {"icpt": 1, "reg": 1, "tol": 1e-12}, True),
    Example("l2svm", "cancer", {"icpt": 1, "reg": 1, "tol": 1e-12, "maxi": 500}, True),
    Example("linreg_cg", "diabetes", {"icpt": 1, "reg": 1e-6, "maxi": 50}, False),
]


def read(path):
    return np.loadtxt(path, delimiter=",", ndmin=2)


def run(command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-8000:]}")
    return done.stdout


def named_arguments(example, data, weights, predictions):
    files = {"X": data / "X.csv", "Y": data / "Y.csv", "T": data / "T.csv", "B": weights, "P": predictions}
    return [f"{key}={value}" for key, value in {**files, **example.arguments}.items()]


class Demo:
    def __init__(self, options):
        self.options = options
        self.failures = []

    def command_line(self, example, data, out, *extra):
        weights, predictions = out / "B.csv", out / "P.csv"
        script = EXAMPLES / f"{example.script}.dml"
        start = time.perf_counter()
        printed = run([self.options.fulgurite, "run", script, *extra, "-nvargs",
                       *named_arguments(example, data, weights, predictions)])
        return read(weights), read(predictions), time.perf_counter() - start, printed

    def spark_submit(self, example, data, out):
        weights, predictions = out / "B.csv", out / "P.csv"
        submit = Path(pyspark.__path__[0]) / "bin" / "spark-submit"
        start = time.perf_counter()
        printed = run([submit, "--master", "local[2]", "--class", "io.fulgurite.DMLScript",
                       "--conf", f"spark.fulgurite.memory.local={LOCAL_MEMORY[example.script]}", self.options.jar,
                       "-f", EXAMPLES / f"{example.script}.dml", "-nvargs",
                       *named_arguments(example, data, weights, predictions)])
        return read(weights), read(predictions), time.perf_counter() - start, printed

    def pyspark(self, spark, example, data):
        ml = MLContext(spark).setConfigProperty("fulgurite.memory.local", LOCAL_MEMORY[example.script])
        weights_name = "w" if example.script == "l2svm" else "B"
        target = "labels" if example.script == "l2svm" else "y"
        frames = {
            name: spark.read.csv(str(data / file), inferSchema=True)
            for name, file in (("X", "X.csv"), (target, "Y.csv"), ("T", "T.csv"))
        }
        script = dmlFromFile(str(EXAMPLES / f"{example.script}.dml")).input(**frames)
        for key, value in example.arguments.items():
            script.input(f"${key}", value)
        # A name for T, so that the script predicts; the frame is what it reads.
        script.input("$T", "T").output(weights_name, "Predictions")
        start = time.perf_counter()
        results = ml.execute(script)
        weights, predictions = results.get(weights_name, "Predictions")
        seconds = time.perf_counter() - start
        print(f"   weights as a DataFrame: {weights.toDF()}")
        return weights.toNumPy(), predictions.toNumPy(), seconds, results

    def check(self, what, left, right):
        difference = float(np.max(np.abs(left - right)) / max(1.0, np.max(np.abs(right))))
        verdict = "agree" if difference <= TOLERANCE else "DISAGREE"
        print(f"   {what}: {verdict}, largest difference {difference:.1e}")
        if difference > TOLERANCE:
            self.failures.append(f"{what}: {difference:.1e}")

    def example(self, spark, example):
        print(f"\n== {example.script}.dml on {example.data}")
        data = self.options.data / example.data
        truth = read(data / "TY.csv")
        out = self.options.data / "out" / example.script
        for folder in ("cli", "unfused", "submit"):
            (out / folder).mkdir(parents=True, exist_ok=True)

        cli, cli_predictions, cli_seconds, printed = self.command_line(example, data, out / "cli")
        print("   command line, its last lines:\n" + indent("\n".join(printed.splitlines()[-3:])))
        unfused, _, unfused_seconds, _ = self.command_line(
            example, data, out / "unfused", "--config", "fulgurite.fusion.policy=none")
        submitted, submitted_predictions, submit_seconds, _ = self.spark_submit(example, data, out / "submit")
        python, python_predictions, python_seconds, results = self.pyspark(spark, example, data)
        operators = results.operators()
        print("   PySpark, the slowest operators and where they ran:")
        for operator in operators[:SHOWN]:
            print(f"      {operator['seconds']:8.4f} s {operator['count']:5} x {operator['location']:6} {operator['label']}")
        ran = sum(operator["count"] for operator in operators if operator["location"] == "spark")
        print(f"      on Spark: {ran} of {sum(operator['count'] for operator in operators)} operator runs")

        chosen = next(operator for operator in operators if operator.get("plan"))
        print(f"   the plan of the slowest fused operator, {chosen['label']}, chosen by cost:\n" + indent(chosen["plan"]))

        self.check("weights, spark-submit against the command line", submitted, cli)
        self.check("weights, PySpark against the command line", python, cli)
        self.check("weights, fusion off against on", unfused, cli)
        self.check("predictions, spark-submit against the command line", submitted_predictions, cli_predictions)
        self.check("predictions, PySpark against the command line", python_predictions, cli_predictions)
        name, value = example.quality(cli_predictions, truth)
        print(f"   held-out {name}: {value:.4f} on {len(truth)} rows")
        print(f"   seconds: command line {cli_seconds:.3f} (fusion off {unfused_seconds:.3f}), PySpark {python_seconds:.1f}, "
              f"spark-submit with its start {submit_seconds:.1f}")


def indent(text):
    return "".join(f"      {line}\n" for line in text.rstrip().splitlines()).rstrip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--jar", type=Path, required=True)
    parser.add_argument("--fulgurite", type=Path, required=True)
    demo = Demo(parser.parse_args())
    builder = SparkSession.builder.master("local[2]").appName("fulgurite demo").config("spark.ui.enabled", "false")
    spark = fulgurite.configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    for example in RUNS:
        demo.example(spark, example)
    spark.stop()
    if demo.failures:
        sys.exit("\nThe ways disagree: " + "; ".join(demo.failures))
    print(f"\nAll three ways agree to {TOLERANCE:g}.")


if __name__ == "__main__":
    main()
