//! Matrices with parts that were written into them and are not in their places yet.
//!
//! An iteration that writes into a matrix of the workers would make a new one of it each time. It keeps the parts instead,
//! which the loop puts into the matrix together. What the iteration reads meanwhile is the matrix with its own parts in it.

use std::{ops::Range, sync::Arc};

use fulgurite_error::{Error, Result};
use fulgurite_hop::Characteristics;
use fulgurite_matrix::{
    arrow_block,
    kernels::{self, IndexRange},
};

use super::{LocalMatrix, Variable, handles::DistributedMatrix};

/// What a part that is here takes beside its cells.
const BYTES_OF_PART: u64 = 512;

/// Rows and columns, from 0, and the matrix that they get.
#[derive(Debug, Clone)]
pub struct Part {
    pub rows: Range<u64>,
    pub cols: Range<u64>,
    pub value: PartValue,
}

/// Where the cells of a part are.
#[derive(Debug, Clone)]
pub enum PartValue {
    Here(LocalMatrix),
    /// In stripes of its rows.
    There(DistributedMatrix),
}

impl Part {
    /// Of a block, where it is.
    pub fn of(block: arrow_block::Block) -> Self {
        let (top, left) = (block.row_offset, block.column_offset);
        let (rows, cols) = (block.matrix.rows() as u64, block.matrix.cols() as u64);
        Part {
            rows: top..top.saturating_add(rows),
            cols: left..left.saturating_add(cols),
            value: PartValue::Here(LocalMatrix::new(block.matrix)),
        }
    }

    /// Whether it has cells of this range.
    pub fn overlaps(&self, rows: &Range<u64>, cols: &Range<u64>) -> bool {
        let meet =
            |one: &Range<u64>, other: &Range<u64>| one.start < other.end && other.start < one.end;
        meet(&self.rows, rows) && meet(&self.cols, cols)
    }

    /// Whether nothing of this range is seen below it.
    pub fn covers(&self, rows: &Range<u64>, cols: &Range<u64>) -> bool {
        let within = |outer: &Range<u64>, inner: &Range<u64>| {
            outer.start <= inner.start && inner.end <= outer.end
        };
        within(&self.rows, rows) && within(&self.cols, cols)
    }

    /// Bytes that it takes in this process.
    pub fn bytes(&self) -> u64 {
        match &self.value {
            PartValue::Here(matrix) => {
                let cells = matrix.block().memory_bytes() as u64;
                cells.saturating_add(BYTES_OF_PART)
            }
            PartValue::There(_) => 0,
        }
    }
}

/// What parts that wait for their places take.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waiting {
    /// In this process.
    pub bytes: u64,
    /// Parts of the workers.
    pub there: usize,
}

impl Waiting {
    /// One more waits.
    pub fn add(&mut self, part: &Part) {
        self.bytes = self.bytes.saturating_add(part.bytes());
        self.there += usize::from(matches!(part.value, PartValue::There(_)));
    }

    fn remove(&mut self, part: &Part) {
        self.bytes = self.bytes.saturating_sub(part.bytes());
        self.there -= usize::from(matches!(part.value, PartValue::There(_)));
    }
}

/// A matrix and the parts that were written into it since.
#[derive(Debug, Clone)]
pub struct WrittenMatrix {
    base: Arc<Variable>,
    /// In the order in which they were written.
    parts: Arc<Vec<Part>>,
    waiting: Waiting,
    /// So many were there before whoever writes now came.
    others: usize,
}

impl WrittenMatrix {
    /// To be written into. What was written before, into a matrix with parts of its own, is not the new writer's.
    pub fn new(matrix: &Variable) -> Self {
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

    /// Sizes, with the non-zeros if nothing was written.
    pub fn characteristics(&self) -> Characteristics {
        let known = self.base.characteristics();
        match self.parts.is_empty() {
            true => known,
            false => Characteristics::new(known.rows, known.cols, None),
        }
    }

    /// The matrix without the parts.
    pub fn base(&self) -> &Variable {
        &self.base
    }

    /// What its parts take.
    pub fn waiting(&self) -> Waiting {
        self.waiting
    }

    /// The parts, in the order in which they were written.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Whether anything was written.
    pub fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The parts that this has beyond those of the matrix that a writer was given; `None` if it is not made from it.
    pub fn written_since(&self, given: &WrittenMatrix) -> Option<Vec<Part>> {
        let is_made_from_it = Arc::ptr_eq(&self.base, &given.base) && self.others == given.others;
        is_made_from_it.then(|| self.parts[self.others..].to_vec())
    }

    /// Writes over what is there.
    pub fn write(&mut self, part: Part) -> Result<()> {
        let parts = Arc::make_mut(&mut self.parts);
        if let [.., last] = &mut parts[self.others..]
            && last.covers(&part.rows, &part.cols)
            && let (PartValue::Here(_), PartValue::Here(value)) = (&last.value, &part.value)
        {
            let moved = |range: &Range<u64>, by: u64| {
                IndexRange::from_zero(&(range.start - by..range.end - by))
            };
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
    pub fn extend(&mut self, parts: Vec<Part>) {
        parts.iter().for_each(|part| self.waiting.add(part));
        Arc::make_mut(&mut self.parts).extend(parts);
    }
}
