//! Applies the rules to a DAG until none applies any more.
//!
//! A pass goes through the DAG once, inputs first, and tries all local rules on each operator until none
//! replaces it. Between passes, equal operators become one and unread ones go, so that the next pass
//! sees who reads what.

use fulgurite_error::{Error, Position, Result};

use super::{Action, Editor, Kept, Precision, Rule, Switches, dead_code, rules};
use crate::{Dag, Hop, HopId, verify};

/// One application of a rule.
#[derive(Debug, Clone, PartialEq)]
pub struct Application {
    pub rule: &'static str,
    pub precision: Precision,
    /// The HOP of the DAG handed in that was replaced, or that what was replaced came from; for program
    /// rules none.
    pub hop: Option<HopId>,
    pub position: Option<Position>,
    /// As expressions in DML, shortened.
    pub before: String,
    pub after: String,
}

/// Each pass that changes something makes the DAG simpler: more than this many, and one for each operator (an aggregate passes one
/// operator of a chain at a time), are never needed.
const MOST_PASSES: usize = 30;

/// Replacements of one operator in one pass.
const MOST_STEPS: usize = 20;

/// Applies all rules on DAGs but those that are `off`.
///
/// # Errors
/// Argument, for a name that no rule has; internal, where a rule broke the DAG.
pub fn rewrite_dag(dag: &Dag, off: &[String]) -> Result<Dag> {
    rewrite(dag, &Switches::new(off)?, None)
}

/// As [`rewrite_dag`], and says which rule did what, in order.
///
/// # Errors
/// As [`rewrite_dag`].
pub fn rewrite_dag_traced(dag: &Dag, off: &[String]) -> Result<(Dag, Vec<Application>)> {
    let mut trace = Vec::new();
    let dag = rewrite(dag, &Switches::new(off)?, Some(&mut trace))?;
    Ok((dag, trace))
}

pub(super) fn rewrite(
    dag: &Dag,
    switches: &Switches,
    trace: Option<&mut Vec<Application>>,
) -> Result<Dag> {
    let on = rules().filter(|rule| switches.is_on(rule.name));
    let (local, whole): (Vec<&Rule>, Vec<&Rule>) = on
        .filter(|rule| !matches!(rule.action, Action::Program))
        .partition(|rule| matches!(rule.action, Action::Local(_)));
    let mut work = Work {
        origins: dag.iter().map(|(id, _)| id).collect(),
        dag: dag.clone(),
        trace,
    };
    for _ in 0..MOST_PASSES + dag.len() {
        work.clean_up(&whole);
        if !work.pass(&local) {
            break;
        }
    }
    verify(&work.dag).map_err(|error| {
        Error::internal(format!("a rewrite broke the DAG: {}", error.message())).with_help(
            "switch rewrites off one by one (fulgurite.rewrites.off) to find which, and report it",
        )
    })?;
    Ok(work.dag)
}

struct Work<'a> {
    dag: Dag,
    /// For each HOP, the one of the DAG handed in that it is, or stands for.
    origins: Vec<HopId>,
    trace: Option<&'a mut Vec<Application>>,
}

impl Work<'_> {
    fn clean_up(&mut self, rules: &[&'static Rule]) {
        for rule in rules {
            if let Action::Whole(apply) = rule.action
                && let Some(kept) = apply(&self.dag)
            {
                self.keep(kept);
            }
        }
    }

    fn keep(&mut self, kept: Kept) {
        let sources = kept.sources.iter();
        self.origins = sources.map(|id| self.origins[id.index()]).collect();
        self.dag = kept.dag;
    }

    /// Whether any rule applied.
    fn pass(&mut self, rules: &[&'static Rule]) -> bool {
        let uses = uses(&self.dag);
        let mut editor = Editor::new();
        let mut stands_for: Vec<HopId> = Vec::with_capacity(self.dag.len());
        let mut changed = false;
        for (old, hop) in self.dag.iter() {
            let inputs = hop.inputs.iter().map(|input| stands_for[input.index()]);
            let copy = Hop {
                inputs: inputs.collect(),
                ..hop.clone()
            };
            let id = editor.begin(copy, uses[old.index()], self.origins[old.index()]);
            let value = match hop.op.has_effect() {
                true => id,
                false => replace(&mut editor, id, rules, self.trace.as_deref_mut()),
            };
            changed |= value != id;
            stands_for.push(value);
        }
        if !changed {
            return false;
        }
        let roots = self.dag.roots.iter();
        let roots: Vec<HopId> = roots.map(|root| stands_for[root.index()]).collect();
        (self.dag, self.origins) = editor.into_parts();
        self.dag.roots = roots;
        // What was replaced goes at once, so that nothing dead reads a predicate's new root.
        if let Some(kept) = dead_code::without_dead(&self.dag) {
            self.keep(kept);
        }
        true
    }
}

/// What stands for the HOP when no rule applies any more.
fn replace(
    editor: &mut Editor,
    mut id: HopId,
    rules: &[&'static Rule],
    mut trace: Option<&mut Vec<Application>>,
) -> HopId {
    for _ in 0..MOST_STEPS {
        if editor.hop(id).inputs.is_empty() {
            return id;
        }
        let known = editor.len();
        let applied = rules.iter().find_map(|rule| {
            let Action::Local(apply) = rule.action else {
                return None;
            };
            let value = apply(editor, id)?;
            (value != id && editor.can_stand_for(value, id)).then_some((rule, value))
        });
        let Some((rule, value)) = applied else {
            return id;
        };
        if let Some(trace) = trace.as_deref_mut() {
            trace.push(Application {
                rule: rule.name,
                precision: rule.precision,
                hop: Some(editor.origin()),
                position: editor.position().cloned(),
                before: editor.dag().expression(id),
                after: editor.dag().expression(value),
            });
        }
        editor.replace(id, value);
        id = value;
        if value.index() < known {
            // It has been through the rules already.
            return value;
        }
    }
    id
}

/// How many operators read each HOP, roots being read once more.
fn uses(dag: &Dag) -> Vec<u32> {
    let mut uses = vec![0; dag.len()];
    for (_, hop) in dag.iter() {
        for input in &hop.inputs {
            uses[input.index()] += 1;
        }
    }
    for root in &dag.roots {
        uses[root.index()] += 1;
    }
    uses
}
