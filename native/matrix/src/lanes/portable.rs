//! Plain arrays, which the compiler makes what it can of.

use super::{Kernel, Lanes};

pub(super) const WIDTH: usize = 4;

/// # Safety
/// As the kernel says.
pub(super) unsafe fn run(kernel: impl Kernel) {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<Portable>() }
}

#[derive(Clone, Copy)]
pub(super) struct Portable([f64; WIDTH]);

impl Lanes for Portable {
    const WIDTH: usize = WIDTH;
    const GROUP: usize = 2;
    const TILE: (usize, usize) = (4, 1);

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Portable([value; WIDTH])
    }

    #[inline(always)]
    unsafe fn load(pointer: *const f64) -> Self {
        // SAFETY: the caller promises four readable cells; arrays have their elements' alignment.
        Portable(unsafe { *pointer.cast() })
    }

    #[inline(always)]
    unsafe fn store(self, pointer: *mut f64) {
        // SAFETY: the caller promises four writable cells.
        unsafe { *pointer.cast() = self.0 }
    }

    #[inline(always)]
    unsafe fn load_first(pointer: *const f64, count: usize) -> Self {
        let mut cells = [0.0; WIDTH];
        for (at, cell) in cells.iter_mut().enumerate().take(count) {
            // SAFETY: `at < count`.
            *cell = unsafe { *pointer.add(at) };
        }
        Portable(cells)
    }

    #[inline(always)]
    unsafe fn store_first(self, pointer: *mut f64, count: usize) {
        for (at, cell) in self.0.iter().enumerate().take(count) {
            // SAFETY: `at < count`.
            unsafe { *pointer.add(at) = *cell };
        }
    }

    #[inline(always)]
    unsafe fn gather(pointer: *const f64, indices: *const i32) -> Self {
        let mut cells = [0.0; WIDTH];
        for (at, cell) in cells.iter_mut().enumerate() {
            // SAFETY: the caller promises as many indices, of cells from the pointer on.
            *cell = unsafe { *pointer.add(*indices.add(at) as usize) };
        }
        Portable(cells)
    }

    #[inline(always)]
    fn mul_add(mut self, factor: Self, addend: Self) -> Self {
        for ((cell, factor), addend) in self.0.iter_mut().zip(factor.0).zip(addend.0) {
            *cell = *cell * factor + addend;
        }
        self
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        let [a, b, c, d] = self.0;
        (a + c) + (b + d)
    }

    #[inline(always)]
    fn prefetch(_: *const f64) {}
}
