"""Counts of keys, from few to as many as do not fit the caches: what Weld's dictionaries are measured by."""

import numpy as np
from bench_frames_programs import Program
from bench_work_rows import Later

fulgurite, kernels, pandas, polars = map(Later, ["fulgurite", "frame_kernels", "pandas", "polars"])

# An odd factor that leaves wide gaps between keys.
GAP = 2_654_435_761


def events(random, n, distinct, gap):
    return {"events": pandas.DataFrame({"key": random.integers(distinct, size=n) * gap})}


def with_fulgurite(events):
    return fulgurite.frame(events).group_by("key").agg(count=fulgurite.len()).collect()


def with_pandas(events):
    return events["key"].value_counts(sort=False).reset_index()


def with_polars(events):
    return events.lazy().group_by("key").agg(polars.len().alias("count")).collect()


def with_duckdb(db):
    return db.sql("select key, count(*) as count from events group by key").to_arrow_table()


def with_numba(events):
    keys = events["key"].to_numpy()
    low, high = kernels.bounds(keys)
    counts = kernels.dense_counts(keys, low, high)
    found = np.flatnonzero(counts)
    return pandas.DataFrame({"key": found + low, "count": counts[found]})


PROGRAMS = [
    Program(
        f"count-{name}",
        what=f"rows of each of {distinct:,} whole numbers{', which are far apart' if gap > 1 else ''}",
        sizes={"n": 100_000_000, "distinct": distinct, "gap": gap},
        inputs=events,
        forms={"fulgurite": with_fulgurite, "pandas": with_pandas, "polars": with_polars, "duckdb": with_duckdb} | ({"numba": with_numba} if gap == 1 else {}),
        reach=1.5,
        against=("polars",),
        ordered=False,
    )
    for name, distinct, gap in [("10", 10, 1), ("1e3", 1000, 1), ("1e5", 100_000, 1), ("1e5-apart", 100_000, GAP), ("1e7", 10_000_000, 1), ("1e7-apart", 10_000_000, GAP)]
]
