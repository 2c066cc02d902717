//! What control programs did, here and on workers: their reports are of the same parts.

mod parfor;
mod planning;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use parfor::ParforReport;
pub use planning::{FusionReport, PlanningReport, Replan};

/// What an interpreter on a worker did, on its way to the report of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RemoteWork {
    /// In the order of their labels.
    pub operators: Vec<OperatorWork>,
    pub planning: Duration,
    pub plans: PlanningReport,
    pub fusion: FusionReport,
    pub parfors: Vec<ParforReport>,
}

/// All runs of an operator on a worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperatorWork {
    /// The operator's code and where in the script it stands.
    pub label: String,
    pub count: u64,
    pub time: Duration,
    /// For fused operators, the plan as text.
    pub plan: Option<String>,
    /// For fused operators, the sizes that the last run was planned with.
    pub sizes: Option<String>,
}
