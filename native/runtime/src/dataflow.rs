//! Distributed dataflow: the primitives a backend runs.
//!
//! A distributed matrix is a dataset of *row stripes*: blocks with all columns and any number of rows, in
//! partitions whose order is the order of rows. Stripes know their row offset. Datasets made from one another by
//! [`Primitive::MapPartitions`] keep partitions and stripes (they are co-partitioned), so they can be mapped
//! together.
//!
//! All physical operators are compositions of these primitives, chosen by the control program; a backend knows
//! no operators. The in-process backend of this crate and the Spark shim implement the same trait; primitives
//! cross JNI as JSON, matrices as Arrow.

use std::collections::BTreeMap;

use fulgurite_error::Result;
use fulgurite_fusion::cplan::CPlan;
use fulgurite_hop::Literal;
use fulgurite_matrix::MatrixBlock;
use serde::{Deserialize, Serialize};

/// A dataset the backend holds (in Spark: an RDD of blocks).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DatasetId(pub u64);

/// A matrix the backend has sent to every worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BroadcastId(pub u64);

/// One step of distributed work.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "primitive", rename_all = "camelCase")]
pub enum Primitive {
    /// Binds a distributed input that the caller registered (a DataFrame), or a csv file read by the workers.
    /// Reply: dataset with characteristics. The dataset is persisted: its source is read once.
    Source { source: SourceSpec },
    /// Cuts the payload matrix into stripes of at most `stripe_rows` rows. Reply: dataset.
    Parallelize { stripe_rows: u64 },
    /// Sends the payload matrix to every worker. Reply: broadcast.
    Broadcast,
    /// Runs the task once per stripe, with the stripes of the (co-partitioned) inputs. Lazy. Reply: dataset.
    MapPartitions {
        inputs: Vec<DatasetId>,
        broadcasts: Vec<BroadcastId>,
        task: Task,
    },
    /// Brings two datasets of equal rows to common stripes: the second is shuffled to the stripes of the first.
    /// Reply: dataset co-partitioned with `left`.
    Align { left: DatasetId, right: DatasetId },
    /// As `MapPartitions`, then combines all partial results pairwise into one. Reply: payload matrix.
    MapAggregate {
        inputs: Vec<DatasetId>,
        broadcasts: Vec<BroadcastId>,
        task: Task,
        combine: Combine,
    },
    /// Brings all stripes to the driver, in the order of rows. Reply: payload matrix.
    Collect { input: DatasetId },
    /// Keeps the dataset in memory (spilling to disk) from its first use on. Reply: characteristics (this runs it).
    Persist { input: DatasetId },
    /// Forgets a dataset, freeing what was persisted.
    Release { dataset: DatasetId },
    /// Forgets a broadcast.
    ReleaseBroadcast { broadcast: BroadcastId },
    /// Writes a dataset as a folder of csv part files. No reply.
    WriteCsv {
        input: DatasetId,
        path: String,
        separator: String,
        header: bool,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum SourceSpec {
    /// An input of the request, by name.
    Registered { name: String },
    Csv {
        path: String,
        separator: String,
        header: bool,
        columns: Option<u64>,
    },
}

/// What native code runs on a stripe: one (basic or fused) operator or a small DAG of them. Named variables of
/// the DAG are bound to stripes, broadcasts and scalars; its only root is the result.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// HOP DAG JSON; `fused(i)` refers to `plans[i]`.
    pub dag: serde_json::Value,
    pub plans: Vec<CPlan>,
    /// Variable names of the stripes, in the order of the primitive's inputs.
    pub stripes: Vec<String>,
    /// Variables bound to the primitive's broadcasts, in order.
    pub broadcasts: Vec<BroadcastBinding>,
    pub scalars: BTreeMap<String, Literal>,
    /// What the task is called in logs, statistics and the Spark UI: `fused(3) Row ua(R+) … mlogreg.dml:42`.
    pub label: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroadcastBinding {
    pub variable: String,
    /// The task sees only the rows of its stripe (a side input with as many rows as the distributed matrix), not
    /// the whole.
    pub rows_of_stripe: bool,
}

/// How two partial results become one, cell by cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Combine {
    Sum,
    Product,
    Min,
    Max,
    /// Rows, means and sums of squared deviations from the mean, a row each, of each column.
    Moments,
    /// Each row in a way of its own: several aggregates at once.
    ByRow(Vec<Combine>),
}

/// What a primitive gives back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    pub dataset: Option<DatasetId>,
    pub broadcast: Option<BroadcastId>,
    pub rows: Option<u64>,
    pub cols: Option<u64>,
    pub nnz: Option<u64>,
    pub payload: Option<MatrixBlock>,
}

/// Runs primitives: in this process, or on Spark.
pub trait Backend: Send + Sync {
    /// `dataflow` (in this process) or `spark`, for explain and statistics.
    fn name(&self) -> &str;

    /// # Errors
    /// `backend` with the backend's own message, or the error of the task that failed, with its position.
    fn apply(&self, primitive: &Primitive, payload: Option<&MatrixBlock>) -> Result<Reply>;
}
