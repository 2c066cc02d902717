//! Products of matrices that are here, and run on the workers all the same because they take so long that sending the
//! operands pays ([`Product::spread`]).

use std::fmt;

use fulgurite_dataflow::{Capacity, Primitive, incomplete};
use fulgurite_error::Result;
use fulgurite_fusion::{
    CostConstants,
    cplan::{InputBinding, RowOutput, Template},
    machine::Constant,
};
use fulgurite_hop::{Characteristics, HopId, Seconds};
use fulgurite_operators::BlockPlan;

use crate::session::Session;

/// It takes less time on the workers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub(crate) cores_here: usize,
    pub(crate) seconds_here: f64,
    pub(crate) cores_there: u64,
    pub(crate) seconds_there: f64,
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "spread: {} on {} cores here, {} on {} there",
            Seconds(self.seconds_here),
            self.cores_here,
            Seconds(self.seconds_there),
            self.cores_there
        )
    }
}

/// A product of matrices that are here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Product {
    /// Multiplications and additions.
    pub(crate) operations: f64,
    /// What is cut into stripes or sent whole.
    pub(crate) sent: u64,
    pub(crate) result: u64,
}

impl Product {
    /// Whether an operator is a product, or a fused one that sums up products over rows.
    pub(crate) fn is_one(plan: &BlockPlan, id: HopId) -> bool {
        plan.dag.hop(id).op.is_product() || sums_products(plan, id).is_some()
    }

    /// From the sizes of an operator's inputs. `None` where they are not known.
    pub(crate) fn of(
        plan: &BlockPlan,
        id: HopId,
        inputs: &[Characteristics],
        sent: u64,
    ) -> Option<Self> {
        if let Some(main) = sums_products(plan, id) {
            let result = plan.dag.hop(id).characteristics;
            return Some(Product {
                operations: 2.0 * cells(inputs.get(main)?, result.rows?)? * result.cols? as f64,
                sent,
                result: result.memory_bytes()?,
            });
        }
        let &[left, right] = inputs else { return None };
        let operations = 2.0 * cells(&left, left.cols?)? * right.cols? as f64;
        let own_transpose = plan.transposed_left[id.index()]
            && plan.inputs[id.index()]
                .windows(2)
                .all(|pair| pair[0] == pair[1]);
        Some(Product {
            // Half the cells are those of the other half.
            operations: if own_transpose {
                operations / 2.0
            } else {
                operations
            },
            sent,
            result: Characteristics::dims(left.rows?, right.cols?).memory_bytes()?,
        })
    }
}

/// Cells of a matrix's rows, if they had so many columns, that are there.
fn cells(matrix: &Characteristics, cols: u64) -> Option<f64> {
    let all = matrix.cells()? as f64;
    let density = matrix
        .nnz
        .map_or(1.0, |nnz| (nnz as f64 / all.max(1.0)).min(1.0));
    Some(density * matrix.rows? as f64 * cols as f64)
}

/// The main input of a fused operator that sums up outer products of rows.
fn sums_products(plan: &BlockPlan, id: HopId) -> Option<usize> {
    let fused = &plan.cplan(id)?.plan;
    let Template::Row(row) = &fused.template else {
        return None;
    };
    let is_main = |input: &InputBinding| *input == InputBinding::Main;
    let main = fused.inputs.iter().position(is_main);
    main.filter(|_| matches!(row.output, RowOutput::OuterProduct { .. }))
}

impl Product {
    /// Whether the session's workers compute it, its operands being here.
    ///
    /// # Errors
    /// Of the backend, which is asked for its cores.
    pub(crate) fn spread(&self, session: &Session) -> Result<Option<Spread>> {
        let backend = session.backend.as_ref();
        let in_reach = backend.filter(|backend| backend.is_in_reach() && session.config.spread);
        let Some(backend) = in_reach else {
            return Ok(None);
        };
        let threads = session.config.effective_threads();
        spread(self, threads, &session.known_speeds(), || {
            let reply = backend.apply(&Primitive::Capacity, None)?;
            reply.capacity.ok_or_else(|| incomplete("capacity"))
        })
    }
}

/// Whether a product takes less time on the workers, its operands being here. The workers are asked for their cores only
/// where any number of them would make it faster, and it stays here unless they have more.
fn spread<E>(
    product: &Product,
    threads: usize,
    cost: &CostConstants,
    capacity: impl FnOnce() -> std::result::Result<Capacity, E>,
) -> std::result::Result<Option<Spread>, E> {
    let seconds_here = product.operations / (cost[Constant::Products] * 1e9);
    let moved = product.sent.saturating_add(product.result);
    let at_least = sending_seconds(cost, moved) + job_seconds(cost);
    if seconds_here <= at_least {
        return Ok(None);
    }
    let capacity = capacity()?;
    let cores_there = capacity.tasks.saturating_mul(capacity.cores as u64);
    if capacity.is_here || cores_there <= threads as u64 {
        return Ok(None);
    }
    let seconds_there = at_least + seconds_here * threads as f64 / cores_there as f64;
    Ok((seconds_there < seconds_here).then_some(Spread {
        cores_here: threads,
        seconds_here,
        cores_there,
        seconds_there,
    }))
}

/// To move so many bytes between the driver and workers.
pub(super) fn sending_seconds(cost: &CostConstants, bytes: u64) -> f64 {
    bytes as f64 / (cost[Constant::Broadcast] * 1e9)
}

/// What a job takes whatever it does.
pub(super) fn job_seconds(cost: &CostConstants) -> f64 {
    cost[Constant::Job] * 1e-3
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use fulgurite_hop::{Dag, Hop, HopOp};

    use super::*;

    fn asked(product: &Product, tasks: u64, is_here: bool) -> (Option<Spread>, bool) {
        let cost = CostConstants::default().computing_at(10.0);
        let mut asked = false;
        let capacity = || {
            asked = true;
            Ok::<_, Infallible>(Capacity {
                tasks,
                cores: 1,
                bytes: None,
                result_bytes: None,
                is_here,
            })
        };
        let Ok(spread) = spread(product, 4, &cost, capacity);
        (spread, asked)
    }

    #[test]
    fn products_are_spread_where_that_takes_less_time() {
        // 1e12 operations: 100 s here. 80 MB and 8 MB take 0.7 s to move.
        let long = Product {
            operations: 1e12,
            sent: 80_000_000,
            result: 8_000_000,
        };
        let (spread, _) = asked(&long, 40, false);
        let spread = spread.expect("ten times the cores");
        assert_eq!((spread.cores_here, spread.cores_there), (4, 40));
        assert!((10.0..11.0).contains(&spread.seconds_there), "{spread:?}");
        assert_eq!(asked(&long, 4, false), (None, true));
        assert_eq!(asked(&long, 40, true), (None, true));
        // A short one: nobody is asked.
        let short = Product {
            operations: 1e9,
            ..long
        };
        assert_eq!(asked(&short, 4000, false), (None, false));
    }

    #[test]
    fn operations_are_those_of_cells_that_are_there() {
        let mut dag = Dag::new();
        let mut read = |name: &str, known| {
            let op = HopOp::TransientRead(name.into());
            dag.push(Hop::matrix(op, Vec::new()).with(known))
        };
        let x = read("X", Characteristics::dims(1000, 10));
        let y = read("Y", Characteristics::dims(10, 5));
        let transposed = dag.push(Hop::matrix(HopOp::Transpose, vec![x]));
        let own = dag.push(Hop::matrix(HopOp::MatMult, vec![transposed, x]));
        let other = dag.push(Hop::matrix(HopOp::MatMult, vec![x, y]));
        dag.roots = vec![own, other];
        let plan = BlockPlan::new(dag, Vec::new());
        let operations = |id, left: Characteristics, right| {
            let product = Product::of(&plan, id, &[left, right], 0);
            product.map(|product| product.operations)
        };
        let (x, y) = (
            Characteristics::dims(1000, 10),
            Characteristics::dims(10, 5),
        );
        assert_eq!(operations(other, x, y), Some(100_000.0));
        assert_eq!(operations(other, x.with_nnz(100), y), Some(1000.0));
        assert_eq!(operations(other, Characteristics::UNKNOWN, y), None);
        let turned = Characteristics::dims(10, 1000);
        assert_eq!(operations(own, turned, x), Some(100_000.0));
        assert!(!Product::is_one(&plan, transposed));
    }
}
