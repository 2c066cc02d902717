"""What estimators say about bad inputs."""

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

import pandas
from fulgurite import learn
from learned import in_form
from scipy import sparse

NAMES = [name for name in learn.__all__ if hasattr(getattr(learn, name), "get_params")]


def rows():
    X = np.abs(np.random.default_rng(0).normal(size=(20, 3))) + 0.1
    return X, np.arange(20) % 2 + 1


@pytest.mark.parametrize("form", ["pandas", "polars"])
@pytest.mark.parametrize("name", NAMES)
def test_cells_that_are_not_finite(name, form):
    X, y = rows()
    for cell, word in ((np.nan, "NaN"), (-np.inf, "infinity")):
        X[5, 1] = X[7, 2] = cell
        # Scaling ignores NaN.
        if (name, word) != ("StandardScaler", "NaN"):
            with pytest.raises(ValueError, match=f"(?s)X contains {word}.*column is 'column 1'"):
                getattr(learn, name)().fit(in_form(X, form), y)
            with pytest.raises(ValueError, match=f"X contains {word}"):
                getattr(learn, name)().fit(X, y)


@pytest.mark.parametrize("name", ["MultinomialNB", "NMF"])
def test_negative_cells(name):
    X, y = rows()
    X[3, 2] = -1.0
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    with pytest.raises(ValueError, match="Negative values.*column is 'c'"):
        getattr(learn, name)().fit(frame, y)
    for given in (X, sparse.csr_array(X)):
        with pytest.raises(ValueError, match="Negative values"):
            getattr(learn, name)().fit(given, y)


@pytest.mark.parametrize("name", ["PoissonRegressor", "GammaRegressor"])
def test_targets_out_of_range(name):
    X, y = rows()
    with pytest.raises(ValueError, match="out of the valid range"):
        getattr(learn, name)().fit(X, -y)


@pytest.mark.parametrize("name", ["LogisticRegression", "LinearSVC"])
def test_labels_of_one_class(name):
    X, y = rows()
    with pytest.raises(ValueError, match="only one class"):
        getattr(learn, name)().fit(X, np.ones(20))


WEIGHTED = [
    name for name in NAMES if name not in ("ALS", "GaussianMixture", "NMF", "PCA", "TruncatedSVD")
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WEIGHTED)
def test_weights(name):
    X, y = rows()
    negative = np.where(np.arange(20) == 4, -1.0, 1.0)
    with pytest.raises(ValueError, match="[Nn]egative"):
        getattr(learn, name)().fit(X, y, sample_weight=negative)
    if name not in ("GaussianNB", "MultinomialNB", "StandardScaler"):
        with pytest.raises(ValueError, match="zero"):
            getattr(learn, name)().fit(X, y, sample_weight=np.zeros(20))
