"""What all estimators have in common: how a fit runs its script, and what it leaves to look at."""

from __future__ import annotations

import functools
import logging
import time
import warnings
from importlib import resources

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import _convert, _engine, _native, _scripts, _show
from .._array import Array, to_numpy
from .._errors import FulguriteError
from . import _saved
from ._data import Plan
from ._dispatch import take_frames
from ._parts import Part, data_of

_LOG = logging.getLogger("fulgurite.learn")


class UnsupportedError(FulguriteError, NotImplementedError, ValueError):
    """A parameter of scikit-learn whose value is not there yet."""

    def __init__(self, message, kind="unsupported", *place, **more):
        super().__init__(message, kind, *place, **more)


class Fitted:
    """The side of an estimator that runs scripts. It goes before the class of scikit-learn.

    Attributes:
        report_: What the last fit did: its script, seconds of its parts, bytes of its inputs, iterations, and what the
            engine compiled for it.
    """

    # Whether it may be fitted to Spark DataFrames, and to their rows batch by batch.
    _fits_frames = False
    _fits_batches_of_frames = False

    def __init_subclass__(cls, **more):
        super().__init_subclass__(**more)
        take_frames(cls)

    def _fit_by(self, script, inputs, outputs, *, adds=False, main=True, **arguments):
        """Runs the script of a fit, and writes the report, or adds to it. The plan of the main script is explained."""
        if getattr(self, "_skl_callbacks", None) and not adds:
            self._log(logging.WARNING, "callbacks are not called: the fit is one program")
        arguments.setdefault("verbose", bool(getattr(self, "verbose", False)))
        data = data_of(inputs)
        if data is not None:
            results, self.report_, self._program = data.fit_by(script, inputs, outputs, arguments)
            return results
        before = _show.statistics()
        started = time.perf_counter()
        given = {name: matrix(value) for name, value in inputs.items()}
        loaded = time.perf_counter()
        found = evaluated(script, given, outputs, arguments)
        ran = time.perf_counter()
        values = [results_of(value) for value in found]
        ended = time.perf_counter()
        after = _show.statistics()
        spent = {name: after[name] - before[name] for name in _REPORTED}
        spent["seconds"] = ended - started
        spent["load_seconds"] = loaded - started
        spent["run_seconds"] = ran - loaded - spent["compile_seconds"]
        spent["result_seconds"] = ended - ran
        results = dict(zip(outputs, values, strict=True))
        if adds:
            spent = {name: self.report_[name] + spent[name] for name in spent}
        spent["input_bytes"] = max(
            sum(map(size, inputs.values())), self.report_["input_bytes"] if adds else 0
        )
        self.report_ = {**(self.report_ if adds else {"script": script}), **spent}
        if not main:
            return results
        self.report_["script"] = script
        self._program = (script, sizes(inputs), outputs, arguments)
        for name in ("iterations", "objective"):
            if name in results:
                self.report_[name] = results[name]
        return results

    def explain_(self, level="plan", format="text"):
        """The plan of the last fit, as ``fulgurite explain`` shows it.

        Args:
            level: ``hops``, ``rewrites``, ``memo``, ``partitions``, ``plan``, ``cplan``, ``clif`` or ``asm``.
            format: ``text``, ``json`` or another that the level has.
        """
        check_is_fitted(self, "_program")
        if isinstance(self._program, Plan):
            return self._program.explain(level, format)
        script, inputs, outputs, arguments = self._program
        arguments = {name: _scripts.argument(value) for name, value in arguments.items()}
        engine = _engine.settings().engine
        text, name = text_of(script), f"{script}.dml"
        return _native.explain_script(engine, text, name, inputs, outputs, arguments, level, format)

    def save(self, path, overwrite=False):
        """Writes the model as a directory, which :func:`fulgurite.learn.load` reads.

        Args:
            path: Of the directory, which must not exist.
            overwrite: Whether a model that is there may be replaced.
        """
        _saved.save(self, path, overwrite)

    def _log(self, level, message):
        _LOG.log(level, "%s: %s", type(self).__name__, message)

    def _refuse(self, what):
        raise UnsupportedError(
            f"{type(self).__name__} has no {what} yet: use scikit-learn's class for it"
        )

    def _warn_unless(self, converged, iterations):
        """Says that Newton's method took all iterations that it may."""
        if not converged:
            warnings.warn(
                f"Newton's method did not converge after {iterations} iteration(s): increase max_iter, or scale the data.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _other_method(self, parameter, used):
        """Says that a parameter asks for another method than there is. The optimum is the same one."""
        value = getattr(self, parameter)
        self._log(logging.INFO, f"{parameter}={value!r} asks for another method than {used}")


_REPORTED = ("operators_compiled", "operators_reused", "compile_seconds")


def run(script, inputs, outputs, arguments, keeps_sparse=False):
    """The outputs of a script of ours: NumPy's arrays that may be written to, and numbers."""
    given = {name: matrix(value) for name, value in inputs.items()}
    values = evaluated(script, given, outputs, arguments)
    return [results_of(value, keeps_sparse) for value in values]


def evaluated(script, given, outputs, arguments):
    """The outputs of a script of ours as the engine has them."""
    return _scripts.run_text(text_of(script), f"{script}.dml", given, outputs, arguments)


def results_of(value, keeps_sparse=False):
    """An output as Python has it."""
    return host(value, keeps_sparse) if type(value) is Array else value


def size(value):
    """The bytes of an input."""
    if sparse.issparse(value):
        # Formats have arrays of their own.
        arrays = (
            getattr(value, name, None) for name in ("data", "indices", "indptr", "row", "col")
        )
        return sum(each.nbytes for each in arrays if each is not None)
    return getattr(value, "nbytes", 0)


def sizes(inputs):
    """Rows, columns and non-zeros of inputs that are matrices; other inputs as they are."""
    found = {}
    for name, value in inputs.items():
        if isinstance(value, float):
            found[name] = (1, 1, -1)
        elif isinstance(value, (bool, int, str)):
            found[name] = value
        else:
            nnz = value.nnz if sparse.issparse(value) else -1
            found[name] = (*value.shape, int(nnz))
    return found


# Columns beyond which coordinate descent goes on a working set of them, and the most that such a set has.
WIDE, SET = 500, 5000

# Functions that several scripts have in common come before them.
_USES = {
    "elastic_net": "descend",
    "elastic_net_wide": "descend",
    "hinge_l1": "descend",
    "kmeans": "clusters",
    "logistic_l1": "descend",
    "minibatch_start": "clusters",
    "minibatch_steps": "clusters",
    "nonnegative": "descend",
}


@functools.cache
def text_of(script):
    """The text of a script, with the functions that it uses."""
    used = text_of(_USES[script]) if script in _USES else ""
    return used + resources.files(__package__).joinpath("scripts", f"{script}.dml").read_text(
        "utf-8"
    )


def matrix(value):
    """An input of a script. Memory is shared: a fit does not change it, and others may read it meanwhile.

    A float is a matrix of one cell: the value of a scalar would be a constant of the plan, and each one make a new plan.
    """
    if isinstance(value, (bool, int, str)) or type(value) is Array:
        return value
    if isinstance(value, float):
        return _convert.asarray([[value]])
    if sparse.issparse(value):
        try:
            return _convert.asarray(value, copy=False)
        except ValueError:
            return _convert.asarray(value)
    value = np.asarray(value, dtype=np.float64)
    flags = value.flags
    is_whole = (flags.c_contiguous or flags.f_contiguous) and flags.aligned
    return _convert.asarray(value, copy=False if is_whole and value.ndim else None)


def host(array, keeps_sparse):
    """Cells of a result, in memory of their own; a matrix of SciPy for a sparse one that may stay so."""
    if array._sparse:
        cells = _convert.to_scipy(array)
        return cells.copy() if keeps_sparse else cells.toarray()
    return np.array(to_numpy(array))


def column(values):
    """A vector as a matrix of one column; a matrix as it is."""
    if isinstance(values, Part):
        return values.as_column()
    values = np.asarray(values, dtype=np.float64)
    return values.reshape(-1, 1) if values.ndim == 1 else values


NOTHING = np.zeros((1, 1))
