//! Live variables: which writes between statement blocks anyone reads.
//!
//! Blocks are built with a write for every variable they assign. Going backwards from what is live at the
//! end, writes that nobody reads are dropped, with the operators only they needed; so what a block reads
//! is what its live writes and effects need, no more.

use std::collections::{BTreeSet, HashMap};

use crate::propagate::written_in;
use crate::{Argument, Block, Dag, Hop, HopId, Predicate};

/// Names of live variables.
pub type Live = BTreeSet<String>;

/// Drops dead writes and operators, and blocks that then do nothing.
pub fn prune(blocks: &mut Vec<Block>, live_out: &Live) {
    Liveness::default().prune(blocks, live_out);
}

/// What was found out about loops, by the address of their first block, for the times it is asked again: inner loops are asked about
/// within outer ones.
#[derive(Default)]
struct Liveness(HashMap<*const Block, Head>);

/// What is live where a loop comes round, if this is live after it.
struct Head {
    live_after: Live,
    live: Live,
}

impl Liveness {
    fn prune(&mut self, blocks: &mut Vec<Block>, live_out: &Live) {
        let mut live = live_out.clone();
        for block in blocks.iter_mut().rev() {
            let live_before = self.live_before(block, &live);
            self.prune_block(block, &live);
            live = live_before;
        }
        // Nothing is asked about blocks that are pruned, so they may move.
        blocks.retain(|block| !does_nothing(block));
    }

    fn prune_block(&mut self, block: &mut Block, live_after: &Live) {
        match block {
            Block::Basic { dag } => *dag = pruned(dag, live_after),
            Block::Call { .. } => {}
            Block::If {
                predicate,
                then,
                otherwise,
                ..
            } => {
                let mut live = self.live_before_blocks(then, live_after);
                live.extend(self.live_before_blocks(otherwise, live_after));
                self.prune(then, live_after);
                self.prune(otherwise, live_after);
                self.prune_predicate(predicate, &live);
            }
            Block::While {
                predicate, body, ..
            } => {
                let at_head = self.live_before_while(predicate, body, live_after);
                let mut after_predicate = self.live_before_blocks(body, &at_head);
                after_predicate.extend(live_after.iter().cloned());
                self.prune(body, &at_head);
                self.prune_predicate(predicate, &after_predicate);
            }
            Block::For {
                variable,
                from,
                to,
                increment,
                body,
                parallel,
                ..
            } => {
                let at_head = self.live_before_for(variable, body, live_after);
                self.prune(body, &at_head);
                if let Some(parallel) = parallel {
                    parallel.results = written_in(body)
                        .into_iter()
                        .filter(|name| {
                            live_after.contains(name) && !parallel.accumulated.contains(name)
                        })
                        .collect();
                }
                for bound in [Some(from), Some(to), increment.as_mut()]
                    .into_iter()
                    .flatten()
                {
                    // Bounds are evaluated one after the other, before the loop; what their calls assign are
                    // temporaries of their own.
                    self.prune_predicate(bound, &at_head);
                }
            }
        }
    }

    fn prune_predicate(&mut self, predicate: &mut Predicate, live_after: &Live) {
        predicate.dag = pruned(&predicate.dag, &Live::new());
        let mut live = reads(&predicate.dag, &Live::new());
        live.extend(live_after.iter().cloned());
        self.prune(&mut predicate.before, &live);
    }

    fn live_before_blocks(&mut self, blocks: &[Block], live_out: &Live) -> Live {
        blocks.iter().rev().fold(live_out.clone(), |live, block| {
            self.live_before(block, &live)
        })
    }

    fn live_before(&mut self, block: &Block, live_after: &Live) -> Live {
        match block {
            Block::Basic { dag } => {
                let written: BTreeSet<&str> = dag
                    .roots
                    .iter()
                    .filter_map(|root| dag.hop(*root).op.variable_written())
                    .collect();
                let mut live = reads(dag, live_after);
                live.extend(
                    live_after
                        .iter()
                        .filter(|name| !written.contains(name.as_str()))
                        .cloned(),
                );
                live
            }
            Block::Call {
                arguments, outputs, ..
            } => {
                let mut live = live_after.clone();
                for output in outputs {
                    live.remove(output);
                }
                live.extend(arguments.iter().filter_map(|argument| match argument {
                    Argument::Variable { variable, .. } => Some(variable.clone()),
                    Argument::Literal { .. } => None,
                }));
                live
            }
            Block::If {
                predicate,
                then,
                otherwise,
                ..
            } => {
                let mut live = self.live_before_blocks(then, live_after);
                live.extend(self.live_before_blocks(otherwise, live_after));
                self.live_before_predicate(predicate, live)
            }
            Block::While {
                predicate, body, ..
            } => self.live_before_while(predicate, body, live_after),
            Block::For {
                variable,
                from,
                to,
                increment,
                body,
                ..
            } => {
                let live = self.live_before_for(variable, body, live_after);
                [Some(from), Some(to), increment.as_ref()]
                    .into_iter()
                    .flatten()
                    .rev()
                    .fold(live, |live, bound| self.live_before_predicate(bound, live))
            }
        }
    }

    fn live_before_predicate(&mut self, predicate: &Predicate, mut live: Live) -> Live {
        live.extend(reads(&predicate.dag, &Live::new()));
        self.live_before_blocks(&predicate.before, &live)
    }

    /// Live where the loop comes back to its predicate.
    fn live_before_while(
        &mut self,
        predicate: &Predicate,
        body: &[Block],
        live_after: &Live,
    ) -> Live {
        let start = self.live_before_predicate(predicate, live_after.clone());
        self.at_head(body, live_after, start, |liveness, at_head| {
            let mut live = liveness.live_before_blocks(body, at_head);
            live.extend(live_after.iter().cloned());
            liveness.live_before_predicate(predicate, live)
        })
    }

    /// Live where the loop takes its next value; the loop itself assigns its variable.
    fn live_before_for(&mut self, variable: &str, body: &[Block], live_after: &Live) -> Live {
        self.at_head(body, live_after, live_after.clone(), |liveness, at_head| {
            let mut live = liveness.live_before_blocks(body, at_head);
            live.remove(variable);
            live
        })
    }

    /// What is live at the head of a loop: at the start of the search, and before each of its iterations, which `iteration` gives.
    ///
    /// More after a loop means more at its head, so the search goes on from what is known for less.
    fn at_head(
        &mut self,
        body: &[Block],
        live_after: &Live,
        start: Live,
        mut iteration: impl FnMut(&mut Self, &Live) -> Live,
    ) -> Live {
        let mut at_head = start;
        let known = self.0.get(&body.as_ptr());
        if let Some(known) =
            known.filter(|known| !body.is_empty() && known.live_after.is_subset(live_after))
        {
            if live_after.is_subset(&known.live) {
                return known.live.clone();
            }
            at_head.extend(known.live.iter().cloned());
        }
        loop {
            let live = iteration(self, &at_head);
            if live.is_subset(&at_head) {
                break;
            }
            at_head.extend(live);
        }
        let head = Head {
            live_after: live_after.clone(),
            live: at_head.clone(),
        };
        self.0.insert(body.as_ptr(), head);
        at_head
    }
}

fn does_nothing(block: &Block) -> bool {
    match block {
        Block::Basic { dag } => dag.roots.is_empty(),
        Block::If {
            predicate,
            then,
            otherwise,
            ..
        } => predicate.before.is_empty() && then.is_empty() && otherwise.is_empty(),
        Block::While { .. } | Block::For { .. } | Block::Call { .. } => false,
    }
}

/// The variables a DAG reads for its effects and its live writes.
fn reads(dag: &Dag, live_after: &Live) -> Live {
    let needed = needed(dag, live_after);
    dag.iter()
        .filter(|(id, _)| needed.get(id.index()) == Some(&true))
        .filter_map(|(_, hop)| hop.op.variable_read().map(str::to_owned))
        .collect()
}

fn is_live(hop: &Hop, live_after: &Live) -> bool {
    let variable = hop.op.variable_written();
    variable.is_none_or(|variable| live_after.contains(variable))
}

/// For each HOP, whether a live root needs it.
fn needed(dag: &Dag, live_after: &Live) -> Vec<bool> {
    let mut needed = vec![false; dag.len()];
    for root in &dag.roots {
        needed[root.index()] = is_live(dag.hop(*root), live_after);
    }
    for (id, hop) in dag.iter().rev() {
        if needed[id.index()] {
            for input in &hop.inputs {
                needed[input.index()] = true;
            }
        }
    }
    needed
}

fn pruned(dag: &Dag, live_after: &Live) -> Dag {
    let needed = needed(dag, live_after);
    let mut kept = Dag::new();
    let mut places: Vec<Option<HopId>> = vec![None; dag.len()];
    let place = |places: &[Option<HopId>], ids: &[HopId]| -> Vec<HopId> {
        ids.iter().filter_map(|id| places[id.index()]).collect()
    };
    for (id, hop) in dag.iter() {
        if needed[id.index()] {
            let inputs = place(&places, &hop.inputs);
            let hop = Hop {
                inputs,
                ..hop.clone()
            };
            places[id.index()] = Some(kept.push(hop));
        }
    }
    kept.roots = place(&places, &dag.roots);
    kept
}
