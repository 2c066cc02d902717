//! Operators of HOPs on columns, which are built as expressions that wait.

use std::sync::Arc;

use fulgurite_error::Result;
use fulgurite_lazy::{Expression, Input, Kind, Shape};

/// An operator on inputs.
///
/// # Errors
/// `dimension`, for columns of other lengths; `internal`, for an unknown code.
fn operator(code: &str, inputs: Vec<Input>) -> Result<Input> {
    let kind = Kind::named(code, &[])?;
    Expression::of(&kind, inputs).map(Input::Expression)
}

/// A function of one column.
pub(crate) fn unary(code: &str, input: &Input) -> Result<Input> {
    operator(&format!("u({code})"), vec![input.clone()])
}

/// A function of two columns, or of a column and a number.
pub(crate) fn binary(code: &str, left: &Input, right: &Input) -> Result<Input> {
    operator(&format!("b({code})"), vec![left.clone(), right.clone()])
}

/// One of two columns, by a third.
pub(crate) fn if_else(condition: &Input, yes: &Input, no: &Input) -> Result<Input> {
    operator(
        "t(ifelse)",
        vec![condition.clone(), yes.clone(), no.clone()],
    )
}

/// An aggregate of all cells, by the code of its function.
pub(crate) fn total(code: &str, input: &Input) -> Result<Input> {
    operator(&format!("ua({code})"), vec![input.clone()])
}

/// Sums of the groups 1 to `count`, as a column.
pub(crate) fn grouped(
    function: &str,
    target: &Input,
    codes: &Input,
    count: usize,
) -> Result<Input> {
    let kind = Kind::named("p(aggregate)", &["target", "groups", "fn", "ngroups"])?;
    let inputs = vec![
        target.clone(),
        codes.clone(),
        Input::from(function),
        Input::from(count as f64),
    ];
    let size = Shape::matrix(count as u64, 1);
    Expression::operator(&kind, inputs, Some(size), None).map(Input::Expression)
}

/// The rows of a matrix where another column is not 0; there are `count`.
pub(crate) fn selected(target: &Input, mask: &Input, count: usize, cols: usize) -> Result<Input> {
    let kind = Kind::named(
        "p(removeEmpty)",
        &["target", "margin", "select", "empty.return"],
    )?;
    let inputs = vec![
        target.clone(),
        Input::from("rows"),
        mask.clone(),
        Input::from(false),
    ];
    let size = Shape::matrix(count as u64, cols as u64);
    Expression::operator(&kind, inputs, Some(size), None).map(Input::Expression)
}

/// Columns beside each other.
pub(crate) fn beside(columns: Vec<Input>) -> Result<Option<Input>> {
    match columns.len() {
        0 => Ok(None),
        1 => Ok(columns.into_iter().next()),
        _ => operator("b(cbind)", columns).map(Some),
    }
}

/// A column of one value.
pub(crate) fn constant(value: f64, rows: usize) -> Result<Input> {
    let kind = Kind::named("dg(matrix)", &[])?;
    let inputs = vec![
        Input::from(value),
        Input::from(rows as f64),
        Input::from(1.0),
    ];
    Expression::operator(&kind, inputs, Some(Shape::matrix(rows as u64, 1)), None)
        .map(Input::Expression)
}

/// The expression of an input that is none yet.
pub(crate) fn column(input: &Input, rows: usize) -> Result<Arc<Expression>> {
    match input {
        Input::Expression(expression) if !expression.shape.is_scalar => Ok(Arc::clone(expression)),
        other => match binary("+", &constant(0.0, rows)?, other)? {
            Input::Expression(expression) => Ok(expression),
            Input::Literal(_) => Err(fulgurite_error::Error::internal("a sum that is a literal")),
        },
    }
}
