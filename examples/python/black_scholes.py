"""Prices of European options by the formula of Black and Scholes.

    python black_scholes.py                         a million options with Fulgurite
    python black_scholes.py --records 100000000     a hundred million, in blocks of a million
    python black_scholes.py --library numpy         the same code with NumPy
"""

import argparse
import importlib
import time

import numpy as np

BLOCK = 1_000_000


def normal_cdf(xp, d):
    """By formula 26.2.17 of Abramowitz and Stegun, whose error is below 7.5e-8."""
    k = 1 / (1 + 0.2316419 * xp.abs(d))
    series = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * xp.exp(-0.5 * d**2) * series
    return xp.where(d >= 0, 1 - tail, tail)


def prices(xp, price, strike, years, rate, volatility):
    """Calls and puts, a price for each option."""
    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + volatility**2 / 2) * years) / spread
    d2 = d1 - spread
    n1, n2 = normal_cdf(xp, d1), normal_cdf(xp, d2)
    discounted = strike * xp.exp(-rate * years)
    call = price * n1 - discounted * n2
    put = discounted * (1 - n2) - price * (1 - n1)
    return call, put


def options(records, seed=7):
    """Random options: columns of records."""
    random = np.random.default_rng(seed)
    bounds = {"price": (80, 120), "strike": (80, 120), "years": (0.25, 2), "rate": (0.01, 0.05), "volatility": (0.1, 0.5)}
    return {name: random.uniform(low, high, records) for name, (low, high) in bounds.items()}


def mean_prices(xp, records, block=BLOCK):
    """The mean price of calls and of puts. Blocks bound the memory that many records take."""
    totals = np.zeros(2)
    for start in range(0, records, block):
        columns = {name: xp.asarray(column) for name, column in options(min(block, records - start), seed=start).items()}
        call, put = prices(xp, **columns)
        # Both in one array, so that they are computed together.
        totals += np.asarray(xp.stack([xp.sum(call), xp.sum(put)]))
    return totals / records


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=BLOCK)
    parser.add_argument("--library", default="fulgurite", help="the array library: fulgurite or numpy")
    chosen = parser.parse_args(arguments)
    xp = importlib.import_module(chosen.library)
    started = time.perf_counter()
    call, put = mean_prices(xp, chosen.records)
    print(f"mean call {call:.4f}, mean put {put:.4f}")
    print(f"{chosen.records} options in {time.perf_counter() - started:.3f} s")


if __name__ == "__main__":
    main()
