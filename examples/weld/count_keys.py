"""Counts how often each key is there.

    python count_keys.py                        a hundred thousand whole numbers
    python count_keys.py --rows 100000000       a hundred million
"""

import numpy as np
import pandas as pd
import side_by_side

import fulgurite as fg


def data(rows, distinct=1000, seed=7):
    return {"events": pd.DataFrame({"key": np.random.default_rng(seed).integers(distinct, size=rows)})}


def with_fulgurite(events):
    return fg.frame(events).group_by("key").agg(count=fg.len()).sort("count", "key", descending=[True, False]).head(10).collect()


def with_pandas(events):
    counts = events["key"].value_counts().reset_index()
    return counts.sort_values(["count", "key"], ascending=[False, True]).head(10).reset_index(drop=True)


if __name__ == "__main__":
    side_by_side.run(__doc__, data, with_fulgurite, with_pandas)
