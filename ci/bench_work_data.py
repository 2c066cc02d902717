"""Matrices in files that fulgurite-bench reads and writes, too: tests/bench/src/exchange.rs says what is in them. Both sides of `ci/bench
work` get the same cells through these."""

import numpy as np
import scipy.sparse


def write(folder, name, matrix):
    """A NumPy array or a sparse matrix of SciPy; what has one dimension is a column."""
    if scipy.sparse.issparse(matrix):
        matrix = matrix.tocsr()
        matrix.sort_indices()
        with (folder / f"{name}.{shape_of(matrix)}.csr").open("wb") as file:
            for numbers, kind in [(matrix.indptr, np.int64), (matrix.data, np.float64), (matrix.indices, np.int32)]:
                numbers.astype(kind).tofile(file)
        return
    matrix = np.asarray(matrix)
    kind = "i64" if matrix.dtype.kind == "i" else "f64"
    matrix = np.ascontiguousarray(matrix, np.dtype({"i64": np.int64, "f64": np.float64}[kind]))
    if matrix.ndim < 2:
        matrix = matrix.reshape(-1, 1)
    matrix.tofile(folder / f"{name}.{shape_of(matrix)}.{kind}")


def shape_of(matrix):
    return "x".join(map(str, matrix.shape))


def read(folder):
    """The matrices in the folder, by name."""
    matrices = {}
    for path in folder.iterdir():
        match path.name.split("."):
            case [name, shape, "f64" | "i64" as kind]:
                matrices[name] = np.fromfile(path, {"f64": np.float64, "i64": np.int64}[kind]).reshape(list(map(int, shape.split("x"))))
            case [name, shape, "csr"]:
                rows, cols = map(int, shape.split("x"))
                with path.open("rb") as file:
                    pointers = np.fromfile(file, np.int64, rows + 1)
                    values = np.fromfile(file, np.float64, pointers[-1])
                    indices = np.fromfile(file, np.int32, pointers[-1])
                # SciPy takes pointers and indices of one type, the shorter one where it suffices.
                matrices[name] = scipy.sparse.csr_matrix((values, indices, pointers.astype(np.int32)), (rows, cols))
    return matrices
