//! Statements that are never reached: after `stop()`, and where a literal decides.

use fulgurite_error::{Code, Position, Warning};
use fulgurite_hop::Literal;

use crate::syntax::ast::{
    Call, Expression, ExpressionKind, LoopRange, Statement, StatementKind, UnaryOperator,
};

pub(super) fn of_statements(statements: &[Statement], found: &mut Vec<Warning>) {
    let mut ended = None;
    for statement in statements {
        if let Some(why) = ended.take() {
            // One tells of all that follow.
            warn(&statement.position, why, found);
            return;
        }
        of_statement(statement, found);
        ended = why_it_ends(statement);
    }
}

fn warn(position: &Position, why: &str, found: &mut Vec<Warning>) {
    let message = format!("this is never reached: {why}");
    found.push(Warning::new(Code::Unreachable, message, position));
}

fn of_statement(statement: &Statement, found: &mut Vec<Warning>) {
    match &statement.kind {
        StatementKind::Assign { .. }
        | StatementKind::MultiAssign { .. }
        | StatementKind::Call(_) => {}
        StatementKind::If {
            predicate,
            then,
            otherwise,
        } => {
            let holds = literal_truth(predicate);
            branch(
                then,
                holds == Some(false),
                "the condition is always false",
                found,
            );
            branch(
                otherwise,
                holds == Some(true),
                "the condition is always true",
                found,
            );
        }
        StatementKind::While { predicate, body } => {
            let never = literal_truth(predicate) == Some(false);
            branch(body, never, "the condition is always false", found);
        }
        StatementKind::For { range, body, .. } => {
            let never = runs_never(range);
            branch(body, never, "the loop's range is empty", found);
        }
    }
}

/// A block that is empty is not missed: it stands there to end a block of statements.
fn branch(statements: &[Statement], is_never_taken: bool, why: &str, found: &mut Vec<Warning>) {
    match statements.first() {
        Some(first) if is_never_taken => warn(&first.position, why, found),
        _ => of_statements(statements, found),
    }
}

/// Why nothing after a statement runs, if so.
fn why_it_ends(statement: &Statement) -> Option<&'static str> {
    let ends = |statements: &[Statement]| statements.iter().any(|s| why_it_ends(s).is_some());
    match &statement.kind {
        StatementKind::Call(call) if is_stop(call) => Some("stop() ends the script before it"),
        StatementKind::If {
            then, otherwise, ..
        } if ends(then) && ends(otherwise) => Some("both branches before it end the script"),
        StatementKind::While { predicate, .. } if literal_truth(predicate) == Some(true) => {
            Some("the loop before it never ends")
        }
        _ => None,
    }
}

fn is_stop(call: &Call) -> bool {
    call.namespace.is_none() && call.name == "stop"
}

/// Whether a condition of literals alone holds.
fn literal_truth(expression: &Expression) -> Option<bool> {
    match &expression.kind {
        ExpressionKind::Literal(Literal::Boolean(value)) => Some(*value),
        ExpressionKind::Unary(UnaryOperator::Not, operand) => {
            literal_truth(operand).map(|value| !value)
        }
        _ => None,
    }
}

/// Whether a `seq` of literals counts away from its end.
fn runs_never(range: &LoopRange) -> bool {
    let increment = match &range.increment {
        Some(increment) => number(increment),
        None => None,
    };
    match (number(&range.from), number(&range.to), increment) {
        (Some(from), Some(to), Some(step)) => step > 0.0 && from > to || step < 0.0 && from < to,
        _ => false,
    }
}

fn number(expression: &Expression) -> Option<f64> {
    match &expression.kind {
        ExpressionKind::Literal(Literal::Int(value)) => Some(*value as f64),
        ExpressionKind::Literal(Literal::Double(value)) => Some(*value),
        ExpressionKind::Unary(UnaryOperator::Minus, operand) => number(operand).map(|value| -value),
        _ => None,
    }
}
