"""What a row of `ci/bench work` declares. The rows are in tests/bench/work; tests/bench/work/README.md says how to add one."""

import dataclasses
import importlib
import importlib.util
import inspect
from collections.abc import Callable

import numpy as np
import scipy.sparse


class Later:
    """A library that is loaded when a peer first uses it, so that no process loads the libraries of others."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attribute):
        return getattr(importlib.import_module(self.name), attribute)


jax, jnp, pandas, polars, sklearn_preprocessing, torch = map(Later, ["jax", "jax.numpy", "pandas", "polars", "sklearn.preprocessing", "torch"])


@dataclasses.dataclass(frozen=True)
class Row:
    # As the command line calls it.
    name: str
    # As the table calls it; a piece of DML where that says it best.
    what: str
    # The script that is timed. `$n` is the size `n` of the row, `$out` the path of `writes`, and `$f` that of an input that is a `File`.
    dml: str
    # What the best peer's time must be, as a multiple of Fulgurite's.
    reach: float
    # Of each line in the table. `ci/bench work --sizes` multiplies them.
    sizes: list
    # By library; each takes the inputs and those sizes that it has parameters for. Jax's is compiled.
    peers: dict
    # The same work as a script of SystemDS, if that is a peer. It gets inputs as csv files, and `$` as `dml` does.
    systemds: str = None
    # Makes the inputs by name from a generator of random numbers and sizes, which are its parameters: arrays, whole numbers too, SciPy's sparse matrices and `File`s.
    inputs: Callable = lambda random: {}
    # The power that the work grows by with a size; by the first size alone, linearly, where nothing is said.
    grows: dict = None
    # Variables of the script that the peers give, too, in their order.
    outputs: tuple = ("R",)
    # Suffix of the file that the script and each peer write, to the path `out`, instead of giving outputs; `back` reads it.
    writes: str = None
    back: Callable = None
    # A script that reads Fulgurite's file into R, where `back` can't.
    own_back: str = None
    # What of the outputs is compared, where they are not all to be the same; peers' results come as they are.
    seen: Callable = lambda *outputs: outputs
    # How far cells may lie apart, as a share of the largest one.
    tolerance: float = 1e-9
    # Floating-point operations and bytes of memory that the work takes at least, of the sizes.
    flops: Callable = None
    bytes: Callable = None
    # The file that declares it.
    group: str = ""

    def scaled(self, sizes, factor):
        """Sizes for so many times the work."""
        grows = self.grows or {next(iter(sizes)): 1}
        return sizes | {name: max(2, round(sizes[name] * factor ** (1 / power))) for name, power in grows.items()}

    def make(self, sizes):
        return call(self.inputs, {"random": np.random.default_rng(7)} | sizes)

    def limit(self, name, sizes):
        count = getattr(self, name)
        return None if count is None else call(count, sizes)


@dataclasses.dataclass(frozen=True)
class File:
    """An input that is a file: its suffix, and a function that writes it to a path."""

    suffix: str
    write: Callable


def random_csr(random, rows, cols, density):
    """Cells from 0.5 to 1.5 at places that are drawn with replacement, which add up."""
    count = int(rows * cols * density)
    places = random.integers(rows, size=count), random.integers(cols, size=count)
    return scipy.sparse.csr_matrix((random.random(count) + 0.5, places), (rows, cols))


def call(function, values):
    """With those of the values that it has parameters for."""
    return function(**{name: values[name] for name in inspect.signature(function).parameters if name in values})


def load(folder):
    """The rows of the files in this folder, by name, in the order of files and of lines in them."""
    rows = {}
    for path in sorted(folder.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"work_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for row in module.ROWS:
            if row.name in rows:
                raise SystemExit(f"{path}: there is another row '{row.name}'")
            rows[row.name] = dataclasses.replace(row, group=path.stem)
    return rows
