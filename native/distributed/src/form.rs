//! In what form workers run an operator: what becomes of operands that are not in the stripes that tasks run on, and of
//! tasks' results. The same decision, from what is known of operands, when a plan is explained and when it runs.

use fulgurite_config::Config;
use fulgurite_dataflow::{Combine, Form, LargeProduct, Step};
use fulgurite_fusion::cplan::CPlan;

use super::{
    compositions::column_ranges,
    operand::{Operand, OperandPlace},
    row_wise::{Finish, Output, RowWise, Slot},
};

/// The form of an operator that is cut by rows.
pub fn form(
    plan: Option<&CPlan>,
    cut: &RowWise,
    (operands, product): (&[Operand], Option<LargeProduct>),
    result_bytes: Option<u64>,
    config: &Config,
) -> Form {
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
    Form::new(steps)
}
