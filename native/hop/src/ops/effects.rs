//! Statements with an effect: output, and the end of the script.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::{
    call::Call,
    operator::{
        Accepts, Certain, Facts, Finite, Form, Gives, Inputs, Memory, More, Operator, Purity, Zeros,
    },
};
use crate::{DataType, ValueType, variable_info::VariableInfo};

pub(super) struct Print;
pub(super) struct Stop;
pub(super) struct Assert;

/// What all of them have in common.
fn effect(doc: &'static str, inputs: Inputs, function: &'static str) -> Facts<'static> {
    Facts {
        doc,
        inputs,
        gives: Gives::Usually(DataType::Scalar, ValueType::String),
        purity: Purity::Effect,
        finite: Finite::Unknown,
        certain: Certain::No,
        total: Certain::No,
        zeros: Zeros::Unknown,
        memory: Memory::ROW_POINTERS,
        form: Form::Function(function),
    }
}

impl Operator for Print {
    fn code(&self) -> Cow<'static, str> {
        "u(print)".into()
    }

    fn facts(&self) -> Facts<'_> {
        let inputs = Inputs {
            first: &[("value, or a format", Accepts::Any)],
            more: More::Repeated(("values", Accepts::Any)),
        };
        effect("Prints a value, or values by a format.", inputs, "print")
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(call.declared())
    }
}

impl Operator for Stop {
    fn code(&self) -> Cow<'static, str> {
        "u(stop)".into()
    }

    fn facts(&self) -> Facts<'_> {
        let inputs = Inputs::of(&[("message", Accepts::Scalar)]);
        effect("Ends the script with an error.", inputs, "stop")
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(call.declared())
    }
}

impl Operator for Assert {
    fn code(&self) -> Cow<'static, str> {
        "u(assert)".into()
    }

    fn facts(&self) -> Facts<'_> {
        let inputs = Inputs {
            first: &[("condition", Accepts::Scalar)],
            more: More::Together(&[("message", Accepts::Scalar)]),
        };
        let doc = "Ends the script with an error unless a condition holds; with a message, the sizes do not fit.";
        effect(doc, inputs, "assert")
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        Ok(call.declared())
    }
}
