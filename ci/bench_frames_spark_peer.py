"""Runs one program of `ci/bench --frames --spark` on one side, on a Spark session of its own, as often as lines of the standard input tell.
Called by ci/bench_frames.py with the Python of the Spark that is to run."""

import argparse
import datetime
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import bench_frames_programs
from bench_work_peer import serve, timed

MASTER = "local[2]"
HEAP = "6g"
EXTENSION = "io.fulgurite.spark.FulguriteSqlExtensions"
# As its users are told to start it.
COMET = {
    "spark.plugins": "org.apache.spark.CometPlugin",
    "spark.shuffle.manager": "org.apache.spark.sql.comet.execution.shuffle.CometShuffleManager",
    "spark.comet.exec.enabled": "true",
    "spark.comet.exec.shuffle.enabled": "true",
    "spark.memory.offHeap.enabled": "true",
    "spark.memory.offHeap.size": "4g",
}
DAY_0 = datetime.date(1970, 1, 1)


def session(options, classes):
    # Python's workers are this Python, and find what it finds.
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).appName("fulgurite bench").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", HEAP).config("spark.sql.shuffle.partitions", "2")
    if options.side == "fulgurite":
        import fulgurite.spark

        builder = fulgurite.spark.configure(builder).config("spark.sql.extensions", EXTENSION)
    elif options.side == "comet":
        for key, value in COMET.items():
            builder = builder.config(key, value)
        builder = builder.config("spark.jars", options.comet).config("spark.driver.extraClassPath", options.comet)
    elif options.side == "scala":
        compile_scala(options.programs / "Score.scala", classes)
        builder = builder.config("spark.driver.extraClassPath", classes)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def compile_scala(file, classes):
    """With the compiler that Spark carries."""
    import pyspark

    jars = Path(pyspark.__file__).with_name("jars")
    subprocess.run(["java", "-cp", f"{jars}/*", "scala.tools.nsc.Main", "-usejavacp", "-d", classes, str(file)], check=True, stdout=sys.stderr)


class Jvm:
    """The memory of Spark's process."""

    def __init__(self, spark):
        pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
        self.folder = Path(f"/proc/{pid}")

    def bytes(self, key):
        lines = (self.folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

    def forget_peak(self):
        (self.folder / "clear_refs").write_text("5")


class Peer:
    def __init__(self, options, program, classes):
        self.program, self.side, self.last = program, options.side, None
        self.spark = session(options, classes)
        self.jvm = Jvm(self.spark)
        self.before = self.jvm.bytes("VmRSS:")
        for path in sorted(options.inputs.glob("*.parquet")):
            table = self.spark.read.parquet(str(path))
            (table.cache() if program.cached else table).createOrReplaceTempView(path.stem)

    def collected(self):
        frame = self.program.run(self.side, {"spark": self.spark})
        return frame.collect()

    def run(self, seconds, most):
        self.jvm.forget_peak()
        times = timed(self, self.collected, seconds, most)
        return {"milliseconds": times, "peakBytes": max(0, self.jvm.bytes("VmHWM:") - self.before)}

    def results(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        for place, column in enumerate(zip(*self.last, strict=True)):
            np.save(folder / f"{place}.npy", np.array([value(cell) for cell in column]))
        return {}


def value(cell):
    return (cell - DAY_0).days if isinstance(cell, datetime.date) else cell


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["programs", "inputs"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ["program", "side", "comet"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--divide", type=int, default=1)
    options = parser.parse_args()
    program = bench_frames_programs.load(options.programs, groups=["spark"])[options.program]
    classes = tempfile.mkdtemp()
    try:
        serve(Peer(options, program.divided(options.divide) if options.divide > 1 else program, classes))
    finally:
        shutil.rmtree(classes)


if __name__ == "__main__":
    main()
