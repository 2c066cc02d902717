//! Rewrites before fusion: what a script computes stays, less work is done for it.
//!
//! [`FAMILIES`] lists all rules; `docs/rewrites.md` is printed from it. Each rule can be switched off by
//! its name. There are three kinds ([`Action`]): local rules replace one operator and see it through an
//! [`Editor`]; whole-DAG rules clean up; program rules (in [`program`]) move and remove statement blocks.
//! [`rewrite_dag`] applies those of the first two kinds until none applies any more, wherever a DAG is
//! planned, so that rules that need sizes meet the actual ones. [`optimize_program`] applies all, once
//! before a program runs.
//!
//! To add a rule, write its function in the file of its family, list it there, and add a case to
//! `tests/cases/rewrite`: what it does, and what it must leave alone.
//!
//! What every rule keeps: data and value types, script positions, effects and their order. What it may do
//! to numbers is its [`Precision`]. Which NaN a NaN is may always change.

mod aggregates;
mod cells;
mod chains;
mod common_subexpressions;
mod constants;
mod dead_code;
mod driver;
mod editor;
mod empty;
mod indexing;
mod listing;
mod neutral;
mod products;
mod program;
mod reorganizations;
mod scalars;
mod selections;
mod signs;
mod transposes;

use std::collections::BTreeSet;

use fulgurite_error::{Error, Result};

pub use driver::{Application, rewrite_dag, rewrite_dag_traced};
pub use listing::to_markdown;
pub use program::{OptimizeOptions, Outputs, optimize_program, optimize_program_traced};

use editor::Editor;

use crate::{Dag, HopId, Program};

/// All rules, by family.
pub static FAMILIES: &[Family] = &[
    constants::FAMILY,
    neutral::FAMILY,
    signs::FAMILY,
    cells::FAMILY,
    scalars::FAMILY,
    transposes::FAMILY,
    reorganizations::FAMILY,
    indexing::FAMILY,
    aggregates::FAMILY,
    selections::FAMILY,
    products::FAMILY,
    chains::FAMILY,
    empty::FAMILY,
    Family {
        title: "Whole DAGs",
        rules: &[common_subexpressions::RULE, dead_code::RULE],
    },
    program::FAMILY,
];

/// Rules on the same operators.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub title: &'static str,
    pub rules: &'static [Rule],
}

/// What is known of a rule, and what it does.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub name: &'static str,
    /// What becomes what, in DML: `sum(t(X)) -> sum(X)`. X and Y are matrices, v vectors, s scalars, c literals.
    pub formula: &'static str,
    /// When it applies, and why it pays.
    pub condition: &'static str,
    pub precision: Precision,
    pub(crate) action: Action,
}

/// What a rule may do to numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    /// Every bit stays, signed zeros, infinities and NaN included.
    Exact,
    /// Every value stays, infinities and NaN included, but the sign of a zero may change.
    ZeroSign,
    /// Operations happen in another order, so that the last bits may change. What is not finite stays so, but may
    /// come out as NaN where it was an infinity, or as an infinity where it was NaN.
    Rounding,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Action {
    /// What stands for the HOP from here on: one that is there, or one that the rule makes. The DAG ends
    /// with the HOP, and what it reads has been through the rules already.
    Local(fn(&mut Editor, HopId) -> Option<HopId>),
    /// The DAG without what the rule removes; `None` where there is nothing to remove.
    Whole(fn(&Dag) -> Option<Kept>),
    /// Applied by [`optimize_program`].
    Program,
}

/// What a whole-DAG rule leaves.
#[derive(Debug)]
pub(crate) struct Kept {
    pub dag: Dag,
    /// For each HOP, the one that it was.
    pub sources: Vec<HopId>,
}

impl Rule {
    const fn local(
        name: &'static str,
        formula: &'static str,
        condition: &'static str,
        precision: Precision,
        rule: fn(&mut Editor, HopId) -> Option<HopId>,
    ) -> Self {
        Rule {
            name,
            formula,
            condition,
            precision,
            action: Action::Local(rule),
        }
    }

    const fn program(name: &'static str, formula: &'static str, condition: &'static str) -> Self {
        Rule {
            name,
            formula,
            condition,
            precision: Precision::Exact,
            action: Action::Program,
        }
    }
}

/// All rules, in order.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    FAMILIES.iter().flat_map(|family| family.rules)
}

/// Which rules are off.
pub(crate) struct Switches<'a> {
    off: BTreeSet<&'a str>,
}

impl<'a> Switches<'a> {
    /// # Errors
    /// Argument, for a name that no rule has.
    pub fn new(off: &'a [String]) -> Result<Self> {
        let unknown = |name: &&String| rules().all(|rule| rule.name != name.as_str());
        if let Some(unknown) = off.iter().find(unknown) {
            let names: Vec<&str> = rules().map(|rule| rule.name).collect();
            return Err(Error::argument(format!("there is no rewrite '{unknown}'"))
                .with_help(format!("the rewrites are {}", names.join(", "))));
        }
        Ok(Switches {
            off: off.iter().map(String::as_str).collect(),
        })
    }

    pub fn is_on(&self, name: &str) -> bool {
        !self.off.contains(name)
    }
}

/// As [`rewrite_dag`], for every DAG of a program.
///
/// # Errors
/// As [`rewrite_dag`].
pub fn rewrite_program(program: &Program, off: &[String]) -> Result<Program> {
    program.map_dags(&mut |dag| rewrite_dag(dag, off))
}
