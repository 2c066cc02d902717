//! Memory for the cells of matrices, so that the system gives it at the speed of memory.
//!
//! An operator writes its output into memory that is either recycled, which runs at the speed of the caches, or new: then
//! the system has to find and clear each page. Pages of 4 KiB take about three quarters of the time of writing a large output; those
//! of 2 MiB half of it.

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
    let cells = vec![0.0; cells];
    if size_of_val(cells.as_slice()) >= MAPPED_BYTES {
        in_large_pages(&cells);
    }
    cells
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
fn in_large_pages(cells: &[f64]) {
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
fn in_large_pages(_: &[f64]) {}

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
}
