"""What goes in comes out as it was."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from fulgurite import FulguriteError, Matrix, dml


def doubled(ml, value):
    return ml.execute(dml("Y = X * 2").input(X=value).output("Y")).get("Y")


@pytest.mark.parametrize("shape", [(1, 1), (3, 4), (1000, 7), (1, 50)])
def test_numpy(ml, shape):
    array = np.random.default_rng(1).normal(size=shape)
    result = doubled(ml, array)
    assert isinstance(result, Matrix) and result.shape == shape
    np.testing.assert_array_equal(result.toNumPy(), array * 2)


@pytest.mark.parametrize("dtype", ["float32", "int64", "int8", "uint16", "bool"])
def test_numpy_types(ml, dtype):
    array = np.array([[0, 1, 2], [3, 4, 5]]).astype(dtype)
    np.testing.assert_array_equal(doubled(ml, array).toNumPy(), array.astype(float) * 2)


def test_views_are_read_as_they_look(ml):
    array = np.arange(24.0).reshape(4, 6)
    np.testing.assert_array_equal(doubled(ml, array.T[::2]).toNumPy(), array.T[::2] * 2)


def test_a_vector_is_a_column(ml):
    assert doubled(ml, np.arange(5.0)).shape == (5, 1)
    assert doubled(ml, [1, 2, 3]).shape == (3, 1)


def test_special_numbers(ml):
    array = np.array([[np.nan, np.inf, -np.inf, 5e-324]])
    np.testing.assert_array_equal(doubled(ml, array).toNumPy(), array * 2)


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array"])
def test_scipy(ml, form):
    sparse = getattr(scipy.sparse, form)(scipy.sparse.random(200, 30, 0.05, random_state=2))
    np.testing.assert_array_equal(doubled(ml, sparse).toNumPy(), sparse.toarray() * 2)


def test_pandas(ml):
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5], "c": [True, False]})
    result = doubled(ml, frame)
    assert list(result.toPandas().columns) == ["C1", "C2", "C3"]
    np.testing.assert_array_equal(result.toPandas().to_numpy(), frame.to_numpy(float) * 2)


def test_pandas_with_words_names_the_column(ml):
    with pytest.raises(FulguriteError) as error:
        doubled(ml, pd.DataFrame({"a": [1, 2], "word": ["x", "y"]}))
    assert "'word'" in error.value.message


def test_spark_dataframe(ml, spark):
    frame = spark.createDataFrame([(3, 30.0), (1, 10.0), (2, 20.0)], ["__INDEX", "x"])
    result = doubled(ml, frame)
    assert [tuple(row) for row in result.toDF().collect()] == [(1.0, 20.0), (2.0, 40.0), (3.0, 60.0)]


def test_scalars(ml):
    script = dml("i = i + 1; d = d * 2; b = !b; s = s + 'x'").input(i=2**40, d=0.1, b=True, s='say "hi" \\').output("i", "d", "b", "s")
    assert ml.execute(script).get("i", "d", "b", "s") == [2**40 + 1, 0.2, False, 'say "hi" \\x']
    assert ml.execute(dml("x = k").input("k", np.int64(3)).output("x")).get("x") == 3


def test_results_are_inputs(ml):
    product = ml.execute(dml("P = t(X) %*% X").input(X=np.eye(3) * 2).output("P")).get("P")
    assert ml.execute(dml("s = sum(P)").input(P=product).output("s")).get("s") == 12


@pytest.mark.parametrize("value", [np.array(["a"]), np.zeros((2, 2, 2)), 2**70])
def test_what_is_no_input_is_an_error(ml, value):
    with pytest.raises(FulguriteError) as error:
        doubled(ml, value)
    assert "'X'" in error.value.message
