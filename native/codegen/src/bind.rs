//! Operands against the plan: every shape is checked here, before machine code runs.

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CNode, CPlan, InputBinding, OuterOutput, Template};
use fulgurite_matrix::kernels::DenseRange;
use fulgurite_matrix::{
    CsrMatrix, DenseMatrix, Interrupt, Layout, MatrixBlock, compressed::CompressedMatrix,
};

use crate::aggregates;
use crate::program::{Program, Shape, WidthSource};

/// An operand of a fused operator.
#[derive(Debug, Clone, Copy)]
pub enum Operand<'a> {
    Matrix(&'a MatrixBlock),
    /// Read where it lies, if the plan [can](CPlan::reads_ranges); else copied.
    Range(&'a DenseRange),
    Scalar(f64),
}

impl Operand<'_> {
    /// Rows and columns of a matrix.
    fn shape(&self) -> Option<(usize, usize)> {
        match self {
            Operand::Matrix(matrix) => Some((matrix.rows(), matrix.cols())),
            Operand::Range(range) => Some((range.rows(), range.cols())),
            Operand::Scalar(_) => None,
        }
    }

    fn cols(&self) -> usize {
        self.shape().map_or(1, |(_, cols)| cols)
    }

    /// Whether all its cells are visited: those of dense and compressed matrices.
    pub(crate) fn is_dense(&self) -> bool {
        match self {
            Operand::Matrix(matrix) => {
                matches!(matrix.layout(), Layout::Dense | Layout::Compressed)
            }
            Operand::Range(_) | Operand::Scalar(_) => true,
        }
    }

    /// Whether it is kept as coordinates.
    pub(crate) fn is_ultra_sparse(&self) -> bool {
        matches!(self, Operand::Matrix(MatrixBlock::Coordinate(_)))
    }

    fn describe(&self) -> String {
        match self.shape() {
            Some((rows, cols)) => format!("{rows} x {cols}"),
            None => "a scalar".into(),
        }
    }
}

/// The layouts that compiled code reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rows<'a> {
    Dense(DenseRows<'a>),
    Csr(&'a CsrMatrix),
    /// Decoded block by block, as dense rows.
    Compressed(&'a CompressedMatrix),
}

/// Dense rows, perhaps with cells between them that belong to another matrix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DenseRows<'a> {
    /// From the first row's first cell to the last row's last.
    cells: &'a [f64],
    /// Cells from row to row.
    pub stride: usize,
    pub cols: usize,
}

impl<'a> DenseRows<'a> {
    fn of_matrix(matrix: &'a DenseMatrix) -> Self {
        DenseRows {
            cells: matrix.values(),
            stride: matrix.cols(),
            cols: matrix.cols(),
        }
    }

    fn of_range(range: &'a DenseRange) -> Self {
        DenseRows {
            cells: range.span(),
            stride: range.stride(),
            cols: range.cols(),
        }
    }

    /// All cells, in the order of rows, and those between the rows.
    pub fn cells(self) -> &'a [f64] {
        self.cells
    }

    /// Whether there are other cells between the rows.
    pub fn has_gaps(self) -> bool {
        self.stride != self.cols
    }

    /// The cells from one on; none of rows without columns.
    pub fn from(self, row: usize, col: usize) -> &'a [f64] {
        self.cells
            .get(row * self.stride + col..)
            .unwrap_or_default()
    }

    pub fn row(self, row: usize) -> &'a [f64] {
        &self.cells[row * self.stride..row * self.stride + self.cols]
    }

    /// Writes the cells that would be at these places if there were no gaps.
    pub fn pack(self, places: std::ops::Range<usize>, packed: &mut [f64]) {
        if self.cols == 1 {
            let cells = self.from(places.start, 0).iter().step_by(self.stride);
            let pairs = packed.iter_mut().zip(cells);
            return pairs.for_each(|(packed, cell)| *packed = *cell);
        }
        let (mut row, mut col) = (places.start / self.cols, places.start % self.cols);
        let mut rest = packed;
        while !rest.is_empty() {
            let cells = &self.row(row)[col..];
            let (part, after) = rest.split_at_mut(cells.len().min(rest.len()));
            for (packed, cell) in part.iter_mut().zip(cells) {
                *packed = *cell;
            }
            (row, col, rest) = (row + 1, 0, after);
        }
    }
}

/// Operands whose shapes fit the plan.
#[derive(Debug, Clone)]
pub(crate) struct Bound<'a> {
    /// A matrix or a range.
    pub main: Operand<'a>,
    rows: usize,
    cols: usize,
    pub operands: &'a [Operand<'a>],
    /// Width of each class of the kernel's program.
    pub widths: Vec<usize>,
    /// Asked before each block of rows or cells.
    pub interrupt: &'a Interrupt,
}

impl<'a> Bound<'a> {
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn cols(&self) -> usize {
        self.cols
    }

    /// An input as a matrix of its own, for what reads no ranges in place.
    pub fn matrix(&self, input: usize) -> Result<&'a MatrixBlock> {
        match self.operands.get(input) {
            Some(Operand::Matrix(matrix)) => Ok(matrix),
            _ => Err(Error::internal(format!(
                "input {input} was bound as a matrix but is none"
            ))),
        }
    }

    /// A matrix or a range.
    pub fn cells_of(&self, input: usize) -> Result<Operand<'a>> {
        match self.operands.get(input) {
            Some(Operand::Range(range)) => Ok(Operand::Range(range)),
            _ => self.matrix(input).map(Operand::Matrix),
        }
    }

    pub fn rows_of(&self, input: usize) -> Result<Rows<'a>> {
        if let Some(Operand::Range(range)) = self.operands.get(input) {
            return Ok(Rows::Dense(DenseRows::of_range(range)));
        }
        match self.matrix(input)? {
            MatrixBlock::Dense(dense) => Ok(Rows::Dense(DenseRows::of_matrix(dense))),
            MatrixBlock::Csr(csr) => Ok(Rows::Csr(csr)),
            MatrixBlock::Coordinate(_) => Err(Error::internal(format!(
                "the coordinates of input {input} have not become rows"
            ))),
            compressed @ MatrixBlock::Compressed(_) => CompressedMatrix::of(compressed)
                .map(Rows::Compressed)
                .ok_or_else(|| Error::internal(format!("input {input} has no column groups"))),
        }
    }

    pub fn scalar(&self, input: usize) -> f64 {
        match self.operands.get(input) {
            Some(Operand::Scalar(value)) => *value,
            Some(Operand::Matrix(matrix)) => matrix.get(0, 0),
            Some(Operand::Range(range)) => range.span()[0],
            None => f64::NAN,
        }
    }

    pub fn width(&self, shape: Shape) -> usize {
        match shape {
            Shape::Vector(class) => self.widths[class],
            _ => 1,
        }
    }
}

/// # Errors
/// `dimension` when a shape does not fit, naming the input.
pub(crate) fn bind<'a>(
    plan: &CPlan,
    program: &Program,
    operands: &'a [Operand<'a>],
    interrupt: &'a Interrupt,
) -> Result<Bound<'a>> {
    if operands.len() != plan.inputs.len() {
        return Err(Error::internal(format!(
            "a fused operator of {} inputs was given {}",
            plan.inputs.len(),
            operands.len()
        )));
    }
    let main = operands
        .first()
        .and_then(|main| Some((*main, main.shape()?)));
    let Some((main, (rows, cols))) = main else {
        return Err(Error::dimension(
            "the main input of a fused operator must be a matrix",
        ));
    };
    let is_cell = !matches!(plan.template, Template::Row(_));
    for (input, (binding, operand)) in plan.inputs.iter().zip(operands).enumerate() {
        check_binding(input, *binding, operand, (rows, cols), is_cell)?;
    }
    let widths = resolve_widths(program, operands)?;
    let bound = Bound {
        main,
        rows,
        cols,
        operands,
        widths,
        interrupt,
    };
    check_nodes(program, &bound)?;
    check_factors(program, &bound)?;
    if let Template::Outer(outer) = &plan.template {
        check_multiplied(outer.output, &bound)?;
    }
    Ok(bound)
}

/// Factors of a product have the same rank.
fn check_factors(program: &Program, bound: &Bound<'_>) -> Result<()> {
    for product in &program.factor_products {
        let rank = |input| bound.matrix(input).map(MatrixBlock::cols);
        let (left, right) = (rank(product.left)?, rank(product.right)?);
        if left != right {
            return Err(Error::dimension(format!(
                "factors of {left} and of {right} columns meet in a fused operator"
            )));
        }
    }
    Ok(())
}

/// The matrix that an Outer plan's values are multiplied with has a row for each of their columns, or rows.
fn check_multiplied(output: OuterOutput, bound: &Bound<'_>) -> Result<()> {
    let (input, rows) = match output {
        OuterOutput::RightMultiply { input } => (input, bound.cols()),
        OuterOutput::LeftMultiply { input } => (input, bound.rows()),
        OuterOutput::NoAggregate | OuterOutput::FullAggregate(_) => return Ok(()),
    };
    let got = bound.matrix(input)?.rows();
    if got == rows {
        return Ok(());
    }
    Err(Error::dimension(format!(
        "input {input} of a fused operator must have {rows} rows, not {got}"
    )))
}

fn check_binding(
    input: usize,
    binding: InputBinding,
    operand: &Operand<'_>,
    (rows, cols): (usize, usize),
    is_cell: bool,
) -> Result<()> {
    let shape = operand.shape();
    let has_rows = |wanted| shape.is_some_and(|(rows, _)| rows == wanted);
    let fits = match binding {
        InputBinding::Main | InputBinding::Whole => shape.is_some(),
        InputBinding::Matrix if is_cell => shape == Some((rows, cols)),
        InputBinding::Matrix | InputBinding::LeftFactor => has_rows(rows),
        InputBinding::ColumnVector => shape == Some((rows, 1)),
        InputBinding::RowVector if is_cell => shape == Some((1, cols)),
        InputBinding::RowVector => has_rows(1),
        InputBinding::RightFactor => has_rows(cols),
        InputBinding::Scalar => shape.is_none_or(|shape| shape == (1, 1)),
    };
    if fits {
        return Ok(());
    }
    let expected = match binding {
        InputBinding::Main | InputBinding::Whole => "a matrix".to_string(),
        InputBinding::Matrix if is_cell => format!("{rows} x {cols}"),
        InputBinding::Matrix | InputBinding::LeftFactor => format!("{rows} rows"),
        InputBinding::ColumnVector => format!("{rows} x 1"),
        InputBinding::RowVector if is_cell => format!("1 x {cols}"),
        InputBinding::RowVector => "one row".to_string(),
        InputBinding::RightFactor => format!("{cols} rows"),
        InputBinding::Scalar => "a scalar".to_string(),
    };
    Err(Error::dimension(format!(
        "input {input} of a fused operator over a {rows} x {cols} matrix must be {expected}, not {}",
        operand.describe()
    )))
}

/// Widths of all classes; everything that defines a class must agree.
fn resolve_widths(program: &Program, operands: &[Operand<'_>]) -> Result<Vec<usize>> {
    let classes = &program.shapes.classes;
    let mut widths: Vec<Option<usize>> = vec![None; classes.len()];
    let width_of = |source: &WidthSource, widths: &[Option<usize>]| -> Option<usize> {
        match source {
            WidthSource::Input(input) => operands.get(*input).map(Operand::cols),
            WidthSource::Fixed(width) => usize::try_from(*width).ok(),
            WidthSource::Sum(parts, scalars) => parts
                .iter()
                .try_fold(usize::try_from(*scalars).ok()?, |sum, part| {
                    sum.checked_add(widths[*part]?)
                }),
        }
    };
    // A sum may refer to a class that is only known later: as many rounds as there are classes suffice.
    for _ in 0..classes.len() {
        for (class, sources) in classes.iter().enumerate() {
            if widths[class].is_none() {
                widths[class] = sources.iter().find_map(|source| width_of(source, &widths));
            }
        }
    }
    for (class, sources) in classes.iter().enumerate() {
        for source in sources {
            let width = width_of(source, &widths);
            if width != widths[class] {
                return Err(Error::dimension(format!(
                    "rows of {} and of {} columns meet in a fused operator",
                    widths[class].unwrap_or(0),
                    width.unwrap_or(0)
                )));
            }
        }
    }
    widths
        .into_iter()
        .collect::<Option<Vec<usize>>>()
        .ok_or_else(|| Error::dimension("the widths of a fused operator's rows can't be told"))
}

fn check_nodes(program: &Program, bound: &Bound<'_>) -> Result<()> {
    for node in &program.nodes {
        match node {
            CNode::VectorMatrix {
                vector,
                input,
                scalar,
            } => {
                let whole = bound.matrix(*input)?;
                let width = bound.width(program.shapes.of(*vector));
                if whole.rows() != width || (*scalar && whole.cols() != 1) {
                    return Err(Error::dimension(format!(
                        "rows of {width} columns times input {input} of {} x {} in a fused operator",
                        whole.rows(),
                        whole.cols()
                    )));
                }
            }
            CNode::Reduce(op, vector)
                if aggregates::is_place(*op) && bound.width(program.shapes.of(*vector)) == 0 =>
            {
                return Err(Error::dimension(
                    "rows without columns have no cell that could be the largest or smallest",
                ));
            }
            CNode::ColumnRange { vector, from, to } => {
                let width = bound.width(program.shapes.of(*vector));
                if *to > width as u64 {
                    return Err(Error::dimension(format!(
                        "columns {from}:{to} of {width} columns in a fused operator"
                    )));
                }
            }
            _ => {}
        }
    }
    Ok(())
}
