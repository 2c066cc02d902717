"""Compile times of one operator for ci/bench: Fulgurite's from tests/bench/src/compile.rs, JAX's and SystemDS's of as many operations."""

import statistics
import time

import jax
import jax.numpy as jnp

import bench_report
import systemds_command

# Different operators for each figure: SystemDS compiles them in one run, whose first classes are slower.
OPERATORS = 12

TARGETS = {20: 0.5, 500: 5.0}
HIT_MICROSECONDS = 2.0


# A chain of cell operations on X and Y takes them in turn, from another one on for each operator.
AS_DML = ["v + Y", "v - X", "abs(v)", "sqrt(v)", "exp(v)", "v * {number}", "max(v, Y)"]
AS_JAX = [
    lambda v, X, Y, number: v + Y,
    lambda v, X, Y, number: v - X,
    lambda v, X, Y, number: jnp.abs(v),
    lambda v, X, Y, number: jnp.sqrt(v),
    lambda v, X, Y, number: jnp.exp(v),
    lambda v, X, Y, number: v * number,
    lambda v, X, Y, number: jnp.maximum(v, Y),
]


def steps(operations, nodes, variant):
    return [(operations[step % len(operations)], step / 8 + 1) for step in range(variant, variant + nodes)]


def jax_milliseconds(nodes):
    def chain(X, Y, variant):
        v = X
        for operation, number in steps(AS_JAX, nodes, variant):
            v = operation(v, X, Y, number)
        return jnp.sum(v)

    X = jnp.ones((1000, 10))
    times = []
    for variant in range(OPERATORS):
        lowered = jax.jit(chain, static_argnames="variant").lower(X, X, variant=variant)
        start = time.perf_counter()
        lowered.compile()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def systemds_milliseconds(options, nodes):
    """Of a class, in the mean: what it says it spent on compiling, by the number of classes."""
    lines = ["X = rand(rows=1000, cols=10, seed=7)", "Y = rand(rows=1000, cols=10, seed=8)"]
    for variant in range(OPERATORS):
        lines += ["v = X", *("v = " + operation.format(number=number) for operation, number in steps(AS_DML, nodes, variant))]
        lines += ["s = sum(v)", 'if (s == 0.123) { print("unlikely") }']
    file = options.scratch / "compile.dml"
    file.write_text("\n".join(lines) + "\n")
    output = systemds_command.run(options.scratch, "systemds_gen", file, [], options=["-stats"])
    classes = int(systemds_command.statistic(output, "Codegen compile (DAG,CP,JC)").split("/")[-1].rstrip("."))
    seconds = float(systemds_command.statistic(output, "Codegen compile times (DAG,JC)").split("/")[-1])
    return seconds * 1e3 / classes if classes else None


def measure(options, seen):
    rows = []
    for run in seen:
        nodes = run["nodes"]
        ms = dict.fromkeys(bench_report.COLUMNS) | {"fulgurite": run["compileMilliseconds"]}
        if "jax" not in options.without:
            ms["jax"] = jax_milliseconds(nodes)
        if "systemds_gen" not in options.without:
            ms["systemds_gen"] = systemds_milliseconds(options, nodes)
        rows.append(row("compile", f"{nodes} nodes", ms, TARGETS[nodes]))
        rows.append(row("cache hit", f"{nodes} nodes", dict.fromkeys(bench_report.COLUMNS) | {"fulgurite": run["hitMicroseconds"] / 1e3}, HIT_MICROSECONDS / 1e3))
    return rows


def row(pattern, size, ms, target):
    made = {"group": "compile times", "pattern": pattern, "size": size, "ms": ms, "percent_of_limit": None, "target": {"ms": target}}
    bench_report.print_row(made)
    return made
