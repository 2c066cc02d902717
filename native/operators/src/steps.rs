//! Fused operators over compressed matrices, one step after the other.
//!
//! A fused operator is taken apart where none of its steps needs a cell of the matrix: the steps work on dictionaries, counts and
//! narrow matrices. All other fused operators decode rows block by block, in generated code.

use fulgurite_error::Result;
use fulgurite_fusion::cplan::{CNode, CPlan, InputBinding, NodeId, RowOutput, Template};
use fulgurite_hop::{AggregateOp, Direction, Hop, Literal, scalar};
use fulgurite_matrix::{MatrixBlock, kernels};

use super::{
    basic::{Factors, Step, number, product_on_groups, step},
    value::Value,
};

/// The value of a fused operator over a compressed main input, one step after the other; `None` where a step would need cells of
/// the matrix, or gives as many.
///
/// # Errors
/// Of its steps.
pub(super) fn run(plan: &CPlan, hop: &Hop, inputs: &[Value]) -> Result<Option<Value>> {
    let Some(Value::Matrix(main)) = inputs.first() else {
        return Ok(None);
    };
    // Steps read sides as vectors.
    let mut sides = Vec::new();
    for (place, input) in inputs.iter().enumerate() {
        sides.push(match input {
            Value::Matrix(matrix) if place > 0 => Value::Matrix(matrix.plain()?.into_owned()),
            other => other.clone(),
        });
    }
    let inputs = &sides[..];
    let steps = Steps {
        plan,
        inputs,
        rows: main.rows(),
        cols: main.cols(),
    };
    if inputs.len() != plan.inputs.len() {
        return Ok(None);
    }
    let outputs: Vec<NodeId> = match &plan.template {
        Template::Cell(cell) => vec![cell.value],
        Template::MultiAggregate(several) => several.aggregates.iter().map(|(_, id)| *id).collect(),
        Template::Row(row) => match row.output {
            RowOutput::NoAggregate(id)
            | RowOutput::RowAggregate(id)
            | RowOutput::ColumnAggregate(_, id)
            | RowOutput::FullAggregate(_, id) => vec![id],
            RowOutput::OuterProduct { left, right } => vec![left, right],
        },
        Template::Outer(_) | Template::Group(_) => return Ok(None),
    };
    if !steps.stay_narrow(&outputs) {
        return Ok(None);
    }
    let Some(values) = steps.values()? else {
        return Ok(None);
    };
    let value = |id: NodeId| values[id.index()].clone();
    let reduce =
        |op: AggregateOp, direction: Direction, id: NodeId| aggregated(op, direction, value(id));
    let result = match &plan.template {
        Template::Cell(cell) => match cell.aggregate {
            None => Some(value(cell.value)),
            Some((op, direction)) => reduce(op, direction, cell.value)?,
        },
        Template::MultiAggregate(several) => {
            let mut parts = Vec::new();
            for (op, id) in &several.aggregates {
                match reduce(*op, several.direction, *id)? {
                    Some(Value::Matrix(part)) => parts.push(part),
                    Some(Value::Scalar(part)) => {
                        parts.push(MatrixBlock::filled(1, 1, scalar::number(&part)?)?);
                    }
                    Some(Value::Range(_)) | None => return Ok(None),
                }
            }
            let parts: Vec<&MatrixBlock> = parts.iter().collect();
            Some(Value::Matrix(match several.direction {
                Direction::Row => kernels::cbind(&parts)?,
                Direction::Col | Direction::Full => kernels::rbind(&parts)?,
            }))
        }
        Template::Row(row) => match row.output {
            RowOutput::NoAggregate(id) | RowOutput::RowAggregate(id) => Some(value(id)),
            RowOutput::ColumnAggregate(op, id) => reduce(op, Direction::Col, id)?,
            RowOutput::FullAggregate(op, id) => reduce(op, Direction::Full, id)?,
            RowOutput::OuterProduct {
                left: left_id,
                right: right_id,
            } => match (value(left_id), value(right_id)) {
                (Value::Matrix(left), Value::Matrix(right)) => {
                    let factors = Factors {
                        is_left_transposed: true,
                        are_same: left_id == right_id,
                    };
                    match product_on_groups(&left, &right, factors)? {
                        Some(product) => Some(product),
                        None => Some(Value::Matrix(kernels::transposed_matmult(&left, &right)?)),
                    }
                }
                _ => None,
            },
        },
        Template::Outer(_) | Template::Group(_) => None,
    };
    if let (Some(Value::Scalar(value)), true) = (&result, hop.is_matrix()) {
        let cell = MatrixBlock::filled(1, 1, scalar::number(value)?)?;
        return Ok(Some(Value::Matrix(cell)));
    }
    Ok(result.map(|value| match value {
        Value::Matrix(block) if hop.is_scalar() && (block.rows(), block.cols()) == (1, 1) => {
            Value::Scalar(Literal::Double(block.get(0, 0)))
        }
        other => other,
    }))
}

/// What is known of a step's value before it is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wide {
    /// The same for all rows: a number.
    Number,
    /// The same for all rows: a row.
    Row,
    /// A number, or a narrow row, for each row.
    Narrow,
    /// Column groups.
    Groups,
}

/// The steps of a fused operator, each over all rows.
struct Steps<'a> {
    plan: &'a CPlan,
    inputs: &'a [Value],
    rows: usize,
    cols: usize,
}

impl Steps<'_> {
    /// Whether no step has a value as large as the matrix but in column groups, and outputs are not groups that nobody compressed.
    fn stay_narrow(&self, outputs: &[NodeId]) -> bool {
        let mut kinds: Vec<Wide> = Vec::new();
        for node in &self.plan.body {
            match self.kind(node, &kinds) {
                Some(kind) => kinds.push(kind),
                None => return false,
            }
        }
        outputs
            .iter()
            .all(|id| matches!(kinds.get(id.index()), Some(Wide::Narrow | Wide::Groups)))
    }

    fn kind(&self, node: &CNode, kinds: &[Wide]) -> Option<Wide> {
        let of = |id: &NodeId| kinds.get(id.index()).copied();
        let is_row_plan = matches!(self.plan.template, Template::Row(_));
        Some(match node {
            CNode::Literal(_) => Wide::Number,
            CNode::Input(input) => {
                match (self.plan.inputs.get(*input)?, self.inputs.get(*input)?) {
                    (InputBinding::Main, _) => Wide::Groups,
                    (InputBinding::Scalar, _) => Wide::Number,
                    (InputBinding::RowVector, Value::Matrix(_)) => Wide::Row,
                    (InputBinding::ColumnVector, Value::Matrix(_)) if is_row_plan => Wide::Narrow,
                    // Of a few columns only: a copy of it is small.
                    (InputBinding::Matrix, Value::Matrix(matrix))
                        if is_row_plan && 4 * matrix.cols() <= self.cols =>
                    {
                        Wide::Narrow
                    }
                    _ => return None,
                }
            }
            CNode::Unary(_, a) => of(a)?,
            CNode::Binary(_, a, b) if a == b => of(a)?,
            CNode::Binary(_, a, b) => combined(of(a)?, of(b)?)?,
            CNode::Ternary(_, a, b, c) => {
                let kinds = [of(a)?, of(b)?, of(c)?];
                match kinds {
                    [Wide::Number, Wide::Number, Wide::Number] => Wide::Number,
                    _ if kinds.contains(&Wide::Row) => return None,
                    _ if kinds.contains(&Wide::Narrow) && kinds.contains(&Wide::Groups) => {
                        return None;
                    }
                    _ if kinds.contains(&Wide::Narrow) => Wide::Narrow,
                    _ if kinds.iter().filter(|kind| **kind == Wide::Groups).count() == 1 => {
                        Wide::Groups
                    }
                    _ => return None,
                }
            }
            CNode::Reduce(_, a) => match of(a)? {
                Wide::Groups | Wide::Narrow => Wide::Narrow,
                Wide::Number | Wide::Row => return None,
            },
            CNode::VectorMatrix { vector, input, .. } => {
                let Some(Value::Matrix(whole)) = self.inputs.get(*input) else {
                    return None;
                };
                match of(vector)? {
                    Wide::Groups | Wide::Narrow if 4 * whole.cols() <= self.cols.max(4) => {
                        Wide::Narrow
                    }
                    _ => return None,
                }
            }
            CNode::ColumnRange { vector, .. } => match of(vector)? {
                Wide::Groups => Wide::Groups,
                _ => return None,
            },
            CNode::Concatenate(_) | CNode::Cumulative(..) | CNode::FactorProduct { .. } => {
                return None;
            }
        })
    }

    fn values(&self) -> Result<Option<Vec<Value>>> {
        let mut values: Vec<Value> = Vec::new();
        for node in &self.plan.body {
            match self.value(node, &values)? {
                Some(value) => values.push(value),
                None => return Ok(None),
            }
        }
        Ok(Some(values))
    }

    fn value(&self, node: &CNode, values: &[Value]) -> Result<Option<Value>> {
        let of = |id: &NodeId| values[id.index()].clone();
        match node {
            CNode::Literal(value) => Ok(Some(Value::Scalar(Literal::Double(*value)))),
            CNode::Input(input) => {
                let value = self.inputs[*input].clone();
                match (self.plan.inputs[*input], number(&value)?) {
                    (InputBinding::Scalar, Some(number)) => {
                        Ok(Some(Value::Scalar(Literal::Double(number))))
                    }
                    _ => Ok(Some(value)),
                }
            }
            CNode::Unary(op, a) => step(Step::Unary(*op), vec![of(a)], false),
            CNode::Binary(op, a, b) => step(Step::Binary(*op), vec![of(a), of(b)], a == b),
            CNode::Ternary(op, a, b, c) => {
                step(Step::Ternary(*op), vec![of(a), of(b), of(c)], false)
            }
            CNode::Reduce(op, a) => aggregated(*op, Direction::Row, of(a)),
            CNode::VectorMatrix { vector, input, .. } => step(
                Step::Product,
                vec![of(vector), self.inputs[*input].clone()],
                false,
            ),
            CNode::ColumnRange { vector, from, to } => {
                let bounds = [1, self.rows as i64, *from as i64, *to as i64];
                let bounds = bounds.map(|bound| Value::Scalar(Literal::Int(bound)));
                let inputs = std::iter::once(of(vector)).chain(bounds).collect();
                step(Step::Range, inputs, false)
            }
            CNode::Concatenate(_) | CNode::Cumulative(..) | CNode::FactorProduct { .. } => Ok(None),
        }
    }
}

fn combined(left: Wide, right: Wide) -> Option<Wide> {
    Some(match (left, right) {
        (Wide::Number, other) | (other, Wide::Number) => other,
        (Wide::Narrow, Wide::Narrow) => Wide::Narrow,
        (Wide::Row, Wide::Row) => Wide::Row,
        (Wide::Groups, Wide::Row) | (Wide::Row, Wide::Groups) => Wide::Groups,
        // Of others than `X * X`, codes do not go together.
        (Wide::Groups, Wide::Groups) => return None,
        (Wide::Narrow, Wide::Row | Wide::Groups) | (Wide::Row | Wide::Groups, Wide::Narrow) => {
            return None;
        }
    })
}

fn aggregated(op: AggregateOp, direction: Direction, value: Value) -> Result<Option<Value>> {
    step(Step::Aggregate(op, direction), vec![value], false)
}
