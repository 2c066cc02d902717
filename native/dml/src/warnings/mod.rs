//! What is legal and looks like a mistake: [`unused`] names, statements that are never reached ([`unreachable`]), and
//! comparisons with NaN ([`comparisons`]).
//!
//! A warning is always right: where a script may mean it, or another program may read what it leaves, there is none. All follow
//! from the syntax tree alone, so that arguments do not matter.

mod comparisons;
mod unreachable;
mod unused;

use std::sync::Arc;

use fulgurite_error::{Source, Warning};

use crate::syntax::{
    self,
    ast::{FunctionBody, FunctionDefinition, Statement},
};

/// The warnings about a script, in its order; none where it does not parse. `outputs` are read by the caller.
pub fn warnings(source: &Arc<Source>, outputs: &[String]) -> Vec<Warning> {
    let Ok(script) = syntax::parse(source) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    unused::of_script(&script, outputs, &mut found);
    unreachable::of_statements(&script.body, &mut found);
    comparisons::of_statements(&script.body, &mut found);
    for function in &script.functions {
        let body = statements(function);
        unused::of_function(&script, function, &mut found);
        unreachable::of_statements(body, &mut found);
        comparisons::of_statements(body, &mut found);
    }
    found.sort_by_key(|warning| (warning.position.line, warning.position.column));
    found
}

/// None for external functions.
fn statements(function: &FunctionDefinition) -> &[Statement] {
    match &function.body {
        FunctionBody::Statements(statements) => statements,
        FunctionBody::External(_) => &[],
    }
}
