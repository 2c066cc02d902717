"""What a program of `ci/bench --python` declares. The programs are in tests/bench/python; its README.md says how to add one."""

import dataclasses
import importlib.util
import inspect
import sys
from collections.abc import Callable

import numpy as np


@dataclasses.dataclass(frozen=True)
class Program:
    # As the command line calls it.
    name: str
    # As the table calls it.
    what: str
    # By name; all functions get those that they have parameters for.
    sizes: dict
    # Makes the inputs by name from `random`, a generator of NumPy, and sizes: arrays of NumPy and sparse arrays of SciPy.
    inputs: Callable
    # The program as a NumPy user writes it, from the namespace `xp` and inputs: NumPy runs it, Fulgurite and, compiled, JAX and PyTorch.
    run: Callable
    # Other ways to write it, by side: what Numexpr and Numba run, and where a side has a better one than `run`. They take inputs and sizes.
    forms: dict = dataclasses.field(default_factory=dict)
    # Sides that can't run it, or take minutes, and why.
    without: dict = dataclasses.field(default_factory=dict)
    # What of the outputs is compared, where they are not all to be the same.
    seen: Callable = lambda *outputs: outputs
    # How far cells may lie apart, as a share of the largest one.
    tolerance: float = 1e-9
    # The file that declares it.
    group: str = ""

    def make(self):
        return call(self.inputs, {"random": np.random.default_rng(7)} | self.sizes)

    def sides(self):
        """Those that run it, with Fulgurite's first."""
        general = ["fulgurite", "fused", "numpy", "jax", "torch"]
        return [side for side in [*general, *(side for side in self.forms if side not in general)] if side not in self.without]

    def form(self, side, xp):
        """The function of inputs that a side runs."""
        if side in self.forms:
            return self.bound(self.forms[side])
        return self.bound(self.run, xp)

    def bound(self, function, *leading):
        taken = list(inspect.signature(function).parameters)[len(leading) :]
        sizes = {name: self.sizes[name] for name in taken if name in self.sizes}

        def bound(**inputs):
            return function(*leading, **inputs, **sizes)

        bound.__name__ = bound.__qualname__ = self.name.replace("-", "_")
        return bound


def call(function, values):
    """With those of the values that it has parameters for."""
    return function(**{name: values[name] for name in inspect.signature(function).parameters if name in values})


def load(folder):
    """The programs of the files in this folder, by name, in the order of files and of lines in them."""
    # Where programs find `kernels`.
    sys.path.insert(0, str(folder))
    programs = {}
    for group in ["patterns", "weld", "programs"]:
        path = folder / f"{group}.py"
        spec = importlib.util.spec_from_file_location(f"python_{group}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for program in module.PROGRAMS:
            if program.name in programs:
                raise SystemExit(f"{path}: there is another program '{program.name}'")
            programs[program.name] = dataclasses.replace(program, group=group)
    return programs
