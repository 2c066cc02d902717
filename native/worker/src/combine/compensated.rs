//! Sums over stripes that carry what was rounded away, as the sums of one process do: each stripe gives its sums, and below them
//! rows of zeros in which their combination gathers the errors.

use fulgurite_dataflow::Combine;
use fulgurite_error::{Error, Result};
use fulgurite_fusion::cplan::{CPlan, RowOutput, Template};
use fulgurite_hop::{Dag, Direction, Formulas, HopId};
use fulgurite_matrix::MatrixBlock;

/// How the rows of a stripe's result combine, if there are sums among them that are worth carrying errors for; sums alone are
/// no rows at all. Products of matrices are not: their operators don't carry any either.
pub fn ways(
    dag: &Dag,
    root: HopId,
    plan: Option<&CPlan>,
    combine: &Combine,
) -> Option<Vec<Combine>> {
    let op = &dag.hop(root).op;
    let plan = plan.filter(|_| op.fused().is_some());
    let is_aggregate = match plan.map(|plan| &plan.template) {
        Some(Template::Cell(cell)) => cell.aggregate.is_some(),
        Some(Template::MultiAggregate(_) | Template::Group(_)) => true,
        Some(Template::Row(row)) => matches!(
            row.output,
            RowOutput::ColumnAggregate(..) | RowOutput::FullAggregate(..)
        ),
        Some(Template::Outer(_)) => dag.hop(root).is_scalar(),
        None => {
            let aggregate = op.aggregate();
            let of_stripe = aggregate.is_some_and(|(_, direction)| direction != Direction::Row);
            // Several aggregates beside or below each other, and those of groups.
            of_stripe || op.is_append() || op.with_named_inputs().is_some()
        }
    };
    match combine {
        _ if !is_aggregate => None,
        Combine::Sum => Some(Vec::new()),
        Combine::ByRow(rows) if rows.contains(&Combine::Sum) => Some(rows.clone()),
        _ => None,
    }
}

/// Adds rows of zeros below what a task computes of its stripe.
pub fn of_stripe(dag: &mut Dag, root: HopId) -> HopId {
    let sums = match dag.hop(root).is_scalar() {
        true => dag.one_cell(root),
        false => root,
    };
    let (rows, cols, zero) = (dag.rows_in(sums), dag.columns_in(sums), dag.number(0.0));
    let errors = dag.filled(zero, rows, cols);
    dag.stacked(vec![sums, errors])
}

/// A sum and what was rounded away from it (Knuth's two-sum).
pub(super) fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let of_y = sum - x;
    (sum, (x - (sum - of_y)) + (y - of_y))
}

/// # Errors
/// `dimension`, where rows lack their errors or the way that they combine.
pub(super) fn combine(
    ways: &[Combine],
    left: &MatrixBlock,
    right: &MatrixBlock,
) -> Result<MatrixBlock> {
    let (rows, cols) = (left.rows() / 2, left.cols());
    if !left.rows().is_multiple_of(2) || !ways.is_empty() && ways.len() != rows {
        return Err(Error::dimension(format!(
            "partial results of {} rows can't be combined in {} ways with their errors",
            left.rows(),
            ways.len()
        )));
    }
    if let Some(way) = ways.iter().find(|way| **way != Combine::Sum) {
        return by_row(ways, left, right).map_err(|error| match way {
            Combine::Compensated(_) => Error::internal("errors of errors"),
            _ => error,
        });
    }
    let (left, right) = (left.to_dense()?, right.to_dense()?);
    let (sums, errors) = left.values().split_at(rows * cols);
    let (others, more) = right.values().split_at(rows * cols);
    let both = sums.iter().zip(others).map(|(x, y)| two_sum(*x, *y));
    let (sums, rounded): (Vec<f64>, Vec<f64>) = both.unzip();
    let errors = errors.iter().zip(more).zip(rounded);
    let errors = errors.map(|((x, y), rounded)| x + y + rounded);
    let cells = sums.iter().copied().chain(errors).collect();
    MatrixBlock::dense(2 * rows, cols, cells)
}

/// As [`combine`], each row in its own way.
fn by_row(ways: &[Combine], left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    let rows = ways.len();
    let (mut results, mut errors) = (Vec::new(), Vec::new());
    for (row, way) in ways.iter().enumerate() {
        let of = |block: &MatrixBlock, row: usize| block.slice_rows(row, row + 1);
        if *way != Combine::Sum {
            results.push(super::combine(way, &of(left, row), &of(right, row))?);
            errors.push(of(left, rows + row));
            continue;
        }
        let pair = |block: &MatrixBlock| {
            fulgurite_matrix::kernels::rbind(&[&of(block, row), &of(block, rows + row)])
        };
        let both = combine(&[], &pair(left)?, &pair(right)?)?;
        results.push(of(&both, 0));
        errors.push(of(&both, 1));
    }
    let all: Vec<&MatrixBlock> = results.iter().chain(&errors).collect();
    fulgurite_matrix::kernels::rbind(&all)
}

/// Results with their errors added. What is infinite or NaN has none.
///
/// # Errors
/// None; of matrices that do not fit memory.
pub fn finished(parts: &MatrixBlock) -> Result<MatrixBlock> {
    let (rows, cols) = (parts.rows() / 2, parts.cols());
    let parts = parts.to_dense()?;
    let (sums, errors) = parts.values().split_at(rows * cols);
    let exact = |(sum, error): (&f64, &f64)| match error.is_finite() {
        true => sum + error,
        false => *sum,
    };
    let cells = sums.iter().zip(errors).map(exact).collect();
    MatrixBlock::dense(rows, cols, cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(cells: &[f64]) -> MatrixBlock {
        MatrixBlock::dense(cells.len(), 1, cells.to_vec()).expect("one column")
    }

    #[test]
    fn small_parts_are_not_lost_in_large_ones() {
        let ways = [Combine::Sum, Combine::Max];
        let mut sum = part(&[1e16, 2.0, 0.0, 0.0]);
        for other in std::iter::repeat_n(1.0, 1001).chain([-1e16]) {
            sum = combine(&ways, &sum, &part(&[other, other, 0.0, 0.0])).expect("4 rows");
        }
        assert_eq!(
            finished(&sum).expect("4 rows").to_dense().unwrap().values(),
            [1001.0, 2.0]
        );
        let infinite = combine(&[], &part(&[f64::INFINITY, 0.0]), &part(&[1.0, 0.0]));
        let infinite = finished(&infinite.expect("2 rows")).expect("2 rows");
        assert_eq!(infinite.get(0, 0), f64::INFINITY);
        assert!(combine(&ways, &part(&[1.0, 2.0]), &part(&[1.0, 2.0])).is_err());
    }
}
