"""Clusters and components beside scikit-learn's, on data of all kinds."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import FORMS, KINDS, columns, in_form, near, weights
from scipy import sparse
from sklearn import cluster, decomposition, mixture

SEEDS = range(5)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", ["k-means++", "random", "given", "made"])
def test_clusters(kind, seed, init):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = columns(rng, kind)
    k = int(rng.integers(1, 5))
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {"n_clusters": k, "random_state": seed, "max_iter": int(rng.choice([2, 300]))}
    options["init"] = {"given": X[:k].copy(), "made": lambda X, k, random_state: X[-k:].copy()}.get(
        init, init
    )
    options["n_init"] = 1 if init in ("given", "made") else int(rng.integers(1, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = learn.KMeans(**options).fit(X, sample_weight=w)
        their = cluster.KMeans(**options).fit(X, sample_weight=w)
    assert (ours.labels_ == their.labels_).all()
    assert ours.labels_.dtype == their.labels_.dtype
    assert ours.n_iter_ == their.n_iter_
    near(ours.cluster_centers_, their.cluster_centers_, 1e-9)
    assert ours.inertia_ == pytest.approx(their.inertia_, rel=1e-9, abs=1e-18)
    assert (ours.predict(X) == their.predict(X)).all()


@pytest.mark.parametrize("form", FORMS)
def test_clusters_of_forms(form):
    X = np.random.default_rng(1).integers(-9, 10, size=(60, 3)).astype(float)
    options = {"n_clusters": 4, "random_state": 3, "algorithm": "elkan"}
    ours = learn.KMeans(**options).fit(in_form(X, form))
    their = cluster.KMeans(**options).fit(X)
    assert (ours.labels_ == their.labels_).all()
    near(ours.cluster_centers_, their.cluster_centers_, 1e-6)


def test_empty_clusters_take_far_points():
    X = np.array([[0.0], [0.1], [0.2], [10.0], [20.0]])
    start = np.array([[0.0], [500.0], [-500.0]])
    ours = learn.KMeans(3, init=start, n_init=1).fit(X)
    their = cluster.KMeans(3, init=start, n_init=1).fit(X)
    assert (ours.labels_ == their.labels_).all()
    near(ours.cluster_centers_, their.cluster_centers_)
    with pytest.warns(UserWarning, match="distinct clusters"):
        learn.KMeans(3, random_state=0).fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="should be >= n_clusters"):
        learn.KMeans(9).fit(X)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "randomized", "arpack"])
def test_components(kind, seed, solver):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = columns(rng, kind)
    smaller = min(X.shape)
    options = {"whiten": bool(seed % 2), "svd_solver": solver, "random_state": 0}
    if solver in ("auto", "full"):
        options["n_components"] = [None, 0.7, max(smaller // 2, 1), "mle"][seed % 4]
        if options["n_components"] == "mle" and (len(X) < X.shape[1] or kind == "collinear"):
            return
    elif solver == "covariance_eigh":
        options["n_components"] = max(smaller // 2, 1)
    else:
        options["n_components"] = max(smaller // 2, 1)
        if solver == "arpack" and smaller < 3:
            return
    if solver == "covariance_eigh" and kind == "wide":
        return
    ours = learn.PCA(**options).fit(X)
    their = decomposition.PCA(**{**options, "svd_solver": "full"}).fit(X)
    assert ours.n_components_ == their.n_components_
    if not ours.n_components_:
        return
    largest = their.singular_values_[0]
    digits = 1e-6 if solver == "covariance_eigh" or kind in ("scaled", "shifted") else 1e-9
    near(ours.explained_variance_, their.explained_variance_, digits)
    near(ours.explained_variance_ratio_, their.explained_variance_ratio_, digits)
    near(ours.mean_, their.mean_, 1e-12)
    near(ours.noise_variance_, their.noise_variance_, digits, scale=largest**2)
    # Components of equal or of no variance are any of many.
    own = (their.components_ * ours.components_).sum(axis=1)
    clear = their.singular_values_ > 1e-5 * largest
    near(own[clear], np.ones(clear.sum()), 1e-6)
    near(ours.components_ @ ours.components_.T, np.eye(ours.n_components_), 1e-9)
    if not options["whiten"]:
        near(
            ours.inverse_transform(ours.transform(X)),
            their.inverse_transform(their.transform(X)),
            1e-6,
        )
    near(ours.fit_transform(X), ours.transform(X), 1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_components_of_forms(form):
    X = np.random.default_rng(2).integers(-5, 6, size=(60, 5)).astype(float)
    want = decomposition.PCA(2).fit(X)
    ours = learn.PCA(2).fit(in_form(X, form))
    near(ours.components_, want.components_, 1e-4)
    near(ours.transform(in_form(X, form)), want.transform(X), 1e-4)
    assert ours.components_.dtype == (np.float32 if form == "float32" else np.float64)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("algorithm", ["arpack", "randomized"])
def test_truncated_svd(seed, algorithm):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((60, 20), density=0.2, rng=rng, format="csr")
    options = {"n_components": 5, "algorithm": algorithm, "random_state": 0}
    ours = learn.TruncatedSVD(**options).fit(X)
    their = decomposition.TruncatedSVD(**{**options, "algorithm": "arpack"}).fit(X)
    for name in ("singular_values_", "explained_variance_", "explained_variance_ratio_"):
        near(getattr(ours, name), getattr(their, name), 1e-9)
    near(ours.components_, their.components_, 1e-6)
    near(ours.fit_transform(X.toarray()), their.transform(X), 1e-6)
    with pytest.raises(ValueError, match="n_components"):
        learn.TruncatedSVD(30).fit(X)


def same_factors(X, form, options, digits):
    """Asserts that our factors are scikit-learn's; gives our model."""
    given = X if form == "dense" else in_form(X, form)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, their = learn.NMF(**options), decomposition.NMF(**options)
        got, want = ours.fit_transform(given), their.fit_transform(given)
        assert form == "float32" or ours.n_iter_ == their.n_iter_
        near(got, want, digits)
        near(ours.components_, their.components_, digits)
        near(ours.reconstruction_err_, their.reconstruction_err_, digits)
        near(ours.transform(given), their.transform(given), digits)
    assert got.dtype == want.dtype
    return ours


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("form", ["dense", "csr", "float32", "pandas"])
def test_factors_without_negative_cells(seed, form):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((30, 8), density=0.5, rng=rng).toarray().round(2)
    options = {
        "n_components": 3,
        "init": ["nndsvd", "nndsvda", "random", None][seed % 4],
        "alpha_W": float(rng.choice([0.0, 0.01])),
        "alpha_H": "same" if seed % 2 else 0.005,
        "l1_ratio": float(rng.choice([0.0, 0.5])),
        "random_state": seed,
        "max_iter": int(rng.choice([5, 500])),
    }
    same_factors(X, form, options, 1e-2 if form == "float32" else 1e-6)


@pytest.mark.parametrize("form", ["dense", "csr", "float32"])
@pytest.mark.parametrize("beta", ["frobenius", "kullback-leibler", "itakura-saito", 0.5, 1.5, 2.5])
@pytest.mark.parametrize("seed", range(3))
def test_multiplicative_updates(beta, seed, form):
    rng = np.random.default_rng(seed)
    X = rng.random((30, 8)) + 0.01
    if beta in ("frobenius", "kullback-leibler", 1.5):
        X[rng.random(X.shape) < 0.4] = 0.0
    options = {
        "n_components": 3,
        "solver": "mu",
        "beta_loss": beta,
        "init": ["nndsvda", "random", "nndsvdar"][seed % 3],
        "alpha_W": float(rng.choice([0.0, 0.01])),
        "alpha_H": "same" if seed % 2 else 0.005,
        "l1_ratio": float(rng.choice([0.0, 0.5])),
        "random_state": seed,
        "max_iter": int(rng.choice([25, 200])),
    }
    ours = same_factors(X, form, options, 5e-2 if form == "float32" else 1e-6)
    assert ours.report_["script"] == "nmf_mu"


def test_what_factors_refuse():
    X = np.abs(np.random.default_rng(0).normal(size=(9, 4)))
    with pytest.raises(ValueError, match="beta_loss <= 0 and X contains zeros"):
        learn.NMF(2, solver="mu", beta_loss="itakura-saito", init="random").fit(np.eye(4))
    with pytest.raises(ValueError, match="Negative values"):
        learn.NMF(2).fit(-X)
    with pytest.warns(UserWarning, match="Maximum number of iterations"):
        learn.NMF(2, max_iter=1, init="random").fit(X)


def precisions(rng, covariances, k, features):
    """Inverses of covariances in scikit-learn's shape."""
    if covariances in ("diag", "spherical"):
        return rng.random((k, features) if covariances == "diag" else k) + 0.1
    parts = rng.normal(size=(k, features, features)) / features
    found = parts @ parts.transpose(0, 2, 1) + np.eye(features)
    return found[0] if covariances == "tied" else found


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["ordinary", "constant", "shifted", "single"])
@pytest.mark.parametrize("covariances", ["full", "tied", "diag", "spherical"])
def test_mixtures(covariances, kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = columns(rng, kind)
    k = int(rng.integers(1, 4))
    X = X + 4.0 * rng.integers(0, k, size=(len(X), 1))
    options = {
        "n_components": k,
        "covariance_type": covariances,
        "random_state": seed,
        "init_params": ["kmeans", "random", "random_from_data", "k-means++"][seed % 4],
        "n_init": int(rng.integers(1, 3)),
        "reg_covar": 1e-3,
        "max_iter": int(rng.choice([3, 100])),
    }
    if seed == 4:
        options |= {"means_init": X[:k], "weights_init": np.full(k, 1.0 / k), "n_init": 1}
    if seed % 2 == 0:
        options["precisions_init"] = precisions(rng, covariances, k, X.shape[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, their = learn.GaussianMixture(**options), mixture.GaussianMixture(**options)
        got, want = ours.fit_predict(X), their.fit_predict(X)
    digits = 1e-6 if kind != "shifted" else 1e-3
    assert ours.lower_bound_ == pytest.approx(their.lower_bound_, rel=digits)
    if options["n_init"] == 1:
        assert ours.n_iter_ == their.n_iter_ and ours.converged_ == their.converged_
    near(ours.means_, their.means_, digits)
    near(ours.weights_, their.weights_, digits)
    near(ours.covariances_, their.covariances_, digits)
    near(ours.precisions_, their.precisions_, digits * 100)
    assert (got == want).all() and (ours.predict(X) == got).all()
    near(ours.score_samples(X), their.score_samples(X), digits)


def test_mixtures_start_warm_and_refuse():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 3.0])
    for kind in ("full", "tied", "diag", "spherical"):
        options = {"n_components": 2, "covariance_type": kind, "random_state": 0}
        whole = learn.GaussianMixture(**options, max_iter=4, tol=1e-12)
        parts = learn.GaussianMixture(**options, max_iter=2, tol=1e-12, warm_start=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            whole.fit(X)
            parts.fit(X).fit(X)
        near(parts.means_, whole.means_, 1e-12)
        near(parts.covariances_, whole.covariances_, 1e-12)
    with pytest.raises(ValueError, match="precision"):
        learn.GaussianMixture(1, precisions_init=[-np.eye(2)]).fit(X)
    with pytest.raises(ValueError, match="ill-defined"):
        learn.GaussianMixture(3, reg_covar=0.0, random_state=0).fit(np.ones((9, 2)))
    with pytest.raises(ValueError, match="Expected n_samples"):
        learn.GaussianMixture(300).fit(X)
