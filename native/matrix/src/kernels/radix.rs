//! Stable sorts by keys of 64 bits, and single places of them, on all threads.
//!
//! A sort by the digits of the keys, the highest first. [`sorted`] deals the items out to buckets, which a sample of the
//! keys makes about equal ([`Digits`]). A bucket fits the second-level cache, and one thread sorts it ([`sort_bucket`]).
//! Comparisons are left for the last few neighbours. [`at_places`] looks at items between two keys of a sample, or counts
//! the items of each bucket and sorts only those of buckets that are asked for. Equal keys keep the order of their items, so that a result depends on nothing else.

#[cfg(test)]
mod tests;

use std::ops::Range;

use fulgurite_error::Result;
use rayon::prelude::*;

use crate::{
    Interrupt,
    memory::{self, NewCells, Zeroed},
    parallel::{TASK_CELLS, reduction_tasks},
};

/// Items that one thread sorts: they and their copy lie in the second-level cache.
const BUCKET_ITEMS: usize = 1 << 14;
/// Buckets that items are dealt out to at once: each is a cache line and the address of a page that is written to.
const MOST_BUCKETS: usize = 1 << 11;
/// Keys that say how many fall into which bin.
const SAMPLE: usize = 1 << 14;
/// Bits of a bin's number. Doubles are as far apart as their signs and exponents, which have so many.
const BIN_BITS: u32 = 12;
/// Bits of a digit inside a bucket: its counters take 64 KiB. With as many digits as items, insertion seldom moves one.
/// With 12 bits, the buckets of ten million doubles took a tenth longer.
const MOST_DIGIT_BITS: u32 = 14;
/// Neighbours that insertion puts in order.
const INSERTED: usize = 32;
/// So many places of few items are found sooner when all are sorted.
const MANY_PLACES: usize = 4;
/// Items that comparisons sort sooner than another digit does.
const COMPARED: usize = 256;

/// An integer that compares as the number does: zeros are equal, NaN is larger than anything.
#[inline(always)]
pub(super) fn rank(value: f64) -> u64 {
    match value.is_nan() {
        true => u64::MAX,
        false => rank_of_distinct(value + 0.0),
    }
}

/// As [`rank`], of numbers but -0. There is no branch: signs of cells are as good as random to a processor.
#[inline(always)]
fn rank_of_distinct(value: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = value.to_bits();
    // All bits of a negative number change, else that of the sign.
    let all_if_negative = (bits.cast_signed() >> 63).cast_unsigned();
    bits ^ (all_if_negative | SIGN)
}

/// Whether equal ranks of cells mean equal bits, so that [`rank_of_distinct`] does, which takes less time.
fn are_distinct(cells: &[f64]) -> bool {
    let is_other = |cell: &f64| cell.is_nan() | (cell.to_bits() == (-0.0f64).to_bits());
    let chunks = cells.par_chunks(TASK_CELLS);
    !chunks.any(|chunk| chunk.iter().fold(false, |any, cell| any | is_other(cell)))
}

/// Cells by their [`rank`], ascending or descending. Equal ones keep their order.
///
/// # Errors
/// As [`sorted`].
pub(super) fn sorted_cells(cells: &[f64], decreasing: bool) -> Result<Vec<f64>> {
    match (are_distinct(cells), decreasing) {
        (true, false) => sorted(cells, |cell| rank_of_distinct(*cell)),
        (true, true) => sorted(cells, |cell| !rank_of_distinct(*cell)),
        (false, false) => sorted(cells, |cell| rank(*cell)),
        (false, true) => sorted(cells, |cell| !rank(*cell)),
    }
}

/// The items by ascending key.
///
/// # Errors
/// `memory`, when there is none for the result and as much beside it; `interrupted`.
pub(super) fn sorted<T: Zeroed + Send + Sync>(
    items: &[T],
    key: impl Fn(&T) -> u64 + Copy + Sync,
) -> Result<Vec<T>> {
    if items.len() <= TASK_CELLS {
        let (mut copy, mut result) = (memory::copied(items)?, memory::copied(items)?);
        let interrupt = Interrupt::current();
        sort_bucket(&mut copy, &mut result, ResultIn::Other, key, &interrupt)?;
        return Ok(result);
    }
    let tasks = reduction_tasks(items.len(), 1);
    let digits = Digits::new(items, key);
    let Counts { counts, ascend } = count(items, &tasks, &digits, key)?;
    if ascend {
        return memory::copied(items);
    }
    let mut dealt = deal(items, &tasks, &digits, &counts, key)?;
    let lengths = memory::collected((0..digits.buckets).map(|bucket| of_bucket(&counts, bucket)))?;
    drop(counts);
    let mut result = NewCells::new(items.len())?;
    let parts = result.parts(lengths.iter().copied());
    let mut buckets = memory::room(lengths.len())?;
    let mut rest = dealt.as_mut_slice();
    for length in &lengths {
        let (bucket, later) = rest.split_at_mut(*length);
        buckets.push(bucket);
        rest = later;
    }
    let interrupt = Interrupt::current();
    let work = buckets.into_par_iter().zip(parts).with_max_len(1);
    work.try_for_each(|(bucket, part)| {
        sort_bucket(bucket, part.cells(), ResultIn::Other, key, &interrupt)
    })?;
    Ok(result.finish())
}

/// The items that [`sorted`] has at these places, which may come in any order.
///
/// # Errors
/// `memory`, when there is none for the few that have to be sorted; `interrupted`.
pub(super) fn at_places<T: Zeroed + Send + Sync>(
    items: &[T],
    places: &[usize],
    key: impl Fn(&T) -> u64 + Copy + Sync,
) -> Result<Vec<T>> {
    if items.len() <= TASK_CELLS && places.len() < MANY_PLACES {
        return selected(items, places, key);
    }
    if items.len() <= TASK_CELLS {
        let items = sorted(items, key)?;
        return memory::collected(places.iter().map(|place| items[*place]));
    }
    let tasks = reduction_tasks(items.len(), 1);
    if let Some(Between { before, chosen }) = between(items, &tasks, places, key)? {
        let places = memory::collected(places.iter().map(|place| place - before))?;
        return at_places(&chosen, &places, key);
    }
    let digits = Digits::new(items, key);
    let Counts { counts, ascend } = count(items, &tasks, &digits, key)?;
    if ascend {
        return memory::collected(places.iter().map(|place| items[*place]));
    }
    let mut wanted = memory::filled(digits.buckets, false)?;
    let mut starts = memory::room(digits.buckets)?;
    let mut before = 0;
    for bucket in 0..digits.buckets {
        starts.push(before);
        before += of_bucket(&counts, bucket);
    }
    let bucket_of = |place: usize| starts.partition_point(|start| *start <= place) - 1;
    for place in places {
        wanted[bucket_of(*place)] = true;
    }
    // How many of the items before those of a bucket are left out.
    let mut left_out = memory::room(digits.buckets)?;
    let mut before = 0;
    for (bucket, wanted) in wanted.iter().enumerate() {
        left_out.push(before);
        before += match wanted {
            true => 0,
            false => of_bucket(&counts, bucket),
        };
    }
    let interrupt = Interrupt::current();
    let parts = tasks.into_par_iter().zip(&counts).map(|(task, counts)| {
        interrupt.check()?;
        let lengths = counts.iter().zip(&wanted);
        let mut part = memory::room(
            lengths
                .map(|(count, wanted)| count * usize::from(*wanted))
                .sum(),
        )?;
        let items = items[task].iter().copied();
        part.extend(items.filter(|item| wanted[digits.of(key(item))]));
        Ok(part)
    });
    let parts = parts.collect::<Vec<Result<Vec<T>>>>();
    let parts = parts.into_iter().collect::<Result<Vec<Vec<T>>>>()?;
    let mut chosen = memory::room(parts.iter().map(Vec::len).sum())?;
    parts.iter().for_each(|part| chosen.extend_from_slice(part));
    drop(parts);
    let chosen = sorted(&chosen, key)?;
    memory::collected((places.iter()).map(|place| chosen[place - left_out[bucket_of(*place)]]))
}

/// Items of which it is known that they are at places that are asked for.
struct Between<T> {
    /// How many come before them.
    before: usize,
    /// In the order in which they were.
    chosen: Vec<T>,
}

/// A part of items that may lie between the two keys: with more, little is gained.
const MOST_BETWEEN: usize = 8;
/// Items that are looked at before there has to be room for those of them that lie in between.
const LOOKED_AT: usize = 256;

/// The items around these places, between two keys of a sample; `None` where the places are too far apart, where too many
/// keys are equal, or where the sample has deceived.
///
/// The place of one of n keys in a sample of s has a standard deviation of at most sqrt(s) / 2. The keys are four of these
/// away.
fn between<T: Copy + Send + Sync>(
    items: &[T],
    tasks: &[Range<usize>],
    places: &[usize],
    key: impl Fn(&T) -> u64 + Copy + Sync,
) -> Result<Option<Between<T>>> {
    let (Some(first), Some(last)) = (places.iter().min(), places.iter().max()) else {
        return Ok(None);
    };
    let mut sample = sample_of(items, key)?;
    let in_sample =
        |place: usize| (place as f64 / items.len() as f64 * sample.len() as f64) as usize;
    let margin = 2 * sample.len().isqrt();
    let (low, high) = (
        in_sample(*first).checked_sub(margin),
        in_sample(*last) + margin,
    );
    if high - low.unwrap_or(0) > sample.len() / MOST_BETWEEN {
        return Ok(None);
    }
    let count = sample.len();
    let mut key_at = |at: usize| *sample.select_nth_unstable(at).1;
    let low = low.map_or(0, &mut key_at);
    let high = match high < count {
        true => key_at(high),
        false => u64::MAX,
    };
    let interrupt = Interrupt::current();
    let parts = tasks.par_iter().map(|task| {
        interrupt.check()?;
        let most = task.len() / MOST_BETWEEN;
        let mut chosen = memory::room(most)?;
        let mut before = 0;
        for items in items[task.clone()].chunks(LOOKED_AT) {
            let mut found = [items[0]; LOOKED_AT];
            let mut count = 0;
            for item in items {
                let key = key(item);
                before += usize::from(key < low);
                found[count % LOOKED_AT] = *item;
                count += usize::from((low <= key) & (key <= high));
            }
            if chosen.len() + count > most {
                return Ok(None);
            }
            chosen.extend_from_slice(&found[..count]);
        }
        Ok(Some((before, chosen)))
    });
    let parts = parts.collect::<Vec<Result<Option<(usize, Vec<T>)>>>>();
    let parts = parts.into_iter().collect::<Result<Option<Vec<_>>>>()?;
    let Some(parts) = parts else {
        return Ok(None);
    };
    let before = parts.iter().map(|(before, _)| before).sum();
    let mut chosen = memory::room(parts.iter().map(|(_, chosen)| chosen.len()).sum())?;
    (parts.iter()).for_each(|(_, part)| chosen.extend_from_slice(part));
    let are_there = before <= *first && *last < before + chosen.len();
    Ok(are_there.then_some(Between { before, chosen }))
}

/// Keys of items that lie equally far apart.
fn sample_of<T>(items: &[T], key: impl Fn(&T) -> u64) -> Result<Vec<u64>> {
    let apart = (items.len() / SAMPLE).max(1);
    memory::collected(items.iter().step_by(apart).map(key))
}

/// As [`at_places`], on this thread, in a time that grows with the number of places.
fn selected<T: Copy>(
    items: &[T],
    places: &[usize],
    key: impl Fn(&T) -> u64 + Copy,
) -> Result<Vec<T>> {
    let mut keys = memory::collected(items.iter().map(key))?;
    let mut found = memory::room(places.len())?;
    for place in places {
        let (lower, this, _) = keys.select_nth_unstable(*place);
        let this = *this;
        // Of items with this key, the one that so many come before.
        let before = lower.iter().filter(|key| **key == this).count();
        found.extend(items.iter().filter(|item| key(item) == this).nth(before));
    }
    Ok(found)
}

/// What is known of the keys of items.
struct KeyRange {
    least: u64,
    greatest: u64,
    /// They are in order.
    ascend: bool,
}

impl KeyRange {
    fn of<T>(items: &[T], key: impl Fn(&T) -> u64) -> Self {
        let (mut least, mut greatest) = (u64::MAX, 0);
        let (mut ascend, mut last) = (true, 0);
        for item in items {
            let key = key(item);
            (least, greatest) = (least.min(key), greatest.max(key));
            ascend &= last <= key;
            last = key;
        }
        KeyRange {
            least,
            greatest,
            ascend,
        }
    }
}

/// Says in which bucket a key goes: the keys of a bucket are below those of the next one.
///
/// Keys from the least to the greatest of a sample are cut into bins of one width; the first and the last bin take what lies
/// beyond. A bin of which the sample has many keys is cut into buckets of one width; a bucket may hold several bins of
/// which it has few.
struct Digits {
    least: u64,
    /// The greatest key less the least one.
    range: u64,
    /// Bits of a key below the number of its bin.
    bin_shift: u32,
    bins: Box<[Bin; 1 << BIN_BITS]>,
    buckets: usize,
}

#[derive(Clone, Copy)]
struct Bin {
    /// The bucket of its least key.
    first: u32,
    /// Bits of a key below the number of its bucket in the bin.
    shift: u32,
}

impl Digits {
    fn new<T>(items: &[T], key: impl Fn(&T) -> u64) -> Self {
        let sample = || {
            items
                .iter()
                .step_by((items.len() / SAMPLE).max(1))
                .map(&key)
        };
        let least = sample().min().unwrap_or(0);
        let range = sample().max().unwrap_or(0) - least;
        let bin_shift = (u64::BITS - range.leading_zeros()).saturating_sub(BIN_BITS);
        let mut sampled = [0usize; 1 << BIN_BITS];
        sample().for_each(|key| sampled[((key - least) >> bin_shift) as usize] += 1);
        let sample: usize = sampled.iter().sum();
        let wanted = items.len().div_ceil(BUCKET_ITEMS).min(MOST_BUCKETS);
        let mut bins = Box::new([Bin { first: 0, shift: 0 }; 1 << BIN_BITS]);
        // The next bucket, and how many keys of the sample are in it already.
        let (mut next, mut shared) = (0u32, None);
        for (bin, sampled) in bins.iter_mut().zip(sampled) {
            let share = sampled * wanted / sample.max(1);
            if share <= 1 {
                let so_far = shared.unwrap_or(0) + sampled;
                if shared.is_some() && so_far * wanted > sample {
                    next += 1;
                    shared = Some(sampled);
                } else {
                    shared = Some(so_far);
                }
                *bin = Bin {
                    first: next,
                    shift: bin_shift,
                };
            } else {
                next += u32::from(shared.take().is_some());
                let bits = share.next_power_of_two().ilog2().min(bin_shift);
                *bin = Bin {
                    first: next,
                    shift: bin_shift - bits,
                };
                next += 1 << bits;
            }
        }
        Digits {
            least,
            range,
            bin_shift,
            bins,
            buckets: next as usize + usize::from(shared.is_some()),
        }
    }

    #[inline(always)]
    fn of(&self, key: u64) -> usize {
        let above = key.saturating_sub(self.least).min(self.range);
        // No key is beyond the last bin. The compiler sees so by the remainder.
        let bin = self.bins[(above >> self.bin_shift) as usize % (1 << BIN_BITS)];
        let in_bin = above & ((1 << self.bin_shift) - 1);
        bin.first as usize + (in_bin >> bin.shift) as usize
    }
}

struct Counts {
    /// For each task, how many items go into each bucket.
    counts: Vec<Vec<usize>>,
    /// The items are in order.
    ascend: bool,
}

fn count<T: Sync>(
    items: &[T],
    tasks: &[Range<usize>],
    digits: &Digits,
    key: impl Fn(&T) -> u64 + Copy + Sync,
) -> Result<Counts> {
    let interrupt = Interrupt::current();
    let parts = tasks.par_iter().map(|task| {
        interrupt.check()?;
        let mut counts = memory::filled(digits.buckets, 0)?;
        // A task begins where the one before ends.
        let (mut ascend, mut last) = (true, key(&items[task.start.saturating_sub(1)]));
        for item in &items[task.clone()] {
            let key = key(item);
            counts[digits.of(key)] += 1;
            ascend &= last <= key;
            last = key;
        }
        Ok((counts, ascend))
    });
    let parts = parts.collect::<Result<Vec<(Vec<usize>, bool)>>>()?;
    let ascend = parts.iter().all(|(_, ascend)| *ascend);
    let counts = memory::collected(parts.into_iter().map(|(counts, _)| counts))?;
    Ok(Counts { counts, ascend })
}

fn of_bucket(counts: &[Vec<usize>], bucket: usize) -> usize {
    counts.iter().map(|counts| counts[bucket]).sum()
}

/// The items bucket by bucket; those of a bucket are in the order in which they were.
fn deal<T: Zeroed + Send + Sync>(
    items: &[T],
    tasks: &[Range<usize>],
    digits: &Digits,
    counts: &[Vec<usize>],
    key: impl Fn(&T) -> u64 + Copy + Sync,
) -> Result<Vec<T>> {
    let mut dealt = NewCells::new(items.len())?;
    let lengths =
        (0..digits.buckets).flat_map(|bucket| counts.iter().map(move |counts| counts[bucket]));
    let mut of_tasks = memory::room(tasks.len())?;
    for _ in tasks {
        of_tasks.push(memory::room(digits.buckets)?);
    }
    for (place, part) in dealt.parts(lengths).into_iter().enumerate() {
        of_tasks[place % tasks.len()].push(part);
    }
    let interrupt = Interrupt::current();
    let work = tasks.par_iter().zip(of_tasks).with_max_len(1);
    work.try_for_each(|(task, parts)| -> Result<()> {
        interrupt.check()?;
        let mut places = memory::room(parts.len())?;
        places.extend(parts.into_iter().map(|part| part.cells().iter_mut()));
        for item in &items[task.clone()] {
            if let Some(place) = places[digits.of(key(item))].next() {
                *place = *item;
            }
        }
        Ok(())
    })?;
    Ok(dealt.finish())
}

/// In which of two slices a result is to be.
#[derive(Clone, Copy, PartialEq)]
enum ResultIn {
    Items,
    Other,
}

/// Sorts items, on this thread. `other` has as many cells; what is left in the slice that is not asked for is worthless,
/// and both are after an error.
///
/// A bucket may be large: many keys are equal, or the sample has missed them. Each digit parts the least key from the
/// greatest one, so that there is an end.
///
/// # Errors
/// `memory`, when there is none for the counters of a digit; `interrupted`.
fn sort_bucket<T: Copy>(
    items: &mut [T],
    other: &mut [T],
    side: ResultIn,
    key: impl Fn(&T) -> u64 + Copy,
    interrupt: &Interrupt,
) -> Result<()> {
    interrupt.check()?;
    if items.len() <= COMPARED || u32::try_from(items.len()).is_err() {
        match items.len() <= INSERTED {
            true => insert_all(items, key),
            false => items.sort_by_key(key),
        }
        if side == ResultIn::Other {
            other.copy_from_slice(items);
        }
        return Ok(());
    }
    let keys = KeyRange::of(items, key);
    if keys.ascend {
        if side == ResultIn::Other {
            other.copy_from_slice(items);
        }
        return Ok(());
    }
    let bits = items.len().ilog2().min(MOST_DIGIT_BITS);
    let range = keys.greatest - keys.least;
    let shift = (u64::BITS - range.leading_zeros()).saturating_sub(bits);
    let digit = |item: &T| ((key(item) - keys.least) >> shift) as usize;
    // Where the next item of each digit goes.
    let mut next = memory::filled(1 << bits, 0u32)?;
    for item in items.iter() {
        next[digit(item)] += 1;
    }
    let mut before = 0;
    let mut most = 0;
    for next in &mut next {
        most = most.max(*next);
        (*next, before) = (before, before + *next);
    }
    for item in items.iter() {
        let next = &mut next[digit(item)];
        other[*next as usize] = *item;
        *next += 1;
    }
    if most as usize > INSERTED && shift > 0 {
        let mut start = 0;
        for end in &next {
            let group = start..*end as usize;
            start = group.end;
            if group.len() > INSERTED {
                sort_bucket(
                    &mut other[group.clone()],
                    &mut items[group],
                    ResultIn::Items,
                    key,
                    interrupt,
                )?;
            }
        }
    }
    // Groups are in order: insertion goes no further than into the group before.
    match side {
        ResultIn::Items => insert_into(other, items, key),
        ResultIn::Other => insert_all(other, key),
    }
    Ok(())
}

/// Sorts items that are not far from their places.
fn insert_all<T: Copy>(items: &mut [T], key: impl Fn(&T) -> u64) {
    for at in 1..items.len() {
        let item = items[at];
        let of_item = key(&item);
        let mut place = at;
        while place > 0 && key(&items[place - 1]) > of_item {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}

/// As [`insert_all`], into another slice.
fn insert_into<T: Copy>(items: &[T], other: &mut [T], key: impl Fn(&T) -> u64) {
    for (at, item) in items.iter().enumerate() {
        let of_item = key(item);
        let mut place = at;
        while place > 0 && key(&other[place - 1]) > of_item {
            other[place] = other[place - 1];
            place -= 1;
        }
        other[place] = *item;
    }
}
