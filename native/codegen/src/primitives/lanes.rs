//! Four doubles at a time: with AVX2 where there is AVX2, as plain arrays elsewhere.
//!
//! Kernels are written once over [`Lanes`] and always inlined into a wrapper that enables the features.

pub(super) const LANES: usize = 4;

/// Cells of a cache line.
pub(super) const CACHE_LINE: usize = 8;

pub(super) trait Lanes: Copy {
    fn splat(value: f64) -> Self;
    /// # Safety
    /// Four cells from `pointer` on can be read.
    unsafe fn load(pointer: *const f64) -> Self;
    /// # Safety
    /// Four cells from `pointer` on can be written.
    unsafe fn store(self, pointer: *mut f64);
    /// The first `count` cells, zeros in the other lanes.
    ///
    /// # Safety
    /// `count <= LANES` cells from `pointer` on can be read.
    unsafe fn load_first(pointer: *const f64, count: usize) -> Self;
    /// Writes the first `count` lanes.
    ///
    /// # Safety
    /// `count <= LANES` cells from `pointer` on can be written.
    unsafe fn store_first(self, pointer: *mut f64, count: usize);
    /// `self * factor + addend`
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    fn sum(self) -> f64;
    /// The sums of four vectors, as four lanes.
    fn sums(vectors: [Self; LANES]) -> Self;
    /// Asks for a cache line that will be read soon. The pointer may be any.
    fn prefetch(pointer: *const f64);
}

#[derive(Clone, Copy)]
pub(super) struct Portable([f64; LANES]);

impl Lanes for Portable {
    #[inline(always)]
    fn splat(value: f64) -> Self {
        Portable([value; LANES])
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
        let mut cells = [0.0; LANES];
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
    fn sums(vectors: [Self; LANES]) -> Self {
        Portable(vectors.map(Lanes::sum))
    }

    #[inline(always)]
    fn prefetch(_: *const f64) {}
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::*;

    use super::{LANES, Lanes};

    /// Only made inside functions that enable AVX2 and FMA.
    #[derive(Clone, Copy)]
    pub(in super::super) struct Avx2(__m256d);

    impl Lanes for Avx2 {
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
        fn mul_add(self, factor: Self, addend: Self) -> Self {
            // SAFETY: this type is only used where AVX2 and FMA were detected.
            Avx2(unsafe { _mm256_fmadd_pd(self.0, factor.0, addend.0) })
        }

        #[inline(always)]
        fn sum(self) -> f64 {
            let mut cells = [0.0; LANES];
            // SAFETY: the array has four cells.
            unsafe { self.store(cells.as_mut_ptr()) };
            let [a, b, c, d] = cells;
            (a + c) + (b + d)
        }

        #[inline(always)]
        fn sums([a, b, c, d]: [Self; LANES]) -> Self {
            // SAFETY: this type is only used where AVX2 was detected.
            unsafe {
                // Halves of each vector's sum, a and b (c and d) taking turns.
                let left = _mm256_hadd_pd(a.0, b.0);
                let right = _mm256_hadd_pd(c.0, d.0);
                let crossed = _mm256_permute2f128_pd::<0x21>(left, right);
                let straight = _mm256_blend_pd::<0b1100>(left, right);
                Avx2(_mm256_add_pd(crossed, straight))
            }
        }

        #[inline(always)]
        fn prefetch(pointer: *const f64) {
            // SAFETY: prefetching reads nothing that the program could see, and does not fault.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(pointer.cast()) }
        }
    }

    /// A mask of the first `count` lanes.
    #[inline(always)]
    fn first(count: usize) -> __m256i {
        const MASKS: [i64; 2 * LANES] = [-1, -1, -1, -1, 0, 0, 0, 0];
        let from = LANES - count.min(LANES);
        // SAFETY: four numbers from `from <= LANES` on lie within the array.
        unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(from).cast()) }
    }
}
