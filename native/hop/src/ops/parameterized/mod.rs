//! Operators with named inputs, and those that take other types than matrices.

mod arguments;
mod factorizations;
mod layers;
mod selections;

use std::{borrow::Cow, collections::BTreeMap};

use fulgurite_error::Result;
use fulgurite_matrix::kernels::layers::WindowLayer;

use self::arguments::Arguments;
use super::{
    call::Call,
    declare::operators,
    estimates::dense_bytes,
    operator::{
        Beside, Certain, Facts, Finite, Form, Gives, Inputs, Memory, More, Operator, Purity, Zeros,
    },
};
use crate::{Characteristics, DataType, ValueType, variable_info::VariableInfo};

struct NamedFacts {
    /// Also the name of the function.
    code: &'static str,
    /// Names of the inputs, the main one first; `None` where any name goes.
    parameters: Option<&'static [&'static str]>,
    on_coordinates: bool,
    beside: Beside,
    size: fn(&Arguments) -> Result<VariableInfo>,
}

const DISTRIBUTION: &[&str] = &[
    "target",
    "dist",
    "mean",
    "sd",
    "rate",
    "df",
    "df1",
    "df2",
    "lower.tail",
];
/// The last one is for stripes: how many rows of their matrix stand above them.
const TRIANGLE: &[&str] = &["target", "diag", "values", "rows.above"];
const COMPLEX: &[&str] = &["target", "imaginary"];
/// Of convolutions, the operands left out.
const CONVOLUTION: [&str; 12] = [
    "input_shape1",
    "input_shape2",
    "input_shape3",
    "input_shape4",
    "filter_shape1",
    "filter_shape2",
    "filter_shape3",
    "filter_shape4",
    "stride1",
    "stride2",
    "padding1",
    "padding2",
];
/// Of pooling, likewise.
const POOLING: [&str; 10] = [
    "input_shape1",
    "input_shape2",
    "input_shape3",
    "input_shape4",
    "pool_size1",
    "pool_size2",
    "stride1",
    "stride2",
    "padding1",
    "padding2",
];
const LSTM: [&str; 6] = ["input", "weights", "bias", "out0", "c0", "return_sequences"];
const PAIR: &[&str] = &["left", "right"];

operators! {
    /// Builtins with named parameters, and those that take other types than matrices.
    ParameterizedOp: NamedFacts;
    /// The matrix without empty rows or columns, or with the selected ones.
    RemoveEmpty {
        code: "removeEmpty", parameters: Some(&["target", "margin", "select", "empty.return"]),
        on_coordinates: true, beside: Beside::Bytes(kept_flags), size: selections::remove_empty,
    }
    /// The matrix with one value replaced.
    Replace {
        code: "replace", parameters: Some(&["target", "pattern", "replacement"]),
        on_coordinates: true, beside: Beside::Nothing, size: selections::replace,
    }
    /// The rows sorted by columns, or the sorted row numbers.
    Order {
        code: "order", parameters: Some(&["target", "by", "decreasing", "index.return"]),
        on_coordinates: false, beside: Beside::Bytes(permutation), size: selections::order,
    }
    /// A row for each group, with an aggregate of its values.
    GroupedAggregate {
        code: "aggregate", parameters: Some(&["target", "groups", "fn", "order", "weights", "ngroups"]),
        on_coordinates: false, beside: Beside::Nothing, size: selections::groups,
    }
    /// The probability of a value up to the target.
    Cdf {
        code: "cdf", parameters: Some(DISTRIBUTION),
        on_coordinates: false, beside: Beside::Nothing, size: double,
    }
    /// The value of a probability.
    InverseCdf {
        code: "icdf", parameters: Some(DISTRIBUTION),
        on_coordinates: false, beside: Beside::Nothing, size: double,
    }
    /// A matrix as text.
    ToString {
        code: "toString", parameters: Some(&["target", "rows", "cols", "decimal", "sparse", "sep", "linesep"]),
        on_coordinates: false, beside: Beside::Nothing, size: |_| Ok(VariableInfo::scalar(ValueType::String)),
    }
    /// The lower triangle as ones, or with its values.
    LowerTri {
        code: "lower.tri", parameters: Some(TRIANGLE),
        on_coordinates: false, beside: Beside::Nothing, size: selections::triangle,
    }
    /// The upper triangle as ones, or with its values.
    UpperTri {
        code: "upper.tri", parameters: Some(TRIANGLE),
        on_coordinates: false, beside: Beside::Nothing, size: selections::triangle,
    }
    /// Central moment.
    Moment {
        code: "moment", parameters: Some(&["target", "weights", "order"]),
        on_coordinates: false, beside: Beside::Nothing, size: double,
    }
    /// Covariance of two column vectors.
    Cov {
        code: "cov", parameters: Some(&["left", "right", "weights"]),
        on_coordinates: false, beside: Beside::Nothing, size: double,
    }
    /// The sorted values at ranks.
    Quantile {
        code: "quantile", parameters: Some(&["target", "weights", "probabilities"]),
        on_coordinates: false, beside: Beside::Bytes(dense_input), size: selections::quantile,
    }
    /// The middle value, or the mean of the two middle ones.
    Median {
        code: "median", parameters: Some(&["target", "weights"]),
        on_coordinates: false, beside: Beside::Bytes(dense_input), size: double,
    }
    /// Mean of the central half.
    InterQuartileMean {
        code: "interQuartileMean", parameters: Some(&["target", "weights"]),
        on_coordinates: false, beside: Beside::Bytes(dense_input), size: double,
    }
    /// A binary operator on each pair of a column's and a row's cells.
    Outer {
        code: "outer", parameters: Some(&["left", "right", "op"]),
        on_coordinates: false, beside: Beside::Nothing, size: selections::outer,
    }
    /// The solution of a system of linear equations.
    Solve {
        code: "solve", parameters: Some(PAIR),
        on_coordinates: false, beside: Beside::Bytes(dense_input), size: factorizations::solve,
    }
    /// Inverse of a square matrix.
    Inverse {
        code: "inv", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_input), size: factorizations::same,
    }
    /// The lower triangle whose product with its transpose is the matrix.
    Cholesky {
        code: "cholesky", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_input), size: factorizations::same,
    }
    /// Of a square matrix: a column of eigenvalues, then one eigenvector a column.
    Eigen {
        code: "eigen", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: factorizations::eigen,
    }
    /// Permutation, lower and upper triangle, side by side.
    Lu {
        code: "lu", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: factorizations::lu,
    }
    /// Left singular vectors, the diagonal matrix of singular values, right singular vectors, one below the other.
    Svd {
        code: "svd", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: factorizations::svd,
    }
    /// Householder vectors as columns, each divided by the root of half its square's first cell, beside the upper triangle.
    Qr {
        code: "qr", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: twice_as_wide,
    }
    /// Determinant of a square matrix.
    Determinant {
        code: "det", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_input), size: factorizations::determinant,
    }
    /// The symmetric matrix whose square is the symmetric matrix.
    SquareRoot {
        code: "sqrtMatrixJava", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: factorizations::same,
    }
    /// Fourier transform of both dimensions: real parts beside imaginary ones.
    Fft {
        code: "fft", parameters: Some(COMPLEX),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: twice_as_wide,
    }
    /// Inverse Fourier transform of both dimensions: real parts beside imaginary ones.
    InverseFft {
        code: "ifft", parameters: Some(COMPLEX),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: twice_as_wide,
    }
    /// Fourier transform of each row: real parts beside imaginary ones.
    FftOfRows {
        code: "fft_linearized", parameters: Some(COMPLEX),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: twice_as_wide,
    }
    /// Inverse Fourier transform of each row: real parts beside imaginary ones.
    InverseFftOfRows {
        code: "ifft_linearized", parameters: Some(COMPLEX),
        on_coordinates: false, beside: Beside::Bytes(dense_both), size: twice_as_wide,
    }
    /// The different cells, in a column; or those of each row or column, with zeros behind them.
    Unique {
        code: "unique", parameters: Some(&["target", "dir"]),
        on_coordinates: true, beside: Beside::Bytes(keys), size: selections::unique,
    }
    /// How many different cells there are, in all, in each row or in each column.
    CountDistinct {
        code: "countDistinct", parameters: Some(&["target", "dir"]),
        on_coordinates: true, beside: Beside::Bytes(keys), size: selections::count_distinct,
    }
    /// Of two columns a and b, the y with y = a + b * (y of the row above).
    CumSumProd {
        code: "cumsumprod", parameters: Some(&["target"]),
        on_coordinates: false, beside: Beside::Bytes(dense_input), size: selections::cumsumprod,
    }
    /// The rows moved down in a circle.
    Roll {
        code: "roll", parameters: Some(&["target", "shift"]),
        on_coordinates: false, beside: Beside::Nothing, size: |call| Ok(VariableInfo::matrix(call.main_size())),
    }
    /// Nanoseconds since some moment.
    Time {
        code: "time", parameters: Some(&[]),
        on_coordinates: false, beside: Beside::Nothing, size: |_| Ok(VariableInfo::scalar(ValueType::Int)),
    }
    /// A list of values; any names go.
    List {
        code: "list", parameters: None,
        on_coordinates: false, beside: Beside::Nothing, size: |call| Ok(call.declared()),
    }
    /// A frame as a matrix.
    Transform {
        code: "transform", parameters: Some(&["target", "spec", "transformPath", "applyTransformPath", "outputNames"]),
        on_coordinates: false, beside: Beside::Nothing, size: |call| Ok(call.declared()),
    }
    /// Bitwise and of ints.
    BitwAnd {
        code: "bitwAnd", parameters: Some(PAIR),
        on_coordinates: false, beside: Beside::Nothing, size: selections::bitwise,
    }
    /// Bitwise or of ints.
    BitwOr {
        code: "bitwOr", parameters: Some(PAIR),
        on_coordinates: false, beside: Beside::Nothing, size: selections::bitwise,
    }
    /// Bitwise exclusive or of ints.
    BitwXor {
        code: "bitwXor", parameters: Some(PAIR),
        on_coordinates: false, beside: Beside::Nothing, size: selections::bitwise,
    }
    /// Ints with their bits moved up.
    BitwShiftL {
        code: "bitwShiftL", parameters: Some(PAIR),
        on_coordinates: false, beside: Beside::Nothing, size: selections::bitwise,
    }
    /// Ints with their bits moved down.
    BitwShiftR {
        code: "bitwShiftR", parameters: Some(PAIR),
        on_coordinates: false, beside: Beside::Nothing, size: selections::bitwise,
    }
    /// Images convolved with filters.
    Conv2d {
        code: "conv2d", parameters: Some(&with_operands::<14>(&["input", "filter"], &CONVOLUTION)),
        on_coordinates: false, beside: Beside::Bytes(layers::scratch), size: |call| layers::window(call, WindowLayer::Conv2d),
    }
    /// The gradient of the filters of a convolution.
    Conv2dBackwardFilter {
        code: "conv2d_backward_filter", parameters: Some(&with_operands::<14>(&["input", "dout"], &CONVOLUTION)),
        on_coordinates: false, beside: Beside::Bytes(layers::scratch),
        size: |call| layers::window(call, WindowLayer::Conv2dBackwardFilter),
    }
    /// The gradient of the images of a convolution.
    Conv2dBackwardData {
        code: "conv2d_backward_data", parameters: Some(&with_operands::<14>(&["filter", "dout"], &CONVOLUTION)),
        on_coordinates: false, beside: Beside::Bytes(layers::scratch),
        size: |call| layers::window(call, WindowLayer::Conv2dBackwardData),
    }
    /// The largest pixel under each window on images.
    MaxPool {
        code: "max_pool", parameters: Some(&with_operands::<11>(&["input"], &POOLING)),
        on_coordinates: false, beside: Beside::Bytes(layers::scratch), size: |call| layers::window(call, WindowLayer::MaxPool),
    }
    /// Gradients moved to the largest pixel under each window.
    MaxPoolBackward {
        code: "max_pool_backward", parameters: Some(&with_operands::<12>(&["input", "dout"], &POOLING)),
        on_coordinates: false, beside: Beside::Bytes(layers::scratch),
        size: |call| layers::window(call, WindowLayer::MaxPoolBackward),
    }
    /// The average of the pixels under each window on images.
    AvgPool {
        code: "avg_pool", parameters: Some(&with_operands::<11>(&["input"], &POOLING)),
        on_coordinates: false, beside: Beside::Bytes(layers::scratch), size: |call| layers::window(call, WindowLayer::AvgPool),
    }
    /// Gradients shared by the pixels under each window.
    AvgPoolBackward {
        code: "avg_pool_backward", parameters: Some(&with_operands::<12>(&["input", "dout"], &POOLING)),
        on_coordinates: false, beside: Beside::Bytes(layers::scratch),
        size: |call| layers::window(call, WindowLayer::AvgPoolBackward),
    }
    /// A row of so many columns, in which each cell of a column stands for all pixels of its channel.
    ChannelRow {
        code: "channel_row", parameters: Some(&["target", "cols"]),
        on_coordinates: false, beside: Beside::Nothing, size: layers::channel_row,
    }
    /// Results of a layer of long short-term memory, one after the other in one row.
    Lstm {
        code: "lstm", parameters: Some(&LSTM),
        on_coordinates: false, beside: Beside::Bytes(layers::steps), size: layers::lstm,
    }
    /// Gradients of a layer of long short-term memory, one after the other in one row.
    LstmBackward {
        code: "lstm_backward",
        parameters: Some(&with_operands::<11>(
            &LSTM, &["dout", "dc", "cache_out", "cache_c", "cache_ifog"])),
        on_coordinates: false, beside: Beside::Bytes(layers::steps), size: layers::lstm_backward,
    }
}

/// Names of operands, then others.
const fn with_operands<const COUNT: usize>(
    operands: &[&'static str],
    others: &[&'static str],
) -> [&'static str; COUNT] {
    let mut names = [""; COUNT];
    let mut place = 0;
    while place < COUNT {
        names[place] = match place < operands.len() {
            true => operands[place],
            false => others[place - operands.len()],
        };
        place += 1;
    }
    names
}

impl ParameterizedOp {
    /// Names of the inputs, as in DML where DML names them; `None` where any name goes (`list`). All but
    /// the first may be left out where DML has a default.
    pub fn parameters(self) -> Option<&'static [&'static str]> {
        self.declared().parameters
    }
}

/// An operator with the places of its inputs.
pub(super) struct Named<'a> {
    pub op: ParameterizedOp,
    pub places: &'a BTreeMap<String, usize>,
}

impl Named<'_> {
    /// The place of the input that comes first in the declaration.
    fn main(&self) -> Option<usize> {
        let name = self.op.parameters()?.first()?;
        self.places.get(*name).copied()
    }
}

impl Operator for Named<'_> {
    fn code(&self) -> Cow<'static, str> {
        format!("p({})", self.op.code()).into()
    }

    fn facts(&self) -> Facts<'_> {
        let declared = self.op.declared();
        Facts {
            doc: self.op.doc(),
            inputs: Inputs {
                first: &[],
                more: More::Named {
                    count: self.places.len(),
                    main: self.main(),
                },
            },
            gives: Gives::Usually(DataType::Matrix, ValueType::Double),
            purity: match self.op {
                ParameterizedOp::Time => Purity::Unique,
                _ => Purity::Pure,
            },
            finite: Finite::Unknown,
            certain: Certain::No,
            total: Certain::No,
            zeros: Zeros::Unknown,
            memory: Memory {
                on_coordinates: declared.on_coordinates,
                beside: declared.beside,
            },
            form: match self.op {
                ParameterizedOp::ChannelRow => Form::Internal(declared.code),
                _ => Form::Function(declared.code),
            },
        }
    }

    fn size(&self, call: &dyn Call) -> Result<VariableInfo> {
        match self.main().filter(|main| *main < call.arity()) {
            Some(main) => (self.op.declared().size)(&Arguments {
                call,
                places: self.places,
                main,
            }),
            // What a list holds is not tracked.
            None => Ok(call.declared()),
        }
    }
}

fn double(_: &Arguments) -> Result<VariableInfo> {
    Ok(VariableInfo::scalar(ValueType::Double))
}

/// Two matrices as large as the main input, side by side.
fn twice_as_wide(call: &Arguments) -> Result<VariableInfo> {
    let size = call.main_size();
    let cols = size.cols.and_then(|cols| cols.checked_mul(2));
    Ok(VariableInfo::matrix(Characteristics::new(
        size.rows, cols, None,
    )))
}

/// A permutation of the rows.
fn permutation(_: &Characteristics, input: &Characteristics) -> Option<u64> {
    Some(input.rows?.saturating_mul(8))
}

/// Which rows (or columns) stay.
fn kept_flags(_: &Characteristics, input: &Characteristics) -> Option<u64> {
    match input.is_stored_ultra_sparse() {
        true => Some(0),
        false => Some(input.rows?.max(input.cols?)),
    }
}

/// A sorted copy, or the factorisation.
fn dense_input(_: &Characteristics, input: &Characteristics) -> Option<u64> {
    dense_bytes(input)
}

/// Bits and place of each stored cell.
fn keys(_: &Characteristics, input: &Characteristics) -> Option<u64> {
    Some(input.nnz.or(input.cells())?.saturating_mul(16))
}

fn dense_both(output: &Characteristics, input: &Characteristics) -> Option<u64> {
    Some(dense_bytes(output)?.saturating_add(dense_bytes(input)?))
}
