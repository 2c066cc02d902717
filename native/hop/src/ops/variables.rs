//! Variables of the script, which a DAG reads and writes.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Inputs, Memory, Operator, Purity, Zeros,
    },
};
use crate::{DataType, ValueType, variable_info::VariableInfo};

pub(super) struct TransientRead<'a>(pub &'a str);

impl TransientRead<'_> {
    pub const WORD: &'static str = "TRead";
}

impl Operator for TransientRead<'_> {
    fn code(&self) -> Cow<'static, str> {
        format!("{} {}", Self::WORD, self.0).into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "Reads a variable.",
            inputs: Inputs::of(&[]),
            gives: Gives::Usually(DataType::Matrix, ValueType::Double),
            purity: Purity::Pure,
            finite: Finite::Unknown,
            certain: Certain::Always,
            // The variable may not be there yet.
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory::COORDINATES,
            form: Form::Variable(self.0),
        }
    }

    /// The HOP knows better than a rule could.
    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(call.declared())
    }
}

pub(super) struct TransientWrite<'a>(pub &'a str);

impl TransientWrite<'_> {
    pub const WORD: &'static str = "TWrite";
}

impl Operator for TransientWrite<'_> {
    fn code(&self) -> Cow<'static, str> {
        format!("{} {}", Self::WORD, self.0).into()
    }

    fn facts(&self) -> Facts<'_> {
        Facts {
            doc: "Writes a variable.",
            inputs: Inputs::of(&[("value", Accepts::Any)]),
            gives: Gives::Input,
            purity: Purity::Effect,
            finite: Finite::Unknown,
            certain: Certain::No,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory::COORDINATES,
            form: Form::Assignment(self.0),
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(VariableInfo {
            constant: None,
            ..call.input(0).clone()
        })
    }
}
