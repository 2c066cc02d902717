"""Runs scripts on a Spark session."""

import json
import signal
import sys
import threading
import time

from contextlib import contextmanager

from . import configuration, html, installation
from .errors import error, failed, java_errors
from .matrix import Matrix
from .script import flat, script_of
from .transfer import to_java

_LIVE_OUTPUT_SECONDS = 0.2
# How often a call is made that the JVM refused, and the time between.
_ATTEMPTS = 10
_PAUSE_SECONDS = 0.05


def _insist(call):
    """What the JVM answers. A call that Ctrl-C ends closes its connection; the JVM may refuse the next one for a moment."""
    from py4j.protocol import Py4JNetworkError

    for _ in range(_ATTEMPTS):
        try:
            return call()
        except Py4JNetworkError:
            time.sleep(_PAUSE_SECONDS)
    return call()


@contextmanager
def _plain_interrupts():
    """Has Ctrl-C raise KeyboardInterrupt and do nothing else.

    PySpark's own handler asks the JVM to cancel jobs. Before Spark 4 that fails, since the thread is in a call to the JVM already.
    """
    before = signal.getsignal(signal.SIGINT)
    is_pysparks = str(getattr(before, "__module__", "")).startswith("pyspark")
    if not is_pysparks or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class MLContext:
    """Runs scripts. One that fails raises FulguriteError and leaves the context usable. Setters can be chained."""

    def __init__(self, spark):
        from py4j.protocol import Py4JError
        from pyspark.sql import SparkSession

        configuration.refuse_connect(spark)
        self._spark = spark if hasattr(spark, "sparkContext") else SparkSession(spark)
        jvm = self._spark.sparkContext._jvm
        if not configuration.has_jar(jvm):
            configuration.attach(self._spark)
        try:
            self._bridge = jvm.io.fulgurite.mlcontext.PythonBridge(self._spark._jsparkSession)
        except (Py4JError, TypeError) as failure:
            running = f"Spark {self._spark.version} with Scala {jvm.scala.util.Properties.versionNumberString()}"
            raise failed("unsupported", f"unsupported error: the jar of Fulgurite in this session does not run on {running}\n"
                                        f"   = help: {installation.advice()}") from failure
        self._java = self._bridge.context()

    def execute(self, script):
        """Runs what ``dml`` or ``dmlFromFile`` made, or a script's text. Ctrl-C, or ``cancel`` from another thread, ends it."""
        script = script_of(script)
        # Copies of arrays, for this execution only.
        copies = []
        try:
            with self._until_interrupted():
                java = self._java_script(script, copies)
                with java_errors(self._bridge), _live_output(self._bridge):
                    results = self._java.execute(java)
        finally:
            for copy in copies:
                copy.close()
        return MLResults(self, results, script.outputs)

    def explain(self, script, level="plan", format="text"):
        """What executing the script would do, without running it: docs/explain.md names levels and formats.

        ``json`` gives a dictionary, ``svg`` and ``html`` show themselves in a notebook.
        """
        return self._ask("explain", script, level, format)

    def why(self, script, where, format="text"):
        """Why the operators at ``where`` (a line, ``"line:column"``, or an operator's code) are fused, or not."""
        return self._ask("why", script, str(where), format)

    def _ask(self, method, script, what, format):
        script = script_of(script)
        copies = []
        try:
            java = self._java_script(script, copies)
            with java_errors(self._bridge):
                text = getattr(self._java, method)(java, what, format)
        finally:
            for copy in copies:
                copy.close()
        return json.loads(text) if format == "json" else Explanation(text, format)

    def matrix(self, frame, format=None, rows=None, cols=None):
        """A Spark DataFrame, or whatever else is an input, as a Matrix, converted once for any number of scripts.

        With ``format="ijv"`` its columns are row, column (from 1) and value of cells, in any order; what is not there is 0.
        Where ``rows`` or ``cols`` is not given, the largest index is the size.
        """
        if format not in (None, "ijv"):
            raise failed("argument", f"argument error: there is no format '{format}' of DataFrames\n   = help: leave it out, or say 'ijv'")
        if format is None and (rows is not None or cols is not None):
            raise failed("argument", "argument error: a DataFrame of rows says itself how large it is\n   = help: rows and cols go with format='ijv'")
        if isinstance(frame, Matrix):
            return frame
        if not hasattr(frame, "_jdf") and format is not None:
            raise error("argument", f"a {type(frame).__name__} has no format '{format}'", "only Spark's DataFrames have; leave it out")
        with self._until_interrupted(), java_errors(self._bridge):
            if hasattr(frame, "_jrdd"):
                return Matrix(self._bridge, self._spark, self._java.matrix(_elements(frame).rdd()))
            if not hasattr(frame, "_jdf"):
                return Matrix(self._bridge, self._spark, to_java(self._bridge, "matrix(...)", frame))
            if format is None:
                return Matrix(self._bridge, self._spark, self._java.matrix(frame._jdf))
            sizes = (-1 if size is None else size for size in (rows, cols))
            return Matrix(self._bridge, self._spark, self._bridge.cells(frame._jdf, *sizes))

    def setExplain(self, explain):
        return self._set("setExplain", explain)

    def setExplainLevel(self, level):
        """A level of ``explain``, or none."""
        return self._set("setExplainLevel", level)

    def setStatistics(self, statistics):
        return self._set("setStatistics", statistics)

    def setStatisticsMaxHeavyHitters(self, most):
        """How many operators statistics show, those that took longest."""
        return self._set("setStatisticsMaxHeavyHitters", most)

    def setConfigProperty(self, name, value):
        return self._set("setConfigProperty", name, str(value))

    def resetConfig(self):
        return self._set("resetConfig")

    def info(self):
        with java_errors(self._bridge):
            return self._java.info()

    def version(self):
        with java_errors(self._bridge):
            return self._java.version()

    def cancel(self):
        """Ends what runs on this context, from another thread: it raises FulguriteError of kind interrupted. Returns when it has ended,
        or after five seconds: the script may be reading a pipe that nobody writes into."""
        with java_errors(self._bridge):
            self._java.cancel()

    def close(self):
        """As ``cancel``; nothing can be executed any more. Leaves Spark running."""
        with java_errors(self._bridge):
            self._java.close()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.close()

    def __repr__(self):
        return f"MLContext: {self._java.info()}"

    def _repr_html_(self):
        spark = self._spark
        return html.table("Fulgurite", [("version", self.version()), ("Spark", spark.version), ("master", spark.sparkContext.master)])

    @contextmanager
    def _until_interrupted(self):
        """Ctrl-C interrupts Python, which waits for the JVM; the JVM goes on until it is told."""
        try:
            with _plain_interrupts():
                yield
        except KeyboardInterrupt:
            _insist(self._java.cancel)
            # The next script is not to show it.
            _insist(self._bridge.takeOutput)
            raise

    def _set(self, method, *values):
        with java_errors(self._bridge):
            getattr(self._java, method)(*values)
        return self

    def _java_script(self, script, copies):
        jvm = self._spark.sparkContext._jvm
        with java_errors(self._bridge):
            java = self._bridge.script(script.name, script.text)
            for name, value in script.inputs.items():
                self._bind(java, name, value, copies)
            names = jvm.java.util.ArrayList()
            for name in script.outputs:
                names.add(name)
            java.out(names)
        return java

    def _bind(self, java, name, value, copies):
        if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
            value = value.item()
        if isinstance(value, Matrix):
            self._bridge.bind(java, name, value._java)
        elif isinstance(value, (bool, float, str)):
            self._bridge.bind(java, name, value)
        elif isinstance(value, int):
            if not -(2**63) <= value < 2**63:
                raise failed("argument", f"argument error: input '{name}' is {value}\n   = help: integers have 64 bits")
            # As text: else the gateway would choose between int and long by size.
            self._bridge.bindLong(java, name, str(value))
        elif hasattr(value, "_jdf"):
            self._bridge.bind(java, name, value._jdf)
        elif hasattr(value, "_jrdd"):
            self._bridge.bind(java, name, _elements(value))
        else:
            copy = to_java(self._bridge, name, value)
            copies.append(copy)
            self._bridge.bind(java, name, copy)


def _elements(rdd):
    """An RDD of lines, vectors, or pairs of row number and vector, as the JVM sees it."""
    from pyspark.ml.common import _to_java_object_rdd

    return _to_java_object_rdd(rdd)


class Explanation(str):
    """An explanation's text. A notebook shows pictures as such, and text as it is."""

    def __new__(cls, text, format):
        explanation = super().__new__(cls, text)
        explanation.format = format
        return explanation

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        return html.page(self) if self.format in ("html", "svg") else html.text(self)


class MLResults:
    """The outputs of an execution."""

    def __init__(self, context, java, names):
        self._context = context
        self._java = java
        self._names = names

    def get(self, *names):
        """The output of one name, a list for several: a Matrix, or a Python number, bool or string."""
        values = [self._one(name) for name in flat(names)]
        return values[0] if len(names) == 1 and isinstance(names[0], str) else values

    def report(self):
        """What ran where, how often and how long, as text."""
        with java_errors(self._context._bridge):
            return self._java.report().toString()

    def statistics(self):
        """The report as a dictionary: ``operators``, ``inputs`` and how often each was scanned, ``spark`` with the jobs and the
        bytes that they moved, and what the compiler did."""
        with java_errors(self._context._bridge):
            return json.loads(self._java.report().json())

    def operators(self):
        """What ran, what took longest first: dictionaries with label, location, count, seconds and, for fused operators, plan; for
        those on Spark tasks, nativeSeconds, operatorSeconds, compileSeconds, rows, nnz, bytesIn and bytesOut of the executors, too."""
        return self.statistics()["operators"]

    def _one(self, name):
        with java_errors(self._context._bridge):
            value = self._java.get(name)
        is_scalar = isinstance(value, (bool, int, float, str))
        return value if is_scalar else Matrix(self._context._bridge, self._context._spark, value)

    def __repr__(self):
        return "MLResults: " + (", ".join(f"{name} = {value!r}" for name, value in self._shown()) or "no outputs")

    def _repr_html_(self):
        rows = [(name, type(value).__name__, value) for name, value in self._shown()]
        return html.table("Results", rows or [("no outputs", "register them with output(...)")])

    def _shown(self):
        return [(name, self._one(name)) for name in self._names]


class _live_output:
    """Shows what scripts print while they run, in Python's standard output (a notebook's cell)."""

    def __init__(self, bridge):
        self._bridge = bridge
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()

    def __exit__(self, *failure):
        self._ended.set()
        self._thread.join()
        self._show()

    def _watch(self):
        while not self._ended.wait(_LIVE_OUTPUT_SECONDS):
            self._show()

    def _show(self):
        text = _insist(self._bridge.takeOutput)
        if text:
            sys.stdout.write(text)
            sys.stdout.flush()
