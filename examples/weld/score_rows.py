"""Scores each row by a function of Python, a linear model with a kink, and computes the mean score.

    python score_rows.py                        a hundred thousand customers
    python score_rows.py --rows 10000000        ten million

Fulgurite translates the function and runs it as one plan with the mean; pandas calls it for each row.
"""

import numpy as np
import pandas as pd
import side_by_side

import fulgurite as fg


def score(age, income, claims, years):
    risk = 0.03 * age + 0.2 * claims - 0.00001 * income - 1.5
    if years > 5:
        risk -= 0.05 * (years - 5)
    return risk if risk > 0 else 0.0


def data(rows, seed=7):
    random = np.random.default_rng(seed)
    customers = {
        "age": random.integers(18, 90, size=rows).astype(float),
        "income": random.lognormal(10.5, 0.6, rows),
        "claims": random.poisson(1.0, rows).astype(float),
        "years": random.uniform(0, 30, rows),
    }
    return {"customers": pd.DataFrame(customers)}


def with_fulgurite(customers):
    return fg.frame(customers).map(score).select(fg.col("score").mean()).collect()


def with_pandas(customers):
    columns = [customers[name] for name in ["age", "income", "claims", "years"]]
    return pd.DataFrame({"score": [np.mean([score(*row) for row in zip(*columns)])]})


if __name__ == "__main__":
    side_by_side.run(__doc__, data, with_fulgurite, with_pandas)
