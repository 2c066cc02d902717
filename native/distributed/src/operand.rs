//! What is known of an operand, at run time or when a plan is explained.

use fulgurite_config::Config;
use fulgurite_dataflow::{DistributedMatrix, Variable, Whole};
use fulgurite_hop::Characteristics;

use super::sizes::through_driver;

/// What is known of an operand.
#[derive(Debug, Clone, Copy)]
pub struct Operand {
    pub characteristics: Characteristics,
    pub bytes: Option<u64>,
    pub place: OperandPlace,
    /// The first operand that is the same matrix.
    pub first: usize,
}

/// Where an operand is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperandPlace {
    /// No matrix.
    Scalar,
    Here,
    /// On the workers, in the stripes that tasks run on.
    InStripes,
    /// On the workers, in other stripes.
    Elsewhere,
}

impl Operand {
    /// What it is at run time, where tasks run on the stripes of `lead`.
    pub fn all(inputs: &[Variable], lead: &DistributedMatrix) -> Vec<Operand> {
        let is_same = |left: &Variable, right: &Variable| match (left, right) {
            (Variable::Matrix(left), Variable::Matrix(right)) => left.is(right),
            (Variable::Distributed(left), Variable::Distributed(right)) => {
                left.dataset.id == right.dataset.id && left.transposed == right.transposed
            }
            _ => false,
        };
        let operands = inputs.iter().enumerate().map(|(number, input)| {
            let (bytes, place) = match input.whole() {
                Ok(Whole::Scalar(_)) => (Some(0), OperandPlace::Scalar),
                // Operators see whole matrices.
                Err(_) => (None, OperandPlace::Elsewhere),
                Ok(Whole::Matrix(matrix)) => (
                    Some(matrix.block().memory_bytes() as u64),
                    OperandPlace::Here,
                ),
                Ok(Whole::Distributed(matrix)) => (
                    matrix.stripes.memory_bytes(),
                    match matrix.dataset.is_cut_as(&lead.dataset) {
                        true => OperandPlace::InStripes,
                        false => OperandPlace::Elsewhere,
                    },
                ),
            };
            let first = inputs.iter().position(|other| is_same(other, input));
            Operand {
                characteristics: input.characteristics(),
                bytes,
                place,
                first: first.unwrap_or(number),
            }
        });
        operands.collect()
    }

    /// Whether not every task can have all of it at once. What workers have goes through the driver.
    pub(crate) fn is_too_large_to_send(&self, config: &Config) -> bool {
        let limit = match self.place {
            OperandPlace::Scalar => return false,
            OperandPlace::Here => config.memory_broadcast,
            OperandPlace::InStripes | OperandPlace::Elsewhere => through_driver(config),
        };
        self.bytes.is_none_or(|bytes| bytes > limit)
    }
}
