//! Questions about what kind of operator a HOP is, for stages that need no more than the answer.

use std::collections::BTreeMap;

use crate::{
    AggregateOp, BinaryOp, CastOp, DataGenOp, Direction, HopOp, Literal, ParameterizedOp,
    ReadOptions, SizeOp,
};

impl HopOp {
    /// The literal that it is.
    pub fn constant(&self) -> Option<&Literal> {
        match self {
            HopOp::Literal(value) => Some(value),
            _ => None,
        }
    }

    /// The variable that it reads.
    pub fn variable_read(&self) -> Option<&str> {
        match self {
            HopOp::TransientRead(name) => Some(name),
            _ => None,
        }
    }

    /// The variable that it writes.
    pub fn variable_written(&self) -> Option<&str> {
        match self {
            HopOp::TransientWrite(name) => Some(name),
            _ => None,
        }
    }

    /// How it reads a file.
    pub fn file_read(&self) -> Option<&ReadOptions> {
        match self {
            HopOp::PersistentRead(options) => Some(options),
            _ => None,
        }
    }

    pub fn reads_file(&self) -> bool {
        self.file_read().is_some()
    }

    pub fn writes_file(&self) -> bool {
        matches!(self, HopOp::PersistentWrite(_))
    }

    /// The number, in its plan, of the fused operator that it is.
    pub fn fused(&self) -> Option<usize> {
        match self {
            HopOp::Fused(number) => Some(*number),
            _ => None,
        }
    }

    /// The size of a matrix that it asks for.
    pub fn size_asked(&self) -> Option<SizeOp> {
        match self {
            HopOp::Size(asked) => Some(*asked),
            _ => None,
        }
    }

    pub fn aggregate(&self) -> Option<(AggregateOp, Direction)> {
        match self {
            HopOp::Aggregate(op, direction) => Some((*op, *direction)),
            _ => None,
        }
    }

    /// The function of two cells or scalars that it is.
    pub fn binary(&self) -> Option<BinaryOp> {
        match self {
            HopOp::Binary(op) => Some(*op),
            _ => None,
        }
    }

    /// An operator with named inputs, and their places.
    pub fn with_named_inputs(&self) -> Option<(ParameterizedOp, &BTreeMap<String, usize>)> {
        match self {
            HopOp::Parameterized(op, places) => Some((*op, places)),
            _ => None,
        }
    }

    /// To what type it casts.
    pub fn cast(&self) -> Option<CastOp> {
        match self {
            HopOp::Cast(op) => Some(*op),
            _ => None,
        }
    }

    /// Writes its input to a variable.
    pub fn to_variable(name: impl Into<String>) -> Self {
        HopOp::TransientWrite(name.into())
    }

    /// An operator with inputs of these names, in this order.
    pub fn named(op: ParameterizedOp, names: &[&str]) -> Self {
        let places = names.iter().map(|name| (*name).to_owned()).zip(0..);
        HopOp::Parameterized(op, places.collect())
    }

    /// The operator with named inputs, in this order; others are as they are.
    pub fn naming_inputs(self, names: &[String]) -> Self {
        match self {
            HopOp::Parameterized(op, _) => {
                let places = names.iter().cloned().zip(0..);
                HopOp::Parameterized(op, places.collect())
            }
            other => other,
        }
    }

    /// Whether it may take longer than a few passes over its inputs.
    pub fn is_more_than_passes(&self) -> bool {
        matches!(
            self,
            HopOp::MatMult | HopOp::Parameterized(..) | HopOp::DataGen(_)
        )
    }

    /// Whether its result is cells of its input in other places, or follows from scalars: to compute it again costs less than
    /// to store it.
    pub fn is_cheap_again(&self) -> bool {
        match self {
            HopOp::Transpose | HopOp::RightIndex | HopOp::Reshape { .. } => true,
            HopOp::DataGen(op) => matches!(op, DataGenOp::Fill | DataGenOp::Seq),
            _ => false,
        }
    }

    /// Whether it takes cell by cell what a processor computes while it waits for the next ones.
    pub fn is_light_on_cells(&self) -> bool {
        const OPERATIONS: f64 = 2.0;
        match self {
            HopOp::Unary(op) => op.flops() <= OPERATIONS,
            HopOp::Binary(op) => op.flops() <= OPERATIONS,
            HopOp::Ternary(op) => op.flops() <= OPERATIONS,
            _ => false,
        }
    }

    /// Its errors are messages of the script.
    pub fn speaks_for_script(&self) -> bool {
        matches!(self, HopOp::Stop | HopOp::Assert)
    }

    /// `X %*% Y`
    pub fn is_product(&self) -> bool {
        *self == HopOp::MatMult
    }

    /// `table(A, B)`
    pub fn is_table(&self) -> bool {
        *self == HopOp::Table
    }

    /// `seq(from, to, by)`
    pub fn is_sequence(&self) -> bool {
        *self == HopOp::DataGen(DataGenOp::Seq)
    }

    /// `t(X)`
    pub fn is_transpose(&self) -> bool {
        *self == HopOp::Transpose
    }

    /// `X[rows, cols]`
    pub fn is_part(&self) -> bool {
        *self == HopOp::RightIndex
    }

    /// `X[rows, cols] = Y`
    pub fn writes_part(&self) -> bool {
        *self == HopOp::LeftIndex
    }

    /// The operand that decides `&` and `|` alone.
    pub fn decided_by(&self) -> Option<bool> {
        match self {
            HopOp::Binary(BinaryOp::And) => Some(false),
            HopOp::Binary(BinaryOp::Or) => Some(true),
            _ => None,
        }
    }

    /// `cbind` or `rbind`
    pub fn is_append(&self) -> bool {
        *self == HopOp::CBind || self.stacks()
    }

    /// `rbind(X, Y)`
    pub fn stacks(&self) -> bool {
        *self == HopOp::RBind
    }
}
