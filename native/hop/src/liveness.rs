//! Live variables: which writes between statement blocks anyone reads.
//!
//! Blocks are built with a write for every variable they assign. Going backwards from what is live at the
//! end, writes that nobody reads are dropped, with the operators only they needed; so what a block reads
//! is what its live writes and effects need, no more.

use std::collections::BTreeSet;

use crate::propagate::written_in;
use crate::{Argument, Block, Dag, Hop, HopId, Predicate};

/// Names of live variables.
pub type Live = BTreeSet<String>;

/// Drops dead writes and operators, and blocks that then do nothing.
pub fn prune(blocks: &mut Vec<Block>, live_out: &Live) {
    let mut live = live_out.clone();
    for block in blocks.iter_mut().rev() {
        let live_before = live_before(block, &live);
        prune_block(block, &live);
        live = live_before;
    }
    blocks.retain(|block| !does_nothing(block));
}

fn prune_block(block: &mut Block, live_after: &Live) {
    match block {
        Block::Basic { dag } => *dag = pruned(dag, live_after),
        Block::Call { .. } => {}
        Block::If {
            predicate,
            then,
            otherwise,
            ..
        } => {
            let mut live = live_before_blocks(then, live_after);
            live.extend(live_before_blocks(otherwise, live_after));
            prune(then, live_after);
            prune(otherwise, live_after);
            prune_predicate(predicate, &live);
        }
        Block::While {
            predicate, body, ..
        } => {
            let at_head = live_before_while(predicate, body, live_after);
            let mut after_predicate = live_before_blocks(body, &at_head);
            after_predicate.extend(live_after.iter().cloned());
            prune(body, &at_head);
            prune_predicate(predicate, &after_predicate);
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
            let at_head = live_before_for(variable, body, live_after);
            prune(body, &at_head);
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
                prune_predicate(bound, &at_head);
            }
        }
    }
}

fn prune_predicate(predicate: &mut Predicate, live_after: &Live) {
    predicate.dag = pruned(&predicate.dag, &Live::new());
    let mut live = reads(&predicate.dag, &Live::new());
    live.extend(live_after.iter().cloned());
    prune(&mut predicate.before, &live);
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

fn live_before_blocks(blocks: &[Block], live_out: &Live) -> Live {
    blocks
        .iter()
        .rev()
        .fold(live_out.clone(), |live, block| live_before(block, &live))
}

fn live_before(block: &Block, live_after: &Live) -> Live {
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
            let mut live = live_before_blocks(then, live_after);
            live.extend(live_before_blocks(otherwise, live_after));
            live_before_predicate(predicate, live)
        }
        Block::While {
            predicate, body, ..
        } => live_before_while(predicate, body, live_after),
        Block::For {
            variable,
            from,
            to,
            increment,
            body,
            ..
        } => {
            let live = live_before_for(variable, body, live_after);
            [Some(from), Some(to), increment.as_ref()]
                .into_iter()
                .flatten()
                .rev()
                .fold(live, |live, bound| live_before_predicate(bound, live))
        }
    }
}

fn live_before_predicate(predicate: &Predicate, mut live: Live) -> Live {
    live.extend(reads(&predicate.dag, &Live::new()));
    live_before_blocks(&predicate.before, &live)
}

/// Live where the loop comes back to its predicate.
fn live_before_while(predicate: &Predicate, body: &[Block], live_after: &Live) -> Live {
    let mut at_head = live_before_predicate(predicate, live_after.clone());
    loop {
        let mut live = live_before_blocks(body, &at_head);
        live.extend(live_after.iter().cloned());
        let next = live_before_predicate(predicate, live);
        if next.is_subset(&at_head) {
            return at_head;
        }
        at_head.extend(next);
    }
}

/// Live where the loop takes its next value; the loop itself assigns its variable.
fn live_before_for(variable: &str, body: &[Block], live_after: &Live) -> Live {
    let mut at_head = live_after.clone();
    loop {
        let mut live = live_before_blocks(body, &at_head);
        live.remove(variable);
        if live.is_subset(&at_head) {
            return at_head;
        }
        at_head.extend(live);
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
