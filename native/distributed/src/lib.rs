//! Physical operators: how workers run an operator, as compositions of dataflow primitives.
//!
//! - `input`: what is known of an input before it is decided where an operator runs.
//! - `registry`: which forms each operator has; start here.
//! - `row_wise`: how operators are cut by rows.
//! - `sizes`: what may be sent, and what comes back.
//! - `operand`: what is known of an operand.
//! - `operator`: an operator to run.
//! - `workers`: bringing matrices to the workers, and the primitives that move rows.
//! - `large_product`: how matrices are multiplied that may not be sent whole.
//! - `task_builder`: what a task reads and computes.
//! - `compositions`: operators that move rows or need several passes.
//! - `form`: what becomes of operands and results, as explanations and reports say it.
//! - `launch`: runs an operator that is cut by rows, a task over stripes, broadcasts and scalars.
//! - `written`: puts parts of matrices in their places.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod compositions;
mod form;
mod input;
mod large_product;
mod launch;
mod operand;
mod operator;
mod registry;
mod row_wise;
mod sizes;
mod task_builder;
mod workers;
mod written;

pub use compositions::{IndexedPart, indexed};
pub use form::form;
pub use input::{InputFacts, InputPlace};
pub use large_product::{Workforce, large_product};
pub use operand::{Operand, OperandPlace};
pub use operator::Operator;
pub use registry::{Composition, Cut, Forms, Statistic, StripeParts, composition, forms};
pub use row_wise::{Output, RowWise, Slot, row_wise};
pub use sizes::{comes_back, dense_bytes};
pub use workers::{Workers, no_backend};
pub use written::{PartsInRange, parts_in, put, put_here, whole};
