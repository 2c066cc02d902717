//! The Row skeleton: blocks of rows, so small that a block stays in cache while all steps pass over it.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CNode, InputBinding, RowOutput, Template};
use fulgurite_hop::AggregateOp;
use fulgurite_matrix::{CsrMatrix, MatrixBlock, memory::NewCells};

use super::totals::Total;
use super::vector_totals::{Aggregates, VectorTotals};
use super::{ExecutionContext, Output, Skipped, cells_of, driver, exact, tasks, wholes, zeros};
use crate::aggregates::accumulation;
use crate::bind::{Bound, Rows};
use crate::compiled::{CompiledPlan, Kernel};
use crate::frame::{Frame, Target, WholeMatrix, Widths};
use crate::program::{Program, Shape, Taken};

/// Bytes of operands and scratch that a block may take: what stays in the first-level cache beside vectors that
/// all rows share.
const BLOCK_BYTES: usize = 32 << 10;
/// Kernels work on four rows at a time.
const MIN_BLOCK_ROWS: usize = 4;
const MAX_BLOCK_ROWS: usize = 256;
/// Bytes of a block of rows that meet narrow matrices, of which panels stay in the first-level cache while all rows pass by: what
/// stays in the second-level one beside the rows that are fetched meanwhile.
const NARROW_BLOCK_BYTES: usize = 128 << 10;
/// Bytes of a block of rows that are decoded: each column group is entered once a block, which takes as long as some cells.
const DECODED_BLOCK_BYTES: usize = 128 << 10;
/// Rows of a block that meets wide matrices, as far as they stay in the second-level cache: products of fewer spend their
/// time on laying out the matrix.
const WIDE_BLOCK_ROWS: usize = 128;
const WIDE_BLOCK_BYTES: usize = 512 << 10;
/// Such rows come in whole tiles of products.
const WIDE_GRAIN: usize = 32;
/// Multiplications of such products that take as long as a cell that is read.
const MULTIPLICATIONS_PER_READ: usize = 16;
/// Accumulators larger than this are made once per thread, not once per task.
const LARGE_ACCUMULATOR_CELLS: usize = 1 << 14;

/// What a task leaves behind.
enum Partial {
    /// It wrote its rows of the output.
    Written,
    Columns(VectorTotals),
    Full(Total),
    OuterProduct(WholeMatrix),
}

struct Skeleton<'a> {
    kernel: &'a Kernel,
    bound: &'a Bound<'a>,
    output: RowOutput,
    wholes: Vec<WholeMatrix>,
    block_rows: usize,
    /// Whether the outer product's left operand comes as CSR rows.
    sparse_outer: bool,
    /// Whether such rows met a right operand that is not finite: then their zeros would have counted.
    zeros_count: AtomicBool,
}

/// Whether zeros of sparse rows may be passed over in products with whole matrices and in outer products. Those of outer
/// products are looked at once more when their right operands have been computed.
pub(super) fn skipped(
    compiled: &CompiledPlan,
    bound: &Bound<'_>,
    context: &ExecutionContext,
) -> Result<Skipped> {
    let plan = compiled.plan();
    let program = &compiled.kernel().program;
    let is_sparse = |input: &usize| {
        matches!(bound.cells_of(*input), Ok(matrix) if !matrix.is_dense())
            && program.reads_csr[*input]
    };
    if !(0..plan.inputs.len()).any(|input| is_sparse(&input)) {
        return Ok(Skipped::Rows);
    }
    for node in &plan.body {
        if let CNode::VectorMatrix { vector, input, .. } = node
            && matches!(&plan.body[vector.index()], CNode::Input(vector) if is_sparse(vector))
            && !exact::is_finite(bound.cells_of(*input)?, context)
        {
            return Ok(Skipped::Nothing);
        }
    }
    let Template::Row(template) = &plan.template else {
        return Ok(Skipped::Nothing);
    };
    let RowOutput::OuterProduct { left, right } = template.output else {
        return Ok(Skipped::Rows);
    };
    for side in [left, right] {
        // The other operand is an input, too: it is there to be looked at.
        if let CNode::Input(input) = plan.body[side.index()]
            && plan.inputs[input] != InputBinding::Scalar
            && !exact::is_finite(bound.cells_of(input)?, context)
        {
            return Ok(Skipped::Nothing);
        }
    }
    let leaves_rows_out =
        bound.main.is_ultra_sparse() && driver::skips_empty_rows(compiled, template.output);
    let values = [left, right];
    match leaves_rows_out && !exact::are_finite_at_zeros(compiled, bound, &values, context) {
        true => Ok(Skipped::Cells),
        false => Ok(Skipped::Rows),
    }
}

/// `None` where zeros of sparse rows that were passed over would have counted.
pub(super) fn run(
    compiled: &CompiledPlan,
    bound: &Bound<'_>,
    output: RowOutput,
    context: &ExecutionContext,
) -> Result<Option<Output>> {
    let kernel = compiled.kernel();
    let program = &kernel.program;
    let sparse_outer = match program.outer_product {
        Some((left, _)) => wholes::is_csr_input(program, bound, &program.nodes[left.index()])?,
        None => false,
    };
    let multiplications = wholes::wide_multiplications(program, bound)?;
    let skeleton = Skeleton {
        kernel,
        bound,
        output,
        wholes: wholes::prepare(program, bound, context)?,
        block_rows: block_rows(program, bound, multiplications > 0)?,
        sparse_outer,
        zeros_count: AtomicBool::new(false),
    };
    let result = skeleton.run(multiplications, context)?;
    Ok(match skeleton.zeros_count.into_inner() {
        true => None,
        false => Some(result),
    })
}

fn few_if_large(
    ranges: Vec<Range<usize>>,
    cells: usize,
    context: &ExecutionContext,
) -> Vec<Range<usize>> {
    if cells > LARGE_ACCUMULATOR_CELLS {
        tasks::at_most(ranges, context.threads())
    } else {
        ranges
    }
}

/// Rows per block: what fits into [`BLOCK_BYTES`], or more where rows meet matrices.
fn block_rows(program: &Program, bound: &Bound<'_>, meets_wide: bool) -> Result<usize> {
    let meets_narrow = wholes::meets_narrow(program, bound)?;
    let written = program.buffers.iter().chain(&program.output);
    let scratch: usize = written.map(|shape| bound.width(*shape)).sum();
    let mut cells = scratch;
    let mut is_decoded = false;
    for (input, binding) in program.inputs.iter().enumerate() {
        if !matches!(binding, InputBinding::Main | InputBinding::Matrix) {
            continue;
        }
        cells += match bound.rows_of(input)? {
            Rows::Csr(csr) if !program.reads_dense[input] => {
                csr.stored() * 3 / 2 / csr.rows().max(1)
            }
            Rows::Csr(csr) => csr.cols(),
            Rows::Compressed(groups) => {
                is_decoded = true;
                groups.cols()
            }
            Rows::Dense(dense) => dense.cols,
        };
    }
    let mut rows = BLOCK_BYTES / (8 * cells.max(1));
    if is_decoded {
        rows = rows.max(DECODED_BLOCK_BYTES / (8 * cells.max(1)));
    }
    if meets_narrow {
        let beside = BLOCK_BYTES / 2 / (8 * scratch.max(1));
        rows = rows.max(beside.min(NARROW_BLOCK_BYTES / (8 * cells.max(1))));
    }
    let least = match meets_wide {
        true => (WIDE_BLOCK_BYTES / (8 * cells.max(1))).clamp(MIN_BLOCK_ROWS, WIDE_BLOCK_ROWS),
        false => MIN_BLOCK_ROWS,
    };
    // Only products take several rows together: of all else, what stays in the first-level cache is best.
    if !program.has_products() {
        return Ok(rows.clamp(1, MAX_BLOCK_ROWS));
    }
    // Whole groups of four rows.
    Ok(rows.clamp(least, MAX_BLOCK_ROWS) / MIN_BLOCK_ROWS * MIN_BLOCK_ROWS)
}

/// A block of a CSR matrix's rows as dense rows.
pub(super) fn densify(csr: &CsrMatrix, rows: Range<usize>, cols: Range<usize>, cells: &mut [f64]) {
    cells.fill(0.0);
    let width = cols.len();
    for (at, row) in rows.enumerate() {
        let (indices, values) = csr.row(row);
        let from = indices.partition_point(|index| (*index as usize) < cols.start);
        for (index, value) in indices[from..].iter().zip(&values[from..]) {
            let col = *index as usize;
            if col >= cols.end {
                break;
            }
            cells[at * width + col - cols.start] = *value;
        }
    }
}

impl Skeleton<'_> {
    fn program(&self) -> &Program {
        &self.kernel.program
    }

    fn run(&self, multiplications: usize, context: &ExecutionContext) -> Result<Output> {
        let (program, bound, output) = (self.program(), self.bound, self.output);
        let rows = bound.rows();
        let width = program.output.map_or(1, |shape| bound.width(shape));
        let widest = bound.widths.iter().copied().max().unwrap_or(1);
        let work_per_row = bound.cols().max(widest) * program.work_per_cell()
            + multiplications / MULTIPLICATIONS_PER_READ;
        let ranges = match multiplications > 0 && bound.main.is_dense() {
            true => {
                let work = rows.saturating_mul(work_per_row);
                tasks::even(rows, WIDE_GRAIN, work, context)
            }
            false => tasks::of_rows(bound, work_per_row, context),
        };
        match output {
            RowOutput::NoAggregate(_) | RowOutput::RowAggregate(_) => {
                let mut cells = NewCells::new(cells_of(rows, width)?)?;
                let parts = tasks::with_outputs(ranges, &mut cells, width);
                tasks::run(context, parts, |(range, part)| {
                    self.task(range, part.cells())
                })?;
                MatrixBlock::dense(rows, width, cells.finish()).map(Output::Matrix)
            }
            RowOutput::ColumnAggregate(op, _) => {
                let ranges = few_if_large(ranges, width, context);
                let mut parts = Vec::new();
                for partial in tasks::run(context, ranges, |range| self.task(range, &mut []))? {
                    if let Partial::Columns(columns) = partial {
                        parts.push(vec![columns]);
                    }
                }
                let (ops, taken) = ([op], [Taken::Result(0)]);
                let aggregates = Aggregates::new(&ops, &taken);
                let all = aggregates.merged(width, parts)?;
                aggregates.of_columns(&all, width, rows)
            }
            RowOutput::FullAggregate(op, _) => {
                let mut sum = Total::new(op);
                for partial in tasks::run(context, ranges, |range| self.task(range, &mut []))? {
                    if let Partial::Full(total) = partial {
                        sum.merge(&total);
                    }
                }
                Ok(Output::Scalar(sum.finish(rows.saturating_mul(width))))
            }
            RowOutput::OuterProduct { .. } => {
                let (left, right) = self.outer_widths()?;
                let ranges = few_if_large(ranges, cells_of(left, right)?, context);
                let partials = tasks::run(context, ranges, |range| self.task(range, &mut []))?;
                let accumulators = partials.into_iter().filter_map(|partial| match partial {
                    Partial::OuterProduct(accumulator) => Some(accumulator),
                    _ => None,
                });
                let turned = program.outer_product_turned;
                wholes::finish(accumulators, left, right, turned).map(Output::Matrix)
            }
        }
    }

    fn outer_widths(&self) -> Result<(usize, usize)> {
        let shapes = &self.program().shapes;
        match self.program().outer_product {
            Some((left, right)) => Ok((
                self.bound.width(shapes.of(left)),
                self.bound.width(shapes.of(right)),
            )),
            None => Err(Error::internal("a plan without its outer product")),
        }
    }

    fn task(&self, rows: Range<usize>, output: &mut [f64]) -> Result<Partial> {
        let widths = Widths::Classes(&self.bound.widths);
        let mut frame = self
            .kernel
            .frame(self.bound, widths, &self.wholes, self.block_rows)?;
        let shape = self.program().output.unwrap_or(Shape::PerRow);
        let width = self.bound.width(shape);
        match self.output {
            RowOutput::NoAggregate(_) | RowOutput::RowAggregate(_) => {
                let mut rest = output;
                for block in self.blocks(rows) {
                    let (cells, after) = rest.split_at_mut(block.len() * width);
                    self.block(&mut frame, block, cells, width)?;
                    rest = after;
                }
                Ok(Partial::Written)
            }
            RowOutput::ColumnAggregate(op, _) => {
                let mut columns = VectorTotals::new(accumulation(op), width)?;
                let mut cells = zeros(self.block_rows, width)?;
                for block in self.blocks(rows) {
                    let cells = &mut cells[..block.len() * width];
                    self.block(&mut frame, block, cells, width)?;
                    columns.take_columns(0, width, cells, width);
                }
                Ok(Partial::Columns(columns))
            }
            RowOutput::FullAggregate(op, _) => self.full(&mut frame, rows, op, width),
            RowOutput::OuterProduct { .. } => {
                let (left, right) = self.outer_widths()?;
                frame.set_accumulator(wholes::accumulator(left, right, self.sparse_outer)?);
                let right = self.program().outer_product.map(|(_, right)| right);
                let right = right.filter(|_| self.sparse_outer);
                for block in self.blocks(rows) {
                    self.block(&mut frame, block, &mut [], 0)?;
                    if right.is_some_and(|right| !frame.is_finite(right)) {
                        self.zeros_count.store(true, Ordering::Relaxed);
                        break;
                    }
                }
                Ok(Partial::OuterProduct(frame.into_accumulator()))
            }
        }
    }

    fn full<'f>(
        &'f self,
        frame: &mut Frame<'f>,
        rows: Range<usize>,
        op: AggregateOp,
        width: usize,
    ) -> Result<Partial> {
        let mut total = Total::new(op);
        let mut cells = zeros(self.block_rows, width)?;
        for block in self.blocks(rows) {
            let cells = &mut cells[..block.len() * width];
            self.block(frame, block, cells, width)?;
            cells.iter().for_each(|cell| total.take(*cell));
        }
        Ok(Partial::Full(total))
    }

    fn blocks(&self, rows: Range<usize>) -> impl Iterator<Item = Range<usize>> + use<> {
        let (end, step) = (rows.end, self.block_rows);
        rows.step_by(step)
            .map(move |start| start..(start + step).min(end))
    }

    fn block<'f>(
        &'f self,
        frame: &mut Frame<'f>,
        rows: Range<usize>,
        cells: &mut [f64],
        stride: usize,
    ) -> Result<()> {
        frame.set_rows(rows.len());
        for (input, binding) in self.program().inputs.iter().enumerate() {
            self.bind_rows(frame, input, *binding, &rows)?;
        }
        let target = Target { cells, stride };
        self.kernel.run(frame, target)
    }

    fn bind_rows<'f>(
        &'f self,
        frame: &mut Frame<'f>,
        input: usize,
        binding: InputBinding,
        rows: &Range<usize>,
    ) -> Result<()> {
        if matches!(binding, InputBinding::Scalar | InputBinding::Whole) {
            return Ok(());
        }
        let is_row_vector = binding == InputBinding::RowVector;
        match self.bound.rows_of(input)? {
            Rows::Dense(dense) if is_row_vector => frame.bind_dense(input, dense.cells(), 0),
            // A column's cells may be taken several at a time.
            Rows::Dense(column) if column.cols == 1 && column.has_gaps() => {
                frame.bind_filled(input, rows.len(), 1, |cells| {
                    column.pack(rows.clone(), cells)
                })?;
            }
            Rows::Dense(dense) => {
                frame.bind_dense(input, dense.from(rows.start, 0), dense.stride);
            }
            Rows::Csr(csr) => {
                let cols = csr.cols();
                if is_row_vector {
                    frame
                        .bind_filled(input, cols, 0, |cells| densify(csr, 0..1, 0..cols, cells))?;
                    return Ok(());
                }
                if self.program().reads_csr[input] {
                    frame.bind_csr(input, csr, rows.start);
                }
                if self.program().reads_dense[input] {
                    frame.bind_filled(input, rows.len() * cols, cols, |cells| {
                        densify(csr, rows.clone(), 0..cols, cells);
                    })?;
                }
            }
            Rows::Compressed(groups) => {
                let cols = groups.cols();
                let (rows, stride) = if is_row_vector {
                    (0..1, 0)
                } else {
                    (rows.clone(), cols)
                };
                frame.bind_filled(input, rows.len() * cols, stride, |cells| {
                    groups.fill(rows, 0..cols, cells);
                })?;
            }
        }
        Ok(())
    }
}
