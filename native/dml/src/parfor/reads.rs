//! What expressions read.

use fulgurite_error::Position;

use crate::syntax::ast::{Call, Expression, ExpressionKind, Range, Subscripts};

/// A variable that an expression reads.
#[derive(Debug, Clone, Copy)]
pub(super) struct Read<'a> {
    pub variable: &'a str,
    pub part: ReadPart<'a>,
    pub position: &'a Position,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum ReadPart<'a> {
    Whole,
    Indexed(&'a Subscripts),
    /// Rows and columns, no cells.
    Shape,
}

/// Visits what the expression reads, from left to right. `is_user_function` tells calls of the script's own functions,
/// which may have the names of built-in ones.
pub(super) fn of_expression<'a>(
    expression: &'a Expression,
    is_user_function: &dyn Fn(&Call) -> bool,
    visit: &mut dyn FnMut(Read<'a>),
) {
    let position = &expression.position;
    match &expression.kind {
        ExpressionKind::Literal(_) | ExpressionKind::Argument(_) => {}
        ExpressionKind::Variable(variable) => visit(Read {
            variable,
            part: ReadPart::Whole,
            position,
        }),
        ExpressionKind::IfDef { default, .. } => of_expression(default, is_user_function, visit),
        ExpressionKind::Index {
            variable,
            subscripts,
        } => {
            of_subscripts(subscripts, is_user_function, visit);
            visit(Read {
                variable,
                part: ReadPart::Indexed(subscripts),
                position,
            });
        }
        ExpressionKind::Unary(_, operand) => of_expression(operand, is_user_function, visit),
        ExpressionKind::Binary(_, left, right) => {
            of_expression(left, is_user_function, visit);
            of_expression(right, is_user_function, visit);
        }
        ExpressionKind::Call(call) => of_call(call, is_user_function, visit),
        ExpressionKind::List(members) => {
            for member in members {
                of_expression(member, is_user_function, visit);
            }
        }
    }
}

pub(super) fn of_call<'a>(
    call: &'a Call,
    is_user_function: &dyn Fn(&Call) -> bool,
    visit: &mut dyn FnMut(Read<'a>),
) {
    if let [argument] = &call.arguments[..]
        && let ExpressionKind::Variable(variable) = &argument.value.kind
        && matches!(call.name.as_str(), "nrow" | "ncol" | "length")
        && !is_user_function(call)
    {
        visit(Read {
            variable,
            part: ReadPart::Shape,
            position: &argument.value.position,
        });
        return;
    }
    for argument in &call.arguments {
        of_expression(&argument.value, is_user_function, visit);
    }
}

pub(super) fn of_subscripts<'a>(
    subscripts: &'a Subscripts,
    is_user_function: &dyn Fn(&Call) -> bool,
    visit: &mut dyn FnMut(Read<'a>),
) {
    for range in [&subscripts.rows, &subscripts.cols] {
        match range {
            Range::All => {}
            Range::Single(index) => of_expression(index, is_user_function, visit),
            Range::Between(from, to) => {
                of_expression(from, is_user_function, visit);
                of_expression(to, is_user_function, visit);
            }
        }
    }
}
