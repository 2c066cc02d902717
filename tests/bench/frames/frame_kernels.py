"""Loops over columns that Numba compiles."""

import math

import numba
import numpy as np


@numba.njit(parallel=True, fastmath=True)
def softmax_index(population, adults, robberies, weights, intercepts, levels, scales):
    """The index of each city that is large, and NaN for the others."""
    index = np.empty(len(population))
    classes = len(levels)
    for row in numba.prange(len(population)):
        if population[row] > 500_000:
            features = (population[row] / scales[0], adults[row] / scales[1], robberies[row] / scales[2])
            total = weighed = 0.0
            for k in range(classes):
                score = features[0] * weights[0, k] + features[1] * weights[1, k] + features[2] * weights[2, k] + intercepts[k]
                # Scores are small: no largest one has to be subtracted.
                share = math.exp(score)
                total += share
                weighed += share * levels[k]
            index[row] = weighed / total
        else:
            index[row] = -1.0
    return index


@numba.njit(parallel=True)
def linear_index(population, adults, robberies, weights):
    index = np.empty(len(population))
    for row in numba.prange(len(population)):
        if population[row] > 500_000:
            score = (population[row] * weights[0] + adults[row] * weights[1] + robberies[row] * weights[2]) / 1e5
            index[row] = 0.032 if score >= 0.02 else 0.005 if score < 0.01 else score
        else:
            index[row] = -1.0
    return index


@numba.njit(parallel=True, fastmath=True)
def revenue(shipped, discount, quantity, price, first, last):
    total = 0.0
    for row in numba.prange(len(shipped)):
        if first <= shipped[row] < last and 0.05 <= discount[row] <= 0.07 and quantity[row] < 24:
            total += price[row] * discount[row]
    return total


@numba.njit(parallel=True)
def dense_counts(keys, low, high):
    """How often each number from `low` to `high` is there."""
    threads = numba.get_num_threads()
    counts = np.zeros((threads, high - low + 1), dtype=np.int64)
    share = (len(keys) + threads - 1) // threads
    for thread in numba.prange(threads):
        for row in range(thread * share, min(len(keys), (thread + 1) * share)):
            counts[thread, keys[row] - low] += 1
    return counts.sum(axis=0)


@numba.njit(parallel=True)
def bounds(keys):
    low, high = keys[0], keys[0]
    for row in numba.prange(len(keys)):
        low, high = min(low, keys[row]), max(high, keys[row])
    return low, high


def mean_of(function):
    """A function that gives the mean of a function of four columns."""
    inner = numba.njit(function)

    @numba.njit(parallel=True)
    def mean(a, b, c, d):
        total = 0.0
        for row in numba.prange(len(a)):
            total += inner(a[row], b[row], c[row], d[row])
        return total / len(a)

    return mean
