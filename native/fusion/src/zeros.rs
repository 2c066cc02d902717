//! Sparse-safety as a property of values: the matrices whose zeros an expression keeps.
//!
//! `X * exp(Y)` is zero wherever X is; `X * Y + X` wherever X is; `abs(X - X * Y)` too. A fused operator
//! may skip the zeros of its main input exactly if that is a zero carrier of its value. Like everything
//! about sparsity, this holds for finite operands: 0 * NaN counts as 0.

use fulgurite_hop::{HopId, HopOp, Literal, TernaryOp};

use crate::view::{DagView, Spread};

/// More carriers than this are forgotten, the latest first: a plan then visits cells it could skip.
const MAX_CARRIERS: usize = 16;

/// Per HOP, the matrices of its shape at whose zeros it is zero, itself included. Sorted.
#[derive(Default)]
pub(crate) struct ZeroCarriers {
    carriers: Vec<Vec<HopId>>,
}

impl ZeroCarriers {
    pub fn new(view: &DagView) -> Self {
        let mut zeros = ZeroCarriers {
            carriers: Vec::with_capacity(view.dag.len()),
        };
        for (id, hop) in view.dag.iter() {
            let carriers = match hop.is_matrix() && view.is_live(id) {
                true => zeros.carriers(view, id),
                false => Vec::new(),
            };
            zeros.carriers.push(carriers);
        }
        zeros
    }

    pub fn of(&self, hop: HopId) -> &[HopId] {
        self.carriers.get(hop.index()).map_or(&[], Vec::as_slice)
    }

    fn carriers(&self, view: &DagView, id: HopId) -> Vec<HopId> {
        let inputs = &view.hop(id).inputs;
        // Vectors that are spread are zero in other cells than their own.
        let of = |slot: usize| match view.spread(id, slot) {
            Some(Spread::Full) => self.of(inputs[slot]),
            _ => &[],
        };
        let constant = |slot: usize| match &view.hop(inputs[slot]).op {
            HopOp::Literal(literal) => Literal::as_f64(literal),
            _ => None,
        };
        let mut carriers = match view.hop(id).op {
            HopOp::Unary(op) if op.keeps_zero() => of(0).to_vec(),
            HopOp::Binary(op) => match (constant(0), constant(1)) {
                (_, Some(y)) if op.eval(0.0, y) == 0.0 => of(0).to_vec(),
                (Some(x), _) if op.eval(x, 0.0) == 0.0 => of(1).to_vec(),
                (None, None) => {
                    let left = if op.zero_on_left_zero() { of(0) } else { &[] };
                    let right = if op.zero_on_right_zero() { of(1) } else { &[] };
                    let either = union(left, right);
                    match op.zero_on_both_zero() {
                        true => union(&either, &intersection(of(0), of(1))),
                        false => either,
                    }
                }
                _ => Vec::new(),
            },
            HopOp::Ternary(TernaryOp::IfElse) => intersection(of(2), &union(of(0), of(1))),
            HopOp::Ternary(TernaryOp::PlusMult | TernaryOp::MinusMult) => {
                intersection(of(0), &union(of(1), of(2)))
            }
            _ => Vec::new(),
        };
        // Inputs come first: they are what main inputs are chosen from.
        carriers.truncate(MAX_CARRIERS - 1);
        carriers.push(id);
        carriers
    }
}

fn union(a: &[HopId], b: &[HopId]) -> Vec<HopId> {
    let mut all = [a, b].concat();
    all.sort_unstable();
    all.dedup();
    all
}

fn intersection(a: &[HopId], b: &[HopId]) -> Vec<HopId> {
    let is_in_b = |hop: &&HopId| b.binary_search(hop).is_ok();
    a.iter().filter(is_in_b).copied().collect()
}
