"""Which jar is taken for which Spark."""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

import fulgurite
import fulgurite.spark
import fulgurite_spark
from fulgurite import FulguriteError
from fulgurite.spark import configuration, installation


@pytest.fixture
def folder(tmp_path):
    for versions in ("3.5_2.12", "3.5_2.13", "4.3_2.13"):
        (tmp_path / f"fulgurite-spark-{versions}-0.1.0.jar").touch()
    return tmp_path


def spark_home(path, scala, spark):
    core = path / "jars" / f"spark-core_{scala}-{spark}.jar"
    core.parent.mkdir(parents=True)
    core.touch()
    return path


@pytest.mark.parametrize("scala, spark, versions", [
    ("2.12", "3.5.9", "3.5_2.12"), ("2.13", "3.5.0-vendor-1", "3.5_2.13"), ("2.13", "4.3.1", "4.3_2.13")])
def test_the_jar_fits_the_installation(folder, tmp_path, scala, spark, versions):
    home = spark_home(tmp_path / "spark", scala, spark)
    assert Path(installation.find(home, folder)).name == f"fulgurite-spark-{versions}-0.1.0.jar"


@pytest.mark.parametrize("scala, spark", [("2.12", "3.4.4"), ("2.13", "4.0.0"), ("2.13", "4.30.0")])
def test_other_versions_are_refused_with_those_that_are_supported(folder, tmp_path, scala, spark):
    home = spark_home(tmp_path / "spark", scala, spark)
    with pytest.raises(FulguriteError) as error:
        installation.find(home, folder)
    assert error.value.kind == "unsupported"
    assert spark.rpartition(".")[0] in error.value.message
    assert "Spark 3.5 with Scala 2.12, Spark 3.5 with Scala 2.13, Spark 4.3 with Scala 2.13" in error.value.message


def test_an_installation_that_does_not_say_its_version_is_an_error(folder, tmp_path):
    with pytest.raises(FulguriteError) as error:
        installation.find(tmp_path / "nothing", folder)
    assert error.value.kind == "unsupported" and "FULGURITE_JAR" in error.value.message


def test_a_wheel_without_jars_says_so(tmp_path):
    with pytest.raises(FulguriteError) as error:
        installation.find(spark_home(tmp_path / "spark", "2.13", "4.3.0"), tmp_path)
    assert error.value.kind == "argument" and "carries no jar" in error.value.message


def test_the_installed_spark_has_its_jar(monkeypatch):
    monkeypatch.delenv("FULGURITE_JAR", raising=False)
    assert f"fulgurite-spark-{pyspark.__version__.rpartition('.')[0]}_" in Path(fulgurite.jar()).name


def test_a_jar_can_be_named(monkeypatch):
    monkeypatch.setenv("FULGURITE_JAR", "/somewhere/fulgurite.jar")
    assert fulgurite.jar() == "/somewhere/fulgurite.jar"


def test_the_names_are_those_of_fulgurite_spark():
    # Functions of columns are of Spark's columns there, and of frames' columns here, which an older NumPy leaves out.
    spark = fulgurite.spark
    others = {name for name in spark.__all__ if getattr(fulgurite, name, None) is not getattr(spark, name)}
    assert others == {"udf"}


def test_without_the_wheel_of_the_jars_pip_is_named(monkeypatch):
    monkeypatch.delenv("FULGURITE_JAR", raising=False)
    monkeypatch.setitem(sys.modules, "fulgurite_spark", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'fulgurite\[spark\]'.*FULGURITE_JAR"):
        fulgurite.jar()
    assert "pip install 'fulgurite[spark]'" in installation.advice()


def test_jars_of_another_version_are_refused(monkeypatch):
    monkeypatch.delenv("FULGURITE_JAR", raising=False)
    monkeypatch.setattr(fulgurite_spark, "__version__", "0.0.9")
    with pytest.raises(ImportError, match=r"fulgurite is 0\..*fulgurite-spark are 0\.0\.9.*pip install 'fulgurite\[spark\]=="):
        fulgurite.jar()


class Builder:
    """As much of a session's builder as is asked for."""

    def __init__(self, **options):
        self._options = {key.replace("_", "."): value for key, value in options.items()}

    def config(self, key, value):
        self._options[key] = value
        return self


def test_iterations_share_the_executors_unless_the_user_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("FULGURITE_JAR", "/somewhere/fulgurite.jar")
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_SUBMIT_ARGS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    # Other tests of this process may have made a session.
    monkeypatch.setattr(configuration, "_session_that_is_there", lambda: None)
    monkeypatch.setattr(configuration, "_jvm_is_up", lambda: False)

    def mode(**options):
        return fulgurite.configure(Builder(**options))._options.get("spark.scheduler.mode")

    assert mode() == "FAIR"
    assert mode(spark_scheduler_mode="FIFO") == "FIFO"
    (tmp_path / "spark-defaults.conf").write_text("# spark.scheduler.mode none\nspark.master local\nspark.scheduler.mode  FIFO\n")
    assert mode() is None
    (tmp_path / "spark-defaults.conf").write_text("# spark.scheduler.mode FIFO\n")
    assert mode() == "FAIR"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf spark.scheduler.mode=FIFO pyspark-shell")
    assert mode() is None


SESSION = """
import fulgurite
from pyspark.sql import SparkSession
spark = fulgurite.configure(SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")).getOrCreate()
try:
    fulgurite.MLContext(spark)
except fulgurite.FulguriteError as error:
    print(error.kind, error.message)
"""


def test_a_session_with_the_jar_of_another_version_is_refused():
    # With the plugin of a jar for Scala 2.12, Spark 4.3 fails before there is a session.
    others = [path for path in fulgurite_spark.jars().glob("*_2.13-*.jar") if str(path) != fulgurite.jar()]
    if not others:
        pytest.skip("the wheel carries one jar")
    for other in others:
        printed = subprocess.run([sys.executable, "-c", SESSION], env={**os.environ, "FULGURITE_JAR": str(other)}, capture_output=True, text=True)
        assert f"unsupported unsupported error[E0900]: the jar of Fulgurite in this session does not run on Spark {pyspark.__version__}" in printed.stdout, printed.stderr
