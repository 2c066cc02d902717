//! Operator fusion: from a HOP DAG to fused operators.
//!
//! Start with [`fuse`]. Its steps, one file each:
//!
//! 1. `explore` fills the [`memo`] table with all valid partial fusion plans, asking each `template` when a
//!    plan may open, grow and close.
//! 2. [`partition`] splits the plans into independent partitions and finds the decisions worth making.
//! 3. `enumerate` searches the assignments of those decisions for the cheapest by the model of `cost`,
//!    skipping what `bound` and `cut_set` rule out; `operator` says which operators an assignment gives,
//!    `plan_cost` what they cost together.
//! 4. `select` applies the policy, `multi_aggregate` merges scans of the same matrix, `construct` builds each
//!    operator's [`cplan`], `replace` rewrites the DAG.
//! 5. [`explain`] keeps what was considered, chosen and refused, and why.
//!
//! All of them know operators by their `roles`.
//!
//! Source of the whole stage: Boehm et al., "On Optimizing Operator Fusion Plans for Large-Scale Machine
//! Learning in SystemML", Sections 2 to 4.

#![forbid(unsafe_code)]

pub mod cplan;
pub mod explain;
pub mod memo;
pub mod partition;
pub mod reason;

mod bound;
mod config;
mod construct;
mod cost;
mod cut_set;
mod enumerate;
mod explore;
mod likeness;
pub mod machine;
mod multi_aggregate;
mod operator;
mod plan_cost;
mod problem;
mod recall;
mod replace;
mod roles;
mod search;
mod select;
mod selection;
mod template;
mod view;

#[cfg(test)]
mod tests;

pub use config::{FusionConfig, Policy};
pub use explain::{Explanation, FusionStatistics};
pub use likeness::{SAME_WITHIN, is_about_as_sparse, is_about_the_same};
pub use machine::CostConstants;
pub use recall::Searches;
pub use search::Search;
pub use select::{Known, fuse, fuse_known};

use fulgurite_error::Position;
use fulgurite_hop::{Characteristics, Dag, DataType, HopId};
use serde::Serialize;

/// A DAG in which fused operators stand for what they cover.
#[derive(Debug, Clone)]
pub struct FusedDag {
    /// `HopOp::Fused(i)` runs `operators[i].plan`; its inputs are the plan's, in order. Operators that
    /// nothing reads any more are gone.
    pub dag: Dag,
    pub operators: Vec<FusedOperator>,
    /// Per HOP of `dag`, the HOP before fusion that it is, of a fused operator the last one covered; `None` for
    /// what takes an operator's result apart or turns an operand round.
    pub origins: Vec<Option<HopId>>,
    pub explanation: Explanation,
    pub statistics: FusionStatistics,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FusedOperator {
    pub plan: cplan::CPlan,
    /// What the plan's inputs are bound to, numbered as in the DAG before fusion.
    pub inputs: Vec<HopId>,
    /// Template and code of the last operator covered: `Row ba(+*)`.
    pub label: String,
    /// Operands first; the last one gives the output.
    pub covered: Vec<CoveredOperator>,
    pub position: Option<Position>,
    pub output: Characteristics,
    /// Full aggregates give a scalar.
    pub data_type: DataType,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CoveredOperator {
    pub code: String,
    pub position: Option<Position>,
}
