"""Code that is written for Narwhals runs on lazy frames."""

import pytest

pytest.importorskip("pyarrow")
nw = pytest.importorskip("narwhals", minversion="2.29")

import fulgurite as fg  # noqa: E402
import narwhals.selectors as ncs  # noqa: E402
from fulgurite import _narwhals  # noqa: E402
from narwhals._utils import Version  # noqa: E402

CELLS = {
    "a": [1, 2, None, 4],
    "b": [1.5, 2.5, None, -2.0],
    "s": ["x", "yy", None, "é"],
    "k": ["u", "v", "u", "v"],
}


def frame(cells=CELLS):
    # An installed package is found by its entry point; sources on the path are not.
    namespace = _narwhals.__narwhals_namespace__(Version.MAIN)
    return namespace.from_native(fg.frame(cells)).to_narwhals()


def values(found):
    return found.collect("pyarrow").to_dict(as_series=False)


def test_schema_and_native():
    made = frame()
    assert made.collect_schema() == {"a": nw.Int64, "b": nw.Float64, "s": nw.String, "k": nw.String}
    assert isinstance(made.to_native(), fg.LazyFrame) and _narwhals.is_native(made.to_native())
    assert made.select(ncs.numeric()).columns == ["a", "b"]


def test_rows_and_columns():
    made = frame()
    found = made.filter(nw.col("a") > 1).select(
        nw.col("a") * 2,
        n=nw.col("s").str.len_chars(),
        m=nw.when(nw.col("b") > 0).then(nw.col("b")).otherwise(0.0),
        t=nw.concat_str(["s", "k"], separator="-"),
        c=nw.coalesce("b", nw.lit(1.0)).clip(0, 2),
        i=nw.col("k").is_in(["v", "w"]),
        f=nw.col("a").cast(nw.Float64),
    )
    assert values(found) == {
        "a": [4, 8],
        "n": [2, 1],
        "m": [2.5, 0.0],
        "t": ["yy-v", "é-v"],
        "c": [2.0, 0.0],
        "i": [True, True],
        "f": [2.0, 4.0],
    }
    assert values(made.with_columns(m=nw.col("b") - nw.col("b").mean()).select("m").head(1)) == {"m": [1.5 - 2.0 / 3]}
    assert values(made.select("k").tail(3)) == {"k": ["v", "u", "v"]}


def test_groups_joins_and_sorts():
    made = frame()
    sums = made.group_by("k").agg(nw.col("a").sum(), n=nw.len(), top=nw.col("b").max()).sort("k")
    assert values(sums) == {"k": ["u", "v"], "a": [1, 6], "n": [2, 2], "top": [1.5, 2.5]}
    joined = made.join(sums, on="k", how="left").sort("a", descending=True, nulls_last=True)
    assert values(joined.select("a", "a_right")) == {"a": [4, 2, 1, None], "a_right": [6, 6, 1, 1]}
    assert values(made.drop_nulls().unique("k").sort("k").select("k")) == {"k": ["u", "v"]}
    both = nw.concat([made.select("a"), made.select(nw.col("a") + 1)])
    assert values(both)["a"] == [1, 2, None, 4, 2, 3, None, 5]
    long = made.unpivot(["a", "b"], index=["k"]).drop_nulls()
    assert values(long.sort("variable", "value"))["value"] == [1.0, 2.0, 4.0, -2.0, 1.5, 2.5]


def test_errors():
    with pytest.raises(nw.exceptions.ColumnNotFoundError, match="'none'"):
        frame().select("none").collect()
    with pytest.raises(NotImplementedError, match="over"):
        frame().with_columns(x=nw.col("a").sum().over("k")).collect()


def test_the_entry_point_is_found_where_the_package_is_installed():
    from importlib.metadata import entry_points

    if not any(each.value == "fulgurite._narwhals" for each in entry_points(group="narwhals.plugins")):
        pytest.skip("sources on the path")
    assert isinstance(nw.from_native(fg.frame(CELLS)), nw.LazyFrame)
