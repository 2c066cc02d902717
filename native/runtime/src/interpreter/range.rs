//! The values of a loop's variable.

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
}
