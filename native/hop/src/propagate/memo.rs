//! What a walk found out about a DAG or loop, for the times it comes there again.
//!
//! Loops are walked until nothing changes, inner ones within outer ones, and mostly with the same known of what
//! they read.

use std::{collections::HashMap, ptr, rc::Rc};

use super::{
    VariableInfo,
    dag::Outcome,
    state::{Names, State, same},
};
use crate::{Block, Dag, Literal};

/// By the addresses of blocks and DAGs, which stay where they are during a walk.
#[derive(Default)]
pub(super) struct Memo {
    dags: HashMap<*const Dag, Seen>,
    loops: HashMap<*const Block, Settled>,
}

/// What a DAG reads and what came of it.
struct Seen {
    reads: Vec<usize>,
    inputs: Vec<Option<Rc<VariableInfo>>>,
    left: Rc<Left>,
    /// `None` where sizes do not fit.
    dag: Option<Dag>,
}

/// What a DAG leaves.
pub(super) struct Left {
    pub written: Vec<(usize, Rc<VariableInfo>)>,
    /// The value of the first root, where it is known.
    pub value: Option<Literal>,
}

impl Left {
    pub fn write(&self, state: &mut State) {
        for (place, info) in &self.written {
            state.set(*place, Some(Rc::clone(info)));
        }
    }
}

/// A loop with what held where it was entered and what holds before each iteration.
struct Settled {
    entry: State,
    before_each: State,
    /// Of the functions, where this was found out.
    version: usize,
}

impl Memo {
    /// What the DAG leaves, if it was seen with the same known of its inputs.
    pub fn left(&self, dag: &Dag, state: &State) -> Option<Rc<Left>> {
        let seen = self.seen(dag, state)?;
        Some(Rc::clone(&seen.left))
    }

    /// As [`Self::left`], with the DAG as it is with its sizes, if they fit.
    pub fn take(&mut self, dag: &Dag, state: &State) -> Option<(Dag, Rc<Left>)> {
        self.seen(dag, state)?.dag.as_ref()?;
        let seen = self.dags.remove(&ptr::from_ref(dag))?;
        Some((seen.dag?, seen.left))
    }

    fn seen(&self, dag: &Dag, state: &State) -> Option<&Seen> {
        let seen = self.dags.get(&ptr::from_ref(dag))?;
        let mut inputs = seen.reads.iter().zip(&seen.inputs);
        let is_same = inputs.all(|(place, info)| same(state.get(*place), info.as_ref()));
        is_same.then_some(seen)
    }

    pub fn note_dag(
        &mut self,
        dag: &Dag,
        outcome: Outcome,
        state: &State,
        names: &mut Names,
    ) -> Rc<Left> {
        let reads = dag.iter().filter_map(|(_, hop)| hop.op.variable_read());
        let reads: Vec<usize> = reads.map(|name| names.place(name)).collect();
        let inputs = reads.iter().map(|place| state.get(*place).cloned());
        let inputs = inputs.collect();
        let written = outcome.written.into_iter();
        let written = written.map(|(name, info)| (names.place(&name), Rc::new(info)));
        let left = Rc::new(Left {
            written: written.collect(),
            value: outcome.value,
        });
        let seen = Seen {
            reads,
            inputs,
            left: Rc::clone(&left),
            dag: outcome.errors.is_empty().then_some(outcome.dag),
        };
        self.dags.insert(ptr::from_ref(dag), seen);
        left
    }

    /// Where to begin in search of what holds before each iteration of a loop: what is known to hold if it was
    /// entered with no less known, and whether that needs no search.
    ///
    /// What is found with more known on entry can only lose by less, so the search goes on from there.
    pub fn begin(&self, block: &Block, entry: &State, version: usize) -> (State, bool) {
        let settled = self.loops.get(&ptr::from_ref(block));
        let Some(settled) = settled.filter(|settled| {
            settled.version == version && entry.knows_no_more_than(&settled.entry)
        }) else {
            return (entry.clone(), false);
        };
        let mut state = settled.before_each.clone();
        let forgot = state.merge(entry);
        (state, !forgot)
    }

    pub fn note_loop(&mut self, block: &Block, entry: State, before_each: &State, version: usize) {
        let settled = Settled {
            entry,
            before_each: before_each.clone(),
            version,
        };
        self.loops.insert(ptr::from_ref(block), settled);
    }
}
