"""Brings the jar into Spark: into a session that is about to be made, or into one that is there."""

import logging
import os
import re
from pathlib import Path

from .errors import error
from .installation import jar, spark_home

_MODE = "spark.scheduler.mode"
_PLUGIN = "io.fulgurite.spark.FulguriteSparkPlugin"

_log = logging.getLogger("fulgurite")


def configure(builder):
    """Adds the jar and the plugin to a ``SparkSession.builder`` and returns it.

    If a session is there already, as in most notebooks, the jar is brought into that one (see ``attach``), and the builder
    stays as it is. A job that ``spark-submit`` starts may call it as any other program.

    The jar goes to executors with ``spark.jars``, so that nothing has to be installed there. ``spark.scheduler.mode``
    becomes FAIR unless it is set: iterations of a ``parfor`` then share the executors.
    """
    options = dict(getattr(builder, "_options", {}))
    _refuse_connect(options)
    session = _session_that_is_there()
    if session is not None:
        attach(session)
        return builder
    path = jar()
    if _jvm_is_up():
        # It does not read the class path any more.
        from pyspark import SparkContext

        SparkContext._ensure_initialized()
        _add_to_driver(SparkContext._jvm, path)
    for key, value, separator in (
        ("spark.jars", path, ","),
        ("spark.driver.extraClassPath", path, os.pathsep),
        ("spark.plugins", _PLUGIN, ","),
    ):
        entries = [entry for entry in options.get(key, _of_submit(key)).split(separator) if entry]
        builder = builder.config(key, separator.join(entries if value in entries else [*entries, value]))
    if _MODE not in options and not _is_set_elsewhere(_MODE):
        builder = builder.config(_MODE, "FAIR")
    return builder


def attach(spark):
    """Brings the jar into a running session, unless it has one: to the driver, and to the executors with their next task.

    What only a session that ``configure`` made has is said in the log: the plugin, which is for speed.
    """
    context = spark.sparkContext
    if not has_jar(context._jvm):
        path = jar()
        _add_to_driver(context._jvm, path)
        context._jsc.addJar(path)
    if _PLUGIN not in context.getConf().get("spark.plugins", ""):
        _log.info("Spark was started without Fulgurite's plugin: the first task on each executor loads the native library, and results of tasks "
                  "of more than 1 MB take longer. To have it, start Spark with --jars %s --conf spark.plugins=%s", jar(), _PLUGIN)


def has_jar(jvm):
    from py4j.java_gateway import JavaClass

    return isinstance(jvm.io.fulgurite.mlcontext.PythonBridge, JavaClass)


def refuse_connect(spark):
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise error("unsupported", "this is a session of Spark Connect, which has no JVM in reach", _WITHOUT_CONNECT)


_WITHOUT_CONNECT = (
    "make a classic session: SparkSession.builder.config('spark.api.mode', 'classic').master(...), with SPARK_REMOTE not set and without "
    ".remote(...); or run scripts beside it with spark-submit --class io.fulgurite.DMLScript")


def _refuse_connect(options):
    mode = options.get("spark.api.mode", os.environ.get("SPARK_API_MODE", "classic"))
    if "spark.remote" in options or "SPARK_REMOTE" in os.environ or mode == "connect":
        raise error("unsupported", "this makes a session of Spark Connect, which has no JVM in reach", _WITHOUT_CONNECT)


def _session_that_is_there():
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() or (SparkSession(SparkContext._active_spark_context) if SparkContext._active_spark_context else None)


def _jvm_is_up():
    from pyspark import SparkContext

    return "PYSPARK_GATEWAY_PORT" in os.environ or SparkContext._gateway is not None


def _add_to_driver(jvm, path):
    from py4j.protocol import Py4JError

    # Spark's own loader of what --jars names, or one that inherits from it.
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    while loader is not None:
        try:
            return loader.addURL(jvm.java.io.File(path).toURI().toURL())
        except Py4JError:
            loader = loader.getParent()
    raise error("unsupported", "the running JVM takes no more jars", f"start Spark with --jars {path}, or spark.jars={path} in its configuration")


def _of_submit(key):
    """What spark-submit was told; what a builder says takes its place."""
    from pyspark import SparkConf, SparkContext

    if SparkContext._jvm is None:
        return ""
    return SparkConf(_jvm=SparkContext._jvm).get(key, "")


def _is_set_elsewhere(key):
    """Whether spark-submit or its defaults say it, or may have: what a builder says would take its place."""
    if "PYSPARK_GATEWAY_PORT" in os.environ or key in os.environ.get("PYSPARK_SUBMIT_ARGS", ""):
        return True
    defaults = Path(os.environ.get("SPARK_CONF_DIR") or Path(spark_home(), "conf"), "spark-defaults.conf")
    return defaults.is_file() and any(re.match(rf"\s*{re.escape(key)}[\s=:]", line) for line in defaults.read_text().splitlines())
