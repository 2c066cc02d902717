//! Four lanes: AVX2 and FMA.

use std::arch::x86_64::*;

use super::{Kernel, Lanes, arithmetic};

pub(super) fn present() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

#[target_feature(enable = "avx2,fma")]
pub(super) fn run(kernel: impl Kernel) {
    kernel.run::<Avx2>();
}

#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256d);

arithmetic!(
    Avx2,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd
);

/// An operation, as an expression of intrinsics.
macro_rules! operation {
    ($expression:expr) => {
        // SAFETY: values of this type only exist where the instructions are enabled.
        unsafe { $expression }
    };
}

#[inline(always)]
fn integers(lanes: Avx2) -> __m256i {
    operation!(_mm256_castpd_si256(lanes.0))
}

#[inline(always)]
fn doubles(lanes: __m256i) -> Avx2 {
    Avx2(operation!(_mm256_castsi256_pd(lanes)))
}

/// A mask of the first `count` lanes.
#[inline(always)]
fn first(count: usize) -> __m256i {
    const MASKS: [i64; 2 * Avx2::WIDTH] = [-1, -1, -1, -1, 0, 0, 0, 0];
    let from = Avx2::WIDTH - count.min(Avx2::WIDTH);
    // SAFETY: four numbers from `from <= WIDTH` on lie within the array.
    unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(from).cast()) }
}

impl Lanes for Avx2 {
    const WIDTH: usize = 4;
    /// The topmost bit of each lane counts.
    type Mask = __m256d;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Avx2(operation!(_mm256_set1_pd(value)))
    }

    #[inline(always)]
    fn load(cells: &[f64]) -> Self {
        assert!(cells.len() >= Self::WIDTH);
        // SAFETY: the cells are there.
        Avx2(unsafe { _mm256_loadu_pd(cells.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, cells: &mut [f64]) {
        assert!(cells.len() >= Self::WIDTH);
        // SAFETY: the cells are there.
        unsafe { _mm256_storeu_pd(cells.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn load_part(cells: &[f64]) -> Self {
        let mask = first(cells.len());
        // SAFETY: lanes that the mask leaves out are not touched; the others are cells of the slice.
        let loaded = unsafe { _mm256_maskload_pd(cells.as_ptr(), mask) };
        Self::select(doubles(mask).0, Avx2(loaded), Self::splat(1.0))
    }

    #[inline(always)]
    fn store_part(self, cells: &mut [f64]) {
        // SAFETY: as for `load_part`.
        unsafe { _mm256_maskstore_pd(cells.as_mut_ptr(), first(cells.len()), self.0) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Avx2(operation!(_mm256_fmadd_pd(self.0, factor.0, addend.0)))
    }

    #[inline(always)]
    fn subtracted_from(self, factor: Self, minuend: Self) -> Self {
        Avx2(operation!(_mm256_fnmadd_pd(self.0, factor.0, minuend.0)))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Avx2(operation!(_mm256_sqrt_pd(self.0)))
    }

    #[inline(always)]
    fn at_most(self, bound: Self) -> Self {
        // The instruction gives its second operand where one is NaN.
        Avx2(operation!(_mm256_min_pd(bound.0, self.0)))
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        operation!(_mm256_cmp_pd::<_CMP_LT_OQ>(self.0, other.0))
    }

    #[inline(always)]
    fn less_equal(self, other: Self) -> Self::Mask {
        operation!(_mm256_cmp_pd::<_CMP_LE_OQ>(self.0, other.0))
    }

    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        operation!(_mm256_cmp_pd::<_CMP_EQ_OQ>(self.0, other.0))
    }

    #[inline(always)]
    fn top_bit(self) -> Self::Mask {
        self.0
    }

    #[inline(always)]
    fn both(left: Self::Mask, right: Self::Mask) -> Self::Mask {
        operation!(_mm256_and_pd(left, right))
    }

    #[inline(always)]
    fn either(left: Self::Mask, right: Self::Mask) -> Self::Mask {
        operation!(_mm256_or_pd(left, right))
    }

    #[inline(always)]
    fn not(mask: Self::Mask) -> Self::Mask {
        (-Avx2(mask)).0
    }

    #[inline(always)]
    fn select(mask: Self::Mask, then: Self, otherwise: Self) -> Self {
        Avx2(operation!(_mm256_blendv_pd(otherwise.0, then.0, mask)))
    }

    #[inline(always)]
    fn truths(mask: Self::Mask) -> u32 {
        operation!(_mm256_movemask_pd(mask)) as u32
    }

    #[inline(always)]
    fn and_bits(self, other: Self) -> Self {
        Avx2(operation!(_mm256_and_pd(self.0, other.0)))
    }

    #[inline(always)]
    fn or_bits(self, other: Self) -> Self {
        Avx2(operation!(_mm256_or_pd(self.0, other.0)))
    }

    #[inline(always)]
    fn xor_bits(self, other: Self) -> Self {
        Avx2(operation!(_mm256_xor_pd(self.0, other.0)))
    }

    #[inline(always)]
    fn add_bits(self, other: Self) -> Self {
        doubles(operation!(_mm256_add_epi64(
            integers(self),
            integers(other)
        )))
    }

    #[inline(always)]
    fn pick(self, table: &[f64; 16]) -> Self {
        // SAFETY: the instructions are there, see `operation`, and four bits name a cell of the table.
        Avx2(unsafe {
            let places = _mm256_and_si256(integers(self), _mm256_set1_epi64x(15));
            _mm256_i64gather_pd::<8>(table.as_ptr(), places)
        })
    }

    #[inline(always)]
    fn shift_left(self, bits: i32) -> Self {
        doubles(operation!(_mm256_sll_epi64(
            integers(self),
            _mm_cvtsi32_si128(bits)
        )))
    }

    #[inline(always)]
    fn shift_right(self, bits: i32) -> Self {
        doubles(operation!(_mm256_srl_epi64(
            integers(self),
            _mm_cvtsi32_si128(bits)
        )))
    }
}
