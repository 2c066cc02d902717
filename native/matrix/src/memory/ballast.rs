//! Memory held back for allocations that can't fail.
//!
//! A library's vector, a message, a tree's node: each takes little, asks nobody, and ends the process where the system
//! gives nothing. A program that installs [`super::Allocator`] and calls [`hold`] has some megabytes that such allocations get then; the
//! gate refuses all from there on until the ballast is whole again, so that the run ends with a typed error.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    ptr::null_mut,
    sync::atomic::{AtomicBool, AtomicPtr, Ordering},
};

use fulgurite_error::Result;

/// What is held back.
pub const BALLAST_BYTES: usize = 16 << 20;
/// Larger allocations are left to the gate.
pub(super) const MOST_BYTES: usize = BALLAST_BYTES / 4;

static BALLAST: AtomicPtr<u8> = AtomicPtr::new(null_mut());

fn layout() -> Layout {
    Layout::new::<[u8; BALLAST_BYTES]>()
}

/// Whether the program holds a ballast at all.
static IS_HELD: AtomicBool = AtomicBool::new(false);

/// Holds memory back from now on. Nothing is written into it, so that it takes address space only.
pub fn hold() {
    IS_HELD.store(true, Ordering::Relaxed);
    refill();
}

fn refill() {
    // SAFETY: the layout is not empty.
    let memory = unsafe { System.alloc(layout()) };
    release_to_system(BALLAST.swap(memory, Ordering::AcqRel));
}

/// Asks whether the ballast is there; fills it again if it was given up and the system has memory by now.
///
/// # Errors
/// `memory`, where it stays empty: from here on anything may be too much.
pub fn check() -> Result<()> {
    if !IS_HELD.load(Ordering::Relaxed) || !BALLAST.load(Ordering::Acquire).is_null() {
        return Ok(());
    }
    refill();
    match BALLAST.load(Ordering::Acquire).is_null() {
        true => Err(super::available::refused_by_system(BALLAST_BYTES)),
        false => Ok(()),
    }
}

/// Gives the ballast up, for what can't fail. Whether there was any.
pub(super) fn let_go() -> bool {
    let memory = BALLAST.swap(null_mut(), Ordering::AcqRel);
    release_to_system(memory);
    !memory.is_null()
}

fn release_to_system(memory: *mut u8) {
    if !memory.is_null() {
        // SAFETY: it came from there with this layout, and the swap made this thread its owner.
        unsafe { System.dealloc(memory, layout()) };
    }
}
