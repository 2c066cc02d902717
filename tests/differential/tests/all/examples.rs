//! The example scripts give the same weights in every mode: fused by each policy or not at all, dense or CSR, one thread
//! or two, on one machine or as dataflow over stripes.

use fulgurite_differential_tests::{Script, data};

#[test]
fn mlogreg_agrees_in_every_mode() {
    let x = data::features(400, 15, 0.3, 1);
    let y = data::labels(&x, 2, |score| (2.0 + 2.0 * score).round().clamp(1.0, 4.0));
    Script::new(
        "mlogreg.dml",
        include_str!("../../../../examples/mlogreg.dml"),
    )
    .argument("icpt", 1)
    .argument("reg", 1)
    .argument("tol", 1e-12)
    .input("X", &x)
    .input("y", &y)
    .outputs(&["B"])
    .agrees_in_every_mode();
}

#[test]
fn l2svm_agrees_in_every_mode() {
    let x = data::features(400, 15, 0.3, 3);
    let labels = data::labels(&x, 4, |score| if score > 0.0 { 1.0 } else { -1.0 });
    Script::new("l2svm.dml", include_str!("../../../../examples/l2svm.dml"))
        .argument("icpt", 1)
        .argument("reg", 1)
        .argument("tol", 1e-13)
        .input("X", &x)
        .input("labels", &labels)
        .outputs(&["w"])
        .agrees_in_every_mode();
}

#[test]
fn linreg_cg_agrees_in_every_mode() {
    let x = data::features(400, 15, 0.3, 5);
    let y = data::labels(&x, 6, |score| 3.0 * score + 1.0);
    Script::new(
        "linreg_cg.dml",
        include_str!("../../../../examples/linreg_cg.dml"),
    )
    .argument("icpt", 1)
    .argument("reg", 0.1)
    .input("X", &x)
    .input("y", &y)
    .outputs(&["B"])
    .agrees_in_every_mode();
}
