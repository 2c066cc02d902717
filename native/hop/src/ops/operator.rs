//! What an operator declares. Nothing here has a default: a new operator says it all.

use std::borrow::Cow;

use fulgurite_error::Result;

use super::call::{Call, Known};
use crate::{Characteristics, DataType, Literal, ValueType, variable_info::VariableInfo};

/// An operator with its options, such as the direction of an aggregate.
pub(crate) trait Operator {
    /// SystemML's code: `ba(+*)`, `u(exp)`.
    fn code(&self) -> Cow<'static, str>;

    fn facts(&self) -> Facts<'_>;

    /// Type, rows, columns and non-zeros of what it gives.
    ///
    /// Non-zeros are worst cases where a zero pattern decides them, and estimates under independence where patterns meet
    /// (products, index ranges). A rule reports only mismatches that are certain whatever is unknown; the rest is checked
    /// at run time.
    ///
    /// # Errors
    /// Dimension, where the sizes that are known can't fit.
    fn size(&self, call: &dyn Call) -> Result<VariableInfo>;
}

/// What holds of an operator wherever it stands.
pub(crate) struct Facts<'a> {
    /// What it computes, in a sentence.
    pub doc: &'static str,
    pub inputs: Inputs,
    pub gives: Gives<'a>,
    pub purity: Purity,
    pub finite: Finite,
    /// Whether it may be left out without hiding an error.
    pub certain: Certain,
    /// Whether it may run where it did not, as before a loop that may not run at all.
    pub total: Certain,
    pub zeros: Zeros<'a>,
    pub memory: Memory,
    pub form: Form<'a>,
}

impl<'a> Facts<'a> {
    /// Of a pure operator that is about lists or frames: cells have no part in it.
    pub fn without_cells(doc: &'static str, inputs: Inputs, gives: Gives<'a>) -> Self {
        Facts {
            doc,
            inputs,
            gives,
            purity: Purity::Pure,
            finite: Finite::Unknown,
            certain: Certain::No,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory::ROW_POINTERS,
            form: Form::Code,
        }
    }
}

/// Which types an input may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepts {
    Matrix,
    Scalar,
    MatrixOrScalar,
    List,
    Frame,
    FrameOrScalar,
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
            Accepts::List => data_type == DataType::List,
            Accepts::Frame => data_type == DataType::Frame,
            Accepts::FrameOrScalar => matches!(data_type, DataType::Frame | DataType::Scalar),
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
            Accepts::List => "a list",
            Accepts::Frame => "a frame",
            Accepts::FrameOrScalar => "a frame or a scalar",
            Accepts::NoScalar => "a matrix, frame or list",
            Accepts::Any => "anything",
        }
    }
}

/// A kind of input, with its name in the documentation.
pub(crate) type Input = (&'static str, Accepts);

/// Its inputs, in order.
pub(crate) struct Inputs {
    pub first: &'static [Input],
    pub more: More,
}

/// What may follow the first inputs.
pub(crate) enum More {
    Nothing,
    /// All of these, or none.
    Together(&'static [Input]),
    /// Any number of this kind.
    Repeated(Input),
    /// So many, which have names, and where the main one is.
    Named {
        count: usize,
        main: Option<usize>,
    },
}

impl Inputs {
    pub const fn of(first: &'static [Input]) -> Self {
        Inputs {
            first,
            more: More::Nothing,
        }
    }

    pub const fn matrix() -> Self {
        Inputs::of(&[("matrix", Accepts::Matrix)])
    }

    /// The place of the main input, whose size decides what memory the operator needs.
    pub fn main(&self) -> Option<usize> {
        match self.more {
            More::Named { main, .. } => main,
            More::Nothing | More::Together(_) | More::Repeated(_) => Some(0),
        }
    }
}

/// The types of what it gives.
pub(crate) enum Gives<'a> {
    /// This literal, with its type and no other.
    Constant(&'a Literal),
    /// This data type; doubles, unless the HOP says something else.
    Always(DataType),
    /// An int.
    Count,
    /// This data type and value type, unless the HOP says something else.
    Usually(DataType, ValueType),
    /// What its first input is, unless the HOP says something else.
    Input,
    /// A matrix exactly if an input is one.
    Cells(&'a dyn Cellwise),
}

/// What an operator does besides giving a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purity {
    /// Nothing: it gives the same for the same inputs.
    Pure,
    /// Two of them are never one: random numbers, and what means something in its plan only.
    Unique,
    /// It must run, and in order.
    Effect,
}

/// Whether it gives finite cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finite {
    Always,
    /// Where all its inputs are.
    Kept,
    /// Where these inputs are.
    Of(&'static [usize]),
    /// It may overflow, or give NaN; or nothing is known.
    Unknown,
}

/// Whether it certainly gives a value.
#[derive(Clone, Copy)]
pub(crate) enum Certain {
    /// Whatever its inputs are.
    Always,
    /// If all sizes are known: they were checked.
    Sizes,
    /// If, besides, this holds of its result and its inputs.
    If(fn(&Known, &[Known]) -> bool),
    /// Never for certain.
    No,
}

/// What is known of it at zeros of its inputs.
pub(crate) enum Zeros<'a> {
    Unknown,
    Cells(&'a dyn Cellwise),
}

/// Memory that it needs besides inputs and output.
pub(crate) struct Memory {
    /// Whether it works on coordinates of ultra-sparse matrices, without pointers to all rows.
    pub on_coordinates: bool,
    pub beside: Beside,
}

impl Memory {
    pub const COORDINATES: Memory = Memory {
        on_coordinates: true,
        beside: Beside::Nothing,
    };
    pub const ROW_POINTERS: Memory = Memory {
        on_coordinates: false,
        beside: Beside::Nothing,
    };
}

/// Bytes of intermediates.
#[derive(Clone, Copy)]
pub(crate) enum Beside {
    Nothing,
    /// So many numbers for each cell of the output.
    EachResult(u64),
    /// A function of the size of the output and that of the main input; `None` where a size it needs is unknown.
    Bytes(fn(&Characteristics, &Characteristics) -> Option<u64>),
}

/// How it looks in a script.
pub(crate) enum Form<'a> {
    Constant(&'a Literal),
    Variable(&'a str),
    /// `name = input`
    Assignment(&'a str),
    /// A built-in function of the language, of all inputs.
    Function(&'static str),
    /// As a function, though the language has none of this name: rewrites and plans make it.
    Internal(&'static str),
    /// As a function by the name of its code.
    Code,
    /// `matrix(inputs, byrow=FALSE)`
    Option(&'static str, &'static str),
    Prefix(&'static str),
    Infix(&'static str),
    /// `X[a:b, c:d]`
    Range,
    /// `X[a:b, c:d] <- value`
    RangeAssignment,
}

impl Form<'_> {
    /// Whether it stands in parentheses where it is an operand.
    pub fn needs_parentheses(&self) -> bool {
        match self {
            Form::Prefix(_) | Form::Infix(_) | Form::RangeAssignment => true,
            Form::Constant(_)
            | Form::Variable(_)
            | Form::Assignment(_)
            | Form::Function(_)
            | Form::Internal(_)
            | Form::Code
            | Form::Option(..)
            | Form::Range => false,
        }
    }
}

/// A function of cells, which scalars have, too.
pub(crate) trait Cellwise {
    /// The type on scalars; `None` where operands are missing.
    fn value_type(&self, operands: &[ValueType]) -> Option<ValueType>;

    /// Its value where that of operands is known.
    fn at_zeros(&self, operands: &[AtZeros]) -> Option<f64>;
}

/// An operand at zeros of some matrix.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AtZeros {
    /// The value that it has everywhere.
    Literal(f64),
    Known(f64),
    Unknown,
}

impl AtZeros {
    pub fn value(self) -> Option<f64> {
        match self {
            AtZeros::Literal(value) | AtZeros::Known(value) => Some(value),
            AtZeros::Unknown => None,
        }
    }
}
