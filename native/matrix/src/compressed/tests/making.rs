//! What compression finds, round trips to the bit, and refusals.

use std::sync::Arc;

use fulgurite_error::ErrorKind;
use proptest::prelude::*;

use super::{KINDS, assert_bits, assert_close, bits, check_aggregates, matrix, mixed, operand};
use crate::{
    CsrMatrix, DenseMatrix, Layout, MatrixBlock,
    compressed::{
        COMPRESSED_VERSION, ColumnGroup, CompressedMatrix, GroupCodes, GroupEncoding, WireBuffers,
        compress, plan, sample::estimated_distinct,
    },
    kernels::{self, aggregate::Sum},
};

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
    let other_version = WireBuffers {
        pointers: other_version.into(),
        ..wire.clone()
    };
    let refusal = CompressedMatrix::from_wire(20, 16, &other_version).unwrap_err();
    assert!(refusal.message().contains("version 2"), "{refusal}");
    // A count of the first coded group that is one too many: behind two headers without codes, and its own.
    let mut counts = wire.pointers.to_vec();
    let first_count = 2 + 8 + 8 + 7;
    counts[first_count] += 1;
    let counts = WireBuffers {
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
        let wire = WireBuffers { values: values.into(), pointers: pointers.into(), indices: indices.into() };
        match CompressedMatrix::from_wire(50, 16, &wire) {
            Ok(matrix) => { matrix.to_dense().unwrap(); matrix.aggregate::<Sum>(|x| x).unwrap(); }
            Err(refusal) => prop_assert!(matches!(refusal.kind(), ErrorKind::Data | ErrorKind::Memory), "{}", refusal),
        }
    }
}
