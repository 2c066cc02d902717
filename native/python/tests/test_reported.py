"""What users ran into."""

import os
import signal
import subprocess

import fulgurite as fg
import numpy as np
import pytest

A = fg.asarray


@pytest.mark.parametrize("function", ["tan", "exp", "log1p", "sin"])
@pytest.mark.parametrize("shape", [(1,), (1, 1), (5, 1), (1, 5)])
def test_the_extreme_of_one_cell_is_that_cell(function, shape):
    for seed in range(30):
        x = getattr(fg, function)(A(np.random.default_rng(seed).random(shape)))
        for axis in range(len(shape)):
            if shape[axis] == 1:
                for keepdims in (False, True):
                    found = fg.argmax(x, axis=axis, keepdims=keepdims)
                    assert found.dtype == np.int64 and not np.asarray(found).any()
                    assert found.shape == np.argmax(np.ones(shape), axis=axis, keepdims=keepdims).shape
        assert int(fg.argmin(x)) >= 0


def test_numbers_of_fused_functions_are_lengths():
    reshaped = fg.fuse(lambda x, n: fg.reshape(x, (n, -1)))
    with pytest.warns(UserWarning, match="looks at a value"):
        assert reshaped(A(np.arange(4.0)), 2).shape == (2, 2)
    assert reshaped(A(np.arange(6.0)), 3).tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert fg.reshape(A(np.arange(4.0)), (A(2), -1)).shape == (2, 2)
    assert fg.zeros(A(3)).shape == (3,)


def test_views_of_shared_memory_become_writable_with_it():
    source = np.ones(10**5)
    view = source[:]
    first, second = fg.asarray(source), fg.asarray(view)
    assert not source.flags.writeable and not view.flags.writeable
    del second, first
    assert source.flags.writeable and view.flags.writeable
    view[0] = 2.0
    assert source[0] == 2.0


def test_settings_may_be_used_within_themselves():
    before = repr(fg.config())
    settings = fg.config(threads=1)
    with settings, settings:
        assert float(fg.sum(fg.ones(3))) == 3.0
    assert repr(fg.config()) == before


def test_what_has_no_large_leaves_ends_with_a_signal():
    x = fg.rand(1500, 1500, seed=1)
    y = x
    for _ in range(90):
        y = (y @ x) / 1000
    # A process that a shell began in the background ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -INT {os.getpid()}"]):
            with pytest.raises(KeyboardInterrupt):
                np.asarray(y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert not y._node.is_value
    assert float(fg.sum(fg.ones(3))) == 3.0
