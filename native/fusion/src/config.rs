//! What steers plan selection: the policy, what is known of the machine, and the limits.

use serde::{Deserialize, Serialize};

use crate::machine::CostConstants;

/// How plans are selected among the candidates (Section 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// The cheapest plan by the cost model.
    #[default]
    Cost,
    /// Fuse as much as possible, even where that computes shared expressions more than once.
    FuseAll,
    /// Materialise every intermediate with more than one consumer.
    FuseNoRedundancy,
    /// No fusion.
    None,
}

impl Policy {
    pub const ALL: &'static [Policy] = &[
        Policy::Cost,
        Policy::FuseAll,
        Policy::FuseNoRedundancy,
        Policy::None,
    ];

    /// As the configuration key `fulgurite.fusion.policy` spells it.
    pub fn name(self) -> &'static str {
        match self {
            Policy::Cost => "cost",
            Policy::FuseAll => "fuse-all",
            Policy::FuseNoRedundancy => "fuse-no-redundancy",
            Policy::None => "none",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|policy| policy.name() == name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusionConfig {
    pub policy: Policy,
    pub cost: CostConstants,
    /// Bytes. An operator whose inputs and output take more is distributed.
    pub local_memory: u64,
    /// Bytes. An operator on this machine that takes more is refused when it runs: it is planned only where there is
    /// no other way.
    pub memory_limit: u64,
    /// Bytes. Side inputs that every worker must have whole may take this much in one operator.
    pub broadcast_memory: u64,
    /// Plan assignments that are costed per partition before the best one so far is taken. Beyond some
    /// thousand, searching on takes longer than a better plan would save; a plan of many large operators
    /// counts as several. Without a limit, partitions of up to 14 points are searched to the end, whatever that takes.
    pub max_plans_per_partition: Option<u64>,
    /// Also cost what is not chosen, for whoever reads the explanation.
    pub explain: bool,
    /// Outer products `U %*% t(V)` of at least this many cells are candidates for operators that never hold
    /// them; below, the product fits the cache and there is nothing to gain.
    pub outer_product_cells: u64,
    /// Full aggregates that one scan may compute; 1 for scans of their own. Beyond a few, reading is shared, and
    /// accumulators and bodies compete for registers.
    pub max_aggregates: usize,
}

impl Default for FusionConfig {
    fn default() -> Self {
        FusionConfig {
            policy: Policy::Cost,
            cost: CostConstants::default(),
            local_memory: u64::MAX,
            memory_limit: u64::MAX,
            broadcast_memory: 2 << 30,
            max_plans_per_partition: Some(1 << 11),
            explain: false,
            outer_product_cells: 256 * 256,
            max_aggregates: 4,
        }
    }
}
