//! Loop-invariant operators move before their loop.
//!
//! **Safe**: what moves has no effect and is computed in every iteration. What can't fail whatever its inputs
//! hold ([`is_total`]) may run even if the loop does not, so that at most one computation is in vain. What may
//! fail, as a range whose bounds are not known, moves under a condition that is the loop's own: then it
//! fails where the first iteration would have, for it is among the first things that an iteration computes.
//!
//! **Worth it** ([`Invariants::pays`]): a scalar or a matrix that is smaller than something it is computed from. A
//! matrix of full size stays where it is: fusion may never materialise it. So does a transpose, which products
//! read for free. Inner loops come first, so that what depends on no loop moves out of all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{super::dead_code, Application, LOOP_INVARIANTS, Precision};
use crate::{
    Block, Dag, DataType, Hop, HopId, HopOp, Predicate, Program, Symbols, finite,
    propagate::written_in,
};

type Names = BTreeSet<String>;

pub(super) struct Motion<'a> {
    trace: Option<&'a mut Vec<Application>>,
    /// The variables that hold what has moved.
    names: Names,
}

impl<'a> Motion<'a> {
    pub fn new(trace: Option<&'a mut Vec<Application>>) -> Self {
        Motion {
            trace,
            names: Names::new(),
        }
    }

    pub fn moved(&self) -> bool {
        !self.names.is_empty()
    }

    pub fn program(&mut self, program: &mut Program, symbols: &Symbols) {
        for function in program.functions.values_mut() {
            let parameters = function.parameters.iter();
            let mut defined = parameters.map(|parameter| parameter.name.clone()).collect();
            self.blocks(&mut function.body, &mut defined);
        }
        let mut defined = symbols.keys().cloned().collect();
        self.blocks(&mut program.body, &mut defined);
    }

    /// `defined` goes from the variables that certainly have a value before the blocks to those after them.
    fn blocks(&mut self, blocks: &mut Vec<Block>, defined: &mut Names) {
        let mut result = Vec::with_capacity(blocks.len());
        for mut block in blocks.drain(..) {
            for predicate in block.predicates_mut() {
                self.blocks(&mut predicate.before, &mut defined.clone());
            }
            match &mut block {
                Block::Basic { dag } => defined.extend(written_variables(dag)),
                Block::Call { outputs, .. } => defined.extend(outputs.iter().cloned()),
                Block::If {
                    predicate,
                    then,
                    otherwise,
                    ..
                } => {
                    defined.extend(written_in(&predicate.before));
                    let mut after_otherwise = defined.clone();
                    self.blocks(then, defined);
                    self.blocks(otherwise, &mut after_otherwise);
                    defined.retain(|name| after_otherwise.contains(name));
                }
                Block::While { body, .. } => {
                    self.blocks(body, &mut defined.clone());
                    result.extend(self.out_of_loop(&mut block, defined));
                }
                Block::For { variable, body, .. } => {
                    let mut inside = defined.clone();
                    inside.insert(variable.clone());
                    self.blocks(body, &mut inside);
                    result.extend(self.out_of_loop(&mut block, defined));
                }
            }
            result.push(block);
        }
        *blocks = result;
    }

    /// The blocks to run before the loop, if anything moves.
    fn out_of_loop(&mut self, block: &mut Block, defined: &Names) -> Vec<Block> {
        let changing = written_in(std::slice::from_ref(block));
        let stays = |name: &str| !changing.contains(name) && defined.contains(name);
        let guard = guard_of(block);
        let (mut always, mut guarded) = (Dag::new(), Dag::new());
        if let Block::While { predicate, .. } = block {
            self.out_of_dag(&mut predicate.dag, &stays, &mut always, None);
        }
        for body in block.bodies_mut() {
            // Only what every iteration runs: what stands under conditions may not be needed at all.
            for (place, inner) in body.iter_mut().enumerate() {
                if let Block::Basic { dag } = inner {
                    let is_first = place == 0 && !dag.iter().any(|(_, hop)| ends_or_prints(hop));
                    let guarded = Some(&mut guarded).filter(|_| is_first && guard.is_some());
                    self.out_of_dag(dag, &stays, &mut always, guarded);
                }
            }
            body.retain(|inner| !matches!(inner, Block::Basic { dag } if dag.roots.is_empty()));
        }
        let mut before = Vec::new();
        if !always.is_empty() {
            before.push(Block::Basic { dag: always });
        }
        if let Some(guard) = guard.filter(|_| !guarded.is_empty()) {
            before.push(guard.around(Block::Basic { dag: guarded }));
        }
        before
    }

    /// Moves what can't fail to `always`, and what may to `guarded`, if it may move at all.
    fn out_of_dag(
        &mut self,
        dag: &mut Dag,
        stays: &dyn Fn(&str) -> bool,
        always: &mut Dag,
        mut guarded: Option<&mut Dag>,
    ) {
        let invariants = Invariants::find(dag, stays, guarded.is_some());
        let moving = invariants.moving(dag);
        let mut copies = [BTreeMap::new(), BTreeMap::new()];
        for id in &moving {
            let is_total = invariants.is_total(*id);
            let (before, moved) = match (is_total, guarded.as_deref_mut()) {
                (false, Some(guarded)) => (guarded, &mut copies[1]),
                _ => (&mut *always, &mut copies[0]),
            };
            let name = match self.moved_before(dag, *id) {
                Some(name) => name,
                None => self.variable(),
            };
            let value = copy(dag, *id, before, moved);
            let hop = dag.hop(*id).clone();
            let write = Hop {
                op: HopOp::TransientWrite(name.clone()),
                inputs: vec![value],
                ..hop.clone()
            };
            let root = before.push(write);
            before.roots.push(root);
            if let Some(trace) = self.trace.as_deref_mut() {
                trace.push(Application {
                    rule: LOOP_INVARIANTS.name,
                    precision: Precision::Exact,
                    hop: None,
                    position: hop.position.clone(),
                    before: dag.expression(*id),
                    after: format!("{name} = {} before the loop", dag.expression(*id)),
                });
            }
            *dag.hop_mut(*id) = Hop {
                op: HopOp::TransientRead(name),
                inputs: Vec::new(),
                ..hop
            };
        }
        if !moving.is_empty()
            && let Some(kept) = dead_code::without_dead(dag)
        {
            *dag = kept.dag;
        }
    }

    /// The variable that only holds this value, if an inner loop has given it one: all of it moves on.
    fn moved_before(&self, dag: &mut Dag, id: HopId) -> Option<String> {
        let place = dag.roots.iter().position(|root| {
            let hop = dag.hop(*root);
            let name = hop.op.variable_written();
            name.is_some_and(|name| self.names.contains(name)) && hop.inputs == [id]
        })?;
        let root = dag.roots.remove(place);
        dag.hop(root).op.variable_written().map(str::to_owned)
    }

    /// A name no script can use.
    fn variable(&mut self) -> String {
        let name = format!("_i{}", self.names.len() + 1);
        self.names.insert(name.clone());
        name
    }
}

fn written_variables(dag: &Dag) -> Vec<String> {
    let roots = dag.roots.iter().map(|root| &dag.hop(*root).op);
    let written = roots.filter_map(HopOp::variable_written);
    written.map(str::to_owned).collect()
}

/// Copies a HOP and all below it.
fn copy(from: &Dag, id: HopId, to: &mut Dag, copied: &mut BTreeMap<HopId, HopId>) -> HopId {
    if let Some(copy) = copied.get(&id) {
        return *copy;
    }
    let hop = from.hop(id);
    let inputs = hop.inputs.iter();
    let inputs = inputs.map(|input| copy(from, *input, to, copied)).collect();
    let new = to.push(Hop {
        inputs,
        ..hop.clone()
    });
    copied.insert(id, new);
    new
}

/// A condition under which the first iteration runs; [`Guard::Always`] if it always does.
enum Guard {
    Always,
    If(Predicate),
}

impl Guard {
    fn around(self, block: Block) -> Block {
        match self {
            Guard::Always => block,
            Guard::If(predicate) => Block::If {
                predicate,
                then: vec![block],
                otherwise: Vec::new(),
                position: None,
            },
        }
    }
}

/// The loop's condition, if it may as well be evaluated twice: on scalars alone, giving the same each time.
fn guard_of(block: &Block) -> Option<Guard> {
    match block {
        Block::While { predicate, .. } => {
            let mut hops = predicate.dag.iter();
            let is_cheap = hops.all(|(_, hop)| hop.is_scalar() && hop.op.is_deterministic());
            (predicate.before.is_empty() && is_cheap).then(|| Guard::If(predicate.clone()))
        }
        // Without an increment it counts towards its last value, up or down.
        Block::For {
            increment: None, ..
        } => Some(Guard::Always),
        _ => None,
    }
}

fn ends_or_prints(hop: &Hop) -> bool {
    matches!(
        hop.op,
        HopOp::Stop | HopOp::Assert | HopOp::Print | HopOp::PersistentWrite(_)
    )
}

/// What is known of a HOP that gives the same in every iteration.
#[derive(Debug, Clone, Copy)]
struct Invariant {
    /// It can't fail, nor can anything it is computed from.
    is_total: bool,
    /// Bytes of the largest matrix it is computed from, itself included; unknown sizes are none.
    largest: u64,
    /// Computed from a matrix.
    from_matrix: bool,
}

/// What of a DAG gives the same in every iteration.
struct Invariants {
    /// `None` for what may not move.
    known: Vec<Option<Invariant>>,
}

impl Invariants {
    fn find(dag: &Dag, stays: &dyn Fn(&str) -> bool, may_fail: bool) -> Self {
        let mut known: Vec<Option<Invariant>> = Vec::with_capacity(dag.len());
        for (id, hop) in dag.iter() {
            let inputs: Option<Vec<Invariant>> = hop
                .inputs
                .iter()
                .map(|input| known[input.index()])
                .collect();
            let invariant = inputs.and_then(|inputs| {
                let variable = hop.op.variable_read();
                let is_total = match variable {
                    Some(name) => stays(name) && may_be_read(hop),
                    None => is_total(dag, id) && inputs.iter().all(|input| input.is_total),
                };
                let may_move = is_total || (variable.is_none() && may_fail && is_pure(hop));
                let below = inputs.iter().map(|input| input.largest).max();
                let is_size = matches!(hop.op, HopOp::Size(_));
                let from_matrix = inputs.iter().any(|input| input.from_matrix);
                may_move.then(|| Invariant {
                    is_total,
                    largest: below.unwrap_or(0).max(bytes(hop).unwrap_or(0)),
                    from_matrix: hop.is_matrix() || (from_matrix && !is_size),
                })
            });
            known.push(invariant);
        }
        Invariants { known }
    }

    fn is_total(&self, id: HopId) -> bool {
        self.known[id.index()].is_some_and(|known| known.is_total)
    }

    /// The HOPs to move: each is read by something that stays, and none is below another.
    fn moving(&self, dag: &Dag) -> Vec<HopId> {
        let mut needed = vec![false; dag.len()];
        for root in &dag.roots {
            needed[root.index()] = true;
        }
        let mut moving = Vec::new();
        for (id, hop) in dag.iter().rev() {
            if !needed[id.index()] {
                continue;
            }
            if self.pays(dag, id) {
                moving.push(id);
                continue;
            }
            for input in &hop.inputs {
                needed[input.index()] = true;
            }
        }
        moving.reverse();
        moving
    }

    /// Smaller than the largest matrix it is computed from, and not free as it is.
    fn pays(&self, dag: &Dag, id: HopId) -> bool {
        let hop = dag.hop(id);
        let is_free = matches!(hop.op, HopOp::Transpose | HopOp::Size(_)) || hop.inputs.is_empty();
        let Some(known) = self.known[id.index()].filter(|_| !is_free) else {
            return false;
        };
        match bytes(hop) {
            _ if hop.is_scalar() => known.from_matrix,
            Some(bytes) => known.largest > bytes,
            // Whatever the size is, these make it smaller.
            None => matches!(hop.op, HopOp::RightIndex | HopOp::Aggregate(..)),
        }
    }
}

/// Bytes of a matrix, if they are known; none for scalars.
fn bytes(hop: &Hop) -> Option<u64> {
    match hop.data_type {
        DataType::Matrix => hop.characteristics.memory_bytes(),
        _ => Some(0),
    }
}

fn is_known(hop: &Hop) -> bool {
    match hop.data_type {
        DataType::Matrix => hop.characteristics.dims_known(),
        DataType::Scalar => true,
        DataType::Frame | DataType::List => false,
    }
}

fn may_be_read(hop: &Hop) -> bool {
    hop.is_matrix() || hop.is_scalar()
}

/// Gives the same for the same inputs, if it does not fail.
fn is_pure(hop: &Hop) -> bool {
    let is_pure = !hop.op.has_effect() && hop.op.is_deterministic();
    may_be_read(hop) && is_pure && !hop.op.reads_file()
}

/// The operator gives a value whatever its inputs hold, and the same one for the same inputs.
fn is_total(dag: &Dag, id: HopId) -> bool {
    let hop = dag.hop(id);
    let inputs = || hop.inputs.iter().map(|input| dag.hop(*input));
    if !is_known(hop) || !inputs().all(is_known) {
        return false;
    }
    finite::holds(hop.op.facts(|facts| facts.total), dag, hop)
}
