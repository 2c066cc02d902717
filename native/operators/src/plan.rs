//! A statement block as it is evaluated: the order of its operators and how often each value is read.

use std::{
    collections::BTreeSet,
    sync::{Arc, OnceLock},
};

use fulgurite_codegen::Kept;
use fulgurite_fusion::cplan::CPlan;
use fulgurite_hop::{Dag, HopId, memory};

/// A fused operator of a block.
#[derive(Debug, Clone)]
pub struct FusedPlan {
    pub plan: CPlan,
    pub compiled: Kept,
    /// As the report shows it.
    pub text: Arc<str>,
}

/// A block's plan for inputs of certain sizes.
#[derive(Debug, Clone)]
pub struct BlockPlan {
    pub dag: Dag,
    pub fused: Vec<FusedPlan>,
    /// What is evaluated, inputs first, roots in the order of the script.
    pub schedule: Vec<HopId>,
    /// What each operator reads. A product reads the operand of a transposition on its left, which therefore
    /// is never computed for it.
    pub inputs: Vec<Vec<HopId>>,
    /// Products `t(A) %*% B`.
    pub transposed_left: Vec<bool>,
    /// Ranges that nobody but fused operators reads, which read them in place if they are of dense matrices of this process. Then
    /// nothing is built for them but an offset.
    pub in_place: Vec<bool>,
    /// Of products, the table on their left, transposed or not, of a sequence and categories. Nobody else reads it, so that it need
    /// not be made.
    pub table_left: Vec<Option<HopId>>,
    /// How often each value is read.
    pub reads: Vec<u32>,
    /// Who reads each value.
    readers: Vec<Vec<HopId>>,
    /// Variables that the block assigns: what they held before is dead once read.
    assigned: Vec<String>,
    /// Of these, the ones that one later block reads at most.
    read_once: BTreeSet<String>,
    /// For each operator on matrices, what the report and the workers call it.
    pub labels: Vec<Option<Arc<str>>>,
    /// What [`BlockPlan::sizes`] gave: loops ask for it in each iteration, and to write it takes longer than a small operator.
    sizes: Vec<OnceLock<Arc<str>>>,
    /// What [`BlockPlan::own_bytes`] gave.
    own_bytes: Vec<OnceLock<Option<u64>>>,
}

impl BlockPlan {
    /// Of a DAG, whose fused operators are these.
    pub fn new(dag: Dag, fused: Vec<FusedPlan>) -> Self {
        let transposed_left: Vec<bool> = dag
            .iter()
            .map(|(_, hop)| {
                hop.op.is_product()
                    && hop.inputs.first().is_some_and(|left| {
                        let left = dag.hop(*left);
                        left.op.is_transpose() && left.is_matrix()
                    })
            })
            .collect();
        let inputs: Vec<Vec<HopId>> = dag
            .iter()
            .map(|(id, hop)| {
                let mut inputs = hop.inputs.clone();
                if transposed_left[id.index()] {
                    inputs[0] = dag.hop(inputs[0]).inputs[0];
                }
                inputs
            })
            .collect();
        let schedule = schedule(&dag, &inputs);
        let mut reads = vec![0; dag.len()];
        let mut readers: Vec<Vec<HopId>> = vec![Vec::new(); dag.len()];
        for id in &schedule {
            for input in &inputs[id.index()] {
                reads[input.index()] += 1;
                if readers[input.index()].last() != Some(id) {
                    readers[input.index()].push(*id);
                }
            }
        }
        let in_place = in_place(&dag, &fused, &schedule, &inputs, &readers);
        let table_left: Vec<Option<HopId>> = dag
            .iter()
            .map(|(id, hop)| {
                let left = *inputs[id.index()].first().filter(|_| hop.op.is_product())?;
                (reads[left.index()] == 1 && dag.is_one_hot(left)).then_some(left)
            })
            .collect();
        let assigned = dag
            .roots
            .iter()
            .filter_map(|root| dag.hop(*root).op.variable_written())
            .map(str::to_owned)
            .collect();
        let labels = dag.iter().map(|(id, _)| label(&dag, id, &fused)).collect();
        BlockPlan {
            sizes: vec![OnceLock::new(); dag.len()],
            own_bytes: vec![OnceLock::new(); dag.len()],
            dag,
            fused,
            schedule,
            inputs,
            transposed_left,
            in_place,
            table_left,
            reads,
            readers,
            assigned,
            read_once: BTreeSet::new(),
            labels,
        }
    }

    /// With the variables that one later block reads at most.
    pub fn leaving_to_one_reader(self, variables: &BTreeSet<String>) -> Self {
        BlockPlan {
            read_once: variables.clone(),
            ..self
        }
    }

    /// Whether one later block at most reads a variable that this one assigns.
    pub fn is_read_once(&self, name: &str) -> bool {
        self.read_once.contains(name)
    }

    /// The same plan for other sizes: `dag` differs in nothing else.
    pub fn with_sizes(&self, dag: Dag) -> Self {
        BlockPlan {
            sizes: vec![OnceLock::new(); dag.len()],
            own_bytes: vec![OnceLock::new(); dag.len()],
            dag,
            ..self.clone()
        }
    }

    /// Whether an operator is a table that need not be made ([`BlockPlan::table_left`]).
    pub fn is_table_of_product(&self, id: HopId) -> bool {
        let reader = self.readers(id).first();
        reader.is_some_and(|reader| self.table_left[reader.index()] == Some(id))
    }

    /// The operators that read a value, each once.
    pub fn readers(&self, id: HopId) -> &[HopId] {
        &self.readers[id.index()]
    }

    /// Whether the block assigns the variable.
    pub fn assigns(&self, name: &str) -> bool {
        self.assigned.iter().any(|assigned| assigned == name)
    }

    /// The sizes that an operator is planned with: `[64 x 9, nnz ?] from [1437 x 64, nnz ?], scalar`.
    pub fn sizes(&self, id: HopId) -> &Arc<str> {
        self.sizes[id.index()].get_or_init(|| self.written_sizes(id))
    }

    fn written_sizes(&self, id: HopId) -> Arc<str> {
        let of = |hop: HopId| match self.dag.hop(hop) {
            matrix if matrix.is_matrix() => matrix.characteristics.to_string(),
            other => other.data_type.to_string(),
        };
        let inputs: Vec<String> = self.inputs[id.index()]
            .iter()
            .map(|input| of(*input))
            .collect();
        format!("{} from {}", of(id), inputs.join(", ")).into()
    }

    /// Bytes that an operator needs besides inputs and output. As HOPs' estimates, but fused operators know whether they need
    /// pointers to all rows.
    pub fn intermediate_bytes(&self, id: HopId) -> Option<u64> {
        let bytes = memory::intermediate_bytes(&self.dag, id)?;
        let main = self.dag.hop(id).inputs.first();
        let passes_over = |fused: &FusedPlan| fused.plan.passes_over_empty_rows();
        match (main, self.cplan(id).is_some_and(passes_over)) {
            (Some(main), true) => {
                Some(bytes.saturating_sub(memory::row_pointer_bytes(self.dag.hop(*main))))
            }
            _ => Some(bytes),
        }
    }

    /// Bytes of output and intermediates; `None` where the output's size is not known.
    pub fn own_bytes(&self, id: HopId) -> Option<u64> {
        *self.own_bytes[id.index()].get_or_init(|| {
            let output = memory::output_bytes(self.dag.hop(id))?;
            Some(output.saturating_add(self.intermediate_bytes(id).unwrap_or(0)))
        })
    }

    /// Bytes of inputs, output and intermediates, as far as sizes are known.
    pub fn operation_bytes(&self, id: HopId) -> Option<u64> {
        let held = memory::held_bytes(&self.dag, id)?;
        Some(held.saturating_add(self.intermediate_bytes(id)?))
    }

    /// The plan of a fused operator.
    pub fn cplan(&self, id: HopId) -> Option<&FusedPlan> {
        self.fused.get(self.dag.hop(id).op.fused()?)
    }
}

/// Everything the roots need, each after what it reads; roots in their order, so that effects are.
fn schedule(dag: &Dag, inputs: &[Vec<HopId>]) -> Vec<HopId> {
    let mut scheduled = vec![false; dag.len()];
    let mut order = Vec::new();
    // (HOP, how many of its inputs were looked at)
    let mut stack: Vec<(HopId, usize)> = Vec::new();
    for root in &dag.roots {
        stack.push((*root, 0));
        while let Some((id, next)) = stack.pop() {
            if scheduled[id.index()] {
                continue;
            }
            match inputs[id.index()].get(next) {
                Some(input) => {
                    stack.push((id, next + 1));
                    if !scheduled[input.index()] {
                        stack.push((*input, 0));
                    }
                }
                None => {
                    scheduled[id.index()] = true;
                    order.push(id);
                }
            }
        }
    }
    order
}

/// See [`BlockPlan::in_place`].
fn in_place(
    dag: &Dag,
    fused: &[FusedPlan],
    schedule: &[HopId],
    inputs: &[Vec<HopId>],
    readers: &[Vec<HopId>],
) -> Vec<bool> {
    let mut in_place = vec![false; dag.len()];
    let mut turn = vec![0; dag.len()];
    for (at, id) in schedule.iter().enumerate() {
        turn[id.index()] = at;
    }
    // Who writes into a matrix would have to copy it for the sake of a range that is read later.
    let written_before = |of: HopId, reader: &HopId| {
        let mut writers = readers[of.index()].iter();
        writers.any(|writer| {
            dag.hop(*writer).op.writes_part() && turn[writer.index()] < turn[reader.index()]
        })
    };
    // Readers first: a range of a range is one, too.
    for id in schedule.iter().rev() {
        let hop = dag.hop(*id);
        if !hop.op.is_part() || !hop.is_matrix() || !dag.hop(hop.inputs[0]).is_matrix() {
            continue;
        }
        let mut of = hop.inputs[0];
        while dag.hop(of).op.is_part() {
            of = dag.hop(of).inputs[0];
        }
        let reads_it = |reader: &HopId| {
            let slots = inputs[reader.index()].iter().enumerate();
            let mut slots = slots.filter(|(_, input)| *input == id);
            let plan = dag.hop(*reader).op.fused();
            if written_before(of, reader) {
                return false;
            }
            match plan.and_then(|index| fused.get(index)) {
                Some(fused) => slots.all(|(slot, _)| fused.plan.reads_ranges(slot)),
                None => in_place[reader.index()] && slots.all(|(slot, _)| slot == 0),
            }
        };
        let readers = &readers[id.index()];
        in_place[id.index()] =
            !dag.roots.contains(id) && !readers.is_empty() && readers.iter().all(reads_it);
    }
    in_place
}

/// Operators that read or give a matrix have a label: their code, what a fused one computes, and their place.
fn label(dag: &Dag, id: HopId, fused: &[FusedPlan]) -> Option<Arc<str>> {
    let hop = dag.hop(id);
    let on_matrices = hop.is_matrix() || hop.inputs.iter().any(|input| dag.hop(*input).is_matrix());
    let op = &hop.op;
    let is_value = op.variable_read().is_some() || op.constant().is_some();
    if !on_matrices || is_value || op.size_asked().is_some() {
        return None;
    }
    let plan = op
        .fused()
        .and_then(|index| Some((index, fused.get(index)?)));
    let name = match plan {
        Some((index, plan)) => format!(
            "fused({index}) {}",
            plan.text.lines().next().unwrap_or_default()
        ),
        None => op.code(),
    };
    Some(match &hop.position {
        Some(position) => format!("{name} {}:{}", position.source.name, position.line).into(),
        None => name.into(),
    })
}
