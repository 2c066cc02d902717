//! Every operator, declared once.
//!
//! The operators of a family are in one file, each with its code, what it takes and gives, its size, memory and
//! behaviour at zeros, whether it has effects or may fail, how it looks in a script, and a sentence for the
//! documentation. `operator` says what there is to declare. `kinds` has the operators of a DAG, and `declarations`
//! leads from each to its declaration. Parser, printer, interpreter, fusion, code generation and JSON read it from here.

mod aggregate;
mod alone;
mod append;
mod call;
mod cast;
mod cellwise;
mod codes;
mod cumulative;
mod declarations;
mod declare;
mod effects;
mod estimates;
mod files;
mod frame;
mod fused;
mod generate;
mod index;
mod kinds;
mod list;
mod listing;
mod literal;
mod operator;
mod parameterized;
mod product;
mod reorganize;
mod size;
mod table;
mod variables;

pub use aggregate::{AggregateOp, Direction};
pub(crate) use call::{Call, Known};
pub use cast::CastOp;
pub use cellwise::{BinaryOp, TernaryOp, UnaryOp, floor_div, floor_mod, precedence};
pub(crate) use cellwise::{IntResult, OfScalars};
pub use cumulative::CumulativeOp;
pub use files::{FileFormat, ReadOptions, WriteOptions};
pub use frame::FrameOp;
pub use generate::{DataGenOp, seq_length};
pub use kinds::HopOp;
pub use list::ListOp;
pub use listing::{codes_to_markdown, functions};
pub use operator::Accepts;
pub(crate) use operator::{AtZeros, Beside, Cellwise, Certain, Finite, Form, Gives, Zeros};
pub use parameterized::ParameterizedOp;
pub use size::SizeOp;
