//! Templates: the conditions under which a plan opens, grows and closes (Section 3.2).
//!
//! Exploration knows templates through [`Template`] only. A condition that does not hold says why. To add a
//! template: a [`TemplateType`], an implementation here, its CPlan construction, and its costs.

mod cell;
pub(crate) mod group;
pub(crate) mod outer;
mod row;

use fulgurite_hop::HopId;

use crate::{
    memo::{CloseStatus, MemoTable, TemplateType},
    reason::Reason,
    roles::Role,
    view::DagView,
};

pub(crate) trait Template: Sync {
    fn kind(&self) -> TemplateType;

    /// A new plan can start at the operator and read materialised inputs.
    fn open(&self, view: &DagView, hop: HopId) -> Result<(), Reason>;

    /// An open plan of this template at the input in `slot` can be continued to the operator.
    fn fuse(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason>;

    /// A plan of this template at the operator can go on into plans at the input in `slot`.
    fn merge(&self, view: &DagView, hop: HopId, slot: usize) -> Result<(), Reason>;

    /// What a plan that has covered the operator may do next: one that came from the input in the slot
    /// `fused`, or opened here. The memo table has all groups up to this operator's.
    fn close(
        &self,
        view: &DagView,
        memo: &MemoTable,
        hop: HopId,
        fused: Option<usize>,
    ) -> CloseStatus;
}

/// In the order they are explored.
pub(crate) const TEMPLATES: [&dyn Template; 4] =
    [&row::Row, &cell::Cell, &outer::Outer, &group::Group];

/// [`Template::fuse`], unless the input's plan is turned and the operator does not turn it back.
pub(crate) fn fuse(
    template: &dyn Template,
    view: &DagView,
    hop: HopId,
    slot: usize,
) -> Result<(), Reason> {
    takes_turned(template.kind(), view, hop, slot)?;
    template.fuse(view, hop, slot)
}

/// [`Template::merge`], with the same exception.
pub(crate) fn merge(
    template: &dyn Template,
    view: &DagView,
    hop: HopId,
    slot: usize,
) -> Result<(), Reason> {
    takes_turned(template.kind(), view, hop, slot)?;
    template.merge(view, hop, slot)
}

/// Plans leave what they transpose as it lies. So the values of a covered transpose are turned against its
/// cells, up to the product or the second transpose that makes up for it, and nothing else can read them.
fn takes_turned(
    template: TemplateType,
    view: &DagView,
    hop: HopId,
    slot: usize,
) -> Result<(), Reason> {
    let input = view.hop(hop).inputs[slot];
    let takes = match view.role(input) {
        Role::Transpose if view.is_along_rows(input) => true,
        Role::Transpose if view.role(hop) == Role::Product => {
            slot == 0 || template == TemplateType::Outer
        }
        Role::Transpose => matches!(view.role(hop), Role::Cumulative(_)),
        Role::Cumulative(_) => view.is_along_rows(hop),
        Role::CellWise(_)
        | Role::Aggregate(..)
        | Role::Product
        | Role::Range
        | Role::Beside
        | Role::Combination
        | Role::Grouped
        | Role::Outside(_) => true,
    };
    takes.then_some(()).ok_or(Reason::Turned)
}
