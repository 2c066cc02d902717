//! Every operator, declared once: its code (SystemML's), its name in DML, its cost in FLOPs a cell, its
//! behaviour at zero, and the scalar function it computes. Parser, printer, interpreter, fusion, code
//! generation and JSON read it from here.

mod cells;
mod codes;
mod kinds;
mod signature;
mod vector_forms;

pub(crate) use cells::Finite;
pub use cells::{BinaryOp, TernaryOp, UnaryOp};
pub use kinds::{
    AggregateOp, CastOp, CumulativeOp, DataGenOp, Direction, FileFormat, HopOp, ParameterizedOp,
    ReadOptions, SizeOp, WriteOptions,
};
pub use signature::Accepts;
