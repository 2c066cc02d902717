//! Whether two accesses of different iterations can meet in a cell.
//!
//! The parts are linear in counters, so this asks for whole numbers within bounds that solve linear equations. Two
//! classic tests show that there are none, each for rows and for columns alone: the greatest common divisor of the
//! coefficients (Banerjee's book calls it the GCD test), and the extreme values of the distance between both parts
//! (Banerjee's inequalities), for the second iteration coming after the first and before it. What neither can tell
//! counts as meeting.

use std::collections::BTreeSet;

use fulgurite_hop::Affine;

use super::{
    accesses::{Access, Counter, OWN_COUNTER, Region, Span},
    affine::Term,
};

/// Which of the two iterations comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    Before,
    After,
}

/// Whether the accesses may touch the same cell in two different iterations. `loops` has the bounds of the counters.
pub(super) fn may_meet(one: &Access, other: &Access, loops: &[Counter]) -> bool {
    let (Region::Part(one), Region::Part(other)) = (&one.region, &other.region) else {
        return own_range(loops).has_two();
    };
    [Order::Before, Order::After].into_iter().any(|order| {
        let mut sides = one.iter().zip(other.iter());
        sides.all(|(one, other)| may_overlap(one, other, order, loops))
    })
}

fn own_range(loops: &[Counter]) -> Counter {
    loops.get(OWN_COUNTER).copied().unwrap_or_default()
}

impl Counter {
    /// Whether there may be two iterations.
    fn has_two(self) -> bool {
        match (self.low, self.high) {
            (Some(low), Some(high)) => high > low,
            _ => true,
        }
    }
}

fn may_overlap(one: &Span, other: &Span, order: Order, loops: &[Counter]) -> bool {
    let (Span::Between(from, to), Span::Between(other_from, other_to)) = (one, other) else {
        return own_range(loops).has_two();
    };
    let is_apart = |low: &Affine<Term>, high: &Affine<Term>, order| {
        // Certainly above: the least distance is positive.
        Distance::new(low, high).is_some_and(|distance| distance.is_positive(order, loops))
    };
    let reversed = match order {
        Order::Before => Order::After,
        Order::After => Order::Before,
    };
    !(is_apart(from, other_to, order)
        || is_apart(other_from, to, reversed)
        || divisor_separates((from, to), (other_from, other_to)))
}

/// `one - other`, where each belongs to an iteration of its own.
struct Distance<'a> {
    one: &'a Affine<Term>,
    other: &'a Affine<Term>,
    constant: i128,
}

impl<'a> Distance<'a> {
    /// `None` unless what both iterations share cancels out.
    fn new(one: &'a Affine<Term>, other: &'a Affine<Term>) -> Option<Self> {
        let terms: BTreeSet<&Term> = one.terms.keys().chain(other.terms.keys()).collect();
        let cancels = |term: &&Term| match term {
            Term::Counter(_) => true,
            Term::Invariant(_) => one.coefficient(term) == other.coefficient(term),
        };
        terms.iter().all(cancels).then(|| Distance {
            one,
            other,
            constant: one.constant - other.constant,
        })
    }

    /// Whether it is positive wherever the iteration of `one` comes before or after that of `other`. Holds, too,
    /// where there are no two iterations.
    fn is_positive(&self, order: Order, loops: &[Counter]) -> bool {
        let own = Term::Counter(OWN_COUNTER);
        let (a, b) = (self.one.coefficient(&own), self.other.coefficient(&own));
        let range = own_range(loops);
        if !range.has_two() {
            return true;
        }
        // a * x - b * y with y before x; or, the other way round, (-b) * y - (-a) * x with x before y.
        let least = match order {
            Order::After => least_of_ordered(a, b, range),
            Order::Before => least_of_ordered(-b, -a, range),
        };
        let inner = self
            .inner(self.one, 1, loops)
            .zip(self.inner(self.other, -1, loops));
        match (least, inner) {
            (Some(least), Some((one, other))) => self.constant + least + one + other > 0,
            _ => false,
        }
    }

    /// The least of what counters of inner loops add, each within its bounds.
    fn inner(&self, side: &Affine<Term>, sign: i128, loops: &[Counter]) -> Option<i128> {
        let mut least = 0;
        for (term, coefficient) in &side.terms {
            if let Term::Counter(number) = term
                && *number != OWN_COUNTER
            {
                let range = loops.get(*number).copied().unwrap_or_default();
                let coefficient = sign * coefficient;
                let extreme = if coefficient > 0 {
                    range.low
                } else {
                    range.high
                };
                least += coefficient.checked_mul(extreme?)?;
            }
        }
        Some(least)
    }
}

/// The least value of `a * x - b * y` for `x > y` within the range; `None` if there is none. A linear function has it in a
/// corner of the triangle of all pairs, if that is bounded.
fn least_of_ordered(a: i128, b: i128, range: Counter) -> Option<i128> {
    let value = |x: i128, y: i128| a.checked_mul(x)?.checked_sub(b.checked_mul(y)?);
    match (range.low, range.high) {
        (Some(low), Some(high)) => {
            let corners = [(low + 1, low), (high, low), (high, high - 1)];
            let values: Option<Vec<i128>> = corners.iter().map(|(x, y)| value(*x, *y)).collect();
            values?.into_iter().min()
        }
        // x = y + d: (a - b) * y + a * d with d >= 1, and y unbounded above, or below, or both.
        (Some(low), None) => (a >= b && a >= 0).then(|| value(low + 1, low)).flatten(),
        // y = x - d: (a - b) * x + b * d.
        (None, Some(high)) => (a <= b && b >= 0).then(|| value(high, high - 1)).flatten(),
        (None, None) => (a == b && a >= 0).then_some(a),
    }
}

/// Whether all distances between the parts' beginnings leave a remainder that keeps them apart: `X[2 * i, ]` and
/// `X[2 * i + 1, ]`. Only for parts of a constant height or width.
fn divisor_separates(
    one: (&Affine<Term>, &Affine<Term>),
    other: (&Affine<Term>, &Affine<Term>),
) -> bool {
    let width = |(from, to): (&Affine<Term>, &Affine<Term>)| to.minus(from)?.number();
    let (Some(width_of_one), Some(width_of_other), Some(distance)) =
        (width(one), width(other), Distance::new(one.0, other.0))
    else {
        return false;
    };
    let counters = |side: &Affine<Term>| -> Vec<i128> {
        let terms = side.terms.iter();
        let counters = terms.filter(|(term, _)| matches!(term, Term::Counter(_)));
        counters.map(|(_, coefficient)| *coefficient).collect()
    };
    let divisor = [one.0, other.0]
        .into_iter()
        .flat_map(counters)
        .fold(0, greatest_common_divisor);
    // They overlap where the first begins between `width_of_one` before and `width_of_other` after the second.
    let (low, high) = (-width_of_one, width_of_other);
    match divisor {
        0 => distance.constant < low || distance.constant > high,
        divisor => {
            // The least value from `low` on that leaves the distance's remainder.
            let first = low + (distance.constant - low).rem_euclid(divisor);
            first > high
        }
    }
}

fn greatest_common_divisor(a: i128, b: i128) -> i128 {
    match b {
        0 => a.abs(),
        _ => greatest_common_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_value_is_that_of_a_corner() {
        let ranges = (-4..4).flat_map(|low| (low + 1..5).map(move |high| (low, high)));
        for (low, high) in ranges {
            for (a, b) in (-3..4).flat_map(|a| (-3..4).map(move |b| (a, b))) {
                let pairs = (low..=high).flat_map(|x| (low..x).map(move |y| (x, y)));
                let least = pairs.map(|(x, y)| a * x - b * y).min();
                let range = Counter {
                    low: Some(low),
                    high: Some(high),
                };
                assert_eq!(least_of_ordered(a, b, range), least, "{a} {b} {low} {high}");
                // Less is known of fewer bounds.
                for range in [
                    Counter { low: None, ..range },
                    Counter {
                        high: None,
                        ..range
                    },
                    Counter::default(),
                ] {
                    let unbounded = least_of_ordered(a, b, range);
                    assert!(unbounded.is_none_or(|bound| Some(bound) <= least));
                }
            }
        }
    }
}
