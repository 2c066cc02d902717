"""Puts estimators of ours in the place of scikit-learn's.

``fulgurite.learn.patch()`` does so for this process, and ``python -m fulgurite.learn.patch script.py`` for a script
that knows nothing of it. The module is callable, so that its name is the function's, too. `estimators` has the classes.
"""

from __future__ import annotations

import copyreg
import importlib
import logging
import sys
import types

__all__ = ["patch", "unpatch"]

_LOG = logging.getLogger("fulgurite.learn")


def patch(names=None):
    """Puts our estimators in the place of scikit-learn's. What ours do not have is fitted by scikit-learn, with a
    reason in the log.

    Names that were imported before stay scikit-learn's.

    Args:
        names: Names of classes, such as ``["KMeans", "PCA"]``. All that there are by default.

    >>> import fulgurite.learn
    >>> fulgurite.learn.patch(["Ridge"])
    >>> from sklearn.linear_model import Ridge
    >>> Ridge().fit([[0.0], [1.0]], [0.0, 1.0]).report_["script"]
    'linear'
    >>> fulgurite.learn.unpatch()
    """
    from . import estimators

    for name in _chosen(names):
        ours, original = estimators.CLASSES[name], estimators.ORIGINALS[name]
        _warn_of_imports(name, original)
        setattr(_place(original), name, ours)
        if vars(sys.modules[original.__module__]).get(name) is not original:
            # Nothing finds this class by its name any more, but its objects are pickled all the same.
            copyreg.pickle(original, estimators.reduce_original)
    _LOG.info("in the place of scikit-learn's classes: %s", ", ".join(_chosen(names)))


def unpatch(names=None):
    """Puts scikit-learn's classes back. Names that were imported meanwhile stay ours.

    Args:
        names: Names of classes. All by default.
    """
    from . import estimators

    for name in _chosen(names):
        ours, original = estimators.CLASSES[name], estimators.ORIGINALS[name]
        # Modules of scikit-learn that were loaded meanwhile have it from there.
        for module in _modules("sklearn"):
            if vars(module).get(name) is ours:
                setattr(module, name, original)
        copyreg.dispatch_table.pop(original, None)


def _chosen(names):
    from . import estimators

    if names is None:
        return list(estimators.CLASSES)
    names = [names] if isinstance(names, str) else list(names)
    if unknown := [name for name in names if name not in estimators.CLASSES]:
        raise ValueError(
            f"there is no {unknown[0]!r} to put in the place of scikit-learn's; there are {', '.join(estimators.CLASSES)}"
        )
    return names


def _place(original):
    """The public module that users import a class from."""
    parts = original.__module__.split(".")
    private = next((place for place, part in enumerate(parts) if part[0] == "_"), len(parts))
    return importlib.import_module(".".join(parts[:private]))


def _modules(*packages):
    """Loaded modules of these packages."""
    loaded = [(name, module) for name, module in list(sys.modules.items()) if module is not None]
    return [module for name, module in loaded if name.split(".")[0] in packages]


def _warn_of_imports(name, original):
    """Says which modules have scikit-learn's class already."""
    own = {id(module) for module in _modules("sklearn", "fulgurite")}
    had = [
        key
        for key, module in list(sys.modules.items())
        if isinstance(module, types.ModuleType)
        and id(module) not in own
        and vars(module).get(name) is original
    ]
    if had:
        _LOG.warning(
            "%s had been imported by %s, where it stays scikit-learn's: call patch() first",
            name,
            ", ".join(had),
        )


class _Callable(types.ModuleType):
    def __call__(self, names=None):
        return patch(names)


_Callable.__call__.__doc__ = patch.__doc__
sys.modules[__name__].__class__ = _Callable
