//! `sizes`: what is known of results before anything runs.
//!
//! A `.dml` file declares variables, one a line, and then assigns results:
//!
//! ```text
//! sizes
//! X [10 x 10, nnz 5]     a matrix, with `?` for what is not known
//! s [double]             a scalar
//! n [int] 3              a scalar whose value is known
//! R = X * n
//! ---
//! R = X * n  [10 x 10, nnz 5]
//! ```
//!
//! Each result is looked at by itself, so that one may be an error; what begins with `tmp` is no result, and all may
//! read it. Below a result stand the known scalars that decided its size.

use std::collections::BTreeMap;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{
    Dag, Folding, HopOp, Literal, Symbols, VariableInfo, propagate_dag_folding, text::from_text,
    verify,
};

use crate::{
    Case,
    statements::{dag_of, outputs},
};

/// What a case gives.
pub(crate) fn known(case: &Case) -> Result<String> {
    let lines = case.body.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let (statements, declarations): (Vec<&str>, Vec<&str>) =
        lines.partition(|line| line.contains(" = "));
    let symbols = declared(&declarations)?;
    let folding = match case.has("folding") {
        true => Folding::Variables,
        false => Folding::Literals,
    };
    let (mut shared, mut text) = (String::new(), String::new());
    for statement in statements {
        if statement.starts_with("tmp") {
            shared += &format!("{statement}\n");
            continue;
        }
        text += &match size(&format!("{shared}{statement}\n"), &symbols, folding) {
            Ok(size) => format!("{statement}  {size}\n"),
            Err(error) => format!("{statement}  {} error: {}\n", error.kind(), error.message()),
        };
    }
    Ok(text)
}

/// Variables as the DAG's text has them, but for numbers and `TRead`.
fn declared(lines: &[&str]) -> Result<Symbols> {
    let mut symbols = BTreeMap::new();
    for line in lines {
        let unknown = || Error::argument(format!("'{line}' declares no variable"));
        let (name, declaration) = line.split_once(' ').ok_or_else(unknown)?;
        let (declaration, value) = declaration.rsplit_once(']').ok_or_else(unknown)?;
        let read = only_hop(&format!("TRead {name} {declaration}]"))?;
        let constant = match value.trim() {
            "" => None,
            value => match only_hop(&format!("lit {value}"))?.op {
                HopOp::Literal(literal) => Some(literal),
                _ => return Err(unknown()),
            },
        };
        let info = VariableInfo {
            data_type: read.data_type,
            value_type: read.value_type,
            characteristics: read.characteristics,
            constant,
        };
        symbols.insert(name.to_owned(), info);
    }
    Ok(symbols)
}

fn only_hop(text: &str) -> Result<fulgurite_hop::Hop> {
    let dag = from_text(&format!("(0) {text}\nroots 0"))?;
    let mut hops = dag.iter().map(|(_, hop)| hop.clone());
    hops.next()
        .ok_or_else(|| Error::argument(format!("'{text}' is no operator")))
}

/// Of the one result of statements.
fn size(statements: &str, symbols: &Symbols, folding: Folding<'_>) -> Result<String> {
    let dag = dag_of(statements, outputs(statements), symbols)?;
    let (dag, used) = propagate_dag_folding(&dag, symbols, folding)?;
    verify(&dag)?;
    let mut text = of_result(&dag);
    if !used.constants.is_empty() {
        let names: Vec<&str> = used.constants.iter().map(String::as_str).collect();
        text += &format!(" by {}", names.join(", "));
    }
    Ok(text)
}

fn of_result(dag: &Dag) -> String {
    let written = dag.roots.iter().find_map(|root| match &dag.hop(*root).op {
        HopOp::TransientWrite(_) => dag.hop(*root).inputs.first(),
        _ => None,
    });
    let Some(result) = written.map(|id| dag.hop(*id)) else {
        return "nothing".into();
    };
    match &result.op {
        HopOp::Literal(Literal::String(text)) => format!("\"{text}\""),
        HopOp::Literal(literal) => literal.to_string(),
        _ if result.is_matrix() => result.characteristics.to_string(),
        _ => format!("[{}]", result.value_type),
    }
}
