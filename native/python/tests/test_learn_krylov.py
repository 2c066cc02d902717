"""Some components of many columns beside scikit-learn's."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import near
from scipy import sparse
from sklearn import decomposition


def cells(rng, shape, form):
    if form == "sparse":
        return sparse.random_array(shape, density=0.01, rng=rng, format="csr")
    scales = np.logspace(0, -2, min(shape))
    left = rng.normal(size=(shape[0], min(shape))) * scales
    return (left @ rng.normal(size=(min(shape), shape[1])) + 3.0).astype(
        "float32" if form == "float32" else float
    )


@pytest.mark.parametrize("form", ["dense", "sparse", "float32"])
@pytest.mark.parametrize("shape", [(1500, 1100), (1100, 1500), (5200, 5100)])
def test_components(shape, form):
    if shape[0] > 5000 and form != "sparse":
        return
    X = cells(np.random.default_rng(1), shape, form)
    digits = 1e-3 if form == "float32" else 1e-7
    wanted = 4
    ours = learn.PCA(wanted, svd_solver="arpack").fit(X)
    their = decomposition.PCA(wanted, svd_solver="arpack", random_state=0).fit(X)
    assert ours.report_["script"] == "lanczos" and ours.n_components_ == wanted
    near(ours.singular_values_, their.singular_values_, digits)
    near(ours.explained_variance_ratio_, their.explained_variance_ratio_, digits)
    near(ours.noise_variance_, their.noise_variance_, 10 * digits)
    near(ours.mean_, their.mean_, digits)
    near(np.abs((ours.components_ * their.components_).sum(axis=1)), np.ones(wanted), digits)
    near(ours.fit_transform(X), ours.transform(X), 1e-3 if form == "float32" else 1e-6)
    ours = learn.TruncatedSVD(wanted)
    their = decomposition.TruncatedSVD(wanted, algorithm="arpack", random_state=0).fit(X)
    Z = ours.fit_transform(X)
    assert ours.report_["script"] == "lanczos"
    near(Z, ours.transform(X), 1e-3 if form == "float32" else 1e-6)
    near(ours.singular_values_, their.singular_values_, digits)
    near(np.abs((ours.components_ * their.components_).sum(axis=1)), np.ones(wanted), digits)
    near(ours.explained_variance_ratio_, their.explained_variance_ratio_, 10 * digits)


def test_equal_values_and_low_rank(capfd):
    # All singular values are one, or all but three are zero.
    ours = learn.TruncatedSVD(3).fit(sparse.eye_array(6000, format="csr"))
    near(ours.singular_values_, np.ones(3), 1e-9)
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1200, 3)) @ rng.normal(size=(3, 1200))
    model = learn.TruncatedSVD(5)
    model.verbose = 1
    model.fit(X)
    assert "iteration 1: objective" in capfd.readouterr().out
    near(model.singular_values_, np.append(np.linalg.svd(X)[1][:3], [0, 0]), 1e-6)


def test_columns_far_from_zero():
    X = cells(np.random.default_rng(3), (1300, 1100), "dense")
    near_zero = learn.PCA(3).fit(X)
    far = learn.PCA(3).fit(X + 1e5)
    assert far.report_["script"] == "lanczos" and far.report_["iterations"] < 200
    near(far.singular_values_, near_zero.singular_values_, 1e-7)
    near(far.components_, near_zero.components_, 1e-5)


def test_what_is_refused():
    X = sparse.random_array((6000, 5500), density=0.001, format="csr")
    with pytest.raises(learn.UnsupportedError, match="all components of so many columns"):
        learn.PCA(svd_solver="covariance_eigh").set_params(n_components=0.5).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert learn.PCA(2).fit(X).components_.shape == (2, 5500)
