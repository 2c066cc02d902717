//! The gate for memory whose size follows from data: every matrix, buffer and text of such a size comes from here.
//!
//! An allocation asks three things, and each refusal is a `memory` error that says what was needed, what there is and what raises it:
//!
//! 1. its size, computed without overflow, is one that memory can have ([`bytes_of`]);
//! 2. the budget of the operator that runs on this thread ([`within`]) and what the system has left for the process
//!    ([`available`]) have room for it;
//! 3. the system gives it.
//!
//! [`ballast`] is for allocations that can't fail: what a library or a small vector takes when the system has nothing left.
//!
//! The rest is about speed. An operator writes its output into memory that is either recycled, which runs at the speed of the caches, or
//! new: then the system has to find and clear each page. Pages of 4 KiB take about three quarters of the time of writing a large output;
//! those of 2 MiB half of it. The programs' [`Allocator`] keeps large blocks for the next output, once
//! [`keep_freed_blocks`] allows it.

mod allocator;
mod available;
pub mod ballast;
mod blocks;
mod budget;
mod stack;
mod threads;

use std::{
    alloc::{Layout, alloc_zeroed},
    mem::MaybeUninit,
    sync::atomic::{AtomicUsize, Ordering},
};

use fulgurite_error::{Error, Result};
use rayon::prelude::*;

pub use allocator::Allocator;
pub use available::container_bytes;
pub use budget::{Budget, admit, within};
pub use stack::on_stack_with;
pub use threads::{Begun, StartingLine, no_thread, start_thread, thread_pool};

use crate::Interrupt;

/// From this size on allocators of C libraries map memory anew for each allocation, and give it back when it is freed:
/// the largest threshold that glibc knows.
pub const MAPPED_BYTES: usize = 32 << 20;
/// Freed memory that is kept for the next output: as much as glibc keeps once it has seen the largest freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: usize = 2 * MAPPED_BYTES;

/// From this size on large pages are asked for. Products of matrices of some MB with small pages take up to 1.4 times as long: their rows
/// lie in more pages than a processor keeps the addresses of.
const LARGE_PAGES_BYTES: usize = 4 << 20;

/// What helps where no setting does.
const SMALLER: &str =
    "look for a wrong number in the data or the script: no setting makes room for this";

/// Bytes of so many values.
///
/// # Errors
/// `memory` when no machine could hold them.
pub fn bytes_of<T>(len: usize) -> Result<usize> {
    let bytes = len.checked_mul(size_of::<T>());
    bytes
        .filter(|bytes| isize::try_from(*bytes).is_ok())
        .ok_or_else(|| {
            let bytes = len as u128 * size_of::<T>() as u128;
            Error::memory(format!("{bytes} bytes are more than memory can be")).with_help(SMALLER)
        })
}

/// The number of cells of a dense matrix.
///
/// # Errors
/// `memory` when no machine could hold them.
pub fn cells(rows: usize, cols: usize) -> Result<usize> {
    rows.checked_mul(cols)
        .filter(|cells| bytes_of::<f64>(*cells).is_ok())
        .ok_or_else(|| {
            Error::memory(format!(
                "a dense {rows} x {cols} matrix is larger than memory can be"
            ))
            .with_help(SMALLER)
        })
}

/// An empty vector with room for `len` values.
///
/// # Errors
/// `memory`, when the budget or the system has none.
///
/// ```
/// let mut values = fulgurite_matrix::memory::room(2)?;
/// values.push(1.0);
/// assert!(values.capacity() >= 2);
/// let refused = fulgurite_matrix::memory::room::<f64>(1 << 60).unwrap_err();
/// assert_eq!(refused.kind(), fulgurite_error::ErrorKind::Memory);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn room<T>(len: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    reserve(&mut values, len)?;
    in_large_pages(values.spare_capacity_mut());
    Ok(values)
}

/// Makes room for exactly `more` values behind those that are there.
///
/// # Errors
/// As [`room`].
pub fn reserve<T>(values: &mut Vec<T>, more: usize) -> Result<()> {
    if values.capacity() - values.len() >= more {
        return Ok(());
    }
    let len = values.len().saturating_add(more);
    let bytes = bytes_of::<T>(len)?;
    admit(bytes)?;
    values
        .try_reserve_exact(more)
        .map_err(|_| available::refused_by_system(bytes))
}

/// `len` copies of a value.
///
/// # Errors
/// As [`room`].
pub fn filled<T: Clone>(len: usize, value: T) -> Result<Vec<T>> {
    let mut values = room(len)?;
    values.resize(len, value);
    Ok(values)
}

/// A copy of values.
///
/// # Errors
/// As [`room`].
pub fn copied<T: Clone>(values: &[T]) -> Result<Vec<T>> {
    let mut copy = room(values.len())?;
    copy.extend_from_slice(values);
    Ok(copy)
}

/// What an iterator gives that knows how much that is.
///
/// # Errors
/// As [`room`].
pub fn collected<T>(
    values: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
) -> Result<Vec<T>> {
    let values = values.into_iter();
    let mut collected = room(values.len())?;
    collected.extend(values);
    Ok(collected)
}

/// Cells of an output, all zero.
///
/// # Errors
/// As [`room`].
///
/// ```
/// assert_eq!(fulgurite_matrix::memory::zeros(3)?, [0.0; 3]);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn zeros(cells: usize) -> Result<Vec<f64>> {
    zeros_of(cells)
}

/// A type whose zero is all zero bits.
pub trait Zeroed: Copy + Default + PartialEq {}
impl Zeroed for f32 {}
impl Zeroed for f64 {}
impl Zeroed for i8 {}
impl Zeroed for i16 {}
impl Zeroed for u8 {}
impl Zeroed for u16 {}
impl Zeroed for i32 {}
impl Zeroed for u32 {}
impl Zeroed for i64 {}
impl Zeroed for u64 {}
impl Zeroed for usize {}
impl<A: Zeroed, B: Zeroed> Zeroed for (A, B) {}

/// As [`zeros`], of another type.
///
/// # Errors
/// As [`room`].
pub fn zeros_of<T: Zeroed>(len: usize) -> Result<Vec<T>> {
    let bytes = bytes_of::<T>(len)?;
    if bytes == 0 {
        return Ok(Vec::new());
    }
    admit(bytes)?;
    let layout = Layout::array::<T>(len).map_err(|_| available::refused_by_system(bytes))?;
    // SAFETY: the layout is not empty. What the allocator gives has room for `len` values, and zero bits are values of `T`.
    let cells = unsafe {
        let start = alloc_zeroed(layout).cast::<T>();
        if start.is_null() {
            return Err(available::refused_by_system(bytes));
        }
        Vec::from_raw_parts(start, len, len)
    };
    in_large_pages(&cells);
    Ok(cells)
}

/// Cells of an output that `fill` writes in chunks, on all threads. It gets a chunk's number, and its cells, which are zero.
/// Once the run is interrupted, the remaining chunks stay zero.
///
/// # Errors
/// As [`room`].
///
/// ```
/// let cells = fulgurite_matrix::memory::by_chunks(5, 2, |chunk, out| out[0] = chunk as f64)?;
/// assert_eq!(cells, [0.0, 0.0, 1.0, 0.0, 2.0]);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn by_chunks(
    cells: usize,
    chunk: usize,
    fill: impl Fn(usize, &mut [f64]) + Sync,
) -> Result<Vec<f64>> {
    let (chunk, interrupt) = (chunk.max(1), Interrupt::current());
    let mut output = NewCells::new(cells)?;
    let lengths = (0..cells)
        .step_by(chunk)
        .map(|from| chunk.min(cells - from));
    let parts = output.parts(lengths);
    match <[NewPart<f64>; 1]>::try_from(parts) {
        Ok([only]) => {
            interrupt.chunk(|| fill(0, only.cells()));
        }
        Err(parts) => {
            let counted = interrupt.parts(parts.len());
            let parts = parts.into_par_iter().enumerate();
            parts.for_each(|(number, part)| {
                interrupt.chunk(|| fill(number, part.cells()));
                counted.passed();
            });
        }
    }
    Ok(output.finish())
}

/// Cells of an output before anyone has written them.
///
/// Recycled memory has to be made zero, or what is left in it could be read. The task that writes a part makes it so, just before, while
/// [`zeros`] would go through all of it on one thread.
pub struct NewCells<T> {
    /// None yet, but room for all.
    cells: Vec<T>,
    len: usize,
    /// The memory is zero.
    is_zero: bool,
    /// Cells that are numbers, of those that were given away in parts.
    taken: AtomicUsize,
}

impl<T: Zeroed> NewCells<T> {
    /// # Errors
    /// As [`room`].
    pub fn new(len: usize) -> Result<Self> {
        let (mut cells, is_zero) = match recycled(len)? {
            Some(cells) => (cells, false),
            None if bytes_of::<T>(len)? < MAPPED_BYTES => (room(len)?, false),
            None => (zeros_of(len)?, true),
        };
        cells.clear();
        Ok(NewCells {
            cells,
            len,
            is_zero,
            taken: AtomicUsize::new(0),
        })
    }

    /// Parts of these lengths, one after the other, as far as there are cells.
    pub fn parts(&mut self, lengths: impl IntoIterator<Item = usize>) -> Vec<NewPart<'_, T>> {
        let (is_zero, taken) = (self.is_zero, &self.taken);
        taken.store(0, Ordering::Relaxed);
        let mut rest = &mut self.cells.spare_capacity_mut()[..self.len];
        let mut part = |length: usize| {
            let all = std::mem::take(&mut rest);
            let (cells, later) = all.split_at_mut(length.min(all.len()));
            rest = later;
            NewPart {
                cells,
                is_zero,
                taken,
            }
        };
        let parts = lengths.into_iter().map(&mut part).collect();
        drop(part(usize::MAX));
        parts
    }

    /// The cells as tasks wrote them; those that no task took are zero.
    pub fn finish(mut self) -> Vec<T> {
        if self.taken.load(Ordering::Relaxed) != self.len {
            // No parts were made.
            drop(self.parts([]));
        }
        if self.taken.load(Ordering::Relaxed) != self.len {
            // Somebody has forgotten a part, in the sense of `std::mem::forget`.
            self.cells.resize(self.len, T::default());
            return self.cells;
        }
        // SAFETY: there is room for them, and each of them was made a number when it was taken.
        unsafe { self.cells.set_len(self.len) };
        self.cells
    }
}

/// A block that [`Allocator`] kept, as a vector without values: there are none where the program has another allocator.
fn recycled<T: Zeroed>(len: usize) -> Result<Option<Vec<T>>> {
    let bytes = bytes_of::<T>(len)?;
    if !blocks::is_block(bytes, align_of::<T>()) {
        return Ok(None);
    }
    admit(bytes)?;
    // SAFETY: the allocator would give such a block for this layout, and takes it back.
    let vector = |start: *mut u8| unsafe { Vec::from_raw_parts(start.cast(), 0, len) };
    Ok(blocks::recycled(bytes).map(vector))
}

/// A part of [`NewCells`].
pub struct NewPart<'a, T: Zeroed> {
    cells: &'a mut [MaybeUninit<T>],
    is_zero: bool,
    taken: &'a AtomicUsize,
}

impl<'a, T: Zeroed> NewPart<'a, T> {
    /// All of them, all zero.
    pub fn cells(mut self) -> &'a mut [T] {
        self.take(usize::MAX)
    }

    /// The next of them, so many or what is left, all zero.
    pub fn take(&mut self, cells: usize) -> &'a mut [T] {
        let all = std::mem::take(&mut self.cells);
        let (cells, rest) = all.split_at_mut(cells.min(all.len()));
        self.cells = rest;
        if !self.is_zero {
            cells.fill(MaybeUninit::new(T::default()));
        }
        self.taken.fetch_add(cells.len(), Ordering::Relaxed);
        // SAFETY: they were written just now, or by the allocator, and nobody else has had them since.
        unsafe { cells.assume_init_mut() }
    }
}

impl<T: Zeroed> Drop for NewPart<'_, T> {
    fn drop(&mut self) {
        self.take(usize::MAX);
    }
}

/// Keeps freed blocks of 32 MB and more for the next output, up to an eighth of what the system has left; none where addresses are
/// limited. For programs that install [`Allocator`].
pub fn keep_freed_blocks() {
    let left = match available::address_space_is_limited() {
        true => 0,
        false => available::admit(0).unwrap_or(0),
    };
    blocks::keep_up_to(usize::try_from(left / 8).unwrap_or(0));
}

/// Has the C library's allocator keep freed matrices of up to 32 MB, which it would give back to the system until it
/// has seen larger ones freed: two or three temporaries of 400 KB in a loop take five times as long then. For whole
/// processes, once; other allocators than glibc's are left as they are.
pub fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    for (parameter, bytes) in [
        (libc::M_MMAP_THRESHOLD, MAPPED_BYTES),
        (libc::M_TRIM_THRESHOLD, KEPT_BYTES),
    ] {
        // SAFETY: sets a parameter of the allocator, under its lock. Where it can't be set, it stays as it is.
        unsafe { libc::mallopt(parameter, bytes as libc::c_int) };
    }
}

/// Has all threads allocate from the same arena of the C library, where the process's address space is limited.
///
/// glibc sets 64 MiB of addresses aside for each thread, at its first allocation, which Rust makes while the thread starts. If that
/// leaves nothing for the stack of its signals, the process ends. Allocations from one arena wait for each other, which no thread
/// needs to where addresses abound. For whole programs, before they start threads.
pub fn share_limited_addresses() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    if available::address_space_is_limited() {
        // SAFETY: sets a parameter of the allocator, under its lock. Where it can't be set, it stays as it is.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

/// Asks for large pages behind cells, if there are many. It is advice: without it, pages are small, and so are those that were written before.
#[cfg(target_os = "linux")]
fn in_large_pages<T>(cells: &[T]) {
    if size_of_val(cells) < LARGE_PAGES_BYTES {
        return;
    }
    const PAGE: usize = 4096;
    let range = cells.as_ptr_range();
    let (start, end) = (range.start.addr(), range.end.addr());
    let (first, last) = (start.next_multiple_of(PAGE), end / PAGE * PAGE);
    let pages = cells.as_ptr().wrapping_byte_add(first - start);
    // SAFETY: the pages lie within the cells, and the advice changes no content.
    unsafe {
        libc::madvise(
            pages.cast_mut().cast(),
            last.saturating_sub(first),
            libc::MADV_HUGEPAGE,
        )
    };
}

#[cfg(not(target_os = "linux"))]
fn in_large_pages<T>(_: &[T]) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_zero_whatever_was_freed_before() {
        keep_freed_memory();
        for cells in [0, 1, 5_000, MAPPED_BYTES / 8 - 1, MAPPED_BYTES / 8 + 1] {
            for value in [1.0, 2.0] {
                let mut output = zeros(cells).unwrap();
                assert!(output.iter().all(|cell| *cell == 0.0), "{cells} cells");
                output.fill(value);
            }
        }
    }

    #[test]
    fn cells_are_zero_until_their_task_writes_them() {
        keep_freed_memory();
        for len in [0, 1, 5_000, MAPPED_BYTES / 8 + 1] {
            let dirty = vec![1.0; len];
            drop(dirty);
            let mut cells = NewCells::<f64>::new(len).unwrap();
            let mut parts = cells.parts([len / 2, 3]).into_iter();
            let (mut first, second) = (parts.next().unwrap(), parts.next().unwrap());
            first.take(1).fill(2.0);
            assert!(first.take(7).iter().all(|cell| *cell == 0.0));
            second.cells().fill(3.0);
            drop((first, parts));
            let cells = cells.finish();
            assert_eq!(cells.len(), len);
            let expected = |place: usize| match place {
                0 if len > 1 => 2.0,
                _ if (len / 2..len / 2 + 3).contains(&place) => 3.0,
                _ => 0.0,
            };
            let mut places = cells.iter().enumerate();
            assert!(
                places.all(|(place, cell)| *cell == expected(place)),
                "{len}"
            );
        }
    }

    #[test]
    fn what_nobody_takes_is_zero() {
        drop(vec![1.0; 1000]);
        assert_eq!(NewCells::<f64>::new(1000).unwrap().finish(), [0.0; 1000]);
        let mut cells = NewCells::<i32>::new(3).unwrap();
        cells.parts([2]).into_iter().for_each(std::mem::forget);
        assert_eq!(cells.finish(), [0; 3]);
    }
}
