"""The classes that stand in the place of scikit-learn's: ours, and scikit-learn's where ours lack something.

Each extends our class, which extends scikit-learn's. At each fit ours begins. If it raises `UnsupportedError`, the
object is set back, and scikit-learn's own methods fit it. Which of both it was holds for later calls: methods that
ours overrides are scikit-learn's on a model that scikit-learn fitted.
"""

from __future__ import annotations

import copyreg
import functools
import logging
import types

import numpy as np
from sklearn import get_config

from ... import learn
from ..._errors import FulguriteError
from .._base import UnsupportedError

# Public methods that fit.
_ENTRIES = ("fit", "fit_transform", "fit_predict", "partial_fit")


class _Replacing:
    """What all classes here have in common."""

    def explain_(self, *args, **kwargs):
        reason = (getattr(self, "report_", None) or {}).get("reason")
        if reason:
            raise UnsupportedError(f"scikit-learn fitted this model, so it has no plan: {reason}")
        return super().explain_(*args, **kwargs)


_Replacing.explain_.__doc__ = learn.Ridge.explain_.__doc__


def _entry(name, ours, theirs):
    """A method that fits by ours, or else by scikit-learn's."""

    @functools.wraps(theirs)
    def method(self, *args, **kwargs):
        held = self.__dict__
        if "_fits" in held:
            # A fit calls another method that fits.
            return (ours if held["_by_ours"] else theirs)(self, *args, **kwargs)
        X = args[0] if args else kwargs.get("X")
        if _is_of_spark(X):
            # scikit-learn has nothing for it: what ours refuses is refused.
            return _fitted(self, True, ours, args, kwargs)
        if name == "partial_fit" and held.get("_by_ours") is False:
            # A model that scikit-learn began stays there.
            return theirs(self, *args, **kwargs)
        level, reason = logging.INFO, _reason(self, X)
        if reason is None:
            before = held.copy()
            try:
                return _fitted(self, True, ours, args, kwargs)
            except FulguriteError as error:
                held.clear()
                held.update(before)
                is_missing = isinstance(error, UnsupportedError)
                level = logging.INFO if is_missing else logging.WARNING
                reason = _said(error)
        self._log(level, f"scikit-learn fits: {reason}")
        held.pop("_program", None)
        result = _fitted(self, False, theirs, args, kwargs)
        self.report_ = {"script": None, "reason": reason}
        return result

    return method


def _fitted(self, by_ours, function, args, kwargs):
    held = self.__dict__
    before = held.get("_by_ours")
    held["_fits"] = True
    held["_by_ours"] = by_ours
    try:
        return function(self, *args, **kwargs)
    except BaseException:
        if before is None:
            held.pop("_by_ours", None)
        else:
            held["_by_ours"] = before
        raise
    finally:
        held.pop("_fits", None)


def _said(error):
    what = getattr(error, "what", None)
    return f"ours has no {what} yet" if what else str(error).splitlines()[0]


def _part(ours, theirs):
    """A method of ours that overrides scikit-learn's, on models that ours fits.

    Subclasses of users may call it from a fit of their own: they know scikit-learn's.
    """

    @functools.wraps(theirs)
    def method(self, *args, **kwargs):
        by_ours = self.__dict__.get("_by_ours") or _is_of_spark(args[0] if args else None)
        return (ours if by_ours else theirs)(self, *args, **kwargs)

    return method


def _is_of_spark(X):
    return type(X).__module__.startswith("pyspark.")


def _reason(self, X):
    """Why ours cannot fit, if that is known before it begins; or None."""
    if getattr(self, "_skl_callbacks", None):
        return "ours has no callbacks yet"
    dispatches = get_config()["array_api_dispatch"]
    if dispatches and hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray):
        return "array_api_dispatch is for scikit-learn's own fits"
    changed = _changed(type(self))
    return changed and f"{type(self).__name__} overrides {changed} of scikit-learn's fit"


@functools.cache
def _changed(kind):
    """A private method of scikit-learn's class that a subclass overrides: our fits don't call it."""
    place = next(place for place, base in enumerate(kind.__mro__) if base in _REPLACED)
    original = _REPLACED[kind.__mro__[place]]
    for base in kind.__mro__[:place]:
        if base.__module__.split(".")[0] == "sklearn":
            continue
        for name, value in vars(base).items():
            is_private = name.startswith("_") and not name.startswith("__")
            if is_private and callable(value) and hasattr(original, name):
                return name
    return None


@functools.cache
def _meta(kind):
    """A metaclass by which objects of scikit-learn's own class are objects of a class here, too."""

    class Replacement(kind):
        # By the order of bases: an abstract class asks all that extend it, and these are among them.
        def __instancecheck__(cls, instance):
            if cls in _REPLACED:
                return _REPLACED[cls] in type(instance).__mro__
            return super().__instancecheck__(instance)

        def __subclasscheck__(cls, other):
            if cls in _REPLACED:
                return _REPLACED[cls] in other.__mro__
            return super().__subclasscheck__(other)

    return Replacement


def _original(ours):
    """scikit-learn's class of the same name, or None."""
    of_scikit_learn = (base for base in ours.__mro__ if base.__module__.startswith("sklearn."))
    return next((base for base in of_scikit_learn if base.__name__ == ours.__name__), None)


def _replacement(ours, original):
    own = {
        "__module__": __name__,
        "__qualname__": ours.__name__,
        "__doc__": ours.__doc__,
    }
    made = _meta(type(ours))(ours.__name__, (_Replacing, ours), own)
    above = ours.__mro__[: ours.__mro__.index(original)]
    overridden = {
        name
        for base in above
        for name, value in vars(base).items()
        if isinstance(value, types.FunctionType)
        and not name.startswith("__")
        and hasattr(original, name)
    }
    # Put there when the class exists: scikit-learn wraps methods of a new class, and these are wrapped already.
    for name in overridden - {*_ENTRIES}:
        setattr(made, name, _part(getattr(ours, name), getattr(original, name)))
    for name in _ENTRIES:
        if hasattr(original, name):
            setattr(made, name, _entry(name, getattr(ours, name), getattr(original, name)))
    return made


def reduce_original(model):
    """How an object of scikit-learn's own class is pickled while another class has its name."""
    state = model.__getstate__() if hasattr(model, "__getstate__") else model.__dict__
    return _new_original, (type(model).__name__,), state


def _new_original(name):
    return copyreg.__newobj__(ORIGINALS[name])


CLASSES, ORIGINALS, _REPLACED = {}, {}, {}
for _name in learn.__all__:
    _ours = getattr(learn, _name)
    _theirs = _original(_ours) if isinstance(_ours, type) else None
    if _theirs is not None:
        ORIGINALS[_name] = _theirs
        CLASSES[_name] = globals()[_name] = _replacement(_ours, _theirs)
        _REPLACED[CLASSES[_name]] = _theirs
