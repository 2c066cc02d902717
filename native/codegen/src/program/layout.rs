//! Where everything that depends on sizes stands in the frame that compiled code receives: one `u64` slot each.

use fulgurite_fusion::cplan::{InputBinding, NodeId};

use super::Program;

/// Slots of an input that is read by rows: values, stride (in cells), row pointers, column indices and values
/// of CSR rows (zero where there are none), as [`crate::primitives::CsrRows`] has the latter.
const INPUT_SLOTS: usize = 5;
/// Slots of an input that is used whole, and of the accumulator of outer products, as
/// [`crate::primitives::Whole`] has them.
pub(crate) const WHOLE_SLOTS: usize = 8;

/// Slot numbers for a program.
#[derive(Debug, Clone)]
pub(crate) struct Layout {
    widths: usize,
    inputs: Vec<usize>,
    constants: Vec<(NodeId, usize)>,
    buffers: usize,
    accumulator: usize,
    output: usize,
    length: usize,
}

impl Layout {
    pub fn of(program: &Program) -> Self {
        let mut next = 1;
        let mut take = |slots: usize| {
            next += slots;
            next - slots
        };
        let widths = take(program.shapes.classes.len());
        let inputs = program
            .inputs
            .iter()
            .map(|binding| {
                take(match binding {
                    InputBinding::Scalar => 1,
                    InputBinding::Whole => WHOLE_SLOTS,
                    _ => INPUT_SLOTS,
                })
            })
            .collect();
        let constants = program.constants.iter().map(|id| (*id, take(1))).collect();
        let buffers = take(program.buffers.len());
        let accumulator = take(if program.outer_product.is_some() {
            WHOLE_SLOTS
        } else {
            0
        });
        let output = take(2 * program.output_parts());
        Layout {
            widths,
            inputs,
            constants,
            buffers,
            accumulator,
            output,
            length: next,
        }
    }

    pub fn rows(&self) -> usize {
        0
    }

    pub fn width(&self, class: usize) -> usize {
        self.widths + class
    }

    pub fn input(&self, input: usize) -> usize {
        self.inputs[input]
    }

    pub fn constant(&self, node: NodeId) -> Option<usize> {
        let known = self.constants.iter().find(|(id, _)| *id == node);
        known.map(|(_, slot)| *slot)
    }

    pub fn buffer(&self, buffer: usize) -> usize {
        self.buffers + buffer
    }

    pub fn accumulator(&self) -> usize {
        self.accumulator
    }

    /// Of a part of the output: pointer, then stride.
    pub fn output(&self, part: usize) -> usize {
        self.output + 2 * part
    }

    pub fn length(&self) -> usize {
        self.length
    }
}
