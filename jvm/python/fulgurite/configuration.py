"""Brings the jar into a Spark session that is about to be made."""

import os

from .installation import jar


def configure(builder):
    """Adds the jar and the plugin to a ``SparkSession.builder`` and returns it.

    Has to be called before the session exists: Spark reads these settings when it starts. The jar goes to executors
    with ``spark.jars``, so that nothing has to be installed there.
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
    return builder
