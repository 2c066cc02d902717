//! Comparisons with NaN, which is not equal to itself.

use fulgurite_error::{Code, Warning};
use fulgurite_hop::BinaryOp;

use crate::syntax::{
    self, Mention,
    ast::{BinaryOperator, Expression, ExpressionKind, Statement},
};

pub(super) fn of_statements(statements: &[Statement], found: &mut Vec<Warning>) {
    syntax::mentions_of_statements(statements, &mut |mention| {
        let Mention::Binary(operator, left, right, position) = mention else {
            return;
        };
        let BinaryOperator::Cell(op @ (BinaryOp::Equal | BinaryOp::NotEqual)) = operator else {
            return;
        };
        if is_nan(left) || is_nan(right) {
            let (symbol, always) = match op {
                BinaryOp::Equal => ("==", "false"),
                _ => ("!=", "true"),
            };
            let message = format!("a comparison by '{symbol}' with NaN is always {always}");
            found.push(
                Warning::new(Code::NanComparison, message, position)
                    .with_help("is.nan(x) asks whether x is NaN"),
            );
        }
    });
}

fn is_nan(expression: &Expression) -> bool {
    matches!(&expression.kind, ExpressionKind::Variable(name) if name == "NaN")
}
