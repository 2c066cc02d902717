//! Matrices that iterations write parts of and that are, or may not fit elsewhere than, on the workers.
//!
//! Each iteration starts from the matrix as it was before the loop and leaves the parts that it has written
//! ([`WrittenMatrix`]). They are put into the matrix in the order of iterations, many in one pass: after the loop, or
//! when they take too much of this process's memory.

use std::collections::BTreeSet;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Block, Characteristics, HopOp, Parallel, walk};

use super::sums::many;
use crate::{
    Session,
    interpreter::{Part, PartValue, Variable, WrittenMatrix, written},
};

/// So many parts of workers wait at most: each is a dataset, and may be a range of rows of its own.
const MOST_THERE: usize = 256;

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
    waiting: Vec<Part>,
    bytes: u64,
    there: usize,
    put: u64,
    passes: u64,
}

/// Whether parts that iterations write into a matrix are kept: for one of the workers, and one that full might not be
/// written into here.
pub(super) fn is_kept(matrix: &Variable, session: &Session) -> bool {
    let in_reach = in_reach(session);
    match matrix {
        Variable::Written(_) => true,
        Variable::Distributed(_) => in_reach,
        Variable::Matrix(matrix) => {
            let before = matrix.block().memory_bytes() as u64;
            let after = written::dense_bytes(matrix.block());
            in_reach && before.saturating_add(after) > session.config.memory_local
        }
        Variable::Scalar(_) => false,
    }
}

/// The same before a run, of the loop's results whose sizes are known.
pub(super) fn expected<'a>(
    body: &'a [Block],
    parallel: &Parallel,
    session: &Session,
) -> BTreeSet<&'a String> {
    let mut kept = BTreeSet::new();
    walk(body, &mut |block| {
        let Block::Basic { dag } = block else {
            return;
        };
        for (_, hop) in dag.iter() {
            let known = hop.characteristics;
            let after = Characteristics::new(known.rows, known.cols, None);
            let sizes = known.memory_bytes().zip(after.memory_bytes());
            let is_large = sizes.is_some_and(|(before, after)| {
                before.saturating_add(after) > session.config.memory_local
            });
            if let HopOp::TransientRead(name) = &hop.op
                && parallel.results.contains(name)
                && is_large
                && in_reach(session)
            {
                kept.insert(name);
            }
        }
    });
    kept
}

fn in_reach(session: &Session) -> bool {
    let backend = session.backend.as_ref();
    backend.is_some_and(|backend| backend.is_in_reach())
}

/// What parts in this process may take.
pub(super) fn most_bytes(session: &Session) -> u64 {
    session.config.memory_local / 8
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
            waiting: Vec::new(),
            bytes: 0,
            there: 0,
            put: 0,
            passes: 0,
        }
    }

    pub fn iterations_start(&self) -> WrittenMatrix {
        self.start.clone()
    }

    /// Bytes in this process.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes what the next iteration has changed.
    ///
    /// # Errors
    /// `runtime`, for parts of a matrix that has other sizes now; of the backend.
    pub fn add(&mut self, name: &str, change: Change, session: &Session) -> Result<()> {
        let parts = match change {
            Change::Replaced(matrix) => {
                // Nothing is left of what was written before.
                self.waiting.clear();
                (self.bytes, self.there) = (0, 0);
                self.matrix = match matrix {
                    Variable::Written(written) => written.whole(session)?,
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
        let own: u64 = parts.iter().map(Part::bytes).sum();
        self.bytes = self.bytes.saturating_add(own);
        let is_there = |part: &&Part| matches!(part.value, PartValue::There(_));
        self.there += parts.iter().filter(is_there).count();
        self.waiting.extend(parts);
        if self.bytes > most_bytes(session) || self.there > MOST_THERE {
            self.put(session)?;
        }
        Ok(())
    }

    /// Puts what waits into its place.
    fn put(&mut self, session: &Session) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        (self.bytes, self.there) = (0, 0);
        if let Variable::Written(around) = &mut self.matrix {
            // Of an iteration of a loop around this one, which puts all of its parts.
            around.extend(waiting);
            return Ok(());
        }
        self.put += waiting.len() as u64;
        self.passes += 1;
        self.matrix = written::put(&self.matrix, waiting, session)?;
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
