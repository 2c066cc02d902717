//! All operators as tables of the documentation.

use std::fmt::Write;

use super::{
    HopOp, ParameterizedOp,
    operator::{Form, Input, Inputs, More},
};

/// The rows of the table of codes in `docs/hop-json.md`: codes, inputs, what the operator does. Operators that differ in
/// their direction only share a row.
pub fn codes_to_markdown() -> String {
    let mut rows: Vec<(Vec<String>, String, &str)> = Vec::new();
    for op in HopOp::all() {
        let code = in_code(&op.code());
        let (inputs, doc) = match &op {
            HopOp::Parameterized(op, _) => (by_name(*op), op.doc()),
            _ => op.facts(|facts| (inputs(&facts.inputs), facts.doc)),
        };
        match rows.last_mut() {
            Some((codes, _, last)) if *last == doc => codes.push(code),
            _ => rows.push((vec![code], inputs, doc)),
        }
    }
    let mut text = "| code | inputs | what it does |\n|---|---|---|\n".to_owned();
    for (codes, inputs, doc) in rows {
        let _ = writeln!(
            text,
            "| {} | {inputs} | {} |",
            codes.join(", "),
            escaped(doc)
        );
    }
    text
}

/// The functions of the language that are one operator each, by their names.
pub fn functions() -> Vec<&'static str> {
    let name = |op: HopOp| {
        op.facts(|facts| match facts.form {
            Form::Function(name) | Form::Option(name, _) => Some(name),
            Form::Constant(_)
            | Form::Variable(_)
            | Form::Assignment(_)
            | Form::Internal(_)
            | Form::Code
            | Form::Prefix(_)
            | Form::Infix(_)
            | Form::Range
            | Form::RangeAssignment => None,
        })
    };
    let mut names: Vec<&str> = HopOp::all().into_iter().filter_map(name).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn inputs(inputs: &Inputs) -> String {
    let names = |inputs: &[Input]| {
        let names: Vec<&str> = inputs.iter().map(|(name, _)| *name).collect();
        names.join(", ")
    };
    let first = names(inputs.first);
    match inputs.more {
        More::Nothing if first.is_empty() => "none".into(),
        More::Nothing => first,
        More::Together(optional) => format!("{first}; optionally {}", names(optional)),
        More::Repeated((name, _)) if first.is_empty() => format!("{name}, …"),
        More::Repeated((name, _)) if first.ends_with(name) => format!("{first}, …"),
        More::Repeated((name, _)) => format!("{first}; {name}, …"),
        More::Named { .. } => "by name".into(),
    }
}

fn by_name(op: ParameterizedOp) -> String {
    match op.parameters() {
        Some(names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("by name: {}", names.join(", "))
        }
        None => "by any names".into(),
    }
}

fn in_code(code: &str) -> String {
    format!("`{}`", escaped(code))
}

/// A bar would end the cell.
fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
