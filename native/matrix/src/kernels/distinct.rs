//! Cells that differ: which there are, and how many. NaN is one value, and zeros of both signs are one.

use fulgurite_error::Result;
use rayon::prelude::*;

use super::{reorganize::transpose, results::settle};
use crate::{
    DenseMatrix, Interrupt, MatrixBlock,
    memory::{self, cells, zeros},
};

/// Over what values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    All,
    EachRow,
    EachColumn,
}

/// Rows after which the flag is looked for.
const ROWS: usize = 1 << 10;

/// `unique(matrix)`: the values in a column. Those of each row stand in its row, with zeros behind them, and those of each column in
/// its column.
///
/// Their order is that of a hash set of Java, as SystemDS gives them ([`in_buckets`]).
///
/// # Errors
/// `memory` when there is none for the values, `interrupted`.
pub fn unique(matrix: &MatrixBlock, scope: Scope) -> Result<MatrixBlock> {
    match scope {
        Scope::All => {
            let values = in_buckets(distinct(&mut entries(matrix)?)?)?;
            DenseMatrix::new(values.len(), 1, values).map(MatrixBlock::Dense)
        }
        Scope::EachRow => {
            let mut lists = Vec::new();
            of_rows(matrix, |entries| {
                memory::reserve(&mut lists, 1)?;
                lists.push(in_buckets(distinct(entries)?)?);
                Ok(())
            })?;
            let cols = lists.iter().map(Vec::len).max().unwrap_or(0);
            let mut output = zeros(cells(lists.len(), cols)?)?;
            for (row, values) in output.chunks_exact_mut(cols.max(1)).zip(&lists) {
                row[..values.len()].copy_from_slice(values);
            }
            DenseMatrix::new(lists.len(), cols, output).and_then(settle)
        }
        Scope::EachColumn => transpose(&unique(&transpose(matrix)?, Scope::EachRow)?),
    }
}

/// `countDistinct(matrix)`: how many values there are; one number, one for each row, or one for each column.
///
/// # Errors
/// As [`unique`].
pub fn count_distinct(matrix: &MatrixBlock, scope: Scope) -> Result<Vec<usize>> {
    match scope {
        Scope::All => {
            let mut entries = entries(matrix)?;
            let mut counts = memory::room(1)?;
            counts.push(distinct(&mut entries)?.len());
            Ok(counts)
        }
        Scope::EachRow => {
            let mut counts = memory::room(matrix.rows())?;
            of_rows(matrix, |entries| {
                counts.push(distinct(entries)?.len());
                Ok(())
            })?;
            Ok(counts)
        }
        Scope::EachColumn => count_distinct(&transpose(matrix)?, Scope::EachRow),
    }
}

/// A value's bits, and its place among the cells.
type Entry = (u64, u64);

/// Bits that are equal where values are.
fn bits(value: f64) -> u64 {
    match value {
        _ if value.is_nan() => f64::NAN.to_bits(),
        0.0 => 0,
        _ => value.to_bits(),
    }
}

/// The stored cells, and the first zero that is not stored.
fn entries(matrix: &MatrixBlock) -> Result<Vec<Entry>> {
    let cols = matrix.cols() as u64;
    let mut entries = memory::room(matrix.stored() + 1)?;
    let mut gap = 0;
    matrix.for_each_stored(|row, col, value| {
        let place = (row as u64).saturating_mul(cols).saturating_add(col as u64);
        if place == gap {
            gap += 1;
        }
        entries.push((bits(value), place));
    });
    if gap < (matrix.rows() as u64).saturating_mul(cols) {
        entries.push((0, gap));
    }
    Ok(entries)
}

/// Calls `visit` with the entries of each row.
fn of_rows(
    matrix: &MatrixBlock,
    mut visit: impl FnMut(&mut Vec<Entry>) -> Result<()>,
) -> Result<()> {
    let interrupt = Interrupt::current();
    for from in (0..matrix.rows()).step_by(ROWS) {
        interrupt.check()?;
        for row in from..matrix.rows().min(from + ROWS) {
            visit(&mut entries(&matrix.slice_rows(row, row + 1))?)?;
        }
    }
    Ok(())
}

/// The bits of the values, in the order in which they come first.
fn distinct(entries: &mut Vec<Entry>) -> Result<Vec<u64>> {
    Interrupt::current().check()?;
    entries.par_sort_unstable();
    entries.dedup_by_key(|(bits, _)| *bits);
    entries.par_sort_unstable_by_key(|(_, place)| *place);
    memory::collected(entries.iter().map(|(bits, _)| *bits))
}

/// The values in the order in which `java.util.HashSet<Double>` gives them when they are added in this order: by the bucket of their
/// hash, and in a bucket as they came. (The set turns buckets of more than eight values into trees, whose order differs.)
fn in_buckets(values: Vec<u64>) -> Result<Vec<f64>> {
    let mut buckets: u64 = 16;
    while values.len() as u64 > buckets / 4 * 3 {
        buckets *= 2;
    }
    // A set of fewer than 64 buckets grows, too, where one would hold more than eight.
    while buckets < 64 && holds_too_many(&values, buckets) {
        buckets *= 2;
    }
    let mut values = values;
    values.sort_by_key(|bits| bucket(*bits, buckets));
    memory::collected(values.into_iter().map(f64::from_bits))
}

fn bucket(bits: u64, buckets: u64) -> u64 {
    let hash = (bits ^ (bits >> 32)) & 0xffff_ffff;
    (hash ^ (hash >> 16)) & (buckets - 1)
}

fn holds_too_many(values: &[u64], buckets: u64) -> bool {
    let mut held = [0u8; 64];
    values.iter().any(|bits| {
        let place = bucket(*bits, buckets) as usize;
        held.get_mut(place).is_some_and(|held| {
            *held += 1;
            *held > 8
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(rows: usize, cols: usize, values: &[f64]) -> MatrixBlock {
        MatrixBlock::dense(rows, cols, values.to_vec()).expect("as many cells")
    }

    fn cells_of(matrix: &MatrixBlock) -> Vec<String> {
        let dense = matrix.to_dense().expect("small");
        dense.values().iter().map(f64::to_string).collect()
    }

    /// As SystemDS 3.4 printed them.
    #[test]
    fn values_come_in_the_order_of_java() {
        let nan = f64::NAN;
        let few = dense(
            12,
            1,
            &[3.0, 1.0, 2.0, 3.0, 1.0, 0.0, nan, nan, 7.0, 7.0, 5.0, 0.5],
        );
        let expected = ["1", "2", "0", "0.5", "5", "3", "NaN", "7"];
        assert_eq!(cells_of(&unique(&few, Scope::All).unwrap()), expected);
        let count: Vec<f64> = (1..=30).map(f64::from).collect();
        let mut expected: Vec<f64> = (2..=15).map(f64::from).collect();
        expected.push(1.0);
        expected.extend((16..=30).map(f64::from));
        let values = unique(&dense(30, 1, &count), Scope::All).unwrap();
        assert_eq!(values.to_dense().unwrap().values(), expected);
        let sevenths: Vec<f64> = (1..=30).rev().map(|x| f64::from(x) / 7.0).collect();
        let values = unique(&dense(30, 1, &sevenths), Scope::All).unwrap();
        let shown: Vec<f64> = values.to_dense().unwrap().values()[..6]
            .iter()
            .map(|x| (x * 7.0).round())
            .collect();
        assert_eq!(shown, [14.0, 17.0, 19.0, 11.0, 20.0, 21.0]);
    }

    #[test]
    fn rows_and_columns_have_values_of_their_own() {
        let m = dense(
            4,
            3,
            &[1.0, 2.0, 1.0, 2.0, 3.0, 3.0, 1.0, 2.0, 1.0, 5.0, 2.0, 2.0],
        );
        for block in [m.clone(), m.to_csr().unwrap().into()] {
            let rows = unique(&block, Scope::EachRow).unwrap();
            assert_eq!(
                rows.to_dense().unwrap().values(),
                [1.0, 2.0, 2.0, 3.0, 1.0, 2.0, 2.0, 5.0]
            );
            let columns = unique(&block, Scope::EachColumn).unwrap();
            assert_eq!(
                columns.to_dense().unwrap().values(),
                [1.0, 2.0, 1.0, 2.0, 3.0, 2.0, 5.0, 0.0, 3.0]
            );
            assert_eq!(count_distinct(&block, Scope::All).unwrap(), [4]);
            assert_eq!(count_distinct(&block, Scope::EachRow).unwrap(), [2; 4]);
            assert_eq!(
                count_distinct(&block, Scope::EachColumn).unwrap(),
                [3, 2, 3]
            );
        }
    }

    #[test]
    fn zeros_and_nan_are_one_value_each() {
        let m = dense(2, 3, &[0.0, -0.0, f64::NAN, -f64::NAN, 0.0, 4.0]);
        for block in [m.clone(), m.to_csr().unwrap().into()] {
            assert_eq!(count_distinct(&block, Scope::All).unwrap(), [3]);
            assert_eq!(count_distinct(&block, Scope::EachRow).unwrap(), [2, 3]);
            let values = unique(&block, Scope::All).unwrap();
            assert_eq!(cells_of(&values), ["0", "4", "NaN"]);
        }
        let empty = dense(0, 3, &[]);
        assert_eq!(count_distinct(&empty, Scope::All).unwrap(), [0]);
        assert_eq!(unique(&empty, Scope::All).unwrap().rows(), 0);
        assert_eq!(count_distinct(&empty, Scope::EachColumn).unwrap(), [0; 3]);
    }
}
