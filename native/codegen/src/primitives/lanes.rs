//! Four doubles at a time: with AVX2 where there is AVX2, as plain arrays elsewhere.
//!
//! Kernels are written once over [`Lanes`] and always inlined into a wrapper that enables the features.

pub(super) const LANES: usize = 4;

pub(super) trait Lanes: Copy {
    fn splat(value: f64) -> Self;
    /// # Safety
    /// Four cells from `pointer` on can be read.
    unsafe fn load(pointer: *const f64) -> Self;
    /// # Safety
    /// Four cells from `pointer` on can be written.
    unsafe fn store(self, pointer: *mut f64);
    /// `self * factor + addend`
    fn mul_add(self, factor: Self, addend: Self) -> Self;
    fn sum(self) -> f64;
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
}

#[cfg(target_arch = "x86_64")]
pub(super) use avx2::Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256d, _mm256_fmadd_pd, _mm256_loadu_pd, _mm256_set1_pd, _mm256_storeu_pd,
    };

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
    }
}
