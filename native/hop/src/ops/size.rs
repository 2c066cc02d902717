//! Sizes as values.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    declare::operators,
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Inputs, Memory, Operator, Purity, Zeros,
    },
};
use crate::{Characteristics, ValueType, variable_info::VariableInfo};

struct SizeFacts {
    /// Also the name of the function.
    code: &'static str,
    value: fn(&Characteristics) -> Option<u64>,
}

operators! {
    /// Sizes as values: ints.
    SizeOp: SizeFacts;
    /// The number of rows.
    NRow { code: "nrow", value: |size| size.rows }
    /// The number of columns.
    NCol { code: "ncol", value: |size| size.cols }
    /// The number of cells.
    Length { code: "length", value: Characteristics::cells }
}

impl SizeOp {
    /// Its value, where the size is known.
    pub(crate) fn of(self, size: &Characteristics) -> Option<u64> {
        (self.declared().value)(size)
    }
}

impl Operator for SizeOp {
    fn code(&self) -> Cow<'static, str> {
        format!("u({})", SizeOp::code(*self)).into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: self.doc(),
            inputs: Inputs::of(&[("matrix", Accepts::NoScalar)]),
            gives: Gives::Count,
            purity: Purity::Pure,
            finite: Finite::Always,
            certain: Certain::Sizes,
            total: Certain::Sizes,
            zeros: Zeros::Unknown,
            memory: Memory::COORDINATES,
            form: Form::Function(self.declared().code),
        }
    }

    fn size(&self, _: &dyn Call) -> Result<VariableInfo> {
        Ok(VariableInfo::scalar(ValueType::Int))
    }
}
