//! Which operators have a vector form: the same function over slices, several cells at a time.
//!
//! Basic kernels and compiled code both take it from here, so that a fused operator gives the same bits as the basic ones. Operators
//! without one are either a few instructions, for which kernels are compiled in place, or too rare to matter (`%%`).

use fulgurite_matrix::vector_math::{self, BinaryForm, Cells, UnaryForm};

use super::{BinaryOp, UnaryOp};

impl UnaryOp {
    pub fn vector_form(self) -> Option<UnaryForm> {
        use UnaryOp::*;
        match self {
            Exp => Some(vector_math::exp),
            Log => Some(vector_math::log),
            Sin => Some(vector_math::sin),
            Cos => Some(vector_math::cos),
            Tan => Some(vector_math::tan),
            Asin => Some(vector_math::asin),
            Acos => Some(vector_math::acos),
            Atan => Some(vector_math::atan),
            Sinh => Some(vector_math::sinh),
            Cosh => Some(vector_math::cosh),
            Tanh => Some(vector_math::tanh),
            Sigmoid => Some(vector_math::sigmoid),
            Sqrt | Abs | Round | Floor | Ceil | Sign | Not | Sprop | Pow2 => None,
        }
    }

    /// The function of each cell, by the vector form where there is one; slices are of one length.
    pub fn eval_cells(self, x: &[f64], out: &mut [f64]) {
        if let Some(form) = self.vector_form() {
            return form(x, out);
        }
        if self == UnaryOp::Sqrt {
            return vector_math::sqrt(x, out);
        }
        for (out, x) in out.iter_mut().zip(x) {
            *out = self.eval(*x);
        }
    }
}

impl BinaryOp {
    pub fn vector_form(self) -> Option<BinaryForm> {
        match self {
            BinaryOp::Pow => Some(vector_math::pow),
            BinaryOp::LogBase => Some(vector_math::log_base),
            _ => None,
        }
    }

    /// The function of each pair of cells, by the vector form where there is one; stretches are of one length.
    pub fn eval_cells(self, x: Cells, y: Cells, out: &mut [f64]) {
        if let Some(form) = self.vector_form() {
            return form(x, y, out);
        }
        if self == BinaryOp::Div {
            return vector_math::divide(x, y, out);
        }
        for (index, out) in out.iter_mut().enumerate() {
            *out = self.eval(x.at(index), y.at(index));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
