//! Which distributed matrix a loop's iterations could run on, slice by slice, and what it takes to bring the slices into
//! stripes.

use std::collections::BTreeSet;

use fulgurite_dataflow::{Capacity, Cut, DistributedMatrix, Slices};
use fulgurite_distributed::Workers;
use fulgurite_error::Result;
use fulgurite_fusion::machine::Constant;
use fulgurite_hop::Characteristics;

use super::{
    ParallelLoop,
    mode::SlicesRead,
    slices::{Axis, Reader, Size, Slice, whole},
};
use crate::{
    interpreter::range::Range, loops::assigned_in_blocks, session::Session, symbols::SymbolTable,
};

/// A stripe may take this share of `fulgurite.memory.local`, and of a task's memory.
const SHARE_OF_MEMORY: u64 = 4;

/// What a job of one operator takes, however little it does.
const JOB_SECONDS: f64 = 0.04;

/// A matrix of which each iteration reads a slice.
pub(super) struct Sliced {
    pub name: String,
    pub slice: Slice,
    pub size: Size,
    /// Iterations write parts of it, too.
    pub is_written: bool,
    matrix: DistributedMatrix,
    /// How it is cut, unless its stripes have all slices as they are.
    cut: Option<Cut>,
}

impl Sliced {
    /// The matrix, if iterations of the range read a slice each of it and nothing else, which no other one reads.
    pub fn of(
        parallel_loop: &ParallelLoop,
        range: &Range,
        (name, matrix): (&str, &DistributedMatrix),
        symbols: &SymbolTable,
        (session, capacity): (&Session, &Capacity),
    ) -> Option<Self> {
        // Tasks for stripes are as many as there are.
        if parallel_loop.parallel.degree.is_some() {
            return None;
        }
        let Characteristics { rows, cols, .. } = matrix.characteristics();
        let size = Size {
            rows: rows?,
            cols: cols?,
        };
        let mut assigned = BTreeSet::new();
        assigned_in_blocks(parallel_loop.body, &mut assigned);
        let constant = |name: &str| {
            let value = symbols.find(name).filter(|_| !assigned.contains(name))?;
            whole(value.as_scalar().ok()?)
        };
        let reader = Reader {
            matrix: name,
            size,
            variable: parallel_loop.variable,
            constant: &constant,
        };
        let slice = reader.slice(parallel_loop.body)?;
        let is_written = reader.writes(parallel_loop.body);
        let (least, most) = range.bounds()?;
        let (one, other) = (slice.first(least), slice.first(most));
        let (count, across) = match slice.of {
            Axis::Rows => (size.rows, size.cols),
            Axis::Columns => (size.cols, size.rows),
        };
        let from = u64::try_from(one.min(other)).ok()?;
        let last = u64::try_from(one.max(other)).ok()?;
        let until = match slice.is_cut_off && last < count {
            true => last.saturating_add(slice.length).min(count),
            false => last.checked_add(slice.length)?,
        };
        if until > count {
            return None;
        }
        let found = |cut| {
            Some(Sliced {
                name: name.to_owned(),
                slice,
                size,
                is_written,
                matrix: matrix.clone(),
                cut,
            })
        };
        let lies_along = (slice.of == Axis::Rows) != matrix.transposed;
        if lies_along && slice.length == 1 {
            return found(None);
        }
        let period = match range.left() {
            1 => slice.length,
            _ => slice.scale.checked_mul(range.step())?.unsigned_abs(),
        };
        if period < slice.length {
            // Rows that several iterations read.
            return None;
        }
        let memory = session.config.memory_local;
        let memory = memory.min(capacity.bytes.unwrap_or(u64::MAX)) / SHARE_OF_MEMORY;
        let bytes = period.checked_mul(across)?.checked_mul(8)?;
        if bytes > memory {
            return None;
        }
        let in_each_task = range.left().div_ceil(capacity.tasks.max(1));
        let of_blocksize = session.config.blocksize / period;
        let together = (memory / bytes.max(1))
            .min(in_each_task)
            .min(of_blocksize)
            .max(1);
        found(Some(Cut {
            columns: !lies_along,
            from,
            until,
            every: period.checked_mul(together)?,
        }))
    }

    /// What the decision where iterations run depends on.
    pub fn read(&self, session: &Session) -> Result<SlicesRead> {
        let bytes = self.matrix.stripes.largest_bytes().unwrap_or(u64::MAX);
        let speeds = session.cost_constants(bytes)?;
        let seconds = |speed: Constant| bytes as f64 / (speeds[speed] * 1e9);
        Ok(SlicesRead {
            what: self.to_string(),
            shuffle_seconds: self.cut.map(|_| seconds(Constant::Broadcast)),
            seconds_each: JOB_SECONDS + seconds(Constant::DistributedRead),
        })
    }

    /// The dataset whose stripes have whole slices, and where in it iterations read.
    pub fn stripes(&self, workers: &Workers) -> Result<(DistributedMatrix, Slices)> {
        let (stripes, from) = match self.cut {
            Some(cut) => (workers.slices(&self.matrix, cut)?, cut.from),
            None => (self.matrix.clone(), 0),
        };
        let from = i64::try_from(from).unwrap_or(i64::MAX);
        let slices = Slices {
            scale: self.slice.scale,
            offset: self.slice.offset - 1 - from,
            rows: self.slice.length,
            are_columns: self.slice.of == Axis::Columns,
            is_cut_off: self.slice.is_cut_off,
        };
        Ok((stripes, slices))
    }
}

impl std::fmt::Display for Sliced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (one, several) = match self.slice.of {
            Axis::Rows => ("row", "rows"),
            Axis::Columns => ("column", "columns"),
        };
        match self.slice.length {
            1 => write!(f, "its {one} of '{}'", self.name),
            length => write!(f, "its {length} {several} of '{}'", self.name),
        }
    }
}
