"""A crime index of large cities, by a softmax model or by a linear one, and its total in each state.

    python crime_index.py                       a softmax model, of a hundred thousand cities
    python crime_index.py --model linear        a linear model
    python crime_index.py --rows 10000000       ten million cities

Both select rows of a table, compute on three columns as a matrix, and go back to the table to aggregate.
"""

import argparse

import numpy as np
import pandas as pd
import side_by_side

import fulgurite as fg

FEATURES = ["population", "adults", "robberies"]
# What each of four classes makes of the features and of 1, and the index that a class stands for.
WEIGHTS = np.array([[0.4, -0.2, 0.1, 0.3], [-0.3, 0.2, 0.2, -0.1], [-0.5, 0.1, 0.3, 0.8]])
INTERCEPTS = np.array([0.5, 0.2, -0.1, -0.4])
LEVELS = np.array([0.1, 0.3, 0.6, 1.0])
SCALES = np.array([1e6, 1e6, 1e3])
LINEAR = np.array([1.0, 2.0, -2000.0])

STATES = [
    *"AK AL AR AZ CA CO CT DE FL GA HI IA ID IL IN KS KY LA MA MD ME MI MN MO MS".split(),
    *"MT NC ND NE NH NJ NM NV NY OH OK OR PA RI SC SD TN TX UT VA VT WA WI WV WY".split(),
]


def data(rows, seed=7):
    """Cities, of which three in ten have more than 500,000 people."""
    random = np.random.default_rng(seed)
    population = np.rint(3e5 * np.exp(random.standard_normal(rows))).astype(np.int64)
    cities = {
        "state": pd.Categorical.from_codes(random.integers(len(STATES), size=rows), STATES),
        "population": population,
        "adults": np.rint(population * random.uniform(0.6, 0.85, rows)).astype(np.int64),
        "robberies": random.poisson(population / 1000),
    }
    return {"cities": pd.DataFrame(cities).astype({"state": "str"})}


def softmax(xp, scores):
    exponentials = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
    return exponentials / xp.sum(exponentials, axis=1, keepdims=True)


def softmax_with_fulgurite(cities):
    big = fg.frame(cities).filter(fg.col("population") > 500_000)
    X = big.to_array(FEATURES) / SCALES
    index = softmax(fg, X @ WEIGHTS + INTERCEPTS) @ LEVELS
    return big.with_columns(index=index).group_by("state").agg(fg.col("index").sum()).sort("state").collect()


def softmax_with_pandas(cities):
    big = cities[cities["population"] > 500_000]
    X = big[FEATURES].to_numpy() / SCALES
    index = softmax(np, X @ WEIGHTS + INTERCEPTS) @ LEVELS
    return big.assign(index=index).groupby("state", as_index=False)["index"].sum()


def linear_with_fulgurite(cities):
    big = fg.frame(cities).filter(fg.col("population") > 500_000)
    index = big.to_array(FEATURES) @ LINEAR / 1e5
    index = fg.where(index >= 0.02, 0.032, fg.where(index < 0.01, 0.005, index))
    return big.with_columns(index=index).group_by("state").agg(fg.col("index").sum()).sort("state").collect()


def linear_with_pandas(cities):
    big = cities[cities["population"] > 500_000]
    index = big[FEATURES].to_numpy() @ LINEAR / 1e5
    index = np.where(index >= 0.02, 0.032, np.where(index < 0.01, 0.005, index))
    return big.assign(index=index).groupby("state", as_index=False)["index"].sum()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--model", choices=["softmax", "linear"], default="softmax")
    chosen = parser.parse_args(arguments)
    functions = {
        "softmax": (softmax_with_fulgurite, softmax_with_pandas),
        "linear": (linear_with_fulgurite, linear_with_pandas),
    }
    side_by_side.compare(data(chosen.rows), *functions[chosen.model])


if __name__ == "__main__":
    main()
