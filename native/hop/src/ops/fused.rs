//! Operators that a fusion plan makes of others.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Inputs, Memory, More, Operator, Purity, Zeros,
    },
};
use crate::{DataType, ValueType, variable_info::VariableInfo};

/// By its number in its plan.
pub(super) struct Fused(pub usize);

impl Fused {
    pub const WORD: &'static str = "fused";
}

impl Operator for Fused {
    fn code(&self) -> Cow<'static, str> {
        format!("{}({})", Self::WORD, self.0).into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "A fused operator, by its number in its plan.",
            inputs: Inputs {
                first: &[],
                more: More::Repeated(("input of the plan", Accepts::Any)),
            },
            gives: Gives::Usually(DataType::Matrix, ValueType::Double),
            // Only the plan knows what it computes.
            purity: Purity::Unique,
            finite: Finite::Unknown,
            certain: Certain::No,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: Form::Code,
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(call.declared())
    }
}
