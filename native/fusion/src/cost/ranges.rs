//! What ranges cost that fused operators may read inside the matrices that they are of: nothing of their own, but bytes that lie
//! between their rows, and copies for operators that do not read them so.

use fulgurite_hop::HopId;

use super::{CostModel, reading};
use crate::{cplan::InputBinding, memo::TemplateType, operator::Operator};

/// A range that is not built. Operators that do not read it in place copy it first.
#[derive(Debug, Clone, Copy)]
pub(super) struct InPlace {
    /// Bytes that one goes over who reads it where it lies.
    spanned: f64,
    /// Seconds of copying it, for each of its readers if all do not read it in place.
    copying: f64,
}

/// Seconds that a fused operator takes longer for the ranges among its inputs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct OfRanges {
    /// Of reading them where they lie.
    pub(super) between_rows: f64,
    /// Of copying those that it does not read so.
    pub(super) copying: f64,
}

impl CostModel<'_> {
    pub(super) fn range_in_place(&self, range: HopId) -> Option<InPlace> {
        /// A row's cells begin and end anywhere in a cache line.
        const LINE: f64 = 64.0;
        if !self.view.may_be_in_place(range) || !self.fits(range) {
            return None;
        }
        let (shape, of) = (
            self.view.shape(range)?,
            self.view.shape(self.view.hop(range).inputs[0])?,
        );
        let row = (8.0 * of.cols as f64).min(8.0 * shape.cols as f64 + LINE);
        let copying = self.as_its_own(range) - self.config.cost.operator();
        Some(InPlace {
            spanned: shape.rows as f64 * row,
            copying: copying / self.view.consumers(range).len().max(1) as f64,
        })
    }

    /// As a basic operator it reads nothing: it is a range that fused operators may read in place.
    pub fn may_read_nothing(&self, hop: HopId) -> bool {
        self.in_place[hop.index()].is_some()
    }

    /// Seconds of copying the ranges that a basic operator reads.
    pub(super) fn copying_inputs(&self, hop: HopId) -> f64 {
        let mut inputs = self.view.hop(hop).inputs.clone();
        inputs.sort_unstable();
        inputs.dedup();
        let ranges = inputs
            .iter()
            .filter_map(|input| self.in_place[input.index()]);
        ranges.map(|range| range.copying).sum()
    }

    pub(super) fn ranges_of(&self, operator: &Operator) -> OfRanges {
        let mut of_ranges = OfRanges::default();
        for (hop, bound) in &operator.inputs {
            let Some(range) = self.in_place[hop.index()] else {
                continue;
            };
            match bound.reads_ranges(operator.template == TemplateType::Outer) {
                true => of_ranges.between_rows += self.between_rows(*hop, range),
                false => of_ranges.copying += range.copying,
            }
        }
        of_ranges
    }

    /// Bytes that different inputs of a fused operator take together. Ranges overlap: they hold no more than what they are ranges
    /// of.
    pub(super) fn held(
        &self,
        template: TemplateType,
        inputs: impl Iterator<Item = (HopId, InputBinding)>,
    ) -> f64 {
        let is_outer = template == TemplateType::Outer;
        let mut held = 0.0;
        let mut ranges: Vec<(HopId, f64)> = Vec::new();
        for (hop, bound) in inputs {
            let bytes = self.bytes(hop);
            let in_place = self.in_place[hop.index()].is_some() && bound.reads_ranges(is_outer);
            let of = in_place.then(|| self.view.hop(hop).inputs[0]);
            match of.map(|of| (of, ranges.iter_mut().find(|(other, _)| *other == of))) {
                None => held += bytes,
                Some((_, Some((_, sum)))) => *sum += bytes,
                Some((of, None)) => ranges.push((of, bytes)),
            }
        }
        let ranges = ranges.into_iter();
        held + ranges.map(|(of, sum)| sum.min(self.bytes(of))).sum::<f64>()
    }

    /// Seconds of reading what lies between the rows of a range, as far as its cache lines reach.
    fn between_rows(&self, hop: HopId, range: InPlace) -> f64 {
        let time = |bytes: f64| self.config.cost.moving(reading(bytes), bytes);
        (time(range.spanned) - time(self.bytes(hop))).max(0.0)
    }
}
