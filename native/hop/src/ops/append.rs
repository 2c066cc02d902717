//! Matrices and frames side by side, or one below the other.

use std::borrow::Cow;

use fulgurite_error::{Code, Result};

use super::{
    call::Call,
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Input, Inputs, Memory, More, Operator,
        Purity, Zeros,
    },
};
use crate::{Characteristics, DataType, ValueType, variable_info::VariableInfo};

/// Frames bind as matrices do.
const PARTS: Inputs = {
    const PART: Input = ("matrix", Accepts::NoScalar);
    Inputs {
        first: &[PART, PART],
        more: More::Repeated(PART),
    }
};

/// What both have in common.
fn append(doc: &'static str, function: &'static str) -> Facts<'static> {
    Facts {
        doc,
        inputs: PARTS,
        gives: Gives::Usually(DataType::Matrix, ValueType::Double),
        purity: Purity::Pure,
        finite: Finite::Kept,
        certain: Certain::Sizes,
        total: Certain::Sizes,
        zeros: Zeros::Unknown,
        memory: Memory::COORDINATES,
        form: Form::Function(function),
    }
}

pub(super) struct CBind;

impl Operator for CBind {
    fn code(&self) -> Cow<'static, str> {
        "b(cbind)".into()
    }

    fn facts(&self) -> Facts<'_> {
        append("Matrices side by side.", "cbind")
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let sizes = || (0..call.arity()).map(|place| call.size_of(place));
        Ok(bound(
            call,
            common(call, "rows", sizes().map(|size| size.rows))?,
            sum(sizes().map(|size| size.cols)),
        ))
    }
}

pub(super) struct RBind;

impl Operator for RBind {
    fn code(&self) -> Cow<'static, str> {
        "b(rbind)".into()
    }

    fn facts(&self) -> Facts<'_> {
        append("Matrices one below the other.", "rbind")
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let sizes = || (0..call.arity()).map(|place| call.size_of(place));
        Ok(bound(
            call,
            sum(sizes().map(|size| size.rows)),
            common(call, "columns", sizes().map(|size| size.cols))?,
        ))
    }
}

fn bound(call: &dyn Call, rows: Option<u64>, cols: Option<u64>) -> VariableInfo {
    let nnz = sum((0..call.arity()).map(|place| call.size_of(place).nnz));
    VariableInfo {
        characteristics: Characteristics { rows, cols, nnz },
        constant: None,
        // Frames bind as matrices do.
        ..call.input(0).clone()
    }
}

fn sum(mut sizes: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    sizes.try_fold(0u64, |sum, size| sum.checked_add(size?))
}

/// The number that all inputs have of what is named.
fn common(
    call: &dyn Call,
    what: &str,
    sizes: impl Iterator<Item = Option<u64>>,
) -> Result<Option<u64>> {
    let mut known = sizes.flatten();
    let first = known.next();
    if known.all(|size| Some(size) == first) {
        return Ok(first);
    }
    let shapes: Vec<String> = (0..call.arity()).map(|place| call.shape(place)).collect();
    Err(call
        .mismatch(format!("shapes do not fit: {}", shapes.join(" and ")))
        .with_code(Code::ShapesDiffer)
        .with_help(format!("all operands need the same number of {what}")))
}
