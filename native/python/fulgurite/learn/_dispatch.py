"""Methods of estimators that take Spark DataFrames beside arrays: each class gets them from `Fitted`."""

from __future__ import annotations

import functools
import inspect

from sklearn.utils import get_tags

from . import _serving
from ._data import Data
from ._frames import Columns, has_arrow_functions, is_frame, require
from ._parts import Part


def take_frames(kind):
    """Has the methods of a class look at what they are given."""
    for name, work in _WORK.items():
        method = inspect.getattr_static(kind, name, None)
        if not inspect.isfunction(method) or hasattr(method, "_array_method"):
            continue
        setattr(kind, name, _either(method, work))


def _either(method, work):
    @functools.wraps(method)
    def either(self, *args, **kwargs):
        X = args[0] if args else kwargs.get("X")
        if is_frame(X):
            if not has_arrow_functions():
                self._refuse("methods for DataFrames of a Spark before 4.3")
            return work(
                self,
                *args,
                **{"frame" if name == "X" else name: value for name, value in kwargs.items()},
            )
        if method.__name__ == "fit" and not isinstance(X, Part):
            # Of an earlier fit.
            self.__dict__.pop("_vectors_in", None)
        return method(self, *args, **kwargs)

    either._array_method = method
    return either


def _fit(self, frame, y=None, sample_weight=None):
    own = getattr(self, "_fit_frame", None)
    if own is not None:
        self._validate_params()
        return own(frame, y, sample_weight)
    return _fit_on(self, "fit", frame, y, sample_weight)


def _partial_fit(self, frame, y=None, sample_weight=None):
    if not self._fits_batches_of_frames:
        self._refuse("partial_fit on a Spark DataFrame")
    names = getattr(self, "feature_names_in_", None)
    features = None
    if names is not None:
        require(frame, names)
        features = Columns(list(names))
    return _fit_on(self, "partial_fit", frame, y, sample_weight, features)


def _fit_on(self, method, frame, y, sample_weight, features=None):
    if not self._fits_frames:
        self._refuse("fit on a Spark DataFrame")
    self._validate_params()
    supervised = get_tags(self).target_tags.required
    with Data(self, frame, y, sample_weight, supervised, features) as data:
        given = {}
        if data.y is not None:
            given["y"] = data.y
        if data.weights is not None:
            given["sample_weight"] = data.weights
        parts = getattr(self, "_fit_parts", None)
        if parts is not None:
            parts(data.X, **given)
        else:
            getattr(self, method)(data.X, **given)
    return self


def _added(method):
    def work(self, frame):
        own = getattr(self, f"_{method}_frame", None)
        if own is not None:
            return own(frame)
        methods = [method]
        if method == "predict" and hasattr(self, "predict_proba"):
            methods.append("predict_proba")
        return _serving.added(self, frame, methods)

    return work


def _fit_transform(self, frame, y=None, **given):
    return self.fit(frame, y, **given).transform(frame)


def _fit_predict(self, frame, y=None, **given):
    return self.fit(frame, y, **given).predict(frame)


_WORK = {
    "fit": _fit,
    "partial_fit": _partial_fit,
    "fit_transform": _fit_transform,
    "fit_predict": _fit_predict,
    "score": _serving.score,
    **{method: _added(method) for method in _serving.ADDED},
}
