"""What a row of `ci/bench --learn` declares, and the data that all rows of a shape share. The rows are in tests/bench/learn; its README.md says
how to add one."""

import dataclasses
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable

import numpy as np

CLASSES = 5
# Rows that are made at once: their values follow from the seed and the place.
BLOCK = 50_000


@dataclasses.dataclass(frozen=True)
class Shape:
    rows: int
    columns: int
    # Non-zeros in each row of a CSR matrix; None for a dense one.
    stored: int | None = None

    @property
    def name(self):
        return f"{short(self.rows)}x{short(self.columns)}"

    def __str__(self):
        return self.name + (f" CSR {self.stored / self.columns:g}" if self.stored else "")

    def divided(self, by):
        return dataclasses.replace(self, rows=max(100, self.rows // by)) if self.rows > 1000 else self


def short(number):
    """1000000 as 1e6."""
    exponent = len(str(number)) - 1
    return f"1e{exponent}" if exponent > 2 and number == 10**exponent else str(number)


TALL, WIDE, WIDER = Shape(1_000_000, 10), Shape(1_000_000, 100), Shape(100_000, 1000)
SPARSE = Shape(1_000_000, 10_000, 10)
TINY = Shape(150, 4)
DENSE = (TALL, WIDE, WIDER)
SHAPES = (*DENSE, SPARSE, TINY)


@dataclasses.dataclass(frozen=True)
class Row:
    # As the command line calls it.
    name: str
    # As the table calls it.
    what: str
    shapes: tuple
    # By side: makes an estimator for a shape, whose `fit(X, y)` is timed. MLlib's gives a class's name and its parameters.
    sides: dict
    # What y is: `real`, `binary`, `classes`, `counts`, `positive`; or None.
    target: str | None = None
    # The objective that a fitted estimator reached, from it, X, y and the shape: less is better. None where fits are closed forms.
    objective: Callable | None = None
    # What of a closed form is compared with scikit-learn's.
    seen: Callable | None = None
    # X as the row's estimators take it.
    prepare: Callable = lambda X: X
    # What a side makes of X before the clock runs: its users have it in another form.
    forms: dict = dataclasses.field(default_factory=dict)
    # Shapes that a side can't do, and why.
    without: dict = dataclasses.field(default_factory=dict)
    # The file that declares it.
    group: str = ""

    def sides_of(self, shape):
        return [side for side in self.sides if (side, shape.name) not in self.without]

    def label(self, shape):
        return f"{self.name}/{shape.name}"


def load(folder):
    """The rows of the files in this folder, by name."""
    sys.path.insert(0, str(folder))
    rows = {}
    for group in ["linear", "generalised", "unsupervised"]:
        path = folder / f"{group}.py"
        spec = importlib.util.spec_from_file_location(f"learn_{group}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for row in module.ROWS:
            if row.name in rows:
                raise SystemExit(f"{path}: there is another row '{row.name}'")
            rows[row.name] = dataclasses.replace(row, group=group)
    return rows


def make(folder, shape):
    """The files of a shape: X, and y of each kind. Made once."""
    place = folder / f"{shape.rows}x{shape.columns}{'' if shape.stored is None else f'-{shape.stored}'}"
    if (place / "finished").exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    random = np.random.default_rng(7)
    # Rows lie around centres. Columns have different scales.
    centres = 2 * random.standard_normal((8, shape.columns))
    scales = random.uniform(0.5, 2.0, shape.columns)
    weights = random.standard_normal((shape.columns, CLASSES)) / np.sqrt(shape.stored or shape.columns)
    targets = {name: [] for name in ["real", "binary", "classes", "counts", "positive"]}
    values = {}
    if shape.stored is None:
        values["X"] = np.lib.format.open_memmap(place / "X.npy", "w+", np.float64, (shape.rows, shape.columns))
    else:
        values["indices"] = np.lib.format.open_memmap(place / "indices.npy", "w+", np.int32, (shape.rows * shape.stored,))
        values["data"] = np.lib.format.open_memmap(place / "data.npy", "w+", np.float64, (shape.rows * shape.stored,))
        np.save(place / "indptr.npy", np.arange(shape.rows + 1, dtype=np.int32) * np.int32(shape.stored))
    for start in range(0, shape.rows, BLOCK):
        rows = min(BLOCK, shape.rows - start)
        if shape.stored is None:
            block = random.standard_normal((rows, shape.columns))
            block += centres[random.integers(len(centres), size=rows)]
            block *= scales
            values["X"][start : start + rows] = block
            scores = block @ weights
        else:
            # Distinct columns in ascending order: one from each of as many parts. Cells are ratings.
            width = shape.columns // shape.stored
            indices = random.integers(width, size=(rows, shape.stored)) + width * np.arange(shape.stored)
            data = random.integers(1, 6, size=(rows, shape.stored)).astype(np.float64)
            part = slice(start * shape.stored, (start + rows) * shape.stored)
            values["indices"][part], values["data"][part] = indices.ravel(), data.ravel()
            scores = np.einsum("rs,rsk->rk", data - 3, weights[indices])
        fill(targets, random, scores)
    for name, parts in targets.items():
        np.save(place / f"{name}.npy", np.concatenate(parts))
    (place / "finished").write_text(json.dumps(dataclasses.asdict(shape)))
    return place


def fill(targets, random, scores):
    """Adds the targets of a block of rows."""
    score = np.clip(scores[:, 0] / 2, -3, 3)
    targets["real"].append(scores[:, 0] + random.standard_normal(len(score)))
    targets["binary"].append((random.random(len(score)) < 1 / (1 + np.exp(-2 * score))).astype(np.int64))
    targets["classes"].append(np.argmax(scores + random.gumbel(size=scores.shape), axis=1))
    targets["counts"].append(random.poisson(np.exp(score)).astype(np.float64))
    targets["positive"].append(random.gamma(2.0, np.exp(score) / 2) + 1e-3)


def of_folder(place):
    return Shape(**json.loads((place / "finished").read_text()))


def read(place, target):
    """X and y, in memory of this process."""
    if (place / "X.npy").exists():
        X = np.load(place / "X.npy")
    else:
        import scipy.sparse

        parts = tuple(np.load(place / f"{name}.npy") for name in ["data", "indices", "indptr"])
        X = scipy.sparse.csr_array(parts, shape=(len(parts[2]) - 1, of_folder(place).columns))
        X.has_canonical_format = True
    return X, None if target is None else np.load(place / f"{target}.npy")
