//! Contingency tables.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    operator::{
        Accepts, Beside, Certain, Facts, Finite, Form, Gives, Inputs, Memory, More, Operator,
        Purity, Zeros,
    },
};
use crate::{Characteristics, DataType, variable_info::VariableInfo};

pub(super) struct Table;

impl Operator for Table {
    fn code(&self) -> Cow<'static, str> {
        "t(ctable)".into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "Contingency table: the weight of each pair of categories, from 1.",
            inputs: Inputs {
                first: &[
                    ("A", Accepts::MatrixOrScalar),
                    ("B", Accepts::MatrixOrScalar),
                    ("weights", Accepts::MatrixOrScalar),
                ],
                more: More::Together(&[("rows", Accepts::Scalar), ("cols", Accepts::Scalar)]),
            },
            gives: Gives::Always(DataType::Matrix),
            purity: Purity::Pure,
            finite: Finite::Unknown,
            certain: Certain::No,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory {
                on_coordinates: false,
                // The non-zeros gather in a hash table (cell index and sum) before the output's layout is chosen.
                beside: Beside::Bytes(|output, _| {
                    let pairs = output.nnz.or(output.cells())?;
                    Some(pairs.saturating_mul(16))
                }),
            },
            form: Form::Function("table"),
        }
    }

    /// Without output sizes the data decide: rows are known only for `table(seq(1, n), v)`, which has a row
    /// for each row of `v` by definition, and columns only for a scalar B.
    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        same_shapes(call)?;
        let (rows, cols) = if call.arity() == 5 {
            (call.size(3)?, call.size(4)?)
        } else {
            let rows = call
                .counts_rows(0)
                .then(|| call.size_of(0).rows.or(rows_of_column(call)))
                .flatten();
            let cols = match call.is_scalar(1) {
                true => call.size(1)?,
                false => None,
            };
            (rows, cols)
        };
        let size = Characteristics::new(rows, cols, None);
        let pairs = call.size_of(0).cells();
        let nnz = match (pairs, size.cells()) {
            (Some(pairs), Some(cells)) => Some(pairs.min(cells)),
            (pairs, _) => pairs,
        };
        Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
    }
}

/// Of the second input, which may be a row that pairs up with the sequence.
fn rows_of_column(call: &dyn Call) -> Option<u64> {
    let categories = call.size_of(1);
    categories.rows.filter(|_| categories.cols == Some(1))
}

/// Vectors pair up in their order, rows with columns too.
fn same_shapes(call: &dyn Call) -> Result<()> {
    let first = call.size_of(0);
    for place in [1, 2] {
        if !call.is_matrix(place) {
            continue;
        }
        let other = call.size_of(place);
        let differ = |left: Option<u64>, right: Option<u64>| {
            left.zip(right).is_some_and(|(left, right)| left != right)
        };
        let is_vector = |size: Characteristics| size.rows == Some(1) || size.cols == Some(1);
        let differ = match is_vector(first) && is_vector(other) {
            true => differ(first.cells(), other.cells()),
            false => differ(first.rows, other.rows) || differ(first.cols, other.cols),
        };
        if differ {
            return Err(call
                .mismatch(format!(
                    "shapes do not fit: {} and {}",
                    call.shape(0),
                    call.shape(place)
                ))
                .with_help("the matrices of a table pair up cell by cell"));
        }
    }
    Ok(())
}
