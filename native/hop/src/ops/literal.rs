//! Literals in a DAG.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    operator::{Certain, Facts, Finite, Form, Gives, Inputs, Memory, Operator, Purity, Zeros},
};
use crate::{Literal, variable_info::VariableInfo};

pub(super) const WORD: &str = "lit";

impl Operator for Literal {
    fn code(&self) -> Cow<'static, str> {
        format!("{WORD} {self}").into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "A value that the script or a rewrite gives.",
            inputs: Inputs::of(&[]),
            gives: Gives::Constant(self),
            purity: Purity::Pure,
            finite: match self.as_f64().is_some_and(f64::is_finite) {
                true => Finite::Always,
                false => Finite::Unknown,
            },
            certain: Certain::Always,
            total: Certain::Sizes,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: Form::Constant(self),
        }
    }

    fn size(&self, _: &dyn Call) -> Result<VariableInfo> {
        Ok(VariableInfo::scalar(self.value_type()))
    }
}
