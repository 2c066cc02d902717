"""Finds the jar for the installed Spark: there is one for each minor version of Spark and of Scala."""

import importlib.util
import os
import re
from pathlib import Path

from .. import __version__
from .errors import failed

_EXTRA = "pip install 'fulgurite[spark]'"


def jar():
    """The path of the jar for the Spark that sessions start; FULGURITE_JAR in the environment names another one."""
    return os.environ.get("FULGURITE_JAR") or find(spark_home(), jars())


def jars():
    """The folder of the jars, which are a wheel of their own."""
    try:
        import fulgurite_spark
    except ImportError:
        raise ModuleNotFoundError(f"fulgurite needs its jars to run on Spark: {_EXTRA}, or name a jar in the environment variable FULGURITE_JAR",
                                  name="fulgurite_spark") from None
    if fulgurite_spark.__version__ != __version__:
        raise ImportError(f"fulgurite is {__version__}, and the jars of fulgurite-spark are {fulgurite_spark.__version__}: pip install 'fulgurite[spark]=={__version__}' installs those that fit",
                          name="fulgurite_spark")
    return fulgurite_spark.jars()


def advice():
    """What to do where a session has the wrong jar."""
    try:
        carried = f"the jars of this installation are for {_listed(_carried(jars())) or 'no version'}"
    except ImportError as missing:
        carried = str(missing)
    return f"make the session with fulgurite.configure(SparkSession.builder).getOrCreate(), which takes the jar that fits; {carried}"


def find(home, folder):
    carried = _carried(folder)
    if not carried:
        raise failed("argument", "argument error: this installation of fulgurite-spark carries no jar\n   = help: install the wheel that "
                                 "ci/package builds, or name a jar in the environment variable FULGURITE_JAR")
    version = _installed(home)
    if version not in carried:
        raise failed("unsupported", f"unsupported error: the installed Spark is {_listed([version])}, fulgurite carries jars for "
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
    raise failed("unsupported", f"unsupported error: '{home}' has no jars/spark-core_SCALA-SPARK.jar to tell the versions of Spark by\n"
                                "   = help: name the jar that fits in the environment variable FULGURITE_JAR")


def spark_home():
    """Where pyspark starts Spark from."""
    from pyspark.find_spark_home import _find_spark_home

    return _find_spark_home()


def require_pyspark():
    """Refuses to go on without the package, which is not loaded yet."""
    try:
        found = importlib.util.find_spec("pyspark") is not None
    except ValueError:
        # Modules that a program has put there itself need not have one.
        found = True
    if not found:
        raise ModuleNotFoundError(f"fulgurite.spark needs pyspark: {_EXTRA}; a notebook on a cluster has it on its path", name="pyspark")


def _listed(versions):
    return ", ".join(f"Spark {spark} with Scala {scala}" for spark, scala in versions)
