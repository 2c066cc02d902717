//! Dataflow: the protocol that backends speak, and the values and reports of a control program that speaks it.
//!
//! - `reports`: what control programs did, here and on workers.
//! - `protocol`: the primitives that a backend runs, and what it replies.
//! - `on_behalf`: which operator of the script asks for a primitive.
//! - `values`: scalars, matrices here, and owners of what a backend holds.
//! - `form`: in what physical form workers run an operator.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod form;
mod on_behalf;
mod protocol;
mod reports;
mod values;

pub use form::{Form, LargeProduct, Step};
pub use on_behalf::{OnBehalf, asking_operator};
pub use protocol::{
    Assemble, Backend, BroadcastBinding, BroadcastId, Callers, Capacity, Combine, DatasetId,
    FoundFile, IterationRange, OverBinding, Parts, Pieces, Primitive, RangeAccount, RangePart,
    RangeResult, RangeTask, RemoteLoop, Reply, RowRange, STAGED, Slices, SourceSpec, Task,
};
pub use reports::{FusionReport, OperatorWork, ParforReport, PlanningReport, RemoteWork, Replan};
pub use values::{
    Broadcast, Cut, Dataset, DistributedMatrix, Element, Lineage, List, LocalMatrix, Part,
    PartValue, Partitioning, Variable, Waiting, Whole, WrittenMatrix, incomplete,
};
