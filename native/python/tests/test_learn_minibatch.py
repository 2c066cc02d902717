"""Clusters that are found on batches, beside scikit-learn's."""

import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import FORMS, KINDS, columns, in_form, near, weights
from scipy import sparse
from sklearn import cluster


def both(X, w=None, **options):
    """Our model and scikit-learn's."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = learn.MiniBatchKMeans(**options).fit(X, sample_weight=w)
        their = cluster.MiniBatchKMeans(**options).fit(X, sample_weight=w)
    return ours, their


def near_centres(X, found, centres):
    """Asserts that points have their nearest centre, or one as near up to rounding: two may lie at one place."""
    D = ((X[:, None] - centres) ** 2).sum(axis=2)
    own = np.take_along_axis(D, found[:, None].astype(int), axis=1).ravel()
    near(own, D.min(axis=1), 1e-12, scale=(X**2).max() + D.max())


def agree(ours, their, digits=1e-9):
    assert ours.n_steps_ == their.n_steps_
    near(ours.cluster_centers_, their.cluster_centers_, digits)
    near(ours._counts, their._counts)
    assert ours._n_since_last_reassign == their._n_since_last_reassign
    assert ours.inertia_ == pytest.approx(their.inertia_, rel=1e-9, abs=1e-18)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("init", ["k-means++", "random", "given", "made"])
def test_clusters(kind, seed, init):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = columns(rng, kind)
    k = int(rng.integers(1, 5))
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {
        "n_clusters": k,
        "random_state": seed,
        "batch_size": int(rng.choice([3, 10, 1024])),
    }
    options["init"] = {
        "given": X[:k].copy(),
        "made": lambda X, k, random_state: X[-k:].copy(),
    }.get(init, init)
    options["n_init"] = "auto" if rng.random() < 0.5 else int(rng.integers(1, 4))
    options["init_size"] = None if rng.random() < 0.5 else int(rng.integers(k, 20))
    options["max_iter"] = int(rng.choice([1, 20]))
    options["reassignment_ratio"] = float(rng.choice([0.0, 0.01, 0.4]))
    options["max_no_improvement"] = None if rng.random() < 0.3 else int(rng.integers(0, 12))
    options["tol"] = float(rng.choice([0.0, 0.01]))
    # scikit-learn's class fails after a single step without labels.
    single = options["max_iter"] == 1 and options["batch_size"] > len(X) / 2
    options["compute_labels"] = bool(rng.random() < 0.7) or single
    ours, their = both(X, w, **options)
    agree(ours, their)
    assert ours.n_iter_ == their.n_iter_
    assert hasattr(ours, "labels_") == options["compute_labels"]
    if options["compute_labels"]:
        near_centres(X, ours.labels_, their.cluster_centers_)
        assert ours.labels_.dtype == their.labels_.dtype
    near_centres(X, ours.predict(X), their.cluster_centers_)


@pytest.mark.parametrize("form", FORMS)
def test_clusters_of_forms(form):
    X = np.random.default_rng(1).integers(-9, 10, size=(300, 3)).astype(float)
    options = {"n_clusters": 4, "random_state": 3, "batch_size": 50, "tol": 1e-4}
    ours = learn.MiniBatchKMeans(**options).fit(in_form(X, form))
    their = cluster.MiniBatchKMeans(**options).fit(X)
    near(ours.cluster_centers_, their.cluster_centers_, 1e-4)
    assert (ours.labels_ == their.labels_).all()
    dtype = np.float32 if form == "float32" else np.float64
    assert ours.cluster_centers_.dtype == dtype


@pytest.mark.parametrize("is_sparse", [False, True])
def test_many_steps_and_jumps(is_sparse):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 6)) + 4.0 * rng.integers(0, 9, size=(3000, 1))
    X = sparse.csr_array(X * (rng.random(X.shape) < 0.4)) if is_sparse else X
    for ratio in (0.0, 0.05, 0.5):
        options = {
            "n_clusters": 40,
            "batch_size": 64,
            "max_iter": 4,
            "reassignment_ratio": ratio,
        }
        # A generator goes on after the fit where scikit-learn's does.
        ends = [np.random.RandomState(5), np.random.RandomState(5)]
        ours = learn.MiniBatchKMeans(random_state=ends[0], **options).fit(X)
        their = cluster.MiniBatchKMeans(random_state=ends[1], **options).fit(X)
        agree(ours, their)
        assert ends[0].random_sample() == ends[1].random_sample()
        assert ours.report_["script"] == "minibatch_steps" and ours.report_["iterations"] > 20


@pytest.mark.parametrize("is_sparse", [False, True])
def test_batches_of_the_caller(is_sparse):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3)) + 3.0 * rng.integers(0, 5, size=(400, 1))
    X = sparse.csr_array(X) if is_sparse else X
    w = rng.integers(1, 4, size=400).astype(float)
    options = {
        "n_clusters": 6,
        "random_state": 1,
        "reassignment_ratio": 0.3,
        "batch_size": 30,
    }
    ours, their = learn.MiniBatchKMeans(**options), cluster.MiniBatchKMeans(**options)
    for at in range(0, 400, 50):
        part = slice(at, at + 50)
        ours.partial_fit(X[part], sample_weight=w[part])
        their.partial_fit(X[part], sample_weight=w[part])
        agree(ours, their)
        assert (ours.labels_ == their.labels_).all()
    # Batches after a fit go on from its centres.
    ours, their = both(X, **options)
    agree(ours.partial_fit(X[:50]), their.partial_fit(X[:50]))


def test_what_it_prints_and_refuses(capfd):
    X = np.random.default_rng(4).normal(size=(100, 2))
    model = learn.MiniBatchKMeans(3, batch_size=20, random_state=0, verbose=1).fit(X)
    lines = capfd.readouterr().out
    assert "step 2 of 500: mean objective of the batch" in lines
    assert "function" in model.explain_()
    with pytest.raises(ValueError, match="should be >= n_clusters"):
        learn.MiniBatchKMeans(9).fit(X[:5])
    with pytest.raises(ValueError, match="Negative"):
        learn.MiniBatchKMeans(2).fit(X, sample_weight=np.where(np.arange(100) == 7, -1.0, 1.0))
    with pytest.warns(RuntimeWarning, match="init_size"):
        learn.MiniBatchKMeans(5, init_size=2).fit(X)
