//! Fused operators as code generation plans, as intermediate code and as instructions.

use fulgurite_codegen::CompiledPlan;
use fulgurite_error::Result;
use fulgurite_program::ExplainLevel;
use serde::Serialize;

use super::analysis::BlockAnalysis;

/// A fused operator's text at one of the levels of code.
#[derive(Debug, Serialize)]
pub(super) struct Listing {
    #[serde(rename = "fused")]
    pub number: usize,
    pub label: String,
    pub text: String,
}

/// # Errors
/// As compiling; the other levels have no listings.
pub(super) fn listings(block: &BlockAnalysis, level: ExplainLevel) -> Result<Vec<Listing>> {
    let operators = block.fused.operators.iter().enumerate();
    operators
        .map(|(number, operator)| {
            let compiled = CompiledPlan::compile(&operator.plan)?;
            let mut text = match level {
                ExplainLevel::Clif => compiled.clif()?,
                ExplainLevel::Asm => compiled.asm()?,
                _ => operator.plan.to_string(),
            };
            if let Some(reason) = compiled.why_interpreted() {
                let newline = if text.ends_with('\n') { "" } else { "\n" };
                text += &format!("{newline}interpreted: {reason}\n");
            }
            Ok(Listing {
                number,
                label: operator.label.clone(),
                text,
            })
        })
        .collect()
}
