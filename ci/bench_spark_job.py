"""One run on Spark, in a process of its own, so that each starts with a cold JVM: `bench_spark_job.py SPECIFICATION ANSWER`, both JSON
files. Called by ci/bench_spark.py with the Python of the Spark that is to run. What is timed begins when the JVM, Spark's context and
the DataFrame of a file that nobody has read are there, and ends with the model in this process, or, for SystemDS, in a file."""

import json
import os
import shlex
import sys
import time
from pathlib import Path

import numpy as np

# The vector instructions that linear algebra on the JVM uses where it may.
JAVA_OPTIONS = "--add-modules=jdk.incubator.vector"
MASTER = "local[2]"
# SystemDS plans with this share of the memory that it believes to have.
SYSTEMDS_SHARE = 0.7
# Rounds of an operator that do not count: before its first size the JVM is cold, later ones need other machine code at most.
HANDOVER_WARM_UP = (20, 2)


def session(specification, configure=lambda builder: builder):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(MASTER).appName("fulgurite bench").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.memory", specification["heap"]).config("spark.driver.extraJavaOptions", JAVA_OPTIONS)
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def peak(jvm):
    """The most memory that the JVM's process had, in bytes."""
    status = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def fulgurite(specification):
    import fulgurite
    from fulgurite import MLContext, dmlFromFile

    spark = session(specification, fulgurite.configure)
    ml = MLContext(spark)
    for key, value in specification["config"].items():
        ml.setConfigProperty(key, value)
    script = dmlFromFile(specification["script"]).output(*specification["outputs"])
    script.input({f"${name}": value for name, value in specification["arguments"].items()})
    frame = spark.read.parquet(specification["frame"]) if specification["frame"] else None
    started = time.perf_counter()
    script.input({name: ml.matrix(frame.select(column)) for name, column in specification["inputs"].items()})
    reading = time.perf_counter() - started if frame else None
    results = ml.execute(script)
    model = {name: results.get(name).toNumPy() for name in specification["outputs"]}
    seconds = time.perf_counter() - started
    np.savez(specification["model"], **model)
    return {"seconds": seconds, "reading": reading, "statistics": results.statistics(), "peak": peak(spark.sparkContext._jvm)}


def systemds(specification):
    from pyspark.java_gateway import launch_gateway

    heap = specification["heap"]
    options = ["--master", MASTER, "--driver-memory", heap, "--conf", f"spark.executor.memory={heap}", "--conf", "spark.ui.enabled=false"]
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in specification["opened"]]
    options += ["--driver-java-options", " ".join([JAVA_OPTIONS, *opened]), "--driver-class-path", specification["jars"], "pyspark-shell"]
    os.environ["PYSPARK_SUBMIT_ARGS"] = shlex.join(options)
    gateway = launch_gateway()
    systemds = gateway.jvm.org.apache.sysds
    if (local := specification.get("local")) is not None:
        # There is no key for its local budget, which follows the heap.
        systemds.utils.stats.InfrastructureAnalyzer.setLocalMaxMemory(int(local / SYSTEMDS_SHARE))
    arguments = specification["arguments"]
    array = gateway.new_array(gateway.jvm.java.lang.String, len(arguments))
    for place, argument in enumerate(arguments):
        array[place] = argument
    started = time.perf_counter()
    if not systemds.api.DMLScript.executeScript(array):
        raise SystemExit("SystemDS refused its arguments")
    return {"seconds": time.perf_counter() - started, "peak": peak(gateway.jvm)}


def mllib(specification):
    import pyspark.ml.classification
    import pyspark.ml.clustering
    import pyspark.ml.regression
    from pyspark.sql import functions

    spark = session(specification)
    modules = [pyspark.ml.classification, pyspark.ml.clustering, pyspark.ml.regression]
    estimator = next(getattr(module, specification["estimator"]) for module in modules if hasattr(module, specification["estimator"]))
    frame = spark.read.parquet(specification["frame"])
    started = time.perf_counter()
    label = [functions.expr(specification["label"]).alias("label")] if specification["label"] else []
    model = estimator(**specification["parameters"]).fit(frame.select("features", *label))
    seconds = time.perf_counter() - started
    if (coefficients := specification["coefficients"]) is not None:
        np.savez(coefficients, B=np.asarray(model.coefficients).reshape(-1, 1))
    return {"seconds": seconds, "peak": peak(spark.sparkContext._jvm)}


def handover(specification):
    """What tasks of operators on dense stripes of 1000 x 1000 take, and how much of that the operators: for each operator and number of
    stripes. And what a job of Spark takes that does nothing."""
    import fulgurite
    from fulgurite import MLContext, dml

    spark = session(specification, fulgurite.configure)
    ml = MLContext(spark).setConfigProperty("fulgurite.memory.local", "4m")
    seen = []
    for number, stripes in enumerate(specification["stripes"]):
        X = ml.execute(dml("X = rand(rows=$rows, cols=1000, min=-1, max=1, seed=7)").input("$rows", 1000 * stripes).output("X")).get("X")
        for operator in specification["operators"]:
            ml.setConfigProperty("fulgurite.fusion.policy", operator["policy"])
            for round in range(-HANDOVER_WARM_UP[min(number, 1)], specification["rounds"]):
                script = dml(operator["script"]).input({"X": X, "$times": specification["times"]}).output("s")
                results = ml.execute(script)
                results.get("s")
                on_spark = [found for found in results.operators() if found["location"] == "spark"]
                if round >= 0:
                    seen.append({
                        "operator": operator["name"], "stripes": stripes, **{name: results.statistics()["spark"][name] for name in ("jobs", "tasks", "taskSeconds")},
                        "blocks": sum(found["tasks"] for found in on_spark), "waited": sum(found["seconds"] for found in on_spark),
                        "operatorSeconds": sum(found["operatorSeconds"] for found in on_spark),
                    })
        X.close()
    nothing = spark.sparkContext._jsc.sc().range(0, 2, 1, 2)
    empty = []
    for _ in range(specification["times"] * specification["rounds"]):
        started = time.perf_counter()
        nothing.count()
        empty.append(time.perf_counter() - started)
    return {"seen": seen, "empty": empty, "peak": peak(spark.sparkContext._jvm)}


def main(specification, answer):
    specification = json.loads(Path(specification).read_text())
    kinds = {"fulgurite": fulgurite, "systemds": systemds, "mllib": mllib, "handover": handover}
    Path(answer).write_text(json.dumps(kinds[specification["kind"]](specification)))


if __name__ == "__main__":
    main(*sys.argv[1:])
