"""The workloads of Weld (Palkar et al., VLDB 2018), which are the programs of examples/python."""

import sys
from pathlib import Path

from bench_python_programs import Program
from bench_work_rows import Later

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "python"))

import black_scholes
import logistic_regression
import nearest_neighbour
import pagerank
import score_digits

kernels, numexpr = Later("kernels"), Later("numexpr")


def images(random, n):
    """Random ones of as many grey levels and pixels as digits have, and a model."""
    return {
        "images": random.integers(17, size=(n, 64)).astype(float),
        "weights": random.standard_normal((64, score_digits.CLASSES)),
        "intercepts": random.standard_normal(score_digits.CLASSES),
    }


def whiten_and_score(xp, images, weights, intercepts):
    return score_digits.score(xp, images, *score_digits.statistics(xp, images), weights, intercepts)


def black_scholes_numexpr(price, strike, years, rate, volatility):
    evaluate = numexpr.evaluate
    spread = evaluate("volatility * sqrt(years)")
    d1 = evaluate("(log(price / strike) + (rate + volatility**2 / 2) * years) / spread")

    def normal_cdf(d):
        k = evaluate("1 / (1 + 0.2316419 * abs(d))")
        tail = evaluate(
            "0.3989422804014327 * exp(-0.5 * d * d) * k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))", {"d": d, "k": k}
        )
        return evaluate("where(d >= 0, 1 - tail, tail)", {"d": d, "tail": tail})

    n1, n2 = normal_cdf(d1), normal_cdf(evaluate("d1 - spread"))
    discounted = evaluate("strike * exp(-rate * years)")
    return evaluate("price * n1 - discounted * n2"), evaluate("discounted * (1 - n2) - price * (1 - n1)")


PROGRAMS = [
    Program(
        "black-scholes",
        what="calls and puts",
        sizes={"n": 10_000_000},
        inputs=lambda random, n: black_scholes.options(n),
        run=black_scholes.prices,
        forms={
            "numexpr": black_scholes_numexpr,
            "numba": lambda price, strike, years, rate, volatility: kernels.black_scholes(price, strike, years, rate, volatility),
        },
    ),
    Program("whiten-score", what="images of digits: whitening, scores by logistic regression", sizes={"n": 1_000_000}, inputs=images, run=whiten_and_score),
    Program(
        "nearest-neighbour",
        what="nearest of n known images to each of q",
        sizes={"n": 60_000, "q": 200},
        inputs=lambda random, n, q: {"queries": random.random((q, 64)), "known": random.random((n, 64))},
        run=nearest_neighbour.nearest,
        forms={"numba": lambda queries, known: kernels.nearest(queries, known)},
    ),
    Program(
        "logistic-regression",
        what="20 steps of gradient descent",
        sizes={"n": 500_000, "m": 20},
        inputs=lambda random, n, m: dict(zip(["features", "labels"], logistic_regression.records(n, m), strict=True)),
        run=logistic_regression.train,
    ),
    Program(
        "pagerank",
        what="20 steps on a graph of 10 links a node, CSR",
        sizes={"n": 500_000},
        inputs=lambda random, n: {"links": pagerank.graph(n)},
        run=pagerank.pagerank,
        forms={"numba": lambda links: kernels.pagerank(links.indptr, links.indices, links.data, 20, 0.85)},
        without={"jax": "its products of CSR are experimental", "torch": "its compiler takes no sparse arrays"},
    ),
]
