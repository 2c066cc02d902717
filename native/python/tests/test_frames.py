"""Tables with texts: in and out of scripts."""

import fulgurite as fg
import numpy as np
import pytest

CELLS = {
    "city": ["Graz", "Linz", None, 'a, "b"'],
    "people": [3, 4, None, 5],
    "share": [0.5, None, 1.5, -2.0],
    "open": [True, None, False, True],
}
TYPES = {"city": "STRING", "people": "INT64", "share": "FP64", "open": "BOOLEAN"}
SAME = "G = F"


def test_lists_by_names():
    frame = fg.Frame(CELLS)
    assert (frame.shape, len(frame), frame.columns) == ((4, 4), 4, list(CELLS))
    assert (frame.types, frame.to_dict()) == (TYPES, CELLS)
    assert "Graz 3 0.500 true" in repr(frame)
    back = fg.run(SAME, inputs={"F": frame}, outputs="G")
    assert isinstance(back, fg.Frame) and back.to_dict() == CELLS


def test_lists_of_several_types():
    frame = fg.Frame({"a": [1, 2.5], "b": [1, "x"], "c": [None, None], "d": [True, 1]})
    assert list(frame.types.values()) == ["FP64", "STRING", "STRING", "STRING"]
    assert frame.to_dict()["b"] == ["1", "x"]
    assert fg.Frame({"a": []}).shape == (0, 1)


def test_values_of_numpy_are_numbers():
    columns = {"a": np.arange(3), "b": [np.float32(0.5), np.int64(1), 2], "c": np.array([True, False, True])}
    frame = fg.Frame(columns)
    assert list(frame.types.values()) == ["INT64", "FP64", "BOOLEAN"]
    with pytest.raises(TypeError, match="the column 'a' is a list of values"):
        fg.Frame({"a": "xyz"})


def test_pandas():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(CELLS, index=[7, 5, 3, 1])
    frame = fg.run(SAME, inputs={"F": table}, outputs="G")
    assert frame.columns == list(CELLS)
    back = frame.to_pandas()
    assert back["city"].tolist()[:2] == ["Graz", "Linz"] and back["city"].isna().tolist() == [False, False, True, False]
    assert back["people"].isna().sum() == 1
    kinds = fg.Frame(pandas.DataFrame({"k": pandas.Categorical(["x", "y", "x"]), "n": [1, 2, 3]}))
    assert kinds.to_dict() == {"k": ["x", "y", "x"], "n": [1, 2, 3]}


def test_polars_and_arrow():
    polars = pytest.importorskip("polars")
    frame = fg.run(SAME, inputs={"F": polars.DataFrame(CELLS)}, outputs="G")
    assert (frame.types, frame.to_dict()) == (TYPES, CELLS)
    assert frame.to_polars().to_dict(as_series=False) == CELLS
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(CELLS)
    sliced = pyarrow.concat_tables([table.slice(0, 1), table.slice(1)])
    assert fg.Frame(sliced).to_dict() == CELLS
    assert frame.to_arrow().to_pydict() == CELLS


def test_tables_of_numbers_stay_matrices():
    pandas = pytest.importorskip("pandas")
    numbers = pandas.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    total = fg.run("s = sum(X)", inputs={"X": numbers}, outputs="s")
    assert total == 10.0
    frame = fg.run("G = F", inputs={"F": fg.Frame(numbers)}, outputs="G")
    assert frame.types == {"a": "FP64", "b": "INT64"}


def test_categories_as_numbers():
    spec = "{dummycode: [city], impute: [{name: people, method: global_mean}]}"
    script = f'[X, M] = transformencode(target=F, spec="{spec}")'
    frame = fg.Frame({"city": ["b", "a", "b"], "people": [1, None, 3]})
    x, m = fg.run(script, inputs={"F": frame}, outputs=["X", "M"])
    assert np.asarray(x).tolist() == [[1, 0, 1], [0, 1, 2], [1, 0, 3]]
    assert m.to_dict()["city"] == ["b·1", "a·2"]


def test_what_is_wrong_is_said():
    with pytest.raises(TypeError, match="a table or of lists by names, not of int"):
        fg.Frame(3)
    with pytest.raises(fg.FulguriteError, match="column 1 has 1 rows, column 2 has 2"):
        fg.Frame({"a": [1], "b": [1, 2]})
    with pytest.raises(fg.FulguriteError, match="'x' is no FP64"):
        fg.run("X = as.matrix(F)", inputs={"F": fg.Frame({"a": ["x"]})}, outputs="X")
    polars = pytest.importorskip("polars")
    with pytest.raises(fg.FulguriteError, match="column 'l': frames have no columns"):
        fg.Frame(polars.DataFrame({"l": [[1, 2], [3]]}))
