//! Where operators will run, as far as sizes say, and why not where they would fit.

use fulgurite_dataflow::Form;
use fulgurite_distributed::comes_back;
use fulgurite_error::Result;
use fulgurite_fusion::FusedDag;
use fulgurite_hop::{HopId, memory};
use fulgurite_operators::BlockPlan;
use fulgurite_program::{Reason, Session, Site, Transfers, expected_spread, plan_of};
use serde::Serialize;

/// Where an operator will run, as far as sizes say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Place {
    /// Variables are nowhere in particular.
    Variable,
    Local,
    Distributed,
    DoesNotFit,
    BySize,
}

impl Place {
    pub fn text(self) -> &'static str {
        match self {
            Place::Variable => "",
            Place::Local => "local",
            Place::Distributed => "distributed",
            Place::DoesNotFit => "does not fit fulgurite.memory.local",
            Place::BySize => "where it fits, by the actual size",
        }
    }
}

/// A place, why an operator that fits the driver is not there, and how it runs there.
pub(super) struct Placed {
    pub place: Place,
    pub reason: Option<Reason>,
    /// How the workers run it.
    pub form: Option<Form>,
    /// A range that is not built: fused operators read it where it lies.
    pub in_place: bool,
    /// A table that its product does without, as a rule.
    pub is_unmade: bool,
}

/// For each operator of the plan.
pub(super) fn places(fused: &FusedDag, session: &Session) -> Result<Vec<Placed>> {
    let plan = plan_of(fused.clone());
    let mut placed: Vec<Placed> = plan
        .dag
        .iter()
        .map(|(id, _)| Placed {
            place: by_size(&plan, id, session),
            reason: None,
            form: None,
            in_place: is_in_place(&plan, id),
            is_unmade: false,
        })
        .collect();
    if session.backend.is_some() {
        place_with_workers(&plan, session, &mut placed)?;
    }
    for (product, _) in plan.dag.iter() {
        let is_here = |id: HopId| placed[id.index()].place != Place::Distributed;
        if let Some(table) = plan.table_left[product.index()]
            && is_here(product)
            && is_here(table)
        {
            placed[table.index()].is_unmade = true;
        }
    }
    Ok(placed)
}

fn place_with_workers(plan: &BlockPlan, session: &Session, placed: &mut [Placed]) -> Result<()> {
    let cost = session.known_speeds();
    let mut sites: Vec<Option<Site>> = vec![None; plan.dag.len()];
    for id in &plan.schedule {
        let known = |hop: HopId| sites[hop.index()];
        let transfers = Transfers {
            plan,
            config: &session.config,
            cost,
            known: &known,
        };
        let own = &mut placed[id.index()];
        if own.place == Place::Local {
            own.reason = match pulled(&transfers, *id) {
                Some(reason) => Some(reason),
                None => expected_spread(&transfers, *id, session)?.map(Reason::Spread),
            };
            if own.reason.is_some() {
                own.place = Place::Distributed;
            }
        }
        own.in_place &= own.place == Place::Local;
        if own.place == Place::Distributed {
            own.form = transfers.form(*id, session)?;
        }
        let site = match own.place {
            Place::Variable => transfers.site(*id),
            Place::Distributed if own.form.as_ref().is_some_and(Form::brings_result) => Site::Here,
            Place::Distributed => result_of(&transfers, *id, session),
            Place::Local | Place::DoesNotFit | Place::BySize => Site::Here,
        };
        sites[id.index()] = Some(site);
    }
    Ok(())
}

/// Of a matrix that is expected to be dense.
fn is_in_place(plan: &BlockPlan, id: HopId) -> bool {
    let of = || plan.dag.hop(plan.dag.hop(id).inputs[0]).characteristics;
    plan.in_place[id.index()] && !of().is_stored_sparse()
}

/// Where an operator on the workers leaves its result.
fn result_of(transfers: &Transfers, id: HopId, session: &Session) -> Site {
    let hop = transfers.plan.dag.hop(id);
    let site = match hop.is_scalar() || transfers.is_aggregate(id) {
        true => Site::Here,
        false => Site::Workers { transposed: false },
    };
    let comes_back = comes_back(memory::output_bytes(hop), &session.config);
    match comes_back && transfers.stays(id).is_none() {
        true => Site::Here,
        false => site,
    }
}

fn pulled(transfers: &Transfers, id: HopId) -> Option<Reason> {
    let there: Vec<HopId> = transfers.plan.inputs[id.index()]
        .iter()
        .copied()
        .filter(|input| transfers.plan.dag.hop(*input).is_matrix())
        .filter(|input| transfers.site(*input) != Site::Here)
        .collect();
    transfers.pulls(&there).map(Reason::InputStays)
}

fn by_size(plan: &BlockPlan, id: HopId, session: &Session) -> Place {
    let hop = plan.dag.hop(id);
    let is_variable = hop.op.variable_read().is_some() || hop.op.variable_written().is_some();
    if is_variable || hop.op.constant().is_some() {
        return Place::Variable;
    }
    match plan.operation_bytes(id) {
        None => Place::BySize,
        Some(bytes) if bytes <= session.config.memory_local => Place::Local,
        Some(_) if session.backend.is_some() => Place::Distributed,
        Some(_) => Place::DoesNotFit,
    }
}
