//! High-level operators (HOPs): the DAGs that scripts compile to and that fusion works on.
//!
//! Start with [`ops`], which declares every operator once; [`Dag`] holds them; [`Program`] is a whole
//! script: statement blocks of DAGs under control flow.
#![forbid(unsafe_code)]

pub mod json;
pub mod later_reads;
pub mod liveness;
pub mod memory;
pub mod ops;
pub mod rewrites;
pub mod scalar;
pub mod syntax;
pub mod text;

mod affine;
mod characteristics;
mod dag;
mod dialect;
mod expression;
mod finite;
mod formulas;
mod iteration_memory;
mod literal;
mod numbers;
mod predicates;
mod print;
mod program;
mod propagate;
mod sizes;
mod variable_info;
mod verify;
mod zeros;

pub use affine::Affine;
pub use characteristics::{Characteristics, DataType, ValueType};
pub use dag::{Combination, Dag, Grouping, Hop, HopId};
pub use dialect::Dialect;
pub use formulas::Formulas;
pub use iteration_memory::iteration_bytes;
pub use literal::Literal;
pub use ops::{
    AggregateOp, BinaryOp, CastOp, CumulativeOp, DataGenOp, Direction, FileFormat, FrameOp, HopOp,
    ListOp, ParameterizedOp, ReadOptions, SizeOp, TernaryOp, UnaryOp, WriteOptions, seq_length,
};
pub use print::{Bytes, Seconds};
pub use program::{
    Argument, Block, EVAL, EVAL_LIST, Function, Parallel, Parameter, ParforMode, Predicate,
    Program, walk,
};
pub use propagate::{
    Folding, ReadMetadata, Symbols, Used, propagate_dag, propagate_dag_folding, propagate_program,
};
pub use rewrites::{
    OptimizeOptions, Outputs, optimize_program, optimize_program_traced, rewrite_dag,
    rewrite_dag_traced, rewrite_program,
};
pub use variable_info::VariableInfo;
pub use verify::verify;
pub use zeros::ZeroCarriers;
