//! Layers of neural networks in scripts.

use fulgurite_error::ErrorKind;
use fulgurite_matrix::MatrixBlock;

use crate::common::{Script, exact, script};

/// Images of 2 channels with 4 x 5 pixels.
const IMAGES: usize = 6;

fn inputs(text: &str) -> Script {
    script(text)
        .matrix("X", exact(IMAGES, 40, 1))
        .matrix("W", exact(3, 12, 2))
        .matrix("b", exact(3, 1, 3))
        .output("R")
}

fn bits(matrix: &MatrixBlock) -> Vec<u64> {
    let matrix = matrix.to_dense().unwrap();
    matrix.values().iter().map(|cell| cell.to_bits()).collect()
}

/// A layer with bias and its rectified results, and what follows from it by the language's other functions.
const NETWORK: &str = "
    Y = conv2d(X, W, input_shape=[nrow(X), 2, 4, 5], filter_shape=[3, 2, 2, 3], stride=[1, 2], padding=[0, 1])
    A = max(bias_add(Y, b), 0)
    P = max_pool(A, input_shape=[nrow(X), 3, 3, 3], pool_size=[2, 2])
    dA = max_pool_backward(A, P, input_shape=[nrow(X), 3, 3, 3], pool_size=[2, 2])
    dY = dA * (A > 0)
    dW = conv2d_backward_filter(X, dY, input_shape=[nrow(X), 2, 4, 5], filter_shape=[3, 2, 2, 3], stride=[1, 2], padding=[0, 1])
    dX = conv2d_backward_data(W, dY, input_shape=[nrow(X), 2, 4, 5], filter_shape=[3, 2, 2, 3], stride=[1, 2], padding=[0, 1])
    Q = avg_pool(dX, input_shape=[nrow(X), 2, 4, 5], pool_size=[4, 5], stride=[4, 5])
    dQ = avg_pool_backward(dX, Q, input_shape=[nrow(X), 2, 4, 5], pool_size=[4, 5], stride=[4, 5])
    [out, m, v, mean, inv] = batch_norm2d(A, abs(b) + 1, b, b, abs(b), \"train\", 0.5, 0.75)
    [dO, dg, db] = batch_norm2d_backward(A, out, abs(b) + 1, 0.5, mean, inv)
    R = rbind(matrix(dW, rows=36, cols=1), matrix(dX + dQ, rows=nrow(X)*40, cols=1), matrix(dO, rows=nrow(X)*27, cols=1), m, v, dg, db)
";

#[test]
fn results_are_the_same_fused_and_not_and_on_stripes() {
    let plain = inputs(NETWORK)
        .config("fulgurite.fusion.policy", "none")
        .run();
    let plain = plain.matrix("R");
    assert!(plain.values().iter().any(|cell| *cell != 0.0));
    let fused = inputs(NETWORK).run().matrix("R");
    let close = |left: &MatrixBlock| {
        let (left, right) = (left.to_dense().unwrap(), plain.to_dense().unwrap());
        let cells = left.values().iter().zip(right.values());
        cells
            .into_iter()
            .all(|(x, y)| (x - y).abs() <= 1e-9 * y.abs().max(1.0))
    };
    assert!(close(&fused));
    let stripes = script(NETWORK)
        .dataset("X", exact(IMAGES, 40, 1), 2)
        .matrix("W", exact(3, 12, 2))
        .matrix("b", exact(3, 1, 3))
        .output("R")
        .run();
    assert!(close(&stripes.matrix("R")));
}

#[test]
fn bias_and_rectifier_are_one_fused_operator() {
    let text = "
        Y = bias_add(conv2d(X, W, input_shape=[6, 2, 4, 5], filter_shape=[3, 2, 2, 3]), b)
        R = max(Y, 0)
    ";
    let ran = inputs(text)
        .config("fulgurite.fusion.policy", "fuse-all")
        .run();
    let by_hand = "
        C = conv2d(X, W, input_shape=[6, 2, 4, 5], filter_shape=[3, 2, 2, 3])
        B = matrix(b %*% matrix(1, rows=1, cols=9), rows=1, cols=27)
        R = (C + B) * (C + B > 0)
    ";
    let expected = inputs(by_hand).run().matrix("R");
    let found = ran.matrix("R").to_dense().unwrap();
    assert_eq!(found.values(), expected.to_dense().unwrap().values());
    let report = ran.outcome().report.to_string();
    // The steps of its plan.
    for step in ["b(+) %", "b(max) %"] {
        assert!(report.contains(step), "{report}");
    }
}

#[test]
fn a_recurrent_layer_gives_two_results_or_all() {
    let start = "
        W = matrix(seq(1, 7 * 8), rows=7, cols=8) / 100
        s = matrix(seq(1, 12), rows=6, cols=2) / 10
        g = t(seq(1, 8)) / 10
    ";
    let two = format!("{start}
        [out, c] = lstm(X, W, g, s, s, FALSE)
        [dX, dW, db, do, dc] = lstm_backward(X, W, g, s, s, FALSE, out, c)
        R = rbind(matrix(dX, rows=240, cols=1), matrix(dW, rows=56, cols=1), t(db), matrix(do + dc, rows=12, cols=1))");
    let all = format!("{start}
        [out, c, co, cc, ci] = lstm(X, W, g, s, s, FALSE)
        [dX, dW, db, do, dc] = lstm_backward(X, W, g, s, s, FALSE, out, c, co, cc, ci)
        R = rbind(matrix(dX, rows=240, cols=1), matrix(dW, rows=56, cols=1), t(db), matrix(do + dc, rows=12, cols=1))");
    let (two, all) = (inputs(&two).run(), inputs(&all).run());
    assert_eq!(two.matrix("R").rows(), 316);
    assert_eq!(bits(&two.matrix("R")), bits(&all.matrix("R")));
}

#[test]
fn shapes_that_do_not_fit_are_all_named() {
    let text = "
        n = nrow(X) + 1
        R = conv2d(X, W, input_shape=[n, 3, 4, 5], filter_shape=[3, 2, 2, 3])
    ";
    let error = inputs(text).run().result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dimension);
    insta::assert_snapshot!(error.message());
    let error = inputs("R = bias_add(X, b)").run().result.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dimension);
    insta::assert_snapshot!(error.message());
}
