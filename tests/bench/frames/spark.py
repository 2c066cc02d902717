"""SQL on Spark: queries of TPC-H, and a function of each row. Every side runs the same text, on a session of its own."""

import score_rows
from bench_frames_programs import Program

Q1 = """
    select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
           sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
    from lineitem where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus
"""
Q6 = """
    select sum(l_extendedprice * l_discount) from lineitem
    where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01' and l_discount between 0.0499999 and 0.0700001 and l_quantity < 24
"""
SCORE = "select avg(score(age, income, claims, years)) from customers"
# Functions that have registered it: a process has one session.
REGISTERED = set()


def asked(query):
    return lambda spark: spark.sql(query)


def lineitem(tpch, scale):
    return {"lineitem": tpch(scale)["lineitem"]}


def scored(register):
    def run(spark):
        if register not in REGISTERED:
            register(spark)
            REGISTERED.add(register)
        return spark.sql(SCORE)

    return run


def with_fulgurite(spark):
    from fulgurite.spark import udf

    spark.udf.register("score", udf(score_rows.score, returnType="double"))


def with_python(spark):
    spark.udf.register("score", score_rows.score, "double")


def with_pandas(spark):
    from pyspark.sql.functions import pandas_udf

    def score(age, income, claims, years):
        risk = 0.03 * age + 0.2 * claims - 0.00001 * income - 1.5
        risk = risk.where(years <= 5, risk - 0.05 * (years - 5))
        return risk.where(risk > 0, 0.0)

    import pandas

    score.__annotations__ = dict.fromkeys(["age", "income", "claims", "years", "return"], pandas.Series)
    spark.udf.register("score", pandas_udf(score, "double"))


def with_scala(spark):
    spark._jvm.Score.register(spark._jsparkSession)


def query(name, what, text, cached, without=None):
    return Program(
        name,
        what=what,
        sizes={"scale": 1.0},
        inputs=lineitem,
        forms=dict.fromkeys(["fulgurite", "spark", "comet"], asked(text)),
        reach=3,
        against=("spark",),
        cached=cached,
        without=without or {},
    )


PROGRAMS = [
    query("spark-q1", "TPC-H's query 1 from a cached table", Q1, cached=True),
    query("spark-q6", "TPC-H's query 6 from a cached table", Q6, cached=True, without={"comet": "its sum of a cached table has two rows"}),
    query("spark-q1-parquet", "TPC-H's query 1 from a Parquet file", Q1, cached=False),
    query("spark-q6-parquet", "TPC-H's query 6 from a Parquet file", Q6, cached=False),
    Program(
        "spark-score",
        what="the mean of a linear model with a kink, a function of each row",
        sizes={"n": 5_000_000},
        inputs=lambda n: score_rows.data(n),
        forms={
            "fulgurite": scored(with_fulgurite),
            "python": scored(with_python),
            "pandas": scored(with_pandas),
            "scala": scored(with_scala),
        },
        reach=5,
        against=("scala",),
    ),
]
