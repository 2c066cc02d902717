//! Matrices that iterations write parts of and that are, or may not fit elsewhere than, on the workers.
//!
//! Each iteration starts from the matrix as it was before the loop and leaves the parts that it has written
//! ([`WrittenMatrix`]). They are put into the matrix in the order of iterations, many in one pass: after the loop, or
//! when they take too much of this process's memory.

use fulgurite_dataflow::{Part, Variable, Waiting, WrittenMatrix};
use fulgurite_error::{Error, Result};

use super::sums::many;
use crate::{interpreter::written, session::Session};

/// What an iteration did to a matrix.
pub(super) enum Change {
    Parts(Vec<Part>),
    /// It was assigned whole.
    Replaced(Variable),
}

/// What a matrix has become so far.
pub(super) struct Written {
    /// What iterations start from.
    start: WrittenMatrix,
    matrix: Variable,
    parts: Vec<Part>,
    waiting: Waiting,
    put: u64,
    passes: u64,
}

/// What an iteration has made of a matrix that it started from.
pub(super) fn change(start: &WrittenMatrix, left: Variable) -> Change {
    let parts = match &left {
        Variable::Written(written) => written.written_since(start),
        _ => None,
    };
    parts.map_or(Change::Replaced(left), Change::Parts)
}

impl Written {
    pub fn start(matrix: &Variable) -> Self {
        Written {
            start: WrittenMatrix::new(matrix),
            matrix: matrix.clone(),
            parts: Vec::new(),
            waiting: Waiting::default(),
            put: 0,
            passes: 0,
        }
    }

    pub fn iterations_start(&self) -> WrittenMatrix {
        self.start.clone()
    }

    /// Bytes in this process.
    pub fn bytes(&self) -> u64 {
        self.waiting.bytes
    }

    /// Takes what the next iteration has changed.
    ///
    /// # Errors
    /// `runtime`, for parts of a matrix that has other sizes now; of the backend.
    pub fn add(&mut self, name: &str, change: Change, session: &Session) -> Result<()> {
        let parts = match change {
            Change::Replaced(matrix) => {
                // Nothing is left of what was written before.
                self.parts.clear();
                self.waiting = Waiting::default();
                self.matrix = match matrix {
                    Variable::Written(written) => written::whole(&written, session)?,
                    other => other,
                };
                return Ok(());
            }
            Change::Parts(parts) => parts,
        };
        let known = self.matrix.characteristics();
        let is_within = |part: &Part| {
            known.rows.is_some_and(|rows| part.rows.end <= rows)
                && known.cols.is_some_and(|cols| part.cols.end <= cols)
        };
        if !parts.iter().all(is_within) {
            return Err(Error::runtime(format!(
                "iterations of the parfor left '{name}' with other sizes"
            ))
            .with_help("write into parts of it, or write `for`"));
        }
        parts.iter().for_each(|part| self.waiting.add(part));
        self.parts.extend(parts);
        if written::is_too_much(self.waiting, session) {
            self.put(session)?;
        }
        Ok(())
    }

    /// Puts what waits into its place.
    fn put(&mut self, session: &Session) -> Result<()> {
        let parts = std::mem::take(&mut self.parts);
        if parts.is_empty() {
            return Ok(());
        }
        self.waiting = Waiting::default();
        if let Variable::Written(around) = &mut self.matrix {
            // Of an iteration of a loop around this one, which puts all of its parts.
            around.extend(parts);
            return Ok(());
        }
        self.put += parts.len() as u64;
        self.passes += 1;
        self.matrix = written::put(&self.matrix, parts, session)?;
        if let Variable::Distributed(matrix) = &mut self.matrix {
            matrix.persist()?;
        }
        Ok(())
    }

    /// The matrix with all parts in their places, and how they came there, if the workers were asked.
    ///
    /// # Errors
    /// Of the backend.
    pub fn finish(mut self, session: &Session) -> Result<(Variable, Option<String>)> {
        self.put(session)?;
        let text = format!(
            "{} put in {}",
            many(self.put, "part"),
            many(self.passes, "pass")
        );
        let is_worth_telling = self.passes > 0 && self.matrix.is_distributed();
        Ok((self.matrix, is_worth_telling.then_some(text)))
    }
}
