//! Rewrites: DAG to DAG, same values, less work.
//!
//! [`RULES`] lists all rules in the order in which they run; each can be switched off by its name. To add
//! one, implement [`LocalRule`] (looks at one operator and its inputs) or [`DagRule`] (looks at the
//! whole DAG) in a file of its own, list it here, and show it in `tests/rewrites.rs`.
//!
//! Rules keep every bit of the result, signed zeros and infinities included; only which NaN a NaN is may
//! change. Types, sizes and script positions stay with the value they describe. Effects keep their order: no
//! rule touches [`Dag::roots`] but to follow a replaced predicate.

mod common_subexpressions;
mod constant_folding;
mod dead_code;
mod neutral_operands;
mod reorganizations;
mod signs;
mod square;

use std::collections::BTreeSet;

use fulgurite_error::{Error, Result};

use crate::{
    Dag, Hop, HopId, HopOp, Literal, Program, ReadMetadata, Symbols, propagate_program, verify,
};

/// All rules, in order.
pub static RULES: &[Rule] = &[
    Rule::Local(&constant_folding::ConstantFolding),
    Rule::Local(&neutral_operands::NeutralFactor),
    Rule::Local(&neutral_operands::NeutralSummand),
    Rule::Local(&signs::DoubleNegation),
    Rule::Local(&signs::NegatedSummand),
    Rule::Local(&reorganizations::DoubleReorganization),
    Rule::Local(&square::Square),
    Rule::Dag(&common_subexpressions::CommonSubexpressions),
    Rule::Dag(&dead_code::DeadCode),
];

#[derive(Clone, Copy)]
pub enum Rule {
    Local(&'static dyn LocalRule),
    Dag(&'static dyn DagRule),
}

/// Replaces one operator by what gives the same.
pub trait LocalRule: Sync {
    fn name(&self) -> &'static str;

    /// What stands for `id` from here on: a HOP that is there, or one that the rule appends. The DAG ends
    /// with `id`; its inputs have been through the rule already.
    fn replace(&self, dag: &mut Dag, id: HopId) -> Option<HopId>;
}

/// Changes a DAG as a whole.
pub trait DagRule: Sync {
    fn name(&self) -> &'static str;

    fn apply(&self, dag: &Dag) -> Dag;
}

impl Rule {
    pub fn name(self) -> &'static str {
        match self {
            Rule::Local(rule) => rule.name(),
            Rule::Dag(rule) => rule.name(),
        }
    }

    pub fn apply(self, dag: &Dag) -> Dag {
        match self {
            // What was replaced goes at once, so that nothing dead reads a predicate's new root.
            Rule::Local(rule) => dead_code::without_dead(&rebuild(dag, |new, id| {
                rule.replace(new, id).unwrap_or(id)
            })),
            Rule::Dag(rule) => rule.apply(dag),
        }
    }
}

/// Applies all rules but those that are `off`.
///
/// # Errors
/// Argument, for a name that no rule has; internal, where a rule broke the DAG.
pub fn rewrite_dag(dag: &Dag, off: &[String]) -> Result<Dag> {
    let mut off: BTreeSet<&str> = off.iter().map(String::as_str).collect();
    let mut dag = dag.clone();
    for rule in RULES {
        if off.remove(rule.name()) {
            continue;
        }
        dag = rule.apply(&dag);
        verify(&dag).map_err(|error| {
            Error::internal(format!(
                "the rewrite '{}' broke the DAG: {}",
                rule.name(),
                error.message()
            ))
            .with_help("switch it off and report this")
        })?;
    }
    match off.first() {
        None => Ok(dag),
        Some(unknown) => {
            let names: Vec<&str> = RULES.iter().map(|rule| rule.name()).collect();
            Err(Error::argument(format!("there is no rewrite '{unknown}'"))
                .with_help(format!("the rewrites are {}", names.join(", "))))
        }
    }
}

/// As [`rewrite_dag`], for every DAG of a program.
///
/// # Errors
/// As [`rewrite_dag`].
pub fn rewrite_program(program: &Program, off: &[String]) -> Result<Program> {
    program.map_dags(&mut |dag| rewrite_dag(dag, off))
}

/// Rewrites and size propagation in the order that serves both: merged subexpressions let equal index
/// bounds be seen as one, and known sizes give new constants to fold.
///
/// # Errors
/// As [`rewrite_dag`] and [`propagate_program`].
pub fn optimize_program(
    program: &Program,
    symbols: &Symbols,
    metadata: ReadMetadata,
    off: &[String],
) -> Result<Program> {
    let program = rewrite_program(program, off)?;
    let program = propagate_program(&program, symbols, metadata)?;
    rewrite_program(&program, off)
}

/// Copies a DAG, inputs first. After each HOP, `place` says which one stands for it from here on.
fn rebuild(dag: &Dag, mut place: impl FnMut(&mut Dag, HopId) -> HopId) -> Dag {
    let mut new = Dag::new();
    let mut replaced: Vec<HopId> = Vec::with_capacity(dag.len());
    for (_, hop) in dag.iter() {
        let inputs = hop.inputs.iter().map(|input| replaced[input.index()]);
        let copy = Hop {
            inputs: inputs.collect(),
            ..hop.clone()
        };
        let id = new.push(copy);
        replaced.push(place(&mut new, id));
    }
    new.roots = dag
        .roots
        .iter()
        .map(|root| replaced[root.index()])
        .collect();
    new
}

/// Appends another operator that gives the same value as `id`.
fn instead(dag: &mut Dag, id: HopId, op: HopOp, inputs: Vec<HopId>) -> HopId {
    let hop = Hop {
        op,
        inputs,
        ..dag.hop(id).clone()
    };
    dag.push(hop)
}

/// Whether `value` can stand for `id`: same data type and value type, so that the texts it prints as stay
/// the same, and not a known other shape.
fn can_stand_for(dag: &Dag, value: HopId, id: HopId) -> bool {
    let (value, hop) = (dag.hop(value), dag.hop(id));
    let same =
        |left: Option<u64>, right: Option<u64>| left.is_none() || right.is_none() || left == right;
    value.data_type == hop.data_type
        && value.value_type == hop.value_type
        && same(value.rows(), hop.rows())
        && same(value.cols(), hop.cols())
}

/// The number that a HOP is, if it is a literal.
fn literal_number(dag: &Dag, id: HopId) -> Option<f64> {
    match &dag.hop(id).op {
        HopOp::Literal(value @ (Literal::Double(_) | Literal::Int(_))) => value.as_f64(),
        _ => None,
    }
}
