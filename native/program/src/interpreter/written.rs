//! Which matrices loops keep parts of, and for how long.

use std::collections::BTreeSet;

use fulgurite_dataflow::{Part, Variable, Waiting, WrittenMatrix};
use fulgurite_distributed::dense_bytes;
use fulgurite_error::Result;
use fulgurite_hop::{Block, Characteristics, walk};

use crate::session::Session;

/// So many parts of workers wait at most: each is a dataset, and may be a range of rows of its own.
const MOST_THERE: usize = 256;

/// Whether it is time to put them there.
pub(crate) fn is_too_much(waiting: Waiting, session: &Session) -> bool {
    waiting.bytes > most_bytes(session) || waiting.there > MOST_THERE
}

/// What they may take in this process.
pub(crate) fn most_bytes(session: &Session) -> u64 {
    session.config.memory_local / 8
}

/// The matrix with all parts in their places. What is lazy is not kept.
///
/// # Errors
/// Of the backend.
pub(crate) fn whole(written: &WrittenMatrix, session: &Session) -> Result<Variable> {
    fulgurite_distributed::whole(written, session.workers_if_any().as_ref())
}

/// The matrix with the parts in it: here, if it is here and all of it fits, else on the workers.
///
/// # Errors
/// Of the backend.
pub(crate) fn put(matrix: &Variable, parts: Vec<Part>, session: &Session) -> Result<Variable> {
    fulgurite_distributed::put(matrix, parts, session.workers_if_any().as_ref())
}

/// Whether a loop keeps parts that it writes into a matrix: one of the workers, and one that full might not be written
/// into here.
pub(crate) fn is_kept(matrix: &Variable, session: &Session) -> bool {
    match matrix {
        Variable::Written(_) => true,
        Variable::Distributed(_) => in_reach(session),
        Variable::Matrix(matrix) => {
            let before = matrix.block().memory_bytes() as u64;
            let after = dense_bytes(matrix.block());
            in_reach(session) && before.saturating_add(after) > session.config.memory_local
        }
        Variable::Scalar(_) | Variable::List(_) | Variable::Frame(_) | Variable::Range(_) => false,
    }
}

/// The same before a run: those of the variables whose sizes in the loop are known.
fn expected<'a>(
    body: &'a [Block],
    written: &BTreeSet<String>,
    session: &Session,
) -> BTreeSet<&'a str> {
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
            if let Some(name) = hop.op.variable_read()
                && written.contains(name)
                && is_large
                && in_reach(session)
            {
                kept.insert(name);
            }
        }
    });
    kept
}

/// What explain says of them: `parts of 'R' are put together`, or nothing.
pub(crate) fn expectation(
    body: &[Block],
    written: &BTreeSet<String>,
    session: &Session,
) -> Option<String> {
    let kept = expected(body, written, session);
    let kept: Vec<String> = kept.iter().map(|name| format!("'{name}'")).collect();
    let is_any = !kept.is_empty();
    is_any.then(|| format!("parts of {} are put together", kept.join(" and ")))
}

pub(crate) fn in_reach(session: &Session) -> bool {
    let backend = session.backend.as_ref();
    backend.is_some_and(|backend| backend.is_in_reach())
}

/// Matrices with parts that are not in their places are put together, and what workers have is kept there.
pub(super) fn in_one_piece(value: Variable, session: &Session) -> Result<Variable> {
    match value {
        Variable::Written(matrix) => whole(&matrix, session),
        Variable::Range(range) => Ok(Variable::matrix(range.to_dense()?.into())),
        Variable::Distributed(mut matrix) => {
            matrix.persist()?;
            Ok(Variable::Distributed(matrix))
        }
        other => Ok(other),
    }
}
