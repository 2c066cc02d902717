//! Many parts put into a matrix, and many matrices added to one, in as few passes as there can be.

use std::{ops::Range, sync::Arc};

use fulgurite_dataflow::{Dataset, DistributedMatrix, Part, PartValue, Variable, asking_operator};
use fulgurite_error::Result;
use fulgurite_hop::{Characteristics, Formulas};
use fulgurite_matrix::kernels::PlacedPart;
use fulgurite_worker::pack;

use super::{rows, size};
use crate::{
    row_wise::Slot,
    task_builder::TaskBuilder,
    workers::{Rows, Workers},
};

/// A part as a pass takes it.
enum Piece {
    /// Tasks get it whole, together with others.
    Cells(PlacedPart),
    Stripes(Stripes),
}

/// A part in stripes of its rows.
struct Stripes {
    rows: Range<u64>,
    cols: Range<u64>,
    value: DistributedMatrix,
}

/// Parts that are put at once.
enum Pass {
    Cells {
        parts: Vec<PlacedPart>,
        bytes: u64,
    },
    /// None lies over another one.
    Stripes(Vec<Stripes>),
}

impl Workers<'_> {
    /// A range of rows and columns, which lies as the matrix does.
    ///
    /// # Errors
    /// Of the backend.
    pub(crate) fn range_of(
        &self,
        matrix: &DistributedMatrix,
        rows: Range<u64>,
        cols: Range<u64>,
    ) -> Result<DistributedMatrix> {
        rows::range_of(self, &label(), matrix, rows, cols)
    }

    /// The matrix, which lies in stripes of its rows, with each part in its place; where parts overlap, the cells of the
    /// last one. Lazy.
    ///
    /// # Errors
    /// Of the backend.
    pub fn put(&self, matrix: &DistributedMatrix, parts: Vec<Part>) -> Result<DistributedMatrix> {
        let pieces = parts.into_iter().map(|part| self.piece(part));
        let pieces = pieces.collect::<Result<Vec<_>>>()?;
        let passes = passes(in_best_order(pieces), self.config.memory_broadcast);
        let mut matrix = matrix.clone();
        for (number, pass) in passes.into_iter().enumerate() {
            if number > 0 {
                // Ranges above and below a part are read each for itself.
                matrix.persist()?;
            }
            matrix = match pass {
                Pass::Cells { parts, .. } => self.put_cells(&matrix, &parts)?,
                Pass::Stripes(parts) => self.put_stripes(&matrix, &parts)?,
            };
        }
        Ok(matrix)
    }

    fn piece(&self, part: Part) -> Result<Piece> {
        let Part { rows, cols, value } = part;
        let stripes = match value {
            PartValue::Here(matrix) => {
                let bytes = matrix.block().memory_bytes() as u64;
                if bytes <= self.config.memory_broadcast {
                    return Ok(Piece::Cells(PlacedPart {
                        rows: rows.start as usize..rows.end as usize,
                        cols: cols.start as usize..cols.end as usize,
                        value: matrix.into_block(),
                    }));
                }
                self.distributed(&Variable::Matrix(matrix))?
            }
            PartValue::There(matrix) => self.lying(&matrix, false)?,
        };
        Ok(Piece::Stripes(Stripes {
            rows,
            cols,
            value: stripes,
        }))
    }

    /// Each stripe gets what is there for its rows.
    fn put_cells(
        &self,
        matrix: &DistributedMatrix,
        parts: &[PlacedPart],
    ) -> Result<DistributedMatrix> {
        let cols = usize::try_from(size(matrix.stripes.cols)?).unwrap_or(usize::MAX);
        let mut builder = TaskBuilder::new(self, matrix);
        let stripe = builder.lead();
        builder.put(pack(parts, cols)?)?;
        let dataset = builder.map(stripe, &label())?;
        Ok(DistributedMatrix::new(dataset, dims(matrix)))
    }

    /// Rows in which the same parts lie, one below the other: those of the matrix, those of a part that has all columns, or
    /// both put together by tasks.
    fn put_stripes(
        &self,
        matrix: &DistributedMatrix,
        parts: &[Stripes],
    ) -> Result<DistributedMatrix> {
        let cols = size(matrix.stripes.cols)?;
        let mut rows = Vec::new();
        for (range, covering) in same_parts(size(matrix.stripes.rows)?, parts) {
            rows.push(match covering[..] {
                [] => (matrix.clone(), range),
                [part] if part.cols == (0..cols) => {
                    let above = part.rows.start;
                    (part.value.clone(), range.start - above..range.end - above)
                }
                _ => {
                    let height = range.end - range.start;
                    (self.put_together(matrix, range, &covering)?, 0..height)
                }
            });
        }
        let below: Vec<Rows> = rows
            .iter()
            .map(|(of, range)| Rows {
                of,
                from: range.start,
                until: range.end,
            })
            .collect();
        self.concatenate(&below)
    }

    fn put_together(
        &self,
        matrix: &DistributedMatrix,
        range: Range<u64>,
        parts: &[&Stripes],
    ) -> Result<DistributedMatrix> {
        let rows_of = |of: &DistributedMatrix, above: u64| {
            self.concatenate(&[Rows {
                of,
                from: range.start - above,
                until: range.end - above,
            }])
        };
        let values = parts
            .iter()
            .map(|part| rows_of(&part.value, part.rows.start))
            .collect::<Result<Vec<_>>>()?;
        let before = rows_of(matrix, 0)?;
        let width: u64 = parts
            .iter()
            .map(|part| part.cols.end - part.cols.start)
            .sum();
        let lead = match common_stripes(&values) {
            // Rather than each part to the stripes of the matrix.
            Some(stripes) if width.saturating_mul(2) >= size(matrix.stripes.cols)? => {
                let aligned = before.dataset.align_to(stripes)?;
                DistributedMatrix::new(aligned, before.stripes)
            }
            _ => before,
        };
        let mut builder = TaskBuilder::new(self, &lead);
        let mut root = builder.lead();
        for (part, value) in parts.iter().zip(values) {
            let value = builder.bind(Slot::Rows, &Variable::Distributed(value))?;
            root = builder.with_columns(root, value, part.cols.start + 1, part.cols.end);
        }
        let dataset = builder.map(root, &label())?;
        Ok(DistributedMatrix::new(dataset, dims(&lead)))
    }

    /// `((matrix + first) + second) + …`. Lazy.
    ///
    /// # Errors
    /// `dimension`, where shapes differ; of the backend.
    pub fn add_in_order(
        &self,
        matrix: &DistributedMatrix,
        addends: &[Variable],
    ) -> Result<DistributedMatrix> {
        let mut there = Vec::new();
        for addend in addends {
            if let Variable::Distributed(addend) = addend {
                there.push(self.lying(addend, false)?);
            }
        }
        let lead = match common_stripes(&there) {
            Some(stripes) => {
                DistributedMatrix::new(matrix.dataset.align_to(stripes)?, matrix.stripes)
            }
            None => matrix.clone(),
        };
        let mut builder = TaskBuilder::new(self, &lead);
        let mut sum = builder.lead();
        for addend in addends {
            let addend = builder.bind(Slot::Rows, addend)?;
            sum = builder.plus(sum, addend);
        }
        let dataset = builder.map(sum, &label())?;
        Ok(DistributedMatrix::new(dataset, dims(matrix)))
    }
}

/// The operator, or loop, that asks for it.
fn label() -> Arc<str> {
    asking_operator().unwrap_or_else(|| "lix".into())
}

fn dims(matrix: &DistributedMatrix) -> Characteristics {
    Characteristics::new(matrix.stripes.rows, matrix.stripes.cols, None)
}

/// The stripes of all of them, if they are cut alike.
fn common_stripes(matrices: &[DistributedMatrix]) -> Option<&Arc<Dataset>> {
    let (first, others) = matrices.split_first()?;
    let alike =
        |other: &DistributedMatrix| other.dataset.partitioning == first.dataset.partitioning;
    others.iter().all(alike).then_some(&first.dataset)
}

/// Cells first, which then go into one pass, unless they lie over stripes.
fn in_best_order(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut stripes: Vec<&Stripes> = Vec::new();
    for piece in &pieces {
        match piece {
            Piece::Stripes(part) => stripes.push(part),
            Piece::Cells(part) => {
                let wide = |range: &Range<usize>| range.start as u64..range.end as u64;
                let (rows, cols) = (wide(&part.rows), wide(&part.cols));
                if stripes.iter().any(|below| below.overlaps(&rows, &cols)) {
                    return pieces;
                }
            }
        }
    }
    let is_cells = |piece: &Piece| matches!(piece, Piece::Cells(_));
    let (cells, stripes): (Vec<Piece>, Vec<Piece>) = pieces.into_iter().partition(is_cells);
    cells.into_iter().chain(stripes).collect()
}

/// The pieces in their order. Cells of a pass take so many bytes at most.
fn passes(pieces: Vec<Piece>, most: u64) -> Vec<Pass> {
    let mut passes: Vec<Pass> = Vec::new();
    for piece in pieces {
        match (piece, passes.last_mut()) {
            (Piece::Cells(part), last) => {
                let own = part.value.memory_bytes() as u64;
                match last {
                    Some(Pass::Cells { parts, bytes }) if bytes.saturating_add(own) <= most => {
                        parts.push(part);
                        *bytes += own;
                    }
                    _ => passes.push(Pass::Cells {
                        parts: vec![part],
                        bytes: own,
                    }),
                }
            }
            (Piece::Stripes(part), Some(Pass::Stripes(parts)))
                if !parts
                    .iter()
                    .any(|below| below.overlaps(&part.rows, &part.cols)) =>
            {
                parts.push(part);
            }
            (Piece::Stripes(part), _) => passes.push(Pass::Stripes(vec![part])),
        }
    }
    passes
}

impl Stripes {
    fn overlaps(&self, rows: &Range<u64>, cols: &Range<u64>) -> bool {
        let meet =
            |one: &Range<u64>, other: &Range<u64>| one.start < other.end && other.start < one.end;
        meet(&self.rows, rows) && meet(&self.cols, cols)
    }
}

/// Ranges of all rows, from the first to the last, with the parts that lie in each.
fn same_parts(rows: u64, parts: &[Stripes]) -> Vec<(Range<u64>, Vec<&Stripes>)> {
    let ends = parts
        .iter()
        .flat_map(|part| [part.rows.start, part.rows.end]);
    let mut ends: Vec<u64> = ends.chain([0, rows]).collect();
    ends.sort_unstable();
    ends.dedup();
    let ranges = ends.windows(2).map(|ends| ends[0]..ends[1]);
    let with_parts = ranges.map(|range| {
        let within = |part: &&Stripes| part.rows.start <= range.start && range.end <= part.rows.end;
        let covering = parts.iter().filter(within).collect();
        (range, covering)
    });
    with_parts.collect()
}
