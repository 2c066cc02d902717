//! Size propagation: from what is known of variables to what is known of every HOP.
//!
//! [`propagate_dag`] goes once through one DAG, inputs first, applying the rules of [`crate::sizes`];
//! [`propagate_program`] carries what each block leaves through the control flow and functions of a
//! whole script, and takes out branches that are never taken.
//!
//! Scalars with a known value are evaluated on the way: indices, sizes and predicates rest on them. An
//! expression of literals and known sizes alone becomes a literal. One that rests on the value of a
//! variable does so only if asked ([`Folding::Variables`]); otherwise its value decides sizes, and
//! [`Used`] names the variables whose values did. So a loop counter that no size depends on leaves no
//! trace, and a plan made in one iteration serves them all.

mod dag;
mod functions;
mod memo;
mod notes;
mod program;
mod state;

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::{Error, Result};

pub(crate) use self::program::{Branches, Removal, Removed, written_in};
use crate::VariableInfo;
use crate::{Dag, Program, ReadOptions};

/// What is known of the variables that live where a DAG or program begins.
pub type Symbols = BTreeMap<String, VariableInfo>;

/// On which values a propagated DAG rests, besides the sizes and types of its inputs: together they are the
/// key under which a plan may be used again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Used {
    /// Scalar variables whose constants decided a size or were folded.
    pub constants: BTreeSet<String>,
}

/// Which known values become literals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Folding<'a> {
    /// Expressions of literals and known sizes.
    #[default]
    Literals,
    /// Also what rests on scalar variables with a constant; they are noted in [`Used`].
    Variables,
    /// As `Variables`, but for these: their values decide sizes, and the DAG serves other values of them too.
    VariablesBut(&'a BTreeSet<String>),
}

/// What a file holds, as far as its metadata say; `None` where there is none. So that no compiler stage
/// reads files itself.
pub type ReadMetadata<'a> = &'a dyn Fn(&str, &ReadOptions) -> Option<VariableInfo>;

/// Infers types, sizes and non-zeros of every HOP, and folds expressions of literals and known sizes.
/// HOPs keep their ids; inputs of folded ones may be left without consumers.
///
/// # Errors
/// Dimension, where sizes certainly do not fit, with operator, shapes and place in the script; all such places.
pub fn propagate_dag(dag: &Dag, symbols: &Symbols) -> Result<(Dag, Used)> {
    propagate_dag_folding(dag, symbols, Folding::Literals)
}

/// As [`propagate_dag`], with a choice of what is folded.
///
/// # Errors
/// As [`propagate_dag`].
pub fn propagate_dag_folding(
    dag: &Dag,
    symbols: &Symbols,
    folding: Folding<'_>,
) -> Result<(Dag, Used)> {
    let nowhere = notes::Assigned::new();
    let outcome = dag::propagate(
        dag,
        &|name| symbols.get(name),
        folding,
        &|_, _| None,
        &nowhere,
    );
    match Error::all(outcome.errors) {
        Some(error) => Err(error),
        None => Ok((outcome.dag, outcome.used)),
    }
}

/// Propagates through a whole program and removes branches whose predicate is constant. Here constants are
/// folded: one that survives all loops and calls that reach a place always holds there.
///
/// # Errors
/// As [`propagate_dag`].
pub fn propagate_program(
    program: &Program,
    symbols: &Symbols,
    metadata: ReadMetadata,
) -> Result<Program> {
    let branches = Branches {
        conditions: true,
        loops: true,
    };
    let (program, _) = program::propagate(program, symbols, metadata, branches)?;
    Ok(program)
}

/// As [`propagate_program`], with a choice of what is removed, and what was.
pub(crate) fn propagate_program_removing(
    program: &Program,
    symbols: &Symbols,
    metadata: ReadMetadata,
    branches: Branches,
) -> Result<(Program, Vec<Removed>)> {
    program::propagate(program, symbols, metadata, branches)
}
