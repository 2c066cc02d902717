"""SystemDS's neural network library: each layer forward and backward, each optimizer some steps."""

import numpy as np

import data
from case import Case, Output, add, exclude

LAYERS, OPTIM, NETWORKS = "SystemDS nn layers", "SystemDS nn optim", "SystemDS nn networks"

X = data.normal(6, 5, 201)
D = data.normal(6, 5, 202)
I = data.normal(3, 2 * 5 * 4, 203)  # three images with two channels of 5 x 4
probabilities = np.round(np.abs(X) / np.abs(X).sum(axis=1, keepdims=True), 4)
hot = np.eye(5)[data.rng(204).randint(0, 5, 6)]


def layer(name, script, out, *, family=LAYERS, variant="", **options):
    folder = "optim" if family == OPTIM else "layers"
    inputs = {key: options.pop(key) for key in list(options) if key not in ("tolerance", "note")}
    add(
        Case(
            family,
            f"{name}{variant}",
            [name],
            f'source("scripts/nn/{folder}/{name}.dml") as layer\n{script}',
            Output.parse(out),
            inputs,
            **options,
        )
    )


for name in "gelu leaky_relu relu selu sigmoid silu tanh".split():
    layer(name, "out = layer::forward(X)\ndX = layer::backward(D, X)", "out, dX", X=X, D=D)
layer("elu", "out = layer::forward(X, 1)\ndX = layer::backward(D, X, 1)", "out, dX", X=X, D=D)
layer("softmax", "out = layer::forward(X)\ndX = layer::backward(D, X)", "out, dX", X=X, D=D)
layer("softmax2d", "out = layer::forward(X, 2)\ndX = layer::backward(D, X, 2)", "out, dX", X=I, D=I[::-1] / 2)
for name in "cross_entropy_loss log_loss l1_loss l2_loss logcosh_loss".split():
    target = (hot[:, :1], probabilities[:, :1]) if name == "log_loss" else (hot, probabilities)
    layer(name, "loss = layer::forward(P, Y)\ndP = layer::backward(P, Y)", "loss:scalar, dP", P=target[1], Y=target[0])
layer("softmax_cross_entropy_loss", "loss = layer::forward(X, Y)\ndX = layer::backward(X, Y)", "loss:scalar, dX", X=X, Y=hot)
channels = np.abs(I) / 10 + 0.05
layer("cross_entropy_loss2d", "loss = layer::forward(P, Y, 2)\ndP = layer::backward(P, Y, 2)", "loss:scalar, dP", P=np.round(channels, 4), Y=(I > 0) * 1.0)
for name in ("l1_reg", "l2_reg"):
    layer(name, "loss = layer::forward(X, 0.3)\ndX = layer::backward(X, 0.3)", "loss:scalar, dX", X=X)
layer("affine", "[W, b] = layer::init(5, 3, 42)\nout = layer::forward(X, W, b)\n[dX, dW, db] = layer::backward(D, X, W, b)", "W, out, dX, dW, db", X=X, D=D[:, :3])
layer("low_rank_affine", "out = layer::forward(X, U, V, b)\n[dX, dU, dV, db] = layer::backward(D, X, U, V, b)", "out, dX, dU, dV, db", X=X, U=data.normal(5, 2, 205), V=data.normal(2, 3, 206), b=data.normal(1, 3, 207), D=D[:, :3])
layer("dropout", "[out, mask] = layer::forward(X, 0.6, 7)\ndX = layer::backward(D, X, 0.6, mask)", "out, mask, dX", X=X, D=D)
layer("embedding", "E = layer::init(7, 4, 5)\nout = layer::forward(J, E)\ndE = layer::backward(dout=D, indices=J, v=7)", "out, dE", J=data.integers(6, 1, 208, 1, 7), D=data.normal(6, 4, 209))
layer("fm", "out = layer::forward(X, w0, W, V)\n[d0, dW, dV] = layer::backward(D, X, w0, W, V)", "out, d0, dW, dV", X=X, w0=[[0.3]], W=data.normal(5, 1, 210), V=data.normal(5, 2, 211), D=D[:, :1])
for mode in ("train", "test"):
    layer(
        "batch_norm1d",
        f'[out, m, v, cm, cv, cn] = layer::forward(X, g, b, "{mode}", em, ev, 0.9, 1e-5)\n[dX, dg, db] = layer::backward(D, out, m, v, cm, cv, cn, X, g, b, "{mode}", em, ev, 0.9, 1e-5)',
        "out, m, v, dX, dg, db",
        variant=f"-{mode}",
        X=X,
        D=D,
        g=data.uniform(1, 5, 212, 1, 2),
        b=data.normal(1, 5, 213),
        em=data.normal(1, 5, 214),
        ev=data.uniform(1, 5, 215, 1, 2),
    )
    for name in ("batch_norm2d", "batch_norm2d_old"):
        layer(
            name,
            f'[out, m, v, cm, ci] = layer::forward(X, g, b, 2, 5, 4, "{mode}", em, ev, 0.9, 1e-5)' + ("\n[dX, dg, db] = layer::backward(D, cm, ci, X, g, 2, 5, 4, 1e-5)" if mode == "train" else ""),
            "out, m, v" + (", dX, dg, db" if mode == "train" else ""),
            variant=f"-{mode}",
            X=I,
            D=I[::-1] / 2,
            g=[[1.5], [0.7]],
            b=[[0.2], [-0.3]],
            em=[[0.1], [0.2]],
            ev=[[1.2], [0.9]],
        )
layer("scale_shift1d", "out = layer::forward(X, g, b)\n[dX, dg, db] = layer::backward(D, out, X, g, b)", "out, dX, dg, db", X=X, D=D, g=data.uniform(1, 5, 212, 1, 2), b=data.normal(1, 5, 213))
layer("scale_shift2d", "out = layer::forward(X, g, b, 2, 5, 4)\n[dX, dg, db] = layer::backward(D, out, X, g, b, 2, 5, 4)", "out, dX, dg, db", X=I, D=I[::-1] / 2, g=[[1.5], [0.7]], b=[[0.2], [-0.3]])
conv = "[out, h, w] = layer::forward(X, W, b, {})\n[dX, dW, db] = layer::backward(out / 10, h, w, X, W, b, {})"
sizes = "2, 5, 4, 3, 2, 2, 1, 1, 1"
for name in ("conv2d", "conv2d_builtin"):
    layer(name, conv.format(sizes, sizes), "out, h:scalar, w:scalar, dX, dW, db", X=I, W=data.normal(3, 12, 216), b=data.normal(3, 1, 217))
layer("conv2d_builtin", "[W, b] = layer::init(3, 2, 3, 2, 5)", "W", variant="-init")
sizes = "5, 4, 2, 3, 2, 1, 1, 1, 1"
layer("conv2d_depthwise", conv.format(sizes, sizes), "out, h:scalar, w:scalar, dX, dW, db", X=I, W=data.normal(2, 12, 218), b=data.normal(4, 1, 219))
sizes = "2, 5, 4, 3, 2, 2, 1, 1, 0, 1, 0"
layer("conv2d_transpose", conv.format(sizes, sizes.rsplit(", ", 2)[0]), "out, h:scalar, w:scalar, dX, dW, db", X=I, W=data.normal(2, 18, 220), b=data.normal(3, 1, 221))
layer("conv2d_transpose", "[W, b] = layer::init_bilinear(2, 4)", "W, b", variant="-bilinear")
sizes = "2, 5, 4, 1, 3, 2, 2, 1, 1, 0, 1, 0"
layer("conv2d_transpose_depthwise", conv.format(sizes, sizes.rsplit(", ", 2)[0]), "out, h:scalar, w:scalar, dX, dW, db", X=I, W=data.normal(2, 6, 222), b=data.normal(2, 1, 223))
pool = "[out, h, w] = layer::forward(X, 2, 5, 4, 2, 2, {0})\ndX = layer::backward(out / 10, h, w, X, 2, 5, 4, 2, 2, {0})"
for name in ("max_pool2d", "max_pool2d_builtin", "avg_pool2d_builtin"):
    layer(name, pool.format("1, 2, 0, 0"), "out, h:scalar, w:scalar, dX", X=I)
    layer(name, pool.format("2, 1, 1, 1"), "out, h:scalar, w:scalar, dX", variant="-padded", X=I)
layer("global_avg_pool2d", "[out, h, w] = layer::forward(X, 2, 5, 4)\ndX = layer::backward(out / 10, X, 2, 5, 4)", "out, h:scalar, w:scalar, dX", X=I)
layer("upsample2d", "out = layer::forward(X, 2, 5, 4, 2, 3)\ndX = layer::backward(out / 10, 2, 5, 4, 2, 3)", "out, dX", X=I)
layer("lrn", "out = layer::forward(X, 4, 5, 2, 3, 0.1, 0.75, 2)\ndX = layer::backward(out / 10, X, 4, 5, 2, 3, 0.1, 0.75, 2)", "out, dX", X=I)
sequences = data.normal(2, 12, 224)  # two sequences of three steps of four features
weights, bias = data.normal(7, 12, 225), data.normal(1, 12, 226)
start = {"out0": data.normal(2, 3, 227), "c0": data.normal(2, 3, 228)}
for flag, columns in (("TRUE", 9), ("FALSE", 3)):
    variant = "-sequences" if flag == "TRUE" else ""
    steps = {"X": sequences, "D": data.normal(2, columns, 229)}
    layer(
        "lstm",
        f"[out, c, co, cc, ci] = layer::forward(X, W, b, 3, 4, {flag}, out0, c0)\n[dX, dW, db, do, dc] = layer::backward(D, C, X, W, b, 3, 4, {flag}, out0, c0, co, cc, ci)",
        "out, c, dX, dW, db, do, dc",
        variant=variant,
        W=weights,
        b=bias,
        C=data.normal(2, 3, 230),
        **start,
        **steps,
    )
    layer(
        "lstm_staging",
        f"[out, c] = layer::forward(X, W, b, {flag}, out0, c0)\n[dX, dW, db, do, dc] = layer::backward(D, C, X, W, b, {flag}, out0, c0)",
        "out, c, dX, dW, db, do, dc",
        variant=variant,
        W=weights,
        b=bias,
        C=data.normal(2, 3, 230),
        **start,
        **steps,
    )
    layer(
        "rnn",
        f"[out, co] = layer::forward(X, W, b, 3, 4, {flag}, out0)\n[dX, dW, db, do] = layer::backward(D, X, W, b, 3, 4, {flag}, out0, co)",
        "out, dX, dW, db, do",
        variant=variant,
        W=data.normal(7, 3, 231),
        b=data.normal(1, 3, 232),
        out0=start["out0"],
        **steps,
    )
layer(
    "bilstm",
    "[out, c, co, cc, ci] = layer::forward(X, W, V, b, a, 3, 4, TRUE, out0, c0)",
    "out, c",
    X=sequences,
    W=weights,
    V=data.normal(7, 12, 233),
    b=bias,
    a=data.normal(1, 12, 234),
    out0=data.normal(4, 3, 227),
    c0=data.normal(4, 3, 228),
)
layer("attention", "out = layer::forward(Q, V, K, 4, A)", "out", Q=data.normal(2, 12, 235), V=data.normal(2, 12, 236), K=data.normal(2, 12, 237), A=np.zeros((1, 1)))
layer(
    "multi_attention",
    "[out, A, mask] = layer::forward(Q, K, V, 2, 3, 4, 0.0)\n[dQ, dK, dV] = layer::backward(D, mask, A, Q, K, V, 2, 3, 4, 0.0)",
    "out, A, dQ, dK, dV",
    Q=data.normal(2, 24, 235),
    V=data.normal(2, 24, 236),
    K=data.normal(2, 24, 237),
    D=data.normal(2, 24, 238),
)
layer(
    "bert_layer",
    "[out, m, v, n] = layer::layer_norm_forward(X, g, b, 1e-5, 3, 4)\n[dX, dg, db] = layer::layer_norm_backward(X / 2, m, v, n, X, g, b, 1e-5, 3, 4)\nL = layer::linear_tensor_forward(X, W, c, 3, 4)",
    "out, dX, dg, db, L",
    X=data.normal(2, 12, 239),
    g=data.normal(1, 4, 240),
    b=data.normal(1, 4, 241),
    W=data.normal(4, 4, 242),
    c=data.normal(1, 4, 243),
)
layer(
    "conv1d",
    "out = layer::forward(X, F, 1, 1, 2, 3, 6, 2, 3)\ndX = layer::backward_data(F, out / 10, 1, 1, 2, 3, 6, 2, 3)\ndF = layer::backward_filter(X, out / 10, 1, 1, 2, 3, 6, 2, 3)",
    "out, dX, dF",
    X=data.normal(2, 18, 244),
    F=data.normal(2, 9, 245),
)
layer(
    "feedForward",
    'L = list(W1=W1, b1=b1, W2=W2, b2=b2, activation="softmax")\nC = layer::feedForward(X, L, TRUE)\nout = as.matrix(C["outs2"])\nP = layer::apply_activation(X, "sigmoid")',
    "out, P",
    X=X,
    W1=data.normal(5, 4, 246),
    b1=data.normal(1, 4, 247),
    W2=data.normal(4, 3, 248),
    b2=data.normal(1, 3, 249),
)
layer(
    "mbconv",
    '[p] = layer::init(2, 2, 3, 3, 2, 0.5, 7)\n[out, o, u, h, w] = layer::forward(X, p, 2, 2, 5, 4, 3, 3, 1, 1, 1, 1, TRUE, 2, "train", 0.5)'.replace("[p] =", "p ="),
    "out, h:scalar, w:scalar",
    X=I,
)
layer(
    "lenetForwardPass",
    'W1 = rand(rows=2, cols=25, seed=1)\nW2 = rand(rows=3, cols=50, seed=2)\nW3 = rand(rows=12, cols=4, seed=3)\nW4 = rand(rows=4, cols=3, seed=4)\nm = list(W1=W1, b1=matrix(0.1,2,1), W2=W2, b2=matrix(0.1,3,1), W3=W3, b3=matrix(0.1,1,4), W4=W4, b4=matrix(0.1,1,3))\nC = layer::lenetForward(X, 1, 8, 8, m, TRUE)\nout = as.matrix(C["outa4"])',
    "out",
    X=data.normal(3, 64, 250),
)


def optimizer(name, script, out, variant="", **options):
    layer(name, script, out, family=OPTIM, variant=variant, X=data.normal(4, 3, 251), G=data.normal(4, 3, 252), **options)


three = "for (i in 1:3) {{ {} }}"
optimizer("sgd", three.format("X = layer::update(X, G * i, 0.1)"), "X")
for name in ("sgd_momentum", "sgd_nesterov"):
    optimizer(name, "v = layer::init(X)\n" + three.format("[X, v] = layer::update(X, G * i, 0.1, 0.9, v)"), "X, v")
optimizer("adagrad", "c = layer::init(X)\n" + three.format("[X, c] = layer::update(X, G * i, 0.1, 1e-6, c)"), "X, c")
optimizer("rmsprop", "c = layer::init(X)\n" + three.format("[X, c] = layer::update(X, G * i, 0.1, 0.99, 1e-8, c)"), "X, c")
optimizer("adam", "[m, v] = layer::init(X)\n" + three.format("[X, m, v] = layer::update(X, G * i, 0.1, 0.9, 0.999, 1e-8, i - 1, m, v)"), "X, m, v")
optimizer("adamw", "[m, v] = layer::init(X)\n" + three.format("[X, m, v] = layer::update(X, G * i, 0.1, 0.9, 0.999, 1e-8, 0.01, i - 1, m, v)"), "X, m, v")
optimizer("lars", "v = layer::init(X)\n" + three.format("[X, v] = layer::update(X, G * i, 0.1, 0.9, v, 0.01, 0.001)"), "X, v")
optimizer("lars_util", "a = layer::get_lr_with_warmup(0.1, 3, 5, 20, 10, 512, 256, 5, 2)\nb = layer::get_lr_with_warmup(0.1, 9, 5, 20, 10, 512, 256, 5, 2)", "a:scalar, b:scalar")
optimizer("scaled_gd", "Y = X + 1\nr = layer::init(X, Y)\n[X, Y] = layer::update(X, Y, G, G * 2, 0.1, r)", "X, Y")
for threshold in (1, 100):
    optimizer("shampoo", f"[L, R, d] = layer::init(X, 1e-4, {threshold})\n" + three.format("[X, L, R] = layer::update(X, G * i, 0.1, L, R, d)"), "X, L, R", f"-{threshold}", tolerance=1e-6)

for name, reason in {
    "alexnet": "an ImageNet model: minutes a pass on any system",
    "resnet101": "an ImageNet model: minutes a pass on any system",
    "resnet152": "an ImageNet model: minutes a pass on any system",
    "resnet50": "an ImageNet model: minutes a pass on any system",
}.items():
    exclude(name, reason, NETWORKS)
for depth in (18, 34):
    add(
        Case(
            NETWORKS,
            f"resnet{depth}",
            [f"resnet{depth}"],
            f'source("scripts/nn/networks/resnet{depth}.dml") as net\nX = rand(rows=1, cols=3*32*32, seed=5)\n[m, e] = net::init(10, 7)\nL = as.matrix(length(m))\nE = as.matrix(length(e))',
            Output.parse("L, E"),
            note="the model's parts only: its forward pass takes images of 224 x 224",
        )
    )
