//! The operators that were selected for a DAG, and what becomes of each HOP.

use fulgurite_hop::HopId;

use crate::{operator::Operator, reason::TemplateReason};

/// The operators of the whole DAG.
pub(crate) struct Selection {
    /// In topological order of their roots.
    pub operators: Vec<Operator>,
    /// Per HOP.
    pub fate: Vec<Fate>,
    /// Operators that a constraint forbade.
    pub forbidden: Vec<(HopId, TemplateReason)>,
}

impl Selection {
    pub fn fate(&self, hop: HopId) -> Fate {
        self.fate[hop.index()]
    }

    /// An operator of several roots replaces those that gave them.
    pub fn put_in_place_of_its_roots(&mut self, operator: Operator) {
        self.operators
            .retain(|other| !operator.roots().any(|root| root == other.root));
        for root in operator.roots() {
            self.fate[root.index()] = Fate::Root;
        }
        let place = self
            .operators
            .partition_point(|other| other.root < operator.root);
        self.operators.insert(place, operator);
    }
}

/// What becomes of a HOP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Nothing reads it any more.
    Gone,
    Basic,
    /// Computed inside fused operators only.
    Covered,
    /// The output of a fused operator.
    Root,
}
