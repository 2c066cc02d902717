//! Two lanes: NEON.

use std::arch::aarch64::*;

use super::math::{MathKernel, MathLanes, arithmetic};
use super::{Kernel, Lanes};

pub(super) const WIDTH: usize = 2;

#[inline]
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

#[target_feature(enable = "neon")]
pub(super) fn run_math(kernel: impl MathKernel) {
    kernel.run::<Neon>();
}

/// Only made inside functions that enable NEON.
#[derive(Clone, Copy)]
pub(super) struct Neon(float64x2_t);

impl Lanes for Neon {
    const WIDTH: usize = WIDTH;
    const GROUP: usize = 4;
    const TILE: (usize, usize) = (8, 3);

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

arithmetic!(Neon, vaddq_f64, vsubq_f64, vmulq_f64, vdivq_f64);

/// An operation, as an expression of intrinsics.
macro_rules! operation {
    ($expression:expr) => {
        // SAFETY: values of this type only exist where the instructions are enabled.
        unsafe { $expression }
    };
}

#[inline(always)]
fn integers(lanes: Neon) -> uint64x2_t {
    operation!(vreinterpretq_u64_f64(lanes.0))
}

#[inline(always)]
fn doubles(lanes: uint64x2_t) -> Neon {
    Neon(operation!(vreinterpretq_f64_u64(lanes)))
}

impl MathLanes for Neon {
    /// All bits of a lane, or none.
    type Mask = uint64x2_t;

    #[inline(always)]
    fn read_part(cells: &[f64]) -> Self {
        let mut lanes = [1.0; Self::WIDTH];
        for (lane, cell) in lanes.iter_mut().zip(cells) {
            *lane = *cell;
        }
        Self::read(&lanes)
    }

    #[inline(always)]
    fn subtracted_from(self, factor: Self, minuend: Self) -> Self {
        Neon(operation!(vfmsq_f64(minuend.0, self.0, factor.0)))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Neon(operation!(vsqrtq_f64(self.0)))
    }

    #[inline(always)]
    fn floor(self) -> Self {
        Neon(operation!(vrndmq_f64(self.0)))
    }

    #[inline(always)]
    fn at_most(self, bound: Self) -> Self {
        Neon(operation!(vminq_f64(self.0, bound.0)))
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        operation!(vcltq_f64(self.0, other.0))
    }

    #[inline(always)]
    fn less_equal(self, other: Self) -> Self::Mask {
        operation!(vcleq_f64(self.0, other.0))
    }

    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        operation!(vceqq_f64(self.0, other.0))
    }

    #[inline(always)]
    fn top_bit(self) -> Self::Mask {
        operation!(vcltzq_s64(vreinterpretq_s64_f64(self.0)))
    }

    #[inline(always)]
    fn both(left: Self::Mask, right: Self::Mask) -> Self::Mask {
        operation!(vandq_u64(left, right))
    }

    #[inline(always)]
    fn either(left: Self::Mask, right: Self::Mask) -> Self::Mask {
        operation!(vorrq_u64(left, right))
    }

    #[inline(always)]
    fn not(mask: Self::Mask) -> Self::Mask {
        operation!(veorq_u64(mask, vdupq_n_u64(u64::MAX)))
    }

    #[inline(always)]
    fn select(mask: Self::Mask, then: Self, otherwise: Self) -> Self {
        Neon(operation!(vbslq_f64(mask, then.0, otherwise.0)))
    }

    #[inline(always)]
    fn truths(mask: Self::Mask) -> u32 {
        let low = operation!(vgetq_lane_u64::<0>(mask)) & 1;
        let high = operation!(vgetq_lane_u64::<1>(mask)) & 2;
        (low | high) as u32
    }

    #[inline(always)]
    fn and_bits(self, other: Self) -> Self {
        doubles(operation!(vandq_u64(integers(self), integers(other))))
    }

    #[inline(always)]
    fn or_bits(self, other: Self) -> Self {
        doubles(operation!(vorrq_u64(integers(self), integers(other))))
    }

    #[inline(always)]
    fn xor_bits(self, other: Self) -> Self {
        doubles(operation!(veorq_u64(integers(self), integers(other))))
    }

    #[inline(always)]
    fn add_bits(self, other: Self) -> Self {
        doubles(operation!(vaddq_u64(integers(self), integers(other))))
    }

    #[inline(always)]
    fn pick(self, table: &[f64; 16]) -> Self {
        let places = integers(self);
        let low = operation!(vgetq_lane_u64::<0>(places)) & 15;
        let high = operation!(vgetq_lane_u64::<1>(places)) & 15;
        let cells = [table[low as usize], table[high as usize]];
        Self::read(&cells)
    }

    #[inline(always)]
    fn shift_left(self, bits: i32) -> Self {
        let count = operation!(vdupq_n_s64(i64::from(bits)));
        doubles(operation!(vshlq_u64(integers(self), count)))
    }

    #[inline(always)]
    fn shift_right(self, bits: i32) -> Self {
        self.shift_left(-bits)
    }
}
