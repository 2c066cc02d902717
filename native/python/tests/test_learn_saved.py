"""Models in directories: every estimator comes back to the bit, and what is no model of ours is refused."""

import contextlib
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn", minversion="1.9")
pytest.importorskip("pyarrow")

import pandas
import pyarrow
import pyarrow.ipc
from fulgurite import learn
from scipy import sparse
from sklearn.exceptions import NotFittedError

NAMES = [name for name in learn.__all__ if hasattr(getattr(learn, name), "get_params")]


def data(name, form):
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(60, 4))) + 0.1
    y = (X[:, 0] > X[:, 1]).astype(int) + (X[:, 2] > 1.0)
    if name in ("GammaRegressor", "PoissonRegressor", "TweedieRegressor"):
        y = y + 1
    if form == "pandas":
        X = pandas.DataFrame(X, columns=["a", "b", "größe", "d"])
        y = pandas.Series(np.array(["a", "é", "c"])[y]) if names_classes(name) else y
    elif form == "float32":
        X = X.astype(np.float32)
    elif form == "csr":
        X = sparse.csr_array(X)
        y = np.array(["no", "yes", "perhaps"])[y] if names_classes(name) else y
    return X, y


def names_classes(name):
    return hasattr(getattr(learn, name), "predict") and name in (
        "GaussianNB",
        "LinearSVC",
        "LogisticRegression",
        "MultinomialNB",
    )


def fitted(name, form):
    model = getattr(learn, name)()
    X, y = data(name, form)
    options = {"random_state": 0} if "random_state" in model.get_params() else {}
    if name == "StandardScaler" and form == "csr":
        options["with_mean"] = False
    model.set_params(**options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model.fit(X, y)
        except TypeError:
            pytest.skip(f"{name} takes no {form}")
    return model, X


def given(model, X):
    found = {}
    for name in ("predict", "predict_proba", "decision_function", "transform", "score_samples"):
        if hasattr(model, name):
            # Scores of sparse rows are not there in scikit-learn, either.
            with contextlib.suppress(TypeError):
                cells = getattr(model, name)(X)
                found[name] = cells.toarray() if sparse.issparse(cells) else np.asarray(cells)
    return found


def same(got, want):
    """Whether values are of the same type, and the same to the bit."""
    if type(got) is not type(want):
        return False
    if isinstance(want, (np.ndarray, np.generic)):
        if got.dtype != want.dtype or got.shape != want.shape:
            return False
        return (
            got.tolist() == want.tolist()
            if want.dtype.kind == "O"
            else got.tobytes() == want.tobytes()
        )
    if isinstance(want, (list, tuple)):
        return len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, dict):
        return list(got) == list(want) and all(same(got[key], want[key]) for key in want)
    if isinstance(want, np.random.RandomState):
        return same(got.get_state(legacy=False), want.get_state(legacy=False))
    if isinstance(want, float):
        return np.float64(got).tobytes() == np.float64(want).tobytes()
    return got == want


@pytest.mark.parametrize("form", ["dense", "pandas", "float32", "csr"])
@pytest.mark.parametrize("name", NAMES)
def test_every_model_comes_back_to_the_bit(name, form, tmp_path):
    model, X = fitted(name, form)
    model.save(tmp_path / "model")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "arrays.arrow",
        "model.json",
    ]
    back = learn.load(tmp_path / "model")
    assert type(back) is type(model) and back.get_params() == model.get_params()
    left = {"_program", "_base_loss"}
    assert set(vars(back)) - left == set(vars(model)) - left
    for key, value in vars(model).items():
        if key not in left:
            assert same(vars(back)[key], value), key
    want = given(model, X)
    assert want
    for method, cells in given(back, X).items():
        assert same(cells, want[method]), method
    # It may be fitted, copied and saved again.
    pickle.loads(pickle.dumps(back))
    back.save(tmp_path / "again")
    for file in ("model.json", "arrays.arrow"):
        assert (tmp_path / "again" / file).read_bytes() == (tmp_path / "model" / file).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_models_without_a_fit(name, tmp_path):
    getattr(learn, name)().save(tmp_path / "model")
    back = learn.load(tmp_path / "model")
    with pytest.raises(NotFittedError):
        given(back, np.ones((3, 4)))


def test_parameters_of_all_kinds(tmp_path):
    init = np.array([[0.0, -0.0], [np.inf, 5e-324]])
    random = np.random.RandomState(3)
    random.normal()
    model = learn.KMeans(2, init=init, random_state=random, tol=0.1 + 0.2)
    model.save(tmp_path / "a")
    back = learn.load(tmp_path / "a")
    assert same(back.init, init) and same(back.random_state, random) and back.tol == 0.1 + 0.2
    assert back.random_state.uniform() == random.uniform()
    weights = {"no": 1.0, np.int64(3): 2, None: float("inf")}
    learn.LogisticRegression(class_weight=weights, C=float("inf")).save(tmp_path / "b")
    back = learn.load(tmp_path / "b")
    assert same(back.class_weight, weights) and back.C == float("inf")
    with pytest.raises(TypeError, match="function can't be saved: parameter init"):
        learn.KMeans(init=lambda *_, **__: 0).save(tmp_path / "c")
    assert not (tmp_path / "c").exists()


def test_arrays_can_be_read_by_others(tmp_path):
    model, _ = fitted("LogisticRegression", "pandas")
    model.save(tmp_path / "model")
    with pyarrow.ipc.open_file(str(tmp_path / "model" / "arrays.arrow")) as reader:
        table = reader.read_all().to_pydict()
    (coef,) = (cells for name, cells in table.items() if "coef_" in name)
    assert np.array_equal(coef[0], model.coef_.ravel())
    written = json.loads((tmp_path / "model" / "model.json").read_text())
    assert written["format"] == 1 and written["class"] == "LogisticRegression"


def changed(path, **values):
    written = json.loads((path / "model.json").read_text())
    written.update(values)
    (path / "model.json").write_text(json.dumps(written))
    return written


def test_what_is_refused(tmp_path):
    model, _ = fitted("Ridge", "dense")
    path = tmp_path / "model"
    model.save(path)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.save(path)
    model.set_params(alpha=2.0).save(path, overwrite=True)
    assert learn.load(path).alpha == 2.0
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious").write_text("x")
    with pytest.raises(FileExistsError, match="no saved model"):
        model.save(other, overwrite=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model", "other"]
    with pytest.raises(FileNotFoundError, match="no saved model"):
        learn.load(other)
    written = changed(path, format=2, fulgurite="9.0")
    with pytest.raises(ValueError, match=r"saved by fulgurite 9\.0 in format 2.*newer"):
        learn.load(path)
    changed(path, format=1, **{"class": "Popen"})
    with pytest.raises(ValueError, match="no such class"):
        learn.load(path)
    # A later version may drop parameters.
    changed(path, **{"class": "Ridge", "parameters": written["parameters"] | {"gone": 3}})
    with pytest.raises(ValueError, match="'gone'"):
        learn.load(path)
    changed(path, parameters=written["parameters"] | {"gone": 3}, defaults=["gone"])
    with pytest.warns(UserWarning, match="'gone'"):
        learn.load(path)
    whole = (path / "arrays.arrow").read_bytes()
    (path / "arrays.arrow").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        learn.load(path)
    (path / "model.json").write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        learn.load(path)


def test_there_is_no_half_of_a_model(tmp_path, monkeypatch):
    model, _ = fitted("Ridge", "dense")
    path = tmp_path / "model"
    model.save(path)

    def fail(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    for name, overwrite in (("model", True), ("new", False)):
        with pytest.raises(OSError, match="no space"):
            model.set_params(alpha=9.0).save(tmp_path / name, overwrite=overwrite)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["model"]
    assert learn.load(path).alpha == 1.0


def test_without_pyarrow(tmp_path):
    script = """
import sys
sys.modules["pyarrow"] = None
from fulgurite.learn import Ridge
try:
    Ridge().fit([[0.0], [1.0]], [0.0, 1.0]).save(sys.argv[1])
except ImportError as error:
    print(error)
"""
    found = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "pip install 'fulgurite[learn]'" in found.stdout
    assert not list(tmp_path.iterdir())


def test_the_example_of_the_page(tmp_path, monkeypatch, capsys):
    page = (pathlib.Path(__file__).parents[3] / "docs" / "learn.md").read_text()
    part = page.split("## Saving\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", part, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(code, {})
    assert capsys.readouterr().out == "[1.]\n"
