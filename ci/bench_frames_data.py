"""Tables of `ci/bench --frames`: in files between processes, as each side has them in memory, and those of TPC-H."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.feather
import pyarrow.parquet

# What the queries read of TPC-H's tables.
COLUMNS = {
    "lineitem": "orderkey quantity extendedprice discount tax returnflag linestatus shipdate commitdate receiptdate shipmode",
    "orders": "orderkey custkey orderdate shippriority orderpriority",
    "customer": "custkey mktsegment",
}


def write(folder, inputs):
    """Puts tables of pandas and pyarrow into files."""
    for name, table in plain_tables(inputs):
        pyarrow.feather.write_feather(table, folder / f"{name}.arrow", compression="uncompressed")


def write_parquet(folder, inputs):
    """The same for sessions of Spark."""
    for name, table in plain_tables(inputs):
        pyarrow.parquet.write_table(table, folder / f"{name}.parquet")


def plain_tables(inputs):
    for name, table in inputs.items():
        if not isinstance(table, pyarrow.Table):
            table = pyarrow.Table.from_pandas(table, preserve_index=False)
        yield name, plain(table)


def read(folder):
    """The tables that `write` left, in memory, each column in one piece."""
    return {path.stem: pyarrow.feather.read_table(path, memory_map=False).combine_chunks() for path in folder.glob("*.arrow")}


def plain(table):
    """The table with types that all libraries have: numbers, dates, texts with offsets of 32 bits. Decimals become FP64."""
    table = table.replace_schema_metadata(None)
    for place, field in enumerate(table.schema):
        kind = field.type
        if pyarrow.types.is_decimal(kind):
            kind = pyarrow.float64()
        elif pyarrow.types.is_string_view(kind) or pyarrow.types.is_large_string(kind):
            kind = pyarrow.string()
        elif pyarrow.types.is_timestamp(kind):
            kind = pyarrow.date32()
        table = table.set_column(place, pyarrow.field(field.name, kind), table.column(place).cast(kind))
    return table


def tpch(folder, scale):
    """The tables of TPC-H at this scale, with the columns that the queries read. `tpchgen-cli` makes their files once."""
    folder = folder / f"tpch-{scale:g}"
    if not all((folder / f"{name}.parquet").exists() for name in COLUMNS):
        command = [Path(sys.executable).with_name("tpchgen-cli"), "parquet", "--scale-factor", f"{scale:g}", "--output-dir", folder, "--tables", ",".join(COLUMNS)]
        subprocess.run(list(map(str, command)), check=True, stdout=sys.stderr)

    def table(name):
        columns = [f"{name[0]}_{column}" for column in COLUMNS[name].split()]
        return pyarrow.parquet.read_table(folder / f"{name}.parquet", columns=columns)

    return {name: table(name) for name in COLUMNS}


def as_side(side, tables):
    """The tables as a side's users have them in memory, by the names of programs' parameters. Fulgurite's are those of Arrow: programs make
    lazy frames of them anew each time, for a frame keeps the groups of its rows, and no peer does."""
    return {"fulgurite": dict, "polars": for_polars, "duckdb": for_duckdb}.get(side, for_pandas)(tables)


def for_pandas(tables):
    found = {}
    for name in list(tables):
        # Each table of Arrow goes as soon as there is one of pandas.
        found[name] = tables.pop(name).to_pandas(date_as_object=False, split_blocks=True)
    return found


def for_polars(tables):
    import polars

    return {name: polars.from_arrow(table).rechunk() for name, table in tables.items()}


def for_duckdb(tables):
    """A connection `db` with tables of its own: DuckDB scans these faster than Arrow's."""
    import duckdb

    threads = len(os.sched_getaffinity(0))
    db = duckdb.connect(config={"threads": threads})
    for name in list(tables):
        db.register("given", tables.pop(name))
        db.execute(f"create table {name} as select * from given")
        db.unregister("given")
    return {"db": db}


def columns(result):
    """The columns of a result as NumPy has them: numbers, texts, and dates as numbers of days."""
    if isinstance(result, np.ndarray):
        return [result]
    if hasattr(result, "to_arrow"):
        result = result.to_arrow()
    if not isinstance(result, pyarrow.Table):
        result = pyarrow.Table.from_pandas(result, preserve_index=False)
    return [cells(column) for column in plain(result.combine_chunks()).columns]


def cells(column):
    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column = column.cast(pyarrow.string())
    if pyarrow.types.is_date(kind):
        column = column.cast(pyarrow.int32())
    if pyarrow.types.is_string(column.type):
        # As texts of NumPy, which files take without pickle.
        return np.array(column.to_pylist(), dtype=np.str_)
    return column.to_numpy()
