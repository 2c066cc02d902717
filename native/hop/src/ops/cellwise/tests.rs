//! That what operators declare holds of their functions.

use fulgurite_matrix::vector_math::Cells;

use super::*;

#[test]
fn declared_zeros_hold() {
    for op in UnaryOp::ALL {
        assert_eq!(op.keeps_zero(), op.eval(0.0) == 0.0, "{op:?}");
    }
    for op in BinaryOp::ALL {
        let others = [-2.5, 0.5, 3.0];
        if op.zero_on_left_zero() {
            assert!(others.iter().all(|y| op.eval(0.0, *y) == 0.0), "{op:?}");
        }
        if op.zero_on_right_zero() {
            assert!(others.iter().all(|x| op.eval(*x, 0.0) == 0.0), "{op:?}");
        }
        if op.zero_on_both_zero() {
            assert_eq!(op.eval(0.0, 0.0), 0.0, "{op:?}");
        }
    }
    for op in TernaryOp::ALL {
        assert_eq!(
            op.zero_on_all_zero(),
            op.eval(0.0, 0.0, 0.0) == 0.0,
            "{op:?}"
        );
    }
}

#[test]
fn rounding_and_modulo_follow_java_and_r() {
    let round = |x| UnaryOp::Round.eval(x);
    assert_eq!(
        [0.5, 1.5, 2.5, -0.5, -1.5, -2.5].map(round),
        [1.0, 2.0, 3.0, 0.0, -1.0, -2.0]
    );
    assert_eq!(
        [1e300, -1e300, f64::INFINITY].map(round),
        [1e300, -1e300, f64::INFINITY]
    );
    assert!(round(f64::NAN).is_nan());
    let modulo = |x, y| BinaryOp::Modulus.eval(x, y);
    assert_eq!(
        [modulo(-5.0, 3.0), modulo(5.0, -3.0), modulo(5.0, 3.0)],
        [1.0, -1.0, 2.0]
    );
    assert!(modulo(1.0, 0.0).is_nan());
}

#[test]
fn powers_follow_java() {
    let pow = |x, y| BinaryOp::Pow.eval(x, y);
    assert_eq!(
        [pow(f64::NAN, 0.0), pow(0.0, 0.0), pow(2.0, -1.0)],
        [1.0, 1.0, 0.5]
    );
    let nan = f64::NAN;
    for (x, y) in [
        (1.0, nan),
        (1.0, f64::INFINITY),
        (-1.0, f64::NEG_INFINITY),
        (-8.0, 1.0 / 3.0),
    ] {
        assert!(pow(x, y).is_nan(), "{x}^{y}");
    }
    assert_eq!(pow(0.5, f64::INFINITY), 0.0);
}

const CELLS: [f64; 14] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.25,
    2.0,
    -3.0,
    300.0,
    5e-324,
    f64::MAX,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    -712.0,
];

fn alike(got: f64, want: f64) -> bool {
    let close = want.is_finite() && (got - want).abs() <= 1e-14 * want.abs();
    got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()) || close
}

#[test]
fn forms_agree_with_the_scalar_functions() {
    for op in UnaryOp::ALL {
        let mut out = [0.0; CELLS.len()];
        op.eval_cells(&CELLS, &mut out);
        for (x, got) in CELLS.iter().zip(out) {
            let want = op.eval(*x);
            assert!(alike(got, want), "{op:?}({x}) = {got}, not {want}");
        }
    }
    for op in BinaryOp::ALL {
        for y in CELLS {
            let mut out = [0.0; CELLS.len()];
            op.eval_cells(Cells::Each(&CELLS), Cells::Same(y), &mut out);
            for (x, got) in CELLS.iter().zip(out) {
                let want = op.eval(*x, y);
                assert!(alike(got, want), "{op:?}({x}, {y}) = {got}, not {want}");
            }
        }
    }
}

#[test]
fn operators_that_keep_zeros_do_so_in_their_vector_form() {
    for op in UnaryOp::ALL.iter().filter(|op| op.keeps_zero()) {
        let mut out = [1.0];
        op.eval_cells(&[0.0], &mut out);
        assert_eq!(out, [0.0], "{op:?}");
    }
}
