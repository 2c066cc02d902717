//! Functions of cells, written in Java as DML's `map` takes them: `x -> x.toLowerCase()`.
//!
//! A function is an expression over texts, numbers, truth values and arrays of texts, with Java's operators and rules: whole numbers wrap,
//! `7 / 2` is 3, positions count units of UTF-16. [`Function::parse`] refuses methods that it does not know.
//! It has no state and asks for no time, so that each distinct text of a column is mapped once.
//!
//! As in SystemDS, missing cells stay missing, and the cells of the result are text.
//!
//! Two functions take a whole frame: one replaces missing values in disguise, the other smooths columns of numbers ([`Function::parse`]).

mod calls;
mod disguised;
mod names;
mod parse;
pub(crate) mod pattern;
mod smoothing;
mod stem;
mod value;
mod whole;
mod words;

use std::rc::Rc;

use arrow::array::{Array, StringArray};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;

use crate::{
    Cell, Column, Frame, TextBuilder,
    column::{ROWS_AT_ONCE, push},
    frame::default_names,
};
use parse::{Literal, Node};
use pattern::Patterns;
use value::{Operator, Value, operate};
use whole::FrameFunction;

/// A function of a cell, of a row or column, of two cells, or of a whole frame.
#[derive(Debug, Clone)]
pub struct Function(Kind);

#[derive(Debug, Clone)]
enum Kind {
    Cells(CellFunction),
    Frame(FrameFunction),
}

#[derive(Debug, Clone)]
struct CellFunction {
    text: String,
    parameters: usize,
    node: Node,
}

impl Function {
    /// Reads a function of one or two parameters, or a call of a function of a frame.
    ///
    /// Of a frame there are `UtilFunctions.syntacticalPatternDiscovery(threshold,replacement)`, which replaces cells of another form than
    /// most of their column, and `UtilFunctions.exponentialMovingAverageImputation(iterations;mode;freq;alpha;beta;gamma)`, which smooths
    /// columns of numbers and forecasts what is missing. A weight that is `NaN` is searched in so many iterations.
    ///
    /// # Errors
    /// `syntax` when it does not parse; `unsupported`, with the place in the text, for methods and names that are not known here.
    ///
    /// ```
    /// use fulgurite_frame::map::Function;
    /// assert!(Function::parse("x -> x.trim().length() + 1").is_ok());
    /// let error = Function::parse("x -> x.frobnicate()").unwrap_err();
    /// assert_eq!(error.message(), "character 8: the method 'frobnicate'");
    /// ```
    pub fn parse(text: &str) -> Result<Self> {
        if let Some(function) = FrameFunction::parse(text)? {
            return Ok(Function(Kind::Frame(function)));
        }
        let (parameters, node) = parse::function(text)?;
        Ok(Function(Kind::Cells(CellFunction {
            text: text.to_owned(),
            parameters,
            node,
        })))
    }

    /// How many parameters it has, one or two.
    pub fn parameters(&self) -> usize {
        match &self.0 {
            Kind::Cells(function) => function.parameters,
            Kind::Frame(_) => 1,
        }
    }

    /// The frame of what the function makes of each cell (`margin` 0), each row (1) or each column (2), as text.
    ///
    /// A function of a row gets an array of its cells and returns one as long. A function of two parameters gets each cell of the first
    /// column with each below it: its results are above the diagonal of a square frame, whose other cells are `0.0`.
    ///
    /// # Errors
    /// `data` with the row, the column and the place in the text where Java would throw an exception; `argument` for another margin;
    /// `memory`.
    ///
    /// ```
    /// use fulgurite_frame::{Cell, csv::{self, CsvFormat}, map::Function};
    /// let frame = csv::read("Graz\nLinz\n".as_bytes(), &CsvFormat::default(), None)?;
    /// let mapped = Function::parse("x -> x.substring(0, 2) + x.length()")?.apply(&frame, 0)?;
    /// assert_eq!(mapped.cell(1, 0), Some(Cell::Text("Li4")));
    /// # Ok::<(), fulgurite_error::Error>(())
    /// ```
    pub fn apply(&self, frame: &Frame, margin: usize) -> Result<Frame> {
        let columns = match &self.0 {
            Kind::Cells(function) => function.columns(frame, margin)?,
            Kind::Frame(function) if margin == 0 => function.columns(frame)?,
            Kind::Frame(_) => {
                return Err(Error::argument(format!(
                    "the margin of a function of a frame is 0, not {margin}"
                )));
            }
        };
        let names = default_names(columns.len());
        Frame::new(columns, Some(names))
    }
}

impl CellFunction {
    fn columns(&self, frame: &Frame, margin: usize) -> Result<Vec<Column>> {
        Ok(match (self.parameters, margin) {
            (2, 0) => self.of_pairs(frame)?,
            (1, 0) => {
                let columns = frame.columns().iter().zip(frame.names());
                let columns = columns.map(|(column, name)| self.of_column(column, name));
                columns.collect::<Result<_>>()?
            }
            (1, 1) => self.of_rows(frame)?,
            (1, 2) => self.of_columns(frame)?,
            (_, 1 | 2) => {
                return Err(Error::unsupported(
                    "a function of two parameters over rows or columns",
                ));
            }
            _ => {
                return Err(Error::argument(format!(
                    "the margin is 0, 1 or 2, not {margin}"
                )));
            }
        })
    }

    fn of_column(&self, column: &Column, name: &str) -> Result<Column> {
        let place = |row: usize| format!("row {}, column '{name}'", row + 1);
        if let Column::Coded(coded) = column
            && let Some(texts) = coded.values().as_any().downcast_ref::<StringArray>()
        {
            // The first row of each code that is in use.
            let mut first = memory::filled(texts.len(), usize::MAX)?;
            for row in (0..coded.len()).filter(|row| !coded.is_null(*row)).rev() {
                first[coded.keys().value(row) as usize] = row;
            }
            let mapped = mapped(texts.len(), |code, run| match first[code] {
                usize::MAX => Ok(None),
                _ if texts.is_null(code) => Ok(None),
                row => run
                    .text(self, &[Value::text(texts.value(code))])
                    .map_err(|error| within(&place(row), error)),
            })?;
            let mut builder = TextBuilder::default();
            for row in 0..coded.len() {
                builder.push(match coded.is_null(row) {
                    true => None,
                    false => mapped[coded.keys().value(row) as usize].as_deref(),
                })?;
            }
            return builder.finish();
        }
        let mapped = mapped(column.len(), |row, run| match column.cell(row) {
            None => Ok(None),
            cell => run
                .text(self, &[value_of(cell)])
                .map_err(|error| within(&place(row), error)),
        })?;
        column_of(mapped.iter().map(Option::as_deref))
    }

    fn of_rows(&self, frame: &Frame) -> Result<Vec<Column>> {
        let rows = mapped(frame.rows(), |row, run| {
            let cells = (0..frame.cols()).map(|col| value_of(frame.cell(row, col)));
            run.texts(self, cells.collect(), frame.cols())
                .map_err(|error| within(&format!("row {}", row + 1), error))
        })?;
        let columns =
            (0..frame.cols()).map(|col| column_of(rows.iter().map(|row| row[col].as_deref())));
        columns.collect()
    }

    fn of_columns(&self, frame: &Frame) -> Result<Vec<Column>> {
        let columns = mapped(frame.cols(), |col, run| {
            let column = &frame.columns()[col];
            let cells = column.cells().map(value_of);
            run.texts(self, cells.collect(), frame.rows())
                .map_err(|error| within(&format!("column '{}'", frame.names()[col]), error))
        })?;
        let columns = columns.iter();
        columns
            .map(|texts| column_of(texts.iter().map(Option::as_deref)))
            .collect()
    }

    fn of_pairs(&self, frame: &Frame) -> Result<Vec<Column>> {
        let Some(column) = frame.column(0) else {
            return Ok(Vec::new());
        };
        let rows = frame.rows();
        memory::cells(rows, rows)?;
        let interrupt = Interrupt::current();
        let columns = (0..rows).into_par_iter().map(|col| {
            interrupt.check()?;
            let run = Run::default();
            let mut builder = TextBuilder::default();
            for row in 0..rows {
                let pair = column.cell(row).filter(|_| row < col).zip(column.cell(col));
                let Some((above, below)) = pair else {
                    builder.push(Some("0.0"))?;
                    continue;
                };
                let mapped = run.text(self, &[value_of(Some(above)), value_of(Some(below))]);
                let place = || format!("rows {} and {}", row + 1, col + 1);
                builder.push(mapped.map_err(|error| within(&place(), error))?.as_deref())?;
            }
            builder.finish()
        });
        let columns: Vec<Result<Column>> = columns.collect();
        columns.into_iter().collect()
    }
}

fn value_of(cell: Option<Cell<'_>>) -> Value {
    cell.map_or(Value::Null, |cell| Value::text(&*cell.text()))
}

fn column_of<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Result<Column> {
    let mut builder = TextBuilder::default();
    for text in texts {
        builder.push(text)?;
    }
    builder.finish()
}

/// An error with the cell that it is about.
fn within(place: &str, error: Error) -> Error {
    let message = format!("{place}: {}", error.message());
    error.with_message(message)
}

/// What `one` makes of each number below `len`, in their order; of several errors, the first.
fn mapped<T: Send + Weighed>(
    len: usize,
    one: impl Fn(usize, &Run) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let interrupt = Interrupt::current();
    let pieces = (0..len.div_ceil(ROWS_AT_ONCE))
        .into_par_iter()
        .map(|piece| {
            let from = piece * ROWS_AT_ONCE;
            interrupt.check()?;
            let run = Run::default();
            let mut values = Vec::new();
            let mut bytes = 0_usize;
            for at in from..len.min(from + ROWS_AT_ONCE) {
                let value = one(at, &run)?;
                bytes = bytes.saturating_add(value.bytes());
                if bytes > BYTES_AT_ONCE {
                    memory::admit(std::mem::take(&mut bytes))?;
                }
                push(&mut values, value)?;
            }
            Ok(values)
        });
    let pieces: Vec<Result<Vec<T>>> = pieces.collect();
    let mut all = memory::room(len)?;
    for piece in pieces {
        all.extend(piece?);
    }
    Ok(all)
}

/// Text between two questions for memory.
const BYTES_AT_ONCE: usize = 1 << 20;

/// Bytes behind a value.
trait Weighed {
    fn bytes(&self) -> usize;
}

impl Weighed for Option<String> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, String::len)
    }
}

impl Weighed for Vec<Option<String>> {
    fn bytes(&self) -> usize {
        self.iter()
            .map(|text| text.bytes() + size_of::<Option<String>>())
            .sum()
    }
}

/// Runs functions on one thread.
#[derive(Default)]
struct Run {
    patterns: Patterns,
}

impl Run {
    /// The result as text; null is a missing value.
    fn text(&self, function: &CellFunction, parameters: &[Value]) -> Result<Option<String>> {
        let value = self.value(&function.text, &function.node, parameters)?;
        match value {
            Value::Null => Ok(None),
            value => Ok(Some(value.shown()?.into_owned())),
        }
    }

    /// The result for an array, of texts and as long.
    fn texts(
        &self,
        function: &CellFunction,
        cells: Rc<[Value]>,
        len: usize,
    ) -> Result<Vec<Option<String>>> {
        let value = self.value(&function.text, &function.node, &[Value::Texts(cells)])?;
        let Value::Texts(texts) = value else {
            return Err(Error::data(format!(
                "the function returns {}, not an array",
                value.kind()
            )));
        };
        if texts.len() != len {
            return Err(Error::data(format!(
                "the function returns {} values, not {len}",
                texts.len()
            )));
        }
        let texts = texts.iter().map(|value| match value {
            Value::Null => Ok(None),
            value => Ok(Some(value.shown()?.into_owned())),
        });
        texts.collect()
    }

    fn value(&self, text: &str, node: &Node, parameters: &[Value]) -> Result<Value> {
        let run = |node: &Node| self.value(text, node, parameters);
        let all = |nodes: &[Node]| nodes.iter().map(run).collect::<Result<Vec<_>>>();
        let placed = |at: usize| move |error: Error| parse::at(text, at, error);
        let truth = |at: usize, value: Value| match value {
            Value::Boolean(value) => Ok(value),
            other => Err(parse::at(
                text,
                at,
                Error::data(format!("a condition is {}, not a boolean", other.kind())),
            )),
        };
        Ok(match node {
            Node::Literal(literal) => match literal {
                Literal::Null => Value::Null,
                Literal::Boolean(value) => Value::Boolean(*value),
                Literal::Char(unit) => Value::Char(*unit),
                Literal::Int(value) => Value::Int(*value),
                Literal::Long(value) => Value::Long(*value),
                Literal::Double(value) => Value::Double(*value),
                Literal::Text(text) => Value::Text(text.clone()),
            },
            Node::Parameter(at) => parameters[*at].clone(),
            Node::Not(at, node) => Value::Boolean(!truth(*at, run(node)?)?),
            Node::Minus(at, node) => match run(node)? {
                Value::Double(value) => Value::Double(-value),
                value => {
                    operate(Operator::Subtract, &Value::Int(0), &value).map_err(placed(*at))?
                }
            },
            Node::Cast(at, cast, node) => calls::cast(*cast, &run(node)?).map_err(placed(*at))?,
            Node::Binary(at, op @ (Operator::And | Operator::Or), left, right) => {
                let left = truth(*at, run(left)?)?;
                match left == (*op == Operator::Or) {
                    true => Value::Boolean(left),
                    false => Value::Boolean(truth(*at, run(right)?)?),
                }
            }
            Node::Binary(at, op, left, right) => {
                operate(*op, &run(left)?, &run(right)?).map_err(placed(*at))?
            }
            Node::Conditional(at, nodes) => {
                let [condition, yes, no] = &**nodes;
                match truth(*at, run(condition)?)? {
                    true => run(yes)?,
                    false => run(no)?,
                }
            }
            Node::Call(at, method, of, arguments) => {
                calls::method(*method, &run(of)?, &all(arguments)?, &self.patterns)
                    .map_err(placed(*at))?
            }
            Node::Static(at, function, arguments) => {
                calls::function(*function, &all(arguments)?).map_err(placed(*at))?
            }
            Node::Index(at, of, index) => match (run(of)?, run(index)?) {
                (Value::Texts(texts), index) => {
                    let found = index.as_int().and_then(|index| usize::try_from(index).ok());
                    let found = found.and_then(|index| texts.get(index)).cloned();
                    found.ok_or_else(|| {
                        let index = index.shown().map(|index| index.into_owned());
                        let index = index.unwrap_or_default();
                        let beyond = format!("an array of {} has no element {index}", texts.len());
                        parse::at(text, *at, Error::data(beyond))
                    })?
                }
                (other, _) => {
                    let what = format!("{} has no elements", other.kind());
                    return Err(parse::at(text, *at, Error::data(what)));
                }
            },
            Node::Length(at, of) => match run(of)? {
                Value::Texts(texts) => Value::Int(texts.len() as i32),
                other => {
                    let what = format!("{} has no field 'length'", other.kind());
                    return Err(parse::at(text, *at, Error::data(what)));
                }
            },
            Node::Array(nodes) => Value::Texts(all(nodes)?.into()),
        })
    }
}
