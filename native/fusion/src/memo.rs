//! The memo table (Section 3.1): for each operator, the partial fusion plans that cover it.
//!
//! A group is the output of one operator and is found by its [`HopId`]; an operator that can't be fused has
//! an empty group. An entry says, per input, whether the plan goes on into that input's group (a reference)
//! or reads it materialised. A reference promises that the input's group has an entry that can be continued.

use std::fmt;

use fulgurite_hop::HopId;
use serde::Serialize;

/// Only the first inputs of an operator can be referenced; ternaries are the widest that fuse cell by cell.
pub const MAX_REFERENCED_INPUTS: usize = 3;

/// Template types (Table 1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum TemplateType {
    Row,
    Cell,
    Outer,
    Group,
    /// Never in the memo table: multi-aggregates are composed of selected operators.
    #[serde(rename = "magg")]
    MultiAggregate,
}

impl TemplateType {
    /// Those that exploration opens plans of.
    pub const EXPLORED: [TemplateType; 4] = [
        TemplateType::Row,
        TemplateType::Cell,
        TemplateType::Outer,
        TemplateType::Group,
    ];

    pub fn letter(self) -> char {
        match self {
            TemplateType::Row => 'R',
            TemplateType::Cell => 'C',
            TemplateType::Outer => 'O',
            TemplateType::Group => 'G',
            TemplateType::MultiAggregate => 'M',
        }
    }

    /// A plan of this template can go on into an entry of `other`: each takes its own, all take Cell.
    pub fn takes(self, other: TemplateType) -> bool {
        self == other || other == TemplateType::Cell
    }
}

impl fmt::Display for TemplateType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TemplateType::Row => "Row",
            TemplateType::Cell => "Cell",
            TemplateType::Outer => "Outer",
            TemplateType::Group => "Group",
            TemplateType::MultiAggregate => "MAgg",
        })
    }
}

/// Whether a plan may end at its operator (valid) and whether it may go on into consumers (open).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CloseStatus {
    OpenValid,
    OpenInvalid,
    ClosedValid,
    ClosedInvalid,
}

impl CloseStatus {
    pub fn is_open(self) -> bool {
        matches!(self, CloseStatus::OpenValid | CloseStatus::OpenInvalid)
    }

    pub fn is_valid(self) -> bool {
        matches!(self, CloseStatus::OpenValid | CloseStatus::ClosedValid)
    }
}

/// A set of input slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Slots(u8);

impl Slots {
    pub const NONE: Slots = Slots(0);
    pub const ALL: Slots = Slots((1 << MAX_REFERENCED_INPUTS) - 1);

    pub fn only(slot: usize) -> Slots {
        Slots(1 << slot)
    }

    pub fn with(self, slot: usize) -> Slots {
        Slots(self.0 | 1 << slot)
    }

    pub fn without(self, slot: usize) -> Slots {
        Slots(self.0 & !(1 << slot))
    }

    pub fn union(self, other: Slots) -> Slots {
        Slots(self.0 | other.0)
    }

    pub fn minus(self, other: Slots) -> Slots {
        Slots(self.0 & !other.0)
    }

    pub fn contains(self, slot: usize) -> bool {
        slot < MAX_REFERENCED_INPUTS && self.0 & (1 << slot) != 0
    }

    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub fn len(self) -> u32 {
        self.0.count_ones()
    }

    pub fn is_disjoint(self, other: Slots) -> bool {
        self.0 & other.0 == 0
    }

    pub fn iter(self) -> impl Iterator<Item = usize> {
        (0..MAX_REFERENCED_INPUTS).filter(move |slot| self.contains(*slot))
    }

    /// All subsets, the empty one first.
    pub fn subsets(self) -> impl Iterator<Item = Slots> {
        (0..=self.0)
            .filter(move |subset| subset & !self.0 == 0)
            .map(Slots)
    }
}

/// A partial fusion plan: `(type, {i1, .., ik}, closed)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MemoEntry {
    pub template: TemplateType,
    /// The inputs that the plan goes on into; the others (-1) are read materialised.
    pub references: Slots,
    pub close: CloseStatus,
}

impl MemoEntry {
    /// `R(10,-1)`
    pub(crate) fn text(&self, inputs: &[HopId]) -> String {
        let slots: Vec<String> = inputs
            .iter()
            .enumerate()
            .map(|(slot, input)| match self.references.contains(slot) {
                true => input.to_string(),
                false => "-1".to_owned(),
            })
            .collect();
        format!("{}({})", self.template.letter(), slots.join(","))
    }
}

#[derive(Debug, Clone, Default)]
pub struct MemoTable {
    groups: Vec<Vec<MemoEntry>>,
}

impl MemoTable {
    pub(crate) fn new(hops: usize) -> Self {
        MemoTable {
            groups: vec![Vec::new(); hops],
        }
    }

    pub fn group(&self, hop: HopId) -> &[MemoEntry] {
        self.groups.get(hop.index()).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn set_group(&mut self, hop: HopId, entries: Vec<MemoEntry>) {
        self.groups[hop.index()] = entries;
    }

    /// The group has an entry that a plan of this template can go on into.
    pub(crate) fn has_open(&self, hop: HopId, template: TemplateType) -> bool {
        self.group(hop)
            .iter()
            .any(|entry| entry.close.is_open() && template.takes(entry.template))
    }

    /// The group has an entry of exactly this template.
    pub(crate) fn has(&self, hop: HopId, template: TemplateType) -> bool {
        let mut entries = self.group(hop).iter();
        entries.any(|entry| entry.template == template)
    }

    /// The group has an open entry of exactly this template.
    pub(crate) fn has_open_of(&self, hop: HopId, template: TemplateType) -> bool {
        self.group(hop)
            .iter()
            .any(|entry| entry.close.is_open() && entry.template == template)
    }
}
