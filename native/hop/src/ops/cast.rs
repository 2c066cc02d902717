//! Values as another type.

use std::borrow::Cow;

use fulgurite_error::{Code, Result};

use super::{
    call::{Call, Known},
    declare::operators,
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Inputs, Memory, Operator, Purity, Zeros,
    },
};
use crate::{Characteristics, DataType, ValueType, variable_info::VariableInfo};

struct CastFacts {
    /// Also the name of the function.
    code: &'static str,
    gives: DataType,
    finite: Finite,
    certain: Certain,
    total: Certain,
    size: fn(&dyn Call) -> Result<VariableInfo>,
}

const SINGLE_CELLS: Certain = Certain::If(|_, inputs| {
    let is_single_cell = |input: &Known| {
        input.is_matrix() && (input.size.rows, input.size.cols) == (Some(1), Some(1))
    };
    inputs.iter().all(is_single_cell)
});

operators! {
    /// Values as another type.
    CastOp: CastFacts;
    /// The number in a 1 x 1 matrix.
    AsScalar {
        code: "as.scalar", gives: DataType::Scalar, finite: Finite::Kept,
        certain: SINGLE_CELLS, total: SINGLE_CELLS, size: as_scalar,
    }
    /// A number as a 1 x 1 matrix, or a list of numbers as a column vector.
    AsMatrix {
        code: "as.matrix", gives: DataType::Matrix, finite: Finite::Kept,
        certain: Certain::Sizes, total: Certain::No, size: as_matrix,
    }
    /// A scalar as a double.
    AsDouble {
        code: "as.double", gives: DataType::Scalar, finite: Finite::Kept,
        certain: Certain::No, total: Certain::No, size: |_| Ok(VariableInfo::scalar(ValueType::Double)),
    }
    /// A scalar as an int, without its fraction.
    AsInteger {
        code: "as.integer", gives: DataType::Scalar, finite: Finite::Unknown,
        certain: Certain::No, total: Certain::No, size: |_| Ok(VariableInfo::scalar(ValueType::Int)),
    }
    /// A scalar as a boolean.
    AsLogical {
        code: "as.logical", gives: DataType::Scalar, finite: Finite::Unknown,
        certain: Certain::No, total: Certain::No, size: |_| Ok(VariableInfo::scalar(ValueType::Boolean)),
    }
    /// A value as a frame.
    AsFrame {
        code: "as.frame", gives: DataType::Frame, finite: Finite::Unknown,
        certain: Certain::No, total: Certain::No, size: as_frame,
    }
}

impl Operator for CastOp {
    fn code(&self) -> Cow<'static, str> {
        format!("u({})", CastOp::code(*self)).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.declared();
        Facts {
            doc: self.doc(),
            inputs: Inputs::of(&[("value", Accepts::Any)]),
            gives: Gives::Always(declared.gives),
            purity: Purity::Pure,
            finite: declared.finite,
            certain: declared.certain,
            total: declared.total,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: Form::Function(declared.code),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        (self.declared().size)(call)
    }
}

fn as_scalar(call: &dyn Call) -> Result<VariableInfo> {
    if call.input(0).data_type != DataType::Matrix {
        return Ok(VariableInfo::scalar(call.declared().value_type));
    }
    let size = call.size_of(0);
    match (size.rows, size.cols) {
        (Some(1) | None, Some(1) | None) => Ok(VariableInfo::scalar(ValueType::Double)),
        _ => Err(call
            .mismatch(format!("as.scalar of a matrix that is {}", call.shape(0)))
            .with_code(Code::NotOneCell)
            .with_help("only a 1 x 1 matrix has a scalar; index one cell first")),
    }
}

fn as_matrix(call: &dyn Call) -> Result<VariableInfo> {
    let size = call.size_of(0);
    Ok(VariableInfo::matrix(match call.input(0).data_type {
        DataType::Scalar => Characteristics::dims(1, 1),
        DataType::Matrix => size,
        DataType::Frame => Characteristics::new(size.rows, size.cols, None),
        // A column of numbers, or the only matrix.
        DataType::List => Characteristics::UNKNOWN,
    }))
}

fn as_frame(call: &dyn Call) -> Result<VariableInfo> {
    Ok(VariableInfo {
        data_type: DataType::Frame,
        value_type: call.declared().value_type,
        characteristics: match call.input(0).data_type {
            DataType::Scalar => Characteristics::dims(1, 1),
            DataType::Matrix | DataType::Frame | DataType::List => call.size_of(0),
        },
        constant: None,
    })
}
