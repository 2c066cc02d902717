//! Equi-joins: pairs of rows with equal keys, in the order of the left rows.
//!
//! Keys become small numbers by a hash table (or an array, for integers of a small range) of the smaller side; keys of the larger side
//! are looked up. Then the right rows of each number stand together, and each left row finds its partners.

use std::sync::Arc;

use arrow::{
    array::{Array, ArrayRef, AsArray, BooleanArray, StringArray, UInt32Array},
    buffer::{BooleanBuffer, NullBuffer},
    datatypes::{DataType, Int32Type},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

use super::{
    evaluate::Evaluation,
    groups::{Numbers, ROWS_AT_ONCE, extent, largest_dense},
    rows,
};
use crate::{
    kernels::value::{Number, with_type},
    plan::JoinKind,
    resolve::{JoinColumn, Side, TypedNode, TypedRelation},
    table::{MOST_ROWS, Table},
};

/// The number of a key that has no partner, and the place of a row that has none.
const NONE: u32 = u32::MAX;

/// Joins two tables as the plan says.
pub(super) fn join(
    relation: &TypedRelation,
    left: &Table,
    right: &Table,
    arrays: &[ArrayRef],
) -> Result<Table> {
    let TypedNode::Join {
        how,
        left_on,
        right_on,
        nulls_equal,
        columns,
        ..
    } = &relation.node
    else {
        return Err(Error::internal("a join of another operator"));
    };
    let keys = |table: &Table, on: &[_]| {
        let evaluation = Evaluation::of_rows(table, arrays);
        on.iter()
            .map(|key| evaluation.column(key))
            .collect::<Result<Vec<_>>>()
    };
    let pairs = match how {
        JoinKind::Cross => crossed(left.rows(), right.rows())?,
        JoinKind::Semi | JoinKind::Anti => {
            let keys = numbers(&keys(left, left_on)?, &keys(right, right_on)?, *nulls_equal)?;
            let mut known = memory::filled(keys.range, false)?;
            for number in keys.right.iter().filter(|number| **number != NONE) {
                known[*number as usize] = true;
            }
            let wanted = *how == JoinKind::Semi;
            let bits = BooleanBuffer::collect_bool(left.rows(), |row| {
                let number = keys.left[row];
                (number != NONE && known[number as usize]) == wanted
            });
            return rows::filter(left, &BooleanArray::new(bits, None));
        }
        JoinKind::Inner | JoinKind::Left | JoinKind::Full => {
            let keys = numbers(&keys(left, left_on)?, &keys(right, right_on)?, *nulls_equal)?;
            paired(&keys, *how)?
        }
    };
    gathered(relation, columns, left, right, pairs)
}

/// Places of rows on both sides, [`NONE`] for those without a partner.
struct Pairs {
    left: Vec<u32>,
    right: Vec<u32>,
}

fn gathered(
    relation: &TypedRelation,
    columns: &[JoinColumn],
    left: &Table,
    right: &Table,
    pairs: Pairs,
) -> Result<Table> {
    let count = pairs.left.len();
    let of = |side: Side, table: &Table| -> Vec<ArrayRef> {
        let columns = columns.iter().filter(|column| column.side == side);
        columns
            .map(|column| Arc::clone(&table.columns()[column.index]))
            .collect()
    };
    let take = |columns: Vec<ArrayRef>, rows: usize, places: Vec<u32>| {
        let is_all = count == rows && places.iter().enumerate().all(|(at, row)| at as u32 == *row);
        match is_all {
            true => Ok(columns),
            false => rows::taken(&columns, &places_of(places)),
        }
    };
    let mut of_left = take(of(Side::Left, left), left.rows(), pairs.left)?.into_iter();
    let mut of_right = take(of(Side::Right, right), right.rows(), pairs.right)?.into_iter();
    let columns = columns.iter().filter_map(|column| match column.side {
        Side::Left => of_left.next(),
        Side::Right => of_right.next(),
    });
    let names = relation.schema.iter().map(|(name, _)| Arc::clone(name));
    Table::trusted(count, names.collect(), columns.collect())
}

fn places_of(places: Vec<u32>) -> UInt32Array {
    let nulls = places.contains(&NONE).then(|| {
        NullBuffer::new(BooleanBuffer::collect_bool(places.len(), |at| {
            places[at] != NONE
        }))
    });
    UInt32Array::new(places.into(), nulls)
}

/// # Errors
/// `unsupported` for more rows than tables have.
fn admitted(count: u64) -> Result<usize> {
    match usize::try_from(count) {
        Ok(count) if count <= MOST_ROWS => Ok(count),
        _ => Err(
            Error::unsupported(format!("a join of {count} rows: the most are {MOST_ROWS}"))
                .with_help("look for keys that many rows share"),
        ),
    }
}

fn crossed(left: usize, right: usize) -> Result<Pairs> {
    let count = admitted(left as u64 * right as u64)?;
    let mut pairs = Pairs {
        left: memory::room(count)?,
        right: memory::room(count)?,
    };
    for row in 0..left as u32 {
        Interrupt::current().check()?;
        pairs.left.extend(std::iter::repeat_n(row, right));
        pairs.right.extend(0..right as u32);
    }
    Ok(pairs)
}

fn paired(keys: &Numbered, how: JoinKind) -> Result<Pairs> {
    let interrupt = Interrupt::current();
    // The right rows of each number, ascending.
    let mut ends = memory::filled(keys.range + 1, 0u32)?;
    for number in keys.right.iter().filter(|number| **number != NONE) {
        ends[*number as usize + 1] += 1;
    }
    for number in 0..keys.range {
        ends[number + 1] += ends[number];
    }
    let mut next = memory::copied(&ends)?;
    let mut partners = memory::filled(ends[keys.range] as usize, 0u32)?;
    for (row, number) in keys.right.iter().enumerate() {
        if *number != NONE {
            let next = &mut next[*number as usize];
            partners[*next as usize] = row as u32;
            *next += 1;
        }
    }
    let of = |number: u32| match number {
        NONE => &[][..],
        number => {
            let number = number as usize;
            &partners[ends[number] as usize..ends[number + 1] as usize]
        }
    };
    let keeps_left = matches!(how, JoinKind::Left | JoinKind::Full);
    let mut count = 0u64;
    for number in &keys.left {
        let partners = of(*number).len() as u64;
        count += if keeps_left {
            partners.max(1)
        } else {
            partners
        };
    }
    let mut without_partner = Vec::new();
    if how == JoinKind::Full {
        let mut known = memory::filled(keys.range, false)?;
        for number in keys.left.iter().filter(|number| **number != NONE) {
            known[*number as usize] = true;
        }
        without_partner = memory::room(keys.right.len())?;
        for (row, number) in keys.right.iter().enumerate() {
            if *number == NONE || !known[*number as usize] {
                without_partner.push(row as u32);
            }
        }
        count += without_partner.len() as u64;
    }
    let count = admitted(count)?;
    let mut pairs = Pairs {
        left: memory::room(count)?,
        right: memory::room(count)?,
    };
    for (row, number) in keys.left.iter().enumerate() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        let partners = of(*number);
        match partners {
            [] if keeps_left => {
                pairs.left.push(row as u32);
                pairs.right.push(NONE);
            }
            [one] => {
                pairs.left.push(row as u32);
                pairs.right.push(*one);
            }
            _ => {
                pairs
                    .left
                    .extend(std::iter::repeat_n(row as u32, partners.len()));
                pairs.right.extend_from_slice(partners);
            }
        }
    }
    pairs
        .left
        .extend(std::iter::repeat_n(NONE, without_partner.len()));
    pairs.right.extend(without_partner);
    Ok(pairs)
}

/// A number below the range for each key; equal keys have equal ones, and keys without a partner may have [`NONE`].
struct Numbered {
    left: Vec<u32>,
    right: Vec<u32>,
    range: usize,
}

fn numbers(left: &[ArrayRef], right: &[ArrayRef], nulls_equal: bool) -> Result<Numbered> {
    let mut numbered: Option<Numbered> = None;
    for (left, right) in left.iter().zip(right) {
        Interrupt::current().check()?;
        let of_column = numbers_of(left, right, nulls_equal)?;
        numbered = Some(match numbered {
            None => of_column,
            Some(before) => combined(before, of_column)?,
        });
    }
    numbered.ok_or_else(|| Error::internal("a join without keys"))
}

fn numbers_of(left: &ArrayRef, right: &ArrayRef, nulls_equal: bool) -> Result<Numbered> {
    let swapped = left.len() < right.len();
    let (small, large) = if swapped {
        (left, right)
    } else {
        (right, left)
    };
    let (mut of_small, mut of_large, mut range) = match small.data_type() {
        DataType::Utf8 => {
            let (small, large) = (small.as_string::<i32>(), large.as_string::<i32>());
            looked_up(
                (0..small.len()).map(|row| small.is_valid(row).then(|| small.value(row))),
                (0..large.len()).map(|row| large.is_valid(row).then(|| large.value(row))),
            )?
        }
        DataType::Dictionary(..) => coded(small, large)?,
        DataType::Boolean => {
            let (small, large) = (small.as_boolean(), large.as_boolean());
            looked_up(
                (0..small.len()).map(|row| small.is_valid(row).then(|| small.value(row))),
                (0..large.len()).map(|row| large.is_valid(row).then(|| large.value(row))),
            )?
        }
        DataType::Null => (
            memory::filled(small.len(), NONE)?,
            memory::filled(large.len(), NONE)?,
            0,
        ),
        kind => with_type!(kind, T => {
            let (few, many) = (small.as_primitive::<T>(), large.as_primitive::<T>());
            let (few_values, many_values) = (few.values(), many.values());
            let extent = extent(kind, few_values, few.null_count() > 0, |row| few.is_valid(row));
            match extent {
                Some((least, range)) if range < largest_dense(many.len()) as u64 => {
                    let least = least.key();
                    let number = |value: u64| match value.wrapping_sub(least) {
                        distance if distance <= range => distance as u32,
                        _ => NONE,
                    };
                    let few = (0..few.len()).map(|row| match few.is_valid(row) {
                        true => number(few_values[row].key()),
                        false => NONE,
                    });
                    let many = (0..many.len()).map(|row| match many.is_valid(row) {
                        true => number(many_values[row].key()),
                        false => NONE,
                    });
                    (memory::collected(few)?, memory::collected(many)?, range as usize + 1)
                }
                _ => looked_up(
                    (0..few.len()).map(|row| few.is_valid(row).then(|| few_values[row].key())),
                    (0..many.len()).map(|row| many.is_valid(row).then(|| many_values[row].key())),
                )?,
            }
        }, else return Err(Error::internal(format!("a join on {kind}")))),
    };
    if nulls_equal {
        let number = range as u32;
        for (numbers, column) in [(&mut of_small, small), (&mut of_large, large)] {
            if let Some(nulls) = column.logical_nulls() {
                let of_null = numbers.iter_mut().zip(nulls.iter());
                of_null
                    .filter(|(_, valid)| !valid)
                    .for_each(|(at, _)| *at = number);
            }
        }
        range += 1;
    }
    let (left, right) = if swapped {
        (of_small, of_large)
    } else {
        (of_large, of_small)
    };
    Ok(Numbered { left, right, range })
}

/// Numbers the keys of one side and looks those of the other up.
fn looked_up<K: Eq + std::hash::Hash>(
    small: impl ExactSizeIterator<Item = Option<K>>,
    large: impl ExactSizeIterator<Item = Option<K>>,
) -> Result<(Vec<u32>, Vec<u32>, usize)> {
    let interrupt = Interrupt::current();
    let mut numbers = Numbers::new();
    let mut of_small = memory::room(small.len())?;
    for (row, key) in small.enumerate() {
        if row % ROWS_AT_ONCE == 0 {
            interrupt.check()?;
        }
        of_small.push(key.map_or(Ok(NONE), |key| numbers.of(key))?);
    }
    let of_large = large.map(|key| key.and_then(|key| numbers.known(&key)).unwrap_or(NONE));
    Ok((of_small, memory::collected(of_large)?, numbers.len()))
}

/// Coded text by the distinct values of both sides.
fn coded(small: &ArrayRef, large: &ArrayRef) -> Result<(Vec<u32>, Vec<u32>, usize)> {
    let (small, large) = (
        small.as_dictionary::<Int32Type>(),
        large.as_dictionary::<Int32Type>(),
    );
    let values = |texts: &ArrayRef| -> StringArray { texts.as_string::<i32>().clone() };
    let (few, many) = (values(small.values()), values(large.values()));
    let (few, many, range) = looked_up(
        (0..few.len()).map(|at| Some(few.value(at))),
        (0..many.len()).map(|at| Some(many.value(at))),
    )?;
    let numbers = |keys: &arrow::array::Int32Array, of_values: &[u32]| {
        memory::collected((0..keys.len()).map(|row| match keys.is_valid(row) {
            true => of_values[keys.value(row) as usize],
            false => NONE,
        }))
    };
    Ok((
        numbers(small.keys(), &few)?,
        numbers(large.keys(), &many)?,
        range,
    ))
}

fn combined(one: Numbered, other: Numbered) -> Result<Numbered> {
    let pairs = |one: &[u32], other: &[u32]| -> Result<Vec<Option<u64>>> {
        memory::collected(one.iter().zip(other).map(|(one, other)| {
            let has_both = *one != NONE && *other != NONE;
            has_both.then(|| u64::from(*one) << 32 | u64::from(*other))
        }))
    };
    let left = pairs(&one.left, &other.left)?;
    let right = pairs(&one.right, &other.right)?;
    let swapped = left.len() < right.len();
    let (small, large) = if swapped {
        (&left, &right)
    } else {
        (&right, &left)
    };
    let (of_small, of_large, range) = looked_up(small.iter().copied(), large.iter().copied())?;
    let (left, right) = if swapped {
        (of_small, of_large)
    } else {
        (of_large, of_small)
    };
    Ok(Numbered { left, right, range })
}
