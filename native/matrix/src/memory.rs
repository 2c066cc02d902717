//! Memory for the cells of matrices, so that the system gives it at the speed of memory.
//!
//! An operator writes its output into memory that is either recycled, which runs at the speed of the caches, or new: then
//! the system has to find and clear each page. Pages of 4 KiB take about three quarters of the time of writing a large output; those
//! of 2 MiB half of it.

use std::{
    mem::MaybeUninit,
    sync::atomic::{AtomicUsize, Ordering},
};

use rayon::prelude::*;

use crate::Interrupt;

/// From this size on allocators of C libraries map memory anew for each allocation, and give it back when it is freed:
/// the largest threshold that glibc knows.
pub const MAPPED_BYTES: usize = 32 << 20;
/// Freed memory that is kept for the next output: as much as glibc keeps once it has seen the largest freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT_BYTES: usize = 2 * MAPPED_BYTES;

/// Cells of an output, all zero.
///
/// ```
/// assert_eq!(fulgurite_matrix::memory::zeros(3), [0.0; 3]);
/// ```
pub fn zeros(cells: usize) -> Vec<f64> {
    zeros_of(cells)
}

fn zeros_of<T: Copy + Default>(cells: usize) -> Vec<T> {
    let cells = vec![T::default(); cells];
    if size_of_val(cells.as_slice()) >= MAPPED_BYTES {
        in_large_pages(&cells);
    }
    cells
}

/// Cells of an output that `fill` writes in chunks, on all threads. It gets a chunk's number, and its cells, which are zero.
/// Once the run is interrupted, the remaining chunks stay zero.
///
/// ```
/// let cells = fulgurite_matrix::memory::by_chunks(5, 2, |chunk, out| out[0] = chunk as f64);
/// assert_eq!(cells, [0.0, 0.0, 1.0, 0.0, 2.0]);
/// ```
pub fn by_chunks(cells: usize, chunk: usize, fill: impl Fn(usize, &mut [f64]) + Sync) -> Vec<f64> {
    let (chunk, interrupt) = (chunk.max(1), Interrupt::current());
    let mut output = NewCells::new(cells);
    let lengths = (0..cells)
        .step_by(chunk)
        .map(|from| chunk.min(cells - from));
    let parts = output.parts(lengths);
    match <[NewPart<f64>; 1]>::try_from(parts) {
        Ok([only]) => {
            interrupt.chunk(|| fill(0, only.cells()));
        }
        Err(parts) => {
            let parts = parts.into_par_iter().enumerate();
            parts.for_each(|(number, part)| {
                interrupt.chunk(|| fill(number, part.cells()));
            });
        }
    }
    output.finish()
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

impl<T: Copy + Default> NewCells<T> {
    pub fn new(len: usize) -> Self {
        let is_zero = len.saturating_mul(size_of::<T>()) >= MAPPED_BYTES;
        let cells = match is_zero {
            true => {
                let mut cells = zeros_of(len);
                cells.clear();
                cells
            }
            false => Vec::with_capacity(len),
        };
        NewCells {
            cells,
            len,
            is_zero,
            taken: AtomicUsize::new(0),
        }
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
            return zeros_of(self.len);
        }
        // SAFETY: there is room for them, and each of them was made a number when it was taken.
        unsafe { self.cells.set_len(self.len) };
        self.cells
    }
}

/// A part of [`NewCells`].
pub struct NewPart<'a, T: Copy + Default> {
    cells: &'a mut [MaybeUninit<T>],
    is_zero: bool,
    taken: &'a AtomicUsize,
}

impl<'a, T: Copy + Default> NewPart<'a, T> {
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

impl<T: Copy + Default> Drop for NewPart<'_, T> {
    fn drop(&mut self) {
        self.take(usize::MAX);
    }
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

/// Asks for large pages behind cells that nobody has written yet. It is advice: without it, pages are small.
#[cfg(target_os = "linux")]
fn in_large_pages<T>(cells: &[T]) {
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
                let mut output = zeros(cells);
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
            let mut cells = NewCells::<f64>::new(len);
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
        assert_eq!(NewCells::<f64>::new(1000).finish(), [0.0; 1000]);
        let mut cells = NewCells::<i32>::new(3);
        cells.parts([2]).into_iter().for_each(std::mem::forget);
        assert_eq!(cells.finish(), [0; 3]);
    }
}
