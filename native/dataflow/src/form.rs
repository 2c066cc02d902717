//! The physical form in which workers run an operator, as explanations and reports say it.

use std::fmt;

use serde::Serialize;

/// How a product of two large matrices runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LargeProduct {
    /// So many pieces of the right one's rows go through the driver, with a job for each.
    Pieces(u64),
    /// Replication-based (rmm): each task gets the stripes of the right one after the other, and sums up what its stripes of
    /// the left one give with them. It holds stripes and results of about `bytes`, of which a row of the result takes `row_bytes`.
    Rmm { bytes: u64, row_bytes: u64 },
    /// Cross-product-based (cpmm): columns of the left one are shuffled to the rows of the right one; each task sums up a part of
    /// the whole result, and these are summed up at the driver or by a shuffle.
    Cpmm { result_comes_here: bool },
}

impl fmt::Display for LargeProduct {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LargeProduct::Pieces(count) => write!(f, "operand 2 sent in {count} pieces"),
            LargeProduct::Rmm { .. } => {
                f.write_str("rmm: stripes of operand 2 go to those of operand 1")
            }
            LargeProduct::Cpmm { result_comes_here } => {
                f.write_str("cpmm: columns of operand 1 go to rows of operand 2, parts combined")?;
                match result_comes_here {
                    true => Ok(()),
                    false => f.write_str(" by a shuffle"),
                }
            }
        }
    }
}

/// What an operator does beside going over stripes where they are. Operands are counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// An operand that every task gets whole.
    Sent(usize),
    /// Rows of a matrix of the driver that is too large to be sent.
    Spread(usize),
    /// Shuffled to the stripes that tasks run on.
    Aligned(usize),
    /// The right one of two factors may not be sent whole.
    Product(LargeProduct),
    /// An outer product in so many ranges of columns, with a job for each.
    Ranges(u64),
    /// Rows are sent to their places in the result.
    Selected,
    /// Tasks' results are combined and come to the driver.
    Combined,
    /// Tasks' results are too large for the driver.
    CombinedByShuffle,
    Composed(&'static str),
}

/// How workers run an operator.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Form(Vec<Step>);

impl Form {
    /// Of what is done for operands, in their order, and for the result.
    pub fn new(steps: Vec<Step>) -> Self {
        Form(steps)
    }

    /// Of a product with a matrix that selects rows.
    pub fn of_selection() -> Self {
        Form(vec![Step::Selected])
    }

    /// Whether all of the result is at the driver, though its rows are those of an operand on the workers.
    pub fn brings_result(&self) -> bool {
        let is_brought = |step: &Step| {
            let form = match step {
                Step::Product(form) => Some(form),
                _ => None,
            };
            matches!(
                form,
                Some(LargeProduct::Cpmm {
                    result_comes_here: true
                })
            )
        };
        self.0.iter().any(is_brought)
    }

    /// Of a composition of primitives that does this.
    pub fn of_composition(what: &'static str) -> Self {
        Form(vec![Step::Composed(what)])
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, step) in self.0.iter().enumerate() {
            if place > 0 {
                f.write_str(", ")?;
            }
            step.fmt(f)?;
        }
        if self.0.is_empty() {
            f.write_str("stripe by stripe")?;
        }
        Ok(())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Sent(operand) => write!(f, "operand {} sent", operand + 1),
            Step::Spread(operand) => write!(f, "operand {} spread and shuffled", operand + 1),
            Step::Aligned(operand) => write!(f, "operand {} shuffled", operand + 1),
            Step::Product(product) => product.fmt(f),
            Step::Ranges(count) => write!(f, "right factor sent in {count} ranges"),
            Step::Selected => f.write_str("rows sent to their places"),
            Step::Combined => f.write_str("parts combined"),
            Step::CombinedByShuffle => f.write_str("parts combined by a shuffle"),
            Step::Composed(text) => f.write_str(text),
        }
    }
}

impl Serialize for Form {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
