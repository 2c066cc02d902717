//! Two statement blocks as one.

use std::collections::{BTreeMap, BTreeSet};

use super::super::dead_code;
use crate::{Dag, Hop, HopId};

/// Whether `second`, which runs right after `first`, loses nothing by being planned together with it. Planned
/// on its own, it knows the sizes that `first` gave and the scalars that decide sizes; those of files are known for
/// certain when they have been read.
pub(super) fn may_merge(first: &Dag, second: &Dag) -> bool {
    if first.iter().any(|(_, hop)| hop.op.reads_file()) {
        return false;
    }
    let written = writes(first);
    let mut rests_on_first: Vec<bool> = Vec::with_capacity(second.len());
    for (_, hop) in second.iter() {
        let rests = match hop.op.variable_read() {
            Some(name) => written.contains_key(name),
            None => {
                let mut inputs = hop.inputs.iter();
                inputs.any(|input| rests_on_first[input.index()])
            }
        };
        if rests && !is_known(hop) {
            return false;
        }
        rests_on_first.push(rests);
    }
    true
}

fn is_known(hop: &Hop) -> bool {
    hop.is_scalar() || (hop.is_matrix() && hop.characteristics.dims_known())
}

/// What each variable is assigned.
fn writes(dag: &Dag) -> BTreeMap<&str, HopId> {
    let written = |root: &HopId| Some((dag.hop(*root).op.variable_written()?, *root));
    dag.roots.iter().filter_map(written).collect()
}

/// Effects keep their order: those of `first` stand before those of `second`.
pub(super) fn merged(first: &Dag, second: &Dag) -> Dag {
    let (written, overwritten) = (writes(first), writes(second));
    let mut merged = Dag::new();
    for (_, hop) in first.iter() {
        merged.push(hop.clone());
    }
    merged.roots.clone_from(&first.roots);
    let mut places: Vec<HopId> = Vec::with_capacity(second.len());
    for (id, hop) in second.iter() {
        let value = hop.op.variable_read().and_then(|name| written.get(name));
        let place = match value.map(|write| first.hop(*write).inputs.as_slice()) {
            Some([value]) => *value,
            _ => {
                let inputs = hop.inputs.iter().map(|input| places[input.index()]);
                merged.push(Hop {
                    inputs: inputs.collect(),
                    ..hop.clone()
                })
            }
        };
        places.push(place);
        if second.roots.contains(&id) {
            merged.roots.push(place);
        }
    }
    // A variable that both assign has the second value.
    let is_overwritten = |root: &HopId| {
        let name = first.hop(*root).op.variable_written();
        name.is_some_and(|name| overwritten.contains_key(name))
    };
    let dropped: BTreeSet<HopId> = first.roots.iter().copied().filter(is_overwritten).collect();
    merged.roots.retain(|root| !dropped.contains(root));
    dead_code::without_dead(&merged).map_or(merged, |kept| kept.dag)
}
