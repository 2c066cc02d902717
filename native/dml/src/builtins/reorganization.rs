//! Functions that move cells: transposition, binding, selection, order, contingency tables.

use fulgurite_error::{Code, Error, Result};
use fulgurite_hop::{
    DataType, Dialect, FrameOp, Hop, HopId, HopOp, ListOp, Literal, ParameterizedOp,
};

use super::{
    BoundCall, Builtin, Constant, Kind, Parameter, Rule, TARGET_MATRIX, builtin, default, frames,
    lists, optional, required,
};
use super::{aggregates::direction, build::with_names};

pub(super) const BUILTINS: &[Builtin] = &[
    reorganize("t", |call| of_target(call, HopOp::Transpose)),
    reorganize("rev", |call| of_target(call, HopOp::Rev)),
    reorganize("diag", |call| of_target(call, HopOp::Diag)),
    Builtin {
        rest: Some(Kind::Any),
        ..builtin("cbind", &[], Rule::Function(cbind))
    },
    Builtin {
        rest: Some(Kind::Any),
        ..builtin("append", &[], Rule::Function(append))
    },
    Builtin {
        rest: Some(Kind::Any),
        ..builtin("rbind", &[], Rule::Function(rbind))
    },
    Builtin {
        aliases: &["ctable"],
        rest: Some(Kind::Cells),
        ignores_names: true,
        ..builtin("table", TABLE, Rule::Function(table))
    },
    builtin(
        "removeEmpty",
        REMOVE_EMPTY,
        Rule::Function(|call| match frames::is_first(call)? {
            true => frames::remove_empty(call),
            false => named(call, ParameterizedOp::RemoveEmpty),
        }),
    ),
    builtin(
        "replace",
        REPLACE,
        Rule::Function(|call| match frames::is_first(call)? {
            true => frames::of_arguments(call, FrameOp::Replace),
            false => named(call, ParameterizedOp::Replace),
        }),
    ),
    builtin(
        "order",
        ORDER,
        Rule::Function(|call| match frames::is_first(call)? {
            true => frames::order(call),
            false if call.block.is_string(call.argument(1)?) => {
                Err(call.wrong_type(1, "a number or a matrix"))
            }
            false => named(call, ParameterizedOp::Order),
        }),
    ),
    builtin(
        "lower.tri",
        TRIANGLE,
        Rule::NamedMatrix(ParameterizedOp::LowerTri),
    ),
    builtin(
        "upper.tri",
        TRIANGLE,
        Rule::NamedMatrix(ParameterizedOp::UpperTri),
    ),
    builtin("unique", UNIQUE, Rule::Function(unique)),
    builtin("roll", ROLL, Rule::NamedMatrix(ParameterizedOp::Roll)),
    builtin("outer", OUTER, Rule::NamedMatrix(ParameterizedOp::Outer)),
];

const TABLE: &[Parameter] = &[required("A", Kind::Cells), required("B", Kind::Cells)];
const REMOVE_EMPTY: &[Parameter] = &[
    required("target", Kind::Table),
    required("margin", Kind::String),
    optional("select", Kind::Matrix),
    default("empty.return", Kind::Boolean, Constant::Boolean(true)),
];
const REPLACE: &[Parameter] = &[
    required("target", Kind::Table),
    required("pattern", Kind::Scalar),
    required("replacement", Kind::Scalar),
];
const ORDER: &[Parameter] = &[
    required("target", Kind::Table),
    default("by", Kind::By, Constant::Int(1)),
    default("decreasing", Kind::Boolean, Constant::Boolean(false)),
    default("index.return", Kind::Boolean, Constant::Boolean(false)),
];
const TRIANGLE: &[Parameter] = &[
    required("target", Kind::Matrix),
    default("diag", Kind::Boolean, Constant::Boolean(false)),
    default("values", Kind::Boolean, Constant::Boolean(false)),
];
const UNIQUE: &[Parameter] = &[
    required("target", Kind::Table),
    default("dir", Kind::String, Constant::String("rc")),
];
const ROLL: &[Parameter] = &[
    required("target", Kind::Matrix),
    required("shift", Kind::Number),
];
const OUTER: &[Parameter] = &[
    required("left", Kind::Matrix),
    required("right", Kind::Matrix),
    required("op", Kind::String),
];

const fn reorganize(name: &'static str, build: fn(&mut BoundCall<'_>) -> Result<HopId>) -> Builtin {
    builtin(name, TARGET_MATRIX, Rule::Function(build))
}

fn of_target(call: &mut BoundCall<'_>, op: HopOp) -> Result<HopId> {
    let inputs = vec![call.argument(0)?];
    Ok(call.matrix(op, inputs))
}

/// With inputs by the names of the parameters.
fn named(call: &mut BoundCall<'_>, op: ParameterizedOp) -> Result<HopId> {
    let (op, inputs) = call.named(op);
    Ok(call.matrix(op, inputs))
}

fn unique(call: &mut BoundCall<'_>) -> Result<HopId> {
    if frames::is_first(call)? {
        return frames::of_arguments(call, FrameOp::Unique);
    }
    let target = call.argument(0)?;
    let text = Literal::String(direction(call, 1)?.to_owned());
    let text = call.block.literal(text, call.position);
    let named = vec![("target".to_owned(), target), ("dir".to_owned(), text)];
    let (op, inputs) = with_names(ParameterizedOp::Unique, named);
    Ok(call.matrix(op, inputs))
}

/// Binds matrices side by side; joins strings with a newline between them, which is how scripts build
/// their reports.
fn cbind(call: &mut BoundCall<'_>) -> Result<HopId> {
    let all_strings = call
        .rest
        .iter()
        .all(|argument| call.block.is_string(argument.id));
    if !all_strings || call.rest.is_empty() {
        return bind_tables(call, HopOp::CBind, ListOp::Columns);
    }
    let texts: Vec<HopId> = call.rest.iter().map(|argument| argument.id).collect();
    let newline = call
        .block
        .literal(Literal::String("\n".to_owned()), call.position);
    let mut joined: Option<HopId> = None;
    for text in texts {
        joined = Some(match joined {
            None => text,
            Some(before) => {
                let line = call.block.plus(before, newline, call.position)?;
                call.block.plus(line, text, call.position)?
            }
        });
    }
    joined.ok_or_else(|| too_few(call))
}

/// A list with more elements; else as `cbind`.
fn append(call: &mut BoundCall<'_>) -> Result<HopId> {
    match first_is_list(call) {
        true => Ok(lists::append(call)),
        false => cbind(call),
    }
}

fn rbind(call: &mut BoundCall<'_>) -> Result<HopId> {
    bind_tables(call, HopOp::RBind, ListOp::Rows)
}

fn first_is_list(call: &BoundCall<'_>) -> bool {
    let first = call.rest.first();
    first.is_some_and(|argument| call.block.hop(argument.id).data_type == DataType::List)
}

fn bind_tables(call: &mut BoundCall<'_>, op: HopOp, of_list: ListOp) -> Result<HopId> {
    if let [only] = &call.rest[..]
        && first_is_list(call)
    {
        let list = only.id;
        return Ok(lists::bound(call, of_list, list));
    }
    for argument in &call.rest {
        let hop = call.block.hop(argument.id);
        if !matches!(hop.data_type, DataType::Matrix | DataType::Frame) {
            return Err(Error::validation(format!(
                "'{}' binds matrices, not {}",
                call.name,
                crate::lower::describe(hop)
            ))
            .with_code(Code::ArgumentType)
            .at(&argument.position)
            .with_help("as.matrix() makes a 1 x 1 matrix of a scalar"));
        }
    }
    if call.rest.len() < 2 {
        return Err(too_few(call));
    }
    let inputs: Vec<HopId> = call.rest.iter().map(|argument| argument.id).collect();
    let frame = inputs
        .iter()
        .map(|input| call.block.hop(*input))
        .find(|hop| hop.data_type == DataType::Frame)
        .map(|hop| (hop.data_type, hop.value_type));
    let mut hop = Hop::matrix(op, inputs).at(call.position);
    if let Some((data_type, value_type)) = frame {
        (hop.data_type, hop.value_type) = (data_type, value_type);
    }
    Ok(call.block.push(hop))
}

fn too_few(call: &BoundCall<'_>) -> Error {
    Error::validation(format!("'{}' takes two or more matrices", call.name))
        .with_code(Code::MissingArgument)
        .at(call.position)
}

/// `table(A, B)`, then weights, or output rows and columns, or all three.
/// In the dialect of SystemDS, rows of category 0 are not counted where all categories of the other argument are one, as those of NaN.
fn without_zeros(call: &mut BoundCall<'_>, categories: HopId, other: HopId) -> HopId {
    let is_count = call.block.hop(categories).is_matrix() && call.block.hop(other).is_scalar();
    if call.block.dialect() != Dialect::SystemDs || !is_count {
        return categories;
    }
    let zero = call.block.literal(Literal::Double(0.0), call.position);
    let missing = call.block.literal(Literal::Double(f64::NAN), call.position);
    let named = [
        ("target", categories),
        ("pattern", zero),
        ("replacement", missing),
    ];
    let named = named.map(|(name, id)| (name.to_owned(), id));
    let (op, inputs) = with_names(ParameterizedOp::Replace, named.into());
    call.matrix(op, inputs)
}

fn table(call: &mut BoundCall<'_>) -> Result<HopId> {
    let (first, second) = (call.argument(0)?, call.argument(1)?);
    let mut inputs = vec![without_zeros(call, first, second), second];
    let mut rest: Vec<HopId> = call.rest.iter().map(|argument| argument.id).collect();
    if rest.len() == 4
        && rest
            .last()
            .is_some_and(|last| call.block.hop(*last).is_scalar())
    {
        // SystemDS is told there whether to write empty blocks.
        rest.pop();
    }
    let one = call.block.int(1, call.position);
    match rest.as_slice() {
        [] => inputs.push(one),
        [weights] => inputs.push(*weights),
        [rows, cols] => inputs.extend([one, *rows, *cols]),
        [weights, rows, cols] => inputs.extend([*weights, *rows, *cols]),
        _ => {
            return Err(Error::validation(format!(
                "'{}' takes at most 5 arguments, not {}",
                call.name,
                rest.len() + 2
            ))
            .with_code(Code::WrongArgumentCount)
            .at(call.position)
            .with_help(
                "usage: table(A, B), table(A, B, weights) or table(A, B, weights, rows, cols)",
            ));
        }
    }
    for size in inputs.iter().skip(3) {
        if !call.block.hop(*size).is_scalar() {
            return Err(Error::validation(format!(
                "'{}' takes numbers as output rows and columns, not a matrix",
                call.name
            ))
            .with_code(Code::ArgumentType)
            .at(call.position));
        }
    }
    if !inputs
        .iter()
        .take(2)
        .any(|input| call.block.hop(*input).is_matrix())
    {
        return Err(call.wrong_type(0, "a matrix"));
    }
    if let [counting, categories, ..] = inputs[..]
        && counts_from_one(call, counting)
        && call.block.hop(categories).is_matrix()
    {
        inputs[1] = first_column(call, categories)?;
    }
    Ok(call.matrix(HopOp::Table, inputs))
}

/// Whether it is `seq(1, …)`.
fn counts_from_one(call: &BoundCall<'_>, matrix: HopId) -> bool {
    let hop = call.block.hop(matrix);
    let from = hop
        .inputs
        .first()
        .and_then(|from| call.block.constant(*from));
    hop.op.is_sequence() && from.and_then(Literal::as_f64) == Some(1.0)
}

/// Of a matrix that may have several columns, the first one: as SystemML takes it where the other argument is a sequence. A row
/// stays, which pairs up with the sequence.
fn first_column(call: &mut BoundCall<'_>, matrix: HopId) -> Result<HopId> {
    let position = call.position;
    let size = call.block.hop(matrix).characteristics;
    if size.rows == Some(1) || size.cols == Some(1) {
        return Ok(matrix);
    }
    let one = call.block.int(1, position);
    let rows = call.block.rows(matrix, position);
    let cols = call.block.cols(matrix, position);
    let is_row = call.block.equal(rows, one, position)?;
    let last = call.block.if_else(is_row, cols, one, position)?;
    Ok(call.block.part(matrix, [one, rows, one, last], position))
}
