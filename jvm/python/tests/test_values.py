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


@pytest.mark.parametrize("density", [0, 0.05, 0.9])
def test_sparse_results(ml, density):
    sparse = scipy.sparse.random(300, 40, density, format="csr", random_state=4)
    found = doubled(ml, sparse).toSciPy()
    assert isinstance(found, scipy.sparse.csr_matrix) and found.shape == (300, 40) and found.nnz == sparse.nnz
    np.testing.assert_array_equal(found.toarray(), sparse.toarray() * 2)


def test_sparse_matrices_are_not_made_dense(ml):
    # Its cells would take 80 GB.
    wide = scipy.sparse.csr_matrix((np.ones(3), ([0, 5, 9999], [3, 999_999, 7])), shape=(10_000, 1_000_000))
    assert ml.execute(dml("s = sum(X); n = ncol(X)").input(X=wide).output("s", "n")).get("s", "n") == [3, 1_000_000]
    back = ml.execute(dml("Y = X * 2").input(X=wide).output("Y")).get("Y").toSciPy()
    assert (back != wide * 2).nnz == 0


def test_the_callers_sparse_matrix_stays_as_it_is(ml):
    twice = scipy.sparse.csr_matrix((np.ones(3), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    np.testing.assert_array_equal(doubled(ml, twice).toNumPy(), [[0, 4], [2, 0]])
    assert twice.nnz == 3


def test_sparse_pandas(ml):
    frame = pd.DataFrame.sparse.from_spmatrix(scipy.sparse.random(50, 6, 0.1, random_state=5))
    np.testing.assert_array_equal(doubled(ml, frame).toNumPy(), frame.to_numpy() * 2)


def test_nullable_pandas(ml):
    frame = pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": [0.5, np.nan]})
    np.testing.assert_array_equal(doubled(ml, frame).toNumPy(), [[2, 1], [4, np.nan]])
    np.testing.assert_array_equal(doubled(ml, frame["a"]).toNumPy(), [[2], [4]])
    with pytest.raises(FulguriteError) as error:
        doubled(ml, pd.DataFrame({"x": [1.0, 2.0], "a": pd.array([1, None], dtype="Int64")}))
    assert error.value.kind == "data" and "row 2: column 'a' of input 'X' holds NA" in error.value.message


@pytest.mark.parametrize("value, message", [
    (np.ma.masked_array([1.0, 2.0], mask=[False, True]), "masked"),
    (scipy.sparse.csr_matrix(np.array([[1 + 2j]])), "complex128"),
    (np.array([1 + 2j]), "complex128"),
    ([[1, 2], [3]], "equally long"),
])
def test_bad_arrays_say_what_is_wrong(ml, value, message):
    with pytest.raises(FulguriteError) as error:
        doubled(ml, value)
    assert error.value.kind == "data" and "'X'" in error.value.message and message in error.value.message


def test_cells_of_a_dataframe(ml, spark):
    frame = spark.createDataFrame([(3, 2, 7.0), (1, 1, 5.0)], ["i", "j", "v"])
    np.testing.assert_array_equal(ml.matrix(frame, format="ijv").toNumPy(), [[5, 0], [0, 0], [0, 7]])
    larger = ml.matrix(frame, format="ijv", rows=4, cols=3)
    assert larger.shape == (4, 3)
    assert sorted(tuple(row) for row in larger.toDF(format="ijv").collect()) == [(1, 1, 5.0), (3, 2, 7.0)]
    with pytest.raises(FulguriteError) as error:
        ml.matrix(frame, format="ijv", rows=2)
    assert error.value.kind == "data" and "cell (3, 2) is outside the 2 x ? matrix" in error.value.message


@pytest.mark.parametrize("call", [
    lambda ml, frame: ml.matrix(frame, format="csv"), lambda ml, frame: ml.matrix(frame, rows=3), lambda ml, frame: ml.matrix(frame).toDF(format="csv")])
def test_formats_of_dataframes_are_checked(ml, spark, call):
    with pytest.raises(FulguriteError) as error:
        call(ml, spark.createDataFrame([(1.0, 2.0)], ["a", "b"]))
    assert error.value.kind == "argument"


def test_rdds_of_lines_and_vectors(ml, spark):
    from pyspark.ml.linalg import Vectors

    context = spark.sparkContext
    expected = [[2, 0], [0, 6]]
    vectors = [Vectors.dense(1, 0), Vectors.sparse(2, {1: 3.0})]
    np.testing.assert_array_equal(doubled(ml, context.parallelize(["1,0", "0,3"], 2)).toNumPy(), expected)
    np.testing.assert_array_equal(doubled(ml, context.parallelize(vectors, 2)).toNumPy(), expected)
    pairs = context.parallelize([(2, vectors[1]), (1, vectors[0])], 1)
    np.testing.assert_array_equal(doubled(ml, pairs).toNumPy(), expected)
    with pytest.raises(FulguriteError) as error:
        doubled(ml, context.parallelize([Vectors.dense(1, 0), None], 2))
    assert error.value.kind == "data" and "row 2: input 'X' holds a null" in error.value.message
