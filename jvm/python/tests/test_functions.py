"""Python functions of values as functions of columns: what Spark's own Python functions give."""

import math
import sys

import pytest
from pyspark import cloudpickle
from pyspark.sql import functions as F

import fulgurite.spark

pytest.importorskip("pyarrow")

# Executors do not have this file.
cloudpickle.register_pickle_by_value(sys.modules[__name__])


def score(age, income):
    if age is None:
        return 0.0
    return 0.2 * age + 0.001 * income if age > 18 else -1.0


def ratio(a, b) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        return math.inf


@pytest.fixture(scope="module")
def people(spark):
    frame = spark.range(0, 5000, 1, 3).selectExpr(
        "cast(if(id % 11 = 0, null, id % 90) as int) as age", "double(id * 7 % 1000) as income", "concat('name ', id % 13) as name")
    frame.createOrReplaceTempView("people")
    return frame


def both(people, function, kind, *columns):
    ours = fulgurite.spark.udf(function, kind)
    plain = F.udf(function, kind)
    rows = people.select(*columns, ours(*columns).alias("ours"), plain(*columns).alias("plain")).collect()
    assert len(rows) == 5000
    return [(row.ours, row.plain) for row in rows]


def test_a_function_in_select_and_with_column(people):
    for found, expected in both(people, score, "double", "age", "income"):
        assert found == pytest.approx(expected, rel=1e-12)
    scored = people.withColumn("score", fulgurite.spark.udf(score, "double")("age", "income"))
    assert scored.schema["score"].dataType.simpleString() == "double"
    assert scored.filter("score is null").count() == 0


def test_a_function_in_sql(spark, people):
    spark.udf.register("score", fulgurite.spark.udf(score, "double"))
    found = spark.sql("select sum(score(age, income)) as total from people").first().total
    assert found == pytest.approx(sum(score(row.age, row.income) for row in people.collect()))


def test_strings_and_functions_without_a_translation(people):
    for found, expected in both(people, lambda name: name.upper()[2:] if name.endswith("3") else None, "string", "name"):
        assert found == expected
    for found, expected in both(people, lambda income: math.fsum([income, 0.5]), "double", "income"):
        assert found == expected


def test_rows_that_raise_run_in_python(people):
    for found, expected in both(people, ratio, "double", "income", "income"):
        assert found == expected
    broken = fulgurite.spark.udf(lambda income: 1 / income, "double")
    with pytest.raises(Exception, match="ZeroDivisionError"):
        people.select(broken("income")).collect()


def test_the_type_of_the_result_is_needed(people):
    assert fulgurite.spark.udf(ratio)("income", "income") is not None
    with pytest.raises(TypeError, match="the type of the result"):
        fulgurite.spark.udf(score)
