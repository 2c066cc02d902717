"""The examples of the documentation run, and every public name has documentation."""

import doctest
import importlib
import pkgutil

import fulgurite as fg
import numpy as np
import pytest

MODULES = [
    importlib.import_module(f"fulgurite.{module.name}")
    for module in pkgutil.iter_modules(fg.__path__)
    # Estimators need scikit-learn, whose examples test_learn_checks.py runs, and the plugin needs narwhals.
    if module.name not in ("_native", "_narwhals", "learn", "spark")
]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples(module):
    assert doctest.testmod(module).failed == 0


def test_every_function_is_documented():
    from fulgurite import _api

    constants = {
        "e",
        "pi",
        "inf",
        "nan",
        "newaxis",
        "SUPPORTED_API_VERSIONS",
        "__array_api_version__",
    }
    for name in _api.__all__:
        if name not in constants:
            assert getattr(fg, name).__doc__, f"fulgurite.{name} has no documentation"
    for module in (fg.linalg, fg.fft):
        for name in module.__all__:
            assert getattr(module, name).__doc__, f"{module.__name__}.{name} has no documentation"
    for name, value in vars(fg.Array).items():
        if callable(value) and not name.startswith("_"):
            assert value.__doc__, f"Array.{name} has no documentation"


def test_all_public_names_are_there():
    from fulgurite import _api

    assert len(set(_api.__all__)) == len(_api.__all__)
    for name in _api.__all__:
        assert hasattr(fg, name), name
    assert fg.float64 == np.float64 and fg.bool == np.bool_ and fg.newaxis is None
