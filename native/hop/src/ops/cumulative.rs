//! Running aggregates down each column.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    declare::operators,
    operator::{Certain, Facts, Finite, Form, Gives, Inputs, Memory, Operator, Purity, Zeros},
};
use crate::{Characteristics, DataType, variable_info::VariableInfo};

struct CumulativeFacts {
    /// Also the name of the function.
    code: &'static str,
    finite: Finite,
}

operators! {
    /// Running aggregates down each column.
    CumulativeOp: CumulativeFacts;
    /// The sum of the cells so far.
    Sum { code: "cumsum", finite: Finite::Unknown }
    /// The product of the cells so far.
    Prod { code: "cumprod", finite: Finite::Unknown }
    /// The smallest of the cells so far.
    Min { code: "cummin", finite: Finite::Kept }
    /// The largest of the cells so far.
    Max { code: "cummax", finite: Finite::Kept }
}

impl Operator for CumulativeOp {
    fn code(&self) -> Cow<'static, str> {
        format!("u({})", CumulativeOp::code(*self)).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.declared();
        Facts {
            doc: self.doc(),
            inputs: Inputs::matrix(),
            gives: Gives::Always(DataType::Matrix),
            purity: Purity::Pure,
            finite: declared.finite,
            certain: Certain::Sizes,
            total: Certain::Sizes,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: Form::Function(declared.code),
        }
    }

    /// One non-zero can fill the column below it.
    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        let size = call.size_of(0);
        let nnz = match size.nnz {
            Some(0) => Some(0),
            _ => size.cells(),
        };
        Ok(VariableInfo::matrix(Characteristics { nnz, ..size }))
    }
}
