//! Matrices with parts that were written into them and are not in their places yet.
//!
//! An iteration that writes into a matrix of the workers would make a new one of it each time. It keeps the parts instead,
//! which the loop puts into the matrix together ([`super::parfor`], [`super::loop_writes`]). What the iteration reads
//! meanwhile is the matrix with its own parts in it.

use std::{collections::BTreeSet, ops::Range, sync::Arc};

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Block, Characteristics, HopOp, walk};
use fulgurite_matrix::{
    MatrixBlock, arrow_block,
    kernels::{self, IndexRange, PlacedPart},
};

use super::{LocalMatrix, Variable};
use crate::{
    Session,
    distributed::{DistributedMatrix, Workers},
};

/// What a part that is here takes beside its cells.
const BYTES_OF_PART: u64 = 512;

/// So many parts of workers wait at most: each is a dataset, and may be a range of rows of its own.
const MOST_THERE: usize = 256;

/// Rows and columns, from 0, and the matrix that they get.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) rows: Range<u64>,
    pub(crate) cols: Range<u64>,
    pub(crate) value: PartValue,
}

#[derive(Debug, Clone)]
pub(crate) enum PartValue {
    Here(LocalMatrix),
    /// In stripes of its rows.
    There(DistributedMatrix),
}

impl Part {
    /// Of a block, where it is.
    pub(crate) fn of(block: arrow_block::Block) -> Self {
        let (top, left) = (block.row_offset, block.column_offset);
        let (rows, cols) = (block.matrix.rows() as u64, block.matrix.cols() as u64);
        Part {
            rows: top..top.saturating_add(rows),
            cols: left..left.saturating_add(cols),
            value: PartValue::Here(LocalMatrix::new(block.matrix)),
        }
    }

    pub(crate) fn overlaps(&self, rows: &Range<u64>, cols: &Range<u64>) -> bool {
        let meet =
            |one: &Range<u64>, other: &Range<u64>| one.start < other.end && other.start < one.end;
        meet(&self.rows, rows) && meet(&self.cols, cols)
    }

    fn covers(&self, rows: &Range<u64>, cols: &Range<u64>) -> bool {
        let within = |outer: &Range<u64>, inner: &Range<u64>| {
            outer.start <= inner.start && inner.end <= outer.end
        };
        within(&self.rows, rows) && within(&self.cols, cols)
    }

    /// Bytes that it takes in this process.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.value {
            PartValue::Here(matrix) => {
                let cells = matrix.block().memory_bytes() as u64;
                cells.saturating_add(BYTES_OF_PART)
            }
            PartValue::There(_) => 0,
        }
    }

    /// What of it is in the range, in which it then has its place.
    fn within(&self, rows: &Range<u64>, cols: &Range<u64>, session: &Session) -> Result<Part> {
        let cut = |own: &Range<u64>, range: &Range<u64>| {
            own.start.max(range.start)..own.end.min(range.end)
        };
        let moved = |range: &Range<u64>, by: u64| range.start - by..range.end - by;
        let (own_rows, own_cols) = (cut(&self.rows, rows), cut(&self.cols, cols));
        let of_value = (
            moved(&own_rows, self.rows.start),
            moved(&own_cols, self.cols.start),
        );
        Ok(Part {
            rows: moved(&own_rows, rows.start),
            cols: moved(&own_cols, cols.start),
            value: match &self.value {
                PartValue::Here(matrix) => {
                    let block = matrix.block();
                    let (rows, cols) = (from_one(&of_value.0), from_one(&of_value.1));
                    let cut = kernels::right_index(block, rows, cols)?;
                    PartValue::Here(LocalMatrix::new(cut))
                }
                PartValue::There(matrix) => {
                    let workers = Workers::of(session)?;
                    PartValue::There(workers.range_of(matrix, of_value.0, of_value.1)?)
                }
            },
        })
    }

    /// As kernels take it, for a matrix that is here.
    fn placed(&self) -> Result<PlacedPart> {
        let value = match &self.value {
            PartValue::Here(matrix) => matrix.clone(),
            PartValue::There(matrix) => matrix.collect()?,
        };
        Ok(PlacedPart {
            rows: self.rows.start as usize..self.rows.end as usize,
            cols: self.cols.start as usize..self.cols.end as usize,
            value: value.into_block(),
        })
    }
}

/// What parts that wait for their places take.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waiting {
    /// In this process.
    pub(crate) bytes: u64,
    /// Parts of the workers.
    there: usize,
}

impl Waiting {
    pub(crate) fn add(&mut self, part: &Part) {
        self.bytes = self.bytes.saturating_add(part.bytes());
        self.there += usize::from(matches!(part.value, PartValue::There(_)));
    }

    fn remove(&mut self, part: &Part) {
        self.bytes = self.bytes.saturating_sub(part.bytes());
        self.there -= usize::from(matches!(part.value, PartValue::There(_)));
    }

    /// Whether it is time to put them there.
    pub(crate) fn is_too_much(&self, session: &Session) -> bool {
        self.bytes > Waiting::most_bytes(session) || self.there > MOST_THERE
    }

    /// What they may take in this process.
    pub(crate) fn most_bytes(session: &Session) -> u64 {
        session.config.memory_local / 8
    }
}

fn from_one(range: &Range<u64>) -> IndexRange {
    IndexRange::new(range.start as i64 + 1, range.end as i64)
}

/// A matrix and the parts that were written into it since.
#[derive(Debug, Clone)]
pub(crate) struct WrittenMatrix {
    base: Arc<Variable>,
    /// In the order in which they were written.
    parts: Arc<Vec<Part>>,
    waiting: Waiting,
    /// So many were there before whoever writes now came.
    others: usize,
}

impl WrittenMatrix {
    /// To be written into. What was written before, into a matrix with parts of its own, is not the new writer's.
    pub(crate) fn new(matrix: &Variable) -> Self {
        match matrix {
            Variable::Written(written) => WrittenMatrix {
                others: written.parts.len(),
                ..written.clone()
            },
            other => WrittenMatrix {
                base: Arc::new(other.clone()),
                parts: Arc::default(),
                waiting: Waiting::default(),
                others: 0,
            },
        }
    }

    pub(crate) fn characteristics(&self) -> Characteristics {
        let known = self.base.characteristics();
        match self.parts.is_empty() {
            true => known,
            false => Characteristics::new(known.rows, known.cols, None),
        }
    }

    /// The matrix without the parts.
    pub(crate) fn base(&self) -> &Variable {
        &self.base
    }

    pub(crate) fn waiting(&self) -> Waiting {
        self.waiting
    }

    pub(crate) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The parts that this has beyond those of the matrix that a writer was given; `None` if it is not made from it.
    pub(crate) fn written_since(&self, given: &WrittenMatrix) -> Option<Vec<Part>> {
        let is_made_from_it = Arc::ptr_eq(&self.base, &given.base) && self.others == given.others;
        is_made_from_it.then(|| self.parts[self.others..].to_vec())
    }

    /// Writes over what is there.
    pub(crate) fn write(&mut self, part: Part) -> Result<()> {
        let parts = Arc::make_mut(&mut self.parts);
        if let [.., last] = &mut parts[self.others..]
            && last.covers(&part.rows, &part.cols)
            && let (PartValue::Here(_), PartValue::Here(value)) = (&last.value, &part.value)
        {
            let moved = |range: &Range<u64>, by: u64| from_one(&(range.start - by..range.end - by));
            let rows = moved(&part.rows, last.rows.start);
            let cols = moved(&part.cols, last.cols.start);
            self.waiting.remove(last);
            let into = std::mem::replace(&mut last.value, part.value.clone());
            let PartValue::Here(into) = into else {
                return Err(Error::internal("a part that was here is not"));
            };
            let written = kernels::left_index(into.into_block(), value.block(), rows, cols)?;
            last.value = PartValue::Here(LocalMatrix::new(written));
            self.waiting.add(last);
            return Ok(());
        }
        while parts.len() > self.others
            && let Some(last) = parts.pop_if(|last| part.covers(&last.rows, &last.cols))
        {
            self.waiting.remove(&last);
        }
        self.waiting.add(&part);
        parts.push(part);
        Ok(())
    }

    /// Writes what another writer has written.
    pub(crate) fn extend(&mut self, parts: Vec<Part>) {
        parts.iter().for_each(|part| self.waiting.add(part));
        Arc::make_mut(&mut self.parts).extend(parts);
    }

    /// What a range of the matrix has from the parts, in places of the range, in their order. The first covers it if
    /// nothing of the base is seen.
    pub(crate) fn parts_in(
        &self,
        rows: &Range<u64>,
        cols: &Range<u64>,
        session: &Session,
    ) -> Result<PartsInRange> {
        let mut found = Vec::new();
        let mut hides_base = false;
        for part in self.parts.iter().rev() {
            if part.overlaps(rows, cols) {
                found.push(part.within(rows, cols, session)?);
                hides_base = part.covers(rows, cols);
                if hides_base {
                    break;
                }
            }
        }
        found.reverse();
        Ok(PartsInRange {
            parts: found,
            hides_base,
        })
    }

    /// The matrix with all parts in their places. What is lazy is not kept.
    ///
    /// # Errors
    /// Of the backend.
    pub(crate) fn whole(&self, session: &Session) -> Result<Variable> {
        put(&self.base, self.parts.to_vec(), session)
    }
}

/// What a range has from parts.
pub(crate) struct PartsInRange {
    pub(crate) parts: Vec<Part>,
    /// Nothing of the matrix without the parts is seen.
    pub(crate) hides_base: bool,
}

/// The matrix with the parts in it: here, if it is here and all of it fits, else on the workers.
///
/// # Errors
/// Of the backend.
pub(crate) fn put(matrix: &Variable, parts: Vec<Part>, session: &Session) -> Result<Variable> {
    if parts.is_empty() {
        return Ok(matrix.clone());
    }
    match matrix {
        Variable::Matrix(base) if fits_here(base.block(), &parts, session) => {
            put_here(base.block(), &parts)
        }
        Variable::Scalar(_) => Err(Error::internal("parts are written into a scalar")),
        Variable::Written(written) => {
            let mut written = written.clone();
            written.extend(parts);
            written.whole(session)
        }
        Variable::Matrix(_) | Variable::Distributed(_) => {
            let workers = Workers::of(session)?;
            let whole = workers.put(&workers.distributed(matrix)?, parts)?;
            Ok(Variable::Distributed(whole))
        }
    }
}

/// A matrix that is here with the parts in it, wherever these are.
pub(crate) fn put_here(matrix: &MatrixBlock, parts: &[Part]) -> Result<Variable> {
    let placed = parts.iter().map(Part::placed).collect::<Result<Vec<_>>>()?;
    kernels::put_parts(matrix.clone(), &placed).map(Variable::matrix)
}

fn fits_here(matrix: &MatrixBlock, parts: &[Part], session: &Session) -> bool {
    let of_part = |part: &Part| match &part.value {
        PartValue::Here(matrix) => Some(matrix.block().memory_bytes() as u64),
        PartValue::There(_) => None,
    };
    let Some(bytes) = parts.iter().map(of_part).sum::<Option<u64>>() else {
        return false;
    };
    let before = matrix.memory_bytes() as u64;
    let after = dense_bytes(matrix).min(before.saturating_add(bytes));
    session.backend.is_none() || before.saturating_add(after) <= session.config.memory_local
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
        Variable::Scalar(_) => false,
    }
}

/// The same before a run: those of the variables whose sizes in the loop are known.
fn expected<'a>(
    body: &'a [Block],
    written: &BTreeSet<String>,
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

/// What the matrix takes when it is full.
pub(crate) fn dense_bytes(matrix: &MatrixBlock) -> u64 {
    let cells = (matrix.rows() as u64).saturating_mul(matrix.cols() as u64);
    cells.saturating_mul(8)
}
