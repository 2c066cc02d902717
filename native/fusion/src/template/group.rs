//! The Group template: aggregates, for each group, of a scalar function of each cell.
//!
//! A plan opens and ends at a grouped aggregate and goes on into the Cell plans of its target. Where the target is a column, its
//! weights and the groups may come from Cell plans, too.

use fulgurite_hop::HopId;

use super::Template;
use crate::{
    memo::{CloseStatus, MemoTable, TemplateType},
    reason::Reason,
    roles::{GroupFunction, Role},
    view::{DagView, Shape},
};

/// Rows are numbered by their groups in 32 bits.
const MOST_GROUPS: u64 = 1 << 31;

pub(super) struct Group;

impl Template for Group {
    fn kind(&self) -> TemplateType {
        TemplateType::Group
    }

    fn open(&self, view: &DagView, hop: HopId) -> Result<(), Reason> {
        grouped(view, hop).map(|_| ())
    }

    /// No plan is open that ends at a grouped aggregate: each begins there.
    fn fuse(&self, _: &DagView, _: HopId, _: usize) -> Result<(), Reason> {
        Err(Reason::UnsupportedOperator)
    }

    fn merge(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason> {
        let target = grouped(view, hop)?;
        let grouping = view.grouping(hop).ok_or(Reason::UnsupportedOperator)?;
        let is_aligned = slot == grouping.target
            || target.cols == 1 && (slot == grouping.groups || grouping.weights == Some(slot));
        is_aligned.then_some(()).ok_or(Reason::NotAligned)
    }

    fn close(&self, _: &DagView, _: &MemoTable, _: HopId, _: Option<usize>) -> CloseStatus {
        CloseStatus::ClosedValid
    }
}

/// The shape of the target, if the template has what is asked of its groups.
pub(crate) fn grouped(view: &DagView, hop: HopId) -> Result<Shape, Reason> {
    if view.role(hop) != Role::Grouped {
        return Err(Reason::UnsupportedOperator);
    }
    let grouping = view.grouping(hop).ok_or(Reason::UnsupportedAggregate)?;
    let function = GroupFunction::of_name(grouping.function);
    let function = function.ok_or(Reason::UnsupportedAggregate)?;
    let shape = |slot: usize| view.shape(view.hop(hop).inputs[slot]);
    let (target, groups) = shape(grouping.target)
        .zip(shape(grouping.groups))
        .ok_or(Reason::UnknownSize)?;
    let count = view.shape(hop).ok_or(Reason::UnknownSize)?.rows;
    if count >= MOST_GROUPS || !view.hop(view.hop(hop).inputs[grouping.count]).is_scalar() {
        return Err(Reason::UnsupportedAggregate);
    }
    let column = Shape {
        rows: target.rows,
        cols: 1,
    };
    if !column.is_column_vector() {
        return Err(Reason::SingleCell);
    }
    if groups != column || target.cols == 0 {
        return Err(Reason::NotAligned);
    }
    match grouping.weights.map(shape) {
        None => Ok(target),
        Some(_) if function.divides_by_weights() => Err(Reason::UnsupportedAggregate),
        Some(weights) if weights == Some(column) => Ok(target),
        Some(_) => Err(Reason::NotAligned),
    }
}
