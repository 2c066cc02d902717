//! Equi-joins: pairs of rows with equal keys, in the order of the left rows.
//!
//! Keys become small numbers (`join_keys`). The right rows of each number stand together, and each left row finds its partners.

use std::sync::Arc;

use arrow::{
    array::{ArrayRef, BooleanArray, UInt32Array},
    buffer::{BooleanBuffer, NullBuffer},
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};

use super::{
    evaluate::Evaluation,
    join_keys::{Keys, NONE, Numbered, numbers},
    rows,
};
use crate::{
    parallel::{by_tasks, filled, rows_of_a_task, written_both},
    plan::JoinKind,
    resolve::{JoinColumn, Side, TypedExpression, TypedNode, TypedRelation},
    table::{MOST_ROWS, Table},
};

/// A side of a join: a table, and which of its rows take part.
#[derive(Clone, Copy)]
pub(crate) struct Joined<'a> {
    table: &'a Table,
    flags: Option<&'a BooleanBuffer>,
}

impl<'a> Joined<'a> {
    pub fn all(table: &'a Table) -> Self {
        Joined::some(table, None)
    }

    pub fn some(table: &'a Table, flags: Option<&'a BooleanBuffer>) -> Self {
        Joined { table, flags }
    }

    /// A table of the rows that take part.
    fn alone(self) -> Result<Table> {
        match self.flags {
            None => Ok(self.table.clone()),
            Some(flags) => rows::filter(self.table, &BooleanArray::new(flags.clone(), None)),
        }
    }
}

/// Joins two tables as the plan says.
///
/// # Errors
/// `unsupported` for more rows than tables have; `memory`; `interrupted`; those of kernels.
pub(crate) fn join(
    relation: &TypedRelation,
    left: Joined<'_>,
    right: Joined<'_>,
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
    let keys = |side: Joined<'_>, on: &[TypedExpression]| {
        let evaluation = Evaluation::of_rows(side.table, arrays);
        let keys = on.iter().map(|key| evaluation.column(key));
        keys.collect::<Result<Vec<_>>>()
    };
    let numbered = |left: Joined<'_>, right: Joined<'_>| {
        let (of_left, of_right) = (keys(left, left_on)?, keys(right, right_on)?);
        let side = |columns, flags| Keys { columns, flags };
        numbers(
            side(&of_left, left.flags),
            side(&of_right, right.flags),
            *nulls_equal,
        )
    };
    match how {
        JoinKind::Cross => {
            let (left, right) = (left.alone()?, right.alone()?);
            let pairs = crossed(left.rows(), right.rows())?;
            gathered(relation, columns, &left, &right, pairs)
        }
        JoinKind::Semi | JoinKind::Anti => {
            let wanted = *how == JoinKind::Semi;
            let flags = with_partner(&numbered(left, right)?, left.flags, wanted)?;
            rows::filter(left.table, &BooleanArray::new(flags, None))
        }
        JoinKind::Inner | JoinKind::Left => {
            let keys = numbered(left, right)?;
            let pairs = paired(&keys, *how == JoinKind::Left, left.flags)?;
            gathered(relation, columns, left.table, right.table, pairs)
        }
        JoinKind::Full => {
            let (left, right) = (left.alone()?, right.alone()?);
            let keys = numbered(Joined::all(&left), Joined::all(&right))?;
            let mut pairs = paired(&keys, true, None)?;
            let alone = without_partner(&keys)?;
            let mut of_left = match pairs.left.take() {
                Some(places) => places,
                None => memory::collected(0..left.rows() as u32)?,
            };
            admitted(of_left.len() as u64 + alone.len() as u64)?;
            memory::reserve(&mut of_left, alone.len())?;
            memory::reserve(&mut pairs.right, alone.len())?;
            of_left.extend(std::iter::repeat_n(NONE, alone.len()));
            pairs.right.extend(alone);
            pairs.left = Some(of_left);
            pairs.may_lack = true;
            gathered(relation, columns, &left, &right, pairs)
        }
    }
}

/// Places of rows on both sides, [`NONE`] for those without a partner.
struct Pairs {
    /// None where they are all rows in their order.
    left: Option<Vec<u32>>,
    right: Vec<u32>,
    /// Whether a place may be [`NONE`].
    may_lack: bool,
}

fn gathered(
    relation: &TypedRelation,
    columns: &[JoinColumn],
    left: &Table,
    right: &Table,
    pairs: Pairs,
) -> Result<Table> {
    let count = pairs.right.len();
    let of = |side: Side, table: &Table| -> Vec<ArrayRef> {
        let columns = columns.iter().filter(|column| column.side == side);
        columns
            .map(|column| Arc::clone(&table.columns()[column.index]))
            .collect()
    };
    let mut taken = Vec::new();
    for (side, table, places) in [
        (Side::Left, left, pairs.left),
        (Side::Right, right, Some(pairs.right)),
    ] {
        let columns = of(side, table);
        taken.push(match places {
            Some(places) if !columns.is_empty() => {
                rows::taken(&columns, &places_of(places, pairs.may_lack))?
            }
            _ => columns,
        });
    }
    let mut taken = taken.into_iter().map(Vec::into_iter);
    let mut of_left = taken.next().unwrap_or_default();
    let mut of_right = taken.next().unwrap_or_default();
    let columns = columns.iter().filter_map(|column| match column.side {
        Side::Left => of_left.next(),
        Side::Right => of_right.next(),
    });
    let names = relation.schema.iter().map(|(name, _)| Arc::clone(name));
    Table::trusted(count, names.collect(), columns.collect())
}

fn places_of(places: Vec<u32>, may_lack: bool) -> UInt32Array {
    let nulls = (may_lack && places.contains(&NONE)).then(|| {
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
    let mut of_left = memory::room(count)?;
    let mut of_right = memory::room(count)?;
    for row in 0..left as u32 {
        Interrupt::current().check()?;
        of_left.extend(std::iter::repeat_n(row, right));
        of_right.extend(0..right as u32);
    }
    Ok(Pairs {
        left: Some(of_left),
        right: of_right,
        may_lack: false,
    })
}

/// Which left rows that take part have a partner, or have none.
fn with_partner(
    keys: &Numbered,
    flags: Option<&BooleanBuffer>,
    wanted: bool,
) -> Result<BooleanBuffer> {
    let mut known = memory::filled(keys.range, false)?;
    for number in keys.right.iter().filter(|number| **number != NONE) {
        known[*number as usize] = true;
    }
    let bits = BooleanBuffer::collect_bool(keys.left.len(), |row| {
        let number = keys.left[row];
        (number != NONE && known[number as usize]) == wanted
    });
    Ok(match flags {
        Some(flags) => &bits & flags,
        None => bits,
    })
}

/// The right rows of each number, ascending.
enum Partners {
    /// No number has two.
    One(Vec<u32>),
    Many {
        ends: Vec<u32>,
        rows: Vec<u32>,
    },
}

impl Partners {
    fn of(numbers: &[u32], range: usize) -> Result<Self> {
        let mut one = memory::filled(range, NONE)?;
        let there = || {
            let rows = numbers.iter().enumerate();
            rows.filter(|(_, number)| **number != NONE)
        };
        let is_second = |(row, number): (usize, &u32)| {
            std::mem::replace(&mut one[*number as usize], row as u32) != NONE
        };
        if !there().any(is_second) {
            return Ok(Partners::One(one));
        }
        let mut ends = memory::filled(range + 1, 0u32)?;
        for (_, number) in there() {
            ends[*number as usize + 1] += 1;
        }
        for number in 0..range {
            ends[number + 1] += ends[number];
        }
        let mut next = memory::copied(&ends)?;
        let mut rows = memory::filled(ends[range] as usize, 0u32)?;
        for (row, number) in there() {
            let next = &mut next[*number as usize];
            rows[*next as usize] = row as u32;
            *next += 1;
        }
        Ok(Partners::Many { ends, rows })
    }
}

/// The partners of left rows that take part. With `keeps_left` those without one are there, too.
fn paired(keys: &Numbered, keeps_left: bool, flags: Option<&BooleanBuffer>) -> Result<Pairs> {
    match Partners::of(&keys.right, keys.range)? {
        Partners::One(partners) => paired_with_one(&keys.left, &partners, keeps_left, flags),
        Partners::Many { ends, rows } => {
            let of = |number: u32| match number {
                NONE => &[][..],
                number => {
                    let number = number as usize;
                    &rows[ends[number] as usize..ends[number + 1] as usize]
                }
            };
            paired_with_many(&keys.left, of, keeps_left, flags)
        }
    }
}

fn paired_with_one(
    numbers: &[u32],
    partners: &[u32],
    keeps_left: bool,
    flags: Option<&BooleanBuffer>,
) -> Result<Pairs> {
    let rows = numbers.len();
    let of_a_task = rows_of_a_task(rows);
    let is_there = |row: usize, partner: u32| match keeps_left {
        true => flags.is_none_or(|flags| flags.value(row)),
        // The keys of others have no number.
        false => partner != NONE,
    };
    let (of_rows, counts) = filled(rows, of_a_task, |start, places: &mut [u32]| {
        let mut count = 0;
        for (offset, place) in places.iter_mut().enumerate() {
            *place = match numbers[start + offset] {
                NONE => NONE,
                number => partners[number as usize],
            };
            count += usize::from(is_there(start + offset, *place));
        }
        Ok(count)
    })?;
    if counts.iter().sum::<usize>() == rows {
        return Ok(Pairs {
            left: None,
            right: of_rows,
            may_lack: keeps_left,
        });
    }
    let (left, right) = written_both(&counts, |task, left: &mut [u32], right: &mut [u32]| {
        let start = task * of_a_task;
        let partners = of_rows[start..rows.min(start + of_a_task)].iter();
        let there = partners
            .enumerate()
            .filter(|(at, partner)| is_there(start + at, **partner));
        for ((left, right), (at, partner)) in left.iter_mut().zip(right).zip(there) {
            *left = (start + at) as u32;
            *right = *partner;
        }
    })?;
    Ok(Pairs {
        left: Some(left),
        right,
        may_lack: keeps_left,
    })
}

fn paired_with_many<'p>(
    numbers: &[u32],
    partners: impl Fn(u32) -> &'p [u32] + Sync,
    keeps_left: bool,
    flags: Option<&BooleanBuffer>,
) -> Result<Pairs> {
    let rows = numbers.len();
    let of_a_task = rows_of_a_task(rows);
    let least = usize::from(keeps_left);
    let takes_part = |row: usize| flags.is_none_or(|flags| flags.value(row));
    let counts = by_tasks(rows, of_a_task, |rows| {
        let there = rows.filter(|row| takes_part(*row));
        let counts = there.map(|row| partners(numbers[row]).len().max(least) as u64);
        Ok(counts.sum::<u64>())
    })?;
    admitted(counts.iter().sum())?;
    let counts: Vec<usize> = counts.into_iter().map(|count| count as usize).collect();
    let (left, right) = written_both(&counts, |task, left: &mut [u32], right: &mut [u32]| {
        let rows = task * of_a_task..rows.min((task + 1) * of_a_task);
        let mut at = 0;
        for row in rows.filter(|row| takes_part(*row)) {
            let partners = match partners(numbers[row]) {
                [] if keeps_left => &[NONE],
                partners => partners,
            };
            left[at..at + partners.len()].fill(row as u32);
            right[at..at + partners.len()].copy_from_slice(partners);
            at += partners.len();
        }
    })?;
    Ok(Pairs {
        left: Some(left),
        right,
        may_lack: keeps_left,
    })
}

/// Right rows that no left row has the key of.
fn without_partner(keys: &Numbered) -> Result<Vec<u32>> {
    let mut known = memory::filled(keys.range, false)?;
    for number in keys.left.iter().filter(|number| **number != NONE) {
        known[*number as usize] = true;
    }
    let mut alone = memory::room(keys.right.len())?;
    for (row, number) in keys.right.iter().enumerate() {
        if *number == NONE || !known[*number as usize] {
            alone.push(row as u32);
        }
    }
    Ok(alone)
}
