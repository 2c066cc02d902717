"""Our estimators in the place of scikit-learn's: scripts that know nothing of it, and what falls back."""

import ast
import inspect
import json
import logging
import os
import pathlib
import pickle
import re
import runpy
import subprocess
import sys
import traceback

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")

import fulgurite
import sklearn
import sklearn.linear_model
import sklearn.naive_bayes
from fulgurite import learn
from fulgurite.learn import _base
from fulgurite.learn.patch import estimators
from learned import near
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator
from test_learn_checks import FAIL_THERE, MORE_ITERATIONS

HERE = pathlib.Path(__file__).parent
PAGE = HERE.parents[2] / "docs" / "learn.md"
SCRIPTS = sorted((HERE / "learn_scripts").glob("*.py"))
# How far results may lie apart. By default what two solvers at these tolerances reach.
APART = {"batches": 1e-4, "clusters": 1e-6, "fallbacks": 1e-12, "meta_estimators": 1e-4}


@pytest.fixture
def patched():
    learn.patch()
    yield
    learn.unpatch()


def same(got, want, apart):
    if isinstance(want, dict):
        assert list(got) == list(want)
        for key, value in want.items():
            same(got[key], value, apart)
    elif isinstance(want, (list, str, bool)) and not np.issubdtype(
        np.asarray(want).dtype, np.floating
    ):
        assert str(got) == str(want)
    else:
        got, want = np.asarray(got), np.asarray(want)
        if want.dtype.kind in "US":
            assert np.array_equal(got, want)
        else:
            near(got, want, apart)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_scripts_give_the_same(script, patched, monkeypatch):
    learn.unpatch()
    want = runpy.run_path(str(script), run_name="__main__")
    learn.patch()
    fits = []
    fit_by = _base.Fitted._fit_by
    monkeypatch.setattr(
        _base.Fitted,
        "_fit_by",
        lambda self, *a, **k: fits.append(a[0]) or fit_by(self, *a, **k),
    )
    got = runpy.run_path(str(script), run_name="__main__")
    assert fits
    same(got["results"], want["results"], APART.get(script.stem, 1e-5))
    assert all(got.get("by_ours", [True])) and not any(want.get("by_ours", []))


def ran(*arguments, code=0):
    path = os.pathsep.join([str(pathlib.Path(fulgurite.__file__).parents[1]), *sys.path])
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def test_the_command(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from sklearn.svm import LinearSVC\n"
        "from sklearn.cluster import KMeans\n"
        "import beside\n"
        "how = 'crammer_singer' if '--together' in sys.argv else 'ovr'\n"
        "model = LinearSVC(multi_class=how).fit([[0.0], [1.0]], [0, 1])\n"
        "print(__name__, sys.argv[1:], model.report_['script'], beside.value, hasattr(KMeans, 'explain_'))\n"
        "sys.exit(3)\n"
    )
    (tmp_path / "beside.py").write_text("value = 7\n")
    done = ran("-m", "fulgurite.learn.patch", script, "one", "-v", code=3)
    assert done.stdout == "__main__ ['one', '-v'] glm 7 True\n" and done.stderr == ""
    done = ran(
        "-m",
        "fulgurite.learn.patch",
        "-v",
        "--only",
        "LinearSVC",
        script,
        "--together",
        code=3,
    )
    assert done.stdout == "__main__ ['--together'] None 7 False\n"
    assert (
        "LinearSVC: scikit-learn fits: ours has no multi_class 'crammer_singer' yet" in done.stderr
    )
    unpatched = script.read_text().replace("model.report_['script']", "hasattr(model, 'report_')")
    script.write_text(unpatched)
    assert ran(script, code=3).stdout == "__main__ [] False 7 False\n"
    done = ran("-m", "fulgurite.learn.patch", "--only", "Rigde", script, code=2)
    assert "no 'Rigde'" in done.stderr
    done = ran("-m", "fulgurite.learn.patch", tmp_path / "none.py", code=2)
    assert "there is no file" in done.stderr
    done = ran(
        "-m",
        "fulgurite.learn.patch",
        "-m",
        "timeit",
        "-n1",
        "-r1",
        "import sklearn.svm as s; assert s.LinearSVC.explain_",
    )
    assert "loop" in done.stdout


def test_both_names_are_one():
    code = (
        "import fulgurite.learn.patch\n"
        "from fulgurite.learn import patch, unpatch\n"
        "import sklearn.linear_model as m\n"
        "assert patch is fulgurite.learn.patch\n"
        "before = m.Ridge\n"
        "fulgurite.learn.patch(); assert m.Ridge is not before\n"
        "fulgurite.learn.unpatch(); assert m.Ridge is before\n"
        "patch.patch(['KMeans']); assert m.Ridge is before\n"
        "patch('Ridge'); assert m.Ridge is not before\n"
        "patch('Ridge'); unpatch(['Ridge']); assert m.Ridge is before\n"
    )
    assert ran("-W", "error", "-c", code).stderr == ""
    with pytest.raises(ValueError, match="there is no 'Rigde'"):
        learn.patch(["Rigde"])


def names():
    """What scikit-learn's modules have."""
    modules = [module for name, module in sys.modules.items() if name.startswith("sklearn")]
    return {
        (module.__name__, key): value
        for module in modules
        for key, value in vars(module).items()
        if isinstance(value, type)
    }


def test_undone(patched):
    learn.unpatch()
    before = names()
    sys.modules.pop("sklearn.ensemble._stacking", None)
    learn.patch()
    assert names() != before
    # A module that is loaded meanwhile has ours, until then.
    import sklearn.ensemble._stacking as stacking

    assert stacking.LogisticRegression is sklearn.linear_model.LogisticRegression
    learn.unpatch()
    after = names()
    assert all(after[key] is value for key, value in before.items() if "stacking" not in key[0])
    assert stacking.LogisticRegression is sklearn.linear_model.LogisticRegression


def test_imported_before(patched, caplog):
    learn.unpatch()
    kept = sys.modules[__name__]
    kept.Ridge = sklearn.linear_model.Ridge
    try:
        old = kept.Ridge().fit([[0.0], [1.0]], [0.0, 1.0])
        with caplog.at_level(logging.WARNING, "fulgurite.learn"):
            learn.patch()
        assert f"Ridge had been imported by {__name__}" in caplog.text
        assert not hasattr(old, "report_") and type(old) is not sklearn.linear_model.Ridge
        # It is one all the same, and so are models of ours that nobody patched.
        assert isinstance(old, sklearn.linear_model.Ridge)
        assert isinstance(learn.Ridge(), sklearn.linear_model.Ridge)
        assert not isinstance(old, sklearn.linear_model.Lasso)
    finally:
        del kept.Ridge


def test_pickles_go_anywhere(tmp_path):
    X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]])
    before = sklearn.naive_bayes.GaussianNB().fit(X, [0, 1, 1])
    plain = pickle.dumps(before)
    learn.patch()
    try:
        # Made by scikit-learn's class, whose name another class has.
        assert isinstance(pickle.loads(pickle.dumps(before)), sklearn.naive_bayes.GaussianNB)
        near(pickle.loads(pickle.dumps(before)).theta_, before.theta_)
        near(pickle.loads(plain).theta_, before.theta_)
        model = sklearn.linear_model.Ridge().fit(X, [0.0, 1.0, 2.0])
        backed = sklearn.svm.LinearSVC(multi_class="crammer_singer").fit(X, [0, 1, 1])
        path = tmp_path / "models"
        path.write_bytes(pickle.dumps([model, backed]))
    finally:
        learn.unpatch()
    code = (
        "import pickle, sys, json, sklearn.linear_model, sklearn.svm\n"
        "models = pickle.load(open(sys.argv[1], 'rb'))\n"
        "assert isinstance(models[0], sklearn.linear_model.Ridge)\n"
        "assert isinstance(models[1], sklearn.svm.LinearSVC)\n"
        "assert type(models[0]) is not sklearn.linear_model.Ridge\n"
        "print(json.dumps([each.predict([[1.0, 2.0]]).tolist() for each in models]))\n"
        "print(models[0].fit([[0.0], [1.0]], [0.0, 1.0]).report_['script'])\n"
    )
    said, script = ran("-c", code, path).stdout.splitlines()
    near(json.loads(said), [each.predict([[1.0, 2.0]]) for each in (model, backed)])
    assert script == "linear"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", estimators.CLASSES)
def test_checks_of_scikit_learn(name):
    """The classes that patching brings pass what ours pass."""
    model = estimators.CLASSES[name](**MORE_ITERATIONS.get(name, {}))
    results = check_estimator(
        model,
        expected_failed_checks=FAIL_THERE.get(name, {}),
        on_fail=None,
        on_skip=None,
    )
    assert not [each["check_name"] for each in results if each["status"] == "failed"]


def many(features, kind=np.zeros):
    X = kind((4, features))
    X[:, :2] = [[0.0, 1.0], [1.0, 0.0], [3.0, 3.0], [0.0, 2.0]]
    return X


X, y, labels = many(2), np.array([0.0, 1.0, 2.0, 3.0]), np.array([0, 1, 0, 1])
# Undocumented: scikit-learn takes a class that solves.
Solver = sklearn.linear_model._glm.glm.NewtonCholeskySolver
COLUMNS = "more than 5,000 columns"
# So many are many in these tests.
MOST = 5
# What falls back: a class, its parameters and data, what the page calls it.
FALLBACKS = [
    ("LinearRegression", {"positive": True}, many(6), y, COLUMNS),
    ("Ridge", {"positive": True}, many(6), y, COLUMNS),
    ("LinearSVC", {"multi_class": "crammer_singer"}, X, labels, "crammer_singer"),
    ("PoissonRegressor", {"solver": Solver}, X, y, "`solver=` a class"),
    ("TruncatedSVD", {"n_components": 5}, sparse.csr_array(many(6)), None, COLUMNS),
    (
        "PCA",
        {"svd_solver": "covariance_eigh", "n_components": 0.9},
        sparse.csr_array(many(6)),
        None,
        COLUMNS,
    ),
]


def refusals():
    """Where fits to arrays refuse something: file and line of each call."""
    found = set()
    for path in sorted(pathlib.Path(learn.__file__).parent.glob("_*.py")):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "_refuse":
                if "DataFrame" not in ast.unparse(node):
                    found.add((path.name, node.lineno))
    return found


@pytest.mark.filterwarnings("ignore")
def test_the_table_of_fallbacks(caplog, monkeypatch):
    """Every refusal has a case here, and a place in the table of the page."""
    monkeypatch.setattr(learn._decomposition, "_MOST", MOST)
    monkeypatch.setattr(learn._linear, "_MOST", MOST)
    met = set()
    page = PAGE.read_text()
    rows = {}
    section = page.split("## In the place of scikit-learn's")[1].split("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            classes, what, _ = (cell.strip() for cell in line.strip("|").split(" | "))
            for name in re.findall(r"`(\w+)`", classes):
                rows[name] = what
    assert set(rows) == set(estimators.CLASSES)
    for name, parameters, data, target, called in FALLBACKS:
        assert called in rows[name], f"{name}: {called}"
        with pytest.raises(learn.UnsupportedError) as refused:
            getattr(learn, name)(**parameters).fit(data, target)
        frame = next(f for f in reversed(traceback.extract_tb(refused.tb)) if f.name != "_refuse")
        met.add((pathlib.Path(frame.filename).name, frame.lineno))
        model = estimators.CLASSES[name](**parameters)
        with caplog.at_level(logging.INFO, "fulgurite.learn"):
            caplog.clear()
            model.fit(data, target)
        [record] = [each for each in caplog.records if "scikit-learn fits" in each.message]
        assert record.levelno == logging.INFO and model.report_["reason"] in record.message
        with pytest.raises(learn.UnsupportedError, match="scikit-learn fitted"):
            model.explain_()
        want = estimators.ORIGINALS[name](**parameters).fit(data, target)
        kept = set(vars(model)) - {"report_", "_by_ours"}
        assert kept == set(vars(want))
    for name, what in rows.items():
        if what == "nothing":
            assert name not in {case[0] for case in FALLBACKS}
    assert refusals() == met


def test_the_example_of_the_page(capsys):
    section = PAGE.read_text().split("## In the place of scikit-learn's")[1]
    code = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", section, flags=re.DOTALL)
    exec(code[1], {})  # noqa: S102
    assert capsys.readouterr().out == code[2]


def test_a_refit_is_decided_anew():
    model = estimators.CLASSES["LinearSVC"](multi_class="crammer_singer").fit(X, labels)
    assert model.report_["script"] is None
    model.set_params(multi_class="ovr").fit(X, labels)
    assert model.report_["script"] == "glm" and model.explain_()
    model.set_params(multi_class="crammer_singer").fit(X, labels)
    assert model.report_["script"] is None
    assert "report_" not in vars(clone(model))
    # What fails leaves the choice as it was.
    with pytest.raises(ValueError, match="NaN"):
        model.set_params(multi_class="ovr").fit(X * np.nan, labels)
    assert "_fits" not in vars(model) and vars(model)["_by_ours"] is False


def test_batches_stay_where_they_began(monkeypatch):
    scaler = estimators.CLASSES["StandardScaler"]()

    def refuse(self, *args, **kwargs):
        raise fulgurite.FulguriteError("the engine is not well")

    with monkeypatch.context() as changed:
        changed.setattr(_base.Fitted, "_fit_by", refuse)
        scaler.partial_fit(X)
        assert scaler.report_["reason"] == "the engine is not well"
    near(scaler.partial_fit(X + 1).mean_, (2 * X + 1).mean(axis=0) / 2)
    assert scaler.report_["script"] is None
    assert scaler.fit(X).report_["script"] == "scaler"


def test_errors_of_the_engine(monkeypatch, caplog):
    def fail(error):
        def run(self, *args, **kwargs):
            self.half_ = 1
            raise error

        return run

    model = estimators.CLASSES["Ridge"]()
    monkeypatch.setattr(_base.Fitted, "_fit_by", fail(fulgurite.FulguriteError("broken\nmore")))
    model.fit(X, y)
    [record] = caplog.records
    assert record.levelno == logging.WARNING
    assert record.message == "Ridge: scikit-learn fits: broken"
    # What ours left is gone.
    assert not hasattr(model, "half_")
    # Ours may need more memory than scikit-learn.
    monkeypatch.setattr(_base.Fitted, "_fit_by", fail(fulgurite.MemoryLimitError("too large")))
    assert model.fit(X, y).report_["reason"] == "too large"


def test_arrays_of_other_libraries():
    pytest.importorskip("array_api_strict")
    code = (
        "import os; os.environ['SCIPY_ARRAY_API'] = '1'\n"
        "import array_api_strict as strict, sklearn\n"
        "from fulgurite.learn.patch.estimators import Ridge\n"
        "X, y = strict.asarray([[0.0], [1.0]]), strict.asarray([0.0, 1.0])\n"
        "with sklearn.config_context(array_api_dispatch=True):\n"
        "    model = Ridge(solver='svd').fit(X, y)\n"
        "print(model.report_['reason'], type(model.coef_).__module__)\n"
    )
    said = ran("-c", code).stdout
    assert said.startswith("array_api_dispatch is for") and "array_api_strict" in said


def test_signatures_and_names(patched):
    for name, kind in estimators.CLASSES.items():
        original = estimators.ORIGINALS[name]
        assert kind.__name__ == name and pickle.loads(pickle.dumps(kind)) is kind
        assert inspect.signature(kind) == inspect.signature(original)
        for method in ("fit", "fit_transform", "fit_predict", "partial_fit"):
            assert hasattr(kind, method) == hasattr(original, method)
            if hasattr(kind, method):
                signatures = [inspect.signature(getattr(each, method)) for each in (kind, original)]
                assert signatures[0] == signatures[1]
        assert getattr(estimators, name) is kind
