//! Linear combinations of whole numbers, as subscripts in loops are.

use std::collections::BTreeMap;

use crate::BinaryOp;

/// Beyond, doubles no longer tell neighbouring whole numbers apart.
const LARGEST: u128 = 1 << 53;

/// `constant + coefficient * term + …`, of numbers that are exact as doubles, too.
///
/// ```
/// use fulgurite_hop::{Affine, BinaryOp};
///
/// // (i - 1) * 4
/// let less = Affine::of(BinaryOp::Minus, &Affine::term("i"), &Affine::constant(1)).unwrap();
/// let from = Affine::of(BinaryOp::Mult, &less, &Affine::constant(4)).unwrap();
/// assert_eq!((from.coefficient(&"i"), from.constant), (4, -4));
/// assert_eq!(Affine::of(BinaryOp::Mult, &from, &from), None);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Affine<T> {
    pub constant: i128,
    /// No coefficient is 0.
    pub terms: BTreeMap<T, i128>,
}

impl<T: Ord + Clone> Affine<T> {
    pub fn constant(constant: i128) -> Self {
        Affine {
            constant,
            terms: BTreeMap::new(),
        }
    }

    pub fn term(term: T) -> Self {
        Affine {
            constant: 0,
            terms: [(term, 1)].into(),
        }
    }

    /// What an operator gives of two; `None` if that is no linear combination, or its numbers get too large to be exact.
    pub fn of(op: BinaryOp, left: &Self, right: &Self) -> Option<Self> {
        if op == BinaryOp::Plus {
            left.plus(right)
        } else if op == BinaryOp::Minus {
            left.minus(right)
        } else if op == BinaryOp::Mult {
            match (left.number(), right.number()) {
                (Some(factor), _) => right.times(factor),
                (_, Some(factor)) => left.times(factor),
                (None, None) => None,
            }
        } else {
            None
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    pub fn coefficient(&self, term: &T) -> i128 {
        self.terms.get(term).copied().unwrap_or(0)
    }

    /// `None` where numbers get too large to be exact.
    pub fn plus(&self, other: &Self) -> Option<Self> {
        let mut terms = self.terms.clone();
        for (term, coefficient) in &other.terms {
            let sum = terms.entry(term.clone()).or_insert(0);
            *sum += coefficient;
        }
        Affine {
            constant: self.constant + other.constant,
            terms,
        }
        .in_range()
    }

    /// `None` where numbers get too large to be exact.
    pub fn times(&self, factor: i128) -> Option<Self> {
        let mut terms = self.terms.clone();
        for coefficient in terms.values_mut() {
            *coefficient = coefficient.checked_mul(factor)?;
        }
        Affine {
            constant: self.constant.checked_mul(factor)?,
            terms,
        }
        .in_range()
    }

    /// `None` where numbers get too large to be exact.
    pub fn minus(&self, other: &Self) -> Option<Self> {
        self.plus(&other.times(-1)?)
    }

    /// `None` where numbers are too large to be exact.
    pub fn in_range(mut self) -> Option<Self> {
        self.terms.retain(|_, coefficient| *coefficient != 0);
        let fits = |number: &i128| number.unsigned_abs() <= LARGEST;
        (self.terms.values().all(fits) && fits(&self.constant)).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_exact_or_there_are_none() {
        let largest = Affine::<()>::constant(1 << 53);
        let (one, minus_one) = (Affine::constant(1), Affine::constant(-1));
        assert_eq!(Affine::of(BinaryOp::Plus, &largest, &one), None);
        let less = Affine::of(BinaryOp::Plus, &largest, &minus_one);
        assert_eq!(less.and_then(|less| less.number()), Some((1 << 53) - 1));
        assert_eq!(Affine::<()>::constant(i128::MIN).in_range(), None);
        assert_eq!(Affine::<()>::constant(i128::MAX).times(2), None);
    }

    #[test]
    fn terms_that_cancel_leave_a_number() {
        let row = Affine::term("i");
        let next = row.plus(&Affine::constant(1)).expect("small numbers");
        assert_eq!(next.number(), None);
        assert_eq!(next.minus(&row).and_then(|width| width.number()), Some(1));
    }

    #[test]
    fn other_operators_give_no_linear_combination() {
        let (row, two) = (Affine::term("i"), Affine::constant(2));
        for op in BinaryOp::ALL {
            let is_linear = matches!(op, BinaryOp::Plus | BinaryOp::Minus | BinaryOp::Mult);
            let combined = Affine::of(*op, &row, &two);
            assert_eq!(combined.is_some(), is_linear, "{op:?}");
        }
    }
}
