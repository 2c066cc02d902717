//! Loop-invariant operators move before their loop.
//!
//! **Safe**: what moves has no effect and can't fail ([`is_total`]), so that it may run even if the loop does
//! not; and it is computed in every iteration, so that at most its one computation is in vain. **Worth it**
//! ([`pays`]): a scalar or a matrix that is smaller than something it is computed from. A matrix of
//! full size stays where it is: fusion may never materialise it. So does a transpose, which products read for
//! free. Inner loops come first, so that what depends on no loop moves out of all of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{super::dead_code, Application, LOOP_INVARIANTS, Precision};
use crate::{
    AggregateOp, Block, CastOp, Characteristics, Dag, DataGenOp, DataType, Hop, HopId, HopOp,
    Program, Symbols, ValueType, propagate::written_in, scalar,
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

    /// The block to run before the loop, if anything moves.
    fn out_of_loop(&mut self, block: &mut Block, defined: &Names) -> Option<Block> {
        let mut changing = written_in(std::slice::from_ref(block));
        let mut before = Dag::new();
        if let Block::While { predicate, .. } = block {
            changing.extend(written_in(&predicate.before));
            let dag = &mut predicate.dag;
            self.out_of_dag(dag, &changing, defined, &mut before);
        }
        for body in block.bodies_mut() {
            // Only what every iteration runs: what stands under conditions may not be needed at all.
            for inner in body.iter_mut() {
                if let Block::Basic { dag } = inner {
                    self.out_of_dag(dag, &changing, defined, &mut before);
                }
            }
            body.retain(|inner| !matches!(inner, Block::Basic { dag } if dag.roots.is_empty()));
        }
        (!before.is_empty()).then_some(Block::Basic { dag: before })
    }

    fn out_of_dag(&mut self, dag: &mut Dag, changing: &Names, defined: &Names, before: &mut Dag) {
        let stays = |name: &str| !changing.contains(name) && defined.contains(name);
        let invariants = Invariants::find(dag, &stays);
        let moving = invariants.moving(dag);
        let mut moved: BTreeMap<HopId, HopId> = BTreeMap::new();
        for id in &moving {
            let name = match self.moved_before(dag, *id) {
                Some(name) => name,
                None => self.variable(),
            };
            let value = copy(dag, *id, before, &mut moved);
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
            let is_ours =
                matches!(&hop.op, HopOp::TransientWrite(name) if self.names.contains(name));
            is_ours && hop.inputs == [id]
        })?;
        let root = dag.roots.remove(place);
        match &dag.hop(root).op {
            HopOp::TransientWrite(name) => Some(name.clone()),
            _ => None,
        }
    }

    /// A name no script can use.
    fn variable(&mut self) -> String {
        let name = format!("_i{}", self.names.len() + 1);
        self.names.insert(name.clone());
        name
    }
}

fn written_variables(dag: &Dag) -> Vec<String> {
    let written = |root: &HopId| match &dag.hop(*root).op {
        HopOp::TransientWrite(name) => Some(name.clone()),
        _ => None,
    };
    dag.roots.iter().filter_map(written).collect()
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

/// What of a DAG gives the same in every iteration.
struct Invariants {
    /// Of each HOP, the bytes of the largest matrix it is computed from, itself included; `None` for those
    /// that may not move.
    largest: Vec<Option<u64>>,
}

impl Invariants {
    fn find(dag: &Dag, stays: &dyn Fn(&str) -> bool) -> Self {
        let mut largest: Vec<Option<u64>> = Vec::with_capacity(dag.len());
        for (id, hop) in dag.iter() {
            let is_invariant = match &hop.op {
                HopOp::TransientRead(name) => stays(name) && is_known(hop),
                _ => {
                    let inputs = &mut hop.inputs.iter();
                    inputs.all(|input| largest[input.index()].is_some()) && is_total(dag, id)
                }
            };
            let below = hop.inputs.iter().filter_map(|input| largest[input.index()]);
            let below = below.max().unwrap_or(0);
            largest.push(is_invariant.then(|| below.max(bytes(hop))));
        }
        Invariants { largest }
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
        let is_free = matches!(hop.op, HopOp::Transpose) || hop.inputs.is_empty();
        let is_size = matches!(hop.op, HopOp::Size(_));
        let largest = self.largest[id.index()].unwrap_or(0);
        !is_free && !is_size && largest > 0 && largest > bytes(hop)
    }
}

/// Bytes of a matrix; none for scalars.
fn bytes(hop: &Hop) -> u64 {
    match hop.data_type {
        DataType::Matrix => hop.characteristics.memory_bytes().unwrap_or(u64::MAX),
        _ => 0,
    }
}

fn is_known(hop: &Hop) -> bool {
    match hop.data_type {
        DataType::Matrix => hop.characteristics.dims_known(),
        DataType::Scalar => true,
        DataType::Frame | DataType::List => false,
    }
}

/// The operator gives a value whatever its inputs hold, and the same one for the same inputs.
fn is_total(dag: &Dag, id: HopId) -> bool {
    let hop = dag.hop(id);
    let inputs = || hop.inputs.iter().map(|input| dag.hop(*input));
    let has_text = |hop: &Hop| hop.value_type == ValueType::String;
    if !is_known(hop) || !inputs().all(is_known) {
        return false;
    }
    let size = |place: usize| match hop.inputs.get(place) {
        Some(input) => dag.hop(*input).characteristics,
        None => Characteristics::UNKNOWN,
    };
    match &hop.op {
        HopOp::Literal(_) | HopOp::Size(_) | HopOp::Transpose | HopOp::Rev => true,
        HopOp::Cumulative(_) | HopOp::CBind | HopOp::RBind | HopOp::MatMult => true,
        HopOp::Diag => size(0).cols == Some(1) || size(0).rows == size(0).cols,
        HopOp::Unary(_) | HopOp::Ternary(_) => !inputs().any(has_text),
        // Products of ints overflow.
        HopOp::Binary(_) => !inputs().any(has_text) && (hop.is_matrix() || is_double(hop)),
        HopOp::Aggregate(op, _) => match op {
            AggregateOp::Trace => size(0).rows == size(0).cols,
            _ => true,
        },
        HopOp::RightIndex => is_within(dag, hop),
        HopOp::Cast(CastOp::AsScalar) => size(0).rows == Some(1) && size(0).cols == Some(1),
        HopOp::DataGen(DataGenOp::Fill) => !inputs().any(has_text),
        _ => false,
    }
}

fn is_double(hop: &Hop) -> bool {
    matches!(hop.value_type, ValueType::Double | ValueType::Boolean)
}

/// All bounds are literals within the matrix.
fn is_within(dag: &Dag, hop: &Hop) -> bool {
    let bound = |place: usize| match &dag.hop(*hop.inputs.get(place)?).op {
        HopOp::Literal(value) => u64::try_from(scalar::double_to_int(value.as_f64()?)).ok(),
        _ => None,
    };
    let within = |first: usize, size: Option<u64>| match (bound(first), bound(first + 1), size) {
        (Some(from), Some(to), Some(size)) => 1 <= from && from <= to && to <= size,
        _ => false,
    };
    let matrix = hop.inputs.first().map(|input| dag.hop(*input));
    matrix.is_some_and(|matrix| within(1, matrix.rows()) && within(3, matrix.cols()))
}
