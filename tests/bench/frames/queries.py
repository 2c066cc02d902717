"""Queries of TPC-H, on tables in memory."""

import datetime

import numpy as np
import tpch
from bench_frames_programs import Program
from bench_work_rows import Later

kernels, pandas, polars = map(Later, ["frame_kernels", "pandas", "polars"])

DAY = datetime.date


def q1_polars(lineitem):
    c = polars.col
    price = c("l_extendedprice") * (1 - c("l_discount"))
    return (
        lineitem.lazy()
        .filter(c("l_shipdate") <= DAY(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            c("l_quantity").sum().alias("sum_qty"),
            c("l_extendedprice").sum().alias("sum_base_price"),
            price.sum().alias("sum_disc_price"),
            (price * (1 + c("l_tax"))).sum().alias("sum_charge"),
            c("l_quantity").mean().alias("avg_qty"),
            c("l_extendedprice").mean().alias("avg_price"),
            c("l_discount").mean().alias("avg_disc"),
            polars.len().alias("count_order"),
        )
        .sort("l_returnflag", "l_linestatus")
        .collect()
    )


def q1_duckdb(db):
    return db.sql(
        """
        select l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
               sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)), avg(l_quantity), avg(l_extendedprice), avg(l_discount), count(*)
        from lineitem where l_shipdate <= date '1998-09-02' group by l_returnflag, l_linestatus order by l_returnflag, l_linestatus
        """
    ).to_arrow_table()


def q3_polars(customer, orders, lineitem):
    c = polars.col
    building = customer.lazy().filter(c("c_mktsegment") == "BUILDING")
    before = orders.lazy().filter(c("o_orderdate") < DAY(1995, 3, 15))
    after = lineitem.lazy().filter(c("l_shipdate") > DAY(1995, 3, 15))
    return (
        building.join(before, left_on="c_custkey", right_on="o_custkey")
        .join(after, left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg((c("l_extendedprice") * (1 - c("l_discount"))).sum().alias("revenue"))
        .select(c("o_orderkey").alias("l_orderkey"), "revenue", "o_orderdate", "o_shippriority")
        .sort("revenue", "o_orderdate", descending=[True, False])
        .head(10)
        .collect()
    )


def q3_duckdb(db):
    return db.sql(
        """
        select l_orderkey, sum(l_extendedprice * (1 - l_discount)) as revenue, o_orderdate, o_shippriority
        from customer, orders, lineitem
        where c_mktsegment = 'BUILDING' and c_custkey = o_custkey and l_orderkey = o_orderkey
          and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
        group by l_orderkey, o_orderdate, o_shippriority order by revenue desc, o_orderdate limit 10
        """
    ).to_arrow_table()


def q6_polars(lineitem):
    c = polars.col
    return (
        lineitem.lazy()
        .filter(c("l_shipdate") >= DAY(1994, 1, 1), c("l_shipdate") < DAY(1995, 1, 1), c("l_discount").is_between(0.05, 0.07), c("l_quantity") < 24)
        .select((c("l_extendedprice") * c("l_discount")).sum().alias("revenue"))
        .collect()
    )


def q6_duckdb(db):
    return db.sql(
        """
        select sum(l_extendedprice * l_discount) as revenue from lineitem
        where l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01'
          and l_discount between 0.05::double and 0.07::double and l_quantity < 24
        """
    ).to_arrow_table()


def q6_numba(lineitem):
    shipped = lineitem["l_shipdate"].to_numpy().view(np.int64)
    first, last = (np.datetime64(day, lineitem["l_shipdate"].dt.unit).astype(np.int64) for day in ["1994-01-01", "1995-01-01"])
    columns = [lineitem[f"l_{name}"].to_numpy() for name in ["discount", "quantity", "extendedprice"]]
    return np.array([kernels.revenue(shipped, *columns, first, last)])


def q12_polars(orders, lineitem):
    c = polars.col
    urgent = c("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        orders.lazy()
        .join(
            lineitem.lazy().filter(
                c("l_shipmode").is_in(["MAIL", "SHIP"]),
                c("l_commitdate") < c("l_receiptdate"),
                c("l_shipdate") < c("l_commitdate"),
                c("l_receiptdate") >= DAY(1994, 1, 1),
                c("l_receiptdate") < DAY(1995, 1, 1),
            ),
            left_on="o_orderkey",
            right_on="l_orderkey",
        )
        .group_by("l_shipmode")
        .agg(urgent.sum().alias("high_line_count"), (~urgent).sum().alias("low_line_count"))
        .sort("l_shipmode")
        .collect()
    )


def q12_duckdb(db):
    return db.sql(
        """
        select l_shipmode, count(*) filter (o_orderpriority in ('1-URGENT', '2-HIGH')) as high_line_count,
               count(*) filter (o_orderpriority not in ('1-URGENT', '2-HIGH')) as low_line_count
        from orders, lineitem
        where o_orderkey = l_orderkey and l_shipmode in ('MAIL', 'SHIP') and l_commitdate < l_receiptdate and l_shipdate < l_commitdate
          and l_receiptdate >= date '1994-01-01' and l_receiptdate < date '1995-01-01'
        group by l_shipmode order by l_shipmode
        """
    ).to_arrow_table()


def tables(query):
    """What a query reads."""
    names = tpch.QUERIES[query][2]
    return lambda tpch, scale: {name: table for name, table in tpch(scale).items() if name in names}


PEERS = {
    "q1": {"polars": q1_polars, "duckdb": q1_duckdb},
    "q3": {"polars": q3_polars, "duckdb": q3_duckdb},
    "q6": {"polars": q6_polars, "duckdb": q6_duckdb, "numba": q6_numba},
    "q12": {"polars": q12_polars, "duckdb": q12_duckdb},
}
WHAT = {
    "q1": ("TPC-H Q1: sums and means of lines, four groups", 1),
    "q3": ("TPC-H Q3: two joins, groups of orders, the ten largest", 0.7),
    "q6": ("TPC-H Q6: a selection of lines, one sum", 1),
    "q12": ("TPC-H Q12: a selection of lines, a join, two groups", 1),
}
PROGRAMS = [
    Program(
        f"tpch-{query}",
        what=what,
        sizes={"scale": 1.0},
        inputs=tables(query),
        forms={"fulgurite": tpch.QUERIES[query][0], "pandas": tpch.QUERIES[query][1], **PEERS[query]},
        reach=reach,
    )
    for query, (what, reach) in WHAT.items()
]
