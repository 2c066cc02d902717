//! Partitions like one that was searched before: dynamic recompilation plans the same operators again and again, of
//! about the same sizes, and what was found for them still holds.

use std::collections::HashMap;

use fulgurite_hop::{Characteristics, HopId, HopOp};

use crate::{memo::MemoEntry, partition::PointKind, plan_cost::PartitionCosts, roles};

/// Costs are proportional to sizes, so that below this factor a plan that was clearly the best still is.
pub const SAME_WITHIN: f64 = 2.0;

/// Whether two sizes, or shares of non-zeros, differ by less than [`SAME_WITHIN`].
pub fn is_about_the_same(was: f64, is: f64) -> bool {
    was == is || (is < was * SAME_WITHIN && was < is * SAME_WITHIN)
}

/// Whether shares of non-zeros differ by less than [`SAME_WITHIN`], and none or both are empty.
pub fn is_about_as_sparse(was: &Characteristics, is: &Characteristics) -> bool {
    (was.nnz == Some(0)) == (is.nnz == Some(0)) && is_about_the_same(was.sparsity(), is.sparsity())
}

/// What a search depended on, free of the numbers of HOPs, the names of variables and the values of literals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Likeness {
    operators: Vec<OperatorLikeness>,
    outputs: Vec<u32>,
    points: Vec<(u32, u32, PointKind)>,
    /// Of the HOPs of the partition, then of what they read.
    sizes: Vec<Size>,
}

/// Whether it is a literal or a variable, and who else reads it, makes no difference.
const SCALAR: u32 = u32::MAX;

#[derive(Debug, Clone, PartialEq)]
struct OperatorLikeness {
    op: HopOp,
    /// By their place in the list of sizes, scalars from outside as [`SCALAR`].
    inputs: Vec<u32>,
    entries: Vec<MemoEntry>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Size {
    characteristics: Characteristics,
    /// As a basic operator, into the memory of this machine.
    fits: bool,
    /// It is the same in all iterations of the loop around the DAG.
    stays: bool,
}

impl Likeness {
    pub fn new(costs: &PartitionCosts) -> Self {
        let PartitionCosts {
            view,
            model,
            partition,
            ..
        } = costs;
        let mut places: HashMap<HopId, u32> = HashMap::new();
        let mut placed: Vec<HopId> = Vec::new();
        let mut place = |hop: HopId| {
            *places.entry(hop).or_insert_with(|| {
                placed.push(hop);
                placed.len() as u32 - 1
            })
        };
        for hop in &partition.hops {
            place(*hop);
        }
        let operators = partition.hops.iter().map(|hop| {
            let inputs = view.hop(*hop).inputs.iter().map(|input| {
                let is_inside = partition.hops.binary_search(input).is_ok();
                match view.hop(*input).is_scalar() && !is_inside {
                    true => SCALAR,
                    false => place(*input),
                }
            });
            OperatorLikeness {
                op: roles::nameless(&view.hop(*hop).op),
                inputs: inputs.collect(),
                entries: costs.chooser.memo.group(*hop).to_vec(),
            }
        });
        let operators = operators.collect();
        let points = partition.points.iter();
        let points = points.map(|point| (place(point.consumer), place(point.target), point.kind));
        let points = points.collect();
        let outputs = partition.outputs.iter().map(|hop| place(*hop)).collect();
        let sizes = placed.iter().map(|hop| Size {
            characteristics: view.hop(*hop).characteristics,
            fits: model.fits(*hop),
            stays: view.stays(*hop),
        });
        Likeness {
            operators,
            outputs,
            points,
            sizes: sizes.collect(),
        }
    }

    /// The same decisions on operators of about the same sizes.
    pub fn is_like(&self, other: &Likeness) -> bool {
        let same = (&self.points, &self.outputs) == (&other.points, &other.outputs)
            && self.operators == other.operators
            && self.sizes.len() == other.sizes.len();
        same && self
            .sizes
            .iter()
            .zip(&other.sizes)
            .all(|(one, two)| one.is_like(two))
    }
}

impl Size {
    fn is_like(&self, other: &Size) -> bool {
        let (one, two) = (self.characteristics, other.characteristics);
        let same = |one: Option<u64>, two: Option<u64>| match (one, two) {
            (Some(one), Some(two)) => {
                one.min(2) == two.min(2) && is_about_the_same(one as f64, two as f64)
            }
            (one, two) => one == two,
        };
        (self.fits, self.stays) == (other.fits, other.stays)
            && same(one.rows, two.rows)
            && same(one.cols, two.cols)
            && is_about_as_sparse(&one, &two)
    }
}

#[cfg(test)]
mod tests {
    use super::is_about_the_same;

    #[test]
    fn the_factor_counts_in_both_directions() {
        let near = is_about_the_same;
        assert!(near(0.1, 0.19) && near(0.1, 0.051) && near(0.0, 0.0));
        assert!(!near(0.1, 0.2) && !near(0.1, 0.05) && !near(0.0, 0.1) && !near(0.1, 0.0));
    }
}
