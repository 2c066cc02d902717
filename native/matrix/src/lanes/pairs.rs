//! Two lanes: halves of AVX2's registers. Rows of two cells fill them, where wider vectors would need masks, with which
//! loads and stores take longer.

use std::arch::x86_64::*;

use super::{Kernel, Lanes};

pub(super) const WIDTH: usize = 2;

/// # Safety
/// As the kernel says, and [`super::avx2::is_present`].
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run(kernel: impl Kernel) {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<Pairs>() }
}

/// Only made inside functions that enable AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Pairs(__m128d);

impl Lanes for Pairs {
    const WIDTH: usize = WIDTH;
    const GROUP: usize = 2;
    const TILE: (usize, usize) = (6, 2);

    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: this type is only used where AVX2 was detected. So it is in all of its functions.
        Pairs(unsafe { _mm_set1_pd(value) })
    }

    #[inline(always)]
    unsafe fn load(pointer: *const f64) -> Self {
        // SAFETY: the caller promises two readable cells.
        Pairs(unsafe { _mm_loadu_pd(pointer) })
    }

    #[inline(always)]
    unsafe fn store(self, pointer: *mut f64) {
        // SAFETY: the caller promises two writable cells.
        unsafe { _mm_storeu_pd(pointer, self.0) }
    }

    #[inline(always)]
    unsafe fn load_first(pointer: *const f64, count: usize) -> Self {
        // SAFETY: the caller promises as many readable cells.
        unsafe {
            match count {
                0 => Pairs(_mm_setzero_pd()),
                1 => Pairs(_mm_load_sd(pointer)),
                _ => Self::load(pointer),
            }
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, pointer: *mut f64, count: usize) {
        // SAFETY: the caller promises as many writable cells.
        unsafe {
            match count {
                0 => {}
                1 => _mm_store_sd(pointer, self.0),
                _ => self.store(pointer),
            }
        }
    }

    #[inline(always)]
    unsafe fn gather(pointer: *const f64, indices: *const i32) -> Self {
        // SAFETY: the caller promises two indices, of cells from the pointer on.
        unsafe {
            let cell = |at: usize| *pointer.add(*indices.add(at) as usize);
            Pairs(_mm_set_pd(cell(1), cell(0)))
        }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see `splat`.
        Pairs(unsafe { _mm_fmadd_pd(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        let mut cells = [0.0; WIDTH];
        // SAFETY: the array has two cells.
        unsafe { self.store(cells.as_mut_ptr()) };
        cells[0] + cells[1]
    }

    #[inline(always)]
    fn prefetch(pointer: *const f64) {
        // SAFETY: prefetching reads nothing that the program could see, and does not fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(pointer.cast()) }
    }
}
