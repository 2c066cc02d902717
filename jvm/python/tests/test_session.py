"""Living in a session: stopping, attaching to what is there, and what a notebook shows."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from py4j.protocol import Py4JNetworkError

import fulgurite
from fulgurite import FulguriteError, MLContext, dml
from fulgurite.spark import context, html, installation

LOOP = "print('ready')\ni = 0\nwhile (i >= 0) { i = i + 1 }\nprint('never')"


def wait_until_ready(capfd, printed):
    while "ready" not in "".join(printed):
        time.sleep(0.05)
        printed.append(capfd.readouterr().out)
    time.sleep(0.3)


def press_during(capfd, ml, script):
    """Executes a script, which would not end by itself, and presses Ctrl-C after it has printed `ready`."""
    printed = []

    def press():
        wait_until_ready(capfd, printed)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        ml.execute(script)
    thread.join()
    time.sleep(0.3)
    assert "never" not in "".join(printed) + capfd.readouterr().out


def jobs(spark):
    return spark.sparkContext._jsc.sc().statusTracker().getActiveJobIds()


def test_ctrl_c_ends_a_local_loop_and_the_session_goes_on(ml, capfd):
    press_during(capfd, ml, LOOP)
    assert ml.execute(dml("x = 1 + 1").output("x")).get("x") == 2


def test_ctrl_c_ends_jobs(ml, spark, capfd):
    frame = spark.range(1, 20001, numPartitions=4).selectExpr("cast(id as double) as x")
    ml.setConfigProperty("fulgurite.memory.local", "10k")
    script = dml("print('ready')\ni = 0\nwhile (i >= 0) { i = i + sum(X * (i + 1)) }\nprint('never')").input(X=frame)
    press_during(capfd, ml, script)
    assert len(list(jobs(spark))) == 0
    assert ml.execute(dml("s = sum(X)").input(X=frame).output("s")).get("s") == 20000 * 20001 / 2


def test_a_call_that_the_jvm_refuses_for_a_moment_is_made_again():
    answers = [Py4JNetworkError("empty"), Py4JNetworkError("empty"), 7]

    def call():
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert context._insist(call) == 7 and not answers


@pytest.mark.parametrize("end", ["cancel", "close"])
def test_another_thread_ends_a_run(spark, end, capfd):
    own = MLContext(spark)
    failures = []

    def run():
        try:
            own.execute(LOOP)
        except FulguriteError as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until_ready(capfd, [])
    getattr(own, end)()
    thread.join(20)
    assert not thread.is_alive()
    assert failures[0].kind == "interrupted" and failures[0].position[1] == 3
    if end == "cancel":
        assert own.execute(dml("x = 2").output("x")).get("x") == 2
        own.close()
    with pytest.raises(FulguriteError) as error:
        own.execute("x = 1")
    assert error.value.kind == "argument" and "closed" in error.value.message


STOPPED = """
import sys, threading, fulgurite
from pyspark.sql import SparkSession
ready = threading.Event()
class Output:
    def write(self, text):
        if "ready" in text:
            ready.set()
        return sys.__stdout__.write(text)
    def flush(self):
        sys.__stdout__.flush()
sys.stdout = Output()
spark = fulgurite.configure(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")).getOrCreate()
ml = fulgurite.MLContext(spark)
def run():
    try:
        ml.execute("print('ready')\\ni = 0\\nwhile (i >= 0) { i = i + 1 }")
    except fulgurite.FulguriteError as error:
        print("ended", error.kind, flush=True)
thread = threading.Thread(target=run)
thread.start()
assert ready.wait(60)
spark.stop()
thread.join(20)
print("alive", thread.is_alive())
"""


def python(program, *command, **environment):
    ran = subprocess.run([*(command or (sys.executable,)), *(("-c",) if not command else ()), program], capture_output=True, text=True,
                         env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment}, timeout=300)
    assert ran.returncode == 0, ran.stderr[-4000:]
    return ran.stdout


def test_the_end_of_the_session_ends_a_run():
    printed = python(STOPPED)
    assert "ended interrupted" in printed and "alive False" in printed


def test_a_misspelt_setting_is_an_error_where_it_is_set(ml):
    with pytest.raises(FulguriteError) as error:
        ml.setConfigProperty("fulgurite.memory.locale", "1g")
    assert error.value.kind == "argument" and "did you mean 'fulgurite.memory.local'" in error.value.message
    assert ml.execute(dml("x = 1").output("x")).get("x") == 1


JOB = """
import numpy, fulgurite
from pyspark.sql import SparkSession
{before}
spark = fulgurite.configure(SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")).getOrCreate()
ml = fulgurite.MLContext(spark)
frame = spark.range(1, 101).selectExpr("cast(id as double) as x").repartition(3)
ml.setConfigProperty("fulgurite.memory.local", "100")
script = fulgurite.dml("s = sum(X * X)").input(X=frame).output("s")
results = ml.execute(script)
print("sum", results.get("s"), "native tasks" in results.report())
print("plugin", "FulguriteSparkPlugin" in spark.sparkContext.getConf().get("spark.plugins", ""))
"""

READY_MADE = 'SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()'


@pytest.mark.parametrize("before, plugin", [("", "True"), (READY_MADE, "False")])
def test_a_submitted_job_needs_no_options(tmp_path, before, plugin):
    job = tmp_path / "job.py"
    job.write_text(JOB.format(before=before))
    submit = Path(installation.spark_home(), "bin", "spark-submit")
    printed = python(str(job), str(submit), PYSPARK_DRIVER_PYTHON=sys.executable, PYTHONPATH=os.pathsep.join(sys.path))
    assert "sum 338350" in printed and "True\n" in printed and f"plugin {plugin}" in printed


def test_a_session_that_is_there_is_attached_to():
    printed = python(JOB.format(before=READY_MADE))
    assert "sum 338350" in printed and "plugin False" in printed
    # Without configure, too.
    printed = python(JOB.format(before="").replace("fulgurite.configure(SparkSession.builder", "(SparkSession.builder"))
    assert "sum 338350" in printed and "plugin False" in printed


def test_spark_connect_is_refused_with_a_way_out(monkeypatch):
    class Builder:
        _options = {"spark.remote": "sc://host"}

    with pytest.raises(FulguriteError) as error:
        fulgurite.configure(Builder())
    assert error.value.kind == "unsupported" and "spark-submit" in error.value.message

    class Session:
        pass

    Session.__module__ = "pyspark.sql.connect.session"
    with pytest.raises(FulguriteError) as error:
        MLContext(Session())
    assert error.value.kind == "unsupported" and "classic" in error.value.message


def test_scripts_and_outputs_come_in_several_forms(ml, tmp_path):
    path = tmp_path / "a.dml"
    path.write_text("x = 3")
    assert ml.execute("x = 1").get() == []
    ml.execute(path)
    script = dml("a = 1\nb = 2\nc = 3").output(["a", "b"], ("c",))
    assert script.outputs == ["a", "b", "c"]
    results = ml.execute(script)
    assert results.get(["a", "b"]) == [1, 2] and results.get(("c",)) == [3] and results.get("a", "c") == [1, 3] and results.get("a") == 1
    for wrong in (lambda: script.output(3), lambda: ml.execute(3), lambda: results.get(None)):
        with pytest.raises(FulguriteError) as error:
            wrong()
        assert error.value.kind == "argument"


def test_whatever_is_an_input_becomes_a_matrix(ml, spark):
    array = np.arange(6.0).reshape(2, 3)
    for value in (array, array.tolist(), ml.matrix(array), spark.sparkContext.parallelize(["0,1,2", "3,4,5"], 1)):
        np.testing.assert_array_equal(ml.matrix(value).toNumPy(), array)
    with pytest.raises(FulguriteError) as error:
        ml.matrix(array, format="ijv")
    assert error.value.kind == "argument"


def test_polars(ml):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    np.testing.assert_array_equal(ml.matrix(frame).toNumPy(), [[1, 0.5, 1], [2, 1.5, 0]])
    assert ml.execute(dml("s = sum(X)").input(X=frame["a"]).output("s")).get("s") == 3
    for wrong, named in ((polars.DataFrame({"a": [1.0], "word": ["x"]}), "'word'"), (polars.DataFrame({"a": [1, None]}), "row 2: column 'a'"),
                         (frame.lazy(), "collect()")):
        with pytest.raises(FulguriteError) as error:
            ml.execute(dml("s = sum(X)").input(X=wrong))
        assert error.value.kind == "data" and named in error.value.message and "input 'X'" in error.value.message


@pytest.mark.parametrize("value", [None, {"a": 1}, {1, 2}, print])
def test_what_is_no_matrix_is_refused_by_name(ml, value):
    with pytest.raises(FulguriteError) as error:
        ml.execute(dml("s = sum(X)").input(X=value))
    assert error.value.kind == "argument" and f"input 'X' is a " in error.value.message


def test_data_errors_name_the_input_and_come_without_stacks(ml, spark, capfd):
    ml.setConfigProperty("fulgurite.memory.local", "10k")
    frame = spark.range(0, 2000, numPartitions=2).selectExpr("case when id = 1500 then null else cast(id as double) end as x")
    lines = spark.sparkContext.parallelize(["1,2"] * 2000 + ["3,four"], 2)
    for value in (frame, lines):
        with pytest.raises(FulguriteError) as error:
            ml.execute(dml("s = sum(X)").input(X=value).output("s"))
        assert error.value.kind == "data" and "'X'" in error.value.message, error.value.message
        assert error.value.__cause__ is None and error.value.__suppress_context__
    assert "\tat " not in capfd.readouterr().err


def shown(value):
    page = value._repr_html_()
    scope = re.match(r'<div id="(fulgurite-\d+-\w+)"><style>', page)[1]
    for style in re.findall(r"<style>(.*?)</style>", page, re.DOTALL):
        for selectors in re.findall(r"([^{}]+)\{", style):
            assert selectors.strip().startswith("@") or all(one.strip().startswith(f"#{scope}") for one in selectors.split(",")), selectors
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(set(ids)) == len(ids) and all(one.startswith(scope) for one in ids)
    # A picture alone links to rows of the page's table, which it does not have.
    links = [link.removeprefix("#") for link in re.findall(r'href="(#[^"]+)"', page)]
    assert all(link.startswith(scope) and ("<table" not in page or link in ids) for link in links)
    return page


def test_notebooks_show_values_with_their_own_styles_and_ids(ml):
    script = dml("B = t(X) %*% X\ns = 'a < b'").input(X=np.ones((2, 3))).output("B", "s")
    results = ml.execute(script)
    B = results.get("B")
    assert repr(ml).startswith("MLContext: Fulgurite") and "Spark" in shown(ml)
    assert repr(results) == "MLResults: B = Matrix: 3 x 3, s = 'a < b'"
    assert "a &lt; b" in shown(results) and "Matrix: 3 x 3" in shown(results)
    assert "on the driver" in shown(B)
    text = ml.explain(script)
    assert repr(text) == str(text) and "TRead X" in shown(text)
    pages = [shown(ml.explain(script, format=format)) for format in ("svg", "html", "html")]
    assert "<!DOCTYPE" not in pages[1] and "<svg" in pages[0]
    # Two pictures of the same plan on one page.
    assert not set(re.findall(r'\bid="([^"]+)"', pages[1])) & set(re.findall(r'\bid="([^"]+)"', pages[2]))
    B.close()
    # A closed matrix may have forgotten its size, but shows itself.
    assert repr(B).startswith("Matrix: ") and shown(B)


def test_rules_of_conditions_stay_inside_them():
    styled = html.page('<svg><style>text{fill:#222}@media(prefers-color-scheme:dark){text,a:hover .b{fill:#eee}}</style></svg>')
    scope = "#" + re.match(r'<div id="([^"]+)"', styled)[1]
    assert f"<style>{scope} text{{fill:#222}}@media(prefers-color-scheme:dark){{{scope} text,{scope} a:hover .b{{fill:#eee}}}}</style>" in styled
