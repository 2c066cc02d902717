//! Where values lie in memory, in terms of the frame's slots; and what a loop reads and writes there.

use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId};

use super::{Home, Layout, Loop, Program, Shape};

/// Cells of a value in memory: those of row `r` begin `8 * (skip + r * row stride)` bytes after the address in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Location {
    /// The slot with the address.
    pub pointer: usize,
    /// Cells.
    pub skip: u64,
    pub row_stride: Stride,
    /// Nothing writes to it while the program runs.
    pub readonly: bool,
}

/// Cells from one row to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stride {
    /// As a slot says.
    Slot(usize),
    One,
}

/// What a loop reads that it does not compute.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Read {
    Literal(f64),
    /// The same for all rows: the number in a slot.
    Constant(usize),
    /// A number per row, in a loop over vectors.
    PerRow(Location),
    /// Cell by cell.
    Stream(Location),
}

impl Program {
    /// The slot of a constant: a scalar input, or a constant node.
    pub fn constant_slot(&self, layout: &Layout, id: NodeId) -> Option<usize> {
        match self.homes[id.index()] {
            Home::Input(input) if self.inputs[input] == InputBinding::Scalar => {
                Some(layout.input(input))
            }
            Home::Constant => layout.constant(id),
            _ => None,
        }
    }

    /// Where a node's value lies; `None` for constants, and for values that only exist inside a loop.
    pub fn location(&self, layout: &Layout, id: NodeId) -> Option<Location> {
        if self.constant_slot(layout, id).is_some() {
            return None;
        }
        Some(match self.homes[id.index()] {
            Home::Input(input) => {
                let slot = layout.input(input);
                Location {
                    pointer: slot,
                    skip: 0,
                    row_stride: Stride::Slot(slot + 1),
                    readonly: true,
                }
            }
            Home::Buffer(buffer) => Location {
                pointer: layout.buffer(buffer),
                skip: 0,
                row_stride: match self.shapes.of(id) {
                    Shape::Vector(class) => Stride::Slot(layout.width(class)),
                    _ => Stride::One,
                },
                readonly: false,
            },
            Home::View { of, skip } => {
                let base = self.location(layout, of)?;
                Location {
                    skip: base.skip.checked_add(skip)?,
                    ..base
                }
            }
            Home::Output(place) => self.output_location(layout, place),
            Home::None | Home::Constant => return None,
        })
    }

    /// Where a loop's store goes to.
    pub fn target(&self, layout: &Layout, id: NodeId, home: Home) -> Option<Location> {
        match home {
            Home::Output(place) => Some(self.output_location(layout, place)),
            _ => self.location(layout, id),
        }
    }

    /// What a loop reads, by the node whose value it is.
    pub fn reads(&self, layout: &Layout, step: &Loop) -> Vec<(NodeId, Read)> {
        let computed = step.nodes.iter().chain(&step.reductions);
        let mut ids: Vec<NodeId> = computed
            .flat_map(|id| self.nodes[id.index()].operands())
            .chain(step.stores.iter().map(|(id, _)| *id))
            .collect();
        ids.sort_unstable();
        ids.dedup();
        // The loop's nodes are in order, too.
        ids.retain(|id| step.nodes.binary_search(id).is_err());
        let read = |id: NodeId| {
            if let CNode::Literal(value) = self.nodes[id.index()] {
                return Some(Read::Literal(value));
            }
            if let Some(slot) = self.constant_slot(layout, id) {
                return Some(Read::Constant(slot));
            }
            let location = self.location(layout, id)?;
            Some(match (self.shapes.of(id), step.shape) {
                (Shape::PerRow, Shape::Vector(_)) => Read::PerRow(location),
                _ => Read::Stream(location),
            })
        };
        ids.into_iter()
            .filter_map(|id| Some((id, read(id)?)))
            .collect()
    }

    /// Where a loop's stores go to.
    pub fn stores(&self, layout: &Layout, step: &Loop) -> Vec<(NodeId, Location)> {
        let stores = step.stores.iter();
        stores
            .filter_map(|(id, home)| Some((*id, self.target(layout, *id, *home)?)))
            .collect()
    }

    /// The rows of a part of the output, or the numbers at one place of its rows.
    fn output_location(&self, layout: &Layout, place: usize) -> Location {
        let (part, skip) = match self.output_parts() {
            1 => (0, place as u64),
            _ => (place, 0),
        };
        let slot = layout.output(part);
        Location {
            pointer: slot,
            skip,
            row_stride: Stride::Slot(slot + 1),
            readonly: false,
        }
    }
}
