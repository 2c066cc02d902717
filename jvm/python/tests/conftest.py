"""One session for all tests. The jar comes from the installed wheel, or from FULGURITE_JAR."""

import os
import sys

import pytest
from pyspark.sql import SparkSession

import fulgurite


@pytest.fixture(scope="session")
def spark():
    # The workers' Python is the one with the packages.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]").appName("fulgurite tests").config("spark.ui.enabled", "false")
    session = fulgurite.configure(builder).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture
def ml(spark):
    context = fulgurite.MLContext(spark)
    yield context
    context.close()
