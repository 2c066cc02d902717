"""The systems that ci/bench compares with. Each runs a pattern several times and gives the milliseconds and a checksum of the result."""

import contextlib
import functools
import os
import time

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse

import systemds_command

jax.config.update("jax_enable_x64", True)

# Executions before those that count: the JVM compiles while it runs.
WARM_UP = 1
JVM_WARM_UP = 12
# After this long a pattern is not executed again.
SECONDS = 3


def mlrinner(X, V, P):
    P = P[:, : V.shape[1]]
    Q = P * (X @ V)
    return X.T @ (Q - P * Q.sum(axis=1, keepdims=True))


def rowchain(np, X, steps):
    Y = X / X.sum(axis=1, keepdims=True)
    for step in range(1, steps + 1):
        Y = Y * (1 + step / 1000) if step % 2 else np.maximum(Y, step / 1e6)
    return np.sum(Y)


def normal_tail(np, d):
    """1 - N(|d|) by formula 26.2.17 of Abramowitz and Stegun."""
    k = 1 / (1 + 0.2316419 * np.abs(d))
    series = k * (0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    return 0.3989422804014327 * np.exp(-0.5 * d**2) * series


def calls(np, price, K, T, R, S):
    spread = S * np.sqrt(T)
    d1 = (np.log(price / K) + (R + S**2 / 2) * T) / spread
    d2 = d1 - spread
    tail1, tail2 = normal_tail(np, d1), normal_tail(np, d2)
    n1, n2 = np.where(d1 >= 0, 1 - tail1, tail1), np.where(d2 >= 0, 1 - tail2, tail2)
    return np.sum(price * n1 - K * np.exp(-R * T) * n2)


def blackscholes(np, X, **inputs):
    def add(chunk, total):
        return total + calls(np, X * (1 + chunk / 1000), **inputs)

    return jax.lax.fori_loop(1, 101, add, 0.0) if np is jnp else functools.reduce(lambda total, chunk: add(chunk, total), range(1, 101), 0.0)


# The patterns as a NumPy user writes them; `np` is NumPy or JAX's.
DENSE = {
    "sum3": lambda np, X, Y, Z: np.sum(X * Y * Z),
    "magg": lambda np, X, Y, Z: np.stack([np.sum(X * Y), np.sum(X * Z)]),
    "mvchain": lambda np, X, v: X.T @ (X @ v),
    **dict.fromkeys(["mmchain2", "mmchain4", "mmchain8"], lambda np, X, V: X.T @ (X @ V)),
    "mlrinner": lambda np, X, V, P: mlrinner(X, V, P),
    "outer": lambda np, X, U, V: np.sum(X * np.log(U @ V.T + 1e-15)),
    "alsupd": lambda np, X, U, V, r: ((X != 0) * (U @ V.T)) @ V + 1e-6 * U * r,
    "rowchain": rowchain,
    "exp": lambda np, X: np.sum(np.exp(0.5 * X - 1)),
    "log": lambda np, X: np.sum(X * np.log(X)),
    "sigmoid": lambda np, X: np.sum(X * (1 / (1 + np.exp(-X)))),
    "tanh": lambda np, X: np.sum(1 - np.tanh(X) ** 2),
    "pow": lambda np, X: np.sum((X + 1) ** 1.7),
    "blackscholes": blackscholes,
}


def of_pattern(values, X):
    """X's pattern with other values."""
    return scipy.sparse.csr_matrix((values, X.indices, X.indptr), X.shape)


def dots(X, U, V):
    """Of the rows of U and V at each non-zero of X."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.einsum("ij,ij->i", U[rows], V[X.indices])


# With a sparse X, as a SciPy user writes them.
SPARSE = {
    "sum3": lambda X, Y, Z: X.multiply(Y).multiply(Z).sum(),
    "magg": lambda X, Y, Z: np.array([X.multiply(Y).sum(), X.multiply(Z).sum()]),
    "mvchain": lambda X, v: X.T @ (X @ v),
    **dict.fromkeys(["mmchain2", "mmchain4", "mmchain8"], lambda X, V: X.T @ (X @ V)),
    "mlrinner": mlrinner,
    "outer": lambda X, U, V: X.data @ np.log(dots(X, U, V) + 1e-15),
    "alsupd": lambda X, U, V, r: of_pattern(dots(X, U, V), X) @ V + 1e-6 * U * r,
}


def load(folder):
    inputs = {}
    for path in folder.glob("*.f64"):
        name, dims, _ = path.name.split(".")
        rows, cols = map(int, dims.split("x"))
        inputs[name] = np.fromfile(path).reshape(rows, cols)
    return inputs


@contextlib.contextmanager
def cores(count):
    """All threads of this process on so many cores: a library's own threads can't be told once they run."""
    before = sorted(os.sched_getaffinity(0))

    def pin(to):
        for thread in os.listdir("/proc/self/task"):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(int(thread), to)

    pin(before[:count])
    try:
        yield
    finally:
        pin(before)


class InProcess:
    """A library of Python's."""

    def __init__(self, call, pattern):
        self.call, self.threads = call, pattern.threads

    def run(self, repeat):
        times = []
        with cores(self.threads):
            started = time.perf_counter()
            while len(times) < repeat + WARM_UP and time.perf_counter() - started < SECONDS:
                start = time.perf_counter()
                result = self.call()
                times.append((time.perf_counter() - start) * 1e3)
        return times[WARM_UP:] or times, float(np.sum(result))


def numpy_peer(pattern, shape, folder):
    steps = {"steps": pattern.steps} if pattern.steps else {}
    return InProcess(functools.partial(DENSE[pattern.key], np, **load(folder), **steps), pattern)


def jax_peer(pattern, shape, folder):
    inputs = {name: jnp.asarray(value) for name, value in load(folder).items()}
    steps = {"steps": pattern.steps} if pattern.steps else {}
    compiled = jax.jit(functools.partial(DENSE[pattern.key], jnp, **steps)).lower(**inputs).compile()
    return InProcess(lambda: compiled(**inputs).block_until_ready(), pattern)


def scipy_peer(pattern, shape, folder):
    """Matrices of X's size are sparse."""
    size = (shape.rows, shape.cols)
    inputs = {name: scipy.sparse.csr_matrix(value) if value.shape == size else value for name, value in load(folder).items()}
    return InProcess(functools.partial(SPARSE[pattern.key], **inputs), pattern)


class SystemDS:
    """With its own data from the same script, which gives the same cells."""

    def __init__(self, mode, pattern, shape, scratch):
        self.mode, self.pattern, self.scratch = mode, pattern, scratch
        self.arguments = [f"{name}={value}" for name, value in shape.arguments.items()]

    def script(self, repeat):
        # The ifs, which can't be decided beforehand, end statement blocks: within one, SystemDS orders statements as it likes.
        scalar = self.pattern.words("result") == ["scalar"]
        return self.pattern.data + f"""
            count = 0
            spent = 0.0
            while (count < {repeat + JVM_WARM_UP} & spent < {SECONDS * 1000}) {{
              start = time()
              if (start < 0) {{ print("before 1970") }}
              {self.pattern.script}
              seen = {"result" if scalar else "sum(result)"}
              if (seen == 0.123) {{ print("unlikely") }}
              took = (time() - start) / 1000000.0
              print("took " + took)
              spent = spent + took
              count = count + 1
            }}
            print("checksum " + seen)
            """

    def run(self, repeat):
        file = self.scratch / "pattern.dml"
        file.write_text(self.script(repeat))
        output = systemds_command.run(self.scratch, self.mode, file, self.arguments, self.pattern.threads)
        lines = [line.split() for line in output.splitlines()]
        times = [float(line[1]) for line in lines if line[:1] == ["took"]]
        checksum = next(float(line[1]) for line in lines if line[:1] == ["checksum"])
        # Where there was no time for all: the second half.
        return times[min(JVM_WARM_UP, len(times) // 2) :], checksum


def available(without, pattern, shape, folder, scratch):
    """The peers that can run the pattern on this shape, by name."""
    sparse = shape.sparsity < 0.4
    makers = {mode: functools.partial(SystemDS, mode, pattern, shape, scratch) for mode in systemds_command.MODES}
    if sparse:
        makers["scipy"] = functools.partial(scipy_peer, pattern, shape, folder)
    else:
        makers["numpy"] = functools.partial(numpy_peer, pattern, shape, folder)
        makers["jax"] = functools.partial(jax_peer, pattern, shape, folder)
    return {name: make() for name, make in makers.items() if name not in without}
