//! The calls and the variables of syntax trees.

use fulgurite_error::Position;

use super::ast::{
    BinaryOperator, Call, Expression, ExpressionKind, Range, Statement, StatementKind, Subscripts,
    Target,
};

/// A part of a tree that passes may ask for.
pub(crate) enum Mention<'a> {
    Call(&'a Call),
    Variable(&'a str),
    /// `$name`, or `ifdef($name, …)`, and its place.
    Argument(&'a str, &'a Position),
    /// An operator between two operands, and its place.
    Binary(BinaryOperator, &'a Expression, &'a Expression, &'a Position),
}

/// Visits all calls and reads of variables in statements, at any depth.
pub(crate) fn of_statements<'a>(statements: &'a [Statement], visit: &mut dyn FnMut(Mention<'a>)) {
    for statement in statements {
        of_statement(statement, visit);
    }
}

fn of_statement<'a>(statement: &'a Statement, visit: &mut dyn FnMut(Mention<'a>)) {
    match &statement.kind {
        StatementKind::Assign { target, value, .. } => {
            of_target(target, visit);
            of_expression(value, visit);
        }
        StatementKind::MultiAssign { targets, call, .. } => {
            for target in targets {
                of_target(target, visit);
            }
            of_call(call, visit);
        }
        StatementKind::Call(call) => of_call(call, visit),
        StatementKind::If {
            predicate,
            then,
            otherwise,
        } => {
            of_expression(predicate, visit);
            of_statements(then, visit);
            of_statements(otherwise, visit);
        }
        StatementKind::While { predicate, body } => {
            of_expression(predicate, visit);
            of_statements(body, visit);
        }
        StatementKind::For {
            range,
            body,
            options,
            ..
        } => {
            of_expression(&range.from, visit);
            of_expression(&range.to, visit);
            if let Some(increment) = &range.increment {
                of_expression(increment, visit);
            }
            for option in options {
                of_expression(&option.value, visit);
            }
            of_statements(body, visit);
        }
    }
}

fn of_target<'a>(target: &'a Target, visit: &mut dyn FnMut(Mention<'a>)) {
    if let Some(subscripts) = target.subscripts.as_deref() {
        of_subscripts(subscripts, visit);
    }
}

/// Visits all calls and reads of variables in an expression.
pub(crate) fn of_expression<'a>(expression: &'a Expression, visit: &mut dyn FnMut(Mention<'a>)) {
    match &expression.kind {
        ExpressionKind::Literal(_) => {}
        ExpressionKind::Argument(name) => visit(Mention::Argument(name, &expression.position)),
        ExpressionKind::Variable(name) => visit(Mention::Variable(name)),
        ExpressionKind::IfDef { argument, default } => {
            visit(Mention::Argument(argument, &expression.position));
            of_expression(default, visit);
        }
        ExpressionKind::Index {
            variable,
            subscripts,
        } => {
            visit(Mention::Variable(variable));
            of_subscripts(subscripts, visit);
        }
        ExpressionKind::Unary(_, operand) => of_expression(operand, visit),
        ExpressionKind::Binary(operator, left, right) => {
            visit(Mention::Binary(
                *operator,
                left,
                right,
                &expression.position,
            ));
            of_expression(left, visit);
            of_expression(right, visit);
        }
        ExpressionKind::Call(call) => of_call(call, visit),
        ExpressionKind::List(elements) => {
            for element in elements {
                of_expression(element, visit);
            }
        }
    }
}

fn of_call<'a>(call: &'a Call, visit: &mut dyn FnMut(Mention<'a>)) {
    visit(Mention::Call(call));
    for argument in &call.arguments {
        of_expression(&argument.value, visit);
    }
}

fn of_subscripts<'a>(subscripts: &'a Subscripts, visit: &mut dyn FnMut(Mention<'a>)) {
    for range in [&subscripts.rows, &subscripts.cols] {
        match range {
            Range::All => {}
            Range::Single(index) => of_expression(index, visit),
            Range::Between(from, to) => {
                of_expression(from, visit);
                of_expression(to, visit);
            }
        }
    }
}
