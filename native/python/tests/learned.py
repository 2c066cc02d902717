"""Data that tests of estimators draw, and how results are compared."""

from __future__ import annotations

import numpy as np
from scipy import sparse

# The kinds of columns that estimators have trouble with.
KINDS = ("ordinary", "collinear", "scaled", "constant", "wide", "shifted", "single")


def columns(rng, kind):
    """A matrix of some kind."""
    rows, features = int(rng.integers(20, 80)), int(rng.integers(2, 9))
    if kind == "wide":
        rows, features = int(rng.integers(5, 12)), int(rng.integers(12, 25))
    if kind == "single":
        features = 1
    X = rng.normal(size=(rows, features))
    if kind == "collinear":
        X = np.hstack([X, X[:, :1] + X[:, 1:2], X[:, :1]])
    if kind == "scaled":
        X = X * 10.0 ** rng.integers(-3, 4, size=features)
    if kind == "constant":
        X[:, 0] = 3.0
    if kind == "shifted":
        X = X + 1e4
    return X


def weights(rng, rows, has):
    """Weights, some of them zero; or none."""
    if not has:
        return None
    found = rng.integers(0, 4, size=rows).astype(float) * rng.choice([1.0, 0.37])
    found[:3] = 1.0
    return found


FORMS = (
    "csr",
    "csc",
    "float32",
    "int64",
    "pandas",
    "polars",
    "fortran",
    "strided",
    "list",
    "ours",
    "arrow",
)


def in_form(X, form):
    """The same cells as another kind of input."""
    if form == "csr":
        return sparse.csr_array(X)
    if form == "csc":
        return sparse.csc_matrix(X)
    if form in ("float32", "int64"):
        return X.astype(form)
    if form == "fortran":
        return np.asfortranarray(X)
    if form == "strided":
        return np.repeat(X, 2, axis=1)[:, ::2]
    if form == "list":
        return X.tolist()
    if form == "ours":
        import fulgurite as fg

        return fg.asarray(X)
    names = [f"column {i}" for i in range(X.shape[1])]
    if form == "pandas":
        import pandas

        return pandas.DataFrame(X, columns=names)
    if form == "polars":
        import polars

        return polars.DataFrame(X, schema=names, orient="row")
    import pyarrow

    return pyarrow.table({name: X[:, i] for i, name in enumerate(names)})


def near(got, want, rtol=1e-7, scale=None):
    """Asserts that results agree to a part of the largest cell."""
    got, want = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
    assert got.shape == want.shape, f"shape {got.shape}, not {want.shape}"
    if got.size == 0:
        return
    size = np.max(np.abs(want)) if scale is None else scale
    apart = np.max(np.abs(got - want))
    assert apart <= rtol * max(size, 1e-300), f"apart by {apart:.2e}, of {size:.2e}"
