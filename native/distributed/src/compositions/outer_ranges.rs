//! Outer operators whose right factor is too large to be sent whole: they run for one range of the driver's columns after
//! the other, with the rows of the right factor that go with it. `U %*% t(V)` is held nowhere, and nothing is shuffled.

use std::ops::Range;

use fulgurite_config::Config;
use fulgurite_dataflow::{
    Assemble, Combine, DistributedMatrix, LocalMatrix, Pieces, Variable, Whole,
};
use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CPlan, InputBinding, OuterOutput, Template};
use fulgurite_hop::{Characteristics, Formulas, HopId};
use fulgurite_matrix::{
    MatrixBlock,
    kernels::{self, IndexRange},
};
use fulgurite_worker::combine;

use super::{rows, size};
use crate::{
    operand::{Operand, OperandPlace},
    operator::{Operator, aggregate_value},
    registry::ONLY_FUSED,
    row_wise::{Output, RowWise, Slot},
    sizes::through_driver,
    task_builder::TaskBuilder,
    workers::{Rows, Workers},
};

/// What a task sees of an input while it goes over a range of the driver's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SeenPart {
    /// The range's columns of its stripe.
    Columns,
    /// The rows of its stripe.
    Rows,
    /// The rows with the numbers of the range's columns, which are sent to all tasks.
    SentRows,
    /// The range's columns of a row vector, which are sent to all tasks.
    SentColumns,
    Scalar,
}

impl SeenPart {
    /// `multiplied` is the input with which f is multiplied from the right.
    fn of(input: usize, binding: InputBinding, multiplied: Option<usize>) -> Self {
        match binding {
            InputBinding::Main | InputBinding::Matrix => SeenPart::Columns,
            InputBinding::LeftFactor | InputBinding::ColumnVector => SeenPart::Rows,
            InputBinding::RightFactor => SeenPart::SentRows,
            InputBinding::RowVector => SeenPart::SentColumns,
            InputBinding::Whole if multiplied == Some(input) => SeenPart::SentRows,
            // t(f) is multiplied with rows that go with the driver's.
            InputBinding::Whole => SeenPart::Rows,
            InputBinding::Scalar => SeenPart::Scalar,
        }
    }

    pub(crate) fn is_sent(self) -> bool {
        matches!(self, SeenPart::SentRows | SeenPart::SentColumns)
    }
}

/// An Outer operator cut into ranges of the driver's columns.
#[derive(Debug)]
pub(crate) struct ColumnRanges {
    /// What tasks see of each input.
    pub parts: Vec<SeenPart>,
    /// The columns, from 0, that tasks go over one after the other.
    pub ranges: Vec<Range<u64>>,
}

/// How an Outer operator is cut into ranges of columns; `None` for other operators, and for those of which all that every task
/// needs may be sent at once.
///
/// # Errors
/// `memory`, where not even what goes with one column may be sent.
pub(crate) fn column_ranges(
    plan: &CPlan,
    operands: &[Operand],
    config: &Config,
) -> Result<Option<ColumnRanges>> {
    let Template::Outer(template) = &plan.template else {
        return Ok(None);
    };
    let multiplied = match template.output {
        OuterOutput::RightMultiply { input } => Some(input),
        _ => None,
    };
    let bindings = plan.inputs.iter().enumerate();
    let parts: Vec<SeenPart> = bindings
        .map(|(input, binding)| SeenPart::of(input, *binding, multiplied))
        .collect();
    // V of U %*% t(V) may also be what f is multiplied with: it is sent once.
    let sent: Vec<(&Operand, SeenPart)> = operands
        .iter()
        .zip(&parts)
        .enumerate()
        .filter(|(number, (operand, part))| {
            let is_known = parts.get(operand.first) == Some(part) && operand.first < *number;
            part.is_sent() && operand.place != OperandPlace::Scalar && !is_known
        })
        .map(|(_, (operand, part))| (operand, *part))
        .collect();
    let together = sent.iter().fold(0u64, |bytes, (operand, _)| {
        bytes.saturating_add(operand.bytes.unwrap_or(u64::MAX))
    });
    let is_large = |(operand, _): &(&Operand, SeenPart)| operand.is_too_large_to_send(config);
    if !sent.iter().any(is_large) && together <= config.memory_broadcast {
        return Ok(None);
    }
    let cells_of_column = sent.iter().fold(0u64, |cells, (operand, part)| {
        cells.saturating_add(match part {
            SeenPart::SentRows => operand.characteristics.cols.unwrap_or(u64::MAX),
            _ => 1,
        })
    });
    let bytes_of_column = cells_of_column.saturating_mul(8).max(1);
    let limit = through_driver(config);
    if bytes_of_column > limit {
        return Err(Error::memory(format!(
            "for each column of an outer product every task needs {bytes_of_column} bytes of its right factor, which \
             may be sent up to {limit} bytes at a time"
        ))
        .with_help("raise fulgurite.memory.broadcast and fulgurite.memory.local"));
    }
    let factor = parts.iter().position(|part| *part == SeenPart::SentRows);
    let cols = factor
        .and_then(|factor| operands.get(factor)?.characteristics.rows)
        .ok_or_else(|| Error::internal("an Outer operator without a right factor"))?;
    let every = limit / bytes_of_column;
    let ranges = (0..cols.div_ceil(every))
        .map(|number| number * every..cols.min((number + 1).saturating_mul(every)))
        .collect();
    Ok(Some(ColumnRanges { parts, ranges }))
}

/// How an Outer operator runs by ranges of columns.
pub(crate) struct OuterRanges<'a> {
    workers: &'a Workers<'a>,
    operator: &'a Operator<'a>,
    plan: &'a CPlan,
    output: OuterOutput,
    inputs: &'a [Variable],
    parts: Vec<SeenPart>,
    /// For each input the first one that is the same matrix.
    first: Vec<usize>,
    ranges: Vec<Range<u64>>,
}

impl<'a> OuterRanges<'a> {
    /// `None` for other operators, and for those of which all that every task needs may be sent at once.
    ///
    /// # Errors
    /// As [`column_ranges`].
    pub(crate) fn of(
        workers: &'a Workers<'a>,
        operator: &'a Operator<'a>,
        inputs: &'a [Variable],
        operands: &[Operand],
    ) -> Result<Option<Self>> {
        let Some(plan) = operator.plan else {
            return Ok(None);
        };
        let Template::Outer(template) = &plan.template else {
            return Ok(None);
        };
        let ranges = column_ranges(plan, operands, workers.config)?;
        Ok(ranges.map(|ColumnRanges { parts, ranges }| OuterRanges {
            workers,
            operator,
            plan,
            output: template.output,
            inputs,
            parts,
            first: operands.iter().map(|operand| operand.first).collect(),
            ranges,
        }))
    }

    /// Runs the operator for all ranges, `lead` being in the stripes that tasks run on.
    ///
    /// # Errors
    /// Of the operator and the backend.
    pub(crate) fn run(&self, cut: &RowWise, lead: &DistributedMatrix) -> Result<Variable> {
        // Each range reads them: what is not kept would be computed once for each.
        lead.dataset.persist()?;
        for (input, part) in self.inputs.iter().zip(&self.parts) {
            if let (Variable::Distributed(matrix), false) = (input, part.is_sent()) {
                matrix.dataset.persist()?;
            }
        }
        match (self.output, &cut.output) {
            (OuterOutput::FullAggregate(_), Output::Aggregate { combine, .. }) => {
                self.full_aggregate(lead, combine)
            }
            (OuterOutput::LeftMultiply { .. }, _) => self.left_multiply(lead),
            (OuterOutput::RightMultiply { .. }, _) => self.right_multiply(lead),
            (OuterOutput::NoAggregate, _) => self.side_by_side(lead),
            (OuterOutput::FullAggregate(_), Output::Rows) => {
                Err(Error::internal("a full aggregate was cut by rows"))
            }
        }
    }

    /// The aggregates of all ranges, combined.
    fn full_aggregate(&self, lead: &DistributedMatrix, how: &Combine) -> Result<Variable> {
        let label = self.operator.label;
        let mut all: Option<MatrixBlock> = None;
        for range in &self.ranges {
            let (builder, root) = self.task(lead, range)?;
            let part = builder.aggregate(root, how, label)?;
            all = Some(match all {
                Some(before) => combine(how, &before, &part)?,
                None => part,
            });
        }
        let all = all.ok_or_else(no_ranges)?;
        aggregate_value(self.operator.hop, all)
    }

    /// f %*% W is the sum of what the ranges give, which stays in the stripes.
    fn right_multiply(&self, lead: &DistributedMatrix) -> Result<Variable> {
        let mut sum: Option<DistributedMatrix> = None;
        for range in &self.ranges {
            let (mut builder, mut root) = self.task(lead, range)?;
            if let Some(sum) = sum {
                let before = builder.bind(Slot::Rows, &Variable::Distributed(sum))?;
                root = builder.plus(before, root);
            }
            let dataset = builder.map(root, self.operator.label)?;
            // Run now: neither what was sent nor the former sum is needed any more.
            dataset.persist()?;
            sum = Some(DistributedMatrix::new(dataset, self.stripes(lead)));
        }
        Ok(Variable::Distributed(sum.ok_or_else(no_ranges)?))
    }

    /// The rows of t(f) %*% W that go with a range are a sum over all stripes.
    fn left_multiply(&self, lead: &DistributedMatrix) -> Result<Variable> {
        let label = self.operator.label;
        if !self.workers.is_too_large_for_driver(self.operator.hop) {
            let mut below = Vec::new();
            for range in &self.ranges {
                let (builder, root) = self.task(lead, range)?;
                below.push(builder.aggregate(root, &Combine::Sum, label)?);
            }
            let below: Vec<&MatrixBlock> = below.iter().collect();
            return Ok(Variable::matrix(kernels::rbind(&below)?));
        }
        let every = self.workers.config.blocksize;
        let mut below = Vec::new();
        for range in &self.ranges {
            let (builder, root) = self.task(lead, range)?;
            let pieces = Pieces::Rows {
                every,
                skip_zeros: true,
            };
            let targets = (range.end - range.start).div_ceil(every);
            let assemble = Assemble::Combined(Combine::Sum);
            let stripes = builder.shuffle(root, pieces, targets, assemble, label)?;
            below.push(self.workers.placed(&stripes)?);
        }
        let below: Vec<Rows> = below
            .iter()
            .zip(&self.ranges)
            .map(|(of, range)| Rows {
                of,
                from: 0,
                until: range.end - range.start,
            })
            .collect();
        self.workers.concatenate(&below).map(Variable::Distributed)
    }

    /// The cells of f for all ranges.
    fn side_by_side(&self, lead: &DistributedMatrix) -> Result<Variable> {
        let mut found = Vec::new();
        for range in &self.ranges {
            let (builder, root) = self.task(lead, range)?;
            let dataset = builder.map(root, self.operator.label)?;
            // Run now: what was sent for one range is gone before that of the next one comes.
            dataset.persist()?;
            let cols = Some(range.end - range.start);
            let stripes = Characteristics::new(lead.stripes.rows, cols, None);
            found.push(Variable::Distributed(DistributedMatrix::new(
                dataset, stripes,
            )));
        }
        let mut builder = TaskBuilder::new(self.workers, lead);
        let found = found
            .iter()
            .map(|cells| builder.bind(Slot::Rows, cells))
            .collect::<Result<Vec<HopId>>>()?;
        let root = builder.side_by_side(found);
        let dataset = builder.map(root, self.operator.label)?;
        Ok(Variable::Distributed(DistributedMatrix::new(
            dataset,
            self.stripes(lead),
        )))
    }

    fn stripes(&self, lead: &DistributedMatrix) -> Characteristics {
        let Characteristics { cols, nnz, .. } = self.operator.hop.characteristics;
        Characteristics::new(lead.stripes.rows, cols, nnz)
    }

    /// The operator on a range of columns.
    fn task<'b>(
        &'b self,
        lead: &'b DistributedMatrix,
        range: &Range<u64>,
    ) -> Result<(TaskBuilder<'b>, HopId)> {
        let mut builder = TaskBuilder::new(self.workers, lead);
        let mut sent: Vec<Option<Variable>> = vec![None; self.inputs.len()];
        let mut operands = Vec::new();
        for (number, (input, part)) in self.inputs.iter().zip(&self.parts).enumerate() {
            operands.push(match part {
                SeenPart::Rows => builder.bind(Slot::Rows, input)?,
                SeenPart::Scalar => builder.bind(Slot::Scalar, input)?,
                SeenPart::Columns => {
                    let stripe = builder.bind(Slot::Rows, input)?;
                    let (first, last) = (builder.int(range.start + 1), builder.int(range.end));
                    builder.columns(stripe, first, last)
                }
                SeenPart::SentRows | SeenPart::SentColumns => {
                    let first = self.first[number];
                    let known = sent[first].clone().filter(|_| self.parts[first] == *part);
                    let piece = match known {
                        Some(piece) => piece,
                        None => Variable::Matrix(self.part_here(input, *part, range)?),
                    };
                    sent[number] = Some(piece.clone());
                    builder.bind(Slot::Whole, &piece)?
                }
            });
        }
        let mut hop = self.operator.hop.clone();
        hop.op = ONLY_FUSED;
        hop.inputs = operands;
        hop.characteristics = match hop.is_scalar() {
            true => Characteristics::SCALAR,
            false => Characteristics::UNKNOWN,
        };
        builder.plan = Some(self.plan.clone());
        let root = builder.dag.push(hop);
        Ok((builder, root))
    }

    /// What is sent of an input for a range.
    fn part_here(
        &self,
        input: &Variable,
        part: SeenPart,
        range: &Range<u64>,
    ) -> Result<LocalMatrix> {
        let known = input.characteristics();
        let all = |size_of: Option<u64>| size(size_of).map(|size| 0..size);
        let (rows, cols) = match part {
            SeenPart::SentColumns => (all(known.rows)?, range.clone()),
            _ => (range.clone(), all(known.cols)?),
        };
        match input.whole()? {
            Whole::Distributed(matrix) => {
                rows::range_of(self.workers, self.operator.label, matrix, rows, cols)?.collect()
            }
            Whole::Matrix(matrix) => {
                let (rows, cols) = (IndexRange::from_zero(&rows), IndexRange::from_zero(&cols));
                let part = kernels::right_index(matrix.block(), rows, cols)?;
                Ok(LocalMatrix::new(part))
            }
            Whole::Scalar(_) => Err(Error::internal(
                "a scalar stands where a factor of an outer product is sent",
            )),
        }
    }
}

fn no_ranges() -> Error {
    Error::internal("an outer product without columns")
}
