//! The Cell template: a scalar function of each cell of equally shaped matrices, with vectors and
//! scalars spread over them, and an optional aggregate at the end.
//!
//! All operators that a plan covers below its aggregate have one shape, so that none is computed more often
//! than it has cells.

use fulgurite_hop::HopId;

use super::Template;
use crate::{
    memo::{CloseStatus, MemoTable, TemplateType},
    reason::Reason,
    roles::{Fold, Role},
    view::{DagView, Spread},
};

pub(super) struct Cell;

impl Template for Cell {
    fn kind(&self) -> TemplateType {
        TemplateType::Cell
    }

    fn open(&self, view: &DagView, hop: HopId) -> Result<(), Reason> {
        match view.role(hop) {
            Role::CellWise(_) => cellwise(view, hop),
            Role::Transpose => transposed_vector_of_dot_product(view, hop),
            Role::Aggregate(..)
            | Role::Product
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => Err(Reason::UnsupportedOperator),
        }
    }

    fn fuse(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
        match view.role(hop) {
            Role::CellWise(_) => {
                cellwise(view, hop)?;
                match view.spread(hop, slot) {
                    Some(Spread::Full) => Ok(()),
                    _ => Err(Reason::NotAligned),
                }
            }
            Role::Aggregate(op, _) => match Fold::of(op) {
                Fold::Sum | Fold::Extreme | Fold::Mean | Fold::Product => known_input(view, hop),
                Fold::OfRow | Fold::OfPlaces => Err(Reason::UnsupportedAggregate),
            },
            Role::Transpose => transposed_vector_of_dot_product(view, hop),
            Role::Product => dot_product(view, hop),
            Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => Err(Reason::UnsupportedOperator),
        }
    }

    fn merge(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
        self.fuse(view, hop, slot)
    }

    fn close(&self, view: &DagView, _: &MemoTable, hop: HopId, _: Option<usize>) -> CloseStatus {
        match view.role(hop) {
            Role::Aggregate(..) | Role::Product => CloseStatus::ClosedValid,
            Role::Transpose => CloseStatus::OpenInvalid,
            Role::CellWise(_)
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => CloseStatus::OpenValid,
        }
    }
}

/// The operator gives each cell from the cells of its operands at the same place.
pub(super) fn cellwise(view: &DagView, hop: HopId) -> Result<(), Reason> {
    if !view.hop(hop).is_matrix() {
        return Err(Reason::SingleCell);
    }
    let shape = view.shape(hop).ok_or(Reason::UnknownSize)?;
    if shape.is_single_cell() {
        return Err(Reason::SingleCell);
    }
    let mut full = false;
    for (slot, operand) in view.hop(hop).inputs.iter().enumerate() {
        match view.spread(hop, slot) {
            Some(Spread::Full) => full = true,
            Some(_) => {}
            None if view.hop(*operand).characteristics.dims_known() => {
                return Err(Reason::NotAligned);
            }
            None => return Err(Reason::UnknownSize),
        }
    }
    full.then_some(()).ok_or(Reason::OuterCombination)
}

fn known_input(view: &DagView, hop: HopId) -> Result<(), Reason> {
    let shape = input_shape(view, hop)?;
    match shape.is_single_cell() {
        true => Err(Reason::SingleCell),
        false => Ok(()),
    }
}

pub(super) fn input_shape(view: &DagView, hop: HopId) -> Result<crate::view::Shape, Reason> {
    let input = view.hop(hop).inputs.first();
    input
        .and_then(|input| view.shape(*input))
        .ok_or(Reason::UnknownSize)
}

/// `t(x) %*% y` of two column vectors: the sum of x * y.
fn dot_product(view: &DagView, hop: HopId) -> Result<(), Reason> {
    if view.transposed_left(hop).is_none() {
        return Err(Reason::UnsupportedOperator);
    }
    for slot in [0, 1] {
        let shape = view.shape(view.operand(hop, slot));
        if !shape.ok_or(Reason::UnknownSize)?.is_column_vector() {
            return Err(Reason::UnsupportedOperator);
        }
    }
    Ok(())
}

fn transposed_vector_of_dot_product(view: &DagView, hop: HopId) -> Result<(), Reason> {
    let is_left_of_dot_product = |consumer: &HopId| {
        view.transposed_left(*consumer) == Some(hop) && dot_product(view, *consumer).is_ok()
    };
    match view.consumers(hop).iter().any(is_left_of_dot_product) {
        true => Ok(()),
        false => Err(Reason::TransposeOutsideProduct),
    }
}
