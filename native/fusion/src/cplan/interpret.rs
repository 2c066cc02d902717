//! What a CPlan means: an interpreter over dense matrices, node by node, one thread, no care for speed.
//!
//! Generated code and skeletons are tested against it, and it against unfused operators.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{AggregateOp, CumulativeOp, Direction};

use super::{CNode, CPlan, InputBinding, NodeId, OuterOutput, RowOutput, Template};

/// A dense matrix in row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct Dense {
    pub rows: usize,
    pub cols: usize,
    pub values: Vec<f64>,
}

impl Dense {
    pub fn new(rows: usize, cols: usize, values: Vec<f64>) -> Self {
        Dense { rows, cols, values }
    }

    pub fn from_fn(rows: usize, cols: usize, cell: impl Fn(usize, usize) -> f64) -> Self {
        let cells = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
        Dense::new(rows, cols, cells.map(|(i, j)| cell(i, j)).collect())
    }

    pub fn scalar(value: f64) -> Self {
        Dense::new(1, 1, vec![value])
    }

    pub fn at(&self, row: usize, col: usize) -> f64 {
        self.values[row * self.cols + col]
    }

    pub fn row(&self, row: usize) -> &[f64] {
        &self.values[row * self.cols..(row + 1) * self.cols]
    }

    fn transposed(&self) -> Dense {
        Dense::from_fn(self.cols, self.rows, |i, j| self.at(j, i))
    }

    fn multiply(&self, right: &Dense) -> Result<Dense> {
        if self.cols != right.rows {
            return Err(Error::dimension(format!(
                "a fused operator multiplies {} x {} with {} x {}",
                self.rows, self.cols, right.rows, right.cols
            )));
        }
        let cell = |i, j| sum((0..self.cols).map(|inner| self.at(i, inner) * right.at(inner, j)));
        Ok(Dense::from_fn(self.rows, right.cols, cell))
    }

    /// The aggregate of all cells, of each row (a column vector) or of each column (a row vector).
    pub fn aggregate(&self, op: AggregateOp, direction: Direction) -> Result<Dense> {
        let (rows, cols) = (self.rows, self.cols);
        Ok(match direction {
            Direction::Full => Dense::scalar(aggregate(op, self.values.iter().copied())?),
            Direction::Row => {
                let cells = (0..rows).map(|i| aggregate(op, self.row(i).iter().copied()));
                Dense::new(rows, 1, cells.collect::<Result<_>>()?)
            }
            Direction::Col => {
                let cells = (0..cols).map(|j| aggregate(op, (0..rows).map(|i| self.at(i, j))));
                Dense::new(1, cols, cells.collect::<Result<_>>()?)
            }
        })
    }
}

/// Sums are compensated; `min` and `max` of cells with a NaN are NaN, places of extremes pass over them.
fn aggregate(op: AggregateOp, cells: impl Iterator<Item = f64> + Clone) -> Result<f64> {
    let count = cells.clone().count() as f64;
    let variance = || {
        let mean = sum(cells.clone()) / count;
        sum(cells.clone().map(|x| (x - mean) * (x - mean))) / (count - 1.0)
    };
    let place_of = |is_as_good: fn(f64, f64) -> bool| {
        let mut best: Option<(usize, f64)> = None;
        for (place, cell) in cells.clone().enumerate() {
            if !cell.is_nan() && best.is_none_or(|(_, best)| is_as_good(cell, best)) {
                best = Some((place, cell));
            }
        }
        best.map_or(1.0, |(place, _)| place as f64 + 1.0)
    };
    Ok(match op {
        AggregateOp::Sum => sum(cells),
        AggregateOp::SumSq => sum(cells.map(|x| x * x)),
        AggregateOp::Mean => sum(cells) / count,
        AggregateOp::Prod => cells.product(),
        AggregateOp::Var => variance(),
        AggregateOp::Sd => variance().sqrt(),
        AggregateOp::IndexMax => place_of(|cell, best| cell >= best),
        AggregateOp::IndexMin => place_of(|cell, best| cell <= best),
        AggregateOp::Min => cells.fold(f64::INFINITY, |a, b| {
            fulgurite_hop::BinaryOp::Min.eval(a, b)
        }),
        AggregateOp::Max => cells.fold(f64::NEG_INFINITY, |a, b| {
            fulgurite_hop::BinaryOp::Max.eval(a, b)
        }),
        AggregateOp::Trace => {
            return Err(Error::unsupported(format!(
                "aggregate '{}' in a fused operator",
                op.code()
            ))
            .with_help("run with fulgurite.fusion.policy=none"));
        }
    })
}

/// Neumaier's compensated sum.
fn sum(cells: impl Iterator<Item = f64>) -> f64 {
    let (mut total, mut correction) = (0.0f64, 0.0f64);
    for cell in cells {
        let next = total + cell;
        correction += match total.abs() >= cell.abs() {
            true => (total - next) + cell,
            false => (cell - next) + total,
        };
        total = next;
    }
    match correction.is_nan() {
        true => total,
        false => total + correction,
    }
}

/// Runs the plan over its inputs, in the order of `plan.inputs`; scalars are 1 x 1.
///
/// # Errors
/// `plan` when the plan is inconsistent, `dimension` when inputs don't have the shapes their bindings ask for.
pub fn interpret(plan: &CPlan, inputs: &[Dense]) -> Result<Dense> {
    plan.verify()?;
    let Some(main) = inputs.first().filter(|_| inputs.len() == plan.inputs.len()) else {
        return Err(Error::internal(format!(
            "a CPlan of {} inputs got {}",
            plan.inputs.len(),
            inputs.len()
        )));
    };
    check_shapes(plan, main, inputs)?;
    let vectors = plan.vectors();
    match &plan.template {
        Template::Cell(cell) => {
            let nodes = [cell.value];
            let value = &cells(plan, &vectors, &nodes, false, inputs)?[0];
            match cell.aggregate {
                Some((op, direction)) => value.aggregate(op, direction),
                None => Ok(value.clone()),
            }
        }
        Template::Outer(outer) => {
            let nodes = [outer.value];
            let value = &cells(plan, &vectors, &nodes, outer.sparse_safe, inputs)?[0];
            match outer.output {
                OuterOutput::NoAggregate => Ok(value.clone()),
                OuterOutput::FullAggregate(op) => value.aggregate(op, Direction::Full),
                OuterOutput::RightMultiply { input } => value.multiply(&inputs[input]),
                OuterOutput::LeftMultiply { input } => value.transposed().multiply(&inputs[input]),
            }
        }
        Template::MultiAggregate(several) => {
            let nodes: Vec<NodeId> = several.aggregates.iter().map(|(_, node)| *node).collect();
            let aggregates = cells(plan, &vectors, &nodes, false, inputs)?;
            let totals = aggregates
                .iter()
                .zip(&several.aggregates)
                .map(|(value, (op, _))| aggregate(*op, value.values.iter().copied()))
                .collect::<Result<Vec<_>>>()?;
            Ok(Dense::new(totals.len(), 1, totals))
        }
        Template::Row(row_template) => {
            let mut rows = Vec::with_capacity(main.rows);
            for row in 0..main.rows {
                rows.push(evaluate(
                    plan,
                    &vectors,
                    |binding, input| {
                        let input = &inputs[input];
                        match binding {
                            InputBinding::RowVector => input.row(0).to_vec(),
                            InputBinding::Scalar => vec![input.values[0]],
                            _ => input.row(row).to_vec(),
                        }
                    },
                    inputs,
                    (row, 0),
                )?);
            }
            row_output(row_template.output, &rows)
        }
    }
}

/// The values of some nodes at all cells of the main input; those of sparse-safe plans at its non-zeros only.
fn cells(
    plan: &CPlan,
    vectors: &[bool],
    nodes: &[NodeId],
    sparse_safe: bool,
    inputs: &[Dense],
) -> Result<Vec<Dense>> {
    let (rows, cols) = (inputs[0].rows, inputs[0].cols);
    let mut results = vec![Dense::new(rows, cols, Vec::new()); nodes.len()];
    for row in 0..rows {
        for col in 0..cols {
            if sparse_safe && inputs[0].at(row, col) == 0.0 {
                for result in &mut results {
                    result.values.push(0.0);
                }
                continue;
            }
            let read = |binding, input: usize| {
                let input = &inputs[input];
                vec![match binding {
                    InputBinding::ColumnVector => input.at(row, 0),
                    InputBinding::RowVector => input.at(0, col),
                    InputBinding::Scalar => input.values[0],
                    _ => input.at(row, col),
                }]
            };
            let body = evaluate(plan, vectors, read, inputs, (row, col))?;
            for (result, node) in results.iter_mut().zip(nodes) {
                result.values.push(body[node.index()][0]);
            }
        }
    }
    Ok(results)
}

fn check_shapes(plan: &CPlan, main: &Dense, inputs: &[Dense]) -> Result<()> {
    let is_row = matches!(plan.template, Template::Row(_));
    for (number, (binding, input)) in plan.inputs.iter().zip(inputs).enumerate() {
        let (rows, cols) = (input.rows, input.cols);
        let fits = match binding {
            InputBinding::Main | InputBinding::Whole => true,
            InputBinding::Matrix => rows == main.rows && (is_row || cols == main.cols),
            InputBinding::ColumnVector => rows == main.rows && cols == 1,
            InputBinding::RowVector => rows == 1 && (is_row || cols == main.cols),
            InputBinding::Scalar => rows == 1 && cols == 1,
            InputBinding::LeftFactor => rows == main.rows,
            InputBinding::RightFactor => rows == main.cols,
        };
        if !fits || input.values.len() != rows * cols {
            return Err(Error::dimension(format!(
                "input {number} of a fused operator ({}) is {rows} x {cols}, the main input is {} x {}",
                binding.name(),
                main.rows,
                main.cols
            )));
        }
    }
    Ok(())
}

/// The values of all nodes at one cell, or at the row of one; scalars are vectors of one cell.
fn evaluate(
    plan: &CPlan,
    vectors: &[bool],
    read: impl Fn(InputBinding, usize) -> Vec<f64>,
    inputs: &[Dense],
    (row, col): (usize, usize),
) -> Result<Vec<Vec<f64>>> {
    let mut values: Vec<Vec<f64>> = Vec::with_capacity(plan.body.len());
    for node in &plan.body {
        let value = |id: &NodeId| values[id.index()].as_slice();
        let width = || {
            let operands = node.operands();
            let widths = operands.iter().filter(|id| vectors[id.index()]);
            widths.map(|id| value(id).len()).max().unwrap_or(1)
        };
        // A scalar is spread over the vectors beside it.
        let cell = |id: &NodeId, j: usize| match vectors[id.index()] {
            true => value(id).get(j).copied(),
            false => value(id).first().copied(),
        };
        let short = || Error::dimension("vectors of different width meet in a fused operator");
        let result = match node {
            CNode::Input(input) => read(plan.inputs[*input], *input),
            CNode::Literal(literal) => vec![*literal],
            CNode::Unary(op, a) => value(a).iter().map(|x| op.eval(*x)).collect(),
            CNode::Binary(op, a, b) => (0..width())
                .map(|j| Some(op.eval(cell(a, j)?, cell(b, j)?)))
                .collect::<Option<_>>()
                .ok_or_else(short)?,
            CNode::Ternary(op, a, b, c) => (0..width())
                .map(|j| Some(op.eval(cell(a, j)?, cell(b, j)?, cell(c, j)?)))
                .collect::<Option<_>>()
                .ok_or_else(short)?,
            CNode::Reduce(op, a) => vec![aggregate(*op, value(a).iter().copied())?],
            CNode::VectorMatrix { vector, input, .. } => {
                let (vector, matrix) = (value(vector), &inputs[*input]);
                if vector.len() != matrix.rows {
                    return Err(short());
                }
                let product = |j| sum((0..matrix.rows).map(|i| vector[i] * matrix.at(i, j)));
                (0..matrix.cols).map(product).collect()
            }
            CNode::FactorProduct { left, right } => {
                let (left, right) = (&inputs[*left], &inputs[*right]);
                if left.cols != right.cols {
                    return Err(short());
                }
                let (left, right) = (left.row(row), right.row(col));
                vec![sum(left.iter().zip(right).map(|(u, v)| u * v))]
            }
            CNode::ColumnRange { vector, from, to } => {
                let range = (*from as usize).wrapping_sub(1)..*to as usize;
                value(vector).get(range).ok_or_else(short)?.to_vec()
            }
            CNode::Concatenate(parts) => parts.iter().flat_map(value).copied().collect(),
            CNode::Cumulative(op, a) => {
                let mut state = None;
                let next = |x: &f64| {
                    let next = match (state, op) {
                        (None, _) => *x,
                        (Some(y), CumulativeOp::Sum) => y + x,
                        (Some(y), CumulativeOp::Prod) => y * x,
                        (Some(y), CumulativeOp::Min) => fulgurite_hop::BinaryOp::Min.eval(y, *x),
                        (Some(y), CumulativeOp::Max) => fulgurite_hop::BinaryOp::Max.eval(y, *x),
                    };
                    state = Some(next);
                    next
                };
                value(a).iter().map(next).collect()
            }
        };
        values.push(result);
    }
    Ok(values)
}

fn row_output(output: RowOutput, rows: &[Vec<Vec<f64>>]) -> Result<Dense> {
    let all = |node: NodeId| {
        let values: Vec<&[f64]> = rows
            .iter()
            .map(|row| row[node.index()].as_slice())
            .collect();
        let cols = values.first().map_or(0, |row| row.len());
        Dense::new(rows.len(), cols, values.concat())
    };
    match output {
        RowOutput::NoAggregate(value) | RowOutput::RowAggregate(value) => Ok(all(value)),
        RowOutput::ColumnAggregate(op, value) => all(value).aggregate(op, Direction::Col),
        RowOutput::FullAggregate(op, value) => all(value).aggregate(op, Direction::Full),
        RowOutput::OuterProduct { left, right } => {
            let (left, right) = (all(left), all(right));
            let product = |i: usize, j: usize| {
                sum((0..left.rows).map(|row| left.at(row, i) * right.at(row, j)))
            };
            Ok(Dense::from_fn(left.cols, right.cols, product))
        }
    }
}
