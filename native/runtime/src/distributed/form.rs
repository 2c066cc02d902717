//! The physical form in which workers run an operator: what becomes of operands that are not in the stripes that tasks run
//! on, and of tasks' results. The same decision, from what is known of operands, when a plan is explained and when it runs.

use std::fmt;

use fulgurite_fusion::cplan::CPlan;
use fulgurite_hop::Characteristics;
use serde::Serialize;

use super::{
    Composition, DistributedMatrix, LargeProduct, Output, RowWise, Slot,
    compositions::column_ranges, row_wise::Finish,
};
use crate::{Config, dataflow::Combine, interpreter::Variable};

/// What is known of an operand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) characteristics: Characteristics,
    pub(crate) bytes: Option<u64>,
    pub(crate) place: OperandPlace,
    /// The first operand that is the same matrix.
    pub(crate) first: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OperandPlace {
    /// No matrix.
    Scalar,
    Here,
    /// On the workers, in the stripes that tasks run on.
    InStripes,
    /// On the workers, in other stripes.
    Elsewhere,
}

impl Operand {
    /// What it is at run time, where tasks run on the stripes of `lead`.
    pub(super) fn all(inputs: &[Variable], lead: &DistributedMatrix) -> Vec<Operand> {
        let is_same = |left: &Variable, right: &Variable| match (left, right) {
            (Variable::Matrix(left), Variable::Matrix(right)) => left.is(right),
            (Variable::Distributed(left), Variable::Distributed(right)) => {
                left.dataset.id == right.dataset.id && left.transposed == right.transposed
            }
            _ => false,
        };
        let operands = inputs.iter().enumerate().map(|(number, input)| {
            let (bytes, place) = match input {
                Variable::Scalar(_) => (Some(0), OperandPlace::Scalar),
                // Operators see whole matrices.
                Variable::Written(_) => (None, OperandPlace::Elsewhere),
                Variable::Matrix(matrix) => (
                    Some(matrix.block().memory_bytes() as u64),
                    OperandPlace::Here,
                ),
                Variable::Distributed(matrix) => (
                    matrix.stripes.memory_bytes(),
                    match matrix.dataset.is_cut_as(&lead.dataset) {
                        true => OperandPlace::InStripes,
                        false => OperandPlace::Elsewhere,
                    },
                ),
            };
            let first = inputs.iter().position(|other| is_same(other, input));
            Operand {
                characteristics: input.characteristics(),
                bytes,
                place,
                first: first.unwrap_or(number),
            }
        });
        operands.collect()
    }

    /// Whether not every task can have all of it at once. What workers have goes through the driver.
    pub(super) fn is_too_large_to_send(&self, config: &Config) -> bool {
        let limit = match self.place {
            OperandPlace::Scalar => return false,
            OperandPlace::Here => config.memory_broadcast,
            OperandPlace::InStripes | OperandPlace::Elsewhere => through_driver(config),
        };
        self.bytes.is_none_or(|bytes| bytes > limit)
    }
}

/// Bytes that may come to the driver to be sent to every worker.
pub(super) fn through_driver(config: &Config) -> u64 {
    config.memory_broadcast.min(config.memory_local)
}

/// What an operator does beside going over stripes where they are. Operands are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Sent(usize),
    /// Rows of a matrix of the driver that is too large to be sent.
    Spread(usize),
    /// Shuffled to the stripes that tasks run on.
    Aligned(usize),
    /// The right one of two factors may not be sent whole.
    Product(LargeProduct),
    /// An outer product in so many ranges of columns, with a job for each.
    Ranges(u64),
    /// Rows are sent to their places in the result.
    Selected,
    /// Tasks' results are combined and come to the driver.
    Combined,
    /// Tasks' results are too large for the driver.
    CombinedByShuffle,
    Composed(&'static str),
}

/// How workers run an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Form(Vec<Step>);

impl Form {
    /// Of an operator that is cut by rows.
    pub(crate) fn of(
        plan: Option<&CPlan>,
        cut: &RowWise,
        (operands, product): (&[Operand], Option<LargeProduct>),
        result_bytes: Option<u64>,
        config: &Config,
    ) -> Self {
        let ranges = plan.and_then(|plan| column_ranges(plan, operands, config).ok().flatten());
        let in_ranges = |operand: usize| {
            let parts = ranges.as_ref().map(|ranges| &ranges.parts);
            parts.is_some_and(|parts| parts.get(operand).is_some_and(|part| part.is_sent()))
        };
        let mut steps = Vec::new();
        for (number, (slot, operand)) in cut.inputs.iter().zip(operands).enumerate() {
            let is_again = cut
                .inputs
                .iter()
                .zip(operands)
                .take(number)
                .any(|(other, known)| known.first == operand.first && other == slot);
            let is_vector = operand.characteristics.rows == Some(1);
            match (slot, operand.place) {
                _ if is_again || in_ranges(number) => {}
                (_, OperandPlace::Scalar) => {}
                (Slot::Rows | Slot::Columns, OperandPlace::InStripes) => {}
                (Slot::Rows | Slot::Columns, OperandPlace::Elsewhere) => {
                    steps.push(Step::Aligned(number));
                }
                (Slot::Rows | Slot::Columns, OperandPlace::Here)
                    if !is_vector && operand.is_too_large_to_send(config) =>
                {
                    steps.push(Step::Spread(number));
                }
                (Slot::Whole, _) if product.is_some() => {
                    steps.extend(product.map(Step::Product));
                }
                _ => steps.push(Step::Sent(number)),
            }
        }
        if let Some(columns) = &ranges {
            steps.push(Step::Ranges(columns.ranges.len() as u64));
        }
        if let Output::Aggregate {
            combine, finish, ..
        } = &cut.output
        {
            let is_sum = *combine == Combine::Sum && *finish == Finish::Nothing;
            let is_large = result_bytes.is_some_and(|bytes| bytes > config.memory_local);
            steps.push(match is_sum && is_large {
                true => Step::CombinedByShuffle,
                false => Step::Combined,
            });
        }
        Form(steps)
    }

    /// Of a product with a matrix that selects rows.
    pub(crate) fn of_selection() -> Self {
        Form(vec![Step::Selected])
    }

    /// Whether all of the result is at the driver, though its rows are those of an operand on the workers.
    pub(crate) fn brings_result(&self) -> bool {
        let is_brought = |step: &Step| {
            let form = match step {
                Step::Product(form) => Some(form),
                _ => None,
            };
            matches!(
                form,
                Some(LargeProduct::Cpmm {
                    result_comes_here: true
                })
            )
        };
        self.0.iter().any(is_brought)
    }

    pub(crate) fn of_composition(composition: Composition) -> Self {
        Form(vec![Step::Composed(composition.form())])
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(", ")?;
            }
            step.fmt(f)?;
        }
        if self.0.is_empty() {
            f.write_str("stripe by stripe")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Sent(operand) => write!(f, "operand {} sent", operand + 1),
            Step::Spread(operand) => write!(f, "operand {} spread and shuffled", operand + 1),
            Step::Aligned(operand) => write!(f, "operand {} shuffled", operand + 1),
            Step::Product(product) => product.fmt(f),
            Step::Ranges(count) => write!(f, "right factor sent in {count} ranges"),
            Step::Selected => f.write_str("rows sent to their places"),
            Step::Combined => f.write_str("parts combined"),
            Step::CombinedByShuffle => f.write_str("parts combined by a shuffle"),
            Step::Composed(text) => f.write_str(text),
        }
    }
}

impl Serialize for Form {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
