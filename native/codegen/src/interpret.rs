//! What a plan means, said in the plainest way: node by node and cell by cell, over dense matrices, one thread.
//!
//! The oracle that compiled code is tested against. It shares the operators' definitions with it, and the check of
//! shapes, but no loop.

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{
    CNode, CPlan, CellTemplate, InputBinding, MultiAggregateTemplate, NodeId, OuterOutput,
    OuterTemplate, RowOutput, Template,
};
use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, Direction};
use fulgurite_matrix::{Interrupt, MatrixBlock, memory};

use crate::bind::{Operand, bind};
use crate::compiled::CompiledPlan;
use crate::execute::Output;

/// Evaluates a plan over operands, which stand in the order of its inputs.
///
/// # Errors
/// `unsupported` and `dimension` as for compiling and executing the plan.
pub fn interpret(plan: &CPlan, inputs: &[Operand<'_>]) -> Result<Output> {
    let compiled = CompiledPlan::compile(plan)?;
    let never = Interrupt::default();
    let bound = bind(&compiled, inputs, &never)?;
    let program = &compiled.kernel().program;
    let width = |id| bound.width(program.shapes.of(id));
    let interpreter = Interpreter {
        plan,
        inputs,
        rows: bound.rows(),
        cols: bound.cols(),
        width: program.output.map_or(1, |shape| bound.width(shape)),
        outer_widths: program.outer_product.map_or((0, 0), |(left, right)| {
            match program.outer_product_turned {
                false => (width(left), width(right)),
                true => (width(right), width(left)),
            }
        }),
    };
    match &plan.template {
        Template::Cell(template) => interpreter.cell(*template),
        Template::MultiAggregate(template) => interpreter.multi_aggregate(template),
        Template::Row(template) => interpreter.row(template.output),
        Template::Outer(template) => interpreter.outer(*template),
    }
}

/// A node's value at a row.
#[derive(Debug, Clone)]
enum Value {
    Number(f64),
    Vector(Vec<f64>),
}

impl Value {
    fn at(&self, col: usize) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Vector(cells) => cells[col],
        }
    }

    fn cells(&self) -> Vec<f64> {
        match self {
            Value::Number(number) => vec![*number],
            Value::Vector(cells) => cells.clone(),
        }
    }
}

struct Interpreter<'a> {
    plan: &'a CPlan,
    inputs: &'a [Operand<'a>],
    rows: usize,
    cols: usize,
    /// Of a row's value.
    width: usize,
    /// Of the operands of an outer product.
    outer_widths: (usize, usize),
}

impl Interpreter<'_> {
    fn input(&self, input: usize, row: usize, col: usize) -> f64 {
        match &self.inputs[input] {
            Operand::Scalar(value) => *value,
            Operand::Matrix(matrix) => match self.plan.inputs[input] {
                InputBinding::ColumnVector => matrix.get(row, 0),
                InputBinding::RowVector => matrix.get(0, col),
                InputBinding::Scalar => matrix.get(0, 0),
                _ => matrix.get(row, col),
            },
        }
    }

    fn cell(&self, template: CellTemplate) -> Result<Output> {
        let cells = self.cells(template.value, false)?;
        let row_of = |row: usize| cells[row * self.cols..(row + 1) * self.cols].to_vec();
        let col_of = |col: usize| -> Vec<f64> {
            (0..self.rows)
                .map(|row| cells[row * self.cols + col])
                .collect()
        };
        Ok(match template.aggregate {
            None => matrix(self.rows, self.cols, cells)?,
            Some((op, Direction::Full)) => Output::Scalar(reduce(op, &cells)),
            Some((op, Direction::Row)) => {
                let totals = (0..self.rows).map(|row| reduce(op, &row_of(row)));
                matrix(self.rows, 1, totals.collect())?
            }
            Some((op, Direction::Col)) => {
                let totals = (0..self.cols).map(|col| reduce(op, &col_of(col)));
                matrix(1, self.cols, totals.collect())?
            }
        })
    }

    fn multi_aggregate(&self, template: &MultiAggregateTemplate) -> Result<Output> {
        let mut totals = Vec::new();
        for (op, value) in &template.aggregates {
            totals.push(reduce(*op, &self.cells(*value, false)?));
        }
        matrix(totals.len(), 1, totals)
    }

    fn outer(&self, template: OuterTemplate) -> Result<Output> {
        let cells = self.cells(template.value, template.sparse_safe)?;
        let (rows, cols) = (self.rows, self.cols);
        match template.output {
            OuterOutput::NoAggregate => matrix(rows, cols, cells),
            OuterOutput::FullAggregate(op) => Ok(Output::Scalar(reduce(op, &cells))),
            OuterOutput::RightMultiply { input } => {
                let w = self.matrix(input)?;
                product(rows, cols, w, |row, col| cells[row * cols + col])
            }
            OuterOutput::LeftMultiply { input } => {
                let w = self.matrix(input)?;
                product(cols, rows, w, |col, row| cells[row * cols + col])
            }
        }
    }

    fn matrix(&self, input: usize) -> Result<&MatrixBlock> {
        match &self.inputs[input] {
            Operand::Matrix(matrix) => Ok(matrix),
            Operand::Scalar(_) => Err(Error::internal("a matrix that is a scalar")),
        }
    }

    /// A node's value at every cell of the main input, row by row; 0 at its zeros if these are never visited.
    fn cells(&self, value: NodeId, sparse_safe: bool) -> Result<Vec<f64>> {
        let cells = (0..self.rows).flat_map(|row| (0..self.cols).map(move |col| (row, col)));
        cells
            .map(|(row, col)| {
                if sparse_safe && self.input(0, row, col) == 0.0 {
                    return Ok(0.0);
                }
                self.cell_value(value, row, col)
            })
            .collect()
    }

    fn cell_value(&self, result: NodeId, row: usize, col: usize) -> Result<f64> {
        let mut values: Vec<f64> = Vec::new();
        for node in &self.plan.body {
            let value = |id: &NodeId| values[id.index()];
            values.push(match node {
                CNode::Input(input) => self.input(*input, row, col),
                CNode::Literal(literal) => *literal,
                CNode::Unary(op, x) => op.eval(value(x)),
                CNode::Binary(op, x, y) => op.eval(value(x), value(y)),
                CNode::Ternary(op, x, y, z) => op.eval(value(x), value(y), value(z)),
                CNode::FactorProduct { left, right } => {
                    let (u, v) = (self.matrix(*left)?, self.matrix(*right)?);
                    let rank = 0..u.cols();
                    // From 0 on: the sum of nothing is not -0.
                    rank.fold(0.0, |sum, at| sum + u.get(row, at) * v.get(col, at))
                }
                other => {
                    return Err(Error::unsupported(format!("{other:?} over cells")));
                }
            });
        }
        Ok(values[result.index()])
    }

    fn row(&self, output: RowOutput) -> Result<Output> {
        let rows = (0..self.rows)
            .map(|row| self.row_values(row))
            .collect::<Result<Vec<_>>>()?;
        let of = |id: NodeId| rows.iter().map(move |values| &values[id.index()]);
        match output {
            RowOutput::NoAggregate(id) | RowOutput::RowAggregate(id) => matrix(
                self.rows,
                self.width,
                of(id).flat_map(Value::cells).collect(),
            ),
            RowOutput::ColumnAggregate(op, id) => {
                let column = |col| of(id).map(|value| value.at(col)).collect::<Vec<f64>>();
                let totals = (0..self.width).map(|col| reduce(op, &column(col)));
                matrix(1, self.width, totals.collect())
            }
            RowOutput::FullAggregate(op, id) => {
                let cells: Vec<f64> = of(id).flat_map(Value::cells).collect();
                Ok(Output::Scalar(reduce(op, &cells)))
            }
            RowOutput::OuterProduct { left, right } => {
                let (height, width) = self.outer_widths;
                let mut cells = memory::zeros(memory::cells(height, width)?)?;
                for (l, r) in of(left).zip(of(right)) {
                    for (at, cell) in cells.iter_mut().enumerate() {
                        *cell += l.at(at / width) * r.at(at % width);
                    }
                }
                matrix(height, width, cells)
            }
        }
    }

    fn row_values(&self, row: usize) -> Result<Vec<Value>> {
        let vectors = self.plan.vectors();
        let mut values: Vec<Value> = Vec::new();
        for (node, is_vector) in self.plan.body.iter().zip(vectors) {
            let value = self.row_value(node, is_vector, row, &values)?;
            values.push(value);
        }
        Ok(values)
    }

    fn row_value(
        &self,
        node: &CNode,
        is_vector: bool,
        row: usize,
        values: &[Value],
    ) -> Result<Value> {
        let of = |id: &NodeId| &values[id.index()];
        let cellwise = |operands: &[NodeId], function: &dyn Fn(&[f64]) -> f64| {
            let at = |col| {
                operands
                    .iter()
                    .map(|id| of(id).at(col))
                    .collect::<Vec<f64>>()
            };
            let widths = operands.iter().filter_map(|id| match of(id) {
                Value::Vector(cells) => Some(cells.len()),
                Value::Number(_) => None,
            });
            match widths.max() {
                Some(width) => Value::Vector((0..width).map(|col| function(&at(col))).collect()),
                None => Value::Number(function(&at(0))),
            }
        };
        Ok(match node {
            CNode::Input(input) => match (&self.inputs[*input], is_vector) {
                (Operand::Matrix(matrix), true) => {
                    let cells = (0..matrix.cols()).map(|col| self.input(*input, row, col));
                    Value::Vector(cells.collect())
                }
                _ => Value::Number(self.input(*input, row, 0)),
            },
            CNode::Literal(literal) => Value::Number(*literal),
            CNode::FactorProduct { .. } => {
                return Err(Error::unsupported("a product of factors over rows"));
            }
            CNode::Unary(op, x) => cellwise(&[*x], &|cells| op.eval(cells[0])),
            CNode::Binary(op, x, y) => cellwise(&[*x, *y], &|cells| op.eval(cells[0], cells[1])),
            CNode::Ternary(op, x, y, z) => cellwise(&[*x, *y, *z], &|cells| {
                op.eval(cells[0], cells[1], cells[2])
            }),
            CNode::Reduce(op, x) => Value::Number(reduce(*op, &of(x).cells())),
            CNode::VectorMatrix {
                vector,
                input,
                scalar,
            } => {
                let whole = self.matrix(*input)?;
                let left = of(vector).cells();
                let product = |col| -> f64 {
                    let pairs = left.iter().enumerate();
                    pairs.map(|(at, cell)| cell * whole.get(at, col)).sum()
                };
                if *scalar {
                    Value::Number(product(0))
                } else {
                    Value::Vector((0..whole.cols()).map(product).collect())
                }
            }
            CNode::ColumnRange { vector, from, to } => {
                let cells = of(vector).cells();
                Value::Vector(cells[*from as usize - 1..*to as usize].to_vec())
            }
            CNode::Concatenate(parts) => {
                Value::Vector(parts.iter().flat_map(|part| of(part).cells()).collect())
            }
            CNode::Cumulative(op, x) => {
                let mut cells = of(x).cells();
                for at in 1..cells.len() {
                    cells[at] = match op {
                        CumulativeOp::Sum => cells[at - 1] + cells[at],
                        CumulativeOp::Prod => cells[at - 1] * cells[at],
                        CumulativeOp::Min => BinaryOp::Min.eval(cells[at - 1], cells[at]),
                        CumulativeOp::Max => BinaryOp::Max.eval(cells[at - 1], cells[at]),
                    };
                }
                Value::Vector(cells)
            }
        })
    }
}

fn matrix(rows: usize, cols: usize, cells: Vec<f64>) -> Result<Output> {
    MatrixBlock::dense(rows, cols, cells).map(Output::Matrix)
}

/// A matrix of `rows` x `depth`, given cell by cell, times `w`.
fn product(
    rows: usize,
    depth: usize,
    w: &MatrixBlock,
    cell: impl Fn(usize, usize) -> f64,
) -> Result<Output> {
    let mut cells = memory::room(memory::cells(rows, w.cols())?)?;
    for row in 0..rows {
        for col in 0..w.cols() {
            cells.push((0..depth).map(|at| cell(row, at) * w.get(at, col)).sum());
        }
    }
    matrix(rows, w.cols(), cells)
}

fn reduce(op: AggregateOp, cells: &[f64]) -> f64 {
    let count = cells.len() as f64;
    let sum = |function: fn(f64) -> f64| cells.iter().map(|cell| function(*cell)).sum::<f64>();
    let variance = || {
        let mean = sum(|x| x) / count;
        let squares: f64 = cells.iter().map(|x| (x - mean) * (x - mean)).sum();
        squares / (count - 1.0)
    };
    let last = |op: BinaryOp| {
        let numbers = cells.iter().copied().filter(|cell| !cell.is_nan());
        let best = numbers.reduce(|a, b| op.eval(a, b));
        let place = cells.iter().rposition(|cell| Some(*cell) == best);
        place.map_or(1.0, |place| place as f64 + 1.0)
    };
    match op {
        AggregateOp::Sum | AggregateOp::Trace => sum(|x| x),
        AggregateOp::SumSq => sum(|x| x * x),
        AggregateOp::Mean => sum(|x| x) / count,
        AggregateOp::Prod => cells.iter().product(),
        AggregateOp::Min => cells
            .iter()
            .fold(f64::INFINITY, |a, b| BinaryOp::Min.eval(a, *b)),
        AggregateOp::Max => cells
            .iter()
            .fold(f64::NEG_INFINITY, |a, b| BinaryOp::Max.eval(a, *b)),
        AggregateOp::Var => variance(),
        AggregateOp::Sd => variance().sqrt(),
        AggregateOp::IndexMax => last(BinaryOp::Max),
        AggregateOp::IndexMin => last(BinaryOp::Min),
    }
}
