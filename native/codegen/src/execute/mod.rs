//! Skeletons: how compiled code is run over whole operands.
//!
//! A skeleton cuts the main input into tasks (ranges of rows or cells, in order) and each task into blocks that
//! fit into the innermost caches; compiled code handles a block. Partial results are combined in the order of
//! tasks, so that results don't depend on timing.

mod cell;
mod driver;
mod exact;
mod factors;
mod group;
mod outer;
mod row;
mod sparse_cell;
mod tasks;
mod totals;
mod vector_totals;
mod wholes;

use std::{borrow::Cow, sync::Arc};

use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CellTemplate, InputBinding, NodeId, Template};
use fulgurite_hop::{AggregateOp, Direction};
use fulgurite_matrix::{Interrupt, MatrixBlock, memory};

use crate::bind::{Bound, Operand};
use crate::compiled::CompiledPlan;
use driver::Driver;
use factors::Factors;

/// Which threads an operator runs on.
#[derive(Debug, Clone, Default)]
pub struct ExecutionContext {
    pool: Option<Arc<rayon::ThreadPool>>,
    /// How many threads work is cut for, where these are not the pool's.
    cut_for: Option<usize>,
    interrupt: Interrupt,
}

impl ExecutionContext {
    /// The calling thread alone, as in Spark's tasks.
    pub fn single_threaded() -> Self {
        ExecutionContext::default()
    }

    /// A pool of this many threads, shared by all clones of the context.
    ///
    /// # Errors
    /// `memory` when the threads can't be started.
    pub fn with_threads(threads: usize) -> Result<Self> {
        if threads <= 1 {
            return Ok(Self::single_threaded());
        }
        let pool = memory::thread_pool(rayon::ThreadPoolBuilder::new(), threads, "fulgurite")?;
        Ok(Self::with_pool(Arc::new(pool)))
    }

    /// Threads of a pool that exists.
    pub fn with_pool(pool: Arc<rayon::ThreadPool>) -> Self {
        ExecutionContext {
            pool: Some(pool),
            ..Self::default()
        }
    }

    /// Cuts work as for this many threads, however many there are: partial results, and so the bits of a sum, are
    /// then those of an operator that has all of them.
    pub fn cut_for(self, threads: usize) -> Self {
        ExecutionContext {
            cut_for: Some(threads.max(1)),
            ..self
        }
    }

    /// Operators end with an error of kind `interrupted` once this is set.
    pub fn interrupted_by(self, interrupt: Interrupt) -> Self {
        ExecutionContext { interrupt, ..self }
    }

    /// On all threads if there are several, else on the calling one.
    fn one_or_all<R: Send>(&self, one: impl FnOnce() -> R, all: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(all),
            None => one(),
        }
    }

    /// The number of threads that work is cut for.
    pub fn threads(&self) -> usize {
        let pool = self.pool.as_ref();
        self.cut_for
            .unwrap_or_else(|| pool.map_or(1, |pool| pool.current_num_threads()))
    }
}

/// What a fused operator gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    Matrix(MatrixBlock),
    Scalar(f64),
}

/// Runs a compiled plan over operands, which stand in the order of the plan's inputs.
///
/// # Errors
/// `dimension` when shapes don't fit; nothing has run then. `interrupted`, if the context's [`Interrupt`] is set.
pub fn execute(
    plan: &CompiledPlan,
    inputs: &[Operand<'_>],
    context: &ExecutionContext,
) -> Result<Output> {
    let interrupt = &context.interrupt.or_current();
    let copies = copied_inputs(plan, inputs)?;
    let operands = replaced(inputs, &copies)?;
    let inputs = operands.as_deref().unwrap_or(inputs);
    let bound: Bound<'_> = plan.bind(inputs, interrupt)?;
    let skipped = Skipped::of(plan, &bound, context)?;
    if let Some(output) = execute_skipping(plan, inputs, &bound, skipped, context)? {
        return Ok(output);
    }
    let output = execute_skipping(plan, inputs, &bound, Skipped::Nothing, context)?;
    output.ok_or_else(|| Error::internal("a fused operator that skips nothing met what it skips"))
}

/// Which zeros are passed over: those that give what visiting them would give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Skipped {
    Nothing,
    /// Zeros of sparse rows, but no rows.
    Cells,
    /// Rows without stored cells, too.
    Rows,
}

impl Skipped {
    fn of(plan: &CompiledPlan, bound: &Bound<'_>, context: &ExecutionContext) -> Result<Self> {
        let is_dense = bound.main.is_dense();
        let values: Vec<NodeId> = match &plan.plan().template {
            Template::Cell(_) | Template::MultiAggregate(_) if is_dense => {
                return Ok(Skipped::Nothing);
            }
            Template::Cell(template) if template.sparse_safe => vec![template.value],
            Template::MultiAggregate(template) if template.sparse_safe => template
                .aggregates
                .iter()
                .map(|(_, value)| *value)
                .collect(),
            Template::Cell(_) | Template::MultiAggregate(_) | Template::Group(_) => {
                return Ok(Skipped::Nothing);
            }
            // What the product would be that is never built, nobody looks at.
            Template::Outer(_) => return Ok(Skipped::Rows),
            Template::Row(_) => return row::skipped(plan, bound, context),
        };
        match exact::are_zero_at_zeros(plan, bound, &values, context) {
            true => Ok(Skipped::Rows),
            false => Ok(Skipped::Nothing),
        }
    }
}

/// `None` where zeros turned out to meet what is not finite.
fn execute_skipping(
    plan: &CompiledPlan,
    inputs: &[Operand<'_>],
    bound: &Bound<'_>,
    skipped: Skipped,
    context: &ExecutionContext,
) -> Result<Option<Output>> {
    let interrupt = &context.interrupt.or_current();
    let replacements = driver::replacements(plan, bound, skipped)?;
    match replaced(inputs, &replacements)? {
        Some(operands) => run(plan, &plan.bind(&operands, interrupt)?, skipped, context),
        None => run(plan, bound, skipped, context),
    }
}

/// Copies of the ranges that the plan can't read in place, and compressed matrices whose rows are not decoded block by block;
/// nothing if there are none.
fn copied_inputs(plan: &CompiledPlan, inputs: &[Operand<'_>]) -> Result<Vec<Option<MatrixBlock>>> {
    let decodes = plan.plan().decodes_rows() && inputs.first().is_some_and(Operand::is_dense);
    let is_copied = |input: usize| match inputs[input] {
        Operand::Range(_) => !plan.plan().reads_ranges(input),
        Operand::Matrix(MatrixBlock::Compressed(_)) => {
            let binding = plan.plan().inputs.get(input);
            let by_rows = [Some(&InputBinding::Main), Some(&InputBinding::Matrix)];
            !decodes || !by_rows.contains(&binding)
        }
        Operand::Matrix(_) | Operand::Scalar(_) => false,
    };
    if !(0..inputs.len()).any(is_copied) {
        return Ok(Vec::new());
    }
    let copy = |(input, operand): (usize, &Operand<'_>)| match operand {
        Operand::Range(range) if is_copied(input) => Ok(Some(range.to_dense()?.into())),
        Operand::Matrix(matrix) if is_copied(input) => {
            matrix.plain().map(Cow::into_owned).map(Some)
        }
        _ => Ok(None),
    };
    inputs.iter().enumerate().map(copy).collect()
}

/// The operands, or what stands for them; `None` where nothing does.
fn replaced<'a>(
    inputs: &[Operand<'a>],
    replacements: &'a [Option<MatrixBlock>],
) -> Result<Option<Vec<Operand<'a>>>> {
    if replacements.is_empty() {
        return Ok(None);
    }
    let replaced = inputs.iter().zip(replacements);
    let operands = replaced
        .map(|(operand, replacement)| replacement.as_ref().map_or(*operand, Operand::Matrix));
    memory::collected(operands).map(Some)
}

fn run(
    plan: &CompiledPlan,
    bound: &Bound<'_>,
    skipped: Skipped,
    context: &ExecutionContext,
) -> Result<Option<Output>> {
    let skips = skipped != Skipped::Nothing;
    match &plan.plan().template {
        Template::Cell(template) => {
            let output = CellOutput::of(template);
            let is_scalar = matches!(output, CellOutput::Full(_));
            let skips = skips && template.sparse_safe;
            let result = cells(plan, bound, &output, skips, context)?;
            Ok(Some(if is_scalar { scalar(result) } else { result }))
        }
        Template::MultiAggregate(template) => {
            let ops = template.aggregates.iter().map(|(op, _)| *op).collect();
            let output = match template.direction {
                Direction::Full => CellOutput::Full(ops),
                Direction::Row => CellOutput::SeveralOfRows(ops),
                Direction::Col => CellOutput::Columns(ops),
            };
            let skips = skips && template.sparse_safe;
            cells(plan, bound, &output, skips, context).map(Some)
        }
        Template::Group(template) => group::run(plan, bound, template, context).map(Some),
        Template::Row(template) => row::run(plan, bound, template.output, context),
        Template::Outer(template) => outer::run(plan, bound, *template, context).map(Some),
    }
}

/// What becomes of the values of cells.
#[derive(Debug, Clone)]
enum CellOutput {
    /// A matrix of them.
    Map,
    /// A total per row, of the program's results: a column vector.
    Rows(AggregateOp),
    /// Totals per row of the cells that the program gives: a column for each.
    SeveralOfRows(Vec<AggregateOp>),
    /// Totals per column of the cells that the program gives: a row for each.
    Columns(Vec<AggregateOp>),
    /// Totals over all cells, one for each of the program's results: a column vector of them.
    Full(Vec<AggregateOp>),
}

impl CellOutput {
    fn of(template: &CellTemplate) -> Self {
        match template.aggregate {
            None => CellOutput::Map,
            Some((op, Direction::Row)) => CellOutput::Rows(op),
            Some((op, Direction::Col)) => CellOutput::Columns(vec![op]),
            Some((op, Direction::Full)) => CellOutput::Full(vec![op]),
        }
    }
}

fn cells(
    plan: &CompiledPlan,
    bound: &Bound<'_>,
    output: &CellOutput,
    skips_zeros: bool,
    context: &ExecutionContext,
) -> Result<Output> {
    match Driver::of(bound.main) {
        Some(driver) if skips_zeros => {
            let factors = Factors::default();
            sparse_cell::Skeleton::new(plan, bound, &factors, &driver)?.run(output, context)
        }
        _ => cell::run(plan, bound, output, context),
    }
}

/// Cells of a result, all zero.
fn zeros(rows: usize, cols: usize) -> Result<Vec<f64>> {
    cells_of(rows, cols).and_then(memory::zeros)
}

use fulgurite_matrix::memory::cells as cells_of;

fn column_vector(cells: Vec<f64>) -> Result<Output> {
    MatrixBlock::dense(cells.len(), 1, cells).map(Output::Matrix)
}

/// The only cell of a matrix.
fn scalar(output: Output) -> Output {
    match output {
        Output::Matrix(cell) => Output::Scalar(cell.get(0, 0)),
        scalar => scalar,
    }
}
