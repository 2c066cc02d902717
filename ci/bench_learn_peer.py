"""Runs one row of `ci/bench --learn` on one side, in a process of its own, as often as lines of the standard input tell. Called by
ci/bench_learn.py, which says in which commands."""

import argparse
import gc
import importlib
import logging
import os
import time
import warnings
from pathlib import Path

import numpy as np

import bench_learn_rows
from bench_python_peer import forget_peak, kilobytes
from bench_work_peer import serve

# Libraries of each side, which are loaded before memory is counted.
LIBRARIES = {
    "fulgurite": ["fulgurite.learn"],
    "sklearn": ["sklearn.linear_model", "sklearn.decomposition", "sklearn.mixture", "sklearn.cluster", "sklearn.naive_bayes", "sklearn.svm"],
    "intelex": ["sklearnex.linear_model", "sklearnex.decomposition", "sklearnex.cluster"],
    "glum": ["glum"],
    "implicit": ["implicit.cpu.als"],
}


class Fallbacks(logging.Handler):
    """What Intel's extension leaves to scikit-learn, which it says in its log only."""

    def __init__(self):
        super().__init__()
        self.said = []
        logging.getLogger("sklearnex").addHandler(self)
        logging.getLogger("sklearnex").setLevel(logging.INFO)

    def emit(self, record):
        if "fit" in record.getMessage() and "fallback" in record.getMessage():
            self.said.append(record.getMessage())


class Peer:
    def __init__(self, options, row, shape):
        for library in LIBRARIES.get(options.side, []):
            importlib.import_module(library)
        warnings.simplefilter("ignore")
        self.row, self.shape, self.options = row, shape, options
        self.fallbacks = Fallbacks() if options.side == "intelex" else None
        X, self.y = bench_learn_rows.read(options.data, row.target)
        self.X = self.form(row.prepare(X))
        del X
        gc.collect()
        self.before = kilobytes("VmRSS:") - kilobytes("RssFile:")
        self.last = None

    def form(self, X):
        import scipy.sparse

        if self.options.side in self.row.forms:
            return self.row.forms[self.options.side](X)
        if self.options.side == "glum" and scipy.sparse.issparse(X):
            return scipy.sparse.csc_matrix(X)
        return X

    def run(self, seconds, most):
        """Milliseconds of fits, and the most memory that they took above the data."""
        forget_peak()
        make = self.row.sides[self.options.side]
        times = []
        started = time.perf_counter()
        while not times or (time.perf_counter() - started < seconds and len(times) < most):
            # The last model makes room before the clock runs.
            self.last = None
            model = make(self.shape)
            start = time.perf_counter()
            self.last = fitted(model, self.X, self.y)
            times.append((time.perf_counter() - start) * 1e3)
            if self.fallbacks and self.fallbacks.said:
                raise SystemExit("it leaves this to scikit-learn")
        # Pages of files are those of libraries, which become resident when they are first used, and stay.
        peak = kilobytes("VmHWM:") - kilobytes("RssFile:")
        return {"milliseconds": times, "peakBytes": max(0, peak - self.before) * 1024}

    def results(self, folder):
        """The objective and the iterations of the last fit; and files of what is compared."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.row.seen:
            for place, value in enumerate(self.row.seen(self.last)):
                np.save(folder / f"{place}.npy", np.asarray(value))
        found = {"objective": None, "iterations": iterations(self.last)}
        if self.row.objective:
            found["objective"] = float(self.row.objective(self.last, self.X, self.y, self.shape))
        return found


def fitted(model, X, y):
    try:
        return model.fit(X) if y is None else model.fit(X, y)
    except Exception as error:
        # The caller reads the last line.
        raise SystemExit(str(error).splitlines()[0]) from None


def iterations(model):
    count = getattr(model, "n_iter_", None)
    return None if count is None else int(np.max(count))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["rows", "data"]:
        parser.add_argument(f"--{name}", type=Path, required=True)
    for name in ["row", "side", "shape"]:
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    row = bench_learn_rows.load(options.rows)[options.row]
    shape = bench_learn_rows.of_folder(options.data)
    if options.side == "mllib":
        import bench_learn_mllib

        serve(bench_learn_mllib.Peer(options, row, shape))
    else:
        serve(Peer(options, row, shape))
    # Threads of libraries need not be waited for.
    os._exit(0)


if __name__ == "__main__":
    main()
