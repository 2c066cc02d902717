"""Linear models beside scikit-learn's, on data of all kinds."""

import logging
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

from fulgurite import learn
from learned import FORMS, KINDS, columns, in_form, near, weights
from scipy import sparse
from sklearn import linear_model as theirs
from sklearn import preprocessing

SEEDS = range(5)


def objective(model, X, y, sample_weight, alpha=0.0):
    """What least squares minimise, in twice the digits."""
    X, y = np.asarray(X, np.longdouble), np.asarray(y, np.longdouble)
    w = np.ones(len(y)) if sample_weight is None else sample_weight
    coef = np.atleast_2d(np.asarray(model.coef_, np.longdouble))
    y = y if y.ndim == 2 else y[:, None]
    apart = y - X @ coef.T - model.intercept_
    return float(np.sum(apart**2 * w[:, None]) + np.sum(coef.T**2 * alpha))


def no_worse(ours, their, scale):
    """To a part of 1e-8; where the optimum is zero, to what rounding leaves."""
    assert ours <= their * (1 + 1e-8) + 1e-18 * scale, f"{ours} is worse than {their}"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_least_squares(kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    X = columns(rng, kind)
    targets = int(rng.integers(0, 3))
    shape = (len(X), targets) if targets else (len(X),)
    y = rng.normal(size=shape) + X @ rng.normal(size=(X.shape[1], *shape[1:]))
    w = weights(rng, len(X), rng.random() < 0.5)
    icpt = bool(rng.random() < 0.7)
    ours = learn.LinearRegression(fit_intercept=icpt).fit(X, y, w)
    their = theirs.LinearRegression(fit_intercept=icpt).fit(X, y, w)
    scale = np.sum(y**2) * (1 if w is None else w.max())
    no_worse(objective(ours, X, y, w), objective(their, X, y, w), scale)
    assert ours.rank_ == their.rank_
    near(ours.singular_[: ours.rank_], their.singular_[: ours.rank_], 1e-9)
    # What the condition number takes from both.
    kept = their.singular_[: their.rank_]
    lost = 1e-12 * kept.max() / kept.min() if kept.size else 0.0
    near(ours.coef_, their.coef_, max(1e-9, lost))
    near(ours.predict(X), their.predict(X), 1e-9)
    assert ours.score(X, y, w) == pytest.approx(their.score(X, y, w), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_ridge(kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind), 1])
    X = columns(rng, kind)
    targets = int(rng.integers(0, 3))
    shape = (len(X), targets) if targets else (len(X),)
    y = rng.normal(size=shape) + X @ rng.normal(size=(X.shape[1], *shape[1:]))
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {"fit_intercept": bool(rng.random() < 0.7), "alpha": 10.0 ** int(rng.integers(-4, 4))}
    if targets and rng.random() < 0.5:
        options["alpha"] = 10.0 ** rng.integers(-3, 3, size=targets)
    ours = learn.Ridge(**options).fit(X, y, w)
    their = theirs.Ridge(**options, solver="svd").fit(X, y, w)
    scale = np.sum(y**2) * (1 if w is None else w.max())
    no_worse(
        objective(ours, X, y, w, options["alpha"]),
        objective(their, X, y, w, options["alpha"]),
        scale,
    )
    near(ours.coef_, their.coef_, 1e-7)
    near(ours.predict(X), their.predict(X), 1e-8)


@pytest.mark.parametrize("seed", range(12))
def test_sparse_input(seed):
    rng = np.random.default_rng([seed, 2])
    rows, features = int(rng.integers(10, 80)), int(rng.integers(5, 40))
    X = sparse.random_array((rows, features), density=0.3, rng=rng, format="csr")
    y = rng.normal(size=(rows, 2) if seed % 2 else rows)
    w = weights(rng, rows, seed % 3 == 0)
    icpt = bool(rng.random() < 0.5)
    for name, options in (
        ("LinearRegression", {}),
        ("Ridge", {"alpha": 0.1}),
        ("Ridge", {"alpha": 5.0}),
    ):
        ours = getattr(learn, name)(fit_intercept=icpt, **options).fit(X, y, w)
        their = getattr(theirs, name)(fit_intercept=icpt, **options).fit(X.toarray(), y, w)
        alpha = options.get("alpha", 0.0)
        no_worse(
            objective(ours, X.toarray(), y, w, alpha),
            objective(their, X.toarray(), y, w, alpha),
            np.sum(y**2),
        )
        near(ours.predict(X), their.predict(X), 1e-6)
        if name == "Ridge":
            near(ours.coef_, their.coef_, 1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
def test_forms_of_input(name, form):
    rng = np.random.default_rng(7)
    X = rng.integers(-5, 6, size=(40, 3)).astype(float)
    y = rng.normal(size=40) + X @ [1.0, -2.0, 0.5]
    want = getattr(learn, name)().fit(X, y)
    given = in_form(X, form)
    before = given.copy() if isinstance(given, np.ndarray) else None
    got = getattr(learn, name)().fit(given, y)
    near(got.coef_, want.coef_, 1e-6)
    near(got.predict(given), want.predict(X), 1e-5)
    assert got.coef_.dtype == (np.float32 if form == "float32" else np.float64)
    assert got.coef_.flags.writeable
    if before is not None:
        assert np.array_equal(before, given) and given.flags.writeable
    if form in ("pandas", "polars"):
        assert list(got.feature_names_in_) == ["column 0", "column 1", "column 2"]


@pytest.mark.parametrize("solver", ["svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"])
def test_solvers_have_one_optimum(solver, caplog):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 4))
    y = rng.normal(size=30)
    with caplog.at_level(logging.INFO, "fulgurite.learn"):
        ours = learn.Ridge(solver=solver).fit(X, y)
    near(ours.coef_, theirs.Ridge().fit(X, y).coef_, 1e-9)
    assert bool(caplog.messages) == (solver != "svd")


def test_what_is_refused():
    X, y = np.eye(3), np.arange(3.0)
    with pytest.raises(ValueError, match="lbfgs"):
        learn.Ridge(solver="lbfgs").fit(X, y)
    with pytest.raises(ValueError, match="do not correspond"):
        learn.Ridge(alpha=[1.0, 2.0]).fit(X, y)
    with pytest.raises(ValueError, match="sparse"):
        learn.Ridge(solver="cholesky").fit(sparse.csr_array(X), y)
    for model in (learn.LinearRegression(), learn.Ridge()):
        with pytest.raises(ValueError, match="[Nn]egative"):
            model.fit(X, y, sample_weight=[1.0, -1.0, 1.0])
        with pytest.raises(ValueError, match="zero"):
            model.fit(X, y, sample_weight=[0.0, 0.0, 0.0])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", KINDS)
def test_scaler(kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind), 4])
    X = columns(rng, kind)
    if seed % 2:
        X[rng.random(X.shape) < 0.1] = np.nan
    w = weights(rng, len(X), rng.random() < 0.4)
    options = {"with_mean": bool(rng.random() < 0.8), "with_std": bool(rng.random() < 0.8)}
    ours, their = learn.StandardScaler(**options), preprocessing.StandardScaler(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in np.array_split(np.arange(len(X)), int(rng.integers(1, 4))):
            v = None if w is None else w[part]
            if v is not None and not v.any():
                continue
            ours.partial_fit(X[part], sample_weight=v)
            their.partial_fit(X[part], sample_weight=v)
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        got, want = getattr(ours, name), getattr(their, name)
        assert (got is None) == (want is None), name
        if want is not None:
            assert np.shape(got) == np.shape(want)
            np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-25)
    np.testing.assert_allclose(ours.transform(X), their.transform(X), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_scaler_of_sparse_batches(seed):
    rng = np.random.default_rng([seed, 6])
    X = rng.normal(3.0, 2.0, size=(60, 7)) * (rng.random((60, 7)) < 0.3)
    X[:, 1], X[:, 2] = 5.25, 0.0
    if seed % 2:
        X[rng.random(X.shape) < 0.1] = np.nan
    w = rng.random(60) * (rng.random(60) < 0.8) if seed % 4 > 1 else None
    ours, their = (
        learn.StandardScaler(with_mean=False),
        preprocessing.StandardScaler(with_mean=False),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in np.array_split(np.arange(60), 1 + seed % 3):
            v = None if w is None else w[part]
            for model in (ours, their):
                model.partial_fit(sparse.csr_array(X[part]), sample_weight=v)
    for name in ("mean_", "var_", "scale_", "n_samples_seen_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(their, name), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_scaler_forms(form):
    X = np.random.default_rng(5).integers(-5, 6, size=(30, 4)).astype(float)
    given = in_form(X, form)
    centred = form not in ("csr", "csc")
    got = learn.StandardScaler(with_mean=centred).fit_transform(given)
    want = preprocessing.StandardScaler(with_mean=centred).fit_transform(X)
    assert sparse.issparse(got) == (not centred)
    near(got if centred else got.toarray(), want, 1e-6)
    if not centred:
        with pytest.raises(ValueError, match="Cannot center sparse"):
            learn.StandardScaler().fit(given)
    frames = learn.StandardScaler(with_mean=centred).set_output(transform="pandas")
    if form in ("pandas", "ours", "int64"):
        assert type(frames.fit_transform(given)).__name__ == "DataFrame"


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["Lasso", "ElasticNet"])
def test_sparse_models(name, kind, seed):
    rng = np.random.default_rng([seed, KINDS.index(kind), 5])
    X = columns(rng, kind)
    targets = int(rng.integers(0, 3))
    shape = (len(X), targets) if targets else (len(X),)
    y = rng.normal(size=shape) + X @ rng.normal(size=(X.shape[1], *shape[1:]))
    w = weights(rng, len(X), rng.random() < 0.5)
    options = {
        "alpha": float(np.std(y) * 10.0 ** int(rng.integers(-3, 1))),
        "fit_intercept": bool(rng.random() < 0.7),
        "positive": bool(rng.random() < 0.3),
        "max_iter": 10000,
    }
    if name == "ElasticNet":
        options["l1_ratio"] = float(rng.choice([0.1, 0.5, 0.9]))
    v = np.ones(len(X)) if w is None else w

    def reached(model):
        coef = np.atleast_2d(model.coef_)
        apart = y.reshape(len(X), -1) - X @ coef.T - model.intercept_
        l1 = model.l1_ratio * np.abs(coef).sum()
        l2 = 0.5 * (1 - model.l1_ratio) * np.sum(coef**2)
        return 0.5 * np.sum(apart**2 * v[:, None]) / v.sum() + model.alpha * (l1 + l2)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = getattr(learn, name)(**options).fit(X, y, w)
        their = getattr(theirs, name)(**options).fit(X, y, w)
        close = getattr(theirs, name)(**{**options, "tol": 1e-12, "max_iter": 100000}).fit(X, y, w)
    got = reached(ours)
    assert got <= reached(their) * (1 + 1e-8)
    # The gap is a part of the targets' squares, far more than the optimum where columns are far from zero.
    assert got <= reached(close) * (1 + (1e-7 if kind != "shifted" else 1e-3))
    assert ours.coef_.shape == their.coef_.shape
    assert np.shape(ours.intercept_) == np.shape(their.intercept_)
    assert np.shape(ours.dual_gap_) == np.shape(their.dual_gap_)
    if options["positive"]:
        assert np.min(ours.coef_) >= 0
    near(ours.predict(X), close.predict(X), 1e-3)
    if seed == 0 and not targets:
        few = learn.Lasso(alpha=options["alpha"]).fit(sparse.csr_array(X), y, w)
        near(few.coef_, learn.Lasso(alpha=options["alpha"]).fit(X, y, w).coef_, 1e-6)


def test_sparse_models_start_warm_and_warn():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 6))
    y = X[:, 0] + rng.normal(size=40)
    model = learn.Lasso(0.01, warm_start=True).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first
    assert sparse.issparse(model.sparse_coef_)
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    with pytest.warns(UserWarning, match="did not converge"):
        learn.Lasso(1e-6, max_iter=1, tol=1e-8).fit(X, y)
    with pytest.warns(UserWarning, match="alpha=0"):
        learn.Lasso(0.0).fit(X, y)
