"""Loops that Numba compiles, in parallel, as its users write them. They are compiled at their first call."""

import math

import numba
import numpy as np

parallel = numba.njit(parallel=True, fastmath=True)


@parallel
def sum3(X, Y, Z):
    total = 0.0
    for i in numba.prange(X.shape[0]):
        part = 0.0
        for j in range(X.shape[1]):
            part += X[i, j] * Y[i, j] * Z[i, j]
        total += part
    return total


@parallel
def magg(X, Y, Z):
    one, other = 0.0, 0.0
    for i in numba.prange(X.shape[0]):
        a, b = 0.0, 0.0
        for j in range(X.shape[1]):
            a += X[i, j] * Y[i, j]
            b += X[i, j] * Z[i, j]
        one += a
        other += b
    return np.array([one, other])


@parallel
def rowchain(X, steps):
    total = 0.0
    for i in numba.prange(X.shape[0]):
        whole = X[i].sum()
        for j in range(X.shape[1]):
            y = X[i, j] / whole
            for step in range(1, steps + 1):
                y = y * (1 + step / 1000) if step % 2 else max(y, step / 1e6)
            total += y
    return total


def of_cells(cell):
    """The sum of a function of each cell."""
    cell = numba.njit(cell, fastmath=True)

    @parallel
    def whole(X):
        total = 0.0
        for i in numba.prange(X.shape[0]):
            part = 0.0
            for j in range(X.shape[1]):
                part += cell(X[i, j])
            total += part
        return total

    return whole


exp = of_cells(lambda x: math.exp(0.5 * x - 1))
log = of_cells(lambda x: x * math.log(x))
sigmoid = of_cells(lambda x: x * (1 / (1 + math.exp(-x))))
tanh = of_cells(lambda x: 1 - math.tanh(x) ** 2)
power = of_cells(lambda x: (x + 1) ** 1.7)


@numba.njit(fastmath=True)
def normal_cdf(d):
    k = 1 / (1 + 0.2316419 * abs(d))
    series = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.3989422804014327 * math.exp(-0.5 * d**2) * series
    return 1 - tail if d >= 0 else tail


@parallel
def black_scholes(price, strike, years, rate, volatility):
    calls, puts = np.empty_like(price), np.empty_like(price)
    for i in numba.prange(len(price)):
        spread = volatility[i] * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate[i] + volatility[i] ** 2 / 2) * years[i]) / spread
        n1, n2 = normal_cdf(d1), normal_cdf(d1 - spread)
        discounted = strike[i] * math.exp(-rate[i] * years[i])
        calls[i] = price[i] * n1 - discounted * n2
        puts[i] = discounted * (1 - n2) - price[i] * (1 - n1)
    return calls, puts


@parallel
def pagerank(pointers, indices, shares, steps, damping):
    nodes = len(pointers) - 1
    ranks = np.full(nodes, 1 / nodes)
    for _ in range(steps):
        after = np.empty(nodes)
        for i in numba.prange(nodes):
            total = 0.0
            for at in range(pointers[i], pointers[i + 1]):
                total += shares[at] * ranks[indices[at]]
            after[i] = damping * total
        ranks = after + (1 - after.sum()) / nodes
    return ranks


@parallel
def layer_norm(X, gain, shift):
    result = np.empty_like(X)
    for i in numba.prange(X.shape[0]):
        mean = X[i].mean()
        variance = 0.0
        for j in range(X.shape[1]):
            variance += (X[i, j] - mean) ** 2
        scale = 1 / math.sqrt(variance / X.shape[1] + 1e-5)
        for j in range(X.shape[1]):
            result[i, j] = (X[i, j] - mean) * scale * gain[j] + shift[j]
    return result


@parallel
def huber(predicted, actual):
    total = 0.0
    for i in numba.prange(len(actual)):
        far = abs(predicted[i] - actual[i])
        total += 0.5 * far * far if far <= 1 else far - 0.5
    return total / len(actual)


@parallel
def logsumexp(X):
    result = np.empty(X.shape[0])
    for i in numba.prange(X.shape[0]):
        largest = X[i].max()
        total = 0.0
        for j in range(X.shape[1]):
            total += math.exp(X[i, j] - largest)
        result[i] = largest + math.log(total)
    return result


@parallel
def smoothing(X, share):
    result = X[0].copy()
    for j in numba.prange(X.shape[1]):
        level = X[0, j]
        for t in range(1, X.shape[0]):
            level = share * X[t, j] + (1 - share) * level
        result[j] = level
    return result


@parallel
def mahalanobis(X, mean, inverse):
    result = np.empty(X.shape[0])
    for i in numba.prange(X.shape[0]):
        D = X[i] - mean
        total = 0.0
        for j in range(X.shape[1]):
            part = 0.0
            for k in range(X.shape[1]):
                part += inverse[j, k] * D[k]
            total += part * D[j]
        result[i] = math.sqrt(total)
    return result


@parallel
def density(points, sample, width):
    result = np.empty(len(points))
    for i in numba.prange(len(points)):
        total = 0.0
        for j in range(len(sample)):
            total += math.exp(-0.5 * ((points[i] - sample[j]) / width) ** 2)
        result[i] = total / (len(sample) * width * math.sqrt(2 * math.pi))
    return result


@parallel
def nearest(X, C):
    result = np.empty(X.shape[0], np.int64)
    for i in numba.prange(X.shape[0]):
        least, place = np.inf, 0
        for c in range(C.shape[0]):
            far = 0.0
            for j in range(X.shape[1]):
                far += (X[i, j] - C[c, j]) ** 2
            if far < least:
                least, place = far, c
        result[i] = place
    return result


@numba.njit(fastmath=True)
def group_means(X, labels, groups):
    sums, counts = np.zeros((groups, X.shape[1])), np.zeros(groups)
    for i in range(X.shape[0]):
        counts[labels[i]] += 1
        for j in range(X.shape[1]):
            sums[labels[i], j] += X[i, j]
    for group in range(groups):
        sums[group] /= counts[group]
    return sums


@numba.njit(fastmath=True)
def rolling_means(x, window):
    result = np.empty(len(x) - window)
    total = 0.0
    for i in range(window):
        total += x[i]
    for i in range(window, len(x)):
        total += x[i] - x[i - window]
        result[i - window] = total / window
    return result
