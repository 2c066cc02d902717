//! A complete script as a function, for calls by the name of its file.
//!
//! Its parameters are the `$`-arguments that it reads: matrices by `X = read($X)`, scalars by `k = ifdef($k, 5)`. Its results are what it writes
//! where an argument says so: `fileC = ifdef($C, " ")`, then `if (fileC != " ") { write(C, fileC) }`. Results are assigned whether or not the
//! script would write them. A result whose first value is a text is a string, all others are matrices.

use std::{collections::BTreeSet, sync::Arc};

use fulgurite_error::{Code, Error, Position, Result, Source};
use fulgurite_hop::{BinaryOp, DataType, Literal, ValueType};

use crate::syntax::{
    self, Mention,
    ast::{
        BinaryOperator, Call, Expression, ExpressionKind, FunctionBody, FunctionDefinition, Script,
        Statement, StatementKind, Target, TypedName, UnaryOperator,
    },
};

/// The function that a script is.
///
/// # Errors
/// `unsupported`, for a script that uses a `$`-argument in another way.
pub(super) fn function(
    name: &str,
    script: &Script,
    source: &Arc<Source>,
) -> Result<FunctionDefinition> {
    let files = files(&script.body);
    let (mut matrices, mut scalars, mut results) = (Vec::new(), Vec::new(), Vec::new());
    let mut body = Vec::new();
    for statement in &script.body {
        let position = &statement.position;
        if let Some((variable, argument)) = read_of_argument(statement) {
            matrices.push(typed(
                argument,
                DataType::Matrix,
                ValueType::Double,
                position,
            ));
            body.extend(renamed(variable, argument, position));
        } else if let Some((variable, argument, default)) = default_of_argument(statement) {
            let is_used = || mentions(&script.body, variable);
            if files.contains(variable) || is_only_format(&script.body, variable) && is_used() {
                continue;
            }
            let value_type = default.value_type();
            let parameter = typed(argument, DataType::Scalar, value_type, position);
            scalars.push(TypedName {
                default: Some(expression(ExpressionKind::Literal(default), position)),
                ..parameter
            });
            body.extend(renamed(variable, argument, position));
        } else if let Some((then, file)) = written(statement, &files) {
            let argument = argument_of(&script.body, file).unwrap_or(file);
            for inner in then {
                match value_written(inner, file) {
                    None => body.push(inner.clone()),
                    Some(ExpressionKind::Variable(value)) => {
                        let value_type = match begins_as_text(&script.body, value) {
                            true => (DataType::Scalar, ValueType::String),
                            false => (DataType::Matrix, ValueType::Double),
                        };
                        results.push(typed(argument, value_type.0, value_type.1, position));
                        body.extend(renamed(argument, value, position));
                    }
                    Some(_) => return Err(no_function(name, argument, position)),
                }
            }
        } else {
            body.push(statement.clone());
        }
    }
    let mut left = None;
    syntax::mentions_of_statements(&body, &mut |mention| {
        if let Mention::Argument(argument, position) = mention {
            left.get_or_insert((argument, position));
        }
    });
    if let Some((argument, position)) = left {
        return Err(no_function(name, argument, position));
    }
    matrices.extend(scalars);
    Ok(FunctionDefinition {
        name: name.to_owned(),
        parameters: matrices,
        results,
        body: FunctionBody::Statements(body),
        position: Position::new(source, 1, 1, 0),
    })
}

fn no_function(name: &str, argument: &str, position: &Position) -> Error {
    Error::unsupported(format!(
        "the script '{name}' is no function: it uses ${argument} in another way than functions have"
    ))
    .with_code(Code::UnsupportedFunction)
    .at(position)
    .with_help("a script that is called reads X = read($X) and k = ifdef($k, 5), and writes if (file != \" \") { write(C, file) }")
}

/// The variables that hold where to write.
fn files(body: &[Statement]) -> BTreeSet<&str> {
    let conditions = body.iter().filter_map(|statement| match &statement.kind {
        StatementKind::If {
            predicate,
            otherwise,
            then,
        } if otherwise.is_empty() => {
            let file = is_given(predicate)?;
            then.iter()
                .any(|inner| value_written(inner, file).is_some())
                .then_some(file)
        }
        _ => None,
    });
    let given = conditions.filter(|file| argument_of(body, file).is_some());
    given.collect()
}

/// `if (file != " ") { … }` of one of the files: what stands in it.
fn written<'a>(
    statement: &'a Statement,
    files: &BTreeSet<&str>,
) -> Option<(&'a [Statement], &'a str)> {
    let StatementKind::If {
        predicate,
        then,
        otherwise,
    } = &statement.kind
    else {
        return None;
    };
    let file = is_given(predicate).filter(|file| files.contains(file))?;
    otherwise.is_empty().then_some((then.as_slice(), file))
}

/// The variable of `variable != " "`.
fn is_given(predicate: &Expression) -> Option<&str> {
    let ExpressionKind::Binary(BinaryOperator::Cell(BinaryOp::NotEqual), left, right) =
        &predicate.kind
    else {
        return None;
    };
    match (&left.kind, &right.kind) {
        (ExpressionKind::Variable(name), ExpressionKind::Literal(Literal::String(text)))
            if text.trim().is_empty() =>
        {
            Some(name)
        }
        _ => None,
    }
}

/// The value of `write(value, file, …)`.
fn value_written<'a>(statement: &'a Statement, file: &str) -> Option<&'a ExpressionKind> {
    let StatementKind::Call(Call {
        namespace: None,
        name,
        arguments,
        ..
    }) = &statement.kind
    else {
        return None;
    };
    match &arguments[..] {
        [value, to, ..] if name == "write" && is_variable(&to.value, file) => {
            Some(&value.value.kind)
        }
        _ => None,
    }
}

fn is_variable(expression: &Expression, name: &str) -> bool {
    matches!(&expression.kind, ExpressionKind::Variable(variable) if variable == name)
}

/// `variable = read($argument)`.
fn read_of_argument(statement: &Statement) -> Option<(&str, &str)> {
    let (variable, value) = assigned(statement)?;
    match &value.kind {
        ExpressionKind::Call(call) if call.name == "read" && call.namespace.is_none() => {
            match &call.arguments.first()?.value.kind {
                ExpressionKind::Argument(argument) => Some((variable, argument)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// `variable = ifdef($argument, default)`.
fn default_of_argument(statement: &Statement) -> Option<(&str, &str, Literal)> {
    let (variable, value) = assigned(statement)?;
    match &value.kind {
        ExpressionKind::IfDef { argument, default } => {
            Some((variable, argument, literal(default)?))
        }
        _ => None,
    }
}

/// The argument that a variable is the value of.
fn argument_of<'a>(body: &'a [Statement], variable: &str) -> Option<&'a str> {
    let mut defaults = body.iter().filter_map(default_of_argument);
    let found = defaults.find(|(name, _, _)| *name == variable);
    found.map(|(_, argument, _)| argument)
}

fn assigned(statement: &Statement) -> Option<(&str, &Expression)> {
    match &statement.kind {
        StatementKind::Assign {
            target:
                Target {
                    variable,
                    subscripts: None,
                    ..
                },
            value,
            accumulate: false,
        } => Some((variable, value)),
        _ => None,
    }
}

fn mentions(body: &[Statement], variable: &str) -> bool {
    let mut found = false;
    syntax::mentions_of_statements(body, &mut |mention| {
        found |= matches!(mention, Mention::Variable(name) if name == variable);
    });
    found
}

/// Whether a variable is nothing but the format of what is written.
fn is_only_format(body: &[Statement], variable: &str) -> bool {
    let (mut reads, mut formats) = (0, 0);
    syntax::mentions_of_statements(body, &mut |mention| match mention {
        Mention::Variable(name) if name == variable => reads += 1,
        Mention::Call(call) if call.name == "write" => {
            let is_format = call.arguments.iter().filter(|argument| {
                argument.name.as_deref() == Some("format") && is_variable(&argument.value, variable)
            });
            formats += is_format.count();
        }
        Mention::Variable(_) | Mention::Call(_) | Mention::Argument(..) | Mention::Binary(..) => {}
    });
    reads == formats
}

/// Whether the first value of a variable is a text.
fn begins_as_text(body: &[Statement], variable: &str) -> bool {
    first_value(body, variable).is_some_and(is_text)
}

fn first_value<'a>(body: &'a [Statement], variable: &str) -> Option<&'a Expression> {
    body.iter().find_map(|statement| match &statement.kind {
        StatementKind::If {
            then, otherwise, ..
        } => first_value(then, variable).or_else(|| first_value(otherwise, variable)),
        StatementKind::While { body, .. } | StatementKind::For { body, .. } => {
            first_value(body, variable)
        }
        StatementKind::Assign { .. }
        | StatementKind::MultiAssign { .. }
        | StatementKind::Call(_) => {
            let (name, value) = assigned(statement)?;
            (name == variable).then_some(value)
        }
    })
}

fn is_text(value: &Expression) -> bool {
    match &value.kind {
        ExpressionKind::Literal(Literal::String(_)) => true,
        ExpressionKind::Binary(BinaryOperator::Cell(BinaryOp::Plus), left, right) => {
            is_text(left) || is_text(right)
        }
        _ => false,
    }
}

fn typed(name: &str, data_type: DataType, value_type: ValueType, position: &Position) -> TypedName {
    TypedName {
        name: name.to_owned(),
        data_type,
        value_type,
        default: None,
        position: position.clone(),
    }
}

fn expression(kind: ExpressionKind, position: &Position) -> Expression {
    Expression {
        kind,
        position: position.clone(),
    }
}

/// `to = from`, unless they are one.
fn renamed(to: &str, from: &str, position: &Position) -> Option<Statement> {
    (to != from).then(|| Statement {
        kind: StatementKind::Assign {
            target: Target {
                variable: to.to_owned(),
                subscripts: None,
                position: position.clone(),
            },
            value: expression(ExpressionKind::Variable(from.to_owned()), position),
            accumulate: false,
        },
        position: position.clone(),
    })
}

/// The value of a default that is a literal.
pub(super) fn literal(expression: &Expression) -> Option<Literal> {
    match &expression.kind {
        ExpressionKind::Literal(value) => Some(value.clone()),
        ExpressionKind::Variable(name) => super::named_constant(name),
        ExpressionKind::Unary(UnaryOperator::Minus, operand) => match literal(operand)? {
            Literal::Int(value) => value.checked_neg().map(Literal::Int),
            Literal::Double(value) => Some(Literal::Double(-value)),
            Literal::Boolean(_) | Literal::String(_) => None,
        },
        _ => None,
    }
}
