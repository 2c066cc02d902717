//! Two lanes: NEON.

use std::arch::aarch64::*;

use super::{Kernel, Lanes};

pub(super) const WIDTH: usize = 2;

pub(super) fn is_present() -> bool {
    std::arch::is_aarch64_feature_detected!("neon")
}

/// # Safety
/// As the kernel says, and [`is_present`].
#[target_feature(enable = "neon")]
pub(super) unsafe fn run(kernel: impl Kernel) {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<Neon>() }
}

/// Only made inside functions that enable NEON.
#[derive(Clone, Copy)]
pub(in super::super) struct Neon(float64x2_t);

impl Lanes for Neon {
    const WIDTH: usize = WIDTH;
    const GROUP: usize = 4;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: this type is only used where NEON was detected. So it is in all of its functions.
        Neon(unsafe { vdupq_n_f64(value) })
    }

    #[inline(always)]
    unsafe fn load(pointer: *const f64) -> Self {
        // SAFETY: the caller promises two readable cells.
        Neon(unsafe { vld1q_f64(pointer) })
    }

    #[inline(always)]
    unsafe fn store(self, pointer: *mut f64) {
        // SAFETY: the caller promises two writable cells.
        unsafe { vst1q_f64(pointer, self.0) }
    }

    #[inline(always)]
    unsafe fn load_first(pointer: *const f64, count: usize) -> Self {
        // SAFETY: the caller promises the cells that are read.
        unsafe {
            match count {
                0 => Self::splat(0.0),
                1 => Neon(vsetq_lane_f64::<0>(*pointer, vdupq_n_f64(0.0))),
                _ => Self::load(pointer),
            }
        }
    }

    #[inline(always)]
    unsafe fn store_first(self, pointer: *mut f64, count: usize) {
        // SAFETY: the caller promises the cells that are written.
        unsafe {
            match count {
                0 => {}
                1 => *pointer = vgetq_lane_f64::<0>(self.0),
                _ => self.store(pointer),
            }
        }
    }

    #[inline(always)]
    unsafe fn gather(pointer: *const f64, indices: *const i32) -> Self {
        // SAFETY: the caller promises two indices, of cells from the pointer on.
        unsafe {
            let cells = [0, 1].map(|at| *pointer.add(*indices.add(at) as usize));
            Self::load(cells.as_ptr())
        }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see `splat`.
        Neon(unsafe { vfmaq_f64(addend.0, self.0, factor.0) })
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // SAFETY: see `splat`.
        unsafe { vaddvq_f64(self.0) }
    }

    #[inline(always)]
    fn prefetch(_: *const f64) {}
}
