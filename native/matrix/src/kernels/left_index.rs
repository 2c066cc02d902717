//! Left indexing.

use std::ops::Range;

use fulgurite_error::{Code, Error, ErrorKind, Result};
use rayon::prelude::*;

use super::{
    dense_range::LINE_CELLS,
    index::{IndexRange, copy_row, push_part},
    results::{settle, shape},
};
use crate::{
    ByRows, CsrMatrix, DenseMatrix, Layout, MatrixBlock,
    parallel::{csr_by_rows, rows_per_task},
};

/// `matrix[rows, cols] = value`: in place where `matrix` is dense and nobody else holds its cells.
///
/// A sparse matrix is copied each time. Once as many cells were copied as a dense matrix has, one after the other, it
/// becomes a dense one, unless that is far larger. So a loop that fills a matrix of zeros does not copy it for each of its
/// columns.
///
/// # Errors
/// `dimension` when a range is empty or out of bounds or `value` has another shape than the range.
pub fn left_index(
    matrix: MatrixBlock,
    value: &MatrixBlock,
    rows: IndexRange,
    cols: IndexRange,
) -> Result<MatrixBlock> {
    let rows = rows.within(matrix.rows(), "row")?;
    let cols = cols.within(matrix.cols(), "column")?;
    if (value.rows(), value.cols()) != (rows.len(), cols.len()) {
        return Err(Error::dimension(format!(
            "a {} matrix cannot be assigned to a {} x {} range",
            shape(value),
            rows.len(),
            cols.len()
        ))
        .with_code(Code::ShapesDiffer));
    }
    match matrix {
        MatrixBlock::Dense(dense) => into_dense(dense, value, rows, &cols),
        sparse => {
            let csr = sparse.to_csr()?;
            let copied = csr.copied.cells + csr.stored() as u64;
            let mut result = into_sparse(&csr, &value.to_csr()?, &rows, &cols)?;
            result.copied.cells = copied;
            if !should_be_dense(&result) {
                return settle(result);
            }
            let dense = MatrixBlock::from(result.clone()).in_layout(Layout::Dense);
            match dense {
                Err(error) if error.kind() == ErrorKind::Memory => settle(result),
                dense => dense,
            }
        }
    }
}

/// Bytes of a dense matrix for one of a sparse one: more is not worth the time.
const MOST_GROWTH: usize = 8;

fn should_be_dense(csr: &CsrMatrix) -> bool {
    let cells = csr.rows().saturating_mul(csr.cols());
    let dense_bytes = cells.saturating_mul(size_of::<f64>());
    let sparse_bytes = csr.stored() * (size_of::<f64>() + size_of::<i32>());
    csr.copied.cells >= cells as u64 && dense_bytes <= sparse_bytes.saturating_mul(MOST_GROWTH)
}

fn into_dense(
    dense: DenseMatrix,
    value: &MatrixBlock,
    rows: Range<usize>,
    cols: &Range<usize>,
) -> Result<MatrixBlock> {
    let (height, width) = (dense.rows(), dense.cols());
    let mut cells = dense.into_vec()?;
    let value = value.by_rows()?;
    let written = &mut cells[rows.start * width..rows.end * width];
    let task = rows_per_task(cols.len().max(LINE_CELLS));
    let write = |(number, written): (usize, &mut [f64])| {
        let parts = written
            .chunks_exact_mut(width)
            .map(|row| &mut row[cols.clone()]);
        let parts = parts.zip(number * task..);
        match &value {
            ByRows::Dense(value) if cols.len() == 1 => {
                let cells = &value.values()[number * task..];
                for ((part, _), cell) in parts.zip(cells) {
                    part[0] = *cell;
                }
            }
            value => {
                for (part, row) in parts {
                    part.fill(0.0);
                    copy_row(value, row, part);
                }
            }
        }
    };
    match rows.len() <= task {
        true => write((0, written)),
        false => written
            .par_chunks_mut(task * width)
            .enumerate()
            .for_each(write),
    }
    MatrixBlock::dense(height, width, cells)
}

fn into_sparse(
    csr: &CsrMatrix,
    value: &CsrMatrix,
    rows: &Range<usize>,
    cols: &Range<usize>,
) -> Result<CsrMatrix> {
    let per_row = csr.stored() / csr.rows().max(1) + 1;
    csr_by_rows(csr.rows(), csr.cols(), per_row, |task, out| {
        for row in task {
            if rows.contains(&row) {
                push_part(csr, row, &(0..cols.start), 0, out);
                push_part(value, row - rows.start, &(0..cols.len()), cols.start, out);
                push_part(csr, row, &(cols.end..csr.cols()), cols.end, out);
            } else {
                push_part(csr, row, &(0..csr.cols()), 0, out);
            }
            out.end_row();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zeros(rows: usize, cols: usize) -> MatrixBlock {
        let pointers = vec![0i64; rows + 1];
        let csr = CsrMatrix::new(rows, cols, pointers, Vec::<i32>::new(), Vec::<f64>::new());
        csr.expect("no cells").into()
    }

    #[test]
    fn a_matrix_that_is_filled_becomes_dense_before_it_is_full() {
        let (rows, cols) = (50, 100);
        let mut matrix = zeros(rows, cols);
        let mut turned = None;
        for col in 0..cols {
            let cells = (0..rows).map(|row| (row * cols + col + 1) as f64);
            let value = MatrixBlock::dense(rows, 1, cells.collect()).expect("a column");
            let at = IndexRange::new(col as i64 + 1, col as i64 + 1);
            let all = IndexRange::new(1, rows as i64);
            matrix = left_index(matrix, &value, all, at).expect("it fits");
            if turned.is_none() && matrix.layout() == Layout::Dense {
                turned = Some(col + 1);
            }
        }
        // Columns that were copied: 0 + 1 + ... + 14 are more than 100.
        assert_eq!(turned, Some(15));
        let cells: Vec<f64> = (1..=rows * cols).map(|cell| cell as f64).collect();
        assert_eq!(matrix, MatrixBlock::dense(rows, cols, cells).expect("full"));
    }

    #[test]
    fn few_cells_leave_a_matrix_sparse_however_often_they_come() {
        let mut matrix = zeros(40, 100);
        for turn in 0..2000i64 {
            let at = IndexRange::new(turn % 40 + 1, turn % 40 + 1);
            let value = MatrixBlock::filled(1, 1, turn as f64).expect("a cell");
            matrix = left_index(matrix, &value, at, at).expect("it fits");
        }
        assert_eq!(matrix.layout(), Layout::Csr);
        assert_eq!(matrix.nnz(), 40);
    }
}
