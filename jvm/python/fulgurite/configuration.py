"""Brings the jar into a Spark session that is about to be made."""

import os
import re
from pathlib import Path

from .installation import jar, spark_home

_MODE = "spark.scheduler.mode"


def configure(builder):
    """Adds the jar and the plugin to a ``SparkSession.builder`` and returns it.

    Has to be called before the session exists: Spark reads these settings when it starts. The jar goes to executors
    with ``spark.jars``, so that nothing has to be installed there. ``spark.scheduler.mode`` becomes FAIR unless it is set:
    iterations of a ``parfor`` then share the executors.
    """
    set_before = dict(getattr(builder, "_options", {}))
    path = jar()
    for key, value, separator in (
        ("spark.jars", path, ","),
        ("spark.driver.extraClassPath", path, os.pathsep),
        ("spark.plugins", "io.fulgurite.spark.FulguriteSparkPlugin", ","),
    ):
        entries = [entry for entry in set_before.get(key, "").split(separator) if entry]
        builder = builder.config(key, separator.join(entries if value in entries else [*entries, value]))
    if _MODE not in set_before and not _is_set_elsewhere(_MODE):
        builder = builder.config(_MODE, "FAIR")
    return builder


def _is_set_elsewhere(key):
    """Whether spark-submit or its defaults say it, or may have: what a builder says would take its place."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or key in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
        return True
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or Path(spark_home(), "conf"), "spark-defaults.conf")
    return defaults.is_file() and any(re.match(rf"\s*{re.escape(key)}[\s=:]", line) for line in defaults.read_text().splitlines())
