//! The Outer template: a scalar function of the non-zeros of a driver X and of dot products of rows of U and V,
//! so that the dense `U %*% t(V)` is never held.
//!
//! A plan opens at a large outer product and goes on through operators that work cell by cell. It may only end
//! where some input, the driver, makes its values zero; until then it is invalid. It ends for good in a
//! full aggregate or in a product with a narrower matrix: of its values f, any of `f %*% W`, `t(f) %*% W`, `A %*% f` and
//! `A %*% t(f)`. The latter two are computed transposed.

use fulgurite_hop::{Direction, HopId};

use super::{Template, cell::cellwise};
use crate::{
    cplan::InputBinding,
    memo::{CloseStatus, MemoTable, Slots, TemplateType},
    reason::Reason,
    roles::{Fold, Role},
    view::{DagView, Spread},
};

pub(super) struct Outer;

impl Template for Outer {
    fn kind(&self) -> TemplateType {
        TemplateType::Outer
    }

    fn open(&self, view: &DagView, hop: HopId) -> Result<(), Reason> {
        match view.role(hop) == Role::Product {
            true => outer_product(view, hop),
            false => Err(Reason::UnsupportedOperator),
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
            Role::Aggregate(op, Direction::Full) => match Fold::of(op) {
                Fold::Sum | Fold::Extreme => Ok(()),
                Fold::Mean | Fold::Product | Fold::OfRow | Fold::OfPlaces => {
                    Err(Reason::UnsupportedAggregate)
                }
            },
            Role::Aggregate(_, Direction::Row | Direction::Col) => {
                Err(Reason::UnsupportedAggregate)
            }
            Role::Transpose => {
                let is_product = |consumer: &HopId| view.role(*consumer) == Role::Product;
                match view.consumers(hop).iter().any(is_product) {
                    true => Ok(()),
                    false => Err(Reason::TransposeOutsideProduct),
                }
            }
            Role::Product => narrower_factor(view, hop, slot),
            Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => Err(Reason::UnsupportedOperator),
        }
    }

    fn merge(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
        match view.role(hop) {
            Role::CellWise(_) => self.fuse(view, hop, slot),
            Role::Aggregate(..)
            | Role::Product
            | Role::Transpose
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => Err(Reason::NotAligned),
        }
    }

    fn close(
        &self,
        view: &DagView,
        memo: &MemoTable,
        hop: HopId,
        fused: Option<usize>,
    ) -> CloseStatus {
        let Some(slot) = fused else {
            return CloseStatus::OpenInvalid;
        };
        let ends = |values: HopId| match has_driver(view, memo, values) {
            true => CloseStatus::ClosedValid,
            false => CloseStatus::ClosedInvalid,
        };
        match view.role(hop) {
            Role::Aggregate(..) => ends(view.hop(hop).inputs[0]),
            Role::Product => ends(view.untransposed(view.hop(hop).inputs[slot])),
            Role::Transpose => CloseStatus::OpenInvalid,
            Role::CellWise(_)
            | Role::Range
            | Role::Beside
            | Role::Combination
            | Role::Grouped
            | Role::Cumulative(_)
            | Role::Outside(_) => match has_driver(view, memo, hop) {
                true => CloseStatus::OpenValid,
                false => CloseStatus::OpenInvalid,
            },
        }
    }
}

/// `U %*% B` whose result has more rows and columns than U and B have in common, and enough of them.
fn outer_product(view: &DagView, hop: HopId) -> Result<(), Reason> {
    let [left, right] = [0, 1].map(|slot| view.shape(view.hop(hop).inputs[slot]));
    let (left, right) = left.zip(right).ok_or(Reason::UnknownSize)?;
    if left.cols >= left.rows.min(right.cols) {
        return Err(Reason::NotOuterProduct);
    }
    let cells = left.rows.saturating_mul(right.cols);
    match cells >= view.outer_product_cells {
        true => Ok(()),
        false => Err(Reason::SmallOuterProduct {
            cells,
            limit: view.outer_product_cells,
        }),
    }
}

/// The factor beside f (at `slot`, or its transpose) has fewer rows or columns than it has in common with f: the
/// result is smaller than f, and shapes tell how the factor lies.
fn narrower_factor(view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
    let factor = view.shape(view.hop(hop).inputs[1 - slot]);
    let factor = factor.ok_or(Reason::UnknownSize)?;
    let (width, common) = match slot {
        0 => (factor.cols, factor.rows),
        _ => (factor.rows, factor.cols),
    };
    match width < common {
        true => Ok(()),
        false => Err(Reason::WideFactor {
            width,
            limit: common,
        }),
    }
}

/// Something outside of the plan is zero only where the values are: a zero carrier without an outer product
/// of its own.
fn has_driver(view: &DagView, memo: &MemoTable, values: HopId) -> bool {
    let is_outside = |hop: &HopId| *hop != values && !memo.has_open_of(*hop, TemplateType::Outer);
    view.zero_carriers(values).iter().any(is_outside)
}

/// A product that ends an Outer plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Multiplication {
    /// f, the plan's values.
    pub values: HopId,
    /// `t(f) %*% W` rather than `f %*% W`.
    pub transposes_values: bool,
    /// The operator gives the transpose of the product.
    pub gives_transpose: bool,
}

/// The product that a covered HOP is, where it is not an outer product.
pub(crate) fn multiplication(
    view: &DagView,
    hop: HopId,
    references: Slots,
) -> Option<Multiplication> {
    let slot = references.iter().next()?;
    if view.role(hop) != Role::Product {
        return None;
    }
    let operand = view.hop(hop).inputs[slot];
    let values = view.untransposed(operand);
    let gives_transpose = slot == 1;
    Some(Multiplication {
        values,
        transposes_values: (values != operand) != gives_transpose,
        gives_transpose,
    })
}

/// How an Outer plan reads the operand of a product in `slot`: a factor of an outer product, or the one that
/// its values are multiplied with.
pub(crate) fn factor(
    view: &DagView,
    hop: HopId,
    references: Slots,
    slot: usize,
) -> (HopId, InputBinding) {
    let operand = view.hop(hop).inputs[slot];
    match (references.is_empty(), slot) {
        (true, 0) => (operand, InputBinding::LeftFactor),
        (true, _) => (view.untransposed(operand), InputBinding::RightFactor),
        (false, 0) => (view.untransposed(operand), InputBinding::Whole),
        (false, _) => (operand, InputBinding::Whole),
    }
}

/// The operator needs the transpose of a factor that it reads, given the shape of its values. Both are higher than
/// wide.
pub(crate) fn lies_down(view: &DagView, factor: HopId, bound: InputBinding) -> bool {
    let is_tall_when_read = matches!(bound, InputBinding::RightFactor | InputBinding::Whole);
    let shape = view.shape(factor);
    is_tall_when_read && shape.is_some_and(|shape| shape.rows < shape.cols)
}
