//! `rewrite`: what becomes of a DAG, or of the expressions that statements assign.
//!
//! After `rewrite`, the first line may name a rule: all others are off then, but those that clean up.
//!
//! - A `.dag` file expects the DAG after rewrites.
//! - A `.dml` file has statements about the [`variables`]. It expects the expression of each output before
//!   and after. Outputs called `keep...` must be left alone by the rule, others that end in a digit must
//!   change, the rest is there to be read as well; what begins with `tmp` is no output. Without a rule, it
//!   expects what each output becomes, and which rule did what.

use std::collections::BTreeMap;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{
    Characteristics, Dag, HopId, HopOp, Symbols, ValueType, VariableInfo, propagate_dag,
    rewrite_dag, rewrite_dag_traced,
    rewrites::rules,
    text::{from_text, to_text},
};

use crate::{
    Case,
    file::cases,
    statements::{self, outputs},
};

/// A rule with its statements.
#[derive(Debug, Clone)]
pub struct RuleCase {
    pub rule: String,
    pub statements: String,
}

/// The cases of rules that are statements.
///
/// # Errors
/// As [`cases`].
pub fn rule_cases() -> Result<Vec<RuleCase>> {
    let cases = cases("rewrite")?.into_iter();
    let of_rules = cases.filter_map(|case| {
        let is_script = case.path.extension()? == "dml";
        let rule = case.settings.first().filter(|_| is_script)?.clone();
        Some(RuleCase {
            rule,
            statements: statements_of(&case),
        })
    });
    Ok(of_rules.collect())
}

/// The variables of all statements: 10 x 5 where nothing else is said.
///
/// | names | what |
/// |---|---|
/// | X, Y, Z | 10 x 5 |
/// | G | 10 x 5 with 6 non-zeros |
/// | E, e | 10 x 5 and 10 x 1, empty |
/// | A, B | 5 x 10 |
/// | S, Q | 8 x 8 |
/// | v, w | 10 x 1 |
/// | h, d | 5 x 1, 8 x 1 |
/// | r, m | 1 x 5, 1 x 10 |
/// | o | 1 x 1 |
/// | L, M | 30 x 4, 4 x 30 |
/// | U, V | 10 x 5, sizes not known |
/// | s, q | doubles |
/// | k | int |
/// | b | boolean |
pub fn variables() -> Symbols {
    let matrix = |rows, cols| VariableInfo::matrix(Characteristics::dims(rows, cols));
    let with_nnz =
        |rows, cols, nnz| VariableInfo::matrix(Characteristics::dims(rows, cols).with_nnz(nnz));
    let mut variables = BTreeMap::new();
    let mut add = |names: &str, info: VariableInfo| {
        for name in names.split(' ') {
            variables.insert(name.to_owned(), info.clone());
        }
    };
    add("X Y Z", matrix(10, 5));
    add("G", with_nnz(10, 5, 6));
    add("E", with_nnz(10, 5, 0));
    add("e", with_nnz(10, 1, 0));
    add("A B", matrix(5, 10));
    add("S Q", matrix(8, 8));
    add("v w", matrix(10, 1));
    add("h", matrix(5, 1));
    add("d", matrix(8, 1));
    add("r", matrix(1, 5));
    add("m", matrix(1, 10));
    add("o", matrix(1, 1));
    add("L", matrix(30, 4));
    add("M", matrix(4, 30));
    add("U V", VariableInfo::matrix(Characteristics::UNKNOWN));
    add("s q", VariableInfo::scalar(ValueType::Double));
    add("k", VariableInfo::scalar(ValueType::Int));
    add("b", VariableInfo::scalar(ValueType::Boolean));
    variables
}

/// What a case gives.
pub(crate) fn rewritten(case: &Case) -> Result<String> {
    let rule = match case.settings.as_slice() {
        [] => None,
        [rule] => Some(rule.as_str()),
        _ => return Err(Error::argument("a case of rewrites names one rule or none")),
    };
    let is_script = case
        .path
        .extension()
        .is_some_and(|extension| extension == "dml");
    match (is_script, rule) {
        (false, rule) => {
            let dag = rewrite_dag(&from_text(&case.body)?, &all_but(rule))?;
            is_final(&dag)?;
            Ok(to_text(&dag))
        }
        (true, Some(rule)) => {
            let statements = statements_of(case);
            is_final(&dag_of(&statements, outputs(&statements))?)?;
            show(rule, &statements)
        }
        (true, None) => show_all(&statements_of(case)),
    }
}

fn statements_of(case: &Case) -> String {
    let lines = case.body.lines().filter(|line| !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// The DAG of straight-line statements, with sizes.
fn dag_of(statements: &str, outputs: Vec<String>) -> Result<Dag> {
    let symbols = variables();
    let dag = statements::dag_of(statements, outputs, &symbols)?;
    Ok(propagate_dag(&dag, &symbols)?.0)
}

/// Rewriting a second time changes nothing.
fn is_final(dag: &Dag) -> Result<()> {
    let once = rewrite_dag(dag, &[])?;
    let twice = rewrite_dag(&once, &[])?;
    match to_text(&once) == to_text(&twice) {
        true => Ok(()),
        false => Err(Error::internal(format!(
            "rewriting again changes\n{}to\n{}",
            to_text(&once),
            to_text(&twice)
        ))),
    }
}

/// All rules off but this one and those that clean up; none off where there is none.
fn all_but(rule: Option<&str>) -> Vec<String> {
    let Some(rule) = rule else {
        return Vec::new();
    };
    let names = rules().map(|rule| rule.name.to_owned());
    names
        .filter(|name| ![rule, "dead-code", "common-subexpressions"].contains(&name.as_str()))
        .collect()
}

/// The expression of each variable that is written.
fn written(dag: &Dag) -> BTreeMap<String, String> {
    let write = |root: &HopId| match &dag.hop(*root).op {
        HopOp::TransientWrite(name) => Some((
            name.clone(),
            dag.whole_expression(*dag.hop(*root).inputs.first()?),
        )),
        _ => None,
    };
    dag.roots.iter().filter_map(write).collect()
}

/// Each output before and after the rule. Outputs are looked at one by one, so that they share nothing but
/// what a case names.
fn show(rule: &str, statements: &str) -> Result<String> {
    let mut text = String::new();
    let (tested, shared): (Vec<String>, Vec<String>) = outputs(statements)
        .into_iter()
        .partition(|name| name.ends_with(char::is_numeric));
    if tested.is_empty() {
        return Err(Error::argument("no output ends in a digit"));
    }
    for name in tested {
        let mut lines = statements.lines();
        let line = lines.find(|line| line.starts_with(&format!("{name} = ")));
        let words = line
            .unwrap_or_default()
            .split(|c: char| !c.is_alphanumeric());
        let words: Vec<&str> = words.collect();
        let named = shared.iter().filter(|name| words.contains(&name.as_str()));
        let outputs = named.cloned().chain([name.clone()]).collect();
        let dag = dag_of(statements, outputs)?;
        let (after, trace) = rewrite_dag_traced(&dag, &all_but(Some(rule)))?;
        let (before, after) = (written(&dag), written(&after));
        let (before, after) = (&before[&name], &after[&name]);
        let applied = trace
            .iter()
            .any(|application| application.rule == rule && application.position.is_some());
        let kept = name.starts_with("keep");
        if kept == applied || kept != (before == after) {
            let must = if kept { "leave alone" } else { "change" };
            return Err(Error::internal(format!(
                "the rule must {must} {name}: {before}  ->  {after}"
            )));
        }
        text += &match kept {
            true => format!("{name}: {before}\n"),
            false => format!("{name}: {before}  ->  {after}\n"),
        };
    }
    Ok(text)
}

/// What all outputs become together, and which rule did what, in order.
fn show_all(statements: &str) -> Result<String> {
    let dag = dag_of(statements, outputs(statements))?;
    let (after, trace) = rewrite_dag_traced(&dag, &[])?;
    let mut text = String::new();
    for (name, value) in written(&after) {
        text += &format!("{name} = {value}\n");
    }
    for application in trace {
        let position = application.position.map(|position| position.to_string());
        let hop = application.hop.map(|hop| hop.to_string());
        text += &format!(
            "\n{} at {}, HOP {}\n  {}\n  {}\n",
            application.rule,
            position.unwrap_or_default(),
            hop.unwrap_or_default(),
            application.before,
            application.after
        );
    }
    Ok(text)
}
