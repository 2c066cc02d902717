//! The Row template: straight-line code on vectors and scalars for each row of a main input.
//!
//! Every operator that a plan covers has the main input's rows, up to a final aggregation over rows:
//! column and full aggregates and `t(L) %*% R`. A transpose is covered where a product or a second transpose
//! makes up for it: the plan goes on in the rows of what is transposed. The right operand of `row %*% B` is read whole and never
//! part of the plan. Every plan has an input with several columns to be the main one, or a column that is combined with a row.

use fulgurite_hop::{Direction, HopId};

use super::{
    Template,
    cell::{cellwise, input_shape},
};
use crate::{
    memo::{CloseStatus, MemoTable, TemplateType},
    reason::Reason,
    roles::{Fold, Role},
    view::{DagView, Shape},
};

/// Results of `t(L) %*% R` are kept per thread; beyond this many columns of both, blocked kernels win.
const SKINNY_COLS: u64 = 256;
/// Columns of `row %*% B` up to which a block of rows stays in the second-level cache.
const PRODUCT_COLS: u64 = 2048;
/// Cells of such a product from which on it is worth it: smaller ones stay in a cache anyway. And rows of B from which on
/// multiplying takes longer than putting the results where the next operator finds them.
const PRODUCT_CELLS: u64 = 1 << 20;
const PRODUCT_DEPTH: u64 = 16;
/// A right side of so few cells stays in the first-level cache beside any row, whatever its shape.
const TINY_CELLS: u64 = 1024;

pub(super) struct Row;

impl Template for Row {
    fn kind(&self) -> TemplateType {
        TemplateType::Row
    }

    fn open(&self, view: &DagView, hop: HopId) -> Result<(), Reason> {
        match view.role(hop) {
            Role::CellWise(_) => {
                cellwise(view, hop)?;
                wide(view.shape(hop))
            }
            Role::Product => match view.transposed_left(hop) {
                Some(_) => Err(Reason::NothingToFuseWith),
                None => row_product(view, hop),
            },
            Role::Transpose => left_of_product(view, hop)
                .or_else(|why| begins_cumulative(view, hop).then_some(()).ok_or(why)),
            Role::Cumulative(_) => Err(Reason::NotAlongRows),
            Role::Aggregate(_, Direction::Full) => Err(Reason::NothingToFuseWith),
            Role::Aggregate(_, Direction::Row | Direction::Col) => {
                aggregate(view, hop)?;
                wide(input_shape(view, hop).ok())
            }
            Role::Range => column_range(view, hop),
            Role::Beside => {
                bind(view, hop)?;
                wide(view.shape(hop))
            }
            Role::Combination => combination(view, hop),
            Role::Grouped | Role::Outside(_) => Err(Reason::UnsupportedOperator),
        }
    }

    fn fuse(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
        let input = view.hop(hop).inputs[slot];
        match view.role(hop) {
            Role::CellWise(_) => {
                cellwise(view, hop)?;
                same_rows(view.shape(hop), view.shape(input))
            }
            Role::Product => match view.transposed_left(hop) {
                Some(_) => transposed_product(view, hop, slot),
                None if slot == 0 => row_product(view, hop),
                None => Err(Reason::NotAligned),
            },
            Role::Transpose if view.is_along_rows(hop) => Ok(()),
            Role::Transpose => self.open(view, hop),
            Role::Cumulative(_) => match is_along_rows(view, hop) {
                true => Ok(()),
                false => Err(Reason::NotAlongRows),
            },
            Role::Aggregate(..) => aggregate(view, hop),
            Role::Range if slot == 0 => column_range(view, hop),
            Role::Beside => bind(view, hop),
            Role::Combination => {
                combination(view, hop)?;
                same_rows(view.shape(hop), view.shape(input))
            }
            // Bounds of a range are no rows.
            Role::Range | Role::Grouped | Role::Outside(_) => Err(Reason::UnsupportedOperator),
        }
    }

    fn merge(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
        match view.transposed_left(hop) {
            Some(_) => product_sizes(view, hop).map(|_| ()),
            None => self.fuse(view, hop, slot),
        }
    }

    fn close(&self, view: &DagView, _: &MemoTable, hop: HopId, _: Option<usize>) -> CloseStatus {
        match view.role(hop) {
            Role::Aggregate(_, Direction::Col | Direction::Full) => CloseStatus::ClosedValid,
            Role::Product if view.transposed_left(hop).is_some() => CloseStatus::ClosedValid,
            Role::Transpose if view.is_along_rows(hop) => CloseStatus::OpenValid,
            Role::Transpose | Role::Cumulative(_) => CloseStatus::OpenInvalid,
            Role::CellWise(_)
            | Role::Aggregate(_, Direction::Row)
            | Role::Product
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Outside(_) => CloseStatus::OpenValid,
        }
    }
}

fn wide(shape: Option<Shape>) -> Result<(), Reason> {
    match shape.ok_or(Reason::UnknownSize)?.is_wide() {
        true => Ok(()),
        false => Err(Reason::NoWideInput),
    }
}

fn same_rows(result: Option<Shape>, input: Option<Shape>) -> Result<(), Reason> {
    match (result, input) {
        (Some(result), Some(input)) if input.rows > 1 && input.rows == result.rows => Ok(()),
        (Some(_), Some(_)) => Err(Reason::NotAligned),
        _ => Err(Reason::UnknownSize),
    }
}

/// `X %*% B` row by row: matrix-vector, a right side that is skinny, or a dense one of which blocks of rows make tiles.
fn row_product(view: &DagView, hop: HopId) -> Result<(), Reason> {
    let b = view.hop(hop).inputs[1];
    let left = view.shape(view.hop(hop).inputs[0]);
    let (left, right) = left.zip(view.shape(b)).ok_or(Reason::UnknownSize)?;
    wide(Some(left))?;
    let is_tiny = right.rows.saturating_mul(right.cols) <= TINY_CELLS && right.cols < left.rows;
    let skinny = match is_tiny {
        true => Ok(()),
        false => skinny(right.cols, left.rows.min(right.rows)),
    };
    // A sparse one would be made dense.
    let is_dense = !view.hop(b).characteristics.is_stored_sparse();
    let is_large = left.rows.saturating_mul(right.cols) >= PRODUCT_CELLS;
    match is_dense && right.cols > 1 && is_large && right.rows >= PRODUCT_DEPTH {
        true if right.cols <= PRODUCT_COLS => Ok(()),
        true => Err(Reason::WideProduct {
            cols: right.cols,
            limit: PRODUCT_COLS,
        }),
        false => skinny,
    }
}

/// One column, or less than `SKINNY_COLS` and less than the other side.
fn skinny(cols: u64, other: u64) -> Result<(), Reason> {
    match cols == 1 || (cols > 1 && cols < SKINNY_COLS && cols < other) {
        true => Ok(()),
        false => Err(Reason::NotSkinny {
            cols,
            limit: SKINNY_COLS.min(other),
        }),
    }
}

/// L and R of `t(L) %*% R` where the result fits a thread's private buffer.
fn product_sizes(view: &DagView, hop: HopId) -> Result<(Shape, Shape), Reason> {
    let left = view.shape(view.operand(hop, 0));
    let right = view.shape(view.operand(hop, 1));
    let (left, right) = left.zip(right).ok_or(Reason::UnknownSize)?;
    if left.rows < 2 {
        return Err(Reason::NoWideInput);
    }
    skinny(left.cols.min(right.cols), left.rows)?;
    Ok((left, right))
}

/// `t(L) %*% R` continuing the plan of `t(L)` (slot 0) or of R (slot 1).
fn transposed_product(view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
    let (left, right) = product_sizes(view, hop)?;
    if slot == 0 && does_without_table(view, hop) {
        return Err(Reason::TableNotMade);
    }
    // A plan at R brings its own wide input; one at t(L) may be nothing but the transpose of a vector.
    match slot == 1 || left.cols > 1 || right.cols > 1 {
        true => Ok(()),
        false => Err(Reason::NoWideInput),
    }
}

/// The transpose is the left operand of a product that Row can compute.
fn left_of_product(view: &DagView, hop: HopId) -> Result<(), Reason> {
    let mut why = Reason::TransposeOutsideProduct;
    for consumer in view.consumers(hop) {
        if view.transposed_left(*consumer) == Some(hop) {
            match transposed_product(view, *consumer, 0) {
                Ok(()) => return Ok(()),
                Err(reason) => why = reason,
            }
        }
    }
    Err(why)
}

/// The basic operator `t(L) %*% R` needs no L, which is a table that nobody else reads.
fn does_without_table(view: &DagView, hop: HopId) -> bool {
    let (transpose, table) = (view.hop(hop).inputs[0], view.operand(hop, 0));
    let is_read_once = |hop: HopId| view.consumers(hop).len() == 1;
    view.dag.is_one_hot(table) && is_read_once(table) && is_read_once(transpose)
}

/// The transpose begins `t(cumsum(t(X)))` over a wide X.
fn begins_cumulative(view: &DagView, hop: HopId) -> bool {
    let is_wide = wide(view.shape(view.hop(hop).inputs[0])).is_ok();
    let mut consumers = view.consumers(hop).iter();
    is_wide && !view.is_along_rows(hop) && consumers.any(|consumer| is_along_rows(view, *consumer))
}

/// The operator is the cumulative one in `t(cumsum(t(X)))`.
fn is_along_rows(view: &DagView, hop: HopId) -> bool {
    let mut consumers = view.consumers(hop).iter();
    matches!(view.role(hop), Role::Cumulative(_))
        && consumers.any(|consumer| view.is_along_rows(*consumer))
}

fn aggregate(view: &DagView, hop: HopId) -> Result<(), Reason> {
    let Role::Aggregate(op, direction) = view.role(hop) else {
        return Err(Reason::UnsupportedOperator);
    };
    let input = input_shape(view, hop)?;
    if input.rows < 2 {
        return Err(Reason::NoWideInput);
    }
    match (Fold::of(op), direction) {
        (Fold::Sum | Fold::Extreme | Fold::Mean | Fold::Product, _) => Ok(()),
        // Of a row that is there as a vector.
        (Fold::OfRow, Direction::Row) => wide(Some(input)),
        (Fold::OfRow, Direction::Col | Direction::Full) | (Fold::OfPlaces, _) => {
            Err(Reason::UnsupportedAggregate)
        }
    }
}

fn column_range(view: &DagView, hop: HopId) -> Result<(), Reason> {
    wide(input_shape(view, hop).ok())?;
    if view.shape(hop).is_none() {
        return Err(Reason::UnknownSize);
    }
    match view.column_range(hop) {
        Some(_) => Ok(()),
        None => Err(Reason::NotAColumnRange),
    }
}

/// Each cell of a column of several rows with each of a row of several columns.
fn combination(view: &DagView, hop: HopId) -> Result<(), Reason> {
    view.combination(hop).ok_or(Reason::UnsupportedOperator)?;
    wide(view.shape(hop))
}

fn bind(view: &DagView, hop: HopId) -> Result<(), Reason> {
    let result = view.shape(hop);
    for input in &view.hop(hop).inputs {
        same_rows(result, view.shape(*input))?;
    }
    Ok(())
}
