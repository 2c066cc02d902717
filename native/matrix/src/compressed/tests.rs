//! Every encoding and operator against dense blocks.
//!
//! - `making`: what compression finds, round trips to the bit, refusals.
//! - `blocks`: compressed matrices as blocks.

mod blocks;
mod making;

use std::sync::Arc;

use proptest::prelude::*;

use super::{ColumnGroup, CompressedMatrix, GroupCodes, GroupEncoding, compress};
use crate::{
    DenseMatrix, Layout, MatrixBlock,
    kernels::{
        self,
        aggregate::{self, Max, Min, Sum},
    },
};

const KINDS: usize = 8;

/// A number that follows from a seed.
fn mixed(seed: usize) -> usize {
    let mut bits = (seed as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (bits ^ (bits >> 31)) as usize >> 1
}

/// Values of dictionaries: small numbers, or special ones.
fn value(seed: usize, is_special: bool) -> f64 {
    let special = [
        f64::from_bits(0x7FF8_0000_0000_0123),
        f64::from_bits(0xFFF4_0000_0000_0001),
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        5e-324,
        -1e-310,
        1e150,
    ];
    match mixed(seed) % 12 {
        at @ 0..8 if is_special => special[at],
        0..4 => 0.0,
        _ => (mixed(seed + 1) % 41) as f64 / 4.0 - 5.0,
    }
}

/// A group of each encoding.
fn group(
    kind: usize,
    rows: usize,
    columns: Vec<i32>,
    distinct: usize,
    seed: usize,
    special: bool,
) -> ColumnGroup {
    let width = columns.len();
    let values = |count: usize| -> Vec<f64> {
        (0..count)
            .map(|at| value(seed * 31 + at, special))
            .collect()
    };
    let code = |at: usize| (mixed(seed * 17 + at) % distinct) as u32;
    let encoding = match kind {
        0 => GroupEncoding::Empty,
        1 => GroupEncoding::Constant(values(width).into()),
        2 => GroupEncoding::Coded {
            dictionary: values(distinct * width).into(),
            codes: GroupCodes::new(distinct, (0..rows).map(code)).unwrap(),
        },
        3 => {
            let at: Vec<u32> = (0..rows as u32)
                .filter(|row| mixed(seed + *row as usize).is_multiple_of(5))
                .collect();
            let codes = GroupCodes::new(distinct, (0..at.len()).map(code)).unwrap();
            GroupEncoding::Exceptions {
                dictionary: values(distinct * width).into(),
                at: at.into(),
                codes,
            }
        }
        4 => {
            let starts: Vec<u32> = (0..rows as u32)
                .filter(|row| *row == 0 || mixed(seed + *row as usize).is_multiple_of(37))
                .collect();
            let codes = GroupCodes::new(distinct, (0..starts.len()).map(code)).unwrap();
            GroupEncoding::Runs {
                dictionary: values(distinct * width).into(),
                starts: starts.into(),
                codes,
            }
        }
        5 => {
            let code = |at: usize| (mixed(seed * 17 + at) % (width + 1)) as u32;
            GroupEncoding::OneHot {
                on: values(width).into(),
                off: match seed % 2 {
                    0 => vec![0.0; width].into(),
                    _ => values(2 * width)[width..].to_vec().into(),
                },
                codes: GroupCodes::new(width + 1, (0..rows).map(code)).unwrap(),
            }
        }
        6 => GroupEncoding::Plain(Arc::new(
            MatrixBlock::dense(rows, width, values(rows * width)).unwrap(),
        )),
        _ => {
            let cells = |row: usize, column: usize| match mixed(seed + row * width + column) % 6 {
                // A sparse block does not store the sign of a zero.
                0 => value(seed + row * 7 + column, special) + 0.0,
                _ => 0.0,
            };
            let dense: MatrixBlock = DenseMatrix::from_fn(rows, width, cells).unwrap().into();
            GroupEncoding::Plain(Arc::new(dense.in_layout(Layout::Csr).unwrap()))
        }
    };
    ColumnGroup::new(rows, columns, encoding).unwrap()
}

/// A matrix of groups of these kinds, whose columns alternate.
fn matrix(
    rows: usize,
    kinds: &[(usize, usize, usize)],
    seed: usize,
    special: bool,
) -> CompressedMatrix {
    let cols: usize = kinds.iter().map(|(_, width, _)| width).sum();
    let mut owners: Vec<usize> = kinds
        .iter()
        .enumerate()
        .flat_map(|(number, (_, width, _))| vec![number; *width])
        .collect();
    for at in (1..cols).rev() {
        owners.swap(at, mixed(seed + at) % (at + 1));
    }
    let groups = kinds
        .iter()
        .enumerate()
        .map(|(number, (kind, _, distinct))| {
            let columns = (0..cols)
                .filter(|at| owners[*at] == number)
                .map(|at| at as i32)
                .collect();
            group(*kind, rows, columns, *distinct, seed + number, special)
        });
    CompressedMatrix::new(rows, cols, groups.collect()).unwrap()
}

/// Cell by cell, without the decoding kernels.
fn cells_of(matrix: &CompressedMatrix) -> DenseMatrix {
    let mut cells = vec![0.0; matrix.rows() * matrix.cols()];
    for group in matrix.groups() {
        for (at, column) in group.columns().iter().enumerate() {
            for row in 0..matrix.rows() {
                let cell = match group.encoding() {
                    GroupEncoding::Plain(block) => block.get(row, at),
                    GroupEncoding::Empty | GroupEncoding::Constant(_) => group.cell(0, at),
                    GroupEncoding::Coded { codes, .. } | GroupEncoding::OneHot { codes, .. } => {
                        group.cell(codes.get(row), at)
                    }
                    GroupEncoding::Exceptions {
                        at: rows, codes, ..
                    } => {
                        let place = rows.iter().position(|other| *other as usize == row);
                        group.cell(place.map_or(0, |place| codes.get(place)), at)
                    }
                    GroupEncoding::Runs { starts, codes, .. } => {
                        let place = starts.iter().rposition(|start| *start as usize <= row);
                        group.cell(codes.get(place.unwrap()), at)
                    }
                };
                cells[row * matrix.cols() + *column as usize] = cell;
            }
        }
    }
    DenseMatrix::new(matrix.rows(), matrix.cols(), cells).unwrap()
}

fn bits(cells: &[f64]) -> Vec<u64> {
    cells.iter().map(|cell| cell.to_bits()).collect()
}

#[track_caller]
fn assert_bits(found: &CompressedMatrix, expected: &DenseMatrix) {
    let found = found.to_dense().unwrap();
    assert_eq!(
        (found.rows(), found.cols()),
        (expected.rows(), expected.cols())
    );
    assert_eq!(bits(found.values()), bits(expected.values()));
}

/// NaN where NaN is expected, infinities to the sign, else within a tolerance of the size of the terms.
#[track_caller]
fn assert_close(found: &MatrixBlock, expected: &MatrixBlock, scale: f64, what: &str) {
    assert_eq!(
        (found.rows(), found.cols()),
        (expected.rows(), expected.cols()),
        "{what}"
    );
    let (found, expected) = (found.to_dense().unwrap(), expected.to_dense().unwrap());
    for (at, (found, expected)) in found.values().iter().zip(expected.values()).enumerate() {
        let is_close = found == expected
            || (found.is_nan() && expected.is_nan())
            || (found - expected).abs() <= 1e-12 * (scale + expected.abs());
        assert!(is_close, "{what}, cell {at}: {found} instead of {expected}");
    }
}

fn operand(rows: usize, cols: usize, seed: usize, is_special: bool) -> MatrixBlock {
    let cell = |row: usize, column: usize| match (is_special, mixed(seed + row * 3 + column) % 29) {
        (true, 0) => f64::NAN,
        (true, 1) => f64::INFINITY,
        (true, 2) => f64::NEG_INFINITY,
        (_, at) => at as f64 / 8.0 - 1.5,
    };
    DenseMatrix::from_fn(rows, cols, cell).unwrap().into()
}

fn check_products(matrix: &CompressedMatrix, seed: usize, is_special: bool) {
    let (rows, cols) = (matrix.rows(), matrix.cols());
    let dense: MatrixBlock = cells_of(matrix).into();
    let scale = 100.0 * (rows + cols) as f64;
    for width in [1, 3] {
        let right = operand(cols, width, seed, is_special);
        let found = matrix.matmult(&right).unwrap();
        assert_close(
            &found,
            &kernels::matmult(&dense, &right).unwrap(),
            scale,
            "X B",
        );
        let right = operand(rows, width, seed + 1, is_special);
        let found = matrix.transposed_matmult(&right).unwrap();
        let expected = kernels::transposed_matmult(&dense, &right).unwrap();
        assert_close(&found, &expected, scale, "t(X) Y");
        let left = operand(width, rows, seed + 2, is_special);
        let found = matrix.left_matmult(&left).unwrap();
        assert_close(
            &found,
            &kernels::matmult(&left, &dense).unwrap(),
            scale,
            "Y X",
        );
    }
    let (vector, weights) = (
        operand(cols, 1, seed, false),
        operand(rows, 1, seed, is_special),
    );
    let products = kernels::matmult(&dense, &vector).unwrap();
    let expected = kernels::transposed_matmult(&dense, &products).unwrap();
    let found = matrix.mmchain(&vector, None).unwrap();
    assert_close(&found, &expected, scale * 100.0, "chain");
    let operands = (
        kernels::Operand::Matrix(&products),
        kernels::Operand::Matrix(&weights),
    );
    let weighed = kernels::binary(operands.0, operands.1, |x, w| x * w).unwrap();
    let expected = kernels::transposed_matmult(&dense, &weighed).unwrap();
    let found = matrix.mmchain(&vector, Some(&weights)).unwrap();
    assert_close(&found, &expected, scale * 100.0, "weighed chain");
    let expected = kernels::tsmm(&dense).unwrap();
    assert_close(&matrix.tsmm().unwrap(), &expected, scale, "t(X) X");
}

fn check_cells(matrix: &CompressedMatrix, seed: usize) {
    let dense: MatrixBlock = cells_of(matrix).into();
    let (rows, cols) = (matrix.rows(), matrix.cols());
    assert_bits(matrix, &dense.to_dense().unwrap());
    let block = matrix.to_csr().unwrap();
    assert_close(&block.into(), &dense, 0.0, "CSR");
    assert_eq!(matrix.nnz(), dense.nnz());
    let row = operand(1, cols, seed, false).to_dense().unwrap();
    let of_dense = |f: &dyn Fn(usize, f64) -> f64| {
        let cells = dense.values().iter().enumerate();
        let cells: Vec<f64> = cells.map(|(at, cell)| f(at % cols, *cell)).collect();
        DenseMatrix::new(rows, cols, cells).unwrap()
    };
    // A sparse result has no negative zeros: functions that give none.
    assert_bits(
        &matrix.unary(|x| x.abs() + 1.0).unwrap(),
        &of_dense(&|_, x| x.abs() + 1.0),
    );
    let not_zero = matrix.with_scalar(0.0, |x, y| f64::from(x != y)).unwrap();
    assert_bits(&not_zero, &of_dense(&|_, x| f64::from(x != 0.0)));
    let shifted = matrix.with_row(row.values(), |x, y| (x - y).abs()).unwrap();
    assert_bits(&shifted, &of_dense(&|at, x| (x - row.values()[at]).abs()));
    let replaced = matrix.replace(f64::NAN, 2.0).unwrap();
    assert_eq!(
        replaced
            .to_dense()
            .unwrap()
            .values()
            .iter()
            .filter(|x| x.is_nan())
            .count(),
        0
    );
    let (from, to) = (rows / 3, rows - rows / 4);
    let part = matrix.slice_rows(from..to).unwrap();
    assert_bits(&part, &dense.to_dense().unwrap().slice_rows(from, to));
    assert_eq!(
        bits(matrix.dense_rows(from..to).unwrap().values()),
        bits(part.to_dense().unwrap().values())
    );
    let (from, to) = (cols / 3, cols - cols / 4);
    let part = matrix.slice_cols(from..to).unwrap();
    let cell = |row: usize, column: usize| dense.get(row, from + column);
    assert_bits(&part, &DenseMatrix::from_fn(rows, to - from, cell).unwrap());
    let beside = CompressedMatrix::cbind(&[matrix, &part]).unwrap();
    assert_eq!(beside.cols(), cols + to - from);
    assert_bits(
        &beside.slice_cols(0..cols).unwrap(),
        &dense.to_dense().unwrap(),
    );
    let wire = matrix.to_wire().unwrap();
    let read = CompressedMatrix::from_wire(rows, cols, &wire).unwrap();
    assert_bits(&read, &dense.to_dense().unwrap());
    assert_eq!(bits(&read.to_wire().unwrap().values), bits(&wire.values));
}

fn check_aggregates(matrix: &CompressedMatrix) {
    let dense: MatrixBlock = cells_of(matrix).into();
    let scalar = |value: f64| MatrixBlock::filled(1, 1, value).unwrap();
    let scale = 100.0 * (matrix.rows() * matrix.cols()) as f64;
    macro_rules! check {
        ($accumulator:ty, $map:expr, $what:expr) => {
            let found = scalar(matrix.aggregate::<$accumulator>($map).unwrap());
            let expected = scalar(aggregate::full::<$accumulator>(&dense, $map));
            assert_close(&found, &expected, scale, $what);
            let found = matrix.aggregate_cols::<$accumulator>($map).unwrap();
            let expected = aggregate::cols::<$accumulator>(&dense, $map).unwrap();
            assert_close(&found, &expected, scale, concat!($what, " by columns"));
            let found = matrix.aggregate_rows::<$accumulator>($map).unwrap();
            let expected = aggregate::rows::<$accumulator>(&dense, |_, x| $map(x)).unwrap();
            assert_close(&found, &expected, scale, concat!($what, " by rows"));
        };
    }
    check!(Sum, |x: f64| x, "sum");
    check!(Sum, |x: f64| x * x, "sum of squares");
    check!(Min, |x: f64| x, "min");
    check!(Max, |x: f64| x, "max");
    let expected = aggregate::row_index_max(&dense).unwrap();
    assert_close(
        &matrix.row_index_max().unwrap(),
        &expected,
        0.0,
        "rowIndexMax",
    );
}

#[test]
fn each_encoding_alone() {
    for kind in 0..KINDS {
        for (rows, width, distinct) in [
            (1, 1, 1),
            (9, 2, 2),
            (1500, 3, 4),
            (1100, 1, 16),
            (3000, 2, 200),
            (2100, 4, 300),
        ] {
            for special in [false, true] {
                let matrix = matrix(rows, &[(kind, width, distinct)], 7 * kind + rows, special);
                check_cells(&matrix, rows);
                check_aggregates(&matrix);
                if !special {
                    check_products(&matrix, rows, false);
                    check_products(&matrix, rows, true);
                }
            }
        }
    }
}

#[test]
fn codes_of_32_bits() {
    let matrix = matrix(
        70_100,
        &[(2, 1, 70_000), (3, 2, 70_000), (2, 1, 3)],
        5,
        false,
    );
    check_cells_of_many(&matrix);
}

fn check_cells_of_many(matrix: &CompressedMatrix) {
    let dense = matrix.to_dense().unwrap();
    assert!(matrix.groups().iter().any(|group| match group.encoding() {
        GroupEncoding::Coded { codes, .. } => codes.bits() == 32,
        _ => false,
    }));
    let dense: MatrixBlock = dense.into();
    let right = operand(matrix.cols(), 1, 3, false);
    let expected = kernels::matmult(&dense, &right).unwrap();
    assert_close(&matrix.matmult(&right).unwrap(), &expected, 1e3, "X v");
    let right = operand(matrix.rows(), 1, 3, false);
    let expected = kernels::transposed_matmult(&dense, &right).unwrap();
    assert_close(
        &matrix.transposed_matmult(&right).unwrap(),
        &expected,
        1e5,
        "t(X) v",
    );
    let expected = kernels::tsmm(&dense).unwrap();
    assert_close(&matrix.tsmm().unwrap(), &expected, 1e6, "t(X) X");
}

#[test]
fn nothing_is_a_matrix_too() {
    for (rows, cols) in [(0, 3), (4, 0), (0, 0)] {
        let block = MatrixBlock::filled(rows, cols, 0.0).unwrap();
        let matrix = compress(&block).unwrap();
        assert_eq!(
            (matrix.rows(), matrix.cols(), matrix.nnz()),
            (rows, cols, 0)
        );
        assert_eq!(matrix.to_dense().unwrap().values().len(), 0);
        assert_eq!(matrix.aggregate::<Sum>(|x| x).unwrap(), 0.0);
        let product = matrix.matmult(&operand(cols, 2, 1, false)).unwrap();
        assert_eq!((product.rows(), product.cols()), (rows, 2));
    }
}

fn cells_of_large(matrix: &CompressedMatrix) -> DenseMatrix {
    matrix.to_dense().unwrap()
}

#[test]
fn results_do_not_depend_on_threads() {
    let kinds: Vec<(usize, usize, usize)> = (0..KINDS).map(|kind| (kind, 2, 20)).collect();
    let matrix = matrix(40_000, &kinds, 3, false);
    let dense: MatrixBlock = cells_of_large(&matrix).into();
    let (vector, weights) = (operand(16, 1, 2, false), operand(40_000, 1, 1, false));
    let run = |threads: usize| {
        let pool =
            crate::memory::thread_pool(rayon::ThreadPoolBuilder::new(), threads, "compressed")
                .unwrap();
        pool.install(|| {
            let chain = matrix
                .mmchain(&vector, Some(&weights))
                .unwrap()
                .to_dense()
                .unwrap();
            let squares = matrix.tsmm().unwrap().to_dense().unwrap();
            let sums = matrix
                .aggregate_rows::<Sum>(|x| x)
                .unwrap()
                .to_dense()
                .unwrap();
            let again = compress(&dense).unwrap().to_wire().unwrap();
            let values = [
                chain.values(),
                squares.values(),
                sums.values(),
                &again.values,
            ];
            (values.map(bits), again.indices.to_vec())
        })
    };
    let one = run(1);
    for threads in [2, 3] {
        assert!(run(threads) == one, "{threads} threads");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn groups_of_all_kinds(
        rows in 1usize..2600,
        kinds in prop::collection::vec((0..KINDS, 1usize..5, 1usize..40), 1..7),
        seed in 0usize..1_000_000,
        special in any::<bool>(),
    ) {
        let matrix = matrix(rows, &kinds, seed, special);
        check_cells(&matrix, seed);
        check_aggregates(&matrix);
        if !special {
            check_products(&matrix, seed, seed % 3 == 0);
        }
    }
}
