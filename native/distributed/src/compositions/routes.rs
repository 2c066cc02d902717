//! Sends rows to the stripes of a result that they belong in.

use std::sync::Arc;

use fulgurite_dataflow::{Assemble, Dataset, Pieces};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Formulas, HopId};

use crate::{task_builder::TaskBuilder, workers::Workers};

/// Rows with the stripes of the result that they belong in.
pub(super) struct Routed {
    rows: HopId,
    targets: u64,
}

impl Routed {
    /// `matrices` side by side; `places`, from 0, say where their rows stand among the `rows` of the result.
    pub(super) fn new(
        workers: &Workers,
        builder: &mut TaskBuilder,
        matrices: &[HopId],
        places: HopId,
        rows: u64,
    ) -> Self {
        let every = workers.config.blocksize;
        let per_stripe = builder.int(every);
        let target = builder.quotient(places, per_stripe);
        let mut side_by_side = matrices.to_vec();
        side_by_side.push(target);
        Routed {
            rows: builder.side_by_side(side_by_side),
            targets: rows.div_ceil(every),
        }
    }

    /// The rows of several, for the same result.
    pub(super) fn together(routes: Vec<Routed>, builder: &mut TaskBuilder) -> Result<Self> {
        let targets = routes.first().map(|route| route.targets);
        let targets = targets.ok_or_else(|| Error::internal("no rows were to be routed"))?;
        let rows: Vec<HopId> = routes.iter().map(|route| route.rows).collect();
        let rows = builder.stacked(rows);
        Ok(Routed { rows, targets })
    }

    /// The rows in their stripes, which do not tell their places yet.
    pub(super) fn shuffle(self, builder: TaskBuilder, label: &str) -> Result<Arc<Dataset>> {
        let Routed { rows, targets } = self;
        builder.shuffle(
            rows,
            Pieces::Named { targets },
            targets,
            Assemble::Below,
            label,
        )
    }
}
