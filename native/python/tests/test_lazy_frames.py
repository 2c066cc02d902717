"""Lazy frames: where their rows come from and go to, arrays among columns, and what is refused."""

import copy
import datetime
import pickle

import fulgurite as fg
import numpy as np
import pytest

CELLS = {
    "i": [3, 1, None, 2],
    "f": [0.5, float("nan"), None, -2.0],
    "s": ["Graz", "Linz", None, "日本"],
    "b": [True, None, False, True],
}


def frame():
    return fg.frame(CELLS)


def plain(table):
    """Values that are compared with ==; NaN is a text."""
    cells = table.to_dict()
    return {name: ["NaN" if value != value else value for value in values] for name, values in cells.items()}


# Sources.


def test_columns_of_a_file_that_later_steps_leave_out(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": [1, 2], "b": [3, None], "c": [5, 6]}), path)
    made = fg.scan_parquet(path)
    for plan, expected in [
        (made.drop("b").select("a"), [1, 2]),
        (made.with_columns(b=fg.col("b").fill_null(0)).select("a"), [1, 2]),
        (made.rename({"b": "q"}).select("a"), [1, 2]),
        (made.group_by("a", maintain_order=True).agg(fg.col("b").sum()).select("a"), [1, 2]),
        (made.filter(fg.col("c") > 5).drop("b", "c"), [2]),
        (made.join(made, on="a").select("a", "c_right"), [1, 2]),
        (fg.concat([made.drop("b"), made.select("a", "c")]).select("a"), [1, 2, 1, 2]),
    ]:
        assert plan.collect().to_dict()["a"] == expected
        assert plan.to_array("a").tolist() == expected


def test_columns_of_a_file_that_frames_do_not_keep(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"a": [1, 2, 3], "tags": [["x"], [], None], "at": [{"x": 1}] * 3}), path)
    made = fg.scan_parquet(path)
    assert list(made.schema) == ["a", "tags", "at"]
    assert made.schema["tags"].startswith("list(utf8")
    for plan in [
        made.select("a"),
        made.drop("tags", "at"),
        made.filter(fg.col("a") < 9).drop("at").select("a"),
        made.rename({"tags": "t"}).drop("t", "at"),
        made.drop("tags", "at").sort("a"),
    ]:
        assert plan.collect().to_dict() == {"a": [1, 2, 3]}
    assert made.select(fg.len()).to_array("len").tolist() == [3]
    for plan in [made, made.filter(fg.col("a") > 1), made.drop("at"), made.select("tags"), made.filter(fg.col("tags").is_null()).drop("at")]:
        with pytest.raises(fg.FulguriteError, match=r"E0900.*column '(tags|at)' has the type .*which tables do not keep") as caught:
            plan.collect()
        assert "leave it out with drop() or select()" in str(caught.value)


def test_decimals_are_carried_along_and_cast(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from decimal import Decimal

    from pyarrow import parquet

    prices = [Decimal("901.00"), None, Decimal("-0.05"), Decimal("12345678901234567.89")]
    table = pyarrow.table({"k": [1, 2, 3, 4], "d": pyarrow.array(prices, pyarrow.decimal128(30, 2))})
    path = tmp_path / "d.parquet"
    parquet.write_table(table, path)
    for made in (fg.frame(table), fg.scan_parquet(path)):
        assert made.schema == {"k": "int64", "d": "decimal128(30, 2)"}
        some = made.filter(fg.col("k") != 3).to_arrow()
        assert some.column("d").to_pylist() == [prices[0], prices[1], prices[3]]
        joined = made.join(fg.frame({"k": [4, 1, 9]}), on="k", how="right").select("d", "k")
        assert joined.to_arrow().column("d").to_pylist() == [prices[3], prices[0], None]
        assert made.sort("k", descending=True).head(1).to_arrow().column("d").to_pylist() == [prices[3]]
        as_float = fg.col("d").cast("float64")
        assert made.select(s=as_float * 2).to_array("s").tolist()[2] == -0.1
        assert made.filter(as_float > 900.5).select("k", n=as_float).to_arrow().to_pydict() == {"k": [1, 4], "n": [901.0, 12345678901234567.89]}
        assert made.select(t=fg.col("d").cast("string")).to_arrow().to_pydict()["t"] == ["901.00", None, "-0.05", "12345678901234567.89"]
        assert made.select(n=fg.col("d").is_null().sum(), c=fg.col("d").count()).to_arrow().to_pydict() == {"n": [1], "c": [3]}
        with pytest.raises(fg.FulguriteError, match=r"row 4: .*does not fit into Int32"):
            made.select(fg.col("d").cast("int32")).collect()
        for wrong in (
            made.select(fg.col("d") * 2),
            made.filter(fg.col("d") > 1.5),
            made.select(fg.col("d").sum()),
            made.select(fg.col("d").max()),
            made.group_by("d").agg(fg.len()),
            made.sort("d"),
            made.unique(),
            made.join(made, on="d"),
            made.select(fg.col("k").cast("int64") + fg.col("d")),
            made.select(fg.coalesce("d", 0)),
        ):
            with pytest.raises(fg.FulguriteError, match=r"E03.*Decimal\(30, 2\)") as caught:
                wrong.collect()
            assert "cast decimals to float64 first" in str(caught.value)
        assert made.select(t=fg.udf(lambda d: type(d).__name__)("d")).to_arrow().to_pydict()["t"] == ["float", "NoneType", "float", "float"]
        assert made.filter(fg.col("d").is_null()).group_by("k").agg(fg.col("k").cast("int8").sum().alias("n")).to_arrow().to_pydict() == {"k": [2], "n": [2]}
        assert made.drop_nulls().to_array("d").tolist() == [901.0, -0.05, 12345678901234567.89]
        assert np.isnan(made.to_array("d").tolist()[1])


def test_decimals_of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    made = fg.frame(duckdb.sql("select 1.5 as a, 2 as b"))
    assert made.select(s=fg.col("a").cast("float64") + fg.col("b")).to_array("s").tolist() == [3.5]


def test_arrays_of_other_kinds():
    assert fg.frame({"a": np.array([1.5], dtype=np.longdouble)}).collect().to_dict() == {"a": [1.5]}
    assert fg.frame({"a": np.ma.array([1, 2], mask=[0, 1])}).collect().to_dict() == {"a": [1, None]}
    assert fg.frame({"a": [2**63, None]}).schema == {"a": "uint64"}
    with pytest.raises(OverflowError, match="the column 'a' has negative numbers"):
        fg.frame({"a": [2**63, -1]})


def test_moments_are_rounded_down():
    pyarrow = pytest.importorskip("pyarrow")
    nanos = pyarrow.array([-1500, -1000, -1, 0, 1999, None], pyarrow.timestamp("ns"))
    micros = fg.frame(pyarrow.table({"t": nanos})).select(fg.col("t").cast("int64")).collect()
    assert micros.to_pydict() == {"t": [-2, -1, -1, 0, 1, None]}


def test_columns_without_a_type():
    polars = pytest.importorskip("polars")
    made = fg.frame(polars.DataFrame({"a": [1, 2], "n": [None, None]}))
    assert made.schema == {"a": "int64", "n": "boolean"}
    assert made.collect()["n"].to_list() == [None, None]


def test_values_of_long_lists():
    many = np.arange(100_000)
    made = fg.frame({"a": many, "f": many / 2, "t": many.astype(str).tolist()})
    few = made.filter(fg.col("a").is_in(list(range(0, 200_000, 3))) & fg.col("f").is_in([1.5, 3, 4.25]))
    assert few.select("a").collect().to_dict() == {"a": [3, 6]}
    assert made.filter(fg.col("t").is_in([str(value) for value in range(5, 300_000, 9)])).select(fg.len()).to_array("len").tolist() == [11111]
    both = fg.concat([made.select("a"), made.select(a=fg.col("a") + 1)]).filter(fg.col("a").is_in([7, 100_000]))
    assert both.collect().to_dict() == {"a": [7, 7, 100_000]}
    assert repr(fg.col("a").is_in([1])) == "col('a').is_in(values=[{'lit': 1, 'type': 'int'}], nulls_equal=False)"


def test_the_memory_setting_bounds_frames():
    with fg.config(memory="20m"):
        small = fg.frame({"v": np.arange(4000)})
        with pytest.raises(fg.MemoryLimitError, match=r"needed and config\(memory=...\) is 20971520"):
            small.join(fg.frame({"w": np.arange(4000)}), how="cross").to_arrow()
        large = fg.frame({"v": np.arange(3_000_000)})
        with pytest.raises(fg.MemoryLimitError):
            large.sort("v").to_arrow()
        with pytest.raises(fg.MemoryLimitError):
            large.select(fg.col("v").cast("string") + "x" * 30).to_arrow()
        assert large.select(fg.len()).to_array("len").tolist() == [3_000_000]


def test_a_list_of_truths_is_a_mask():
    assert frame().filter([True, False, False, True]).collect().to_dict()["i"] == [3, 2]
    assert frame().filter([fg.col("i") > 1, fg.col("b")]).collect().to_dict()["i"] == [3, 2]


@pytest.mark.parametrize("rows", [0, 2, 10_000])
def test_literals_alone_are_one_row(rows):
    made = fg.frame({"a": np.arange(rows)})
    assert made.select(fg.lit(1)).collect().to_dict() == {"literal": [1]}
    assert made.select(fg.lit("x").alias("t"), n=fg.len()).collect().to_dict() == {"t": ["x"], "n": [rows]}
    assert made.select(fg.lit(1)).select(fg.col("literal") + 1).collect().to_dict() == {"literal": [2]}


def test_functions_of_all_columns_in_a_row():
    made = fg.frame({"a": [1, None, 3], "b": [10, 20, None]})
    every = fg.col("*")
    assert made.filter(fg.any_horizontal(every.is_null())).collect().to_dict() == {"a": [None, 3], "b": [20, None]}
    assert made.filter(fg.all_horizontal(every.is_not_null())).collect().to_dict() == {"a": [1], "b": [10]}
    assert made.select(fg.sum_horizontal("*")).collect().to_dict() == {"a": [11, 20, 3]}
    assert made.with_columns(t=fg.sum_horizontal(fg.col("a", "b")) * 2).collect().to_dict()["t"] == [22, 40, 6]
    assert made.select(m=fg.max_horizontal("^.$"), c=fg.coalesce("*")).collect().to_dict() == {"m": [10, 20, 3], "c": [1, 20, 3]}
    assert made.select(t=fg.concat_str("*", separator="-")).collect().to_dict() == {"t": ["1-10", None, None]}
    assert made.select(every + fg.min_horizontal("*")).collect().to_dict() == {"a": [2, None, 6], "b": [11, 40, None]}
    assert repr(fg.sum_horizontal(every) + 1) == "sum_horizontal(col('*')) + 1"
    with pytest.raises(TypeError, match="has no columns"):
        made.select(fg.sum_horizontal("^none$")).collect()


def test_expressions_that_are_too_deep():
    made = fg.frame({"a": [1]})
    total = sum([fg.col("*")] * 3000, fg.lit(0))
    with pytest.raises(fg.FulguriteError, match=r"E0500.*too many operators"):
        made.select(total).collect()


def test_many_columns_are_tested_together():
    made = fg.frame({f"c{number}": [1.0, None] for number in range(2000)})
    assert made.drop_nulls().select(fg.len()).to_array("len").tolist() == [1]
    assert made.filter(fg.all_horizontal(fg.col("*") >= 0)).select(fg.len()).to_array("len").tolist() == [1]


def test_lists_and_arrays_by_names():
    columns = {
        "days": [datetime.date(2024, 2, 29), None],
        "times": [datetime.datetime(1969, 12, 31, 23, 59, 59, 1), None],
        "none": [None, None],
        "mixed": [1, 2.5],
        "small": np.array([1, 2], dtype=np.int8),
        "single": np.array([1.5, 2.5], dtype=np.float32),
        "truth": np.array([True, False]),
        "moments": np.array(["2024-02-29T12:00", "NaT"], dtype="M8[m]"),
    }
    made = fg.frame(columns)
    assert made.schema == {
        "days": "date",
        "times": "datetime",
        "none": "null",
        "mixed": "float64",
        "small": "int8",
        "single": "float32",
        "truth": "boolean",
        "moments": "datetime",
    }
    assert (made.columns, made.width, made.dtypes[:2]) == (list(columns), 8, ["date", "datetime"])
    polars = pytest.importorskip("polars")
    assert made.to_polars()["days"].to_list() == columns["days"]
    assert made.to_polars()["times"].to_list() == columns["times"]
    assert made.to_polars()["moments"].to_list() == [datetime.datetime(2024, 2, 29, 12), None]
    assert made.to_polars()["none"].null_count() == 2
    assert isinstance(made.to_polars(), polars.DataFrame)


def test_arrays_of_lists_are_copied():
    cells = np.arange(3.0)
    made = fg.frame({"a": cells})
    cells[0] = 9.0
    assert made.collect().to_dict() == {"a": [0.0, 1.0, 2.0]}


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "lazy", "batch", "Frame", "dict"])
def test_the_kind_of_table_that_came_in_comes_out(kind):
    polars, pyarrow = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    table = pyarrow.table(CELLS)
    source, wanted = {
        "pandas": (table.to_pandas(), pandas.DataFrame),
        "polars": (polars.DataFrame(CELLS), polars.DataFrame),
        "pyarrow": (pyarrow.concat_tables([table.slice(0, 2), table.slice(2)]), pyarrow.Table),
        "lazy": (polars.LazyFrame(CELLS), polars.DataFrame),
        "batch": (table.to_batches()[0], pyarrow.Table),
        "Frame": (fg.Frame(CELLS), fg.Frame),
        "dict": (CELLS, fg.Frame),
    }[kind]
    made = fg.frame(source)
    assert type(made.collect()) is wanted
    assert type(made.filter(fg.col("i") > 1).group_by("s").agg(fg.len()).collect()) is wanted
    assert made.select("i", "s").to_arrow().to_pydict() == {name: CELLS[name] for name in "is"}
    assert type(made.to_polars()) is polars.DataFrame and type(made.to_pandas()) is pandas.DataFrame
    assert polars.DataFrame(made.select("i")).to_dict(as_series=False) == {"i": CELLS["i"]}


def test_objects_with_streams():
    pyarrow = pytest.importorskip("pyarrow")

    class Stream:
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.table(CELLS).__arrow_c_stream__(requested_schema)

    assert plain(fg.frame(Stream()).collect()) == plain(fg.Frame(CELLS))


def test_duckdb():
    duckdb = pytest.importorskip("duckdb")
    made = fg.frame(duckdb.sql("SELECT range AS a, range % 3 AS k FROM range(10)"))
    assert made.group_by("k").agg(fg.col("a").sum()).sort("k").collect().to_dict() == {"k": [0, 1, 2], "a": [18, 12, 15]}


def test_pandas_changes_are_not_seen():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "n": [1, 2, 3]}, index=[5, 6, 7])
    table["masked"] = pandas.array([1, None, 3], dtype="Int64")
    table["text"] = ["x", "y", None]
    before = table.copy(deep=True)
    made = fg.frame(table)
    table.loc[5, "a"] = 99.0
    table.iloc[1, 1] = 99
    table.loc[6, "masked"] = 99
    table.loc[7, "text"] = "changed"
    table["a"] *= 2
    pandas.testing.assert_frame_equal(made.collect(), before.reset_index(drop=True))
    assert made.columns == ["a", "n", "masked", "text"]


def test_pandas_types_stay():
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    masked = pandas.DataFrame({"a": pandas.array([1, None], dtype="Int64"), "b": pandas.array([True, None], dtype="boolean")})
    assert list(map(str, fg.frame(masked).collect().dtypes)) == ["Int64", "boolean"]
    arrows = pandas.DataFrame({"a": pandas.array([1, None], dtype=pandas.ArrowDtype(pyarrow.int64()))})
    assert fg.frame(arrows).collect().dtypes.tolist() == arrows.dtypes.tolist()
    kinds = pandas.DataFrame({"k": pandas.Categorical(["x", "y", "x"])})
    assert fg.frame(kinds).group_by("k", maintain_order=True).agg(n=fg.len()).collect()["n"].tolist() == [2, 1]
    with pytest.raises(ValueError, match="two 'a'"):
        fg.frame(pandas.DataFrame([[1, 2]], columns=["a", "a"]))
    # Missing in pandas' floats is NaN, which is missing here.
    assert fg.frame(pandas.DataFrame({"a": [1.0, None]})).select(fg.col("a").null_count()).to_array("a").tolist() == [1]


def test_files(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({**CELLS, "d": [datetime.date(2024, 1, day + 1) for day in range(4)]}), path)
    made = fg.scan_parquet(path)
    assert made.schema == {"i": "int64", "f": "float64", "s": "string", "b": "boolean", "d": "date"}
    found = made.filter(fg.col("d") > datetime.date(2024, 1, 1)).select("i", fg.col("s").str.len_chars())
    assert found.collect().to_dict() == {"i": [1, None, 2], "s": [4, None, 2]}
    parquet.write_table(pyarrow.table({"i": [1]}), path)
    with pytest.raises(fg.FulguriteError, match="was changed after a frame was made"):
        found.collect()
    parquet.write_table(pyarrow.table({"i": range(10), "t": [*"abcdefghij"]}), path, row_group_size=3, compression="zstd")
    made = fg.scan_parquet(path)
    some = made.filter((fg.col("t") > "e") & (fg.col("i") < 8)).select("i")
    assert some.collect().to_dict() == {"i": [5, 6, 7]}
    assert some.explain(run=True).startswith(f"read 2 of 4 row groups of {path}\n")
    assert made.select(fg.col("i").sum()).explain(run=True).startswith("read 4 of 4 row groups")
    # The mean is of all rows, whichever row groups could be left out.
    assert made.filter((fg.col("i") > 5) & (fg.col("i") > fg.col("i").mean())).collect().to_dict()["i"] == [6, 7, 8, 9]
    text = tmp_path / "a.csv"
    text.write_text("n;x;name;truth\n1;0.5;ä;true\n2;;NA;false\n9999999999;1e3;ß;true\n")
    made = fg.scan_csv(text, separator=";", null_values="NA")
    assert made.schema == {"n": "int64", "x": "float64", "name": "string", "truth": "boolean"}
    assert made.filter(fg.col("truth")).collect().to_dict() == {
        "n": [1, 9999999999],
        "x": [0.5, 1000.0],
        "name": ["ä", "ß"],
        "truth": [True, True],
    }
    text.write_text("price,far\n9.99,1\n0.1,9223372036854775807\n0.125,-3\n")
    made = fg.scan_csv(text)
    assert made.collect().to_dict() == {"price": [9.99, 0.1, 0.125], "far": [1, 9223372036854775807, -3]}
    assert made.filter(fg.col("price") == 0.1).select("far").to_array("far").tolist() == [9223372036854775807]
    text.write_text("")
    with pytest.raises(fg.FulguriteError, match="is empty"):
        fg.scan_csv(text).collect()
    text.write_text("n;x\n1;2\n")
    bare = fg.scan_csv(tmp_path / "a.csv", separator=";", has_header=False)
    assert bare.select(fg.len()).to_array("len").tolist() == [2]
    with pytest.raises(OSError, match="none.csv"):
        fg.scan_csv(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="one character"):
        fg.scan_csv(text, separator=";;")


# Arrays.


def test_columns_as_arrays():
    made = frame()
    both = made.to_array(["i", "f"])
    assert type(both) is fg.Array and both.shape == (4, 2)
    np.testing.assert_array_equal(np.asarray(both), [[3, 0.5], [1, np.nan], [np.nan, np.nan], [2, -2]])
    assert made.to_array("i").shape == (4,) and made.to_array(["i"]).shape == (4, 1)
    assert fg.frame({"i": [1, 2]}).to_array("i").dtype == np.int64
    assert fg.frame({"b": [True, False]}).to_array("b").tolist() == [True, False]
    assert made.filter(fg.col("i") > 100).to_array(["i", "f"]).shape == (0, 2)
    for nulls, column in (("refuse", "i"), ("refuse", ["f", "i"])):
        with pytest.raises(ValueError, match="missing values"):
            made.to_array(column, nulls=nulls)
    with pytest.raises(TypeError, match="'s' are string"):
        made.to_array()
    with pytest.raises(ValueError, match="'nan' or 'refuse'"):
        made.to_array("i", nulls="zero")


def test_floats_are_not_copied():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"a": np.arange(100_000.0)})
    cells = np.asarray(fg.frame(table).to_array("a"))
    assert np.shares_memory(cells, table["a"].to_numpy())
    back = fg.frame(table).select("a").to_polars()["a"].to_numpy()
    assert np.shares_memory(back, table["a"].to_numpy())
    array = fg.asarray(np.arange(100_000.0))
    column = fg.frame(table).select(x=array).to_polars()["x"].to_numpy()
    assert np.shares_memory(column, np.asarray(array))


def test_arrays_as_columns():
    made = frame()
    score = fg.asarray([1.0, 2.0, 3.0, 4.0]) * 2
    columns = {"score": score, "n": np.arange(4), "t": np.array([True, False, True, False]), "h": np.arange(4, dtype=np.float32)}
    found = made.with_columns(**columns).select("score", "n", "t", "h")
    assert found.schema == {"score": "float64", "n": "int64", "t": "boolean", "h": "float64"}
    assert found.collect().to_dict() == {
        "score": [2.0, 4.0, 6.0, 8.0],
        "n": [0, 1, 2, 3],
        "t": [True, False, True, False],
        "h": [0.0, 1.0, 2.0, 3.0],
    }
    # What an array becomes later is not seen.
    changing = fg.asarray([1.0, 2.0, 3.0, 4.0])
    later = made.select(x=changing + 0.0, y=changing)
    changing[0] = 100.0
    assert later.collect().to_dict() == {"x": [1.0, 2.0, 3.0, 4.0], "y": [1.0, 2.0, 3.0, 4.0]}
    assert made.filter(np.array([True, False, False, True])).select("i").collect().to_dict() == {"i": [3, 2]}
    assert made.select(fg.col("i") + fg.arange(4.0)).to_array("i").tolist()[0] == 3.0
    assert made.select(q=fg.arange(4.0) - fg.col("i")).to_array("q").tolist()[3] == 1.0
    assert made.select(q=fg.col("i") * fg.sum(fg.ones(5))).to_array("q").tolist()[0] == 15.0


def test_arrays_that_are_no_columns():
    made = frame()
    with pytest.raises(fg.ShapeError, match="3"):
        made.with_columns(x=np.arange(3.0)).collect()
    with pytest.raises(fg.ShapeError):
        made.filter(fg.col("i") > 1).with_columns(x=np.arange(4.0)).collect()
    with pytest.raises(ValueError, match="one dimension"):
        made.with_columns(x=np.ones((4, 1)))
    with pytest.raises(TypeError, match="<U1"):
        made.with_columns(x=np.array(list("abcd")))
    with pytest.raises(OverflowError, match="64 bits"):
        made.with_columns(x=np.full(4, 2**64 - 1, dtype=np.uint64))
    pandas = pytest.importorskip("pandas")
    with pytest.raises(TypeError, match="to_numpy"):
        made.with_columns(x=pandas.Series([1, 2, 3, 4]))


# Expressions.


def test_functions_of_numpy_and_of_arrays():
    fg.fallbacks(reset=True)
    a = fg.col("a")
    made = fg.frame({"a": [4.0, 0.25, None], "n": [-7, 7, 0]})
    found = made.select(
        x=np.exp(a),
        y=fg.exp(a),
        z=np.sqrt(a) + np.float64(1.0),
        u=np.where(a > 1, a, 0.0),
        v=fg.where(a > 1, fg.col("n"), 0),
        w=np.maximum(a, 1.0),
        m=np.mean(a) + fg.sum(a),
        s=np.std(a),
        t=fg.sigmoid(a),
        c=np.clip(fg.col("n"), -1, 1),
        l=fg.log10(a),
        r=np.round(a, 1),
    ).collect().to_dict()
    e = np.exp(4.0)
    assert found["x"] == pytest.approx([e, np.exp(0.25), None]) and found["y"] == found["x"]
    assert found["z"] == [3.0, 1.5, None] and found["u"] == [4.0, 0.0, 0.0] and found["v"] == [-7, 0, 0]
    assert found["w"] == [4.0, 1.0, None] and found["m"] == [6.375] * 3
    assert found["s"] == pytest.approx([np.std([4.0, 0.25])] * 3)
    assert found["t"][:2] == pytest.approx([1 / (1 + 1 / e), 1 / (1 + np.exp(-0.25))])
    assert found["c"] == [-1, 1, 0] and found["r"] == [4.0, 0.2, None]
    assert found["l"][:2] == pytest.approx(np.log10([4.0, 0.25]))
    assert not fg.fallbacks()
    for wrong in (lambda: np.linalg.norm(a), lambda: np.add.reduce(a), lambda: fg.cumulative_sum(a)):
        with pytest.raises(TypeError, match="of columns"):
            wrong()


def test_maxima_of_numpy_are_nan_where_one_is():
    made = fg.frame({"a": [float("nan"), 1.0, 2.0, None], "b": [1.0, float("nan"), 1.0, 1.0]})
    found = made.select(high=np.maximum(fg.col("a"), fg.col("b")), low=fg.minimum(fg.col("a"), fg.col("b")))
    assert plain(found.collect()) == {"high": ["NaN", "NaN", 2.0, None], "low": ["NaN", "NaN", 1.0, None]}


def test_expressions_as_python_writes_them():
    a = fg.col("a")
    assert repr((a + 1) * 2 > a.sum()) == "((col('a') + 1) * 2) > col('a').sum()"
    assert repr(fg.when(a > 1).then("b").otherwise(None)) == "when(col('a') > 1).then(col('b')).otherwise(None)"
    assert repr(a.cast("int8").str.contains("x")) == "col('a').cast('int8').str.contains(pattern='x', literal=False)"
    assert repr(fg.lit(datetime.date(2024, 2, 29))) == "lit(2024-02-29)"
    assert repr(pickle.loads(pickle.dumps(a + 1))) == repr(copy.copy(a + 1)) == "col('a') + 1"


def test_names():
    made = fg.frame({"a": [1], "b": [2], "ab": [3]})
    assert made.select(fg.col("*").exclude("a").name.suffix("_x")).columns == ["b_x", "ab_x"]
    assert made.select(fg.col("^a.*$") + 1, c=2).columns == ["a", "ab", "c"]
    assert made.select(fg.col("a", "b").name.map(str.upper)).columns == ["A", "B"]
    assert made.select(1 + fg.col("a"), fg.len(), fg.col("b") + 1).columns == ["literal", "len", "b"]
    assert made.select([fg.col("a"), "b"], (x for x in ["ab"])).columns == ["a", "b", "ab"]
    assert made.rename(str.upper).drop("A").columns == ["B", "AB"]
    assert made.drop("none", strict=False).columns == made.rename({"none": "x"}, strict=False).columns
    assert made.group_by("a").agg(fg.col("*").max()).columns == ["a", "b", "ab"]
    assert made.filter(fg.col("*") > 0).columns == ["a", "b", "ab"]
    assert fg.frame({"*": [1], "^a$": [2]}).drop_nulls().columns == ["*", "^a$"]
    assert fg.len([1, 2]) == 2


def test_types_by_many_names():
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    for dtype in ("int8", fg.int8, np.dtype("i1"), polars.Int8, pyarrow.int8()):
        assert fg.frame({"a": [1]}).cast(dtype).schema == {"a": "int8"}
    made = fg.frame({"a": ["1.5"]})
    for dtype in (float, "float64", polars.Float64, pyarrow.float64(), "double"):
        assert made.select(fg.col("a").cast(dtype)).schema == {"a": "float64"}
    for dtype in (datetime.datetime, "datetime", polars.Datetime("us"), pyarrow.timestamp("us"), np.dtype("M8[us]")):
        assert fg.frame({"a": [datetime.date(2024, 1, 1)]}).cast(dtype).schema == {"a": "datetime"}
    with pytest.raises(TypeError, match="columns have the types"):
        fg.col("a").cast("decimal")


def test_concat_and_pipe():
    made = fg.frame({"a": [1, 2]})
    assert fg.concat([made, made.select(fg.col("a") * 10)]).collect().to_dict() == {"a": [1, 2, 10, 20]}
    assert made.pipe(lambda frame, n: frame.head(n), 1).collect().to_dict() == {"a": [1]}
    with pytest.raises(TypeError, match="not with dict"):
        fg.concat([made, {"a": [1]}])


def test_joins_keep_columns_as_polars_does():
    left = fg.frame({"a": [1, 2], "x": ["p", "q"]})
    right = fg.frame({"a": [2, 3], "x": ["r", "s"], "y": [0.5, 1.5]})
    assert left.join(right, on="a").collect().to_dict() == {"a": [2], "x": ["q"], "x_right": ["r"], "y": [0.5]}
    assert left.join(right, on="a", how="right", suffix="_2").collect().to_dict() == {
        "x": ["q", None],
        "a": [2, 3],
        "x_2": ["r", "s"],
        "y": [0.5, 1.5],
    }
    full = left.join(right, on="a", how="full", coalesce=True).sort("a")
    assert full.collect().to_dict()["a"] == [1, 2, 3] and full.columns == ["a", "x", "x_right", "y"]
    assert left.join(right, on="a", how="full").columns == ["a", "x", "a_right", "x_right", "y"]
    assert left.join(right, how="cross").select(fg.len()).to_array("len").tolist() == [4]


# What is refused.


def test_unknown_columns_name_near_ones_and_the_line():
    made = fg.frame({"people": [1], "area": [2.0]})
    wrong = made.filter(fg.col("peolpe") > 1)
    later = wrong.select("area")
    for look in (lambda: later.collect(), lambda: later.schema, lambda: later.explain(), lambda: later.to_array("area")):
        with pytest.raises(fg.ColumnError) as raised:
            look()
        message = str(raised.value)
        assert "'peolpe'" in message and "people" in message
        # The step that is wrong, not the one that was asked for.
        assert 'wrong = made.filter(fg.col("peolpe") > 1)' in message
        assert isinstance(raised.value, KeyError) and raised.value.file == __file__
    assert "whose plan is wrong" in repr(later)


def test_types_that_do_not_go_together():
    made = frame()
    with pytest.raises(fg.FulguriteError, match="(?i)string"):
        made.select(fg.col("s") * 2).collect()
    with pytest.raises(fg.FulguriteError):
        made.filter("i").collect()
    with pytest.raises(fg.FulguriteError, match="Linz|Graz"):
        made.select(fg.col("s").cast("int64")).collect()
    with pytest.raises(fg.ColumnError, match="'i'"):
        made.select("i", fg.col("f").alias("i")).collect()
    with pytest.raises(fg.FulguriteError):
        made.group_by("s").agg(fg.col("i")).collect()


def test_wrong_values_are_refused_at_once():
    a, made = fg.col("a"), frame()
    with pytest.raises(TypeError, match="& | ~"):
        bool(a > 1)
    with pytest.raises(TypeError, match="& | ~"):
        made.filter(1 < a < 3)
    with pytest.raises(OverflowError, match="64 bits"):
        a + 2**64
    with pytest.raises(OverflowError, match="64 bits"):
        fg.frame({"a": [1, 2**70]})
    for wrong in (b"x", 1j, object(), datetime.timedelta(1), [1, 2]):
        with pytest.raises(TypeError):
            a + wrong
    with pytest.raises(TypeError, match="zone"):
        fg.lit(datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc))
    with pytest.raises(TypeError, match="a frame is made of a table"):
        fg.frame(3)
    with pytest.raises(TypeError, match="several types"):
        fg.frame({"a": [1, "x"]})
    with pytest.raises(TypeError, match="list of values"):
        fg.frame({"a": "xyz"})
    for wrong in (len, iter, bool, np.asarray, lambda frame: frame["i"]):
        with pytest.raises(TypeError):
            wrong(made)
    with pytest.raises(TypeError, match="made with|make frames"):
        fg.LazyFrame()
    with pytest.raises(ValueError, match="how is one of"):
        made.join(made, on="i", how="outer_left")
    with pytest.raises(ValueError, match="has keys"):
        made.join(made)
    with pytest.raises(ValueError, match="as many keys"):
        made.join(made, left_on=["i", "f"], right_on="i")
    with pytest.raises(TypeError, match="lazy frames"):
        made.join({"i": [1]}, on="i")
    with pytest.raises(ValueError, match="descending"):
        made.sort("i", "f", descending=[True])
    with pytest.raises(ValueError, match="from 0"):
        made.head(-1)
    with pytest.raises(TypeError, match="whole number"):
        made.slice(1.5)
    with pytest.raises(TypeError, match="by their names"):
        made.drop(a + 1)
    with pytest.raises(TypeError, match="key at least"):
        made.group_by()
    with pytest.raises(ValueError, match="keep"):
        made.unique(keep="all")
    with pytest.raises(ValueError, match="write one for each"):
        fg.col("a", "b") + fg.col("c", "d")


def test_columns_without_a_type_here():
    pyarrow = pytest.importorskip("pyarrow")
    with pytest.raises(fg.FulguriteError, match="'l'"):
        fg.frame(pyarrow.table({"l": [[1], [2]]}))


# Missing values.


def test_missing_values_and_nan():
    made = frame()
    assert made.drop_nulls().select("i").collect().to_dict() == {"i": [3, 2]}
    assert made.drop_nulls("i").select("s").collect().to_dict() == {"s": ["Graz", "Linz", "日本"]}
    assert made.drop_nans().select("i").collect().to_dict() == {"i": [3, None, 2]}
    assert made.fill_null(0).select("i", "s").collect().to_dict() == {"i": [3, 1, 0, 2], "s": ["Graz", "Linz", None, "日本"]}
    assert made.fill_null("?").select("s").collect().to_dict() == {"s": ["Graz", "Linz", "?", "日本"]}
    assert made.fill_nan(None).select(fg.col("f").null_count()).to_array("f").tolist() == [2]
    assert made.select(fg.col("b").all(), q=fg.col("b").any(ignore_nulls=False)).collect().to_dict() == {"b": [False], "q": [True]}
    assert made.filter("b").select("i").collect().to_dict() == {"i": [3, 2]}
    assert made.filter(i=2, s="日本").select("f").collect().to_dict() == {"f": [-2.0]}


def test_explain_and_repr():
    made = frame().with_columns(x=fg.col("i") + 1).filter(fg.col("f") > 0).select("i")
    for text in (made.explain(), made.explain(optimized=False), repr(made)):
        assert "filter" in text.lower() and "col(" in text


def test_explain_tells_what_was_done():
    days = np.arange(100_000) % 365
    made = fg.frame({"day": days, "key": days % 7, "price": days + 0.5})

    def shown(limit):
        selected = made.filter(fg.col("day") < limit)
        return selected.group_by("key").agg(fg.col("price").sum()).explain(run=True).splitlines()

    few, many = shown(3), shown(360)
    assert few[0].startswith("select 822 of 100000 rows (0.8 %) by compaction: compaction moves ")
    assert many[0].startswith("select 98635 of 100000 rows (98.6 %) by predication: compaction moves ")
    assert many[1:3] == ["number 7 groups of 100000 rows", "compute"]
    assert any("Group p(aggregate)" in line for line in many) and many[-1] == "7 rows"
    with pytest.raises(fg.ColumnError):
        made.filter(fg.col("dai") < 3).explain(run=True)


def test_arrays_are_computed_once_and_only_for_steps_that_read_them():
    keys = np.arange(50_000) % 7
    made = fg.frame({"key": keys, "price": keys + 0.5}).filter(fg.col("key") > 1)
    scores = made.to_array("price") * 2 + 1
    sums = made.with_columns(score=scores).group_by("key").agg(fg.col("score").sum()).sort("key")
    assert sums.explain(run=True).splitlines().count("compute") == 1
    other = fg.frame({"key": [3, 5], "name": ["three", "five"]})
    joined = sums.join(other, on="key").sort("name")
    assert joined.explain(run=True).splitlines().count("compute") == 1
    found = joined.collect().to_dict()
    counts = [int((keys == key).sum()) for key in (5, 3)]
    assert found == {"key": [5, 3], "score": [12.0 * counts[0], 8.0 * counts[1]], "name": ["five", "three"]}


@pytest.mark.parametrize("rows", [20, 10_000])
def test_rows_that_are_left_out_may_hold_what_does_not_fit(rows):
    at = np.arange(rows)
    texts = ["x" if row % 10 == 0 else str(row % 7) for row in range(rows)]
    made = fg.frame({"s": texts, "y": (at % 10).astype(float)})
    number = fg.col("s").cast("int64")
    kept = [int(text) for text in texts if text != "x"]
    for predicate in (fg.col("y") > 0.5, fg.col("y") * 2 > 0.5, fg.col("s") != "x"):
        few = made.filter(predicate)
        assert few.select(number.sum()).to_array("s").tolist() == [sum(kept)]
        assert few.with_columns(z=number).select(fg.col("z").sum()).to_array("z").tolist() == [sum(kept)]
        grouped = few.group_by(number.alias("g")).agg(n=fg.len()).sort("g").collect().to_dict()
        assert grouped == {"g": sorted(set(kept)), "n": [kept.count(value) for value in sorted(set(kept))]}
        assert few.group_by("y").agg(number.sum()).select(fg.col("s").sum()).to_array("s").tolist() == [sum(kept)]
        assert few.filter(number > 3).select(fg.len()).to_array("len").tolist() == [sum(value > 3 for value in kept)]
        assert few.select(z=number).unique().sort("z").to_array("z").tolist() == sorted(set(kept))
        assert few.select(number).to_array("s").tolist() == kept
        assert few.join(few.head(1), on=number).select(fg.len()).to_array("len").tolist() == [kept.count(kept[0])]
        # Parts of one predicate are asked for all rows.
        for whole in (predicate & (number > 3), (number > 3) & predicate):
            with pytest.raises(fg.FulguriteError, match="row 1: .*does not fit into Int64"):
                made.filter(whole).collect()


@pytest.mark.parametrize("rows", [7, 100_000])
def test_arrays_have_the_types_of_their_columns_together(rows):
    numbers = np.arange(rows)
    columns = {
        "i": numbers * 3 - 4,
        "j": (numbers % 100).astype(np.int8),
        "u": numbers.astype(np.uint64),
        "f": numbers / 8,
        "g": (numbers / 4).astype(np.float32),
        "b": numbers % 3 == 0,
        "huge": numbers + (1 << 53),
    }
    made = fg.frame(columns).filter(fg.col("j") != 1)
    kept = columns["j"] != 1
    for names in ["i", "ij", "ji", "b", "bb", "ib", "if", "ig", "gb", "iu", "u", "uf", ["huge"], ["i", "huge"], ["huge", "f"]]:
        found = made.to_array(list(dict.fromkeys(names)))
        expected = np.stack([columns[name][kept] for name in dict.fromkeys(names)], axis=1)
        assert found.dtype == expected.dtype, names
        assert np.array_equal(np.asarray(found), expected), names
    lacking = fg.frame({"i": [1, None, 3], "j": [4, 5, 6]})
    assert np.array_equal(np.asarray(lacking.to_array()), [[1.0, 4.0], [np.nan, 5.0], [3.0, 6.0]], equal_nan=True)
    assert lacking.drop_nulls().to_array().dtype == np.int64
    whole = made.to_array(["i", "j"])
    assert np.array_equal(np.asarray(whole @ np.array([0.5, 2.0])), np.asarray(whole) @ [0.5, 2.0])
    assert (whole @ np.array([[1], [2]])).dtype == np.int64


def test_frames_are_immutable_and_shared():
    made = frame()
    left = made.filter(fg.col("i") > 1)
    right = made.filter(fg.col("i") <= 1)
    assert left.select("i").collect().to_dict() == {"i": [3, 2]}
    assert right.select("i").collect().to_dict() == {"i": [1]}
    assert made.select(fg.len()).to_array("len").tolist() == [4]
    assert made.join(made, on="i", how="semi").select("i").collect().to_dict() == {"i": [3, 1, 2]}


def test_long_pipelines():
    made = fg.frame({"a": [1, 2, 3]})
    for _ in range(300):
        made = made.with_columns(fg.col("a") + 1)
    assert made.collect().to_dict() == {"a": [301, 302, 303]}
    total = fg.col("a")
    for _ in range(200):
        total = total + 1
    assert fg.frame({"a": [1]}).select(total).collect().to_dict() == {"a": [201]}
