//! Matrix products.
//!
//! [`matmult`] is `X %*% Y`; [`tsmm`] is `t(X) %*% X` and [`transposed_matmult`] `t(X) %*% Y`, neither of
//! which builds t(X). Zeros of a sparse operand are skipped; where they meet NaN or an infinity, whose product
//! with zero is NaN, that is made good for afterwards ([`ZerosMet`]): results are those of dense operands.

use std::collections::BTreeMap;
use std::ops::Range;

use fulgurite_error::{Code, Error, Result};
use rayon::prelude::*;

use super::{
    dense_product::{
        View, Write, add_upper, mirror_upper, multiply, product_in_parallel, upper_in_parallel,
    },
    reorganize::{take_rows, transpose},
    results::{settle, shape},
    sparse_product::sparse_product,
};
use crate::{
    CompactRows, CoordinateMatrix, CsrMatrix, DenseMatrix, Interrupt, Layout, MatrixBlock,
    lanes::fetch_ahead,
    memory::{self, by_chunks, zeros},
    parallel::{cells, dense_by_rows, extent_of_cells, reduction_tasks, row_tasks},
    vector_math::{Work, vectorized},
};

/// `left %*% right`.
///
/// # Errors
/// `dimension` unless `left` has as many columns as `right` has rows.
pub fn matmult(left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    if left.cols() != right.rows() {
        return Err(Error::dimension(format!(
            "cannot multiply a {} matrix by a {} matrix",
            shape(left),
            shape(right)
        ))
        .with_code(Code::ShapesDiffer));
    }
    let product = skipping_matmult(left, right)?;
    let mut met = ZerosMet::of(product);
    if is_sparse(left) && !is_finite(right) {
        met.zeros_of_left(&left.to_csr()?, &infinite_by_row(right))?;
    }
    if is_sparse(right) && !is_finite(left) {
        let by_depth = infinite_by_row(&transpose(left)?);
        met.zeros_by_depth(&right.to_csr()?, &by_depth, |row, col| (row, col))?;
    }
    met.finish()
}

fn skipping_matmult(left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    match (left, right) {
        (MatrixBlock::Compressed(_), right) => skipping_matmult(&*left.plain()?, right),
        (left, MatrixBlock::Compressed(_)) => skipping_matmult(left, &*right.plain()?),
        (MatrixBlock::Coordinate(coordinates), right) => {
            let CompactRows { numbers, csr } = coordinates.compact();
            let product = skipping_matmult(&csr.into(), right)?;
            spread_rows(&product, &numbers, coordinates.rows())
        }
        (left, MatrixBlock::Coordinate(coordinates)) => {
            skipping_matmult(left, &coordinates.to_csr()?.into())
        }
        (MatrixBlock::Csr(left), MatrixBlock::Csr(right)) => settle(sparse_product(left, right)?),
        (MatrixBlock::Csr(left), MatrixBlock::Dense(right)) => sparse_dense(left, right),
        (MatrixBlock::Dense(left), MatrixBlock::Csr(right)) => dense_sparse(left, right),
        (MatrixBlock::Dense(left), MatrixBlock::Dense(right)) => dense_dense(left, right),
    }
}

/// `t(left) %*% right`.
///
/// # Errors
/// `dimension` unless both have as many rows.
pub fn transposed_matmult(left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    if left.rows() != right.rows() {
        return Err(Error::dimension(format!(
            "cannot multiply the transpose of a {} matrix by a {} matrix",
            shape(left),
            shape(right)
        ))
        .with_code(Code::ShapesDiffer));
    }
    let product = skipping_transposed(left, right)?;
    zeros_met_across(product, left, right)
}

/// A product of which the zeros of both operands, rows by rows, have met what is not finite.
fn zeros_met_across(
    product: MatrixBlock,
    left: &MatrixBlock,
    right: &MatrixBlock,
) -> Result<MatrixBlock> {
    let mut met = ZerosMet::of(product);
    if is_sparse(left) && !is_finite(right) {
        let by_depth = infinite_by_row(right);
        met.zeros_by_depth(&left.to_csr()?, &by_depth, |col, row| (row, col))?;
    }
    if is_sparse(right) && !is_finite(left) {
        let by_depth = infinite_by_row(left);
        met.zeros_by_depth(&right.to_csr()?, &by_depth, |row, col| (row, col))?;
    }
    met.finish()
}

fn skipping_transposed(left: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    match (left, right) {
        (MatrixBlock::Compressed(_), right) => skipping_transposed(&*left.plain()?, right),
        (left, MatrixBlock::Compressed(_)) => skipping_transposed(left, &*right.plain()?),
        (MatrixBlock::Coordinate(coordinates), right) => {
            let CompactRows { numbers, csr } = coordinates.compact();
            skipping_transposed(&csr.into(), &rows_at(right, &numbers)?)
        }
        (left, MatrixBlock::Coordinate(coordinates)) => {
            let CompactRows { numbers, csr } = coordinates.compact();
            skipping_transposed(&rows_at(left, &numbers)?, &csr.into())
        }
        (MatrixBlock::Dense(left), MatrixBlock::Dense(right)) => {
            let (depth, m, n) = (left.rows(), left.cols(), right.cols());
            if depth < DEEP * m.max(n) {
                return product(view(left).transposed(), view(right), m, n);
            }
            reduce_rows(depth, m, n, dense_work(m, n), |task, out| {
                let (left, right) = (rows_of(left, &task), rows_of(right, &task));
                multiply(left.transposed(), right, out, n, Write::Add)
            })
        }
        (MatrixBlock::Csr(left), MatrixBlock::Dense(right)) => {
            let n = right.cols();
            let per_row = left.stored() / left.rows().max(1) * n + 1;
            reduce_rows(left.rows(), left.cols(), n, per_row, |task, out| {
                for row in task {
                    let (indices, values) = left.row(row);
                    for (col, value) in indices.iter().zip(values) {
                        let at = *col as usize * n;
                        add_scaled(&mut out[at..at + n], *value, right.row(row));
                    }
                }
                Ok(())
            })
        }
        (MatrixBlock::Dense(left), MatrixBlock::Csr(right)) => {
            let n = right.cols();
            let per_row = right.stored() / right.rows().max(1) * left.cols() + 1;
            reduce_rows(left.rows(), left.cols(), n, per_row, |task, out| {
                for row in task {
                    let (indices, values) = right.row(row);
                    for (value, out) in left.row(row).iter().zip(out.chunks_exact_mut(n)) {
                        add_sparse(out, *value, indices, values);
                    }
                }
                Ok(())
            })
        }
        (MatrixBlock::Csr(_), MatrixBlock::Csr(_)) => skipping_matmult(&transpose(left)?, right),
    }
}

/// `t(matrix) %*% matrix`: symmetric, so that only half of it is computed.
pub fn tsmm(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    let product = skipping_tsmm(matrix)?;
    zeros_met_across(product, matrix, matrix)
}

fn skipping_tsmm(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    let n = matrix.cols();
    match matrix {
        MatrixBlock::Dense(dense) if n <= NARROW => {
            let upper = reduce_rows(dense.rows(), n, n, dense_work(n, n), |task, out| {
                add_upper(rows_of(dense, &task), out, n)
            })?;
            mirrored(upper.to_dense()?.into_vec()?, n)
        }
        MatrixBlock::Dense(dense) => {
            let mut upper = zeros(cells(n, n)?)?;
            upper_in_parallel(view(dense), &mut upper, n)?;
            mirrored(upper, n)
        }
        MatrixBlock::Csr(csr) if n <= NARROW_SPARSE => {
            let per_row = (csr.stored() / csr.rows().max(1)).pow(2) + 1;
            let upper = reduce_rows(csr.rows(), n, n, per_row, |task, out| {
                add_upper_sparse(csr, task, 0, out);
                Ok(())
            })?;
            mirrored(upper.to_dense()?.into_vec()?, n)
        }
        MatrixBlock::Csr(csr) if n <= SPARSE_TSMM_COLS => {
            let band = (BAND_CELLS / n).max(1);
            let upper = by_chunks(cells(n, n)?, band * n, |number, out| {
                add_upper_sparse(csr, 0..csr.rows(), number * band, out);
            })?;
            Interrupt::current().check()?;
            mirrored(upper, n)
        }
        MatrixBlock::Csr(_) => skipping_matmult(&transpose(matrix)?, matrix),
        MatrixBlock::Coordinate(coordinates) => skipping_tsmm(&coordinates.compact().csr.into()),
        MatrixBlock::Compressed(_) => skipping_tsmm(&*matrix.plain()?),
    }
}

fn is_sparse(matrix: &MatrixBlock) -> bool {
    matches!(matrix.layout(), Layout::Csr | Layout::Coordinate)
}

/// Looked for once in a dense or CSR matrix.
pub(super) fn is_finite(matrix: &MatrixBlock) -> bool {
    matrix.extent_by(extent_of_cells).is_finite()
}

/// Rows with the columns in which they are NaN or infinite.
fn infinite_by_row(matrix: &MatrixBlock) -> BTreeMap<usize, Vec<usize>> {
    let mut rows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    matrix.for_each_stored(|row, col, cell| {
        if !cell.is_finite() {
            rows.entry(row).or_default().push(col);
        }
    });
    rows
}

/// A product to whose cells zeros that were skipped, times NaN or an infinity, add NaN.
struct ZerosMet {
    rows: usize,
    cols: usize,
    /// All cells, once there may be one that changes.
    values: Result<Vec<f64>, MatrixBlock>,
}

impl ZerosMet {
    fn of(product: MatrixBlock) -> Self {
        ZerosMet {
            rows: product.rows(),
            cols: product.cols(),
            values: Err(product),
        }
    }

    /// The cells, to change some.
    fn cells(&mut self) -> Result<&mut [f64]> {
        if let Err(product) = &self.values {
            self.values = Ok(product.to_dense()?.into_vec()?);
        }
        Ok(self.values.as_deref_mut().unwrap_or_default())
    }

    /// Of a left operand, whose columns count the rows of the right one, which are `infinite` in some columns.
    fn zeros_of_left(
        &mut self,
        left: &CsrMatrix,
        infinite: &BTreeMap<usize, Vec<usize>>,
    ) -> Result<()> {
        let (rows, width) = (self.rows, self.cols);
        let cells = self.cells()?;
        for row in 0..rows {
            let (indices, _) = left.row(row);
            for (depth, cols) in infinite {
                if indices.binary_search(&(*depth as i32)).is_err() {
                    cols.iter()
                        .for_each(|col| cells[row * width + col] = f64::NAN);
                }
            }
        }
        Ok(())
    }

    /// Of an operand whose rows are those of the other one, which are `infinite` in some columns. `place` says where a column of
    /// the other one and one of this one meet.
    fn zeros_by_depth(
        &mut self,
        sparse: &CsrMatrix,
        infinite: &BTreeMap<usize, Vec<usize>>,
        place: impl Fn(usize, usize) -> (usize, usize),
    ) -> Result<()> {
        let width = self.cols;
        let cells = self.cells()?;
        for (depth, others) in infinite {
            let (indices, _) = sparse.row(*depth);
            let is_zero = |col: &usize| indices.binary_search(&(*col as i32)).is_err();
            for col in (0..sparse.cols()).filter(is_zero) {
                for (row, col) in others.iter().map(|other| place(*other, col)) {
                    cells[row * width + col] = f64::NAN;
                }
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<MatrixBlock> {
        match self.values {
            Ok(values) => MatrixBlock::dense(self.rows, self.cols, values)?.in_best_layout(),
            Err(product) => Ok(product),
        }
    }
}

/// Some rows, those that an ultra-sparse matrix has cells in.
fn rows_at(matrix: &MatrixBlock, numbers: &[usize]) -> Result<MatrixBlock> {
    if let MatrixBlock::Coordinate(coordinates) = matrix {
        let CompactRows { numbers: own, csr } = coordinates.compact();
        // An empty row stands for all that it does not have.
        let empty = CsrMatrix::new(1, csr.cols(), vec![0, 0], Vec::new(), Vec::new())?;
        let rows = super::index::rbind(&[&csr.into(), &empty.into()])?;
        let place = |row: usize| own.binary_search(&numbers[row]).unwrap_or(own.len());
        return take_rows(&rows, numbers.len(), place);
    }
    take_rows(matrix, numbers.len(), |row| numbers[row])
}

/// A matrix of `rows` rows that are zero but for those with these numbers.
fn spread_rows(filled: &MatrixBlock, numbers: &[usize], rows: usize) -> Result<MatrixBlock> {
    let cols = filled.cols();
    if cols <= 1 || i32::try_from(cols).is_err() {
        let mut values = zeros(cells(rows, cols)?)?;
        let filled = filled.to_dense()?;
        for (at, row) in numbers.iter().enumerate() {
            values[row * cols..][..cols].copy_from_slice(filled.row(at));
        }
        return MatrixBlock::dense(rows, cols, values);
    }
    let compact = CoordinateMatrix::try_from(&filled.to_csr()?)?;
    let row_indices = compact.row_indices().iter();
    let row_indices = memory::collected(row_indices.map(|at| numbers[*at as usize] as i64))?;
    let (_, indices, values) = compact.into_buffers();
    CoordinateMatrix::new(rows, cols, row_indices, indices, values).and_then(settle)
}

/// Widest dense matrix whose t(X) %*% X is gathered in partial results: of wider ones the result has enough rows to divide.
const NARROW: usize = 256;

/// Widest sparse matrix whose t(X) %*% X is gathered in partial results, as many as there are tasks: together they take 64 MiB.
const NARROW_SPARSE: usize = 512;

/// Cells of a band of t(X) %*% X: 512 KiB, which stay in the second-level cache while all of X passes by.
const BAND_CELLS: usize = 1 << 16;

/// Widest sparse matrix whose t(X) %*% X is dense.
const SPARSE_TSMM_COLS: usize = 4096;

/// A symmetric matrix, of its cells on and above the diagonal.
fn mirrored(mut upper: Vec<f64>, n: usize) -> Result<MatrixBlock> {
    mirror_upper(&mut upper, n);
    MatrixBlock::dense(n, n, upper)
}

/// A product is deep when this many times its larger side goes into one cell: then there is more to divide along the
/// depth than along the rows of the result.
const DEEP: usize = 8;

/// What a row of a deep dense product costs a task, in cells: as a rule they are read at the speed of memory, and of
/// wide rows multiplied at about 32 cells in the time that one is read.
fn dense_work(rows: usize, cols: usize) -> usize {
    (rows + cols).max(rows.saturating_mul(cols) / 32)
}

/// Sums `rows x cols` partial results over tasks of the input's rows; `add` adds into a zeroed partial.
pub(super) fn reduce_rows(
    input_rows: usize,
    rows: usize,
    cols: usize,
    work_per_row: usize,
    add: impl Fn(Range<usize>, &mut [f64]) -> Result<()> + Sync,
) -> Result<MatrixBlock> {
    let size = cells(rows, cols)?;
    if size == 0 {
        return MatrixBlock::dense(rows, cols, Vec::new());
    }
    let mut tasks = reduction_tasks(input_rows, work_per_row);
    // Partial results larger than what goes into them are not worth the memory.
    if tasks.len() > 1 && size > input_rows.saturating_mul(work_per_row) {
        tasks = row_tasks(input_rows, input_rows);
    }
    let interrupt = Interrupt::current();
    let counted = interrupt.parts(tasks.len());
    let mut partials = tasks
        .into_par_iter()
        .map(|task| {
            interrupt.check()?;
            let mut partial = zeros(size)?;
            interrupt.within(|| add(task, &mut partial))?;
            counted.passed();
            Ok(partial)
        })
        .collect::<Result<Vec<_>>>()?
        .into_iter();
    let mut total = partials.next().map_or_else(|| zeros(size), Ok)?;
    for partial in partials {
        for (total, partial) in total.iter_mut().zip(&partial) {
            *total += partial;
        }
    }
    MatrixBlock::dense(rows, cols, total)
}

fn view(dense: &DenseMatrix) -> View<'_> {
    rows_of(dense, &(0..dense.rows()))
}

fn rows_of<'a>(dense: &'a DenseMatrix, rows: &Range<usize>) -> View<'a> {
    let cols = dense.cols();
    let cells = &dense.values()[rows.start * cols..rows.end * cols];
    View::of_rows(cells, rows.len(), cols, cols)
}

/// A dense product whose result has this shape.
fn product(left: View, right: View, rows: usize, cols: usize) -> Result<MatrixBlock> {
    MatrixBlock::dense(rows, cols, product_in_parallel(left, right)?)
}

fn dense_dense(left: &DenseMatrix, right: &DenseMatrix) -> Result<MatrixBlock> {
    let (rows, depth, cols) = (left.rows(), left.cols(), right.cols());
    if cols == 1 {
        let vector = right.values();
        return dense_by_rows(rows, 1, depth, |task, out| {
            let rows = &left.values()[task.start * depth..task.end * depth];
            vectorized(Dots { rows, vector, out });
        })
        .map(MatrixBlock::Dense);
    }
    if rows == 1 {
        let vector = left.values();
        return reduce_rows(depth, 1, cols, cols, |task, out| {
            for row in task {
                add_scaled(out, vector[row], right.row(row));
            }
            Ok(())
        });
    }
    product(view(left), view(right), rows, cols)
}

fn sparse_dense(left: &CsrMatrix, right: &DenseMatrix) -> Result<MatrixBlock> {
    let cols = right.cols();
    let per_row = left.stored() / left.rows().max(1) * cols + 1;
    dense_by_rows(left.rows(), cols, per_row, |task, out| {
        for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
            let (indices, values) = left.row(row);
            if let [out] = out {
                let vector = right.values();
                *out = indices
                    .iter()
                    .zip(values)
                    .map(|(col, value)| value * vector[*col as usize])
                    .sum();
            } else {
                for (col, value) in indices.iter().zip(values) {
                    add_scaled(out, *value, right.row(*col as usize));
                }
            }
        }
    })
    .map(MatrixBlock::Dense)
}

fn dense_sparse(left: &DenseMatrix, right: &CsrMatrix) -> Result<MatrixBlock> {
    let cols = right.cols();
    if left.rows() == 1 {
        let per_row = right.stored() / right.rows().max(1) + 1;
        return reduce_rows(right.rows(), 1, cols, per_row, |task, out| {
            for row in task {
                let (indices, values) = right.row(row);
                add_sparse(out, left.values()[row], indices, values);
            }
            Ok(())
        });
    }
    dense_by_rows(left.rows(), cols, right.stored(), |task, out| {
        for (row, out) in task.zip(out.chunks_exact_mut(cols)) {
            for (depth, value) in left.row(row).iter().enumerate() {
                let (indices, values) = right.row(depth);
                add_sparse(out, *value, indices, values);
            }
        }
    })
    .map(MatrixBlock::Dense)
}

/// Products of rows, one after the other, with a vector.
struct Dots<'a> {
    rows: &'a [f64],
    vector: &'a [f64],
    out: &'a mut [f64],
}

impl Work for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let depth = self.vector.len();
        if depth == 0 {
            return self.out.fill(0.0);
        }
        for (row, out) in self.rows.chunks_exact(depth).zip(self.out) {
            *out = dot(row, self.vector);
        }
    }
}

/// Sums that take their turns, so that none waits for the one before.
const LANES: usize = 32;
/// Of those, the ones that go on with the last cells.
const FEW_LANES: usize = 8;

#[inline(always)]
fn dot(left: &[f64], right: &[f64]) -> f64 {
    let (xs, left) = left.as_chunks::<LANES>();
    let (ys, right) = right.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for (x, y) in xs.iter().zip(ys) {
        fetch_ahead(x);
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    let mut few: [f64; FEW_LANES] = std::array::from_fn(|lane| {
        let (one, other) = (
            lanes[lane] + lanes[lane + 8],
            lanes[lane + 16] + lanes[lane + 24],
        );
        one + other
    });
    let (xs, left) = left.as_chunks::<FEW_LANES>();
    let (ys, right) = right.as_chunks::<FEW_LANES>();
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..FEW_LANES {
            few[lane] += x[lane] * y[lane];
        }
    }
    let last = left.iter().zip(right).map(|(x, y)| x * y);
    few.into_iter().sum::<f64>() + last.sum::<f64>()
}

/// Adds to some rows of t(X) %*% X, from `first` on, what rows of X give to the cells on and above the diagonal.
fn add_upper_sparse(csr: &CsrMatrix, rows: Range<usize>, first: usize, out: &mut [f64]) {
    let n = csr.cols();
    let end = (first + out.len() / n) as i32;
    for row in rows {
        let (indices, values) = csr.row(row);
        let before = match first {
            0 => 0,
            first => indices.partition_point(|col| *col < first as i32),
        };
        for at in before..indices.len() {
            let col = indices[at];
            if col >= end {
                break;
            }
            let from = (col as usize - first) * n;
            let out = &mut out[from..from + n];
            add_sparse(out, values[at], &indices[at..], &values[at..]);
        }
    }
}

/// `out += scale * row`
fn add_scaled(out: &mut [f64], scale: f64, row: &[f64]) {
    for (out, value) in out.iter_mut().zip(row) {
        *out += scale * value;
    }
}

fn add_sparse(out: &mut [f64], scale: f64, indices: &[i32], values: &[f64]) {
    for (col, value) in indices.iter().zip(values) {
        out[*col as usize] += scale * value;
    }
}
