//! The basic operators on values: one HOP, its inputs' values in, its value out.
//!
//! [`execute`] is the whole interface. It chooses a kernel of `fulgurite_matrix::kernels` for matrices and
//! leaves scalars to `fulgurite_hop::scalar`; what neither has is an `unsupported` error. Fused operators
//! and variables come with a planned block, and effects belong to the control program.

mod aggregate;
mod bits;
mod cast;
mod cells;
mod distributions;
mod groups;
mod inputs;
mod parameterized;
mod shape;
#[cfg(test)]
mod tests;
mod text;

pub use aggregate::cumulative;
pub use groups::Factors;
pub(super) use groups::{number, product as product_on_groups};
pub use parameterized::group_function;
pub use text::matrix_text;

use std::ops::Range;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{
    AggregateOp, BinaryOp, DataGenOp, Direction, Hop, HopOp, Literal, SizeOp, TernaryOp, UnaryOp,
    ValueType, scalar,
};
use fulgurite_matrix::{
    Layout, MatrixBlock,
    compressed::CompressedMatrix,
    kernels::{self, DenseRange, RandStream},
};

use self::inputs::Inputs;
use super::value::Value;

/// The value of `hop`, on the threads of the current rayon pool.
///
/// Inputs are handed over: a matrix that nobody else holds may be changed in place. `stream` says whose numbers
/// `rand` gives.
///
/// # Errors
/// Of every kind, with the operator's code and the place in the script; `unsupported` for operators that
/// are not there yet, `internal` for those that are not basic.
pub fn execute(hop: &Hop, inputs: Vec<Value>, stream: RandStream) -> Result<Value> {
    dispatch(hop, Inputs::new(inputs), stream).map_err(|error| {
        error
            .in_operator(hop.op.code())
            .at_option(hop.position.as_ref())
    })
}

/// The range that `hop` gives, to be read where it lies; `None` where that is not a dense matrix.
///
/// # Errors
/// As [`execute`].
pub fn range_in_place(hop: &Hop, inputs: &[Value]) -> Result<Option<DenseRange>> {
    let range = shape::range_in_place(&Inputs::new(inputs.to_vec()));
    range.map_err(|error| {
        error
            .in_operator(hop.op.code())
            .at_option(hop.position.as_ref())
    })
}

/// The value of `hop` on scalars alone, without the cost of handing them over.
///
/// # Errors
/// As [`execute`], without a code and a place where a scalar function fails.
pub fn scalar_operator(hop: &Hop, inputs: &[&Literal], stream: RandStream) -> Result<Value> {
    match scalar::eval_scalar(&hop.op, inputs) {
        Some(value) => value.map(Value::Scalar),
        None => {
            let values = inputs.iter().map(|value| Value::Scalar((*value).clone()));
            execute(hop, values.collect(), stream)
        }
    }
}

/// All operators, with the kernel that runs each, or why none does.
fn dispatch(hop: &Hop, inputs: Inputs, stream: RandStream) -> Result<Value> {
    match &hop.op {
        HopOp::Literal(value) => Ok(Value::Scalar(value.clone())),
        HopOp::Unary(op) => cells::unary(*op, &inputs),
        HopOp::Binary(op) => cells::binary(*op, &inputs),
        HopOp::Ternary(op) => cells::ternary(*op, &inputs),
        HopOp::Aggregate(op, direction) => aggregate::aggregate(*op, *direction, inputs.matrix(0)?),
        HopOp::MatMult => kernels::matmult(inputs.matrix(0)?, inputs.matrix(1)?).map(Value::Matrix),
        HopOp::Transpose => kernels::transpose(inputs.matrix(0)?).map(Value::Matrix),
        HopOp::Diag => kernels::diag(inputs.matrix(0)?).map(Value::Matrix),
        HopOp::Rev => kernels::rev(inputs.matrix(0)?).map(Value::Matrix),
        HopOp::Reshape { by_row } => {
            let (rows, cols) = (inputs.size(1)?, inputs.size(2)?);
            kernels::reshape(inputs.matrix(0)?, rows, cols, *by_row).map(Value::Matrix)
        }
        HopOp::RightIndex => shape::right_index(&inputs),
        HopOp::LeftIndex => shape::left_index(inputs),
        HopOp::CBind => shape::bind(&inputs, kernels::cbind),
        HopOp::RBind => shape::bind(&inputs, kernels::rbind),
        HopOp::DataGen(op) => generate(*op, &inputs, stream),
        HopOp::Table => table(&inputs),
        HopOp::Cumulative(op) => cumulative(*op, inputs.matrix(0)?).map(Value::Matrix),
        HopOp::Cast(op) => cast::cast(*op, inputs),
        HopOp::Size(op) => size(*op, inputs.matrix(0)?),
        HopOp::Parameterized(op, places) => parameterized::execute(*op, places, &inputs),
        HopOp::TransientRead(_)
        | HopOp::TransientWrite(_)
        | HopOp::PersistentRead(_)
        | HopOp::PersistentWrite(_)
        | HopOp::List(_)
        | HopOp::Frame(_)
        | HopOp::Print
        | HopOp::Stop
        | HopOp::Assert
        | HopOp::Fused(_) => Err(Error::internal(
            "an operator of the control program was handed to the basic operators",
        )),
    }
}

/// The value of `hop`, an input of which is compressed; `None` where it has no way of its own to read column groups.
///
/// # Errors
/// As [`execute`].
pub(super) fn on_groups(hop: &Hop, factors: Factors, inputs: &[Value]) -> Result<Option<Value>> {
    match (&hop.op, inputs) {
        (HopOp::MatMult, [Value::Matrix(left), Value::Matrix(right)]) => {
            groups::product(left, right, factors)
        }
        (HopOp::Unary(op), [Value::Matrix(matrix)]) => groups::unary(*op, matrix),
        (HopOp::Binary(op), [left, right]) => groups::binary(*op, left, right, factors.are_same),
        (HopOp::Ternary(op), [first, second, third]) => {
            groups::ternary(*op, [first, second, third])
        }
        (HopOp::Aggregate(op, direction), [Value::Matrix(matrix)]) => {
            match CompressedMatrix::of(matrix) {
                Some(groups) => aggregate::of_groups(*op, *direction, groups),
                None => Ok(None),
            }
        }
        (HopOp::RightIndex, [Value::Matrix(matrix), bounds @ ..]) => groups::range(matrix, bounds),
        (HopOp::CBind, _) => groups::beside(inputs),
        // They expand their inputs.
        (
            HopOp::MatMult
            | HopOp::Unary(_)
            | HopOp::Binary(_)
            | HopOp::Ternary(_)
            | HopOp::Aggregate(..)
            | HopOp::RightIndex
            | HopOp::Literal(_)
            | HopOp::Transpose
            | HopOp::Diag
            | HopOp::Rev
            | HopOp::Reshape { .. }
            | HopOp::LeftIndex
            | HopOp::RBind
            | HopOp::DataGen(_)
            | HopOp::Table
            | HopOp::Cumulative(_)
            | HopOp::Cast(_)
            | HopOp::Size(_)
            | HopOp::Parameterized(..)
            | HopOp::TransientRead(_)
            | HopOp::TransientWrite(_)
            | HopOp::PersistentRead(_)
            | HopOp::PersistentWrite(_)
            | HopOp::List(_)
            | HopOp::Frame(_)
            | HopOp::Print
            | HopOp::Stop
            | HopOp::Assert
            | HopOp::Fused(_),
            _,
        ) => Ok(None),
    }
}

/// An operator that a fused one is taken apart to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Ternary(TernaryOp),
    Aggregate(AggregateOp, Direction),
    Product,
    /// Of a matrix and four bounds.
    Range,
}

/// The value of a step: on groups, where an input is compressed; `None` where it would have to be expanded.
pub(super) fn step(step: Step, inputs: Vec<Value>, are_same: bool) -> Result<Option<Value>> {
    let op = match step {
        Step::Unary(op) => HopOp::Unary(op),
        Step::Binary(op) => HopOp::Binary(op),
        Step::Ternary(op) => HopOp::Ternary(op),
        Step::Aggregate(op, direction) => HopOp::Aggregate(op, direction),
        Step::Product => HopOp::MatMult,
        Step::Range => HopOp::RightIndex,
    };
    let hop = match step {
        Step::Aggregate(_, Direction::Full) => Hop::scalar(op, Vec::new(), ValueType::Double),
        Step::Unary(_)
        | Step::Binary(_)
        | Step::Ternary(_)
        | Step::Aggregate(..)
        | Step::Product
        | Step::Range => Hop::matrix(op, Vec::new()),
    };
    let is_compressed = |input: &Value| matches!(input, Value::Matrix(matrix) if matrix.layout() == Layout::Compressed);
    let factors = Factors {
        is_left_transposed: false,
        are_same,
    };
    match inputs.iter().any(is_compressed) {
        true => on_groups(&hop, factors, &inputs),
        false => execute(&hop, inputs, RandStream::default()).map(Some),
    }
}

fn size(op: SizeOp, matrix: &MatrixBlock) -> Result<Value> {
    let size = match op {
        SizeOp::NRow => matrix.rows(),
        SizeOp::NCol => matrix.cols(),
        SizeOp::Length => matrix.rows() * matrix.cols(),
    };
    Ok(Value::Scalar(Literal::Int(size as i64)))
}

fn generate(op: DataGenOp, inputs: &Inputs, stream: RandStream) -> Result<Value> {
    let matrix = match op {
        DataGenOp::Fill => {
            let (rows, cols) = (inputs.size(1)?, inputs.size(2)?);
            match inputs.scalar(0)? {
                Literal::String(text) => kernels::parse_cells(text, rows, cols),
                _ => kernels::fill(inputs.number(0)?, rows, cols),
            }
        }
        DataGenOp::Seq => {
            let increment = Some(inputs.number(2)?).filter(|increment| !increment.is_nan());
            let (from, to) = (inputs.number(0)?, inputs.number(1)?);
            match inputs.len() {
                0..=3 => kernels::seq(from, to, increment),
                _ => kernels::seq_rows(from, to, increment, part(inputs, 3)?),
            }
        }
        DataGenOp::Rand => {
            let distribution = match inputs.text(6)?.as_str() {
                "uniform" => kernels::Distribution::Uniform {
                    min: inputs.number(2)?,
                    max: inputs.number(3)?,
                },
                "normal" => kernels::Distribution::Normal,
                "poisson" => kernels::Distribution::Poisson {
                    lambda: inputs.number(7)?,
                },
                other => {
                    return Err(Error::argument(format!("rand knows no pdf '{other}'"))
                        .with_help("pdf is \"uniform\", \"normal\" or \"poisson\""));
                }
            };
            let (rows, cols) = (inputs.size(0)?, inputs.size(1)?);
            let part = match inputs.len() {
                0..=8 => 0..rows,
                _ => part(inputs, 8)?,
            };
            kernels::rand_rows(
                rows,
                cols,
                distribution,
                inputs.number(4)?,
                seed(inputs, 5)?,
                stream,
                part,
            )
        }
        DataGenOp::Sample => kernels::sample(
            inputs.int(0)?,
            inputs.size(1)?,
            inputs.truth(2)?,
            seed(inputs, 3)?,
        ),
    };
    matrix.map(Value::Matrix)
}

/// The rows from the input at this place to the next one, both from 1 and inside.
fn part(inputs: &Inputs, place: usize) -> Result<Range<usize>> {
    let first = inputs.size(place)?.checked_sub(1);
    let first = first.ok_or_else(|| Error::dimension("rows count from 1"))?;
    Ok(first..inputs.size(place + 1)?)
}

/// -1 asks for a fresh seed.
fn seed(inputs: &Inputs, place: usize) -> Result<Option<i64>> {
    Ok(Some(inputs.int(place)?).filter(|seed| *seed != -1))
}

fn table(inputs: &Inputs) -> Result<Value> {
    kernels::table(
        inputs.operand(0)?,
        inputs.operand(1)?,
        inputs.operand(2)?,
        table_dims(inputs)?,
    )
    .map(Value::Matrix)
}

fn table_dims(inputs: &Inputs) -> Result<Option<(usize, usize)>> {
    match inputs.len() {
        0..=3 => Ok(None),
        4 => Err(Error::validation(
            "table needs both output dimensions or none",
        )),
        _ => Ok(Some((inputs.size(3)?, inputs.size(4)?))),
    }
}

/// The product of a table, or its transpose, and a matrix, of the inputs of the table; `None` where it takes the table itself.
pub(super) fn table_product(
    table: &[Value],
    is_transposed: bool,
    right: &MatrixBlock,
) -> Result<Option<Value>> {
    let inputs = Inputs::new(table.to_vec());
    // Who makes the table finds what is wrong with it.
    let Ok(dims) = table_dims(&inputs) else {
        return Ok(None);
    };
    let factor = kernels::TableFactor {
        a: inputs.operand(0)?,
        b: inputs.operand(1)?,
        weights: inputs.operand(2)?,
        dims,
        is_transposed,
    };
    Ok(kernels::table_product(&factor, right)?.map(Value::Matrix))
}
