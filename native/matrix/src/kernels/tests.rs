//! Every kernel against a naive reference, for dense and sparse operands of every odd size.

use fulgurite_error::ErrorKind;
use fulgurite_test_numbers::is_close;
use proptest::prelude::*;

use super::{
    aggregate::{self, Max, Min, Product, Sum},
    *,
};
use crate::{DenseMatrix, Layout, MatrixBlock};

const SIZES: [usize; 10] = [0, 1, 2, 3, 7, 8, 9, 31, 64, 127];

fn size() -> impl Strategy<Value = usize> {
    proptest::sample::select(&SIZES[..])
}

/// Reproducible cells: zeros by the share `zeros` (of 10), small numbers otherwise.
pub(super) fn cells(rows: usize, cols: usize, seed: u64, zeros: u64) -> MatrixBlock {
    let mut state = seed ^ 0x9E37_79B9_7F4A_7C15;
    DenseMatrix::from_fn(rows, cols, |_, _| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        if (state >> 33) % 10 < zeros {
            0.0
        } else {
            ((state >> 40) % 2001) as f64 / 250.0 - 4.0
        }
    })
    .unwrap()
    .into()
}

/// With NaN and infinities in the first and the last row.
fn with_specials(matrix: &MatrixBlock) -> MatrixBlock {
    let rows = matrix.rows();
    DenseMatrix::from_fn(rows, matrix.cols(), |i, j| match (i, j % 4) {
        (0, 1) => f64::NAN,
        (i, 2) if i + 1 == rows => f64::INFINITY,
        (i, 3) if i + 1 == rows => f64::NEG_INFINITY,
        _ => matrix.get(i, j),
    })
    .unwrap()
    .into()
}

pub(super) fn all_layouts(matrix: &MatrixBlock) -> [MatrixBlock; 3] {
    [Layout::Dense, Layout::Csr, Layout::Coordinate]
        .map(|layout| matrix.clone().in_layout(layout).unwrap())
}

/// Equal up to `tolerance`, as [`is_close`] takes it.
pub(super) fn assert_close(
    actual: &MatrixBlock,
    expected: &MatrixBlock,
    tolerance: f64,
    what: &str,
) {
    assert_eq!(
        (actual.rows(), actual.cols()),
        (expected.rows(), expected.cols()),
        "{what}"
    );
    for i in 0..expected.rows() {
        for j in 0..expected.cols() {
            close(
                actual.get(i, j),
                expected.get(i, j),
                tolerance,
                &format!("{what} [{i}, {j}]"),
            );
        }
    }
}

fn close(actual: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        is_close(actual, expected, tolerance),
        "{what}: {actual} is not {expected}"
    );
}

fn naive(rows: usize, cols: usize, cell: impl FnMut(usize, usize) -> f64) -> MatrixBlock {
    DenseMatrix::from_fn(rows, cols, cell).unwrap().into()
}

type Binary = (&'static str, fn(f64, f64) -> f64);
const BINARIES: [Binary; 6] = [
    ("+", |x, y| x + y),
    ("*", |x, y| x * y),
    ("/", |x, y| x / y),
    ("^", f64::powf),
    (">", |x, y| f64::from(u8::from(x > y))),
    ("==", |x, y| f64::from(u8::from(x == y))),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn unary_functions(rows in size(), cols in size(), seed: u64, zeros in 0u64..=10) {
        let matrix = with_specials(&cells(rows, cols, seed, zeros));
        for f in [f64::abs, f64::exp, f64::sqrt, |x: f64| x.max(-1.0)] {
            let expected = naive(rows, cols, |i, j| f(matrix.get(i, j)));
            for layout in all_layouts(&matrix) {
                assert_close(&unary(&layout, f).unwrap(), &expected, 0.0, "unary");
            }
        }
    }

    #[test]
    fn binary_functions_broadcast(rows in size(), cols in size(), seed: u64, zeros in 0u64..=10, specials: bool) {
        let plain = cells(rows, cols, seed, zeros);
        let matrix = if specials { with_specials(&plain) } else { plain };
        for (other_rows, other_cols) in [(rows, cols), (rows, 1), (1, cols), (1, 1)] {
            let other = cells(other_rows, other_cols, !seed, zeros);
            let at = |i: usize, j: usize| other.get(i.min(other_rows - 1), j.min(other_cols - 1));
            for (name, f) in BINARIES {
                let right = naive(rows, cols, |i, j| f(matrix.get(i, j), at(i, j)));
                let left = naive(rows, cols, |i, j| f(at(i, j), matrix.get(i, j)));
                for matrix in all_layouts(&matrix) {
                    for other in all_layouts(&other) {
                        let result = binary((&matrix).into(), (&other).into(), f).unwrap();
                        assert_close(&result, &right, 0.0, name);
                        let result = binary((&other).into(), (&matrix).into(), f).unwrap();
                        assert_close(&result, &left, 0.0, name);
                    }
                }
            }
        }
        for scalar in [0.0, 1.5, -2.0, f64::NAN] {
            for (name, f) in BINARIES {
                let expected = naive(rows, cols, |i, j| f(matrix.get(i, j), scalar));
                for matrix in all_layouts(&matrix) {
                    let result = binary((&matrix).into(), scalar.into(), f).unwrap();
                    assert_close(&result, &expected, 0.0, name);
                }
            }
        }
    }

    #[test]
    fn ternary_functions(rows in size(), cols in size(), seed: u64, zeros in 0u64..=10) {
        let [x, y, z] = [0, 1, 2].map(|salt| cells(rows, cols, seed ^ salt, zeros));
        let vector = cells(1, cols, seed, zeros);
        let if_else = |x: f64, y: f64, z: f64| if x != 0.0 { y } else { z };
        let all = naive(rows, cols, |i, j| if_else(x.get(i, j), y.get(i, j), z.get(i, j)));
        let mixed = naive(rows, cols, |i, j| if_else(x.get(i, j), 7.0, vector.get(0, j)));
        for x in all_layouts(&x) {
            for z in all_layouts(&z) {
                let result = ternary((&x).into(), (&y).into(), (&z).into(), if_else).unwrap();
                assert_close(&result, &all, 0.0, "ifelse");
            }
            let result = ternary((&x).into(), 7.0.into(), (&vector).into(), if_else).unwrap();
            assert_close(&result, &mixed, 0.0, "ifelse with scalar and vector");
        }
    }

    #[test]
    fn aggregates(rows in size(), cols in size(), seed: u64, zeros in 0u64..=10, specials: bool) {
        let plain = cells(rows, cols, seed, zeros);
        let matrix = if specials { with_specials(&plain) } else { plain };
        let row = |i: usize| -> Vec<f64> { (0..cols).map(|j| matrix.get(i, j)).collect() };
        let col = |j: usize| -> Vec<f64> { (0..rows).map(|i| matrix.get(i, j)).collect() };
        let all: Vec<f64> = (0..rows).flat_map(row).collect();
        for layout in all_layouts(&matrix) {
            let checks: [Check; 5] = [
                ("sum", |m| aggregate::full::<Sum>(m, |x| x),
                    |m| aggregate::rows::<Sum>(m, |_, x| x).unwrap(),
                    |m| aggregate::cols::<Sum>(m, |x| x).unwrap(), |v| v.iter().sum()),
                ("min", |m| aggregate::full::<Min>(m, |x| x),
                    |m| aggregate::rows::<Min>(m, |_, x| x).unwrap(),
                    |m| aggregate::cols::<Min>(m, |x| x).unwrap(), |v| extreme(v, f64::INFINITY, f64::min)),
                ("max", |m| aggregate::full::<Max>(m, |x| x),
                    |m| aggregate::rows::<Max>(m, |_, x| x).unwrap(),
                    |m| aggregate::cols::<Max>(m, |x| x).unwrap(), |v| extreme(v, f64::NEG_INFINITY, f64::max)),
                ("prod", |m| aggregate::full::<Product>(m, |x| x / 2.0),
                    |m| aggregate::rows::<Product>(m, |_, x| x / 2.0).unwrap(),
                    |m| aggregate::cols::<Product>(m, |x| x / 2.0).unwrap(),
                    |v| v.iter().map(|x| x / 2.0).product()),
                ("var", aggregate::variance,
                    |m| aggregate::row_variances(m).unwrap(),
                    |m| aggregate::col_variances(m).unwrap(), variance),
            ];
            for (name, full, rows_of, cols_of, reference) in checks {
                close(full(&layout), reference(&all), 1e-11, name);
                let expected = naive(rows, 1, |i, _| reference(&row(i)));
                assert_close(&rows_of(&layout), &expected, 1e-11, name);
                let expected = naive(1, cols, |_, j| reference(&col(j)));
                assert_close(&cols_of(&layout), &expected, 1e-11, name);
            }
            if cols == 0 {
                prop_assert!(rows == 0 || aggregate::row_index_max(&layout).is_err());
                prop_assert!(rows == 0 || aggregate::row_index_min(&layout).is_err());
                continue;
            }
            let expected = naive(rows, 1, |i, _| index_of(&row(i), |x, y| x >= y));
            assert_close(&aggregate::row_index_max(&layout).unwrap(), &expected, 0.0, "imax");
            let expected = naive(rows, 1, |i, _| index_of(&row(i), |x, y| x <= y));
            assert_close(&aggregate::row_index_min(&layout).unwrap(), &expected, 0.0, "imin");
        }
    }

    #[test]
    fn products(m in size(), k in size(), n in size(), seed: u64, zeros in 0u64..=10) {
        let (x, y) = (cells(m, k, seed, zeros), cells(k, n, !seed, zeros));
        let expected = naive(m, n, |i, j| (0..k).map(|d| x.get(i, d) * y.get(d, j)).sum());
        let gram = naive(k, k, |i, j| (0..m).map(|d| x.get(d, i) * x.get(d, j)).sum());
        let transposed = transpose(&x).unwrap();
        for x in all_layouts(&x) {
            assert_close(&tsmm(&x).unwrap(), &gram, 1e-12, "tsmm");
            for y in all_layouts(&y) {
                assert_close(&matmult(&x, &y).unwrap(), &expected, 1e-12, "matmult");
            }
        }
        for x in all_layouts(&transposed) {
            for y in all_layouts(&y) {
                let result = transposed_matmult(&x, &y).unwrap();
                assert_close(&result, &expected, 1e-12, "t(X) %*% Y");
            }
        }
    }

    #[test]
    fn cells_move(rows in size(), cols in size(), seed: u64, zeros in 0u64..=10) {
        let matrix = with_specials(&cells(rows, cols, seed, zeros));
        let flat = |i: usize| matrix.get(i / cols, i % cols);
        let by_col = |i: usize| matrix.get(i % rows, i / rows);
        for x in all_layouts(&matrix) {
            let expected = naive(cols, rows, |i, j| matrix.get(j, i));
            assert_close(&transpose(&x).unwrap(), &expected, 0.0, "t");
            let expected = naive(rows, cols, |i, j| matrix.get(rows - 1 - i, j));
            assert_close(&rev(&x).unwrap(), &expected, 0.0, "rev");
            let expected = naive(cols, rows, |i, j| flat(i * rows + j));
            assert_close(&reshape(&x, cols, rows, true).unwrap(), &expected, 0.0, "reshape");
            let expected = naive(cols, rows, |i, j| by_col(j * cols + i));
            assert_close(&reshape(&x, cols, rows, false).unwrap(), &expected, 0.0, "reshape by column");
            let expected = naive(1, rows * cols, |_, j| flat(j));
            assert_close(&reshape(&x, 1, rows * cols, true).unwrap(), &expected, 0.0, "one row");
            for (lower, diagonal) in [(true, true), (true, false), (false, true), (false, false)] {
                let inside = |i: usize, j: usize| {
                    (i == j && diagonal) || (i > j && lower) || (i < j && !lower)
                };
                let expected = naive(rows, cols, |i, j| if inside(i, j) { matrix.get(i, j) } else { 0.0 });
                assert_close(&triangle(&x, lower, diagonal, true, 0).unwrap(), &expected, 0.0, "values");
                for above in 0..rows {
                    let stripe = x.slice_rows(above, rows);
                    let part = triangle(&stripe, lower, diagonal, true, above).unwrap();
                    let rest = expected.slice_rows(above, rows);
                    assert_close(&part, &rest, 0.0, "a stripe");
                }
                let expected = naive(rows, cols, |i, j| f64::from(u8::from(inside(i, j))));
                assert_close(&triangle(&x, lower, diagonal, false, 0).unwrap(), &expected, 0.0, "ones");
            }
        }
        let vector = cells(rows, 1, seed, zeros);
        let expected = naive(rows, rows, |i, j| if i == j { vector.get(i, 0) } else { 0.0 });
        for v in all_layouts(&vector) {
            let matrix = diag(&v).unwrap();
            assert_close(&matrix, &expected, 0.0, "diag");
            for matrix in all_layouts(&matrix) {
                if rows != 1 {
                    assert_close(&diag(&matrix).unwrap(), &vector, 0.0, "diagonal");
                }
            }
        }
    }

    #[test]
    fn indexing_and_binding(rows in 1usize..40, cols in 1usize..40, seed: u64, zeros in 0u64..=10,
                            a: prop::sample::Index, b: prop::sample::Index, c: prop::sample::Index, d: prop::sample::Index) {
        let matrix = with_specials(&cells(rows, cols, seed, zeros));
        let range = |a: usize, b: usize| (a.min(b), a.max(b));
        let (top, bottom) = range(a.index(rows), b.index(rows));
        let (left, right) = range(c.index(cols), d.index(cols));
        let row_range = IndexRange::new(top as i64 + 1, bottom as i64 + 1);
        let col_range = IndexRange::new(left as i64 + 1, right as i64 + 1);
        let (height, width) = (bottom - top + 1, right - left + 1);
        let value = cells(height, width, !seed, zeros);
        let part = naive(height, width, |i, j| matrix.get(top + i, left + j));
        let assigned = naive(rows, cols, |i, j| {
            if (top..=bottom).contains(&i) && (left..=right).contains(&j) {
                value.get(i - top, j - left)
            } else {
                matrix.get(i, j)
            }
        });
        for x in all_layouts(&matrix) {
            assert_close(&right_index(&x, row_range, col_range).unwrap(), &part, 0.0, "rix");
            for value in all_layouts(&value) {
                let result = left_index(x.clone(), &value, row_range, col_range).unwrap();
                assert_close(&result, &assigned, 0.0, "lix");
                assert_close(&x, &matrix, 0.0, "the assigned matrix itself");
            }
            let beside = cells(rows, width, seed, zeros);
            let below = cells(height, cols, seed, zeros);
            for y in all_layouts(&beside) {
                let expected = naive(rows, cols + width, |i, j| {
                    if j < cols { matrix.get(i, j) } else { beside.get(i, j - cols) }
                });
                assert_close(&cbind(&[&x, &y]).unwrap(), &expected, 0.0, "cbind");
            }
            for y in all_layouts(&below) {
                let expected = naive(rows + height, cols, |i, j| {
                    if i < rows { matrix.get(i, j) } else { below.get(i - rows, j) }
                });
                assert_close(&rbind(&[&x, &y]).unwrap(), &expected, 0.0, "rbind");
            }
        }
    }

    #[test]
    fn running_results(rows in size(), cols in size(), seed: u64, zeros in 0u64..=10) {
        let matrix = cells(rows, cols, seed, zeros);
        let expected = naive(rows, cols, |i, j| (0..=i).map(|i| matrix.get(i, j)).sum());
        let largest = naive(rows, cols, |i, j| {
            (0..=i).map(|i| matrix.get(i, j)).fold(f64::NEG_INFINITY, f64::max)
        });
        for x in all_layouts(&matrix) {
            assert_close(&cumulative::<Sum>(&x).unwrap(), &expected, 1e-12, "cumsum");
            assert_close(&cumulative::<Max>(&x).unwrap(), &largest, 0.0, "cummax");
        }
    }
}

#[test]
fn running_results_go_on_from_block_to_block() {
    for (rows, cols) in [(200_000, 1), (70_001, 3)] {
        let value = |row: usize, col: usize| ((row * 31 + col * 17) % 101) as f64 - 50.0;
        let values = (0..rows * cols).map(|at| value(at / cols, at % cols));
        let matrix = MatrixBlock::dense(rows, cols, values.collect()).unwrap();
        let sums = cumulative::<Sum>(&matrix).unwrap();
        let smallest = cumulative::<Min>(&matrix).unwrap();
        for col in 0..cols {
            let (mut sum, mut least) = (0.0, f64::INFINITY);
            for row in 0..rows {
                sum += value(row, col);
                least = f64::min(least, value(row, col));
                assert_eq!(sums.get(row, col), sum, "{row}, {col}");
                assert_eq!(smallest.get(row, col), least, "{row}, {col}");
            }
        }
    }
}

type Check = (
    &'static str,
    fn(&MatrixBlock) -> f64,
    fn(&MatrixBlock) -> MatrixBlock,
    fn(&MatrixBlock) -> MatrixBlock,
    fn(&[f64]) -> f64,
);

fn extreme(values: &[f64], start: f64, better: fn(f64, f64) -> f64) -> f64 {
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    values.iter().copied().fold(start, better)
}

fn variance(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    match values.len() {
        1 if !squares.is_nan() => 0.0,
        _ => squares / (count - 1.0),
    }
}

fn index_of(values: &[f64], better: fn(f64, f64) -> bool) -> f64 {
    let mut best: Option<usize> = None;
    for (index, value) in values.iter().enumerate() {
        if !value.is_nan() && best.is_none_or(|best| better(*value, values[best])) {
            best = Some(index);
        }
    }
    (best.unwrap_or(0) + 1) as f64
}

#[test]
fn sums_are_compensated() {
    let matrix = naive(3001, 9, |i, _| match i {
        0 => 1e16,
        3000 => -1e16,
        _ => 1.0,
    });
    assert_eq!(aggregate::full::<Sum>(&matrix, |x| x), 9.0 * 2999.0);
    let sums = aggregate::cols::<Sum>(&matrix, |x| x).unwrap();
    assert_close(&sums, &naive(1, 9, |_, _| 2999.0), 0.0, "column sums");
    let turned = transpose(&matrix).unwrap();
    let sums = aggregate::rows::<Sum>(&turned, |_, x| x).unwrap();
    assert_close(&sums, &naive(9, 1, |_, _| 2999.0), 0.0, "row sums");
    let infinite = naive(1, 100, |_, j| if j == 50 { f64::INFINITY } else { 1.0 });
    assert_eq!(aggregate::full::<Sum>(&infinite, |x| x), f64::INFINITY);
}

/// Large enough that several tasks take part, in every direction.
#[test]
fn many_tasks_give_the_same_as_one() {
    for (rows, cols) in [(100_003, 5), (7, 50_021), (601, 307)] {
        let dense = cells(rows, cols, 5, 8);
        let [dense, sparse, coordinates] = all_layouts(&dense);
        let tolerance = 1e-12;
        let sum = |m: &MatrixBlock| aggregate::cols::<Sum>(m, |x| x).unwrap();
        assert_close(&sum(&sparse), &sum(&dense), tolerance, "colSums");
        assert_close(&sum(&coordinates), &sum(&dense), tolerance, "colSums");
        let ones = naive(cols, 2, |_, _| 1.0);
        let row_sums = aggregate::rows::<Sum>(&dense, |_, x| x).unwrap();
        for m in [&dense, &sparse, &coordinates] {
            let product = matmult(m, &ones).unwrap();
            let first = right_index(
                &product,
                IndexRange::new(1, rows as i64),
                IndexRange::new(2, 2),
            );
            assert_close(&first.unwrap(), &row_sums, 1e-10, "row sums by product");
            let back = transpose(&transpose(m).unwrap()).unwrap();
            assert_close(&back, &dense, 0.0, "t(t(X))");
            let twice = binary(m.into(), 2.0.into(), |x, y| x * y).unwrap();
            let sum = binary(m.into(), (&dense).into(), |x, y| x + y).unwrap();
            assert_close(&twice, &sum, 0.0, "2X = X + X");
        }
    }
    let wide = cells(70, 600, 3, 2);
    let by_half = tsmm(&wide).unwrap();
    let by_product = matmult(&transpose(&wide).unwrap(), &wide).unwrap();
    assert_close(&by_half, &by_product, 0.0, "tsmm of many columns");
    // Of sparse ones the result is made in bands.
    let wide = cells(70, 600, 3, 8);
    let by_product = matmult(&transpose(&wide).unwrap(), &wide).unwrap();
    for m in all_layouts(&wide) {
        assert_close(&tsmm(&m).unwrap(), &by_product, 1e-12, "tsmm by bands");
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let (a, b) = (
        MatrixBlock::filled(2, 3, 1.0).unwrap(),
        MatrixBlock::filled(3, 3, 1.0).unwrap(),
    );
    let (row, column) = (
        MatrixBlock::filled(1, 3, 1.0).unwrap(),
        MatrixBlock::filled(2, 1, 1.0).unwrap(),
    );
    let one = IndexRange::new(1, 1);
    let mut refusals = Vec::new();
    let mut refused = |result: fulgurite_error::Result<MatrixBlock>| {
        let error = result.unwrap_err();
        assert!(
            matches!(error.kind(), ErrorKind::Dimension | ErrorKind::Runtime),
            "{error}"
        );
        refusals.push(error.message().to_owned());
    };
    refused(binary((&a).into(), (&b).into(), |x, y| x + y));
    refused(binary((&row).into(), (&column).into(), |x, y| x + y));
    refused(ternary((&a).into(), (&a).into(), (&b).into(), |x, _, _| x));
    refused(outer(&row, &column, |x, y| x * y));
    refused(matmult(&a, &a));
    refused(transposed_matmult(&a, &b));
    refused(diag(&a));
    refused(reshape(&a, 2, 2, true));
    refused(right_index(&a, IndexRange::new(0, 1), one));
    refused(right_index(&a, one, IndexRange::new(4, 4)));
    refused(right_index(&a, IndexRange::new(2, 1), one));
    refused(left_index(a.clone(), &b, one, one));
    refused(cbind(&[&a, &b]));
    refused(rbind(&[&a, &column]));
    refused(seq(1.0, 5.0, Some(-1.0)));
    refused(seq(1.0, 5.0, Some(0.0)));
    insta::assert_snapshot!(refusals.join("\n"));
    assert_eq!(
        aggregate::trace(&a).unwrap_err().kind(),
        ErrorKind::Dimension
    );
    let huge = fill(1.0, usize::MAX / 4, 8).unwrap_err();
    assert_eq!(huge.kind(), ErrorKind::Memory);
}

#[test]
fn sequences_follow_the_language() {
    let cells = |from, to, increment| {
        seq(from, to, increment)
            .unwrap()
            .to_dense()
            .unwrap()
            .values()
            .to_vec()
    };
    assert_eq!(cells(1.0, 3.0, None), [1.0, 2.0, 3.0]);
    assert_eq!(cells(3.0, 1.0, None), [3.0, 2.0, 1.0]);
    assert_eq!(cells(3.0, 1.0, Some(1.0)), [3.0, 2.0, 1.0]);
    assert_eq!(cells(0.5, 2.0, Some(0.5)), [0.5, 1.0, 1.5, 2.0]);
    assert_eq!(cells(2.0, 2.0, None), [2.0]);
    assert_eq!(
        parse_cells("1 -2.5 NaN", 1, 2).unwrap_err().kind(),
        ErrorKind::Dimension
    );
    assert_eq!(
        parse_cells("1 x", 1, 2).unwrap_err().kind(),
        ErrorKind::Data
    );
    assert_eq!(parse_cells("1 -2.5", 2, 1).unwrap().get(1, 0), -2.5);
}
