//! Whether the plan that was decided for a block still stands for other sizes.
//!
//! Plans are free of sizes, but the choice among them is not, and neither is what an operator may do: a row vector is
//! spread over rows, a matrix that fits stays here. [`Decided`] keeps the DAG that plans were chosen for and
//! compares it with what the same block looks like now.

use std::collections::HashMap;

use fulgurite_dataflow::Replan;
use fulgurite_error::Result;
use fulgurite_fusion::{FusedDag, is_about_as_sparse, is_about_the_same};
use fulgurite_hop::{Characteristics, Dag, Hop, HopId, Symbols, memory, propagate_dag};

use super::Conditions;

/// The DAG before fusion that plans were chosen for.
#[derive(Debug, Default)]
pub(super) struct Decided {
    dag: Dag,
    /// By the number of a fused operator.
    results: Vec<FusedResult>,
    pattern: Vec<u32>,
}

/// What a fused operator gives: the value of an operator of the DAG before fusion.
#[derive(Debug, Clone, Copy)]
struct FusedResult {
    root: HopId,
    layout: Layout,
}

#[derive(Debug, Clone, Copy)]
enum Layout {
    AsRoot,
    Transposed,
    /// Several aggregates of rows, or of groups, so many columns beside each other.
    Beside(Option<u64>),
    /// Several aggregates of columns, so many rows below each other.
    Below(Option<u64>),
    /// Several aggregates of all cells have a size that never changes.
    Fixed,
}

/// Limits that operators fit in, or do not.
pub(super) struct Limits {
    local: u64,
    broadcast: u64,
}

impl Limits {
    pub(super) fn of(conditions: &Conditions) -> Self {
        let config = conditions.config;
        Limits {
            local: config.memory_local,
            // Without workers nothing is sent to them.
            broadcast: match conditions.has_workers {
                true => config.memory_broadcast,
                false => u64::MAX,
            },
        }
    }

    /// On which side of the limits an operator is.
    fn sides(&self, dag: &Dag, id: HopId) -> [Option<bool>; 2] {
        let within = |bytes: Option<u64>, limit| bytes.map(|bytes| bytes <= limit);
        [
            within(memory::operation_bytes(dag, id), self.local),
            within(memory::output_bytes(dag.hop(id)), self.broadcast),
        ]
    }
}

impl Decided {
    /// `fused` is what `dag` became.
    pub(super) fn new(dag: Dag, fused: &FusedDag) -> Self {
        let explanation = &fused.explanation;
        let roots = explanation.operators.iter().map(|operator| operator.root);
        let results = roots.enumerate().map(|(number, root)| {
            let mut hops = fused.dag.iter().map(|(_, hop)| hop);
            let own = hops.find(|hop| hop.op.fused() == Some(number));
            FusedResult {
                root,
                layout: own.map_or(Layout::Fixed, |own| layout(own, dag.hop(root))),
            }
        });
        Decided {
            results: results.collect(),
            pattern: pattern(&dag),
            dag,
        }
    }

    /// Why the plan does not serve the block as it is now; `None` if it does.
    pub(super) fn difference(&self, now: &Dag, limits: &Limits) -> Option<Replan> {
        if self.dag.len() != now.len() || self.dag.roots != now.roots {
            return Some(Replan::Values);
        }
        let mut differences = Vec::new();
        for ((id, was), (_, is)) in self.dag.iter().zip(now.iter()) {
            let same = (&was.op, &was.inputs, was.data_type, was.value_type)
                == (&is.op, &is.inputs, is.data_type, is.value_type);
            if !same {
                return Some(Replan::Values);
            }
            differences.extend(changed_size(was, is));
            if limits.sides(&self.dag, id) != limits.sides(now, id) {
                differences.push(Replan::Memory);
            }
        }
        // The first of a kind, since sizes that became known change memory too.
        let most_telling = differences.into_iter().min();
        most_telling.or_else(|| (pattern(now) != self.pattern).then_some(Replan::Sizes))
    }

    /// The fused DAG with the sizes that the block has now.
    ///
    /// # Errors
    /// As propagation.
    pub(super) fn resized(&self, fused: &Dag, now: &Dag, known: &Symbols) -> Result<Dag> {
        let mut dag = fused.clone();
        for index in 0..fused.len() {
            let id = HopId(index as u32);
            let Some(number) = fused.hop(id).op.fused() else {
                continue;
            };
            let Some(result) = self.results.get(number) else {
                continue;
            };
            let size = now.hop(result.root).characteristics;
            dag.hop_mut(id).characteristics = match result.layout {
                Layout::AsRoot => size,
                Layout::Transposed => Characteristics::new(size.cols, size.rows, size.nnz),
                Layout::Beside(cols) => Characteristics::new(size.rows, cols, None),
                Layout::Below(rows) => Characteristics::new(rows, size.cols, None),
                Layout::Fixed => continue,
            };
        }
        propagate_dag(&dag, known).map(|(dag, _)| dag)
    }
}

fn layout(fused: &Hop, root: &Hop) -> Layout {
    let (own, root) = (fused.characteristics, root.characteristics);
    match (own.rows, own.cols) {
        shape if shape == (root.rows, root.cols) => Layout::AsRoot,
        shape if shape == (root.cols, root.rows) => Layout::Transposed,
        (rows, cols) if rows.is_some() && rows == root.rows => Layout::Beside(cols),
        (rows, cols) if cols.is_some() && cols == root.cols => Layout::Below(rows),
        _ => Layout::Fixed,
    }
}

fn changed_size(was: &Hop, is: &Hop) -> Option<Replan> {
    if !was.is_matrix() {
        return None;
    }
    let (was, is) = (was.characteristics, is.characteristics);
    for (was, is) in [(was.rows, is.rows), (was.cols, is.cols)] {
        match (was, is) {
            (None, Some(_)) => return Some(Replan::SizesKnown),
            (Some(_), None) => return Some(Replan::Sizes),
            (Some(was), Some(is))
                if was.min(2) != is.min(2) || !is_about_the_same(was as f64, is as f64) =>
            {
                return Some(Replan::Sizes);
            }
            _ => {}
        }
    }
    (!is_about_as_sparse(&was, &is)).then_some(Replan::Sparsity)
}

/// Which rows and columns of all matrices are equal: each gets the number of the first one that it equals. Whether
/// operands are aligned follows from it.
fn pattern(dag: &Dag) -> Vec<u32> {
    let mut numbers: HashMap<Option<u64>, u32> = HashMap::new();
    let matrices = dag.iter().filter(|(_, hop)| hop.is_matrix());
    matrices
        .flat_map(|(_, hop)| [hop.rows(), hop.cols()])
        .map(|size| {
            let next = numbers.len() as u32;
            *numbers.entry(size).or_insert(next)
        })
        .collect()
}
