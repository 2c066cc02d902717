"""Four queries of the TPC-H benchmark: pricing summary, shipping priority, forecast of revenue, and ship modes.

    python tpch.py                              query 1 on a hundred thousand random lines
    python tpch.py --query q3 --rows 1000000    query 3 on a million
"""

import argparse
import datetime

import numpy as np
import pandas as pd
import side_by_side

import fulgurite as fg

DAY = datetime.date


def data(rows, seed=7):
    """Lines of orders with the columns that the queries use, and values such as those of TPC-H."""
    random = np.random.default_rng(seed)
    count, buyers = max(1, rows // 4), max(1, rows // 40)

    def choice(values, size):
        return pd.Series(pd.Categorical.from_codes(random.integers(len(values), size=size), values)).astype("str")

    def days(start, after):
        return (start.astype("datetime64[D]") + after).astype("datetime64[s]")

    ordered = days(np.datetime64("1992-01-01"), random.integers(2406, size=count))
    line = random.integers(count, size=rows)
    shipped = days(ordered[line], random.integers(1, 122, size=rows))
    lineitem = {
        "l_orderkey": line,
        "l_quantity": random.integers(1, 51, size=rows).astype(float),
        "l_extendedprice": np.round(random.uniform(900, 105_000, rows), 2),
        "l_discount": random.integers(11, size=rows) / 100,
        "l_tax": random.integers(9, size=rows) / 100,
        "l_returnflag": choice(["A", "N", "R"], rows),
        "l_linestatus": choice(["F", "O"], rows),
        "l_shipdate": shipped,
        "l_commitdate": days(ordered[line], random.integers(30, 91, size=rows)),
        "l_receiptdate": days(shipped, random.integers(1, 31, size=rows)),
        "l_shipmode": choice(["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"], rows),
    }
    orders = {
        "o_orderkey": np.arange(count),
        "o_custkey": random.integers(buyers, size=count),
        "o_orderdate": ordered,
        "o_shippriority": np.zeros(count, dtype=np.int64),
        "o_orderpriority": choice(["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"], count),
    }
    customer = {
        "c_custkey": np.arange(buyers),
        "c_mktsegment": choice(["AUTOMOBILE", "BUILDING", "FURNITURE", "HOUSEHOLD", "MACHINERY"], buyers),
    }
    return {"lineitem": pd.DataFrame(lineitem), "orders": pd.DataFrame(orders), "customer": pd.DataFrame(customer)}


def q1(lineitem):
    price = fg.col("l_extendedprice") * (1 - fg.col("l_discount"))
    return (
        fg.frame(lineitem)
        .filter(fg.col("l_shipdate") <= DAY(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=fg.col("l_quantity").sum(),
            sum_base_price=fg.col("l_extendedprice").sum(),
            sum_disc_price=price.sum(),
            sum_charge=(price * (1 + fg.col("l_tax"))).sum(),
            avg_qty=fg.col("l_quantity").mean(),
            avg_price=fg.col("l_extendedprice").mean(),
            avg_disc=fg.col("l_discount").mean(),
            count_order=fg.len(),
        )
        .sort("l_returnflag", "l_linestatus")
        .collect()
    )


def q3(customer, orders, lineitem):
    building = fg.frame(customer).filter(fg.col("c_mktsegment") == "BUILDING")
    before = fg.frame(orders).filter(fg.col("o_orderdate") < DAY(1995, 3, 15))
    after = fg.frame(lineitem).filter(fg.col("l_shipdate") > DAY(1995, 3, 15))
    return (
        after.join(before.join(building, left_on="o_custkey", right_on="c_custkey"), left_on="l_orderkey", right_on="o_orderkey")
        .group_by("l_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue=(fg.col("l_extendedprice") * (1 - fg.col("l_discount"))).sum())
        .sort("revenue", "o_orderdate", descending=[True, False])
        .head(10)
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
        .collect()
    )


def q6(lineitem):
    return (
        fg.frame(lineitem)
        .filter(
            (fg.col("l_shipdate") >= DAY(1994, 1, 1)) & (fg.col("l_shipdate") < DAY(1995, 1, 1)),
            fg.col("l_discount").is_between(0.05, 0.07),
            fg.col("l_quantity") < 24,
        )
        .select(revenue=(fg.col("l_extendedprice") * fg.col("l_discount")).sum())
        .collect()
    )


def q12(orders, lineitem):
    urgent = fg.col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        fg.frame(lineitem)
        .filter(
            fg.col("l_shipmode").is_in(["MAIL", "SHIP"]),
            (fg.col("l_commitdate") < fg.col("l_receiptdate")) & (fg.col("l_shipdate") < fg.col("l_commitdate")),
            (fg.col("l_receiptdate") >= DAY(1994, 1, 1)) & (fg.col("l_receiptdate") < DAY(1995, 1, 1)),
        )
        .join(fg.frame(orders), left_on="l_orderkey", right_on="o_orderkey")
        .group_by("l_shipmode")
        .agg(high_line_count=urgent.sum(), low_line_count=(~urgent).sum())
        .sort("l_shipmode")
        .collect()
    )


def pandas_q1(lineitem):
    chosen = lineitem[lineitem["l_shipdate"] <= "1998-09-02"]
    price = chosen["l_extendedprice"] * (1 - chosen["l_discount"])
    chosen = chosen.assign(disc_price=price, charge=price * (1 + chosen["l_tax"]))
    return chosen.groupby(["l_returnflag", "l_linestatus"], as_index=False).agg(
        sum_qty=("l_quantity", "sum"),
        sum_base_price=("l_extendedprice", "sum"),
        sum_disc_price=("disc_price", "sum"),
        sum_charge=("charge", "sum"),
        avg_qty=("l_quantity", "mean"),
        avg_price=("l_extendedprice", "mean"),
        avg_disc=("l_discount", "mean"),
        count_order=("l_quantity", "size"),
    )


def pandas_q3(customer, orders, lineitem):
    building = customer.loc[customer["c_mktsegment"] == "BUILDING", ["c_custkey"]]
    before = orders.loc[orders["o_orderdate"] < "1995-03-15", ["o_orderkey", "o_custkey", "o_orderdate", "o_shippriority"]]
    after = lineitem.loc[lineitem["l_shipdate"] > "1995-03-15", ["l_orderkey", "l_extendedprice", "l_discount"]]
    wanted = before.merge(building, left_on="o_custkey", right_on="c_custkey")
    lines = after.merge(wanted, left_on="l_orderkey", right_on="o_orderkey")
    lines["revenue"] = lines["l_extendedprice"] * (1 - lines["l_discount"])
    totals = lines.groupby(["l_orderkey", "o_orderdate", "o_shippriority"], as_index=False, sort=False)["revenue"].sum()
    best = totals.sort_values(["revenue", "o_orderdate"], ascending=[False, True]).head(10)
    return best[["l_orderkey", "revenue", "o_orderdate", "o_shippriority"]].reset_index(drop=True)


def pandas_q6(lineitem):
    shipped, discount = lineitem["l_shipdate"], lineitem["l_discount"]
    mask = (shipped >= "1994-01-01") & (shipped < "1995-01-01") & discount.between(0.05, 0.07) & (lineitem["l_quantity"] < 24)
    chosen = lineitem.loc[mask, ["l_extendedprice", "l_discount"]]
    return pd.DataFrame({"revenue": [(chosen["l_extendedprice"] * chosen["l_discount"]).sum()]})


def pandas_q12(orders, lineitem):
    received = lineitem["l_receiptdate"]
    mask = (received >= "1994-01-01") & (received < "1995-01-01") & (lineitem["l_commitdate"] < received)
    mask &= (lineitem["l_shipdate"] < lineitem["l_commitdate"]) & lineitem["l_shipmode"].isin(["MAIL", "SHIP"])
    lines = lineitem.loc[mask, ["l_orderkey", "l_shipmode"]]
    lines = lines.merge(orders[["o_orderkey", "o_orderpriority"]], left_on="l_orderkey", right_on="o_orderkey")
    urgent = lines["o_orderpriority"].isin(["1-URGENT", "2-HIGH"])
    lines = lines.assign(high_line_count=urgent.astype(int), low_line_count=(~urgent).astype(int))
    return lines.groupby("l_shipmode", as_index=False)[["high_line_count", "low_line_count"]].sum()


# Both ways to write each query, and the tables that it reads.
QUERIES = {
    "q1": (q1, pandas_q1, ["lineitem"]),
    "q3": (q3, pandas_q3, ["customer", "orders", "lineitem"]),
    "q6": (q6, pandas_q6, ["lineitem"]),
    "q12": (q12, pandas_q12, ["orders", "lineitem"]),
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--query", choices=QUERIES, default="q1")
    chosen = parser.parse_args(arguments)
    ours, theirs, names = QUERIES[chosen.query]
    tables = data(chosen.rows)
    side_by_side.compare({name: tables[name] for name in names}, ours, theirs)


if __name__ == "__main__":
    main()
