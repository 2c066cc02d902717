//! Operators on frames. They run in this process.

use std::ops::Range;

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_frame::{
    Cell, ColumnType, Comparison, Frame,
    map::Function,
    tokenize,
    transform::{self, Spec},
};
use fulgurite_hop::{
    CastOp, DataType, FrameOp, Hop, HopOp, Literal, ParameterizedOp, ValueType, scalar,
};
use fulgurite_matrix::MatrixBlock;

use super::{data_file::DataFile, written::in_one_piece};
use crate::session::Session;

/// Whether an operator is about a frame.
pub(super) fn concerns(hop: &Hop, inputs: &[Variable]) -> bool {
    hop.data_type == DataType::Frame
        || matches!(hop.op, HopOp::Frame(_))
        || inputs
            .iter()
            .any(|input| matches!(input, Variable::Frame(_)))
}

/// # Errors
/// `dimension`, for parts that a frame does not have; `data`, for cells that are no values of the type they are needed as.
pub(super) fn execute(hop: &Hop, inputs: Vec<Variable>, session: &Session) -> Result<Variable> {
    let pieces = inputs.into_iter().map(|input| in_one_piece(input, session));
    let inputs = Inputs(pieces.collect::<Result<_>>()?);
    if let Some(op) = hop.op.cast() {
        return cast(op, hop.value_type, &inputs);
    }
    match &hop.op {
        HopOp::Frame(op) => return operate(*op, &inputs, session),
        op if op.is_part() => {
            let frame = inputs.frame(0)?;
            let (rows, cols) = inputs.ranges(frame, 1)?;
            return frame.slice(rows, cols).map(Variable::Frame);
        }
        op if op.writes_part() => {
            let frame = inputs.frame(0)?;
            let (rows, cols) = inputs.ranges(frame, 2)?;
            return match inputs.get(1)? {
                // As a missing cell is NaN as a number.
                Variable::Scalar(Literal::Double(value)) if value.is_nan() => {
                    frame.assign_cell(rows, cols, None)
                }
                Variable::Scalar(value) => frame.assign_cell(rows, cols, Some(cell_of(value))),
                _ => frame.assign(rows, cols, &inputs.as_frame(1)?),
            }
            .map(Variable::Frame);
        }
        op if op.stacks() => return inputs.bound(Frame::rbind),
        op if op.is_append() => return inputs.bound(Frame::cbind),
        _ => {}
    }
    match hop.op.with_named_inputs() {
        Some((op, places)) => {
            let place = |name: &str| places.get(name).copied();
            named(op, &place, &inputs)?
        }
        None => None,
    }
    .ok_or_else(|| {
        Error::validation(format!("'{}' takes no frame", hop.op.code())).with_help(
            "as.matrix() makes a matrix of a frame of numbers, transformencode() of categories",
        )
    })
}

/// That a file holds what the script takes it for, which is decided before the run.
///
/// # Errors
/// Validation, for a frame or a list that is read as a matrix.
pub(super) fn check_read(hop: &Hop, value: &Variable) -> Result<()> {
    match (hop.data_type, value) {
        (DataType::Frame | DataType::List, _) => Ok(()),
        (_, Variable::List(_)) => Err(Error::validation(
            "the folder holds a list, and was not there before the run to tell",
        )
        .with_help("say it: read(folder, data_type=\"list\")")),
        (_, Variable::Frame(_)) => Err(Error::validation(
            "the file holds a frame, and was not there before the run to tell",
        )
        .with_help("say it: read(file, data_type=\"frame\")")),
        _ => Ok(()),
    }
}

/// As `toString` writes it, with its own numbers of rows, columns and digits.
pub(super) fn text(frame: &Frame) -> Result<String> {
    frame.to_text(ROWS_SHOWN, COLS_SHOWN, DECIMALS, " ", "\n")
}

/// What `toString` shows where it is told nothing.
const ROWS_SHOWN: usize = 100;
const COLS_SHOWN: usize = 100;
const DECIMALS: usize = 3;

fn operate(op: FrameOp, inputs: &Inputs, session: &Session) -> Result<Variable> {
    let spec = || Spec::parse(&inputs.text(1)?);
    let frame = || inputs.frame(0);
    Ok(Variable::Frame(match op {
        FrameOp::Fill => filled(inputs)?,
        FrameOp::Metadata => transform::metadata(frame()?, &spec()?)?,
        FrameOp::Encode => {
            return transform::apply(frame()?, &spec()?, inputs.frame(2)?).map(Variable::matrix);
        }
        FrameOp::EncodeStoring => {
            let (text, meta) = (inputs.text(1)?, inputs.frame(2)?);
            let matrix = transform::apply(frame()?, &spec()?, meta)?;
            let folder = DataFile::at(&inputs.text(3)?, session)?.folder()?;
            transform::store(meta, &text, &folder)?;
            return Ok(Variable::matrix(matrix));
        }
        FrameOp::StoredMetadata => {
            let folder = DataFile::at(&inputs.text(0)?, session)?.folder()?;
            transform::stored_metadata(&spec()?, &folder)?
        }
        FrameOp::StoredSpecification => {
            let folder = DataFile::at(&inputs.text(0)?, session)?.folder()?;
            Frame::of_cell(Cell::Text(&transform::stored_specification(&folder)?))?
        }
        FrameOp::Embed => {
            let embeddings = inputs.matrix(3)?;
            let meta = inputs.frame(2)?;
            let matrix = transform::apply_embedding(frame()?, &spec()?, meta, &embeddings)?;
            return Ok(Variable::matrix(matrix));
        }
        FrameOp::Decode => {
            let matrix = inputs.matrix(0)?;
            transform::decode(&matrix, &spec()?, inputs.frame(2)?)?
        }
        FrameOp::ColumnMap => {
            return transform::column_map(frame()?, &spec()?).map(Variable::matrix);
        }
        FrameOp::TypeOf => frame()?.schema_frame()?,
        FrameOp::DetectSchema => frame()?.detect_schema()?,
        FrameOp::ApplySchema => frame()?.apply_schema(&Frame::read_schema(inputs.frame(1)?)?)?,
        FrameOp::DropInvalidType => {
            let schema = Frame::read_schema(inputs.frame(1)?)?;
            frame()?.drop_invalid_type(&schema)?
        }
        FrameOp::DropInvalidLength => {
            let lengths = inputs.matrix(1)?;
            let cols = 0..lengths.cols();
            let lengths: Vec<f64> = cols.map(|col| lengths.get(0, col)).collect();
            frame()?.drop_invalid_length(&lengths)?
        }
        FrameOp::Names => frame()?.names_frame()?,
        FrameOp::ValueSwap => frame()?.value_swap(&Frame::read_schema(inputs.frame(1)?)?)?,
        FrameOp::Replace => frame()?.replace(&inputs.text(1)?, &inputs.text(2)?)?,
        FrameOp::RemoveEmpty => remove_empty(inputs)?,
        FrameOp::Sort => frame()?.order(&inputs.columns(1)?, inputs.truth(2)?)?,
        FrameOp::Order => {
            let order = frame()?.order_index(&inputs.columns(1)?, inputs.truth(2)?)?;
            return Ok(Variable::matrix(order));
        }
        FrameOp::Unique => unique(frame()?, &inputs.text(1)?)?,
        FrameOp::CountDistinct => {
            let count = frame()?.count_distinct()?;
            return Ok(Variable::Scalar(Literal::Double(count)));
        }
        FrameOp::Map => Function::parse(&inputs.text(1)?)?.apply(frame()?, inputs.count(2)?)?,
        FrameOp::Tokenize => {
            let spec = tokenize::Spec::parse(&inputs.text(1)?)?;
            tokenize::tokenize(frame()?, &spec, inputs.count(2)?)?
        }
        FrameOp::IsMissing => return frame()?.is_missing().map(Variable::matrix),
        FrameOp::Equal
        | FrameOp::NotEqual
        | FrameOp::Less
        | FrameOp::LessEqual
        | FrameOp::Greater
        | FrameOp::GreaterEqual => return compare(op.sign(), inputs),
    }))
}

/// `frame(data, rows, cols, schema)`.
fn filled(inputs: &Inputs) -> Result<Frame> {
    let (rows, cols) = (inputs.count(1)?, inputs.count(2)?);
    let frame = match inputs.get(0)? {
        Variable::Scalar(value) => Frame::filled(cell_of(value), rows, cols)?,
        Variable::List(list) => {
            let elements = list.elements().iter();
            let values = elements.map(|element| element.value.as_scalar());
            let values = values.collect::<Result<Vec<_>>>()?;
            let cells: Vec<Cell<'_>> = values.into_iter().map(cell_of).collect();
            Frame::of_cells(&cells, rows, cols)?
        }
        other => {
            return Err(Error::validation(format!(
                "a frame is filled with a scalar or a list, not {}",
                other.kind()
            )));
        }
    };
    let types = match inputs.0.get(3) {
        None => return Ok(frame),
        Some(Variable::List(list)) => {
            let elements = list.elements().iter();
            let types =
                elements.map(|element| ColumnType::parse(&element.value.as_scalar()?.to_string()));
            types.collect::<Result<Vec<_>>>()?
        }
        Some(value) => {
            let names = value.as_scalar()?.to_string();
            let types = names.split(',').map(ColumnType::parse);
            types.collect::<Result<Vec<_>>>()?
        }
    };
    match types[..] {
        [only] => frame.apply_schema(&vec![only; frame.cols()]),
        _ => frame.apply_schema(&types),
    }
}

fn compare(sign: &str, inputs: &Inputs) -> Result<Variable> {
    let comparison = Comparison::parse(sign)
        .ok_or_else(|| Error::internal(format!("'{sign}' compares no cells")))?;
    let frame = inputs.frame(0)?;
    match inputs.get(1)? {
        Variable::Scalar(value) => frame.compare_cell(comparison, cell_of(value)),
        _ => frame.compare(comparison, inputs.frame(1)?),
    }
    .map(Variable::matrix)
}

fn remove_empty(inputs: &Inputs) -> Result<Frame> {
    let frame = inputs.frame(0)?;
    let margin = inputs.text(1)?;
    let by_rows = match margin.as_str() {
        "rows" => true,
        "cols" => false,
        _ => {
            return Err(Error::argument(format!(
                "the margin of removeEmpty is \"rows\" or \"cols\", not \"{margin}\""
            )));
        }
    };
    let select = match inputs.0.len() {
        4 => Some(inputs.matrix(3)?),
        _ => None,
    };
    let kept = frame.remove_empty(by_rows, select.as_ref())?;
    match inputs.truth(2)? {
        true if kept.rows() == 0 && by_rows => frame.one_empty_row(),
        true if kept.cols() == 0 && !by_rows => frame.one_empty_column(),
        _ => Ok(kept),
    }
}

fn unique(frame: &Frame, direction: &str) -> Result<Frame> {
    match (direction, frame.cols()) {
        ("r", _) | (_, 1) => frame.unique_rows(),
        _ => Err(Error::unsupported(format!(
            "unique of a frame of {} columns in the direction \"{direction}\"",
            frame.cols()
        ))
        .with_help("dir=\"r\" gives the distinct rows")),
    }
}

fn cast(op: CastOp, value_type: ValueType, inputs: &Inputs) -> Result<Variable> {
    match op {
        CastOp::AsFrame => inputs.as_frame(0).map(Variable::Frame),
        CastOp::AsMatrix => inputs.frame(0)?.to_matrix().map(Variable::matrix),
        _ => {
            let frame = inputs.frame(0)?;
            if (frame.rows(), frame.cols()) != (1, 1) {
                return Err(Error::dimension(format!(
                    "as.scalar of a frame that is {} x {}",
                    frame.rows(),
                    frame.cols()
                ))
                .with_help("only a 1 x 1 frame has a scalar; index one cell first"));
            }
            let cell = frame.cell(0, 0);
            scalar_of(cell, value_type).map(Variable::Scalar)
        }
    }
}

/// A missing cell is an empty text, or NaN.
fn scalar_of(cell: Option<Cell<'_>>, value_type: ValueType) -> Result<Literal> {
    if value_type == ValueType::String {
        return Ok(Literal::String(match cell {
            None => String::new(),
            // As scripts write it.
            Some(Cell::Boolean(value)) => Literal::Boolean(value).to_string(),
            Some(cell) => cell.text().into_owned(),
        }));
    }
    let number = match cell {
        None => f64::NAN,
        Some(cell) => cell.number().ok_or_else(|| {
            Error::data(format!("'{}' is no number", cell.text()))
                .with_help("as.scalar() of a frame of text gives a string")
        })?,
    };
    scalar::convert(&Literal::Double(number), value_type)
}

fn named(
    op: ParameterizedOp,
    place: &dyn Fn(&str) -> Option<usize>,
    inputs: &Inputs,
) -> Result<Option<Variable>> {
    let target = || inputs.frame(place("target").unwrap_or(0));
    let number = |name: &str, default: usize| match place(name) {
        None => Ok(default),
        Some(at) => inputs.count(at),
    };
    let words = |name: &str, default: &str| match place(name) {
        None => Ok(default.to_owned()),
        Some(at) => inputs.text(at),
    };
    Ok(Some(match op {
        ParameterizedOp::ToString => {
            let (rows, cols) = (number("rows", ROWS_SHOWN)?, number("cols", COLS_SHOWN)?);
            let decimals = number("decimal", DECIMALS)?;
            let (between, end) = (words("sep", " ")?, words("linesep", "\n")?);
            let text = target()?.to_text(rows, cols, decimals, &between, &end)?;
            Variable::Scalar(Literal::String(text))
        }
        _ => return Ok(None),
    }))
}

fn cell_of(value: &Literal) -> Cell<'_> {
    match value {
        Literal::Int(value) => Cell::Int(*value),
        Literal::Double(value) => Cell::Fp64(*value),
        Literal::Boolean(value) => Cell::Boolean(*value),
        Literal::String(text) => Cell::Text(text),
    }
}

/// The inputs of an operator, each as what the operator takes it for.
struct Inputs(Vec<Variable>);

impl Inputs {
    fn get(&self, place: usize) -> Result<&Variable> {
        let value = self.0.get(place);
        value.ok_or_else(|| Error::internal("an operator on frames lacks an input"))
    }

    fn frame(&self, place: usize) -> Result<&Frame> {
        match self.get(place)? {
            Variable::Frame(frame) => Ok(frame),
            other => Err(
                Error::validation(format!("a frame is needed, not {}", other.kind()))
                    .with_help("as.frame() makes a frame"),
            ),
        }
    }

    /// A matrix or a scalar as a frame, too.
    fn as_frame(&self, place: usize) -> Result<Frame> {
        match self.get(place)? {
            Variable::Frame(frame) => Ok(frame.clone()),
            Variable::Scalar(value) => Frame::of_cell(cell_of(value)),
            _ => Frame::from_matrix(&self.matrix(place)?),
        }
    }

    /// A matrix, wherever it is.
    fn matrix(&self, place: usize) -> Result<MatrixBlock> {
        match self.get(place)? {
            Variable::Matrix(matrix) => Ok(matrix.block().clone()),
            Variable::Distributed(matrix) => Ok(matrix.collect()?.block().clone()),
            Variable::Range(range) => Ok(range.to_dense()?.into()),
            Variable::Frame(frame) => frame.to_matrix(),
            other => Err(Error::validation(format!(
                "a matrix is needed, not {}",
                other.kind()
            ))),
        }
    }

    fn text(&self, place: usize) -> Result<String> {
        Ok(self.get(place)?.as_scalar()?.to_string())
    }

    fn truth(&self, place: usize) -> Result<bool> {
        scalar::truth(self.get(place)?.as_scalar()?)
    }

    /// Numbers of columns, from 0: of a scalar, its name or number, or of a vector.
    fn columns(&self, place: usize) -> Result<Vec<usize>> {
        let frame = self.frame(0)?;
        let numbers = match self.get(place)? {
            Variable::Scalar(Literal::String(name)) => return Ok(vec![frame.find(name)?]),
            Variable::Scalar(number) => vec![scalar::number(number)?],
            _ => self.matrix(place)?.to_dense()?.values().to_vec(),
        };
        let columns = numbers
            .into_iter()
            .map(|number| Ok(within(number, "column", frame.cols())? - 1));
        columns.collect()
    }

    fn count(&self, place: usize) -> Result<usize> {
        let number = scalar::number(self.get(place)?.as_scalar()?)?;
        usize::try_from(scalar::double_to_int(number)).map_err(|_| {
            Error::argument(format!(
                "{number} stands where a number of 0 or more is needed"
            ))
        })
    }

    /// Rows and columns from four bounds; columns may be named.
    fn ranges(&self, frame: &Frame, first: usize) -> Result<(Range<usize>, Range<usize>)> {
        let row = |place| self.bound_at(place, "row", frame.rows());
        let col = |place| match self.get(place)?.as_scalar()? {
            Literal::String(name) => Ok(frame.find(name)? + 1),
            _ => self.bound_at(place, "column", frame.cols()),
        };
        let rows = match frame.rows() {
            // All rows of a frame without one.
            0 if self.count(first)? == 1 && self.count(first + 1)? == 0 => (1, 1),
            _ => (row(first)?, row(first + 1)?),
        };
        let cols = (col(first + 2)?, col(first + 3)?);
        for ((from, to), what) in [(rows, "row"), (cols, "column")] {
            if from > to {
                return Err(Error::dimension(format!("{what}s {from} to {to} are none"))
                    .with_help("the lower bound must not lie above the upper one"));
            }
        }
        let end = rows.1.min(frame.rows());
        Ok((rows.0 - 1..end, cols.0 - 1..cols.1))
    }

    /// From 1.
    fn bound_at(&self, place: usize, what: &str, size: usize) -> Result<usize> {
        within(scalar::number(self.get(place)?.as_scalar()?)?, what, size)
    }

    fn bound(&self, bind: fn(&Frame, &Frame) -> Result<Frame>) -> Result<Variable> {
        let mut result = self.as_frame(0)?;
        for place in 1..self.0.len() {
            result = bind(&result, &self.as_frame(place)?)?;
        }
        Ok(Variable::Frame(result))
    }
}

/// The number of a row or a column, from 1.
fn within(number: f64, what: &str, size: usize) -> Result<usize> {
    let number = scalar::double_to_int(number);
    let within = usize::try_from(number).ok();
    let within = within.filter(|number| (1..=size).contains(number));
    within.ok_or_else(|| {
        Error::dimension(format!("{what} {number} of a frame that has {size}"))
            .with_help(format!("{what}s count from 1 to {size}"))
    })
}
