"""Prints, arguments, errors, and what runs where."""

import numpy as np
import pytest

from fulgurite import FulguriteError, dml, dmlFromFile


def test_prints_show(ml, capfd):
    ml.execute(dml("for (i in 1:3) print('line ' + i)"))
    assert capfd.readouterr().out.endswith("line 1\nline 2\nline 3\n")


def test_explanations_and_statistics_show(ml, capfd):
    ml.setExplain(True).setStatistics(True)
    ml.execute(dml("s = sum(X * X)").input(X=np.ones((10, 10))).output("s"))
    out = capfd.readouterr().out
    assert "TRead X" in out and "seconds" in out


def test_scripts_are_explained_without_being_run(ml):
    script = dml("s = sum(X * X + 1)\nstop('not run')").input(X=np.ones((10, 10))).output("s")
    assert "[10 x 10" in ml.explain(script)
    partitions = ml.explain(script, level="partitions", format="json")
    assert (partitions["format"], partitions["level"]) == ("fulgurite-explain", "partitions")
    page = ml.explain(script, format="html")
    assert page.startswith("<!DOCTYPE html>")
    # In a notebook's cell its styles reach nothing else.
    assert page._repr_html_().startswith('<div id="fulgurite-')
    assert "fused(0)" in ml.why(script, 1)
    with pytest.raises(FulguriteError) as error:
        ml.explain(script, level="memo", format="dot")
    assert error.value.kind == "argument"


def test_files_and_arguments(ml, tmp_path):
    path = tmp_path / "add.dml"
    path.write_text("x = $a + ifdef($b, 10)\n")
    assert ml.execute(dmlFromFile(path).input("$a", 5).output("x")).get("x") == 15
    assert ml.execute(dml(str(path)).input({"$a": 5, "$b": 1}).output("x")).get("x") == 6


def test_a_missing_file_is_an_error():
    with pytest.raises(FulguriteError) as error:
        dmlFromFile("/no/such.dml")
    assert error.value.kind == "io"


@pytest.mark.parametrize("text, kind, line", [
    ("x = 1\ny = (2 +", "syntax", 2),
    ("x = 1\n\ny = nothing + 1", "validation", 3),
    ("print(sum(X %*% X))", "dimension", 1),
    ("stop('enough')", "stopped", 1),
    ("x = $missing", "argument", 1),
])
def test_errors_have_kind_and_place_and_the_context_goes_on(ml, text, kind, line):
    with pytest.raises(FulguriteError) as error:
        ml.execute(dml(text).input(X=np.ones((2, 3))))
    assert error.value.kind == kind
    assert error.value.position[1] == line
    assert "at io.fulgurite" not in str(error.value) and error.value.__cause__ is None
    assert ml.execute(dml("x = 1 + 1").output("x")).get("x") == 2


def test_bad_frames_name_the_column(ml, spark):
    frame = spark.createDataFrame([(1.0, "a"), (2.0, "b")], ["x", "word"])
    with pytest.raises(FulguriteError) as error:
        ml.execute(dml("s = sum(X)").input(X=frame).output("s"))
    assert error.value.kind == "data" and "'word'" in error.value.message


def test_what_does_not_fit_runs_on_spark(ml, spark):
    array = np.random.default_rng(3).normal(size=(2000, 20))
    columns = [f"c{col}" for col in range(20)]
    frame = spark.createDataFrame(array.tolist(), columns).repartition(4).cache()
    expected = np.array(frame.collect())
    script = dml("for (i in 1:3) { g = t(X) %*% (X %*% v); v = g / sum(abs(g)) }").input(X=frame, v=np.ones(20)).output("v")
    ml.setConfigProperty("fulgurite.memory.local", "100k")
    results = ml.execute(script)
    v = np.ones((20, 1))
    for _ in range(3):
        g = expected.T @ (expected @ v)
        v = g / np.abs(g).sum()
    np.testing.assert_allclose(results.get("v").toNumPy(), v, rtol=1e-9)
    assert "input X: 4 partitions read from the source" in results.report()
    assert "native tasks of" in results.report()
    statistics = results.statistics()
    assert statistics["inputs"] == [{"name": "X", "partitions": 4, "partitionsRead": 4, "partitionsScanned": 12, "scans": 3.0}]
    spark_use = statistics["spark"]
    assert spark_use["isComplete"] and spark_use["jobs"] > 0 and spark_use["bytesBroadcast"] > 0 and spark_use["bytesShuffledWritten"] == 0
    on_spark = [operator for operator in results.operators() if operator["location"] == "spark"]
    assert sum(operator["rows"] for operator in on_spark) == 3 * 2000 and sum(operator["nnz"] for operator in on_spark) == 3 * 2000 * 20
    assert all(operator["nativeSeconds"] > 0 and operator["label"].endswith("script.dml:1") for operator in on_spark)
    assert all("sent" in operator["form"] and operator["form"] in results.report() for operator in on_spark)
