//! Blocks of [`BLOCK_BYTES`] and more: mapped for their owner alone, and kept for the next one when they are freed.
//!
//! Allocators of C libraries map such blocks as well, and unmap them when they are freed, so that the system finds and clears all pages of
//! the next output again: on a virtual machine about twenty times the work of writing it, and two or three times with pages of 2 MiB.
//!
//! - A freed block is marked as free for the system (`MADV_FREE`). The system takes its pages when it needs memory, and counts them as
//!   available.
//! - A block is given to who wants as much or less; what is left of it stays.
//! - Where no block is large enough, others of that size are unmapped before a new one is mapped. So blocks that are used and kept take
//!   together no more than blocks that are used took at their peak.

use std::{
    ptr::{null_mut, without_provenance_mut},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::LARGE_PAGES_BYTES;

/// From this size on memory is a block: its pages are large, and worth keeping.
pub(super) const BLOCK_BYTES: usize = LARGE_PAGES_BYTES;
/// A multiple of the size of pages, on all processors.
const GRANULE: usize = 64 << 10;
/// Alignments up to that of a page come by themselves.
pub(super) const MOST_ALIGNED: usize = 4 << 10;
/// So many blocks are kept at most.
const PLACES: usize = 64;

/// What may be kept, in bytes.
static MOST_KEPT: AtomicUsize = AtomicUsize::new(0);
static KEPT: Mutex<Kept> = Mutex::new(Kept::new());

/// From now on freed blocks are kept, up to so many bytes.
pub(super) fn keep_up_to(bytes: usize) {
    MOST_KEPT.store(bytes, Ordering::Relaxed);
}

/// Whether memory of this size and alignment is a block. Whoever frees it asks again.
pub(super) fn is_block(bytes: usize, align: usize) -> bool {
    cfg!(target_os = "linux") && bytes >= BLOCK_BYTES && align <= MOST_ALIGNED
}

/// Nothing waits for the lock: in a child of `fork`, its owner may be a thread that is not there. The blocks are unmapped then, or mapped.
fn with_kept<R>(use_it: impl FnOnce(&mut Kept) -> R) -> Option<R> {
    KEPT.try_lock().ok().map(|mut kept| use_it(&mut kept))
}

/// A block that was freed before. What is in it is what was left there, or zero.
pub(super) fn recycled(bytes: usize) -> Option<*mut u8> {
    let len = bytes.checked_next_multiple_of(GRANULE)?;
    let (block, rest) = with_kept(|kept| kept.take(len))??;
    if let Some(rest) = rest {
        system::unmap(rest);
    }
    Some(block.start)
}

/// A new block, all zero; null if the system has none.
pub(super) fn mapped(bytes: usize) -> *mut u8 {
    let Some(len) = bytes.checked_next_multiple_of(GRANULE) else {
        return null_mut();
    };
    give_back(len);
    system::map(len)
}

/// Unmaps kept blocks, the oldest first, until these are so many bytes. Whether there were any.
pub(super) fn give_back(bytes: usize) -> bool {
    let mut given = 0;
    while given < bytes
        && let Some(block) = with_kept(Kept::pop).flatten()
    {
        given += block.len;
        system::unmap(block);
    }
    given > 0
}

/// Keeps a block for the next owner, or unmaps it.
///
/// # Safety
/// The block is of so many bytes, from [`recycled`], [`mapped`] or [`resized`], and nobody uses it any more.
pub(super) unsafe fn free(start: *mut u8, bytes: usize) {
    let block = Block {
        start,
        len: bytes.next_multiple_of(GRANULE),
    };
    let most = MOST_KEPT.load(Ordering::Relaxed);
    if block.len > most || !system::mark_free(block) {
        return system::unmap(block);
    }
    let mut block = Some(block);
    while let Some(left) = block {
        match with_kept(|kept| kept.put(left, most)) {
            Some(Ok(())) => block = None,
            // The oldest has to leave first.
            Some(Err(Some(oldest))) => system::unmap(oldest),
            Some(Err(None)) | None => {
                system::unmap(left);
                block = None;
            }
        }
    }
}

/// The block with another size, wherever that is; null if the system has no room for it, and the block stays as it was.
///
/// # Safety
/// As for [`free`]. Where the result is not null, `start` is no block any more.
pub(super) unsafe fn resized(start: *mut u8, bytes: usize, new_bytes: usize) -> *mut u8 {
    let Some(len) = new_bytes.checked_next_multiple_of(GRANULE) else {
        return null_mut();
    };
    let block = Block {
        start,
        len: bytes.next_multiple_of(GRANULE),
    };
    give_back(len.saturating_sub(block.len));
    system::resize(block, len)
}

/// Pages that belong together, and to nobody else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Block {
    start: *mut u8,
    len: usize,
}

// SAFETY: memory has no thread of its own.
unsafe impl Send for Block {}

/// Blocks that wait, the oldest first.
struct Kept {
    blocks: [Block; PLACES],
    count: usize,
    bytes: usize,
}

impl Kept {
    const fn new() -> Self {
        let none = Block {
            start: without_provenance_mut(GRANULE),
            len: 0,
        };
        Kept {
            blocks: [none; PLACES],
            count: 0,
            bytes: 0,
        }
    }

    /// The first `len` bytes of the smallest block that has as many, and what is left of it if that is no block.
    fn take(&mut self, len: usize) -> Option<(Block, Option<Block>)> {
        let blocks = self.blocks[..self.count].iter().enumerate();
        // Of blocks that are as large, the last: its pages are most likely still there.
        let (place, _) = blocks
            .rev()
            .filter(|(_, block)| block.len >= len)
            .min_by_key(|(_, block)| block.len)?;
        let block = self.remove(place);
        let rest = Block {
            start: block.start.wrapping_add(len),
            len: block.len - len,
        };
        let taken = Block { len, ..block };
        if rest.len < BLOCK_BYTES {
            return Some((taken, (rest.len > 0).then_some(rest)));
        }
        self.blocks[self.count] = rest;
        self.count += 1;
        self.bytes += rest.len;
        Some((taken, None))
    }

    fn pop(&mut self) -> Option<Block> {
        (self.count > 0).then(|| self.remove(0))
    }

    /// Or the oldest block, which has to leave before this one fits.
    fn put(&mut self, block: Block, most: usize) -> Result<(), Option<Block>> {
        if self.count == PLACES || self.bytes + block.len > most {
            return Err(self.pop());
        }
        self.blocks[self.count] = block;
        self.count += 1;
        self.bytes += block.len;
        Ok(())
    }

    fn remove(&mut self, place: usize) -> Block {
        let block = self.blocks[place];
        self.blocks.copy_within(place + 1..self.count, place);
        self.count -= 1;
        self.bytes -= block.len;
        block
    }
}

#[cfg(target_os = "linux")]
mod system {
    use std::ptr::null_mut;

    use super::Block;

    pub(super) fn map(len: usize) -> *mut u8 {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new pages, which are nobody's.
        let start = unsafe { libc::mmap(null_mut(), len, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return null_mut();
        }
        // SAFETY: advice on pages that were mapped just now; without it, they are small.
        unsafe { libc::madvise(start, len, libc::MADV_HUGEPAGE) };
        start.cast()
    }

    pub(super) fn unmap(block: Block) {
        // SAFETY: the block's pages are its owner's, who gives them up.
        unsafe { libc::munmap(block.start.cast(), block.len) };
    }

    /// Whether the system knows such marks.
    pub(super) fn mark_free(block: Block) -> bool {
        // SAFETY: as above: what the pages hold is not needed any more.
        unsafe { libc::madvise(block.start.cast(), block.len, libc::MADV_FREE) == 0 }
    }

    pub(super) fn resize(block: Block, len: usize) -> *mut u8 {
        // SAFETY: as above. The pages move as they are.
        let start =
            unsafe { libc::mremap(block.start.cast(), block.len, len, libc::MREMAP_MAYMOVE) };
        match start == libc::MAP_FAILED {
            true => null_mut(),
            false => start.cast(),
        }
    }
}

/// Nothing is a block there.
#[cfg(not(target_os = "linux"))]
mod system {
    use std::ptr::null_mut;

    use super::Block;

    pub(super) fn map(_: usize) -> *mut u8 {
        null_mut()
    }

    pub(super) fn unmap(_: Block) {}

    pub(super) fn mark_free(_: Block) -> bool {
        false
    }

    pub(super) fn resize(_: Block, _: usize) -> *mut u8 {
        null_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    fn block(number: usize, len: usize) -> Block {
        Block {
            start: without_provenance_mut(number << 32),
            len,
        }
    }

    fn kept(lens: &[usize]) -> Kept {
        let mut kept = Kept::new();
        for (number, len) in lens.iter().enumerate() {
            kept.put(block(number, *len), usize::MAX).unwrap();
        }
        kept
    }

    #[test]
    fn the_smallest_that_is_large_enough_is_taken_the_last_of_them() {
        let mut kept = kept(&[100 * MB, 40 * MB, 64 * MB, 40 * MB]);
        assert_eq!(kept.take(40 * MB), Some((block(3, 40 * MB), None)));
        assert_eq!(kept.take(40 * MB), Some((block(1, 40 * MB), None)));
        assert_eq!(kept.take(101 * MB), None);
        assert_eq!((kept.count, kept.bytes), (2, 164 * MB));
    }

    #[test]
    fn what_is_left_of_a_block_stays_if_it_is_one() {
        let mut kept = kept(&[100 * MB]);
        assert_eq!(kept.take(40 * MB), Some((block(0, 40 * MB), None)));
        let (taken, rest) = kept.take(57 * MB).unwrap();
        assert_eq!((taken.len, kept.count, kept.bytes), (57 * MB, 0, 0));
        let rest = rest.unwrap();
        let end = block(0, 0).start.wrapping_add(100 * MB);
        assert_eq!(rest.start.wrapping_add(rest.len), end);
        assert_eq!(rest.len, 3 * MB);
    }

    #[test]
    fn the_oldest_leave_for_a_new_one() {
        let mut kept = kept(&[50 * MB, 60 * MB]);
        let new = block(7, 80 * MB);
        assert_eq!(kept.put(new, 140 * MB), Err(Some(block(0, 50 * MB))));
        assert_eq!(kept.put(new, 140 * MB), Ok(()));
        assert_eq!(kept.put(new, 70 * MB), Err(Some(block(1, 60 * MB))));
        assert_eq!(kept.put(new, 70 * MB), Err(Some(new)));
        assert_eq!(kept.put(new, 70 * MB), Err(None));
        for number in 0..PLACES {
            kept.put(block(number, MB), usize::MAX).unwrap();
        }
        let oldest = Err(Some(block(0, MB)));
        assert_eq!(kept.put(new, usize::MAX), oldest);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn blocks_hold_what_is_written_and_move_with_it() {
        let bytes = BLOCK_BYTES + 5;
        let start = mapped(bytes);
        assert!(!start.is_null() && start.addr().is_multiple_of(MOST_ALIGNED));
        // SAFETY: it is a block of so many bytes, freed once.
        unsafe {
            assert_eq!((*start, *start.add(bytes - 1)), (0, 0));
            *start = 1;
            *start.add(bytes - 1) = 2;
            let larger = resized(start, bytes, 3 * bytes);
            assert_eq!((*larger, *larger.add(bytes - 1)), (1, 2));
            *larger.add(3 * bytes - 1) = 3;
            let smaller = resized(larger, 3 * bytes, bytes);
            assert_eq!((*smaller, *smaller.add(bytes - 1)), (1, 2));
            free(smaller, bytes);
        }
    }
}
