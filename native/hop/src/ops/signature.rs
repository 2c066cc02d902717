//! What each operator takes: how many inputs, and of which types. Checks of imported DAGs and of rewrites
//! read it.

use std::ops::RangeInclusive;

use super::{DataGenOp, HopOp};
use crate::DataType;

/// Which types an input may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepts {
    Matrix,
    Scalar,
    MatrixOrScalar,
    /// Matrices, frames and lists.
    NoScalar,
    Any,
}

impl Accepts {
    pub fn allows(self, data_type: DataType) -> bool {
        match self {
            Accepts::Matrix => data_type == DataType::Matrix,
            Accepts::Scalar => data_type == DataType::Scalar,
            Accepts::MatrixOrScalar => matches!(data_type, DataType::Matrix | DataType::Scalar),
            Accepts::NoScalar => data_type != DataType::Scalar,
            Accepts::Any => true,
        }
    }

    /// For messages: "a matrix".
    pub fn describe(self) -> &'static str {
        match self {
            Accepts::Matrix => "a matrix",
            Accepts::Scalar => "a scalar",
            Accepts::MatrixOrScalar => "a matrix or a scalar",
            Accepts::NoScalar => "a matrix, frame or list",
            Accepts::Any => "anything",
        }
    }
}

impl HopOp {
    /// How many inputs it takes.
    pub fn arity(&self) -> RangeInclusive<usize> {
        match self {
            HopOp::Literal(_) | HopOp::TransientRead(_) => 0..=0,
            HopOp::TransientWrite(_) | HopOp::PersistentRead(_) => 1..=1,
            HopOp::PersistentWrite(options) => {
                let inputs = if options.format_is_input { 3 } else { 2 };
                inputs..=inputs
            }
            HopOp::Unary(_) | HopOp::Cumulative(_) | HopOp::Cast(_) | HopOp::Size(_) => 1..=1,
            HopOp::Binary(_) | HopOp::MatMult => 2..=2,
            HopOp::Ternary(_) | HopOp::Reshape { .. } => 3..=3,
            HopOp::Aggregate(..) | HopOp::Transpose | HopOp::Diag | HopOp::Rev => 1..=1,
            HopOp::RightIndex => 5..=5,
            HopOp::LeftIndex => 6..=6,
            HopOp::CBind | HopOp::RBind => 2..=usize::MAX,
            HopOp::DataGen(DataGenOp::Fill) => 3..=3,
            HopOp::DataGen(DataGenOp::Seq) => 3..=5,
            HopOp::DataGen(DataGenOp::Rand) => 8..=10,
            HopOp::DataGen(DataGenOp::Sample) => 4..=4,
            HopOp::Table => 3..=5,
            HopOp::Parameterized(_, places) => places.len()..=places.len(),
            HopOp::Print => 1..=usize::MAX,
            HopOp::Stop | HopOp::Assert => 1..=1,
            HopOp::Fused(_) => 0..=usize::MAX,
        }
    }

    /// Which types the input at this place (from 0) may have.
    pub fn accepts(&self, place: usize) -> Accepts {
        match self {
            HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => Accepts::MatrixOrScalar,
            HopOp::MatMult
            | HopOp::Transpose
            | HopOp::Diag
            | HopOp::Rev
            | HopOp::Aggregate(..)
            | HopOp::Cumulative(_) => Accepts::Matrix,
            HopOp::Reshape { .. } if place == 0 => Accepts::Matrix,
            HopOp::Table if place < 3 => Accepts::MatrixOrScalar,
            HopOp::RightIndex | HopOp::LeftIndex if place == 0 => Accepts::NoScalar,
            HopOp::LeftIndex if place == 1 => Accepts::Any,
            HopOp::PersistentWrite(_) if place == 0 => Accepts::Any,
            HopOp::CBind | HopOp::RBind | HopOp::Size(_) => Accepts::NoScalar,
            HopOp::PersistentRead(_)
            | HopOp::PersistentWrite(_)
            | HopOp::Reshape { .. }
            | HopOp::RightIndex
            | HopOp::LeftIndex
            | HopOp::DataGen(_)
            | HopOp::Table
            | HopOp::Stop
            | HopOp::Assert => Accepts::Scalar,
            HopOp::Literal(_)
            | HopOp::TransientRead(_)
            | HopOp::TransientWrite(_)
            | HopOp::Cast(_)
            | HopOp::Parameterized(..)
            | HopOp::Print
            | HopOp::Fused(_) => Accepts::Any,
        }
    }

    /// The type it must give, where the operator alone decides it.
    pub fn gives(&self) -> Option<DataType> {
        use super::{CastOp, Direction};
        match self {
            HopOp::Literal(_) | HopOp::Size(_) => Some(DataType::Scalar),
            HopOp::Aggregate(_, Direction::Full) => Some(DataType::Scalar),
            HopOp::Aggregate(..)
            | HopOp::MatMult
            | HopOp::Transpose
            | HopOp::Diag
            | HopOp::Rev
            | HopOp::Reshape { .. }
            | HopOp::DataGen(_)
            | HopOp::Table
            | HopOp::Cumulative(_) => Some(DataType::Matrix),
            HopOp::Cast(CastOp::AsMatrix) => Some(DataType::Matrix),
            HopOp::Cast(CastOp::AsFrame) => Some(DataType::Frame),
            HopOp::Cast(
                CastOp::AsScalar | CastOp::AsDouble | CastOp::AsInteger | CastOp::AsLogical,
            ) => Some(DataType::Scalar),
            HopOp::TransientRead(_)
            | HopOp::TransientWrite(_)
            | HopOp::PersistentRead(_)
            | HopOp::PersistentWrite(_)
            | HopOp::Unary(_)
            | HopOp::Binary(_)
            | HopOp::Ternary(_)
            | HopOp::RightIndex
            | HopOp::LeftIndex
            | HopOp::CBind
            | HopOp::RBind
            | HopOp::Parameterized(..)
            | HopOp::Print
            | HopOp::Stop
            | HopOp::Assert
            | HopOp::Fused(_) => None,
        }
    }
}
