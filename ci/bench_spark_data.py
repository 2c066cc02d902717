"""Data of ci/bench --spark: made once, by both systems from the same script, each in its own binary format.

For DataFrames, those of MLlib among them, there are Parquet files with one ML vector a row, and labels beside it. The `fulgurite` command
draws SystemDS's numbers, so that cells are the same."""

import json
import math
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

# Of a stored value with its column in CSR, and of a dense cell.
SPARSE_BYTES, DENSE_BYTES = 12, 8
ROW_GROUP_BYTES = 16 << 20
CSR = 1

# What Spark has to be told of a struct to see a vector.
VECTOR = {
    "type": "udt",
    "class": "org.apache.spark.ml.linalg.VectorUDT",
    "pyClass": "pyspark.ml.linalg.VectorUDT",
    "sqlType": {
        "type": "struct",
        "fields": [
            {"name": "type", "type": "byte", "nullable": False, "metadata": {}},
            {"name": "size", "type": "integer", "nullable": True, "metadata": {}},
            {"name": "indices", "type": {"type": "array", "elementType": "integer", "containsNull": False}, "nullable": True, "metadata": {}},
            {"name": "values", "type": {"type": "array", "elementType": "double", "containsNull": False}, "nullable": True, "metadata": {}},
        ],
    },
}
VECTOR_TYPE = pa.struct([
    pa.field("type", pa.int8(), nullable=False),
    pa.field("size", pa.int32()),
    pa.field("indices", pa.list_(pa.field("element", pa.int32(), nullable=False))),
    pa.field("values", pa.list_(pa.field("element", pa.float64(), nullable=False))),
])


class DataSet:
    """A script whose comments name the matrices it makes, the first of which is the large one, and say how large that is: `share` of
    what is asked for, with so many `cols`, or square."""

    def __init__(self, file, size, scratch):
        self.name = file.stem
        self.script = file.read_text()
        self.matrices = self.words("matrices")
        self.sparsity = float(self.words("sparsity")[0])
        self.bytes = size * float(self.words("share")[0])
        if cols := self.words("cols"):
            self.cols = int(cols[0])
            self.rows = max(1, round(self.bytes / (DENSE_BYTES * self.cols)))
        else:
            self.rows = self.cols = max(1, round(math.sqrt(self.bytes / (SPARSE_BYTES * self.sparsity))))
        self.folder = scratch / f"{self.name}-{self.rows}x{self.cols}"

    def words(self, key):
        prefix = f"# {key}:"
        return next((line for line in self.script.splitlines() if line.startswith(prefix)), prefix).removeprefix(prefix).split()

    def __str__(self):
        return f"{self.rows}x{self.cols} " + ("dense" if self.sparsity == 1 else f"{self.sparsity:g}")

    @property
    def parquet(self):
        """Columns `features`, for the large matrix, and one for each of the others."""
        return self.folder / "data.parquet"

    def systemds(self, matrix):
        return self.folder / "systemds" / matrix

    def fulgurite(self, matrix):
        return self.folder / "fulgurite" / matrix

    def make(self, cli, run_systemds):
        """Makes what is not there. `run_systemds` runs a script with arguments."""
        self.folder.mkdir(parents=True, exist_ok=True)
        maker = self.folder / "make.dml"
        maker.write_text("\n".join([self.script, *(f'write({name}, ${name}, format="binary")' for name in self.matrices)]) + "\n")
        sizes = [f"rows={self.rows}", f"cols={self.cols}", f"sparsity={self.sparsity:g}"]
        if not self.parquet.exists():
            blocks = {name: self.fulgurite(name) for name in self.matrices}
            self.fulgurite("").mkdir(exist_ok=True)
            command = [cli, "run", "--threads", "2", "--config", "fulgurite.rand.stream=systemds", maker, "-nvargs", *sizes]
            done = subprocess.run([*command, *(f"{name}={file}" for name, file in blocks.items())], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"making {self.name} failed:\n{done.stdout[-2000:]}{done.stderr}")
            unfinished = self.folder / "unfinished.parquet"
            write_parquet(unfinished, {name: read_blocks(file) for name, file in blocks.items()})
            unfinished.rename(self.parquet)
        finished = self.folder / "systemds" / "finished"
        if not finished.exists():
            shutil.rmtree(finished.parent, ignore_errors=True)
            finished.parent.mkdir()
            run_systemds(maker, [*sizes, *(f"{name}={self.systemds(name)}" for name in self.matrices)])
            finished.touch()


def read_blocks(file):
    """The blocks of a matrix: the shape and arrays of each, in place; values, and of CSR pointers and column numbers."""
    with pa.memory_map(str(file)) as source:
        batches = pa.ipc.open_stream(source).read_all().to_batches()
    blocks = []
    for batch in batches:
        [block] = batch.select(["rows", "cols", "layout"]).to_pylist()
        values, pointers, indices = (batch.column(name).flatten().to_numpy() for name in ["values", "pointers", "indices"])
        blocks.append(((block["rows"], block["cols"]), values, *((pointers, indices) if block["layout"] == CSR else (None, None))))
    return blocks


def write_parquet(file, matrices):
    """The first matrix as vectors, all others, which have one column, as numbers."""
    (_, large), *others = matrices.items()
    labels = {name: np.concatenate([column(*block) for block in blocks]) for name, blocks in others}
    fields = [{"name": "features", "type": VECTOR, "nullable": True, "metadata": {}}]
    fields += [{"name": name, "type": "double", "nullable": True, "metadata": {}} for name in labels]
    schema = pa.schema(
        [pa.field("features", VECTOR_TYPE), *(pa.field(name, pa.float64()) for name in labels)],
        metadata={"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": fields})},
    )
    before = 0
    # Random numbers neither repeat nor compress.
    with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False, write_statistics=False) as writer:
        for (rows, cols), values, pointers, indices in large:
            row_bytes = max(1, (values.nbytes + (0 if indices is None else indices.nbytes)) // max(rows, 1))
            step = max(1, ROW_GROUP_BYTES // row_bytes)
            for start in range(0, rows, step):
                end = min(start + step, rows)
                found = dense_vectors(values, cols, start, end) if pointers is None else sparse_vectors(values, pointers, indices, cols, start, end)
                batch = pa.table([found, *(pa.array(label[before + start : before + end]) for label in labels.values())], schema=schema)
                writer.write_table(batch, row_group_size=end - start)
            before += rows


def column(shape, values, pointers, indices):
    if pointers is None:
        return values
    cells = np.zeros(shape[0])
    cells[np.repeat(np.arange(shape[0]), np.diff(pointers))] = values
    return cells


def dense_vectors(values, cols, start, end):
    count = end - start
    offsets = np.arange(0, (count + 1) * cols, cols, dtype=np.int32)
    return vectors(np.ones(count, dtype=np.int8), pa.nulls(count, pa.int32()), pa.nulls(count, VECTOR_TYPE.field("indices").type), lists("values", offsets, values[start * cols : end * cols]))


def sparse_vectors(values, pointers, indices, cols, start, end):
    first, last = pointers[start], pointers[end]
    offsets = (pointers[start : end + 1] - first).astype(np.int32)
    sizes = pa.array(np.full(end - start, cols, dtype=np.int32))
    return vectors(np.zeros(end - start, dtype=np.int8), sizes, lists("indices", offsets, indices[first:last]), lists("values", offsets, values[first:last]))


def lists(name, offsets, items):
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(items), type=VECTOR_TYPE.field(name).type)


def vectors(kinds, sizes, indices, values):
    return pa.StructArray.from_arrays([pa.array(kinds), sizes, indices, values], fields=list(VECTOR_TYPE))


def read_csv(path):
    """A matrix that SystemDS wrote: a file, or a folder of parts."""
    parts = sorted(part for part in path.iterdir() if not part.name.startswith((".", "_"))) if path.is_dir() else [path]
    return np.concatenate([np.loadtxt(part, delimiter=",", ndmin=2) for part in parts if part.stat().st_size > 0])
