//! Four lanes: AVX2 and FMA.

use std::arch::x86_64::*;

use super::{Kernel, Lanes, TOGETHER};

pub(super) const WIDTH: usize = 4;

pub(super) fn is_present() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

/// # Safety
/// As the kernel says, and [`is_present`].
#[target_feature(enable = "avx2,fma")]
pub(super) unsafe fn run(kernel: impl Kernel) {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<Avx2>() }
}

/// Only made inside functions that enable AVX2 and FMA.
#[derive(Clone, Copy)]
pub(in super::super) struct Avx2(__m256d);

impl Lanes for Avx2 {
    const WIDTH: usize = WIDTH;
    const GROUP: usize = 2;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: this type is only used where AVX2 was detected.
        Avx2(unsafe { _mm256_set1_pd(value) })
    }

    #[inline(always)]
    unsafe fn load(pointer: *const f64) -> Self {
        // SAFETY: as above, and the caller promises four readable cells.
        Avx2(unsafe { _mm256_loadu_pd(pointer) })
    }

    #[inline(always)]
    unsafe fn store(self, pointer: *mut f64) {
        // SAFETY: as above, and the caller promises four writable cells.
        unsafe { _mm256_storeu_pd(pointer, self.0) }
    }

    #[inline(always)]
    unsafe fn load_first(pointer: *const f64, count: usize) -> Self {
        // SAFETY: lanes that the mask leaves out are not touched, and the caller promises the others.
        Avx2(unsafe { _mm256_maskload_pd(pointer, first(count)) })
    }

    #[inline(always)]
    unsafe fn store_first(self, pointer: *mut f64, count: usize) {
        // SAFETY: as for `load_first`.
        unsafe { _mm256_maskstore_pd(pointer, first(count), self.0) }
    }

    #[inline(always)]
    unsafe fn gather(pointer: *const f64, indices: *const i32) -> Self {
        // SAFETY: the caller promises as many indices, of cells from the pointer on. (Four loads are as fast as the
        // instruction that gathers, and faster on some processors.)
        unsafe {
            let cell = |at: usize| *pointer.add(*indices.add(at) as usize);
            Avx2(_mm256_set_pd(cell(3), cell(2), cell(1), cell(0)))
        }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: this type is only used where AVX2 and FMA were detected.
        Avx2(unsafe { _mm256_fmadd_pd(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        let mut cells = [0.0; WIDTH];
        // SAFETY: the array has four cells.
        unsafe { self.store(cells.as_mut_ptr()) };
        let [a, b, c, d] = cells;
        // As `sums` adds.
        (a + b) + (c + d)
    }

    #[inline(always)]
    fn sums([a, b, c, d]: [Self; TOGETHER]) -> [f64; TOGETHER] {
        let mut sums = [0.0; TOGETHER];
        // SAFETY: this type is only used where AVX2 was detected; the array has four cells.
        unsafe {
            // Halves of each vector's sum, a and b (c and d) taking turns.
            let left = _mm256_hadd_pd(a.0, b.0);
            let right = _mm256_hadd_pd(c.0, d.0);
            let crossed = _mm256_permute2f128_pd::<0x21>(left, right);
            let straight = _mm256_blend_pd::<0b1100>(left, right);
            Avx2(_mm256_add_pd(crossed, straight)).store(sums.as_mut_ptr());
        }
        sums
    }

    #[inline(always)]
    fn prefetch(pointer: *const f64) {
        // SAFETY: prefetching reads nothing that the program could see, and does not fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(pointer.cast()) }
    }
}

/// A mask of the first `count` lanes.
#[inline(always)]
fn first(count: usize) -> __m256i {
    const MASKS: [i64; 2 * WIDTH] = [-1, -1, -1, -1, 0, 0, 0, 0];
    let from = WIDTH - count.min(WIDTH);
    // SAFETY: four numbers from `from <= WIDTH` on lie within the array.
    unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(from).cast()) }
}
