"""Reading and writing files; what is read lies in the system's cache."""

import numpy as np
import scipy.io
from bench_work_rows import File, Row, pandas, polars, random_csr

# 300 MB of text each, and 100 MB of MatrixMarket.
NUMBERS = [{"n": 1_600_000, "m": 10}]
INTEGERS = [{"n": 4_400_000, "m": 10}]
ENTRIES = [{"n": 400_000, "m": 1000}]


def csv(make):
    """An input that is a csv file of these columns, each of n cells."""

    def inputs(random, n, m):
        def write(path):
            polars.DataFrame({f"c{column}": make(random, n) for column in range(m)}).write_csv(path, include_header=False)

        return {"f": File(".csv", write)}

    return inputs


def wide(random, n, m):
    return {"X": random.standard_normal((n, m))}


def sparse(random, n, m):
    return {"X": random_csr(random, n, m, 0.01)}


CSV_READERS = {
    "pandas": lambda f: pandas.read_csv(f, header=None, engine="c"),
    "polars": lambda f: polars.read_csv(f, has_header=False),
}

ROWS = [
    Row(
        "csv-read",
        what="read a csv file of doubles",
        sizes=NUMBERS,
        inputs=csv(lambda random, n: random.standard_normal(n)),
        dml='R = read($f, format="csv")',
        peers=CSV_READERS,
        reach=1.2,
        tolerance=1e-15,
    ),
    Row(
        "csv-read-integers",
        what="read a csv file of integers below a million",
        sizes=INTEGERS,
        inputs=csv(lambda random, n: random.integers(1_000_000, size=n)),
        dml='R = read($f, format="csv")',
        peers=CSV_READERS,
        reach=1.2,
        tolerance=0,
    ),
    # pandas takes half a minute.
    Row(
        "csv-write",
        what="write doubles as csv",
        sizes=NUMBERS,
        inputs=wide,
        dml='write(X, $out, format="csv")',
        writes=".csv",
        back=lambda path: polars.read_csv(path, has_header=False).to_numpy(),
        peers={"polars": lambda X, out: X.write_csv(out, include_header=False)},
        reach=1.2,
        tolerance=1e-15,
    ),
    Row(
        "mm-read",
        what="read a sparse MatrixMarket file",
        sizes=ENTRIES,
        inputs=lambda random, n, m: {"f": File(".mtx", lambda path: scipy.io.mmwrite(path, random_csr(random, n, m, 0.01)))},
        dml='R = read($f, format="mm")',
        peers={"scipy": lambda f: scipy.io.mmread(f)},
        reach=1.2,
        tolerance=1e-15,
    ),
    Row(
        "mm-write",
        what="write a sparse MatrixMarket file",
        sizes=ENTRIES,
        inputs=sparse,
        dml='write(X, $out, format="mm")',
        writes=".mtx",
        back=lambda path: scipy.io.mmread(path),
        peers={"scipy": lambda X, out: scipy.io.mmwrite(out, X)},
        reach=1.2,
        tolerance=1e-15,
    ),
    Row(
        "binary-write",
        what="write doubles in the own binary format",
        sizes=[{"n": 4_000_000, "m": 10}],
        inputs=wide,
        dml='write(X, $out, format="binary")',
        writes=".npy",
        back=np.load,
        own_back='R = read($out, format="binary")',
        peers={"numpy": lambda X, out: np.save(out, X)},
        reach=1.2,
        tolerance=0,
    ),
]
