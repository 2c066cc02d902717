//! What a CPlan means: its definition, node by node and cell by cell, over dense matrices, one thread, no care for speed.
//!
//! It knows the plan and the scalar functions of operators, nothing else. Generated code, interpreted steps and skeletons
//! are tested against it, and it against unfused operators. Start reading at [`interpret`].

use fulgurite_error::{Error, Result};
use fulgurite_hop::{
    AggregateOp, CumulativeOp, Direction,
    scalar::{double_to_int, maximum, minimum},
};
use fulgurite_matrix::MatrixBlock;

use super::{CNode, CPlan, GroupTemplate, InputBinding, NodeId, OuterOutput, RowOutput, Template};

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

    /// The same cells, in whatever layout the matrix has them.
    pub fn of(matrix: &MatrixBlock) -> Self {
        Dense::from_fn(matrix.rows(), matrix.cols(), |i, j| matrix.get(i, j))
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
        AggregateOp::Min => cells.fold(f64::INFINITY, minimum),
        AggregateOp::Max => cells.fold(f64::NEG_INFINITY, maximum),
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

/// Runs the plan over its inputs, in the order of `plan.inputs`; scalars are 1 x 1, and so is the result of a full aggregate.
///
/// ```
/// use fulgurite_fusion::cplan::interpret::{Dense, interpret};
/// use fulgurite_fusion::cplan::{CNode, CPlan, CellTemplate, InputBinding, NodeId, Template};
/// use fulgurite_hop::{AggregateOp, BinaryOp, Direction};
///
/// // sum(X * v), where the column vector v is spread over the columns of X
/// let plan = CPlan {
///     template: Template::Cell(CellTemplate {
///         value: NodeId(2),
///         aggregate: Some((AggregateOp::Sum, Direction::Full)),
///         sparse_safe: true,
///     }),
///     inputs: vec![InputBinding::Main, InputBinding::ColumnVector],
///     body: vec![
///         CNode::Input(0),
///         CNode::Input(1),
///         CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(1)),
///     ],
/// };
/// let x = Dense::new(2, 2, vec![1.0, 2.0, 3.0, 4.0]);
/// let v = Dense::new(2, 1, vec![1.0, 10.0]);
/// assert_eq!(interpret(&plan, &[x, v]), Ok(Dense::scalar(73.0)));
/// ```
///
/// # Errors
/// `plan` when the plan is inconsistent, `dimension` when inputs don't have the shapes that the plan asks for,
/// `unsupported` when it asks for an aggregate that fused operators don't have.
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
    let interpreter = Interpreter {
        plan,
        inputs,
        main,
        widths: widths(plan, inputs)?,
    };
    match &plan.template {
        Template::Cell(cell) => {
            let value = interpreter.cells(cell.value, false)?;
            match cell.aggregate {
                Some((op, direction)) => value.aggregate(op, direction),
                None => Ok(value),
            }
        }
        Template::Outer(outer) => {
            let value = interpreter.cells(outer.value, outer.sparse_safe)?;
            match outer.output {
                OuterOutput::NoAggregate => Ok(value),
                OuterOutput::FullAggregate(op) => value.aggregate(op, Direction::Full),
                OuterOutput::RightMultiply { input } => value.multiply(&inputs[input]),
                OuterOutput::LeftMultiply { input } => value.transposed().multiply(&inputs[input]),
            }
        }
        Template::MultiAggregate(several) => {
            let of = |(op, value): &(AggregateOp, NodeId)| {
                let cells = interpreter.cells(*value, false)?;
                cells.aggregate(*op, several.direction)
            };
            let results = several.aggregates.iter().map(of);
            let results: Vec<Dense> = results.collect::<Result<_>>()?;
            let Some(first) = results.first() else {
                return Ok(Dense::new(0, 1, Vec::new()));
            };
            let (rows, cols, count) = (first.rows, first.cols, results.len());
            Ok(match several.direction {
                Direction::Full | Direction::Col => {
                    Dense::from_fn(count, cols, |at, col| results[at].at(0, col))
                }
                Direction::Row => Dense::from_fn(rows, count, |row, at| results[at].at(row, 0)),
            })
        }
        Template::Group(group) => interpreter.groups(group),
        Template::Row(row) => interpreter.rows(row.output),
    }
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

/// The cells of each node that is a row vector, `None` for scalars. Whatever nodes ask of each other's widths and of whole
/// inputs is checked here.
fn widths(plan: &CPlan, inputs: &[Dense]) -> Result<Vec<Option<usize>>> {
    let mut widths: Vec<Option<usize>> = Vec::with_capacity(plan.body.len());
    for (node, is_vector) in plan.body.iter().zip(plan.vectors()) {
        let cells = |id: &NodeId| widths[id.index()].unwrap_or(1);
        let width = match node {
            CNode::Literal(_) => 1,
            CNode::Input(input) => inputs[*input].cols,
            CNode::Unary(..) | CNode::Binary(..) | CNode::Ternary(..) => {
                // A scalar is spread over the vectors beside it.
                let operands = node.operands();
                let mut met = operands.iter().filter_map(|id| widths[id.index()]);
                let width = met.next().unwrap_or(1);
                if let Some(other) = met.find(|other| *other != width) {
                    return Err(Error::dimension(format!(
                        "rows of {width} and of {other} columns meet in a fused operator"
                    )));
                }
                width
            }
            CNode::Reduce(op, vector) => {
                let is_place = matches!(op, AggregateOp::IndexMax | AggregateOp::IndexMin);
                if is_place && cells(vector) == 0 {
                    return Err(Error::dimension(
                        "rows without columns have no cell that could be the largest or smallest",
                    ));
                }
                1
            }
            CNode::VectorMatrix {
                vector,
                input,
                scalar,
            } => {
                let (width, whole) = (cells(vector), &inputs[*input]);
                if whole.rows != width || (*scalar && whole.cols != 1) {
                    return Err(Error::dimension(format!(
                        "rows of {width} columns times input {input} of {} x {} in a fused operator",
                        whole.rows, whole.cols
                    )));
                }
                whole.cols
            }
            CNode::ColumnRange { vector, from, to } => {
                let width = cells(vector);
                if *from == 0 || *to < *from || *to > width as u64 {
                    return Err(Error::dimension(format!(
                        "columns {from}:{to} of {width} columns in a fused operator"
                    )));
                }
                (*to + 1 - *from) as usize
            }
            CNode::Concatenate(parts) => parts.iter().map(cells).sum(),
            CNode::Cumulative(_, vector) => cells(vector),
            CNode::FactorProduct { left, right } => {
                let (left, right) = (inputs[*left].cols, inputs[*right].cols);
                if left != right {
                    return Err(Error::dimension(format!(
                        "factors of {left} and of {right} columns meet in a fused operator"
                    )));
                }
                1
            }
        };
        widths.push(is_vector.then_some(width));
    }
    Ok(widths)
}

/// The value of a node at a cell or at a row.
#[derive(Debug, Clone)]
enum Value {
    Number(f64),
    Vector(Vec<f64>),
}

impl Value {
    /// The cell of a column; a scalar's is the same in all columns.
    fn at(&self, col: usize) -> f64 {
        match self {
            Value::Number(number) => *number,
            Value::Vector(cells) => cells[col],
        }
    }

    fn cells(&self) -> &[f64] {
        match self {
            Value::Number(number) => std::slice::from_ref(number),
            Value::Vector(cells) => cells,
        }
    }
}

/// A plan over inputs that fit it.
struct Interpreter<'a> {
    plan: &'a CPlan,
    inputs: &'a [Dense],
    main: &'a Dense,
    widths: Vec<Option<usize>>,
}

impl Interpreter<'_> {
    /// A node's value at all cells of the main input; 0 at its zeros if these are never visited.
    fn cells(&self, node: NodeId, sparse_safe: bool) -> Result<Dense> {
        let (rows, cols) = (self.main.rows, self.main.cols);
        let mut cells = Vec::with_capacity(rows * cols);
        for row in 0..rows {
            for col in 0..cols {
                cells.push(match sparse_safe && self.main.at(row, col) == 0.0 {
                    true => 0.0,
                    false => self.values(row, col)?[node.index()].at(0),
                });
            }
        }
        Ok(Dense::new(rows, cols, cells))
    }

    /// The aggregates of each group side by side.
    fn groups(&self, group: &GroupTemplate) -> Result<Dense> {
        let count = double_to_int(self.inputs[group.count].at(0, 0));
        let count = usize::try_from(count)
            .map_err(|_| Error::argument("aggregate cannot have a negative number of groups"))?;
        let (rows, cols) = (self.main.rows, self.main.cols);
        let numbers = self.cells(group.groups, false)?;
        let number = |row: usize| match cols {
            0 => f64::NAN,
            _ => numbers.at(row, 0).floor(),
        };
        let mut results = Dense::from_fn(count, group.aggregates.len() * cols, |_, _| 0.0);
        let width = results.cols;
        for (at, (op, value)) in group.aggregates.iter().enumerate() {
            let cells = self.cells(*value, false)?;
            for one in 0..count {
                let members: Vec<usize> = (0..rows)
                    .filter(|row| number(*row) == one as f64 + 1.0)
                    .collect();
                for col in (0..cols).filter(|_| !members.is_empty()) {
                    let cells = members.iter().map(|row| cells.at(*row, col));
                    results.values[one * width + at * cols + col] = aggregate(*op, cells)?;
                }
            }
        }
        Ok(results)
    }

    fn rows(&self, output: RowOutput) -> Result<Dense> {
        let rows: Vec<Vec<Value>> = (0..self.main.rows)
            .map(|row| self.values(row, 0))
            .collect::<Result<_>>()?;
        // A node's values, one below the other.
        let all = |node: NodeId| {
            let values = rows.iter().map(|values| values[node.index()].cells());
            let width = self.widths[node.index()].unwrap_or(1);
            Dense::new(rows.len(), width, values.flatten().copied().collect())
        };
        match output {
            RowOutput::NoAggregate(value) | RowOutput::RowAggregate(value) => Ok(all(value)),
            RowOutput::ColumnAggregate(op, value) => all(value).aggregate(op, Direction::Col),
            RowOutput::FullAggregate(op, value) => all(value).aggregate(op, Direction::Full),
            RowOutput::OuterProduct { left, right } => all(left).transposed().multiply(&all(right)),
        }
    }

    /// The values of all nodes at a cell of the main input, in Row plans at its row.
    fn values(&self, row: usize, col: usize) -> Result<Vec<Value>> {
        let mut values: Vec<Value> = Vec::with_capacity(self.plan.body.len());
        for (node, width) in self.plan.body.iter().zip(&self.widths) {
            let value = self.value(node, *width, (row, col), &values)?;
            values.push(value);
        }
        Ok(values)
    }

    /// The value of a node that has `width` cells, or is a scalar, from those of the nodes before it.
    fn value(
        &self,
        node: &CNode,
        width: Option<usize>,
        (row, col): (usize, usize),
        known: &[Value],
    ) -> Result<Value> {
        let of = |id: &NodeId| &known[id.index()];
        let each = |cell: &dyn Fn(usize) -> f64| match width {
            Some(width) => Value::Vector((0..width).map(cell).collect()),
            None => Value::Number(cell(0)),
        };
        Ok(match node {
            CNode::Literal(literal) => Value::Number(*literal),
            CNode::Input(input) => match width {
                Some(width) => {
                    Value::Vector((0..width).map(|col| self.read(*input, row, col)).collect())
                }
                None => Value::Number(self.read(*input, row, col)),
            },
            CNode::Unary(op, a) => each(&|j| op.eval(of(a).at(j))),
            CNode::Binary(op, a, b) => each(&|j| op.eval(of(a).at(j), of(b).at(j))),
            CNode::Ternary(op, a, b, c) => {
                each(&|j| op.eval(of(a).at(j), of(b).at(j), of(c).at(j)))
            }
            CNode::Reduce(op, a) => Value::Number(aggregate(*op, of(a).cells().iter().copied())?),
            CNode::VectorMatrix { vector, input, .. } => {
                let (vector, whole) = (of(vector).cells(), &self.inputs[*input]);
                each(&|j| sum(vector.iter().zip(0..).map(|(x, i)| x * whole.at(i, j))))
            }
            CNode::ColumnRange { vector, from, to } => {
                let range = *from as usize - 1..*to as usize;
                Value::Vector(of(vector).cells()[range].to_vec())
            }
            CNode::Concatenate(parts) => {
                let cells = parts.iter().flat_map(|part| of(part).cells());
                Value::Vector(cells.copied().collect())
            }
            CNode::Cumulative(op, a) => {
                let mut cells = of(a).cells().to_vec();
                for at in 1..cells.len() {
                    let (before, cell) = (cells[at - 1], cells[at]);
                    cells[at] = match op {
                        CumulativeOp::Sum => before + cell,
                        CumulativeOp::Prod => before * cell,
                        CumulativeOp::Min => minimum(before, cell),
                        CumulativeOp::Max => maximum(before, cell),
                    };
                }
                Value::Vector(cells)
            }
            CNode::FactorProduct { left, right } => {
                let (left, right) = (self.inputs[*left].row(row), self.inputs[*right].row(col));
                Value::Number(sum(left.iter().zip(right).map(|(u, v)| u * v)))
            }
        })
    }

    /// The cell of an input that belongs to a cell of the main input.
    fn read(&self, input: usize, row: usize, col: usize) -> f64 {
        let matrix = &self.inputs[input];
        match self.plan.inputs[input] {
            InputBinding::Main | InputBinding::Matrix => matrix.at(row, col),
            InputBinding::ColumnVector => matrix.at(row, 0),
            InputBinding::RowVector => matrix.at(0, col),
            InputBinding::Scalar => matrix.at(0, 0),
            // Nodes that read these have their own way, see `value`; `verify` refuses others.
            InputBinding::Whole | InputBinding::LeftFactor | InputBinding::RightFactor => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_error::ErrorKind;
    use fulgurite_hop::BinaryOp;

    use super::*;
    use crate::cplan::RowTemplate;

    fn row_plan(inputs: &[InputBinding], body: Vec<CNode>, output: RowOutput) -> CPlan {
        CPlan {
            template: Template::Row(RowTemplate { output }),
            inputs: inputs.to_vec(),
            body,
        }
    }

    fn product(scalar: bool) -> CNode {
        CNode::VectorMatrix {
            vector: NodeId(0),
            input: 1,
            scalar,
        }
    }

    #[test]
    fn shapes_do_not_depend_on_rows_that_are_there() {
        let inputs = [InputBinding::Main, InputBinding::Whole];
        let body = || vec![CNode::Input(0), product(false)];
        let (x, b) = (
            Dense::new(0, 3, Vec::new()),
            Dense::from_fn(3, 2, |_, _| 1.0),
        );
        let shape = |output| {
            let plan = row_plan(&inputs, body(), output);
            let result = interpret(&plan, &[x.clone(), b.clone()]).unwrap();
            (result.rows, result.cols)
        };
        assert_eq!(shape(RowOutput::NoAggregate(NodeId(1))), (0, 2));
        let sums = RowOutput::ColumnAggregate(AggregateOp::Sum, NodeId(1));
        assert_eq!(shape(sums), (1, 2));
        let outer = RowOutput::OuterProduct {
            left: NodeId(0),
            right: NodeId(1),
        };
        assert_eq!(shape(outer), (3, 2));
    }

    #[test]
    fn inputs_that_do_not_fit_are_refused() {
        let refusal = |plan: &CPlan, inputs: &[Dense]| {
            let error = interpret(plan, inputs).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Dimension);
            error.message().to_string()
        };
        let x = Dense::new(0, 3, Vec::new());
        let matrix = |rows, cols| Dense::from_fn(rows, cols, |_, _| 1.0);
        let inputs = [InputBinding::Main, InputBinding::Whole];
        let times = |scalar| {
            let output = match scalar {
                true => RowOutput::RowAggregate(NodeId(1)),
                false => RowOutput::NoAggregate(NodeId(1)),
            };
            row_plan(&inputs, vec![CNode::Input(0), product(scalar)], output)
        };
        assert_eq!(
            refusal(&times(false), &[x.clone(), matrix(2, 2)]),
            "rows of 3 columns times input 1 of 2 x 2 in a fused operator"
        );
        assert_eq!(
            refusal(&times(true), &[x.clone(), matrix(3, 2)]),
            "rows of 3 columns times input 1 of 3 x 2 in a fused operator"
        );
        let sum = vec![
            CNode::Input(0),
            product(false),
            CNode::Binary(BinaryOp::Plus, NodeId(0), NodeId(1)),
        ];
        let plan = row_plan(&inputs, sum, RowOutput::NoAggregate(NodeId(2)));
        assert_eq!(
            refusal(&plan, &[x.clone(), matrix(3, 2)]),
            "rows of 3 and of 2 columns meet in a fused operator"
        );
        let range = CNode::ColumnRange {
            vector: NodeId(0),
            from: 2,
            to: 4,
        };
        let output = RowOutput::NoAggregate(NodeId(1));
        let plan = row_plan(&inputs[..1], vec![CNode::Input(0), range], output);
        assert_eq!(
            refusal(&plan, std::slice::from_ref(&x)),
            "columns 2:4 of 3 columns in a fused operator"
        );
        let place = CNode::Reduce(AggregateOp::IndexMax, NodeId(0));
        let output = RowOutput::RowAggregate(NodeId(1));
        let plan = row_plan(&inputs[..1], vec![CNode::Input(0), place], output);
        assert_eq!(
            refusal(&plan, &[Dense::new(2, 0, Vec::new())]),
            "rows without columns have no cell that could be the largest or smallest"
        );
    }
}
