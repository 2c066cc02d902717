//! Builtins with named parameters.

mod layers;

use std::{collections::BTreeMap, sync::LazyLock, time::Instant};

use fulgurite_error::{Error, Result};
use fulgurite_hop::{BinaryOp, Literal, ParameterizedOp, scalar};
use fulgurite_matrix::{
    MatrixBlock,
    kernels::{
        self, Margin,
        distinct::{self, Scope},
        factorize,
        fourier::{Lines, fourier},
        groups::{self, GroupFunction},
        householder,
        layers::WindowLayer,
        statistics,
    },
    memory,
    vector_math::Cells,
};

use super::super::value::Value;
use super::{
    bits,
    distributions::{Distribution, Tail},
    inputs::Inputs,
    text::{Layout, matrix_to_text},
};

pub(super) fn execute(
    op: ParameterizedOp,
    places: &BTreeMap<String, usize>,
    inputs: &Inputs,
) -> Result<Value> {
    let named = Named { places, inputs };
    match op {
        ParameterizedOp::RemoveEmpty => remove_empty(&named),
        ParameterizedOp::Replace => kernels::replace(
            named.matrix("target")?,
            named.number("pattern")?,
            named.number("replacement")?,
        )
        .map(Value::Matrix),
        ParameterizedOp::Order => order(&named),
        ParameterizedOp::LowerTri => triangle(&named, true),
        ParameterizedOp::UpperTri => triangle(&named, false),
        ParameterizedOp::Outer => outer(&named),
        ParameterizedOp::Moment => {
            let order = scalar::double_to_int(named.number("order")?);
            statistics::central_moment(named.matrix("target")?, named.weights()?, order).map(double)
        }
        ParameterizedOp::Cov => statistics::covariance(
            named.matrix("left")?,
            named.matrix("right")?,
            named.weights()?,
        )
        .map(double),
        ParameterizedOp::Median => {
            statistics::median(named.matrix("target")?, named.weights()?).map(double)
        }
        ParameterizedOp::InterQuartileMean => {
            statistics::interquartile_mean(named.matrix("target")?, named.weights()?).map(double)
        }
        ParameterizedOp::Quantile => quantile(&named),
        ParameterizedOp::GroupedAggregate => grouped_aggregate(&named),
        ParameterizedOp::Solve => {
            factorize::solve(named.matrix("left")?, named.matrix("right")?).map(Value::Matrix)
        }
        ParameterizedOp::Inverse => factorize::inverse(named.matrix("target")?).map(Value::Matrix),
        ParameterizedOp::Cholesky => {
            factorize::cholesky(named.matrix("target")?).map(Value::Matrix)
        }
        ParameterizedOp::Eigen => {
            let (values, vectors) = factorize::eigen(named.matrix("target")?)?;
            kernels::cbind(&[&values, &vectors]).map(Value::Matrix)
        }
        ParameterizedOp::Lu => {
            let factors = factorize::lu(named.matrix("target")?)?;
            kernels::cbind(&factors.each_ref()).map(Value::Matrix)
        }
        ParameterizedOp::Svd => {
            let factors = factorize::svd(named.matrix("target")?)?;
            kernels::rbind(&factors.each_ref()).map(Value::Matrix)
        }
        ParameterizedOp::Qr => {
            let factors = householder::qr(named.matrix("target")?)?;
            kernels::cbind(&factors.each_ref()).map(Value::Matrix)
        }
        ParameterizedOp::Determinant => factorize::determinant(named.matrix("target")?).map(double),
        ParameterizedOp::SquareRoot => {
            factorize::square_root(named.matrix("target")?).map(Value::Matrix)
        }
        ParameterizedOp::Fft => transform(&named, false, Lines::RowsAndColumns),
        ParameterizedOp::InverseFft => transform(&named, true, Lines::RowsAndColumns),
        ParameterizedOp::FftOfRows => transform(&named, false, Lines::Rows),
        ParameterizedOp::InverseFftOfRows => transform(&named, true, Lines::Rows),
        ParameterizedOp::Unique => {
            distinct::unique(named.matrix("target")?, scope(&named)?).map(Value::Matrix)
        }
        ParameterizedOp::CountDistinct => count_distinct(&named),
        ParameterizedOp::CumSumProd => {
            kernels::cumsumprod(named.matrix("target")?).map(Value::Matrix)
        }
        ParameterizedOp::Roll => {
            let shift = named.number("shift")?.trunc() as i64;
            kernels::roll(named.matrix("target")?, shift).map(Value::Matrix)
        }
        ParameterizedOp::Time => Ok(Value::Scalar(Literal::Int(nanoseconds()))),
        ParameterizedOp::BitwAnd
        | ParameterizedOp::BitwOr
        | ParameterizedOp::BitwXor
        | ParameterizedOp::BitwShiftL
        | ParameterizedOp::BitwShiftR => {
            bits::execute(op, inputs, [named.place("left")?, named.place("right")?])
        }
        ParameterizedOp::Cdf => {
            let (distribution, tail) = distribution(&named)?;
            Ok(double(
                distribution.probability(named.number("target")?, tail),
            ))
        }
        ParameterizedOp::InverseCdf => {
            let (distribution, tail) = distribution(&named)?;
            distribution
                .quantile(named.number("target")?, tail)
                .map(double)
        }
        ParameterizedOp::ToString => to_string(&named),
        ParameterizedOp::Conv2d => layers::window(WindowLayer::Conv2d, &named),
        ParameterizedOp::Conv2dBackwardFilter => {
            layers::window(WindowLayer::Conv2dBackwardFilter, &named)
        }
        ParameterizedOp::Conv2dBackwardData => {
            layers::window(WindowLayer::Conv2dBackwardData, &named)
        }
        ParameterizedOp::MaxPool => layers::window(WindowLayer::MaxPool, &named),
        ParameterizedOp::MaxPoolBackward => layers::window(WindowLayer::MaxPoolBackward, &named),
        ParameterizedOp::AvgPool => layers::window(WindowLayer::AvgPool, &named),
        ParameterizedOp::AvgPoolBackward => layers::window(WindowLayer::AvgPoolBackward, &named),
        ParameterizedOp::ChannelRow => {
            kernels::layers::channel_row(named.matrix("target")?, named.size("cols")?)
                .map(Value::Matrix)
        }
        ParameterizedOp::Lstm => layers::lstm(&named),
        ParameterizedOp::LstmBackward => layers::lstm_backward(&named),
        ParameterizedOp::List | ParameterizedOp::Transform => Err(Error::unsupported(format!(
            "the builtin '{}' does not run yet",
            op.code()
        ))),
    }
}

fn transform(named: &Named, inverse: bool, lines: Lines) -> Result<Value> {
    let imaginary = named.optional("imaginary", Named::matrix)?;
    let parts = fourier(named.matrix("target")?, imaginary, inverse, lines)?;
    kernels::cbind(&parts.each_ref()).map(Value::Matrix)
}

fn scope(named: &Named) -> Result<Scope> {
    match named.optional("dir", Named::text)?.as_deref() {
        None | Some("rc") => Ok(Scope::All),
        Some("r") => Ok(Scope::EachRow),
        Some("c") => Ok(Scope::EachColumn),
        Some(other) => Err(Error::argument(format!("'{other}' is no direction"))
            .with_help("dir is \"rc\", \"r\" or \"c\"")),
    }
}

/// An int over all cells, a vector over rows or columns.
fn count_distinct(named: &Named) -> Result<Value> {
    let scope = scope(named)?;
    let counts = distinct::count_distinct(named.matrix("target")?, scope)?;
    if scope == Scope::All {
        let count = counts.first().copied().unwrap_or(0);
        let count = i64::try_from(count).map_err(|_| Error::internal("more cells than an int"))?;
        return Ok(Value::Scalar(Literal::Int(count)));
    }
    let cells = memory::collected(counts.iter().map(|count| *count as f64))?;
    match scope {
        Scope::EachColumn => MatrixBlock::dense(1, cells.len(), cells),
        Scope::All | Scope::EachRow => MatrixBlock::dense(cells.len(), 1, cells),
    }
    .map(Value::Matrix)
}

/// Since the first call in this process.
fn nanoseconds() -> i64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    i64::try_from(START.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

fn remove_empty(named: &Named) -> Result<Value> {
    let margin = match named.text("margin")?.as_str() {
        "rows" => Margin::Rows,
        "cols" => Margin::Cols,
        other => {
            return Err(
                Error::argument(format!("removeEmpty knows no margin '{other}'"))
                    .with_help("margin is \"rows\" or \"cols\""),
            );
        }
    };
    let select = named.optional("select", Named::matrix)?;
    let empty_return = named.truth_or("empty.return", true)?;
    kernels::remove_empty(named.matrix("target")?, margin, select, empty_return).map(Value::Matrix)
}

fn order(named: &Named) -> Result<Value> {
    let by: Vec<f64> = match named.places.get("by") {
        None => vec![1.0],
        Some(place) => match named.inputs.get(*place)? {
            Value::Scalar(value) => vec![scalar::number(value)?],
            Value::Matrix(_) | Value::Range(_) => named.matrix("by")?.to_dense()?.into_vec()?,
        },
    };
    let by: Vec<usize> = by
        .into_iter()
        .map(|column| {
            usize::try_from(scalar::double_to_int(column) - 1)
                .map_err(|_| Error::dimension(format!("order by column {column}")))
        })
        .collect::<Result<_>>()?;
    let target = named.matrix("target")?;
    let decreasing = named.truth_or("decreasing", false)?;
    if named.truth_or("index.return", false)? {
        kernels::order_permutation(target, &by, decreasing)
    } else {
        kernels::order(target, &by, decreasing)
    }
    .map(Value::Matrix)
}

fn double(value: f64) -> Value {
    Value::Scalar(Literal::Double(value))
}

/// A scalar of a scalar probability, a column vector of several.
fn quantile(named: &Named) -> Result<Value> {
    let (target, weights) = (named.matrix("target")?, named.weights()?);
    match named.inputs.get(named.place("probabilities")?)? {
        Value::Scalar(probability) => {
            let probability = scalar::number(probability)?;
            let quantiles = statistics::quantiles(target, weights, &[probability])?;
            Ok(double(quantiles.first().copied().unwrap_or(f64::NAN)))
        }
        Value::Matrix(_) | Value::Range(_) => {
            let probabilities = named.matrix("probabilities")?.to_dense()?;
            let quantiles = statistics::quantiles(target, weights, probabilities.values())?;
            MatrixBlock::dense(quantiles.len(), 1, quantiles).map(Value::Matrix)
        }
    }
}

/// The function that `aggregate` is told, with the order of the moment that it may need.
///
/// # Errors
/// `argument`, for another one.
pub fn group_function(name: &str, order: impl FnOnce() -> Result<f64>) -> Result<GroupFunction> {
    Ok(match name {
        "sum" => GroupFunction::Sum,
        "count" => GroupFunction::Count,
        "mean" => GroupFunction::Mean,
        "min" => GroupFunction::Min,
        "max" => GroupFunction::Max,
        "variance" => GroupFunction::Variance,
        "centralmoment" => GroupFunction::CentralMoment(scalar::double_to_int(order()?)),
        other => {
            return Err(
                Error::argument(format!("aggregate knows no function '{other}'")).with_help(
                    "fn is \"sum\", \"count\", \"mean\", \"min\", \"max\", \"variance\" or \"centralmoment\"",
                ),
            );
        }
    })
}

fn grouped_aggregate(named: &Named) -> Result<Value> {
    let function = group_function(&named.text("fn")?, || named.number("order"))?;
    let group_count = named
        .optional("ngroups", Named::number)?
        .map(|count| usize::try_from(scalar::double_to_int(count)))
        .transpose()
        .map_err(|_| Error::argument("aggregate cannot have a negative number of groups"))?;
    groups::grouped_aggregate(
        named.matrix("target")?,
        named.matrix("groups")?,
        named.weights()?,
        function,
        group_count,
    )
    .map(Value::Matrix)
}

fn triangle(named: &Named, lower: bool) -> Result<Value> {
    let diagonal = named.truth_or("diag", false)?;
    let values = named.truth_or("values", false)?;
    let rows_above = named.optional("rows.above", Named::size)?.unwrap_or(0);
    let target = named.matrix("target")?;
    kernels::triangle(target, lower, diagonal, values, rows_above).map(Value::Matrix)
}

fn outer(named: &Named) -> Result<Value> {
    let code = named.text("op")?;
    let op = BinaryOp::from_code(&code).ok_or_else(|| {
        Error::argument(format!("outer knows no operator '{code}'"))
            .with_help("op is an operator such as \"*\" or \"<=\", \"min\" or \"max\"")
    })?;
    let (left, right) = (named.matrix("left")?, named.matrix("right")?);
    if left.cols() != 1 || right.rows() != 1 {
        // As SystemDS has it: what is no column and row is combined cell by cell.
        let (left, right) = (
            kernels::Operand::Matrix(left),
            kernels::Operand::Matrix(right),
        );
        let over = |x: Cells, y: Cells, out: &mut [f64]| op.eval_cells(x, y, out);
        return kernels::binary_over_slices(left, right, over).map(Value::Matrix);
    }
    kernels::outer_over_slices(left, right, |x, y, out| op.eval_cells(x, y, out)).map(Value::Matrix)
}

fn distribution(named: &Named) -> Result<(Distribution, Tail)> {
    let parameter = |name: &str| named.optional(name, Named::number);
    let tail = match named.truth_or("lower.tail", true)? {
        true => Tail::Lower,
        false => Tail::Upper,
    };
    Ok((Distribution::new(&named.text("dist")?, parameter)?, tail))
}

/// A scalar as `print` shows it, a matrix in rows.
fn to_string(named: &Named) -> Result<Value> {
    let matrix = match named.inputs.get(named.place("target")?)? {
        Value::Matrix(_) | Value::Range(_) => named.matrix("target")?,
        Value::Scalar(value) => return Ok(Value::Scalar(Literal::String(value.to_string()))),
    };
    let layout = Layout {
        rows: named.size("rows")?,
        cols: named.size("cols")?,
        // No double has more.
        decimal: named.size("decimal")?.min(1074),
        sparse: named.truth_or("sparse", false)?,
        separator: named.text("sep")?,
        line_separator: named.text("linesep")?,
    };
    matrix_to_text(matrix, &layout).map(|text| Value::Scalar(Literal::String(text)))
}

/// Inputs by their parameters' names.
struct Named<'a> {
    places: &'a BTreeMap<String, usize>,
    inputs: &'a Inputs,
}

impl<'a> Named<'a> {
    fn place(&self, name: &str) -> Result<usize> {
        self.places
            .get(name)
            .copied()
            .ok_or_else(|| Error::argument(format!("the parameter '{name}' is missing")))
    }

    fn matrix(&self, name: &str) -> Result<&'a MatrixBlock> {
        self.inputs.matrix(self.place(name)?)
    }

    fn weights(&self) -> Result<Option<&'a MatrixBlock>> {
        self.optional("weights", Named::matrix)
    }

    /// A number, or a text that is one.
    fn number(&self, name: &str) -> Result<f64> {
        let value = self.inputs.scalar(self.place(name)?)?;
        match scalar::convert(value, fulgurite_hop::ValueType::Double)? {
            Literal::Double(number) => Ok(number),
            other => scalar::number(&other),
        }
    }

    fn size(&self, name: &str) -> Result<usize> {
        self.inputs.size(self.place(name)?)
    }

    fn text(&self, name: &str) -> Result<String> {
        self.inputs.text(self.place(name)?)
    }

    fn truth_or(&self, name: &str, default: bool) -> Result<bool> {
        match self.places.get(name) {
            Some(place) => self.inputs.truth(*place),
            None => Ok(default),
        }
    }

    fn optional<T>(&self, name: &str, get: impl Fn(&Self, &str) -> Result<T>) -> Result<Option<T>> {
        if self.places.contains_key(name) {
            get(self, name).map(Some)
        } else {
            Ok(None)
        }
    }
}
