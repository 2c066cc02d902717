//! Operators that move cells: transpose, diagonal, order of rows, reshape.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::{Call, Known},
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Inputs, Memory, Operator, Purity, Zeros,
    },
};
use crate::{Characteristics, DataType, variable_info::VariableInfo};

/// What the operators of a matrix alone have in common.
fn moved(doc: &'static str, function: &'static str, memory: Memory) -> Facts<'static> {
    Facts {
        doc,
        inputs: Inputs::matrix(),
        gives: Gives::Always(DataType::Matrix),
        purity: Purity::Pure,
        finite: Finite::Kept,
        certain: Certain::Sizes,
        total: Certain::Sizes,
        zeros: Zeros::Unknown,
        memory,
        form: Form::Function(function),
    }
}

pub(super) struct Transpose;

impl Operator for Transpose {
    fn code(&self) -> Cow<'static, str> {
        "r(t)".into()
    }

    fn facts(&self) -> Facts<'_> {
        moved("Transpose.", "t", Memory::COORDINATES)
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let size = call.size_of(0);
        Ok(VariableInfo::matrix(Characteristics {
            rows: size.cols,
            cols: size.rows,
            nnz: size.nnz,
        }))
    }
}

pub(super) struct Diag;

impl Operator for Diag {
    fn code(&self) -> Cow<'static, str> {
        "r(diag)".into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            total: Certain::If(|_, inputs| inputs.iter().all(has_diagonal)),
            ..moved(
                "The diagonal matrix of a column vector, or the diagonal of a square matrix.",
                "diag",
                Memory::ROW_POINTERS,
            )
        }
    }

    /// A column becomes a diagonal matrix, a square matrix its diagonal: the rows stay in either case.
    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let size = call.size_of(0);
        let (cols, nnz) = match (size.rows, size.cols) {
            (rows, Some(1)) => (rows, size.nnz),
            (Some(rows), Some(cols)) if rows != cols => {
                return Err(call
                    .mismatch(format!("diag of a matrix that is {}", call.shape(0)))
                    .with_help("diag takes a column vector or a square matrix"));
            }
            (rows, Some(_)) => (Some(1), rows.zip(size.nnz).map(|(rows, nnz)| nnz.min(rows))),
            (_, None) => (None, None),
        };
        Ok(VariableInfo::matrix(Characteristics {
            rows: size.rows,
            cols,
            nnz,
        }))
    }
}

fn has_diagonal(input: &Known) -> bool {
    input.size.cols == Some(1) || input.size.rows == input.size.cols
}

pub(super) struct Rev;

impl Operator for Rev {
    fn code(&self) -> Cow<'static, str> {
        "r(rev)".into()
    }

    fn facts(&self) -> Facts<'_> {
        moved("The rows in reverse order.", "rev", Memory::ROW_POINTERS)
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(VariableInfo::matrix(call.size_of(0)))
    }
}

pub(super) struct Reshape {
    pub by_row: bool,
}

impl Operator for Reshape {
    fn code(&self) -> Cow<'static, str> {
        match self.by_row {
            true => "r(rshape)".into(),
            false => "r(rshape-bycol)".into(),
        }
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: match self.by_row {
                true => "The cells in another shape, row after row.",
                false => "The cells in another shape, column after column.",
            },
            inputs: Inputs::of(&[
                ("matrix", Accepts::Matrix),
                ("rows", Accepts::Scalar),
                ("cols", Accepts::Scalar),
            ]),
            gives: Gives::Always(DataType::Matrix),
            purity: Purity::Pure,
            finite: Finite::Of(&[0]),
            certain: Certain::Sizes,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: match self.by_row {
                true => Form::Function("matrix"),
                false => Form::Option("matrix", "byrow=FALSE"),
            },
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let input = call.size_of(0);
        let (mut rows, mut cols) = (call.size(1)?, call.size(2)?);
        if let Some(cells) = input.cells() {
            let side = |other: Option<u64>| cells.checked_div(other.filter(|other| *other > 0)?);
            (rows, cols) = (rows.or_else(|| side(cols)), cols.or_else(|| side(rows)));
            if let (Some(rows), Some(cols)) = (rows, cols)
                && rows.checked_mul(cols) != Some(cells)
            {
                return Err(call
                    .mismatch(format!(
                        "{} has {cells} cells, which do not fill {rows} x {cols}",
                        call.shape(0)
                    ))
                    .with_help("the new shape needs as many cells as the matrix has"));
            }
        }
        Ok(VariableInfo::matrix(Characteristics {
            rows,
            cols,
            nnz: input.nnz,
        }))
    }
}
