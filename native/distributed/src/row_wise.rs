//! How operators are cut by rows.
//!
//! A row-wise operator sees, in each task, one stripe of its row-aligned inputs and all of its other ones. Its
//! result is either the stripe's rows of the output, or a part of an aggregate that combines cell by cell.
//! [`row_wise`] decides from the operator and its inputs' sizes alone.

use std::collections::BTreeMap;

use fulgurite_dataflow::Combine;
use fulgurite_fusion::cplan::{
    CPlan, GroupTemplate, InputBinding, MultiAggregateTemplate, OuterOutput, RowOutput, Template,
};
use fulgurite_hop::{AggregateOp, Direction, HopOp, Literal};

use super::{
    input::{InputFacts, InputPlace},
    registry::{self, Cut, StripeParts},
};

/// How an operator is cut.
#[derive(Debug, Clone, PartialEq)]
pub struct RowWise {
    /// For each input, what a task sees of it.
    pub inputs: Vec<Slot>,
    pub output: Output,
}

impl RowWise {
    /// Whether tasks see columns of the first operand.
    pub fn cuts_left_operand_by_columns(&self) -> bool {
        self.inputs.first() == Some(&Slot::Columns)
    }
}

/// What a task sees of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slot {
    /// The rows of its stripe.
    Rows,
    /// The columns that go with the rows of its stripe: the left operand of a product. It is cut by the rows
    /// of its transpose.
    Columns,
    /// All of it.
    Whole,
    Scalar,
    /// A row bound of an index over all rows: becomes the stripe's own first or last row.
    FirstRow,
    LastRow,
}

/// What the results of tasks are.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// The same rows of the result.
    Rows,
    Aggregate {
        combine: Combine,
        /// What tasks run in place of the operator.
        partial: Partial,
        finish: Finish,
    },
}

/// The operator that a task runs to get a part of an aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum Partial {
    Same,
    Operator(HopOp),
    Plan(CPlan),
    /// Rows, means and squared deviations of the columns.
    Moments,
}

/// What becomes of the combined parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    Nothing,
    /// A mean: the sum over rows, divided by their number.
    DivideByRows,
    /// A mean: the sum over all cells, divided by their number.
    DivideByCells,
    /// Variances from moments, or their roots.
    Variance {
        direction: Direction,
        root: bool,
    },
}

/// How the operator can be cut by rows; `None` where it can't, or not along the stripes that its inputs have.
pub fn row_wise(op: &HopOp, plan: Option<&CPlan>, inputs: &[InputFacts]) -> Option<RowWise> {
    let cut = cut(op, plan, inputs)?;
    let along_stripes = cut
        .inputs
        .iter()
        .zip(inputs)
        .all(|(slot, input)| match input.place {
            InputPlace::Local => true,
            InputPlace::Stripes => *slot != Slot::Columns,
            InputPlace::TransposedStripes => *slot == Slot::Columns,
        });
    along_stripes.then_some(cut)
}

fn cut(op: &HopOp, plan: Option<&CPlan>, inputs: &[InputFacts]) -> Option<RowWise> {
    match registry::forms(op, inputs).cut()? {
        Cut::CellWise | Cut::SideBySide => side_by_side(inputs),
        Cut::RowAggregate => Some(RowWise {
            inputs: vec![Slot::Rows],
            output: Output::Rows,
        }),
        Cut::Aggregate(parts, direction) => Some(RowWise {
            inputs: vec![Slot::Rows],
            output: aggregated(parts, direction, || {
                Partial::Operator(registry::sum(direction))
            }),
        }),
        Cut::Product => matrix_product(inputs),
        Cut::Columns => columns(inputs),
        Cut::Fused => fused(plan?),
        Cut::Named { rows, whole } => named(rows, whole, op.with_named_inputs()?.1, inputs),
    }
}

/// Cell-wise operators and `cbind`: operands with the output's rows are cut, row vectors and single cells
/// are not.
fn side_by_side(inputs: &[InputFacts]) -> Option<RowWise> {
    let rows = inputs
        .iter()
        .filter(|input| !input.is_scalar())
        .map(|input| input.characteristics.rows)
        .try_fold(0, |most, rows| Some(rows?.max(most)))?;
    let slots = inputs
        .iter()
        .map(|input| match input.characteristics.rows {
            _ if input.is_scalar() => Some(Slot::Scalar),
            Some(own) if own == rows => Some(Slot::Rows),
            Some(1) => Some(Slot::Whole),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?;
    Some(RowWise {
        inputs: slots,
        output: Output::Rows,
    })
}

/// A product is cut by the rows of the left operand or by the dimension that is summed over: as the operands
/// are cut already, else the way that sends less.
fn matrix_product(inputs: &[InputFacts]) -> Option<RowWise> {
    let [left, right] = inputs else { return None };
    let (left, right) = (left.characteristics, right.characteristics);
    let (rows, common, cols) = (left.rows?, right.rows?, right.cols?);
    let by_rows = RowWise {
        inputs: vec![Slot::Rows, Slot::Whole],
        output: Output::Rows,
    };
    let by_common = RowWise {
        inputs: vec![Slot::Columns, Slot::Rows],
        output: Output::Aggregate {
            combine: Combine::Sum,
            partial: Partial::Same,
            finish: Finish::Nothing,
        },
    };
    // Cutting by the common dimension gives every task a whole result, cutting by rows the whole right operand.
    let sends_less = || {
        let whole_result = u128::from(rows) * u128::from(cols);
        let whole_right = u128::from(common) * u128::from(cols);
        whole_result < whole_right
    };
    match (inputs[0].place, inputs[1].place) {
        (InputPlace::Stripes, _) => Some(by_rows),
        (InputPlace::TransposedStripes, _) | (InputPlace::Local, InputPlace::Stripes) => {
            Some(by_common)
        }
        (InputPlace::Local, InputPlace::TransposedStripes) => None,
        (InputPlace::Local, InputPlace::Local) => {
            Some(if sends_less() { by_common } else { by_rows })
        }
    }
}

/// An index over all rows: a range of columns.
fn columns(inputs: &[InputFacts]) -> Option<RowWise> {
    let [matrix, first, last, _, _] = inputs else {
        return None;
    };
    let bound = |input: &InputFacts| input.scalar.and_then(Literal::as_f64);
    let all_rows = bound(first)? == 1.0 && bound(last)? == matrix.characteristics.rows? as f64;
    all_rows.then(|| RowWise {
        inputs: vec![
            Slot::Rows,
            Slot::FirstRow,
            Slot::LastRow,
            Slot::Scalar,
            Slot::Scalar,
        ],
        output: Output::Rows,
    })
}

/// Cell-wise operators with named inputs, of which `rows` is cut.
fn named(
    rows: &str,
    whole: Option<&str>,
    places: &BTreeMap<String, usize>,
    inputs: &[InputFacts],
) -> Option<RowWise> {
    let mut slots = vec![Slot::Scalar; inputs.len()];
    *slots.get_mut(*places.get(rows)?)? = Slot::Rows;
    if let Some(whole) = whole {
        *slots.get_mut(*places.get(whole)?)? = Slot::Whole;
    }
    Some(RowWise {
        inputs: slots,
        output: Output::Rows,
    })
}

fn fused(plan: &CPlan) -> Option<RowWise> {
    let mut inputs: Vec<Slot> = plan
        .inputs
        .iter()
        .map(|binding| match binding {
            InputBinding::Main
            | InputBinding::Matrix
            | InputBinding::ColumnVector
            | InputBinding::LeftFactor => Slot::Rows,
            InputBinding::RowVector | InputBinding::Whole | InputBinding::RightFactor => {
                Slot::Whole
            }
            InputBinding::Scalar => Slot::Scalar,
        })
        .collect();
    let with_aggregate = |replace: &dyn Fn(AggregateOp, &mut CPlan), op, direction| {
        let parts = registry::stripe_parts(op).ok()?;
        let sums = || {
            let mut plan = plan.clone();
            replace(registry::SUM_OF_MEAN, &mut plan);
            Partial::Plan(plan)
        };
        match parts {
            StripeParts::Combine(_) | StripeParts::Mean => Some(aggregated(parts, direction, sums)),
            // Plans don't give moments.
            StripeParts::Moments { .. } => None,
        }
    };
    let output = match &plan.template {
        Template::MultiAggregate(several) => several_aggregates(several)?,
        Template::Group(group) => sums_by_groups(group)?,
        Template::Outer(outer) => match outer.output {
            OuterOutput::NoAggregate | OuterOutput::RightMultiply { .. } => Output::Rows,
            OuterOutput::LeftMultiply { input } => {
                // t(f) %*% W sums over rows, of which each task has its stripe's.
                *inputs.get_mut(input)? = Slot::Rows;
                Output::Aggregate {
                    combine: Combine::Sum,
                    partial: Partial::Same,
                    finish: Finish::Nothing,
                }
            }
            // The number of cells under a mean is that of the driver, which need not be the largest input.
            OuterOutput::FullAggregate(op) => Output::Aggregate {
                combine: cell_by_cell(op)?,
                partial: Partial::Same,
                finish: Finish::Nothing,
            },
        },
        Template::Cell(cell) => match cell.aggregate {
            None | Some((_, Direction::Row)) => Output::Rows,
            Some((op, direction)) => with_aggregate(
                &|partial, plan| {
                    if let Template::Cell(cell) = &mut plan.template {
                        cell.aggregate = Some((partial, direction));
                    }
                },
                op,
                direction,
            )?,
        },
        Template::Row(row) => match row.output {
            RowOutput::NoAggregate(_) | RowOutput::RowAggregate(_) => Output::Rows,
            RowOutput::OuterProduct { .. } => Output::Aggregate {
                combine: Combine::Sum,
                partial: Partial::Same,
                finish: Finish::Nothing,
            },
            RowOutput::ColumnAggregate(op, node) => with_aggregate(
                &|partial, plan| {
                    if let Template::Row(row) = &mut plan.template {
                        row.output = RowOutput::ColumnAggregate(partial, node);
                    }
                },
                op,
                Direction::Col,
            )?,
            RowOutput::FullAggregate(op, node) => with_aggregate(
                &|partial, plan| {
                    if let Template::Row(row) = &mut plan.template {
                        row.output = RowOutput::FullAggregate(partial, node);
                    }
                },
                op,
                // Of a scalar for each row: a mean is divided by their number.
                Direction::Col,
            )?,
        },
    };
    Some(RowWise { inputs, output })
}

/// Aggregates of rows are those of the stripe's rows. Parts of several others combine row by row, if each can be had in
/// parts without another one.
fn several_aggregates(template: &MultiAggregateTemplate) -> Option<Output> {
    if template.direction == Direction::Row {
        return Some(Output::Rows);
    }
    let combines = template.aggregates.iter().map(|(op, _)| cell_by_cell(*op));
    Some(Output::Aggregate {
        combine: Combine::ByRow(combines.collect::<Option<_>>()?),
        partial: Partial::Same,
        finish: Finish::Nothing,
    })
}

/// Sums by groups add up. Other aggregates of stripes have zeros for groups that have no rows there.
fn sums_by_groups(template: &GroupTemplate) -> Option<Output> {
    let mut combines = template.aggregates.iter().map(|(op, _)| cell_by_cell(*op));
    let are_sums = combines.all(|combine| combine == Some(Combine::Sum));
    are_sums.then_some(Output::Aggregate {
        combine: Combine::Sum,
        partial: Partial::Same,
        finish: Finish::Nothing,
    })
}

/// How the same aggregates of stripes combine cell by cell.
fn cell_by_cell(op: AggregateOp) -> Option<Combine> {
    match registry::stripe_parts(op) {
        Ok(StripeParts::Combine(combine)) => Some(combine),
        Ok(StripeParts::Mean | StripeParts::Moments { .. }) | Err(_) => None,
    }
}

/// How aggregates of stripes become one; `sums` is what tasks run where they give sums instead.
fn aggregated(parts: StripeParts, direction: Direction, sums: impl FnOnce() -> Partial) -> Output {
    match parts {
        StripeParts::Combine(combine) => Output::Aggregate {
            combine,
            partial: Partial::Same,
            finish: Finish::Nothing,
        },
        StripeParts::Mean => Output::Aggregate {
            combine: Combine::Sum,
            partial: sums(),
            finish: match direction {
                Direction::Col => Finish::DivideByRows,
                Direction::Full | Direction::Row => Finish::DivideByCells,
            },
        },
        StripeParts::Moments { root } => Output::Aggregate {
            combine: Combine::Moments,
            partial: Partial::Moments,
            finish: Finish::Variance { direction, root },
        },
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_hop::{BinaryOp, Characteristics};

    use super::*;

    fn matrix(rows: u64, cols: u64) -> InputFacts<'static> {
        InputFacts {
            characteristics: Characteristics::dims(rows, cols),
            scalar: None,
            place: InputPlace::Local,
        }
    }

    #[test]
    fn operands_with_all_rows_are_cut_and_row_vectors_are_not() {
        let cut = |inputs: &[InputFacts]| {
            row_wise(&HopOp::Binary(BinaryOp::Plus), None, inputs).map(|cut| cut.inputs)
        };
        assert_eq!(
            cut(&[matrix(100, 5), matrix(1, 5)]),
            Some(vec![Slot::Rows, Slot::Whole])
        );
        assert_eq!(
            cut(&[matrix(100, 1), matrix(100, 5)]),
            Some(vec![Slot::Rows, Slot::Rows])
        );
        assert_eq!(cut(&[matrix(100, 5), matrix(7, 5)]), None);
    }

    #[test]
    fn products_follow_the_stripes_else_send_less() {
        let cut =
            |left, right| row_wise(&HopOp::MatMult, None, &[left, right]).map(|cut| cut.inputs);
        let tall = (matrix(1000, 10), matrix(10, 3));
        assert_eq!(cut(tall.0, tall.1), Some(vec![Slot::Rows, Slot::Whole]));
        let summed = (matrix(10, 1000), matrix(1000, 3));
        assert_eq!(
            cut(summed.0, summed.1),
            Some(vec![Slot::Columns, Slot::Rows])
        );
        let striped = InputFacts {
            place: InputPlace::Stripes,
            ..summed.0
        };
        assert_eq!(cut(striped, summed.1), Some(vec![Slot::Rows, Slot::Whole]));
    }

    #[test]
    fn means_are_sums_divided_and_variances_moments() {
        let aggregate =
            |op, direction| row_wise(&HopOp::Aggregate(op, direction), None, &[matrix(1000, 10)]);
        let variance = aggregate(AggregateOp::Sd, Direction::Col).map(|cut| cut.output);
        assert_eq!(
            variance,
            Some(Output::Aggregate {
                combine: Combine::Moments,
                partial: Partial::Moments,
                finish: Finish::Variance {
                    direction: Direction::Col,
                    root: true
                }
            })
        );
        let by_rows = aggregate(AggregateOp::Var, Direction::Row).map(|cut| cut.output);
        assert_eq!(by_rows, Some(Output::Rows));
        let mean = aggregate(AggregateOp::Mean, Direction::Col).map(|cut| cut.output);
        assert_eq!(
            mean,
            Some(Output::Aggregate {
                combine: Combine::Sum,
                partial: Partial::Operator(HopOp::Aggregate(AggregateOp::Sum, Direction::Col)),
                finish: Finish::DivideByRows
            })
        );
    }
}
