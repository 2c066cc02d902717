//! Every encoding and operator against dense blocks; round trips to the bit; refusals.

use std::sync::Arc;

use fulgurite_error::ErrorKind;
use proptest::prelude::*;

use super::{
    COMPRESSED_VERSION, ColumnGroup, CompressedMatrix, GroupCodes, GroupEncoding, compress, plan,
    sample::estimated_distinct,
};
use crate::{
    CsrMatrix, DenseMatrix, Layout, MatrixBlock,
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

fn cells_of_large(matrix: &CompressedMatrix) -> DenseMatrix {
    matrix.to_dense().unwrap()
}

/// Data in which each encoding pays.
fn compressible(rows: usize, seed: usize) -> DenseMatrix {
    let cell = |row: usize, column: usize| {
        let code = mixed(seed + row * 64 + column);
        match column {
            0 => 0.0,
            1 => f64::from_bits(0x7FF8_0000_0000_0BAD),
            2 => (row / 400) as f64,
            3 => {
                if code.is_multiple_of(500) {
                    -0.0
                } else {
                    7.5
                }
            }
            4 | 5 => (mixed(seed + row) % 9) as f64 * (column as f64),
            6 => (code % 200) as f64 / 3.0,
            7 => (code % 5000) as f64,
            8..16 => f64::from((mixed(seed + row * 3) % 9) == column - 8),
            16 => code as f64 / 1e9,
            _ => (code % 3) as f64,
        }
    };
    DenseMatrix::from_fn(rows, 20, cell).unwrap()
}

#[test]
fn compression_finds_what_pays() {
    let dense = compressible(30_000, 1);
    let matrix = compress(&dense.clone().into()).unwrap();
    assert_bits(&matrix, &dense);
    let kind_of = |column: usize| {
        let alone = DenseMatrix::from_fn(30_000, 1, |row, _| dense.row(row)[column]).unwrap();
        compress(&alone.into()).unwrap().groups()[0].name()
    };
    for (column, kind) in [
        (0, "empty"),
        (1, "const"),
        (2, "rle"),
        (3, "sdc"),
        (6, "ddc"),
        (16, "uncompressed"),
    ] {
        assert_eq!(kind_of(column), kind);
    }
    let group_of = |column: i32| {
        let mut groups = matrix.groups().iter();
        groups
            .find(|group| group.columns().contains(&column))
            .unwrap()
    };
    assert_eq!(
        (group_of(8).name(), group_of(8).columns()),
        ("one-hot", &[8, 9, 10, 11, 12, 13, 14, 15][..])
    );
    assert!(
        group_of(4).columns().contains(&5),
        "{:?}",
        group_of(4).columns()
    );
    let estimated = plan(&dense.into()).unwrap().estimated_bytes();
    let actual = matrix.memory_bytes() as f64;
    assert!(
        (0.6..1.5).contains(&(estimated / actual)),
        "{estimated} {actual}"
    );
    check_aggregates(&matrix);
}

#[test]
fn sparse_dummies_become_codes() {
    let (rows, widths) = (5000, [3, 40, 300]);
    let (mut pointers, mut indices) = (vec![0i64], Vec::new());
    for row in 0..rows {
        let mut first = 0;
        for width in widths {
            let code = mixed(row * 7 + width) % (width + 1);
            // Now and then none of a block is on.
            if code < width {
                indices.push((first + code) as i32);
            }
            first += width;
        }
        pointers.push(indices.len() as i64);
    }
    let values: Vec<f64> = indices.iter().map(|at| f64::from(at % 5 + 1)).collect();
    let csr = CsrMatrix::new(rows, 343, pointers, indices, values).unwrap();
    let matrix = compress(&csr.clone().into()).unwrap();
    assert!(
        matrix
            .groups()
            .iter()
            .all(|group| group.name() == "one-hot")
    );
    assert_eq!(matrix.nnz(), csr.stored());
    assert_eq!(matrix.to_csr().unwrap(), csr);
    assert_eq!(matrix.to_block().unwrap(), csr.clone().into());
    let block: MatrixBlock = csr.into();
    let right = operand(343, 1, 3, true);
    let expected = kernels::matmult(&block, &right).unwrap();
    assert_close(&matrix.matmult(&right).unwrap(), &expected, 1e3, "X v");
    assert_close(
        &matrix.tsmm().unwrap(),
        &kernels::tsmm(&block).unwrap(),
        1e3,
        "t(X) X",
    );
}

#[test]
fn noise_stays_as_it_is() {
    let dense = DenseMatrix::from_fn(6000, 4, |i, j| mixed(i * 4 + j) as f64).unwrap();
    let matrix = compress(&dense.clone().into()).unwrap();
    assert_eq!(matrix.groups().len(), 1);
    // The block itself, not a copy.
    assert_eq!(
        matrix.groups()[0].plain().unwrap().values().as_ptr(),
        dense.values().as_ptr()
    );
}

#[test]
fn unseen_values_are_estimated() {
    // 1000 equally frequent values in a million rows, of which 1000 are sampled.
    let mut counts = vec![0u32; 1000];
    (0..1000).for_each(|at| counts[mixed(at) % 1000] += 1);
    let estimated = estimated_distinct(&counts, 1_000_000);
    assert!((700.0..1400.0).contains(&estimated), "{estimated}");
    assert_eq!(estimated_distinct(&[500, 500], 1_000_000), 2.0);
    assert!(estimated_distinct(&[1; 100], 1_000_000) > 999_999.0);
}

#[test]
fn bad_groups_are_refused() {
    let codes = |distinct: usize, codes: &[u32]| GroupCodes::new(distinct, codes.iter().copied());
    let three = || codes(4, &[0, 1, 3]).unwrap();
    let one = |encoding: GroupEncoding| ColumnGroup::new(3, vec![0], encoding);
    let dictionary = |count: usize| -> arrow::buffer::ScalarBuffer<f64> { vec![1.0; count].into() };
    let mut refusals = vec![
        codes(2, &[0, 2]).err(),
        GroupCodes::of_bytes(3, 8, &[0; 3]).err(),
        GroupCodes::of_bytes(16, 8, &[0; 3]).err(),
        GroupCodes::of_bytes(2, 3, &[0xFF]).err(),
        // Shorter than its codes; no whole tuples; none.
        ColumnGroup::coded(vec![0], vec![1.0, 2.0], three()).err(),
        ColumnGroup::coded(vec![0, 1], vec![1.0; 9], three()).err(),
        ColumnGroup::coded(vec![0], Vec::<f64>::new(), three()).err(),
        ColumnGroup::constant(3, vec![0], vec![1.0, 2.0]).err(),
        ColumnGroup::one_hot(vec![0, 1], vec![1.0, 1.0], vec![0.0, 0.0], three()).err(),
        ColumnGroup::one_hot(
            vec![0, 1],
            vec![1.0],
            vec![0.0, 0.0],
            codes(2, &[0, 1, 0]).unwrap(),
        )
        .err(),
        // Columns twice, backwards, negative, none.
        ColumnGroup::empty(3, vec![1, 1]).err(),
        ColumnGroup::empty(3, vec![2, 1]).err(),
        ColumnGroup::empty(3, vec![-1]).err(),
        ColumnGroup::empty(3, Vec::<i32>::new()).err(),
        one(GroupEncoding::Plain(Arc::new(
            MatrixBlock::filled(2, 1, 0.0).unwrap(),
        )))
        .err(),
    ];
    for at in [vec![2u32, 1, 0], vec![0, 1, 1], vec![0, 1, 3], vec![0, 1]] {
        let encoding = GroupEncoding::Exceptions {
            dictionary: dictionary(4),
            at: at.clone().into(),
            codes: three(),
        };
        refusals.push(one(encoding).err());
        let encoding = GroupEncoding::Runs {
            dictionary: dictionary(4),
            starts: at.into(),
            codes: three(),
        };
        refusals.push(one(encoding).err());
    }
    let late = GroupEncoding::Runs {
        dictionary: dictionary(4),
        starts: vec![1, 2].into(),
        codes: codes(4, &[0, 1]).unwrap(),
    };
    refusals.push(one(late).err());
    let empty = |columns: &[i32]| ColumnGroup::empty(3, columns.to_vec()).unwrap();
    // A column in two groups, in none, outside; another number of rows.
    refusals.push(CompressedMatrix::new(3, 3, vec![empty(&[0, 1]), empty(&[1])]).err());
    refusals.push(CompressedMatrix::new(3, 3, vec![empty(&[0, 1])]).err());
    refusals.push(CompressedMatrix::new(3, 2, vec![empty(&[0]), empty(&[2])]).err());
    refusals.push(CompressedMatrix::new(4, 2, vec![empty(&[0, 1])]).err());
    for (at, refusal) in refusals.into_iter().enumerate() {
        let refusal = refusal.unwrap_or_else(|| panic!("case {at} was accepted"));
        assert_eq!(refusal.kind(), ErrorKind::Data, "case {at}: {refusal}");
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let matrix = matrix(6, &[(2, 2, 3), (0, 1, 1)], 1, false);
    let block = |rows, cols| MatrixBlock::filled(rows, cols, 1.0).unwrap();
    let refusals = [
        matrix.matmult(&block(4, 1)).err(),
        matrix.transposed_matmult(&block(5, 1)).err(),
        matrix.left_matmult(&block(1, 3)).err(),
        matrix.mmchain(&block(3, 2), None).err(),
        matrix.mmchain(&block(3, 1), Some(&block(5, 1))).err(),
        matrix.with_row(&[1.0], |x, y| x + y).err(),
        matrix.slice_rows(4..7).err(),
        matrix.slice_cols(0..4).err(),
        matrix.dense_rows(0..7).err(),
        CompressedMatrix::cbind(&[&matrix, &matrix.slice_rows(0..2).unwrap()]).err(),
    ];
    for refusal in refusals {
        assert_eq!(refusal.unwrap().kind(), ErrorKind::Dimension);
    }
}

#[test]
fn lies_in_buffers_are_refused() {
    let kinds: Vec<(usize, usize, usize)> = (0..KINDS).map(|kind| (kind, 2, 5)).collect();
    let matrix = matrix(20, &kinds, 1, false);
    let wire = matrix.to_wire().unwrap();
    let mut other_version = wire.pointers.to_vec();
    other_version[0] = COMPRESSED_VERSION + 1;
    let other_version = super::WireBuffers {
        pointers: other_version.into(),
        ..wire.clone()
    };
    let refusal = CompressedMatrix::from_wire(20, 16, &other_version).unwrap_err();
    assert!(refusal.message().contains("version 2"), "{refusal}");
    // A count of the first coded group that is one too many: behind two headers without codes, and its own.
    let mut counts = wire.pointers.to_vec();
    let first_count = 2 + 8 + 8 + 7;
    counts[first_count] += 1;
    let counts = super::WireBuffers {
        pointers: counts.into(),
        ..wire.clone()
    };
    let refusal = CompressedMatrix::from_wire(20, 16, &counts).unwrap_err();
    assert!(refusal.message().contains("counts"), "{refusal}");
    assert!(CompressedMatrix::from_wire(20, 17, &wire).is_err());
    assert!(CompressedMatrix::from_wire(21, 16, &wire).is_err());
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

    #[test]
    fn whatever_is_compressed_comes_back(rows in 1usize..9000, seed in 0usize..1_000_000, is_sparse in any::<bool>()) {
        let dense = compressible(rows, seed);
        let block: MatrixBlock = dense.clone().into();
        if is_sparse {
            let sparse = block.in_layout(Layout::Csr).unwrap();
            let matrix = compress(&sparse).unwrap();
            prop_assert_eq!(bits(matrix.to_csr().unwrap().values()), bits(sparse.values()));
        } else {
            assert_bits(&compress(&block).unwrap(), &dense);
        }
    }

    #[test]
    fn buffers_of_anything_are_read_or_refused(
        seed in 0usize..10_000,
        changes in prop::collection::vec((0usize..3, any::<prop::sample::Index>(), any::<i64>(), 0u32..64), 1..4),
    ) {
        let kinds: Vec<(usize, usize, usize)> = (0..KINDS).map(|kind| (kind, 2, 5)).collect();
        let wire = matrix(50, &kinds, seed, true).to_wire().unwrap();
        let (mut values, mut pointers, mut indices) =
            (wire.values.to_vec(), wire.pointers.to_vec(), wire.indices.to_vec());
        for (buffer, place, number, shift) in changes {
            let number = number >> shift;
            match buffer {
                0 => values.truncate(place.index(values.len()).max(1)),
                1 => { let at = place.index(pointers.len()); pointers[at] = number; }
                _ => { let at = place.index(indices.len()); indices[at] = number as i32; }
            }
        }
        let wire = super::WireBuffers { values: values.into(), pointers: pointers.into(), indices: indices.into() };
        match CompressedMatrix::from_wire(50, 16, &wire) {
            Ok(matrix) => { matrix.to_dense().unwrap(); matrix.aggregate::<Sum>(|x| x).unwrap(); }
            Err(refusal) => prop_assert!(matches!(refusal.kind(), ErrorKind::Data | ErrorKind::Memory), "{}", refusal),
        }
    }
}
