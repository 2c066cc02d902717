//! Linear systems and factorisations of dense matrices: [`linear`] has LU and Cholesky factors, the `faer` crate all others.
//!
//! Results are determined up to signs only where mathematics says so; there, the cell of each vector that is largest in
//! magnitude is made positive, so that a run repeats. NaN and infinite cells are refused before any arithmetic.

use std::cmp::Ordering;

use faer::{
    Mat, MatRef, Side,
    linalg::solvers::{Eigen, Qr, SelfAdjointEigen, Solve, Svd},
};
use fulgurite_error::{Error, Result};

use super::{
    leave::leaving,
    linear::{self, Cholesky, Definite, Lu},
    matmult::matmult,
    reorganize::transpose,
    results::shape,
};
use crate::{DenseMatrix, MatrixBlock, parallel::extent_of_cells};

/// The largest difference between a cell and its mirror image in a matrix that counts as symmetric, relative to the
/// matrix's largest cell.
const SYMMETRY: f64 = 1e-12;

/// `solve(A, b)`: the x with `A %*% x = b`. Where LU and Cholesky factors lose too many digits, a QR factorisation decides whether the
/// matrix is singular.
///
/// # Errors
/// `dimension` if A is not square or b has other rows, `runtime` if A is singular to working precision or a cell is not
/// finite.
pub fn solve(matrix: &MatrixBlock, right: &MatrixBlock) -> Result<MatrixBlock> {
    square(matrix)?;
    if right.rows() != matrix.rows() {
        return Err(Error::dimension(format!(
            "a system with a {} matrix cannot have a {} right side",
            shape(matrix),
            shape(right)
        )));
    }
    let (matrix, right) = (finite(matrix)?, finite(right)?);
    if matrix.rows() == 0 || right.cols() == 0 {
        return Ok(DenseMatrix::filled(right.rows(), right.cols(), 0.0)?.into());
    }
    if let Some(solution) = linear::solution(&matrix, &right)? {
        return Ok(solution.into());
    }
    let qr = regular(&matrix)?;
    let multiplications = matrix.values().len() as f64 * right.cols() as f64;
    let solution = stoppable(multiplications, move || qr.solve(view(&right)))?;
    block(solution.as_ref())
}

/// `inv(A)`.
///
/// # Errors
/// As [`solve`].
pub fn inverse(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    square(matrix)?;
    let matrix = finite(matrix)?;
    let order = matrix.rows();
    if order == 0 {
        return Ok(matrix.into());
    }
    if let Some(inverse) = linear::inverse(&matrix)? {
        return Ok(inverse.into());
    }
    let qr = regular(&matrix)?;
    let inverse = stoppable((order as f64).powi(3), move || {
        qr.solve(Mat::<f64>::identity(order, order))
    })?;
    block(inverse.as_ref())
}

/// The QR factorisation of a square matrix whose columns are independent.
fn regular(matrix: &DenseMatrix) -> Result<Qr<f64>> {
    let columns = view(matrix);
    let qr = factors(matrix, Qr::new)?;
    let precision = matrix.rows() as f64 * f64::EPSILON;
    for (place, column) in columns.col_iter().enumerate() {
        // What of a column the ones before it do not span.
        let rest = qr.R()[(place, place)].abs();
        let norm = column.norm_l2();
        if rest <= precision * norm {
            return Err(Error::runtime(format!(
                "the {0} x {0} matrix is singular: to working precision, column {1} is a combination of the columns before it",
                matrix.rows(),
                place + 1
            ))
            .with_help("leave out dependent columns, or add a small multiple of the identity (regularisation)"));
        }
    }
    Ok(qr)
}

/// `cholesky(A)`: the lower triangle L with `L %*% t(L) = A`.
///
/// # Errors
/// `dimension` if A is not square, `runtime` if it is not symmetric, not positive definite, or a cell is not finite.
pub fn cholesky(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    square(matrix)?;
    let matrix = finite(matrix)?;
    if let Some((row, col)) = asymmetry(&matrix) {
        return Err(Error::runtime(format!(
            "the matrix is not symmetric: cells ({row}, {col}) and ({col}, {row}) differ",
        )));
    }
    if matrix.rows() == 0 {
        return Ok(matrix.into());
    }
    let order = matrix.rows();
    match Cholesky::factor(&matrix)? {
        Definite::Yes(factor) => {
            let cell = |row, col| match col <= row {
                true => factor.cell(col, row),
                false => 0.0,
            };
            Ok(DenseMatrix::from_fn(order, order, cell)?.into())
        }
        Definite::No(part) => Err(Error::runtime(format!(
            "the matrix is not positive definite: its upper left {part} x {part} part is not",
        ))
        .with_help("covariances are positive definite once dependent columns are left out")),
    }
}

/// `eigen(A)`: eigenvalues in ascending order as a column, and unit eigenvectors as columns in the same order.
///
/// # Errors
/// `dimension` if A is not square, `runtime` if an eigenvalue is complex, a cell is not finite, or the iteration
/// does not converge.
pub fn eigen(matrix: &MatrixBlock) -> Result<(MatrixBlock, MatrixBlock)> {
    square(matrix)?;
    let matrix = finite(matrix)?;
    let order = matrix.rows();
    if order == 0 {
        return Ok((DenseMatrix::filled(0, 1, 0.0)?.into(), matrix.into()));
    }
    let (values, vectors) = match asymmetry(&matrix) {
        None => symmetric_eigen(&matrix)?,
        Some(_) => general_eigen(&matrix)?,
    };
    let values = DenseMatrix::new(order, 1, values)?;
    Ok((values.into(), block(vectors.as_ref())?))
}

fn symmetric_eigen(matrix: &DenseMatrix) -> Result<(Vec<f64>, Mat<f64>)> {
    let factors = factors(matrix, |matrix| SelfAdjointEigen::new(matrix, Side::Lower))?
        .map_err(|_| no_convergence("eigenvalues"))?;
    let values = factors.S().column_vector().iter().copied().collect();
    let mut vectors = factors.U().to_owned();
    for col in 0..vectors.ncols() {
        orient(&mut vectors, col);
    }
    Ok((values, vectors))
}

fn general_eigen(matrix: &DenseMatrix) -> Result<(Vec<f64>, Mat<f64>)> {
    let factors = factors(matrix, |matrix| Eigen::new_from_real(matrix))?
        .map_err(|_| no_convergence("eigenvalues"))?;
    let all: Vec<_> = factors.S().column_vector().iter().copied().collect();
    let largest = all.iter().map(|value| value.re.abs()).fold(0.0, f64::max);
    if let Some(complex) = all.iter().find(|value| value.im.abs() > SYMMETRY * largest) {
        return Err(Error::runtime(format!(
            "the matrix is not symmetric and has the complex eigenvalue {} {:+}i",
            complex.re, complex.im
        ))
        .with_help("only real eigenvalues can be given back; those of symmetric matrices are"));
    }
    let mut ascending: Vec<usize> = (0..all.len()).collect();
    ascending.sort_by(|left, right| all[*left].re.total_cmp(&all[*right].re));
    let order = all.len();
    let mut vectors = Mat::from_fn(order, order, |row, col| {
        factors.U()[(row, ascending[col])].re
    });
    for col in 0..order {
        let norm = vectors.col(col).norm_l2();
        vectors
            .col_mut(col)
            .iter_mut()
            .for_each(|cell| *cell /= norm);
        orient(&mut vectors, col);
    }
    Ok((
        ascending.iter().map(|place| all[*place].re).collect(),
        vectors,
    ))
}

/// `lu(A)`: P, L, U with `P %*% A = L %*% U`; L has ones on its diagonal.
///
/// # Errors
/// `dimension` if A is not square, `runtime` if a cell is not finite.
pub fn lu(matrix: &MatrixBlock) -> Result<[MatrixBlock; 3]> {
    square(matrix)?;
    let matrix = finite(matrix)?;
    let order = matrix.rows();
    if order == 0 {
        return Ok([(); 3].map(|()| matrix.clone().into()));
    }
    let mut factors = Lu::new(&matrix)?;
    let from = factors.order_rows()?;
    let permutation = DenseMatrix::from_fn(order, order, |row, col| {
        f64::from(u8::from(from[row] == col))
    })?;
    let lower = DenseMatrix::from_fn(order, order, |row, col| match row.cmp(&col) {
        Ordering::Less => 0.0,
        Ordering::Equal => 1.0,
        Ordering::Greater => factors.cell(row, col),
    })?;
    let upper = DenseMatrix::from_fn(order, order, |row, col| match row <= col {
        true => factors.cell(row, col),
        false => 0.0,
    })?;
    Ok([permutation, lower, upper].map(MatrixBlock::from))
}

/// `det(A)`.
///
/// # Errors
/// As [`lu`].
pub fn determinant(matrix: &MatrixBlock) -> Result<f64> {
    square(matrix)?;
    let matrix = finite(matrix)?;
    match matrix.rows() {
        0 => Ok(1.0),
        _ => Ok(Lu::new(&matrix)?.determinant()),
    }
}

/// The symmetric root of a symmetric matrix without negative eigenvalues: R with `R %*% R = A`.
///
/// # Errors
/// As [`eigen`]; `runtime` also if the matrix is not symmetric, or an eigenvalue is negative.
pub fn square_root(matrix: &MatrixBlock) -> Result<MatrixBlock> {
    square(matrix)?;
    let matrix = finite(matrix)?;
    if let Some((row, col)) = asymmetry(&matrix) {
        return Err(Error::runtime(format!(
            "the matrix is not symmetric: cells ({row}, {col}) and ({col}, {row}) differ",
        )));
    }
    let order = matrix.rows();
    if order == 0 {
        return Ok(matrix.into());
    }
    let (values, vectors) = symmetric_eigen(&matrix)?;
    let largest = values
        .iter()
        .fold(0.0, |most: f64, value| most.max(value.abs()));
    if let Some(value) = values.iter().find(|value| **value < -SYMMETRY * largest) {
        return Err(Error::runtime(format!(
            "the matrix has the negative eigenvalue {value}, and so no real root"
        )));
    }
    let roots: MatrixBlock = DenseMatrix::from_fn(order, order, |row, col| {
        vectors[(row, col)] * values[col].max(0.0).sqrt()
    })?
    .into();
    matmult(&roots, &transpose(&block(vectors.as_ref())?)?)
}

/// `svd(A)`: U, S, V with `A = U %*% S %*% t(V)`, S the diagonal matrix of the singular values in descending order; for
/// an m x n matrix and k = min(m, n), U is m x k and V is n x k.
///
/// # Errors
/// `runtime` if a cell is not finite or the iteration does not converge.
pub fn svd(matrix: &MatrixBlock) -> Result<[MatrixBlock; 3]> {
    let matrix = finite(matrix)?;
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let rank = rows.min(cols);
    if rank == 0 {
        let empty = |rows, cols| DenseMatrix::filled(rows, cols, 0.0).map(MatrixBlock::from);
        return Ok([empty(rows, 0)?, empty(0, 0)?, empty(cols, 0)?]);
    }
    let factors = factors(&matrix, |matrix| Svd::new_thin(matrix))?
        .map_err(|_| no_convergence("singular values"))?;
    let (mut left, mut right) = (factors.U().to_owned(), factors.V().to_owned());
    for col in 0..rank {
        if orient(&mut right, col) {
            negate(&mut left, col);
        }
    }
    let values = factors.S().column_vector();
    let diagonal = DenseMatrix::from_fn(
        rank,
        rank,
        |row, col| if row == col { values[row] } else { 0.0 },
    )?;
    Ok([
        block(left.as_ref())?,
        diagonal.into(),
        block(right.as_ref())?,
    ])
}

/// Makes the largest cell of a column positive; says whether that changed the column.
fn orient(vectors: &mut Mat<f64>, col: usize) -> bool {
    let cells = vectors.col(col).iter().copied();
    let largest = cells.fold(
        0.0,
        |most: f64, cell| if cell.abs() > most.abs() { cell } else { most },
    );
    if largest < 0.0 {
        negate(vectors, col);
    }
    largest < 0.0
}

fn negate(vectors: &mut Mat<f64>, col: usize) {
    vectors
        .col_mut(col)
        .iter_mut()
        .for_each(|cell| *cell = -*cell);
}

/// From so many multiplications on a factorization takes much longer than threads take to start.
const LONG: f64 = 16e6;

/// What the library makes of a matrix, unless the run stops before.
fn factors<R: Send + 'static>(
    matrix: &DenseMatrix,
    of: impl FnOnce(MatRef<'_, f64>) -> R + Send + 'static,
) -> Result<R> {
    let (rows, cols) = (matrix.rows() as f64, matrix.cols() as f64);
    let shared = matrix.clone();
    stoppable(rows * cols * rows.min(cols), move || of(view(&shared)))
}

fn stoppable<R: Send + 'static>(
    multiplications: f64,
    work: impl FnOnce() -> R + Send + 'static,
) -> Result<R> {
    match multiplications < LONG {
        true => Ok(work()),
        false => leaving(work),
    }
}

fn view(matrix: &DenseMatrix) -> MatRef<'_, f64> {
    MatRef::from_row_major_slice(matrix.values(), matrix.rows(), matrix.cols())
}

fn block(matrix: MatRef<'_, f64>) -> Result<MatrixBlock> {
    let cell = |row, col| matrix[(row, col)];
    DenseMatrix::from_fn(matrix.nrows(), matrix.ncols(), cell).map(MatrixBlock::from)
}

fn square(matrix: &MatrixBlock) -> Result<()> {
    if matrix.rows() == matrix.cols() {
        return Ok(());
    }
    Err(Error::dimension(format!(
        "the matrix is not square: {}",
        shape(matrix)
    )))
}

fn finite(matrix: &MatrixBlock) -> Result<DenseMatrix> {
    let is_finite = matrix.extent_by(extent_of_cells).is_finite();
    let matrix = matrix.to_dense()?;
    if is_finite {
        return Ok(matrix);
    }
    match matrix.values().iter().position(|cell| !cell.is_finite()) {
        None => Ok(matrix),
        Some(cell) => Err(Error::runtime(format!(
            "cell ({}, {}) of the matrix is {}",
            cell / matrix.cols() + 1,
            cell % matrix.cols() + 1,
            matrix.values()[cell]
        ))
        .with_help(
            "replace(target=X, pattern=NaN, replacement=0) and removeEmpty() take such cells out",
        )),
    }
}

/// A cell, counted from 1, that differs from its mirror image.
fn asymmetry(matrix: &DenseMatrix) -> Option<(usize, usize)> {
    let largest = matrix
        .values()
        .iter()
        .fold(0.0, |most: f64, cell| most.max(cell.abs()));
    (0..matrix.rows())
        .flat_map(|row| (0..row).map(move |col| (row, col)))
        .find(|(row, col)| {
            (matrix.row(*row)[*col] - matrix.row(*col)[*row]).abs() > SYMMETRY * largest
        })
        .map(|(row, col)| (row + 1, col + 1))
}

fn no_convergence(what: &str) -> Error {
    Error::runtime(format!("the iteration for {what} does not converge"))
        .with_help("scale the matrix so that its cells are of similar size")
}

#[cfg(test)]
mod tests {
    use fulgurite_error::ErrorKind;
    use proptest::prelude::*;

    use super::*;
    use crate::Interrupt;
    use crate::kernels::{matmult, transpose};

    fn matrix(rows: usize, cols: usize, cells: &[f64]) -> MatrixBlock {
        MatrixBlock::dense(rows, cols, cells.to_vec()).expect("as many cells")
    }

    fn product(left: &MatrixBlock, right: &MatrixBlock) -> MatrixBlock {
        matmult(left, right).expect("shapes fit")
    }

    fn transposed(of: &MatrixBlock) -> MatrixBlock {
        transpose(of).expect("any shape")
    }

    fn distance(left: &MatrixBlock, right: &MatrixBlock) -> f64 {
        assert_eq!((left.rows(), left.cols()), (right.rows(), right.cols()));
        let (left, right) = (left.to_dense().unwrap(), right.to_dense().unwrap());
        let pairs = left.values().iter().zip(right.values());
        pairs.fold(0.0, |most: f64, (x, y)| most.max((x - y).abs()))
    }

    fn any_square() -> impl Strategy<Value = MatrixBlock> {
        (1usize..9).prop_flat_map(|order| any_matrix(order, order))
    }

    fn any_matrix(rows: usize, cols: usize) -> impl Strategy<Value = MatrixBlock> {
        prop::collection::vec(-1.0..1.0f64, rows * cols)
            .prop_map(move |cells| matrix(rows, cols, &cells))
    }

    /// t(A) A + I: symmetric, positive definite, well conditioned.
    fn definite(of: &MatrixBlock) -> MatrixBlock {
        let square = product(&transposed(of), of).to_dense().unwrap();
        let order = square.rows();
        DenseMatrix::from_fn(order, order, |row, col| {
            square.row(row)[col] + f64::from(u8::from(row == col))
        })
        .unwrap()
        .into()
    }

    fn identity(order: usize) -> MatrixBlock {
        DenseMatrix::from_fn(order, order, |row, col| f64::from(u8::from(row == col)))
            .unwrap()
            .into()
    }

    #[test]
    fn runs_that_are_to_stop_leave_large_factorizations() {
        let order = 512;
        let cell = |row, col| 1.0 / (1 + row + 2 * col) as f64;
        let matrix = DenseMatrix::from_fn(order, order, cell).unwrap().into();
        let interrupt = Interrupt::new();
        interrupt.set();
        let stopped = interrupt.within(|| svd(&matrix));
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Interrupted);
        let here = svd(&matrix).unwrap();
        let elsewhere = Interrupt::new().within(|| svd(&matrix)).unwrap();
        assert_eq!(here, elsewhere);
    }

    proptest! {
        #[test]
        fn what_solves_a_system_gives_its_right_side(of in any_square()) {
            let a = definite(&of);
            let x = solve(&a, &of).expect("regular");
            prop_assert!(distance(&product(&a, &x), &of) < 1e-12);
            let inverse = inverse(&a).expect("regular");
            prop_assert!(distance(&product(&a, &inverse), &identity(a.rows())) < 1e-12);
        }

        #[test]
        fn factors_multiply_to_their_matrix(of in any_square()) {
            let a = definite(&of);
            let lower = cholesky(&a).expect("definite");
            prop_assert!(distance(&product(&lower, &transposed(&lower)), &a) < 1e-12);
            let (values, vectors) = eigen(&a).expect("symmetric");
            let scaled: MatrixBlock = DenseMatrix::from_fn(a.rows(), a.rows(), |row, col| {
                vectors.get(row, col) * values.get(col, 0)
            }).unwrap().into();
            prop_assert!(distance(&product(&a, &vectors), &scaled) < 1e-12);
            prop_assert!(distance(&product(&transposed(&vectors), &vectors), &identity(a.rows())) < 1e-12);
            prop_assert!((1..a.rows()).all(|place| values.get(place - 1, 0) <= values.get(place, 0)));
            let [permutation, lower, upper] = lu(&of).expect("finite");
            prop_assert!(distance(&product(&permutation, &of), &product(&lower, &upper)) < 1e-12);
        }

        #[test]
        fn singular_values_descend(of in (1usize..7, 1usize..7).prop_flat_map(|(rows, cols)| any_matrix(rows, cols))) {
            let [left, values, right] = svd(&of).expect("finite");
            let back = product(&product(&left, &values), &transposed(&right));
            prop_assert!(distance(&back, &of) < 1e-12);
            prop_assert!((1..values.rows()).all(|place| values.get(place - 1, place - 1) >= values.get(place, place)));
        }
    }

    #[test]
    fn an_asymmetric_matrix_may_have_real_eigenvalues() {
        let (values, vectors) = eigen(&matrix(2, 2, &[2.0, 1.0, 0.0, 1.0])).expect("real ones");
        assert!(distance(&values, &matrix(2, 1, &[1.0, 2.0])) < 1e-14);
        let root = 0.5f64.sqrt();
        let first = [vectors.get(0, 0).abs(), vectors.get(1, 0).abs()];
        assert!(
            (first[0] - root).abs() < 1e-14 && (first[1] - root).abs() < 1e-14,
            "{first:?}"
        );
        let rotation = eigen(&matrix(2, 2, &[0.0, -1.0, 1.0, 0.0])).expect_err("complex ones");
        assert_eq!(rotation.kind(), ErrorKind::Runtime);
    }

    #[test]
    fn bad_matrices_are_refused() {
        let kind = |result: Result<MatrixBlock>| result.expect_err("a bad matrix").kind();
        let singular = matrix(2, 2, &[1.0, 2.0, 2.0, 4.0]);
        let wide = matrix(1, 2, &[1.0, 2.0]);
        let nan = matrix(1, 1, &[f64::NAN]);
        let column = matrix(2, 1, &[1.0, 2.0]);
        assert_eq!(kind(solve(&singular, &column)), ErrorKind::Runtime);
        assert_eq!(kind(solve(&wide, &column)), ErrorKind::Dimension);
        assert_eq!(kind(solve(&nan, &column)), ErrorKind::Dimension);
        assert_eq!(kind(inverse(&singular)), ErrorKind::Runtime);
        assert_eq!(kind(inverse(&nan)), ErrorKind::Runtime);
        assert_eq!(
            kind(cholesky(&matrix(2, 2, &[1.0, 2.0, 2.0, 1.0]))),
            ErrorKind::Runtime
        );
        assert_eq!(
            kind(cholesky(&matrix(2, 2, &[1.0, 0.0, 2.0, 1.0]))),
            ErrorKind::Runtime
        );
        assert_eq!(
            kind(eigen(&wide).map(|(values, _)| values)),
            ErrorKind::Dimension
        );
        assert_eq!(kind(svd(&nan).map(|[left, _, _]| left)), ErrorKind::Runtime);
    }

    #[test]
    fn columns_of_very_different_scale_are_not_singular() {
        let a = matrix(2, 2, &[1e-20, 0.0, 0.0, 1e20]);
        let x = solve(&a, &matrix(2, 1, &[1e-20, 1e20])).expect("regular");
        assert!(distance(&x, &matrix(2, 1, &[1.0, 1.0])) < 1e-14);
    }

    #[test]
    fn empty_matrices_have_empty_factors() {
        let empty = matrix(0, 0, &[]);
        assert_eq!(inverse(&empty).expect("empty").rows(), 0);
        let (values, vectors) = eigen(&empty).expect("empty");
        assert_eq!((values.cols(), vectors.cols()), (1, 0));
    }
}
