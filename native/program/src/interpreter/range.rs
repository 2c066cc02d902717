//! The values of a loop's variable.

use fulgurite_dataflow::IterationRange;
use fulgurite_error::{Error, Result};

#[derive(Debug, Clone)]
pub(super) struct Range {
    next: Option<i64>,
    to: i64,
    increment: i64,
}

impl Range {
    /// Without an increment, it counts towards `to`, up or down.
    pub fn new(from: i64, to: i64, increment: Option<i64>) -> Result<Self> {
        let increment = match increment {
            Some(0) => {
                return Err(Error::runtime("the increment of a loop is 0")
                    .with_help("increments are whole numbers; fractions are cut off"));
            }
            Some(increment) => increment,
            None if from > to => -1,
            None => 1,
        };
        Ok(Range {
            next: Some(from),
            to,
            increment,
        })
    }

    /// What is left, in so many parts of about equal length, or fewer if there are fewer values.
    pub fn split(&self, parts: u64) -> Vec<IterationRange> {
        let (Some(next), left) = (self.next, self.left()) else {
            return Vec::new();
        };
        let parts = parts.clamp(1, left.max(1));
        let start = |part: u64| (u128::from(left) * u128::from(part) / u128::from(parts)) as u64;
        (0..parts)
            .map(|part| {
                let from = start(part);
                let first = i128::from(next) + i128::from(self.increment) * i128::from(from);
                IterationRange {
                    number: from,
                    first: i64::try_from(first).unwrap_or(self.to),
                    increment: self.increment,
                    count: start(part + 1) - from,
                }
            })
            .filter(|range| range.count > 0)
            .collect()
    }

    /// The least and the greatest value that are left.
    pub fn bounds(&self) -> Option<(i64, i64)> {
        let first = self.next.filter(|_| self.left() > 0)?;
        let steps = i128::from(self.left() - 1);
        let last = i128::from(first) + i128::from(self.increment) * steps;
        let last = i64::try_from(last).ok()?;
        Some((first.min(last), first.max(last)))
    }

    /// From one value to the next.
    pub fn step(&self) -> i64 {
        self.increment
    }

    /// How many values are left.
    pub fn left(&self) -> u64 {
        let Some(next) = self.next else { return 0 };
        let distance = i128::from(self.to) - i128::from(next);
        let is_over = distance != 0 && (distance > 0) != (self.increment > 0);
        match is_over {
            true => 0,
            false => {
                let steps = distance / i128::from(self.increment);
                u64::try_from(steps + 1).unwrap_or(u64::MAX)
            }
        }
    }
}

impl Iterator for Range {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        let value = self.next?;
        let within = match self.increment > 0 {
            true => value <= self.to,
            false => value >= self.to,
        };
        self.next = match within {
            true => value.checked_add(self.increment),
            false => None,
        };
        within.then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_count_as_dml_counts() {
        let values = |from, to, increment| -> Vec<i64> {
            let range = Range::new(from, to, increment).expect("the increment is not 0");
            let count = range.left();
            let values: Vec<i64> = range.collect();
            assert_eq!(count, values.len() as u64);
            values
        };
        assert_eq!(values(1, 3, None), [1, 2, 3]);
        assert_eq!(values(1, 0, None), [1, 0]);
        assert!(values(1, 0, Some(1)).is_empty());
        assert!(values(0, 1, Some(-3)).is_empty());
        assert_eq!(values(2, 2, Some(-3)), [2]);
        assert_eq!(values(5, 1, Some(-2)), [5, 3, 1]);
        assert_eq!(values(5, 0, Some(-2)), [5, 3, 1]);
        assert_eq!(values(i64::MAX - 1, i64::MAX, Some(2)), [i64::MAX - 1]);
        assert!(Range::new(1, 2, Some(0)).is_err());
    }

    #[test]
    fn parts_of_a_range_are_all_of_it() {
        for (from, to, increment) in [
            (1, 10, None),
            (10, 1, None),
            (-5, 90, Some(7)),
            (3, 3, None),
            (2, 1, Some(1)),
            (i64::MAX - 2, i64::MAX, None),
        ] {
            let range = Range::new(from, to, increment).expect("the increment is not 0");
            let all: Vec<i64> = range.clone().collect();
            let bounds = all.iter().copied().min().zip(all.iter().copied().max());
            assert_eq!(range.bounds(), bounds);
            for parts in [1, 2, 3, 4, 100] {
                let split = range.split(parts);
                assert_eq!(split.len(), all.len().min(parts as usize));
                let counts = split.iter().map(|part| part.count);
                let (least, most) = (counts.clone().min(), counts.max());
                assert!(most.unwrap_or(0) - least.unwrap_or(0) <= 1, "{split:?}");
                let iterations = split.into_iter().flat_map(IterationRange::iterations);
                let numbered = all.iter().enumerate();
                let numbered = numbered.map(|(number, value)| (number as u64, *value));
                assert!(iterations.eq(numbered));
            }
        }
    }
}
