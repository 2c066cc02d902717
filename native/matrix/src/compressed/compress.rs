//! From a block to column groups: dummy columns are found, the others sampled, grouped and encoded exactly.

use std::sync::Arc;

use fulgurite_error::{Error, Result};

use super::{
    ColumnGroup, CompressedMatrix, GroupEncoding,
    co_code::{estimated_bytes, grouped},
    dummies::{DummyBlock, dummy_blocks, encode_dummies},
    encode::encode_groups,
    sample::{sample_rows, sampled_columns},
};
use crate::{ByRows, CsrMatrix, DenseMatrix, MatrixBlock, memory, parallel::csr_by_rows};

/// A dense matrix is looked through for dummy columns where the sample shows at least so many that may be.
const LEAST_DUMMIES: usize = 6;

/// Cells of sparse columns that are looked at for each that is stored: sparser columns stay as they are.
const CELLS_PER_STORED: usize = 32;

/// What compression would do.
#[derive(Debug, Clone)]
pub struct CompressionPlan {
    dummies: Vec<DummyBlock>,
    groups: Vec<Vec<usize>>,
    plain: Vec<usize>,
    estimated_bytes: f64,
}

impl CompressionPlan {
    /// Bytes of the compressed matrix, estimated.
    pub fn estimated_bytes(&self) -> f64 {
        self.estimated_bytes
    }

    /// Columns that share a code, for each group that is not of dummy columns.
    pub fn groups(&self) -> &[Vec<usize>] {
        &self.groups
    }

    /// Columns that stay uncompressed.
    pub fn plain(&self) -> &[usize] {
        &self.plain
    }

    /// Blocks of dummy columns.
    pub fn dummies(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        self.dummies.iter().map(|block| block.columns.clone())
    }
}

/// Decides how the columns of a matrix are grouped, mostly from a sample of its rows.
///
/// # Errors
/// `unsupported` for more columns than there are numbers for; `memory`.
pub fn plan(matrix: &MatrixBlock) -> Result<CompressionPlan> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    if i32::try_from(cols).is_err() {
        return Err(Error::unsupported(format!(
            "compressed matrices have at most {} columns, not {cols}",
            i32::MAX
        )));
    }
    let by_rows = matrix.by_rows()?;
    let sample = sample_rows(rows)?;
    let mut plan = CompressionPlan {
        dummies: Vec::new(),
        groups: Vec::new(),
        plain: Vec::new(),
        estimated_bytes: 0.0,
    };
    if cols == 0 || rows == 0 {
        plan.plain = (0..cols).collect();
        return Ok(plan);
    }
    let mut sampled = None;
    let has_dummies = match by_rows {
        ByRows::Csr(_) => true,
        ByRows::Dense(_) => {
            let all: Vec<usize> = memory::collected(0..cols)?;
            let columns = sampled_columns(&by_rows, &all, &sample, rows)?;
            let may_be = columns
                .iter()
                .filter(|column| column.distinct <= 2.0)
                .count();
            sampled = Some(columns);
            may_be >= LEAST_DUMMIES
        }
    };
    if has_dummies {
        plan.dummies = dummy_blocks(&by_rows, (rows, cols))?;
    }
    let mut rest: Vec<usize> = memory::collected(0..cols)?;
    for block in &plan.dummies {
        let width = block.columns.len();
        let bits = usize::from(super::codes::bits_for(width + 1));
        plan.estimated_bytes += (rows * bits / 8 + 28 * width) as f64;
    }
    let mut blocks = plan.dummies.iter().peekable();
    rest.retain(|column| {
        while blocks
            .next_if(|block| block.columns.end <= *column)
            .is_some()
        {}
        blocks
            .peek()
            .is_none_or(|block| !block.columns.contains(column))
    });
    if let ByRows::Csr(csr) = &by_rows
        && rest.len().saturating_mul(rows) / CELLS_PER_STORED > csr.stored()
    {
        plan.estimated_bytes += 12.0 * csr.stored() as f64;
        plan.plain = rest;
        return Ok(plan);
    }
    let columns = match sampled {
        Some(all) => {
            let mut places = rest.iter().peekable();
            let kept = all.into_iter().enumerate();
            let kept =
                kept.filter(|(column, _)| places.next_if(|place| *place == column).is_some());
            kept.map(|(_, sampled)| sampled).collect()
        }
        None => sampled_columns(&by_rows, &rest, &sample, rows)?,
    };
    let (mut compressible, mut sampled) = (Vec::new(), Vec::new());
    for (column, sample) in rest.into_iter().zip(columns) {
        let plain = 8.0 * rows as f64;
        if estimated_bytes(&sample, 1, rows) < plain {
            compressible.push(column);
            sampled.push(sample);
        } else {
            plan.plain.push(column);
            plan.estimated_bytes += plain;
        }
    }
    for group in grouped(sampled, &sample, rows) {
        plan.estimated_bytes += estimated_bytes(&group.sampled, group.columns.len(), rows);
        let columns = group.columns.iter().map(|place| compressible[*place]);
        plan.groups.push(columns.collect());
    }
    Ok(plan)
}

/// The matrix in column groups. Columns that turn out not to compress are left in one group that is not compressed.
///
/// # Errors
/// As [`plan`].
///
/// ```
/// use fulgurite_matrix::{DenseMatrix, compressed::compress};
/// let matrix = DenseMatrix::from_fn(10_000, 3, |row, column| (row % (column + 5)) as f64)?;
/// let compressed = compress(&matrix.clone().into())?;
/// assert!(compressed.ratio() > 8.0);
/// assert_eq!(compressed.to_dense()?, matrix);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn compress(matrix: &MatrixBlock) -> Result<CompressedMatrix> {
    let plan = plan(matrix)?;
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let by_rows = matrix.by_rows()?;
    let mut groups = encode_dummies(&by_rows, rows, cols, &plan.dummies)?;
    let mut plain = plan.plain;
    let encoded = match plan.groups.is_empty() {
        true => Vec::new(),
        false => encode_groups(&by_rows, (rows, cols), &plan.groups)?,
    };
    for (columns, group) in plan.groups.into_iter().zip(encoded) {
        match group {
            Some(group) => groups.push(group),
            None => plain.extend(columns),
        }
    }
    let mut groups = constants_together(rows, groups)?;
    if !plain.is_empty() {
        plain.sort_unstable();
        let block = columns_at(&by_rows, rows, &plain)?;
        let numbers = memory::collected(plain.iter().map(|column| *column as i32))?;
        let encoding = GroupEncoding::Plain(Arc::new(block));
        groups.push(ColumnGroup::new(rows, numbers, encoding)?);
    }
    CompressedMatrix::new(rows, cols, groups)
}

/// All columns that are 0 in one group, and all other constant ones in another.
fn constants_together(rows: usize, groups: Vec<ColumnGroup>) -> Result<Vec<ColumnGroup>> {
    let (mut kept, mut empty, mut constant) = (Vec::new(), Vec::new(), Vec::new());
    for group in groups {
        match group.encoding() {
            GroupEncoding::Empty => empty.extend_from_slice(group.columns()),
            GroupEncoding::Constant(tuple) => {
                constant.extend(group.columns().iter().copied().zip(tuple.iter().copied()));
            }
            GroupEncoding::Coded { .. }
            | GroupEncoding::Exceptions { .. }
            | GroupEncoding::Runs { .. }
            | GroupEncoding::OneHot { .. }
            | GroupEncoding::Plain(_) => kept.push(group),
        }
    }
    if !empty.is_empty() {
        empty.sort_unstable();
        kept.push(ColumnGroup::empty(rows, empty)?);
    }
    if !constant.is_empty() {
        constant.sort_unstable_by_key(|(column, _)| *column);
        let (columns, tuple): (Vec<i32>, Vec<f64>) = constant.into_iter().unzip();
        kept.push(ColumnGroup::constant(rows, columns, tuple)?);
    }
    Ok(kept)
}

/// Some columns, in the layout that they are in.
fn columns_at(matrix: &ByRows<'_>, rows: usize, columns: &[usize]) -> Result<MatrixBlock> {
    match matrix {
        ByRows::Dense(dense) if columns.len() == dense.cols() => {
            Ok(MatrixBlock::Dense(DenseMatrix::clone(dense)))
        }
        ByRows::Dense(dense) => {
            let width = columns.len();
            let tile = 1024;
            let values =
                memory::by_chunks(memory::cells(rows, width)?, tile * width, |chunk, out| {
                    for (row, out) in (chunk * tile..).zip(out.chunks_exact_mut(width)) {
                        let cells = dense.row(row);
                        for (out, column) in out.iter_mut().zip(columns) {
                            *out = cells[*column];
                        }
                    }
                })?;
            DenseMatrix::new(rows, width, values).map(MatrixBlock::Dense)
        }
        ByRows::Csr(csr) if columns.len() == csr.cols() => {
            Ok(MatrixBlock::Csr(CsrMatrix::clone(csr)))
        }
        ByRows::Csr(csr) => {
            let mut places: Vec<usize> = memory::zeros_of(csr.cols())?;
            for (place, column) in columns.iter().enumerate() {
                places[*column] = place + 1;
            }
            let per_row = csr.stored() / rows.max(1) + 1;
            let part = csr_by_rows(rows, columns.len(), per_row, |task, part| {
                for row in task {
                    let (indices, values) = csr.row(row);
                    for (index, value) in indices.iter().zip(values) {
                        if let Some(place) = places[*index as usize].checked_sub(1) {
                            part.push(place, *value);
                        }
                    }
                    part.end_row();
                }
            })?;
            MatrixBlock::Csr(part).in_best_layout()
        }
    }
}
