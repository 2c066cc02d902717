"""What a program of `ci/bench --frames` declares. The programs are in tests/bench/frames; its README.md says how to add one."""

import dataclasses
import importlib.util
import sys
from collections.abc import Callable

import numpy as np

from bench_python_programs import call

GROUPS = ["crossing", "queries", "counts", "functions", "spark"]


@dataclasses.dataclass(frozen=True)
class Program:
    # As the command line calls it.
    name: str
    # As the table calls it.
    what: str
    # By name; all functions get those that they have parameters for.
    sizes: dict
    # Makes tables of pandas or pyarrow by name from `random`, a generator of NumPy, `tpch`, a function of a scale, and sizes.
    inputs: Callable
    # The program as the users of each side write it, by side. They take tables as their side has them, and sizes; those of DuckDB a connection `db`.
    forms: dict
    # What the time of the best peer, or of those in `against`, must be, as a multiple of Fulgurite's.
    reach: float = 1.0
    against: tuple = ()
    # Whether rows of the result have an order; otherwise they are sorted before they are compared.
    ordered: bool = True
    # Sides that can't run it, and why.
    without: dict = dataclasses.field(default_factory=dict)
    # How far cells may lie apart, as a share of the largest one in their column.
    tolerance: float = 1e-9
    # Whether sessions of Spark have the tables in their cache; otherwise they read files.
    cached: bool = True
    # The file that declares it.
    group: str = ""

    def make(self, tpch):
        return call(self.inputs, {"random": np.random.default_rng(7), "tpch": tpch} | self.sizes)

    def sides(self):
        return [side for side in self.forms if side not in self.without]

    def run(self, side, tables):
        return call(self.forms[side], tables | self.sizes)

    def divided(self, divisor):
        """With a smaller first size."""
        (name, size), *others = self.sizes.items()
        smaller = size / divisor if isinstance(size, float) else max(100, size // divisor)
        return dataclasses.replace(self, sizes={name: smaller, **dict(others)})

    def seen(self, outputs):
        """Columns of a result in the order that they are compared in."""
        if self.ordered or len(outputs[0].shape) == 0:
            return outputs
        order = np.lexsort(outputs[::-1])
        return [column[order] for column in outputs]


def load(folder, groups=GROUPS):
    """The programs of these files in the folder, by name, in the order of files and of lines in them."""
    # Where programs find `frame_kernels`, and the examples that they come from.
    sys.path[:0] = [str(folder), str(folder.parents[2] / "examples" / "weld")]
    programs = {}
    for group in groups:
        path = folder / f"{group}.py"
        spec = importlib.util.spec_from_file_location(f"frames_{group}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for program in module.PROGRAMS:
            if program.name in programs:
                raise SystemExit(f"{path}: there is another program '{program.name}'")
            programs[program.name] = dataclasses.replace(program, group=group)
    return programs
