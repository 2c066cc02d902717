//! Distributed dataflow: the primitives a backend runs.
//!
//! A distributed matrix is a dataset of *row stripes*: blocks with all columns and any number of rows, in
//! partitions whose order is the order of rows. Stripes know their row offset, and none is empty unless the matrix
//! is. Datasets made from one another by [`Primitive::MapPartitions`] keep partitions and stripes (they are
//! co-partitioned), so they can be mapped together.
//!
//! All physical operators are compositions of these primitives, chosen by the control program; a backend knows
//! no operators. The backend in this process and the Spark shim implement the same trait; primitives
//! cross JNI as JSON, matrices as Arrow.

mod callers;
mod files;
mod iterations;

use std::collections::BTreeMap;

pub use callers::Callers;
pub use files::FoundFile;
use fulgurite_error::Result;
use fulgurite_fusion::cplan::CPlan;
use fulgurite_hop::{FileFormat, Literal};
use fulgurite_matrix::{MatrixBlock, kernels::RandStream};
pub use iterations::{
    Capacity, IterationRange, RangeAccount, RangePart, RangeResult, RangeTask, RemoteLoop, Slices,
};
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
    /// Binds a distributed input that the caller registered (a DataFrame), or a file read by the workers.
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
    /// Runs the task once per stripe of the (co-partitioned) inputs and stripe of `over`, in the order of the latter's rows, and
    /// combines what it gives for a stripe of the inputs ([`Task::over`]). Whoever runs it holds stripes of the inputs, with
    /// their results, of about `bytes`, and few stripes of `over` at a time: these it goes over again for the next ones. `over`
    /// is to be persisted, as all partitions read it. A row of the result takes `row_bytes` at most. Lazy. Reply: dataset,
    /// co-partitioned with the inputs.
    MapOver {
        inputs: Vec<DatasetId>,
        over: DatasetId,
        broadcasts: Vec<BroadcastId>,
        task: Task,
        combine: Combine,
        bytes: u64,
        row_bytes: u64,
    },
    /// As `MapPartitions`, then combines the results of each partition, in the order of rows. Lazy. Reply: a dataset of one
    /// stripe for each partition that has any, with the row offset of the first of them. It is to be mapped or shuffled further.
    CombinePartitions {
        inputs: Vec<DatasetId>,
        broadcasts: Vec<BroadcastId>,
        task: Task,
        combine: Combine,
    },
    /// Brings two datasets of equal rows to common stripes: the second is shuffled to the stripes of the first.
    /// Reply: dataset co-partitioned with `left`.
    Align { left: DatasetId, right: DatasetId },
    /// Ranges of rows of datasets with equally many columns, one below the other. Moves no rows between partitions:
    /// stripes are cut where a range begins or ends within them. Lazy. Reply: dataset.
    Concatenate { parts: Vec<RowRange> },
    /// Gives stripes the row offsets that follow from their order and heights, which a task or a shuffle has changed;
    /// empty ones are dropped. Runs the dataset and keeps the result, which takes its place: the input is forgotten.
    /// Reply: dataset with characteristics.
    Place { input: DatasetId },
    /// Runs a task that cuts its results into pieces ([`Task::pieces`]), brings all pieces of a target together, and
    /// makes one stripe of them, in the order of the stripes they came from. Lazy. Reply: a dataset of one stripe for
    /// each target that got a piece, in the order of targets, whose row offsets mean nothing until it is placed.
    Shuffle {
        inputs: Vec<DatasetId>,
        broadcasts: Vec<BroadcastId>,
        task: Task,
        targets: u64,
        assemble: Assemble,
    },
    /// As `MapPartitions`, then combines all partial results pairwise into one. Reply: payload matrix.
    MapAggregate {
        inputs: Vec<DatasetId>,
        broadcasts: Vec<BroadcastId>,
        task: Task,
        combine: Combine,
    },
    /// Runs iterations of a loop, each range in a task of one job. Reply: what each task gives, in the order of ranges.
    /// With an input there is one range: a task for each stripe runs those of its iterations whose slices the stripe has.
    /// Reply: what each gives.
    RunIterations {
        input: Option<DatasetId>,
        broadcasts: Vec<BroadcastId>,
        #[serde(rename = "loop")]
        of: Box<RemoteLoop>,
        ranges: Vec<IterationRange>,
    },
    /// Asks what tasks there is room for. Reply: the capacity.
    Capacity,
    /// Brings all stripes to the driver, in the order of rows. `bytes` is what they take at most, in any layout, where
    /// that is known. Reply: payload matrix.
    Collect {
        input: DatasetId,
        bytes: Option<u64>,
    },
    /// Keeps the dataset in memory (spilling to disk) from its first use on. Reply: characteristics (this runs it).
    Persist { input: DatasetId },
    /// Forgets a dataset, freeing what was persisted.
    Release { dataset: DatasetId },
    /// Forgets a broadcast.
    ReleaseBroadcast { broadcast: BroadcastId },
    /// Writes a dataset as a folder of part files, and what its `.mtd` file says beside it. No reply.
    Write {
        input: DatasetId,
        path: String,
        format: FileFormat,
        separator: String,
        header: bool,
        /// csv: zeros are empty cells.
        sparse: bool,
        metadata: Option<String>,
    },
    /// Asks what there is of a file, or a folder of part files, of a file system that the backend knows. Reply: the file,
    /// with the first bytes of its first part, at most `head` of them.
    FindFile { path: String, head: u64 },
    /// Copies such a file's parts to this machine, as files whose names have the order of the parts: `bytes` together at
    /// most. Reply: their folder, which is now the caller's to delete.
    FetchFile { path: String, bytes: u64 },
    /// Makes a folder of this machine for what will be such a file. Reply: the folder, which is now the caller's to delete.
    StageFile { path: String },
    /// Gives the file [`STAGED`] of a folder of this machine, and what lies beside it as its `.mtd`, that path, replacing
    /// what was there. No reply.
    StoreFile { folder: String, path: String },
}

/// What a file that is to be stored is called in its folder.
pub const STAGED: &str = "staged";

/// What a dataset is read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum SourceSpec {
    /// An input of the request, by name.
    Registered {
        name: String,
    },
    Csv {
        path: String,
        separator: String,
        header: bool,
        /// Empty cells are `default` (a number as text: JSON has no NaN); otherwise they are errors.
        fill: bool,
        default: String,
        /// Nobody has said what empty cells are: a reader is warned of them.
        warns_of_empty: bool,
        /// Texts that stand for NaN.
        na_strings: Vec<String>,
        columns: Option<u64>,
    },
    /// Lines of row, column and value.
    Text {
        path: String,
        rows: u64,
        cols: u64,
    },
    MatrixMarket {
        path: String,
    },
    /// `columns` counts the label.
    Libsvm {
        path: String,
        columns: Option<u64>,
    },
    /// Blocks as Arrow IPC streams.
    Binary {
        path: String,
        /// Whether values may stay in the file.
        mapped: bool,
    },
    /// Columns of numbers, or one of vectors.
    Parquet {
        path: String,
    },
}

/// The rows `from..until` of a dataset, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowRange {
    pub dataset: DatasetId,
    pub from: u64,
    pub until: u64,
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
    /// The variable that holds how many rows of the matrix stand above the stripe, where the DAG reads it.
    #[serde(default)]
    pub row_offset: Option<String>,
    /// What the DAG reads of a stripe of the dataset that [`Primitive::MapOver`] goes over.
    #[serde(default)]
    pub over: Option<OverBinding>,
    /// Whose numbers `rand` gives.
    #[serde(default)]
    pub rand_stream: RandStream,
    /// How a result is cut for a shuffle; in one piece everywhere else.
    #[serde(default)]
    pub pieces: Option<Pieces>,
    /// What is put over cells of the result.
    #[serde(default)]
    pub parts: Option<Parts>,
    /// What the task is called in logs, statistics and the Spark UI: `fused(3) Row ua(R+) … mlogreg.dml:42`.
    pub label: String,
}

/// A variable for a matrix that was sent to every worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroadcastBinding {
    pub variable: String,
    /// The task sees only the rows of its stripe (a side input with as many rows as the distributed matrix), not
    /// the whole.
    pub rows_of_stripe: bool,
}

/// Variables for a stripe of another dataset than those that the task runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OverBinding {
    pub variable: String,
    /// How many rows of its matrix stand above it.
    pub row_offset: String,
}

/// Parts of a matrix that other cells take the place of, as tasks get them: variables bound to whole broadcasts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts {
    /// A row for each part, in the order in which they are put: whether its cells are among the sparse `rows`, where they
    /// begin, and its first and last row and column; all from 0, ends outside.
    pub places: String,
    /// The cells of dense parts, row by row, as one column.
    pub cells: Option<String>,
    /// The rows of sparse parts, one below the other, with their cells in the columns that they get.
    pub rows: Option<String>,
}

/// How a task's result is cut. Each piece has a target, from 0: the number of a stripe of the shuffled dataset. It
/// crosses to the backend as the piece's row offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cut", rename_all = "camelCase")]
pub enum Pieces {
    /// Rows of the result: the first `every` are for target 0, and so on.
    Rows {
        every: u64,
        /// Pieces without non-zeros are left out, except those of the first stripe: all targets get one. For sums.
        skip_zeros: bool,
    },
    /// Columns of the result, likewise.
    Columns { every: u64 },
    /// Each row is for the target that its last cell names; what is not a target drops the row. The cell stays behind.
    Named { targets: u64 },
    /// Each cell that is not zero becomes a row (its row in the target and its column, from 1, and its value), for the
    /// target in which it stands when all cells of the `from_rows` rows fill another shape: `rows` x `cols`, of which the
    /// first `every` rows are for target 0, and so on. The first stripe also gives each target the zero of its last row
    /// and column, which says how large it is.
    Cells {
        from_rows: u64,
        rows: u64,
        cols: u64,
        by_row: bool,
        every: u64,
    },
}

/// How the pieces of a target become a stripe, in the order of the stripes they came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Assemble {
    /// One below the other.
    Below,
    /// Pieces of equal shape, cell by cell.
    Combined(Combine),
}

/// How two partial results become one, cell by cell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Combine {
    Sum,
    Product,
    Min,
    Max,
    /// Of each column a row each: how many rows, their mean, what the mean was rounded by, the sum of squared deviations from it,
    /// and what that was rounded by.
    Moments,
    /// The first half of the rows are results, each combined in its own way (sums, where there is none); the second half what
    /// was rounded away from them, if they are sums.
    Compensated(Vec<Combine>),
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
    pub capacity: Option<Capacity>,
    pub ranges: Vec<RangeResult>,
    pub file: Option<FoundFile>,
    /// A folder of this machine.
    pub folder: Option<String>,
}

/// Runs primitives: in this process, or on Spark.
pub trait Backend: Send + Sync {
    /// `dataflow` (in this process) or `spark`, for explain and statistics.
    fn name(&self) -> &str;

    /// Whether it may be called: not from an iteration of a `parfor`, for which it stands there so that blocks are
    /// planned as elsewhere.
    fn is_in_reach(&self) -> bool {
        true
    }

    /// Lets so many other threads call as well, each for work of its own that runs beside that of the others.
    ///
    /// # Errors
    /// `backend`, where there are no threads to be had for them.
    fn callers(&self, _threads: usize) -> Result<Box<dyn Callers>> {
        Ok(Box::new(callers::AnyThread))
    }

    /// # Errors
    /// `backend` with the backend's own message, `io` about files, or the error of the task that failed, with its position.
    fn apply(&self, primitive: &Primitive, payload: Option<&MatrixBlock>) -> Result<Reply>;
}
