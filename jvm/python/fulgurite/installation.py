"""Finds the jar for the installed Spark: there is one for each minor version of Spark and of Scala."""

import os
import re
from pathlib import Path

from .errors import FulguriteError, error

_FOLDER = Path(__file__).parent / "jars"


def jar():
    """The path of the jar for the Spark that sessions start; FULGURITE_JAR in the environment names another one."""
    return os.environ.get("FULGURITE_JAR") or find(spark_home(), _FOLDER)


def advice():
    """What to do where a session has the wrong jar."""
    return ("make the session with fulgurite.configure(SparkSession.builder).getOrCreate(), which takes the jar that fits; "
            f"this installation of fulgurite carries jars for {_listed(_carried(_FOLDER)) or 'no version'}")


def find(home, folder):
    carried = _carried(folder)
    if not carried:
        raise FulguriteError("argument", "argument error: this installation of fulgurite carries no jar\n   = help: install the wheel that "
                                         "ci/package builds, or name a jar in the environment variable FULGURITE_JAR")
    version = _installed(home)
    if version not in carried:
        raise FulguriteError("unsupported", f"unsupported error: the installed Spark is {_listed([version])}, fulgurite carries jars for "
                                            f"{_listed(carried)}\n   = help: install one of these, or name a jar in the environment variable FULGURITE_JAR")
    return str(carried[version])


def _carried(folder):
    """Jars by the versions of Spark and Scala in their names."""
    found = ((re.match(r"fulgurite-spark-(\d+\.\d+)_(\d+\.\d+)-", path.name), path) for path in sorted(folder.glob("fulgurite-spark-*.jar")))
    return {name.groups(): path for name, path in found if name}


def _installed(home):
    """The versions of Spark and Scala. pyspark does not say for which Scala its jars are; they do."""
    for path in Path(home, "jars").glob("spark-core_*.jar"):
        name = re.match(r"spark-core_(\d+\.\d+)-(\d+\.\d+)\.", path.name)
        if name:
            return name[2], name[1]
    raise FulguriteError("unsupported", f"unsupported error: '{home}' has no jars/spark-core_SCALA-SPARK.jar to tell the versions of Spark by\n"
                                        "   = help: name the jar that fits in the environment variable FULGURITE_JAR")


def spark_home():
    """Where pyspark starts Spark from."""
    pyspark()
    from pyspark.find_spark_home import _find_spark_home

    return _find_spark_home()


def pyspark():
    """The package, which is needed from the first session on."""
    try:
        import pyspark
    except ImportError:
        raise error("unsupported", "pyspark is not installed", "pip install pyspark, in a version that docs and README name; a notebook on a "
                                                               "cluster has it on its path") from None
    return pyspark


def _listed(versions):
    return ", ".join(f"Spark {spark} with Scala {scala}" for spark, scala in versions)
