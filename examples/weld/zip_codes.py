"""Cleans zip codes: five digits of each, without those that stand for nothing, each one once.

    python zip_codes.py                         a hundred thousand codes
    python zip_codes.py --rows 10000000         ten million
"""

import numpy as np
import pandas as pd
import side_by_side

import fulgurite as fg

NOTHING = ["00000", "N/A", "NO CL"]


def data(rows, seed=7):
    """Requests, whose zip codes are of five or nine digits, missing, or nonsense."""
    random = np.random.default_rng(seed)
    known = [f"{code:05}" for code in np.sort(random.choice(np.arange(501, 99951), 30_000, replace=False))]
    longer = [f"{code}-{random.integers(10_000):04}" for code in known]
    written = [*known, *longer, "00000", "00000-0000", "N/A", "NO CLUE"]
    codes = random.integers(len(known) + len(longer), size=rows)
    codes = np.where(random.random(rows) < 0.05, random.integers(len(written) - 4, len(written), size=rows), codes)
    # -1 is missing.
    codes = np.where(random.random(rows) < 0.02, -1, codes)
    return {"requests": pd.DataFrame({"zip": pd.Categorical.from_codes(codes, written)}).astype({"zip": "str"})}


def with_fulgurite(requests):
    code = fg.col("zip").str.slice(0, 5)
    return fg.frame(requests).select(code).filter(~fg.col("zip").is_in(NOTHING)).unique().sort("zip").collect()


def with_pandas(requests):
    codes = requests["zip"].str.slice(0, 5)
    codes = codes[codes.notna() & ~codes.isin(NOTHING)].drop_duplicates()
    return codes.sort_values().to_frame().reset_index(drop=True)


if __name__ == "__main__":
    side_by_side.run(__doc__, data, with_fulgurite, with_pandas)
