"""Regresses what was sold on features of the sale, of its store and of its item: two joins, then normal equations.

    python star_regression.py                   a hundred thousand sales
    python star_regression.py --rows 5000000    five million
"""

import numpy as np
import pandas as pd
import side_by_side

import fulgurite as fg

FEATURES = ["price", "discount", "size", "income", "rivals", "cost", "weight"]


def data(rows, seed=7):
    """Sales, whose stores and items are rows of tables of their own."""
    random = np.random.default_rng(seed)
    shops, goods = max(10, rows // 5000), max(20, rows // 250)
    stores = {"store": random.permutation(shops), "size": random.uniform(1, 9, shops), "income": random.uniform(20, 80, shops)}
    stores["rivals"] = random.integers(10, size=shops)
    items = {"item": random.permutation(goods), "cost": random.uniform(1, 50, goods), "weight": random.uniform(0.1, 20, goods)}
    sales = {"store": random.integers(shops, size=rows), "item": random.integers(goods, size=rows)}
    sales |= {"price": random.uniform(1, 100, rows), "discount": random.integers(5, size=rows) / 10}
    sales["units"] = 50 - 0.3 * sales["price"] + 20 * sales["discount"] + random.standard_normal(rows)
    return {"sales": pd.DataFrame(sales), "stores": pd.DataFrame(stores), "items": pd.DataFrame(items)}


def coefficients(xp, X, y):
    """The intercept and the coefficients of least squares, by the normal equations of centred features."""
    mean = xp.mean(X, axis=0)
    centred = X - mean
    slopes = xp.linalg.solve(centred.T @ centred, centred.T @ y)
    return xp.concat([xp.reshape(xp.mean(y) - mean @ slopes, (1,)), slopes])


def with_fulgurite(sales, stores, items):
    joined = fg.frame(sales).join(fg.frame(stores), on="store").join(fg.frame(items), on="item")
    return np.asarray(coefficients(fg, joined.to_array(FEATURES), joined.to_array("units")))


def with_pandas(sales, stores, items):
    joined = sales.merge(stores, on="store").merge(items, on="item")
    return coefficients(np, joined[FEATURES].to_numpy(), joined["units"].to_numpy())


if __name__ == "__main__":
    side_by_side.run(__doc__, data, with_fulgurite, with_pandas)
