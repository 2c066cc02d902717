//! The matrix product.

use std::borrow::Cow;

use fulgurite_error::{Code, Result};

use super::{
    call::Call,
    estimates::{known_sparsity, product_is_zero, share},
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Inputs, Memory, Operator, Purity, Zeros,
    },
};
use crate::{Characteristics, DataType, variable_info::VariableInfo};

pub(super) struct MatMult;

impl Operator for MatMult {
    fn code(&self) -> Cow<'static, str> {
        "ba(+*)".into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "Matrix product.",
            inputs: Inputs::of(&[("left", Accepts::Matrix), ("right", Accepts::Matrix)]),
            gives: Gives::Always(DataType::Matrix),
            purity: Purity::Pure,
            finite: Finite::Unknown,
            certain: Certain::Sizes,
            total: Certain::Sizes,
            zeros: Zeros::Unknown,
            memory: Memory::COORDINATES,
            form: Form::Infix("%*%"),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let (left, right) = (call.size_of(0), call.size_of(1));
        if let (Some(cols), Some(rows)) = (left.cols, right.rows)
            && cols != rows
        {
            return Err(call
                .mismatch(format!(
                    "shapes do not fit: {} %*% {}",
                    call.shape(0),
                    call.shape(1)
                ))
                .with_code(Code::ShapesDiffer)
                .with_help("the left operand needs as many columns as the right one has rows"));
        }
        let size = Characteristics::new(left.rows, right.cols, None);
        let is_empty = |size: &Characteristics| size.nnz == Some(0);
        // None at all is certain: neither an estimate that vanished, nor zeros that may meet NaN or infinity.
        let certain = (is_empty(&left) || is_empty(&right)) && product_is_zero(call, 0, 1)
            || left.cols.or(right.rows) == Some(0);
        let least = if certain { 0 } else { 1 };
        let nnz = nnz(&left, &right, size.cells());
        let nnz = nnz.map(|nnz| nnz.max(least.min(size.cells().unwrap_or(1))));
        Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
    }
}

/// A cell stays zero if none of its `k` products is non-zero: `(1 - s1 s2)^k`.
fn nnz(left: &Characteristics, right: &Characteristics, cells: Option<u64>) -> Option<u64> {
    if left.nnz.is_none() && right.nnz.is_none() {
        return None;
    }
    let common = left.cols.or(right.rows)?;
    let sparsity = |size| known_sparsity(size).unwrap_or(1.0);
    let zero = (1.0 - sparsity(left) * sparsity(right)).powf(common as f64);
    Some(share(1.0 - zero, cells?))
}
