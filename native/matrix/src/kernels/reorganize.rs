//! Operators that move cells: transpose, diag, rev, reshape, triangles.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

use super::results::{settle, shape};
use crate::{
    ByRows, CsrMatrix, DenseMatrix, MatrixBlock,
    memory::{self, zeros},
    parallel::{
        TASK_CELLS, cells, csr_by_rows, csr_of_known_rows, dense_by_rows, rows_per_task,
        two_by_parts,
    },
};

/// Cells of a tile's side: two tiles of it stay in the first-level cache.
const TILE: usize = 32;

/// `t(matrix)`. A vector's cells are shared.
///
/// # Errors
/// `unsupported` when a sparse matrix has more rows than a CSR index can hold.
pub fn transpose(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    match matrix {
        MatrixBlock::Dense(dense) if rows <= 1 || cols <= 1 => {
            DenseMatrix::new(cols, rows, dense.buffer().clone()).map(MatrixBlock::Dense)
        }
        MatrixBlock::Dense(dense) if rows >= cols && rows.saturating_mul(cols) > TASK_CELLS => {
            transpose_tall(dense)
        }
        MatrixBlock::Dense(dense) => transpose_wide(dense),
        MatrixBlock::Coordinate(coordinates) => coordinates.transpose().and_then(settle),
        MatrixBlock::Compressed(_) => transpose(&*matrix.plain()?),
        MatrixBlock::Csr(csr) => {
            if i32::try_from(rows).is_err() {
                return Err(Error::unsupported(format!(
                    "the transpose of a sparse {} matrix has too many columns",
                    shape(matrix)
                )));
            }
            transpose_sparse(csr).and_then(settle)
        }
    }
}

/// A task for each stretch of the result's rows. It looks at all rows of the matrix and takes the cells of its columns.
fn transpose_sparse(csr: &CsrMatrix) -> Result<CsrMatrix> {
    let (rows, cols, stored) = (csr.rows(), csr.cols(), csr.stored());
    let mut pointers: Vec<i64> = memory::zeros_of(cols + 1)?;
    for col in csr.indices() {
        pointers[*col as usize + 1] += 1;
    }
    for col in 0..cols {
        pointers[col + 1] += pointers[col];
    }
    // The more tasks, the more often rows are searched.
    let tasks = (stored / TASK_CELLS).clamp(1, rayon::current_num_threads());
    let limit = |task: usize| {
        let before = stored as u128 * task as u128 / tasks as u128;
        match task == tasks {
            true => cols,
            false => pointers
                .partition_point(|pointer| (*pointer as u128) < before)
                .min(cols),
        }
    };
    let parts: Vec<Range<usize>> = (0..tasks)
        .map(|task| limit(task)..limit(task + 1))
        .collect();
    let length = |part: &Range<usize>| (pointers[part.end] - pointers[part.start]) as usize;
    let lengths: Vec<usize> = parts.iter().map(length).collect();
    let (indices, values) = two_by_parts(stored, &lengths, |part, indices, values| {
        let part = parts[part].clone();
        let first = pointers[part.start];
        let starts = pointers[part.clone()].iter();
        let mut places: Vec<usize> = starts.map(|start| (start - first) as usize).collect();
        for row in 0..rows {
            let (row_cols, cells) = csr.row(row);
            let place_of = |col: usize| row_cols.partition_point(|at| (*at as usize) < col);
            let taken = match lengths.len() {
                1 => 0..cells.len(),
                _ => place_of(part.start)..place_of(part.end),
            };
            for (col, cell) in row_cols[taken.clone()].iter().zip(&cells[taken]) {
                let place = &mut places[*col as usize - part.start];
                indices[*place] = row as i32;
                values[*place] = *cell;
                *place += 1;
            }
        }
        Ok(())
    })?;
    CsrMatrix::new(cols, rows, pointers, indices, values)
}

/// A task for each stretch of the result's rows, which are few cells long, or few.
fn transpose_wide(dense: &DenseMatrix) -> Result<MatrixBlock> {
    let (rows, cols) = (dense.rows(), dense.cols());
    dense_by_rows(cols, rows, rows, |task, out| {
        for col_tile in task.clone().step_by(TILE) {
            for row in 0..rows {
                let cells = &dense.row(row)[col_tile..(col_tile + TILE).min(task.end)];
                let from = (col_tile - task.start) * rows + row;
                for (at, cell) in cells.iter().enumerate() {
                    out[from + at * rows] = *cell;
                }
            }
        }
    })
    .map(MatrixBlock::Dense)
}

/// A task for each stretch of the matrix's rows: it reads them once and writes a piece of each of the
/// result's rows.
fn transpose_tall(dense: &DenseMatrix) -> Result<MatrixBlock> {
    // Pieces long enough that keeping a slice of each costs little.
    const LEAST_ROWS: usize = 256;
    let (rows, cols) = (dense.rows(), dense.cols());
    let stretch = rows_per_task(cols).max(LEAST_ROWS);
    let mut values = zeros(cells(rows, cols)?)?;
    let mut tasks: Vec<Vec<&mut [f64]>> = (0..rows.div_ceil(stretch))
        .map(|_| memory::room(cols))
        .collect::<Result<_>>()?;
    for out_row in values.chunks_exact_mut(rows) {
        for (pieces, piece) in tasks.iter_mut().zip(out_row.chunks_mut(stretch)) {
            pieces.push(piece);
        }
    }
    tasks
        .into_par_iter()
        .enumerate()
        .for_each(|(task, mut pieces)| {
            let height = pieces.first().map_or(0, |piece| piece.len());
            for row_tile in (0..height).step_by(TILE) {
                let tile = row_tile..(row_tile + TILE).min(height);
                for (col, piece) in pieces.iter_mut().enumerate() {
                    for row in tile.clone() {
                        piece[row] = dense.values()[(task * stretch + row) * cols + col];
                    }
                }
            }
        });
    MatrixBlock::dense(cols, rows, values)
}

/// A column vector's diagonal matrix, or a square matrix's diagonal as a column vector (a 1 x 1 matrix is
/// both).
///
/// # Errors
/// `dimension` for any other shape.
pub fn diag(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    let n = matrix.rows();
    if matrix.cols() == 1 {
        let vector = matrix.to_dense()?;
        if n < 3 || i32::try_from(n).is_err() {
            let dense = dense_by_rows(n, n, n, |task, out| {
                for (row, out) in task.zip(out.chunks_exact_mut(n)) {
                    out[row] = vector.values()[row];
                }
            });
            return dense.map(MatrixBlock::Dense);
        }
        return csr_by_rows(n, n, 1, |task, out| {
            for row in task {
                out.push(row, vector.values()[row]);
                out.end_row();
            }
        })
        .map(MatrixBlock::Csr);
    }
    if matrix.cols() != n {
        return Err(Error::dimension(format!(
            "diag needs a column vector or a square matrix, not {}",
            shape(matrix)
        )));
    }
    let diagonal: Vec<f64> = (0..n).map(|index| matrix.get(index, index)).collect();
    MatrixBlock::dense(n, 1, diagonal)
}

/// The rows in reverse order.
pub fn rev(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    take_rows(matrix, matrix.rows(), |row| matrix.rows() - 1 - row)
}

/// The rows moved down by so many in a circle, or up by a negative number.
pub fn roll(matrix: &MatrixBlock, shift: i64) -> Result<MatrixBlock> {
    let rows = matrix.rows();
    let circle = i64::try_from(rows).unwrap_or(i64::MAX).max(1);
    // Rows that come from above the first one.
    let first = usize::try_from((-(shift % circle)).rem_euclid(circle)).unwrap_or(0);
    take_rows(matrix, rows, |row| match row < rows - first {
        true => row + first,
        false => row + first - rows,
    })
}

/// The rows `source(0)`, `source(1)`, ... of a matrix.
///
/// # Panics
/// When `source` gives a row that the matrix does not have.
pub fn take_rows(
    matrix: &MatrixBlock,
    rows: usize,
    source: impl Fn(usize) -> usize + Sync,
) -> Result<MatrixBlock> {
    let cols = matrix.cols();
    match matrix.by_rows()? {
        ByRows::Dense(dense) => dense_by_rows(rows, cols, cols, |task, out| {
            for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
                out.copy_from_slice(dense.row(source(row)));
            }
        })
        .map(MatrixBlock::Dense),
        ByRows::Csr(csr) => {
            let stored = |row| csr.row(source(row)).1.len();
            csr_of_known_rows(rows, cols, stored, |row, indices, values| {
                let (from_indices, from_values) = csr.row(source(row));
                indices.copy_from_slice(from_indices);
                values.copy_from_slice(from_values);
            })
            .and_then(settle)
        }
    }
}

/// The same cells in another shape, read and written row by row, or column by column. Dense cells are
/// shared where they are read by row.
///
/// # Errors
/// `dimension` when the numbers of cells differ.
pub fn reshape(
    matrix: &MatrixBlock,
    rows: usize,
    cols: usize,
    by_row: bool,
) -> Result<MatrixBlock> {
    let count = matrix.rows() as u128 * matrix.cols() as u128;
    if count != rows as u128 * cols as u128 {
        return Err(Error::dimension(format!(
            "a {} matrix has {count} cells, not {} for {rows} x {cols}",
            shape(matrix),
            rows as u128 * cols as u128
        )));
    }
    if !by_row {
        let by_row = reshape(&transpose(matrix)?, cols, rows, true)?;
        return transpose(&by_row);
    }
    match matrix.by_rows()? {
        ByRows::Dense(dense) => {
            DenseMatrix::new(rows, cols, dense.buffer().clone()).map(MatrixBlock::Dense)
        }
        ByRows::Csr(_) if cols <= 1 || i32::try_from(cols).is_err() => {
            cells(rows, cols)?;
            let dense = matrix.to_dense()?;
            DenseMatrix::new(rows, cols, dense.buffer().clone()).map(MatrixBlock::Dense)
        }
        ByRows::Csr(csr) => {
            let mut pointers = memory::room(rows.saturating_add(1))?;
            let mut indices = memory::room(csr.stored())?;
            pointers.push(0i64);
            for row in 0..csr.rows() {
                for col in csr.row(row).0 {
                    let position = row * csr.cols() + *col as usize;
                    while pointers.len() <= position / cols {
                        pointers.push(indices.len() as i64);
                    }
                    indices.push((position % cols) as i32);
                }
            }
            pointers.resize(rows + 1, indices.len() as i64);
            let (_, _, values) = csr.into_owned().into_buffers();
            CsrMatrix::new(rows, cols, pointers, indices, values).and_then(settle)
        }
    }
}

/// The cells below (or above) the diagonal, or with `values` false a 1 at each of those places; the
/// diagonal itself with `diagonal`. The matrix may be a stripe of one that has `rows_above` rows above it.
pub fn triangle(
    matrix: &MatrixBlock,
    lower: bool,
    diagonal: bool,
    values: bool,
    rows_above: usize,
) -> Result<MatrixBlock> {
    let inside = |row: usize, col: usize| {
        let row = row.saturating_add(rows_above);
        (if lower { col < row } else { col > row }) || (diagonal && col == row)
    };
    let cols = matrix.cols();
    match matrix.by_rows()? {
        ByRows::Csr(csr) if values => csr_by_rows(csr.rows(), cols, cols, |task, out| {
            for row in task {
                let (indices, cells) = csr.row(row);
                for (col, cell) in indices.iter().zip(cells) {
                    if inside(row, *col as usize) {
                        out.push(*col as usize, *cell);
                    }
                }
                out.end_row();
            }
        })
        .and_then(settle),
        _ => dense_by_rows(matrix.rows(), cols, cols, |task, out| {
            for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
                for (col, out) in out.iter_mut().enumerate() {
                    if inside(row, col) {
                        *out = if values { matrix.get(row, col) } else { 1.0 };
                    }
                }
            }
        })
        .map(MatrixBlock::Dense),
    }
}
