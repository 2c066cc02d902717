"""The jars that ``fulgurite.spark`` brings into Spark. They carry the engine as a native library."""

from pathlib import Path

__version__ = "0.1.0"


def jars():
    """The folder of the jars: ``fulgurite-spark-SPARK_SCALA-VERSION.jar`` for each pair of versions."""
    return Path(__file__).parent / "jars"
