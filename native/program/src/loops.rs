//! Which variables stay the same while a loop runs.
//!
//! A matrix that stays is sent to the workers once, however often the loop goes round, and what is computed from it is
//! sent each time. The cost model is told, so that it does not materialise what it could read in place.

use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
};

use fulgurite_hop::{Block, Dag, Predicate};

/// The loops that run, the innermost last.
#[derive(Debug, Clone, Default)]
pub struct Loops {
    /// What each assigns; `None` for a call, whose variables are its own.
    running: Vec<Option<Arc<BTreeSet<String>>>>,
    /// By the body's address, which is stable while the program runs.
    known: HashMap<usize, Arc<BTreeSet<String>>>,
}

impl Loops {
    /// A loop over this body begins; `with` names what the loop itself assigns.
    pub fn enter(&mut self, body: &[Block], with: Option<&str>) {
        let assigned = self.known.entry(body.as_ptr().addr()).or_insert_with(|| {
            let mut assigned: BTreeSet<String> = with.map(str::to_owned).into_iter().collect();
            assigned_in_blocks(body, &mut assigned);
            Arc::new(assigned)
        });
        self.running.push(Some(Arc::clone(assigned)));
    }

    /// A function's body begins.
    pub fn enter_function(&mut self) {
        self.running.push(None);
    }

    /// The latest loop or function is over.
    pub fn leave(&mut self) {
        self.running.pop();
    }

    /// Whether the variable is the same in all iterations of the innermost loop; not outside of loops.
    pub(crate) fn stays(&self, variable: &str) -> bool {
        match self.running.last() {
            Some(Some(assigned)) => !assigned.contains(variable),
            _ => false,
        }
    }
}

pub(super) fn assigned_in_blocks(blocks: &[Block], assigned: &mut BTreeSet<String>) {
    for block in blocks {
        assigned_in(block, assigned);
    }
}

fn assigned_in(block: &Block, assigned: &mut BTreeSet<String>) {
    match block {
        Block::Basic { dag } => assigned_in_dag(dag, assigned),
        Block::If {
            predicate,
            then,
            otherwise,
            ..
        } => {
            assigned_in_predicate(predicate, assigned);
            assigned_in_blocks(then, assigned);
            assigned_in_blocks(otherwise, assigned);
        }
        Block::While {
            predicate, body, ..
        } => {
            assigned_in_predicate(predicate, assigned);
            assigned_in_blocks(body, assigned);
        }
        Block::For {
            variable,
            from,
            to,
            increment,
            body,
            ..
        } => {
            assigned.insert(variable.clone());
            for predicate in [from, to].into_iter().chain(increment) {
                assigned_in_predicate(predicate, assigned);
            }
            assigned_in_blocks(body, assigned);
        }
        Block::Call { outputs, .. } => assigned.extend(outputs.iter().cloned()),
    }
}

fn assigned_in_predicate(predicate: &Predicate, assigned: &mut BTreeSet<String>) {
    assigned_in_blocks(&predicate.before, assigned);
    assigned_in_dag(&predicate.dag, assigned);
}

fn assigned_in_dag(dag: &Dag, assigned: &mut BTreeSet<String>) {
    for root in &dag.roots {
        assigned.extend(dag.hop(*root).op.variable_written().map(str::to_owned));
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_hop::{Hop, HopOp};

    use super::*;

    fn assigns(name: &str) -> Block {
        let mut dag = Dag::new();
        let read = dag.push(Hop::matrix(HopOp::TransientRead("X".into()), Vec::new()));
        let write = dag.push(Hop::matrix(HopOp::TransientWrite(name.into()), vec![read]));
        dag.roots.push(write);
        Block::Basic { dag }
    }

    #[test]
    fn what_the_innermost_loop_assigns_does_not_stay() {
        let (outer, inner) = ([assigns("a"), assigns("b")], [assigns("b")]);
        let mut loops = Loops::default();
        assert!(!loops.stays("X"), "outside of loops nothing is read again");
        loops.enter(&outer, Some("i"));
        assert!(loops.stays("X") && !loops.stays("a") && !loops.stays("i"));
        loops.enter(&inner, None);
        assert!(loops.stays("a") && !loops.stays("b"));
        loops.enter_function();
        assert!(!loops.stays("X"), "a call's variables are new each time");
        loops.leave();
        loops.leave();
        assert!(!loops.stays("a"));
    }
}
