//! What steers plan selection: the policy, the machine's constants, and the limits.

use fulgurite_matrix::memory::MAPPED_BYTES;
use serde::{Deserialize, Serialize};

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

/// Outputs of up to this many bytes get memory that was used before: allocators keep it (glibc up to 32 MB), where
/// larger ones get pages that the system has to clear.
pub const RECYCLED_BYTES: f64 = MAPPED_BYTES as f64;

/// Matrices of up to this many bytes are in a cache still when the next operator reads them.
pub const CACHED_BYTES: f64 = (1 << 20) as f64;

/// Speeds of the machine that the cost model turns sizes into seconds with (Section 4.3).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostConstants {
    /// Reading inputs from this machine's memory.
    pub read_gb_per_s: f64,
    /// Reading inputs of up to [`CACHED_BYTES`].
    pub cached_read_gb_per_s: f64,
    /// Reading what the workers hold, on all of them together.
    pub distributed_gb_per_s: f64,
    /// Writing outputs into memory that is new.
    pub write_gb_per_s: f64,
    /// Writing outputs of up to [`RECYCLED_BYTES`].
    pub rewrite_gb_per_s: f64,
    /// Writing outputs of up to [`CACHED_BYTES`].
    pub cached_write_gb_per_s: f64,
    /// Sending a local input to the workers of a distributed operator.
    pub broadcast_gb_per_s: f64,
    /// All cores together, on generated code.
    pub compute_gflop_per_s: f64,
    /// The same of elementary functions, as their operations are counted.
    pub function_gflop_per_s: f64,
    /// The same of products with wide matrices.
    pub product_gflop_per_s: f64,
}

impl Default for CostConstants {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let gflop_per_s = 2.0 * cores as f64;
        CostConstants {
            read_gb_per_s: 32.0,
            cached_read_gb_per_s: 32.0,
            distributed_gb_per_s: 32.0,
            write_gb_per_s: 2.0,
            rewrite_gb_per_s: 2.0,
            cached_write_gb_per_s: 2.0,
            broadcast_gb_per_s: 0.128,
            compute_gflop_per_s: gflop_per_s,
            function_gflop_per_s: gflop_per_s,
            product_gflop_per_s: gflop_per_s,
        }
    }
}

impl CostConstants {
    /// These, with the same GFLOP/s for all that is computed.
    pub fn computing_at(self, gflop_per_s: f64) -> Self {
        CostConstants {
            compute_gflop_per_s: gflop_per_s,
            function_gflop_per_s: gflop_per_s,
            product_gflop_per_s: gflop_per_s,
            ..self
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
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
