//! The allocator of our programs.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ptr::null_mut,
};

use super::{ballast, blocks};

/// The system's allocator, with the ballast behind it, and large blocks that are used again.
pub struct Allocator;

fn is_block(layout: Layout) -> bool {
    blocks::is_block(layout.size(), layout.align())
}

/// What `ask` gives; again if kept blocks or the ballast made room for it.
fn insisting(bytes: usize, ask: impl Fn() -> *mut u8) -> *mut u8 {
    let mut memory = ask();
    if memory.is_null() && blocks::give_back(usize::MAX) {
        memory = ask();
    }
    if memory.is_null() && bytes <= ballast::MOST_BYTES && ballast::let_go() {
        memory = ask();
    }
    memory
}

// SAFETY: memory whose layout is a block's comes from `blocks` and goes back there, as the layout says each time. All other memory is the
// system's, asked for with the caller's layout and given back with it.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_block(layout) {
            let bytes = layout.size();
            return blocks::recycled(bytes)
                .unwrap_or_else(|| insisting(bytes, || blocks::mapped(bytes)));
        }
        // SAFETY: the caller's contract is the system's.
        insisting(layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_block(layout) {
            let bytes = layout.size();
            let Some(memory) = blocks::recycled(bytes) else {
                return insisting(bytes, || blocks::mapped(bytes));
            };
            // SAFETY: it has so many bytes, and no other owner.
            unsafe { memory.write_bytes(0, bytes) };
            return memory;
        }
        // SAFETY: the caller's contract is the system's.
        insisting(layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the size makes a layout with this alignment.
        let resized = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (is_block(layout), is_block(resized)) {
            // SAFETY: the caller owns the block.
            (true, true) => insisting(size, || unsafe {
                blocks::resized(memory, layout.size(), size)
            }),
            // SAFETY: the caller's contract is the system's; where it fails, the memory stays as it was.
            (false, false) => insisting(size, || unsafe { System.realloc(memory, layout, size) }),
            // SAFETY: as above. Both places hold as many bytes as are copied, and the old one is freed once.
            _ => unsafe {
                let moved = self.alloc(resized);
                if moved.is_null() {
                    return null_mut();
                }
                moved.copy_from_nonoverlapping(memory, layout.size().min(size));
                self.dealloc(memory, layout);
                moved
            },
        }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        match is_block(layout) {
            // SAFETY: the caller owns the block, and gives it up.
            true => unsafe { blocks::free(memory, layout.size()) },
            // SAFETY: the caller's contract is the system's.
            false => unsafe { System.dealloc(memory, layout) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(bytes: usize) -> Layout {
        Layout::from_size_align(bytes, 64).unwrap()
    }

    /// Across the size from which memory is a block, and within both sides of it.
    #[test]
    fn content_moves_with_memory_that_is_resized() {
        let sizes = [100, 5 << 20, 90 << 20, 4 << 20, 200, 3 << 20, 50 << 20];
        // SAFETY: memory is used within its size, and freed with the layout that it has at last.
        unsafe {
            let mut bytes = 100;
            let mut memory = Allocator.alloc_zeroed(layout(bytes));
            for (number, size) in (1..).zip(sizes) {
                memory = Allocator.realloc(memory, layout(bytes), size);
                assert!(memory.addr().is_multiple_of(64));
                assert_eq!(*memory, number - 1);
                *memory = number;
                *memory.add(size - 1) = 0xee;
                bytes = size;
            }
            Allocator.dealloc(memory, layout(bytes));
        }
    }

    #[test]
    fn a_block_that_is_used_again_is_zero_where_that_was_asked_for() {
        blocks::keep_up_to(1 << 30);
        let bytes = 70 << 20;
        // SAFETY: memory is used within its size, and freed with its layout.
        unsafe {
            for _ in 0..3 {
                let memory = Allocator.alloc_zeroed(layout(bytes));
                let cells = std::slice::from_raw_parts(memory, bytes);
                assert!(cells.iter().all(|cell| *cell == 0));
                memory.write_bytes(7, bytes);
                Allocator.dealloc(memory, layout(bytes));
            }
        }
    }
}
