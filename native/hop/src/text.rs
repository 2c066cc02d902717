//! HOP DAGs as text that parses back: what tests and people write.
//!
//! One line a HOP, as `explain hops` prints it, but for estimates of memory: its number, its operator, the
//! numbers of its inputs, its type or its size, its place in the script. The last line names the roots.
//!
//! ```
//! use fulgurite_hop::text::{from_text, to_text};
//! let dag = from_text(
//!     "(0) TRead X [1797 x 64, nnz 56000]
//!      (1) TRead B [64 x 10]
//!      (2) ba(+*) (0,1) [1797 x 10] @ predict.dml:3:19+3
//!      (3) TWrite Y (2) [1797 x 10]
//!      roots 3",
//! )?;
//! assert_eq!(from_text(&to_text(&dag))?, dag);
//! # Ok::<(), fulgurite_error::Error>(())
//! ```
//!
//! - **Numbers** may have gaps; inputs stand above what reads them. Named inputs have their name before the
//!   number: `p(replace) (target=0,pattern=1)`.
//! - **Literals**: `lit 7` is an int, `lit 7.0` and `lit NaN` are doubles, `lit TRUE` is a boolean,
//!   `lit "a text"` is a string with the escapes of JSON. Names that are no identifiers stand in quotes, too.
//! - **Types**: `[10 x 5, nnz 7]` is a matrix of doubles, with `?` for what is not known; `[int]` is a scalar;
//!   `[frame string] [10 x 5]` is anything else. Without any, operator and inputs decide, as in HOP JSON.
//! - **Options** of reads and writes are those of HOP JSON: `PRead {"format":"csv"} (0)`.
//! - **Comments** are lines that begin with `#`. An estimate of memory, as explain prints it, is passed over.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::{self, Display, Formatter, Write},
    ops::Range,
};

use fulgurite_error::{Position, Result, Source};
use serde_json::Value;
use winnow::{
    ModalResult, Parser,
    combinator::{alt, cut_err, delimited, eof, fail, opt, preceded, separated, separated_pair},
    stream::Stream,
    token::take_while,
};

use crate::{
    Dag, DataType, Hop, HopId, HopOp, Literal, ValueType,
    json::{Node, Size},
    syntax::{
        Line, Text, blanks, expected, json_value, name, optional_blanks, quoted, quoted_name,
        whole_number, word,
    },
    verify::verify_named,
};

/// The DAG as text.
pub fn to_text(dag: &Dag) -> String {
    DagText(dag).to_string()
}

/// Displays as [`to_text`] gives it.
#[derive(Debug, Clone, Copy)]
pub struct DagText<'a>(pub &'a Dag);

impl Display for DagText<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (id, hop) in self.0.iter() {
            write!(f, "({id}) ")?;
            write_operator(&hop.op, f)?;
            write_inputs(hop, f)?;
            write_type(hop, f)?;
            if let Some(position) = &hop.position {
                write_position(position, f)?;
            }
            f.write_char('\n')?;
        }
        let roots: Vec<String> = self.0.roots.iter().map(HopId::to_string).collect();
        writeln!(f, "roots {}", roots.join(","))
    }
}

fn write_operator(op: &HopOp, f: &mut Formatter<'_>) -> fmt::Result {
    match op {
        HopOp::Literal(Literal::String(text)) => write!(f, "lit {}", quoted(text)),
        HopOp::TransientRead(name) => write!(f, "TRead {}", quoted_name(name)),
        HopOp::TransientWrite(name) => write!(f, "TWrite {}", quoted_name(name)),
        op if op.reads_file() || op.writes_file() => {
            f.write_str(&op.code())?;
            match Node::parameters(op).ok().flatten() {
                Some(Value::Object(options)) if !options.is_empty() => {
                    write!(f, " {}", Value::Object(options))
                }
                _ => Ok(()),
            }
        }
        other => f.write_str(&other.code()),
    }
}

fn write_inputs(hop: &Hop, f: &mut Formatter<'_>) -> fmt::Result {
    if hop.inputs.is_empty() {
        return Ok(());
    }
    let mut names = vec![String::new(); hop.inputs.len()];
    if let Some((_, places)) = hop.op.with_named_inputs() {
        for (name, place) in places {
            if let Some(slot) = names.get_mut(*place) {
                *slot = format!("{}=", quoted_name(name));
            }
        }
    }
    let inputs = names.iter().zip(&hop.inputs);
    let inputs: Vec<String> = inputs.map(|(name, id)| format!("{name}{id}")).collect();
    write!(f, " ({})", inputs.join(","))
}

fn write_type(hop: &Hop, f: &mut Formatter<'_>) -> fmt::Result {
    let size = hop.characteristics;
    match (hop.data_type, hop.value_type) {
        (DataType::Scalar, value_type) => write!(f, " [{value_type}]"),
        (DataType::Matrix, ValueType::Double) => write!(f, " {size}"),
        (data_type, value_type) => write!(f, " [{data_type} {value_type}] {size}"),
    }
}

fn write_position(position: &Position, f: &mut Formatter<'_>) -> fmt::Result {
    let file = &position.source.name;
    let ends_early = |c: char| c.is_whitespace() || c.is_control() || c == '"';
    let file = match file.is_empty() || file.contains(ends_early) {
        true => quoted(file),
        false => file.clone(),
    };
    write!(f, " @ {file}:{}:{}", position.line, position.column)?;
    match position.length {
        0 => Ok(()),
        length => write!(f, "+{length}"),
    }
}

/// A DAG from its text.
///
/// # Errors
/// Syntax, with line and column and what was expected there; plan, where the DAG is inconsistent, naming node
/// and rule.
pub fn from_text(text: &str) -> Result<Dag> {
    let text = Text::new("DAG", text);
    let mut dag = Dag::new();
    let mut ids: HashMap<u64, HopId> = HashMap::new();
    let mut numbers = Vec::new();
    let mut roots = None;
    for line in text.lines() {
        let find = |(number, bytes): &(u64, Range<usize>)| match ids.get(number) {
            Some(id) => Ok(*id),
            None => Err(text.error(line, bytes.clone(), "the number of a HOP above")),
        };
        if roots.is_some() {
            return Err(text.error(line, 0..line.1.len(), "no more lines after the roots"));
        }
        match text.parse(line, statement)? {
            Statement::Roots(places) => {
                roots = Some(places.iter().map(find).collect::<Result<Vec<_>>>()?);
            }
            Statement::Hop {
                node,
                number,
                inputs,
            } => {
                if ids.contains_key(&node.id) {
                    return Err(text.error(line, number, "a number that no HOP has yet"));
                }
                let inputs = inputs.iter().map(find).collect::<Result<_>>()?;
                let hop = node.hop(&dag, inputs);
                let hop = hop.map_err(|error| error.at(&text.position(line, number)))?;
                ids.insert(node.id, dag.push(hop));
                numbers.push(node.id);
            }
        }
    }
    dag.roots = roots.ok_or_else(|| {
        text.error_at_end("a line 'roots' with the numbers of the roots, as in 'roots 4,6'")
    })?;
    verify_named(&dag, &|id| {
        numbers.get(id.index()).copied().unwrap_or_default()
    })?;
    Ok(dag)
}

/// A number, and the bytes of its line where it stands.
type Place = (u64, Range<usize>);

/// What a line says.
enum Statement {
    Hop {
        node: Box<Node>,
        /// Where its number stands.
        number: Range<usize>,
        inputs: Vec<Place>,
    },
    Roots(Vec<Place>),
}

fn statement(input: &mut Line<'_>) -> ModalResult<Statement> {
    optional_blanks(input)?;
    let statement = alt((roots, hop))
        .context(expected("a HOP, as in '(3) b(*) (0,2)', or the roots"))
        .parse_next(input)?;
    optional_blanks(input)?;
    end(input)?;
    Ok(statement)
}

fn end(input: &mut Line<'_>) -> ModalResult<()> {
    let rest = "a type as '[int]', a size as '[10 x 5, nnz 7]', a place as '@ a.dml:3:1', or the end of the line";
    cut_err(eof.void())
        .context(expected(rest))
        .parse_next(input)
}

fn roots(input: &mut Line<'_>) -> ModalResult<Statement> {
    "roots".parse_next(input)?;
    optional_blanks(input)?;
    let places = separated(0.., place, comma).parse_next(input)?;
    cut_err(eof)
        .context(expected("the numbers of the roots, as in 'roots 4,6'"))
        .parse_next(input)?;
    Ok(Statement::Roots(places))
}

fn comma(input: &mut Line<'_>) -> ModalResult<()> {
    (',', optional_blanks).void().parse_next(input)
}

fn place(input: &mut Line<'_>) -> ModalResult<Place> {
    whole_number.with_span().parse_next(input)
}

fn hop(input: &mut Line<'_>) -> ModalResult<Statement> {
    let (id, number) = delimited('(', cut_err(place), cut_err(')'))
        .context(expected("the number of the HOP in parentheses"))
        .parse_next(input)?;
    cut_err(blanks)
        .context(expected("the code of an operator"))
        .parse_next(input)?;
    let (op, value, parameters) = operator(input)?;
    let inputs = opt(preceded(blanks, inputs)).parse_next(input)?;
    let inputs = inputs.unwrap_or_default();
    let names = inputs.iter().enumerate();
    let names: BTreeMap<String, usize> = names
        .filter_map(|(place, (name, _))| Some((name.clone()?, place)))
        .collect();
    let named = inputs.iter().filter(|(name, _)| name.is_some()).count();
    if names.len() != named || (named > 0 && parameters.is_some()) {
        return cut_err(fail)
            .context(expected("each name once, and options or names"))
            .parse_next(input);
    }
    let parameters = match names.is_empty() {
        true => parameters,
        false => Some(
            names
                .into_iter()
                .map(|(name, place)| (name, Value::from(place)))
                .collect(),
        ),
    };
    let mut node = Node {
        id,
        op,
        value,
        parameters,
        ..Node::default()
    };
    while let Some(fact) = opt(preceded(blanks, fact)).parse_next(input)? {
        match fact {
            Fact::Type(data_type, value_type) => {
                node.data_type = Some(data_type);
                node.value_type = Some(value_type);
            }
            Fact::Size([rows, cols, nnz]) => {
                node.data_type.get_or_insert(DataType::Matrix);
                node.value_type.get_or_insert(ValueType::Double);
                (node.rows, node.cols, node.nnz) = (rows, cols, nnz);
            }
            Fact::Memory => {}
            Fact::Position(position) => node.position = Some(position),
        }
    }
    Ok(Statement::Hop {
        node: Box::new(node),
        number,
        inputs: inputs.into_iter().map(|(_, place)| place).collect(),
    })
}

/// Code, value of a literal, options.
type Operator = (String, Option<Literal>, Option<Value>);

fn operator(input: &mut Line<'_>) -> ModalResult<Operator> {
    let start = input.checkpoint();
    let code = cut_err(word)
        .context(expected("the code of an operator"))
        .parse_next(input)?;
    let variable = |input: &mut Line<'_>| {
        cut_err(preceded(blanks, name))
            .context(expected(
                "the name of a variable, in quotes if it is no identifier",
            ))
            .parse_next(input)
    };
    match code {
        "lit" => {
            let value = cut_err(preceded(blanks, literal))
                .context(expected("a number, TRUE, FALSE, or a text in quotes"))
                .parse_next(input)?;
            Ok((HopOp::Literal(value.clone()).code(), Some(value), None))
        }
        "TRead" => Ok((HopOp::TransientRead(variable(input)?).code(), None, None)),
        "TWrite" => Ok((HopOp::TransientWrite(variable(input)?).code(), None, None)),
        "PRead" | "PWrite" => {
            let options = opt(preceded(blanks, json_value)).parse_next(input)?;
            Ok((code.to_owned(), None, options))
        }
        code if HopOp::from_code(code).is_some() => Ok((code.to_owned(), None, None)),
        _ => {
            input.reset(&start);
            cut_err(winnow::combinator::fail)
                .context(expected("the code of an operator, as 'b(*)' or 'ua(R+)'"))
                .parse_next(input)
        }
    }
}

fn literal(input: &mut Line<'_>) -> ModalResult<Literal> {
    if input.peek_finish().starts_with('"') {
        return json_value.map(Literal::String).parse_next(input);
    }
    word.verify_map(|text| match Literal::from_text(text) {
        Literal::String(_) => None,
        number => Some(number),
    })
    .parse_next(input)
}

/// Numbers of inputs, with the names they have.
fn inputs(input: &mut Line<'_>) -> ModalResult<Vec<(Option<String>, Place)>> {
    let named = (opt((name, '=').map(|(name, _)| name)), place);
    delimited('(', cut_err(separated(0.., named, comma)), cut_err(')'))
        .context(expected(
            "the numbers of the inputs, as in '(0,2)' or '(target=0,margin=2)'",
        ))
        .parse_next(input)
}

/// What is known of a HOP beside its operator and inputs.
enum Fact {
    Type(DataType, ValueType),
    /// Rows, columns, non-zeros.
    Size([Size; 3]),
    Memory,
    Position(Position),
}

fn fact(input: &mut Line<'_>) -> ModalResult<Fact> {
    alt((
        delimited('[', data_type, ']').map(|(data_type, value_type)| Fact::Type(data_type, value_type)),
        delimited('[', cut_err(size), cut_err(']')).context(expected(
            "a type as 'int' or 'frame string', or a size as '10 x 5, nnz 7', '?' where it is not known",
        )),
        preceded(
            ('@', blanks),
            cut_err(position).context(expected("a place, as in 'a.dml:3:19+4'")),
        )
        .map(Fact::Position),
        memory,
    ))
    .parse_next(input)
}

fn data_type(input: &mut Line<'_>) -> ModalResult<(DataType, ValueType)> {
    let data_type = alt((
        "matrix".value(DataType::Matrix),
        "frame".value(DataType::Frame),
        "list".value(DataType::List),
    ));
    let of_a_scalar = value_type.map(|value_type| (DataType::Scalar, value_type));
    alt((
        of_a_scalar,
        separated_pair(data_type, blanks, value_type),
        "matrix".value((DataType::Matrix, ValueType::Double)),
        "frame".value((DataType::Frame, ValueType::Double)),
        "list".value((DataType::List, ValueType::Double)),
    ))
    .parse_next(input)
}

fn value_type(input: &mut Line<'_>) -> ModalResult<ValueType> {
    alt((
        "double".value(ValueType::Double),
        "int".value(ValueType::Int),
        "boolean".value(ValueType::Boolean),
        "string".value(ValueType::String),
    ))
    .parse_next(input)
}

fn size(input: &mut Line<'_>) -> ModalResult<Fact> {
    let number = || {
        alt((
            '?'.value(Size(None)),
            whole_number.map(|size| Size(Some(size))),
        ))
    };
    let (rows, _, cols) = (number(), " x ", number()).parse_next(input)?;
    let nnz = opt(preceded(", nnz ", number())).parse_next(input)?;
    Ok(Fact::Size([rows, cols, nnz.unwrap_or_default()]))
}

/// `229.6MB` or `?B`.
fn memory(input: &mut Line<'_>) -> ModalResult<Fact> {
    let number = take_while(1.., |c: char| c.is_ascii_digit() || matches!(c, '.' | '?'));
    (number, alt(("B", "KB", "MB", "GB", "TB")))
        .map(|_| Fact::Memory)
        .parse_next(input)
}

fn position(input: &mut Line<'_>) -> ModalResult<Position> {
    let file = match input.peek_finish().starts_with('"') {
        true => {
            let file = json_value(input)?;
            ':'.parse_next(input)?;
            file
        }
        false => {
            // Files may have colons in their names.
            let rest = input.peek_finish();
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let mut parts = rest[..end].rsplitn(3, ':').skip(2);
            let file = parts.next().unwrap_or_default().to_owned();
            input.next_slice(file.len());
            ':'.parse_next(input)?;
            file
        }
    };
    let number = |input: &mut Line<'_>| {
        whole_number
            .verify_map(|number| u32::try_from(number).ok())
            .parse_next(input)
    };
    let (line, _, column) = (number, ':', number).parse_next(input)?;
    let length = opt(preceded('+', number)).parse_next(input)?;
    let source = Source::new(file, "");
    Ok(Position::new(&source, line, column, length.unwrap_or(0)))
}
