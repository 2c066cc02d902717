//! Problems of the search: a whole partition, or a part of one.

use fulgurite_hop::HopId;

use crate::partition::Partition;

/// A part of a partition that is searched on its own.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    /// Sorted.
    pub hops: Vec<HopId>,
    /// Sorted: these, and what operators reach from them.
    pub reach: Vec<HopId>,
    /// Sorted. Materialised in every plan.
    pub outputs: Vec<HopId>,
    /// The decisions to make.
    pub points: Vec<usize>,
    /// Those of the HOPs that other parts may compute too; not every plan of this one has to.
    pub borrowed: Vec<HopId>,
    /// None of their points is set: the plans in which they are materialised are searched elsewhere. Each part
    /// that has to read one all the same counts it as its own.
    pub forgone: Vec<HopId>,
}

impl Problem {
    pub fn whole(partition: &Partition) -> Self {
        Problem {
            hops: partition.hops.clone(),
            reach: partition.hops.clone(),
            outputs: partition.outputs.clone(),
            points: (0..partition.points.len()).collect(),
            borrowed: Vec::new(),
            forgone: Vec::new(),
        }
    }
}
