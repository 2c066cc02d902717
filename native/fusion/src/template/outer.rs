//! The Outer template: a scalar function of the non-zeros of a driver X and of dot products of rows of U and V,
//! so that the dense `U %*% t(V)` is never held.
//!
//! A plan opens at a large outer product and goes on through operators that work cell by cell. It may only end
//! where some input, the driver, makes its values zero; until then it is invalid. It ends for good in a
//! full aggregate or in a product with a narrower matrix: of its values f, any of `f %*% W`, `t(f) %*% W`, `A %*% f` and
//! `A %*% t(f)`. The latter two are computed transposed.

use fulgurite_hop::{AggregateOp, Direction, HopId, HopOp};

use super::{Template, cell::cellwise};
use crate::{
    cplan::InputBinding,
    memo::{CloseStatus, MemoTable, Slots, TemplateType},
    reason::Reason,
    view::{DagView, Spread},
};

pub(super) struct Outer;

impl Template for Outer {
    fn kind(&self) -> TemplateType {
        TemplateType::Outer
    }

    fn open(&self, view: &DagView, hop: HopId) -> Result<(), Reason> {
        match view.hop(hop).op {
            HopOp::MatMult => outer_product(view, hop),
            _ => Err(Reason::UnsupportedOperator),
        }
    }

    fn fuse(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
        match view.hop(hop).op {
            HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => {
                cellwise(view, hop)?;
                match view.spread(hop, slot) {
                    Some(Spread::Full) => Ok(()),
                    _ => Err(Reason::NotAligned),
                }
            }
            HopOp::Aggregate(op, Direction::Full) => match op {
                AggregateOp::Sum | AggregateOp::SumSq | AggregateOp::Min | AggregateOp::Max => {
                    Ok(())
                }
                AggregateOp::Mean
                | AggregateOp::Prod
                | AggregateOp::Var
                | AggregateOp::Sd
                | AggregateOp::Trace
                | AggregateOp::IndexMax
                | AggregateOp::IndexMin => Err(Reason::UnsupportedAggregate),
            },
            HopOp::Aggregate(..) => Err(Reason::UnsupportedAggregate),
            HopOp::Transpose => {
                let is_product =
                    |consumer: &HopId| matches!(view.hop(*consumer).op, HopOp::MatMult);
                match view.consumers(hop).iter().any(is_product) {
                    true => Ok(()),
                    false => Err(Reason::TransposeOutsideProduct),
                }
            }
            HopOp::MatMult => narrower_factor(view, hop, slot),
            _ => Err(Reason::UnsupportedOperator),
        }
    }

    fn merge(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
        match view.hop(hop).op {
            HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_) => self.fuse(view, hop, slot),
            _ => Err(Reason::NotAligned),
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
        match view.hop(hop).op {
            HopOp::Aggregate(..) => ends(view.hop(hop).inputs[0]),
            HopOp::MatMult => ends(untransposed(view, view.hop(hop).inputs[slot])),
            HopOp::Transpose => CloseStatus::OpenInvalid,
            _ if has_driver(view, memo, hop) => CloseStatus::OpenValid,
            _ => CloseStatus::OpenInvalid,
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

fn untransposed(view: &DagView, hop: HopId) -> HopId {
    match view.hop(hop).op {
        HopOp::Transpose => view.hop(hop).inputs[0],
        _ => hop,
    }
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
    if !matches!(view.hop(hop).op, HopOp::MatMult) {
        return None;
    }
    let operand = view.hop(hop).inputs[slot];
    let values = untransposed(view, operand);
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
        (true, _) => (untransposed(view, operand), InputBinding::RightFactor),
        (false, 0) => (untransposed(view, operand), InputBinding::Whole),
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
