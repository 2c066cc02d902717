"""Linear algebra is NumPy's, to a few rounding errors."""

import fulgurite as fg
import numpy as np
import pytest
from helpers import TAME, alike, deviation, hosts, laid_out, many_shapes, seeds
from hypothesis import assume, given
from hypothesis import strategies as st

lengths = st.integers(1, 6)


def close(got, want, rtol=1e-12):
    deviation("sum-places")
    want = np.asarray(want)
    finite = np.abs(want[np.isfinite(want)])
    alike(got, want, rtol=rtol, scale=finite.max(initial=1.0), signs=False)


@given(
    rows=lengths,
    inner=lengths,
    cols=lengths,
    seed=seeds,
    layout=st.sampled_from(("C", "F", "reversed")),
)
def test_products(rows, inner, cols, seed, layout):
    rng = np.random.default_rng(seed)
    left, right = laid_out(rng.normal(size=(rows, inner)), layout), rng.normal(size=(inner, cols))
    vector, other = rng.normal(size=inner), rng.normal(size=inner)
    a, b, u, v = map(fg.asarray, (left, right, vector, other))
    with fg.config(fallback="error"):
        close(a @ b, left @ right)
        close(a @ u, left @ vector)
        close(u @ b, vector @ right)
        close(u @ v, vector @ other)
        close(fg.vecdot(u, v), np.vecdot(vector, other))
        close(fg.vecdot(a, u), np.vecdot(left, vector))
        deviation("product-zero")
        close(fg.linalg.outer(u, v), np.outer(vector, other))
        close(fg.tensordot(a, b, axes=1), np.tensordot(left, right, axes=1))
        close(a.T @ a, left.T @ left)
        close((a @ b) @ (b.T @ u), (left @ right) @ (right.T @ vector))
    close(left @ b, left @ right)
    close(fg.tensordot(a, a), np.tensordot(left, left))


@given(data=st.data())
def test_products_of_any_arrays(data):
    left = data.draw(hosts(("float64", "int32", "bool", "float32"), many_shapes, TAME))
    right = data.draw(hosts(("float64", "int64"), many_shapes, TAME))
    try:
        want = left @ right
    except ValueError:
        with pytest.raises(ValueError):
            np.asarray(fg.asarray(left) @ fg.asarray(right))
        return
    close(fg.asarray(left) @ fg.asarray(right), want, 1e-5 if want.dtype == np.float32 else 1e-12)


@given(size=lengths, cols=lengths, seed=seeds)
def test_systems(size, cols, seed):
    rng = np.random.default_rng(seed)
    host = rng.normal(size=(size, size))
    square = host @ host.T + size * np.eye(size)
    right, vector = rng.normal(size=(size, cols)), rng.normal(size=size)
    s, r, v = map(fg.asarray, (square, right, vector))
    with fg.config(fallback="error"):
        close(fg.linalg.solve(s, r), np.linalg.solve(square, right), 1e-9)
        close(fg.linalg.solve(s, v), np.linalg.solve(square, vector), 1e-9)
        close(fg.linalg.inv(s), np.linalg.inv(square), 1e-9)
        close(fg.linalg.cholesky(s), np.linalg.cholesky(square), 1e-9)
        close(fg.linalg.cholesky(s, upper=True), np.linalg.cholesky(square, upper=True), 1e-9)
        close(fg.linalg.matrix_power(s, 3), np.linalg.matrix_power(square, 3))
        close(fg.linalg.diagonal(s), np.linalg.diagonal(square))
        close(fg.linalg.trace(s), np.linalg.trace(square))
    close(fg.linalg.det(s), np.linalg.det(square))
    close(fg.linalg.slogdet(s).logabsdet, np.linalg.slogdet(square).logabsdet)
    close(fg.linalg.eigvalsh(s), np.linalg.eigvalsh(square))
    close(fg.linalg.svdvals(r), np.linalg.svdvals(right))
    close(fg.linalg.pinv(r), np.linalg.pinv(right))
    found = fg.linalg.qr(r)
    close(found.Q @ found.R, right)
    close(fg.linalg.matrix_power(s, -2), np.linalg.matrix_power(square, -2))


@given(
    host=hosts(("float64",), st.sampled_from([(5,), (3, 4), (1, 1), (2, 2)]), TAME),
    keepdims=st.booleans(),
)
def test_norms(host, keepdims):
    array = fg.asarray(host)
    for order in (2, 1, np.inf, -np.inf, 0, 3):
        want = np.linalg.vector_norm(host, ord=order, keepdims=keepdims)
        close(fg.linalg.vector_norm(array, ord=order, keepdims=keepdims), want)
        want = np.linalg.vector_norm(host, ord=order, axis=-1, keepdims=keepdims)
        close(fg.linalg.vector_norm(array, ord=order, axis=-1, keepdims=keepdims), want)
    if host.ndim == 2:
        for order in ("fro", "nuc", 1, 2, np.inf):
            want = np.linalg.matrix_norm(host, ord=order, keepdims=keepdims)
            close(fg.linalg.matrix_norm(array, ord=order, keepdims=keepdims), want)


@given(seed=seeds)
def test_eigenvalues_are_complex(seed):
    deviation("eig-complex")
    host = np.random.default_rng(seed).normal(size=(3, 3))
    found = fg.linalg.eig(fg.asarray(host))
    assert found.eigenvalues.dtype == found.eigenvectors.dtype == np.complex128
    values = np.linalg.eigvals(host).astype(complex)
    np.testing.assert_allclose(np.asarray(fg.linalg.eigvals(fg.asarray(host))), values, rtol=1e-12)


@given(shape=st.tuples(lengths, lengths), seed=seeds)
def test_matrices_that_are_not_square(shape, seed):
    assume(shape[0] != shape[1])
    array = fg.asarray(np.random.default_rng(seed).normal(size=shape))
    for name in ("inv", "cholesky", "det", "eigh"):
        with pytest.raises(ValueError):
            np.asarray(getattr(fg.linalg, name)(array))
    with pytest.raises(ValueError):
        np.asarray(fg.linalg.solve(array, array))


def test_singular_matrices():
    singular = fg.asarray([[1.0, 2.0], [2.0, 4.0]])
    with pytest.raises((np.linalg.LinAlgError, fg.FulguriteError)):
        np.asarray(fg.linalg.inv(singular))
    with pytest.raises((np.linalg.LinAlgError, fg.FulguriteError)):
        np.asarray(fg.linalg.cholesky(fg.asarray([[1.0, 2.0], [2.0, 1.0]])))


@given(shape=many_shapes, seed=seeds)
def test_transforms(shape, seed):
    assume(shape and 0 not in shape)
    host = np.random.default_rng(seed).normal(size=shape)
    for name in ("fft", "ifft", "rfft", "fftn", "ihfft", "fftshift"):
        want = getattr(np.fft, name)(host)
        np.testing.assert_allclose(np.asarray(getattr(fg.fft, name)(fg.asarray(host))), want)
    alike(fg.fft.fftfreq(5, d=0.5), np.fft.fftfreq(5, d=0.5))
