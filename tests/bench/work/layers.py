"""Layers of networks on images, one image a row, and the encoding of categories."""

import numpy as np
from bench_work_rows import File, Row, jax, pandas, sklearn_preprocessing, torch

# 3x3 filters on the images of a small network, channels and size as in its second layer.
IMAGES = [{"n": 64, "c": 16, "side": 32, "filters": 32}]
CODES = [{"n": 10_000_000, "m": 10, "values": 1000}]

SHAPES = "input_shape=[$n,$c,$side,$side], filter_shape=[$filters,$c,3,3], stride=[1,1], padding=[1,1]"
POOL = "input_shape=[$n,$c,$side,$side], pool_size=[2,2], stride=[2,2], padding=[0,0]"


def images(random, n, c, side, filters):
    return {
        "X": random.standard_normal((n, c * side * side)),
        "W": random.standard_normal((filters, c * 9)),
        "b": random.standard_normal((filters, 1)),
    }


def convolved(X, W, n, c, side, filters):
    """By JAX, which compiles it."""
    image, kernel = X.reshape(n, c, side, side), W.reshape(filters, c, 3, 3)
    return jax.lax.conv_general_dilated(image, kernel, (1, 1), "SAME").reshape(n, -1)


def convolved_by_torch(X, W, n, c, side, filters, b=None):
    image, kernel = torch.from_numpy(X).reshape(n, c, side, side), torch.from_numpy(W).reshape(filters, c, 3, 3)
    return torch.nn.functional.conv2d(image, kernel, None if b is None else torch.from_numpy(b)[:, 0], padding=1)


def categories(random, n, m, values):
    """Texts, as a data set has them."""

    def write(path):
        names = np.array([f"value{code}" for code in range(values)])
        columns = {f"c{column}": names[random.integers(values, size=n)] for column in range(m)}
        pandas.DataFrame(columns).to_csv(path, index=False)

    return {"f": File(".csv", write)}


def encoded(f):
    """Reads the file, as the scripts do."""
    frame = pandas.read_csv(f, dtype="category")
    matrix = sklearn_preprocessing.OneHotEncoder().fit_transform(frame)
    return np.array([[matrix.sum(), matrix.nnz]])


def encoding(m, read):
    names = ",".join(f"c{column}" for column in range(m))
    return f"""
        F = {read}
        [X, M] = transformencode(target=F, spec="{{dummycode: [{names}]}}")
        R = cbind(as.matrix(sum(X)), as.matrix(sum(X != 0)))
    """


ROWS = [
    Row(
        "conv2d",
        what="conv2d(X, W), 3x3",
        sizes=IMAGES,
        inputs=images,
        dml=f"R = conv2d(X, W, {SHAPES})",
        systemds=f"R = conv2d(X, W, {SHAPES})",
        peers={"jax": convolved, "torch": lambda X, W, n, c, side, filters: convolved_by_torch(X, W, n, c, side, filters).reshape(n, -1)},
        reach=0.8,
        flops=lambda n, c, side, filters: 18 * n * c * filters * side * side,
    ),
    Row(
        "conv2d-bias-relu",
        what="max(bias_add(conv2d(X, W), b), 0)",
        sizes=IMAGES,
        inputs=images,
        dml=f"R = max(bias_add(conv2d(X, W, {SHAPES}), b), 0)",
        systemds=f"R = max(bias_add(conv2d(X, W, {SHAPES}), b), 0)",
        peers={
            "jax": lambda X, W, b, n, c, side, filters: jax.numpy.maximum(convolved(X, W, n, c, side, filters).reshape(n, filters, -1) + b[:, 0][None, :, None], 0).reshape(n, -1),
            "torch": lambda X, W, b, n, c, side, filters: torch.relu(convolved_by_torch(X, W, n, c, side, filters, b)).reshape(n, -1),
        },
        reach=0.8,
        flops=lambda n, c, side, filters: 18 * n * c * filters * side * side,
    ),
    Row(
        "max-pool",
        what="max_pool(X), 2x2",
        sizes=IMAGES,
        inputs=images,
        dml=f"R = max_pool(X, {POOL})",
        systemds=f"R = max_pool(X, {POOL})",
        peers={
            "numpy": lambda X, n, c, side: X.reshape(n * c, side // 2, 2, side // 2, 2).max(axis=(2, 4)).reshape(n, -1),
            "torch": lambda X, n, c, side: torch.nn.functional.max_pool2d(torch.from_numpy(X).reshape(n, c, side, side), 2).reshape(n, -1),
        },
        reach=1.2,
        tolerance=0,
        bytes=lambda n, c, side: 10 * n * c * side * side,
    ),
    # Both systems of scripts and pandas read the file: 1e7 rows of it are 900 MB.
    Row(
        "one-hot-texts",
        what="read a csv file of texts, transformencode to ones and zeros",
        sizes=CODES,
        inputs=categories,
        dml=encoding(10, 'read($f, data_type="frame", format="csv", header=TRUE)'),
        systemds=encoding(10, 'read($f, data_type="frame", format="csv", header=TRUE)'),
        peers={"sklearn": encoded},
        reach=1.2,
        tolerance=0,
    ),
]
