//! Which operators can be cut by rows, and how: the one place that says what runs on stripes.
//!
//! A row-wise operator sees, in each task, one stripe of its row-aligned inputs and all of its other ones. Its
//! result is either the stripe's rows of the output, or a part of an aggregate that combines cell by cell.
//! [`row_wise`] decides from the operator and its inputs' sizes alone.

use std::collections::BTreeMap;

use fulgurite_dataflow::Combine;
use fulgurite_fusion::cplan::{
    CPlan, InputBinding, MultiAggregateTemplate, OuterOutput, RowOutput, Template,
};
use fulgurite_hop::{AggregateOp, Characteristics, Direction, HopOp, Literal, ParameterizedOp};

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

/// What is known of an input.
#[derive(Debug, Clone, Copy)]
pub struct InputFacts<'a> {
    pub characteristics: Characteristics,
    /// The scalar that it is.
    pub scalar: Option<&'a Literal>,
    pub place: InputPlace,
}

/// Where an input is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputPlace {
    Local,
    Stripes,
    /// In stripes of its transpose.
    TransposedStripes,
}

impl InputFacts<'_> {
    pub(super) fn is_scalar(&self) -> bool {
        self.scalar.is_some()
    }

    /// The same input, with a transpose in stripes of its own.
    pub fn in_stripes(&self) -> Self {
        let place = match self.place {
            InputPlace::TransposedStripes => InputPlace::Stripes,
            place => place,
        };
        InputFacts { place, ..*self }
    }
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
    match op {
        HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) | HopOp::CBind => {
            side_by_side(inputs)
        }
        HopOp::Aggregate(_, Direction::Row) => Some(RowWise {
            inputs: vec![Slot::Rows],
            output: Output::Rows,
        }),
        HopOp::Aggregate(aggregate @ (AggregateOp::Var | AggregateOp::Sd), direction) => {
            Some(RowWise {
                inputs: vec![Slot::Rows],
                output: Output::Aggregate {
                    combine: Combine::Moments,
                    partial: Partial::Moments,
                    finish: Finish::Variance {
                        direction: *direction,
                        root: *aggregate == AggregateOp::Sd,
                    },
                },
            })
        }
        HopOp::Aggregate(aggregate, direction) => {
            let (partial, output) = aggregated(*aggregate, *direction)?;
            Some(RowWise {
                inputs: vec![Slot::Rows],
                output: output(match partial {
                    Some(partial) => Partial::Operator(HopOp::Aggregate(partial, *direction)),
                    None => Partial::Same,
                }),
            })
        }
        HopOp::MatMult => matrix_product(inputs),
        HopOp::RightIndex => columns(inputs),
        HopOp::Fused(_) => fused(plan?),
        HopOp::Parameterized(op, places) => parameterized(*op, places, inputs),
        _ => None,
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

/// Cell-wise operators with named inputs.
fn parameterized(
    op: ParameterizedOp,
    places: &BTreeMap<String, usize>,
    inputs: &[InputFacts],
) -> Option<RowWise> {
    let (rows, whole) = match op {
        ParameterizedOp::Replace => ("target", None),
        ParameterizedOp::Outer => ("left", Some("right")),
        _ => return None,
    };
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
        let (partial, output) = aggregated(op, direction)?;
        Some(output(match partial {
            Some(partial) => {
                let mut plan = plan.clone();
                replace(partial, &mut plan);
                Partial::Plan(plan)
            }
            None => Partial::Same,
        }))
    };
    let output = match &plan.template {
        Template::MultiAggregate(several) => several_aggregates(several)?,
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
            OuterOutput::FullAggregate(AggregateOp::Mean) => return None,
            OuterOutput::FullAggregate(op) => {
                let (_, output) = aggregated(op, Direction::Full)?;
                output(Partial::Same)
            }
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

/// Parts of several aggregates combine row by row, if each can be had in parts without another one.
fn several_aggregates(template: &MultiAggregateTemplate) -> Option<Output> {
    let combines =
        template
            .aggregates
            .iter()
            .map(|(op, _)| match aggregated(*op, Direction::Full)? {
                (None, output) => match output(Partial::Same) {
                    Output::Aggregate { combine, .. } => Some(combine),
                    Output::Rows => None,
                },
                (Some(_), _) => None,
            });
    Some(Output::Aggregate {
        combine: Combine::ByRow(combines.collect::<Option<_>>()?),
        partial: Partial::Same,
        finish: Finish::Nothing,
    })
}

type MakeOutput = Box<dyn Fn(Partial) -> Output>;

/// How parts of an aggregate over rows combine: the aggregate that parts are made with, where it is another one,
/// and the output. `None` where parts don't combine cell by cell.
fn aggregated(op: AggregateOp, direction: Direction) -> Option<(Option<AggregateOp>, MakeOutput)> {
    let (partial, combine, finish) = match (op, direction) {
        (AggregateOp::Sum | AggregateOp::SumSq, _) => (None, Combine::Sum, Finish::Nothing),
        (AggregateOp::Min, _) => (None, Combine::Min, Finish::Nothing),
        (AggregateOp::Max, _) => (None, Combine::Max, Finish::Nothing),
        (AggregateOp::Prod, _) => (None, Combine::Product, Finish::Nothing),
        (AggregateOp::Mean, Direction::Col) => {
            (Some(AggregateOp::Sum), Combine::Sum, Finish::DivideByRows)
        }
        (AggregateOp::Mean, _) => (Some(AggregateOp::Sum), Combine::Sum, Finish::DivideByCells),
        _ => return None,
    };
    let output = move |partial| Output::Aggregate {
        combine: combine.clone(),
        partial,
        finish,
    };
    Some((partial, Box::new(output)))
}

#[cfg(test)]
mod tests {
    use fulgurite_hop::BinaryOp;

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
