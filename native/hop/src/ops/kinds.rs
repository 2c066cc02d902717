//! The kinds of operators a HOP can be.

use std::collections::BTreeMap;

use super::{
    AggregateOp, BinaryOp, CastOp, CumulativeOp, DataGenOp, Direction, FrameOp, ListOp,
    ParameterizedOp, ReadOptions, SizeOp, TernaryOp, UnaryOp, WriteOptions,
};
use crate::Literal;

/// What a HOP does. The inputs each kind takes, in order, stand at the variant.
#[derive(Debug, Clone, PartialEq)]
pub enum HopOp {
    /// No inputs.
    Literal(Literal),
    /// Reads a variable. No inputs.
    TransientRead(String),
    /// Writes a variable. Input: the value.
    TransientWrite(String),
    /// Reads a file. Input: the path (a string scalar).
    PersistentRead(ReadOptions),
    /// Writes a file. Inputs: the value, the path.
    PersistentWrite(WriteOptions),
    Unary(UnaryOp),
    Binary(BinaryOp),
    Ternary(TernaryOp),
    /// Input: a matrix.
    Aggregate(AggregateOp, Direction),
    /// Inputs: left, right.
    MatMult,
    /// Input: a matrix.
    Transpose,
    /// Column vector to diagonal matrix, or square matrix to its diagonal.
    Diag,
    /// Reverses the order of rows.
    Rev,
    /// Inputs: matrix, rows, cols.
    Reshape {
        by_row: bool,
    },
    /// Inputs: matrix, first row, last row, first column, last column (from 1, inclusive).
    RightIndex,
    /// Inputs: matrix, value (matrix or scalar), first row, last row, first column, last column.
    LeftIndex,
    /// Two or more matrices.
    CBind,
    /// Two or more matrices.
    RBind,
    /// Inputs by kind, see [`DataGenOp`].
    DataGen(DataGenOp),
    /// Contingency table. Inputs: A, B, weights (scalar or matrix); optionally output rows and columns.
    Table,
    /// Down each column. Input: a matrix.
    Cumulative(CumulativeOp),
    Cast(CastOp),
    /// Input: a matrix. Gives an int.
    Size(SizeOp),
    /// Named inputs: the map gives each parameter's place among the inputs. The names are
    /// [`ParameterizedOp::parameters`].
    Parameterized(ParameterizedOp, BTreeMap<String, usize>),
    /// Inputs by kind, see [`ListOp`].
    List(ListOp),
    /// Inputs by kind, see [`FrameOp`].
    Frame(FrameOp),
    /// Input: a scalar. With more inputs: a printf format and its values.
    Print,
    /// Input: the message.
    Stop,
    /// Input: the condition.
    Assert,
    /// A fused operator, by its number in its plan. Inputs as the plan's.
    Fused(usize),
}
