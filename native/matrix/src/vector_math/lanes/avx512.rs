//! Eight lanes: AVX-512, its foundation and the bitwise operations on doubles (DQ).

use std::arch::x86_64::*;

use super::{Kernel, Lanes, arithmetic};

pub(super) fn present() -> bool {
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512dq")
}

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn run(kernel: impl Kernel) {
    kernel.run::<Avx512>();
}

#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512d);

arithmetic!(
    Avx512,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_div_pd
);

/// An operation, as an expression of intrinsics.
macro_rules! operation {
    ($expression:expr) => {
        // SAFETY: values of this type only exist where the instructions are enabled.
        unsafe { $expression }
    };
}

#[inline(always)]
fn integers(lanes: Avx512) -> __m512i {
    operation!(_mm512_castpd_si512(lanes.0))
}

#[inline(always)]
fn doubles(lanes: __m512i) -> Avx512 {
    Avx512(operation!(_mm512_castsi512_pd(lanes)))
}

/// A mask of the first `count` lanes.
#[inline(always)]
fn first(count: usize) -> __mmask8 {
    u8::MAX >> (Avx512::WIDTH - count.min(Avx512::WIDTH))
}

impl Lanes for Avx512 {
    const WIDTH: usize = 8;
    type Mask = __mmask8;

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Avx512(operation!(_mm512_set1_pd(value)))
    }

    #[inline(always)]
    fn load(cells: &[f64]) -> Self {
        assert!(cells.len() >= Self::WIDTH);
        // SAFETY: the cells are there.
        Avx512(unsafe { _mm512_loadu_pd(cells.as_ptr()) })
    }

    #[inline(always)]
    fn store(self, cells: &mut [f64]) {
        assert!(cells.len() >= Self::WIDTH);
        // SAFETY: the cells are there.
        unsafe { _mm512_storeu_pd(cells.as_mut_ptr(), self.0) }
    }

    #[inline(always)]
    fn load_part(cells: &[f64]) -> Self {
        let ones = Self::splat(1.0).0;
        // SAFETY: lanes that the mask leaves out are not touched; the others are cells of the slice.
        Avx512(unsafe { _mm512_mask_loadu_pd(ones, first(cells.len()), cells.as_ptr()) })
    }

    #[inline(always)]
    fn store_part(self, cells: &mut [f64]) {
        // SAFETY: as for `load_part`.
        unsafe { _mm512_mask_storeu_pd(cells.as_mut_ptr(), first(cells.len()), self.0) }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        Avx512(operation!(_mm512_fmadd_pd(self.0, factor.0, addend.0)))
    }

    #[inline(always)]
    fn subtracted_from(self, factor: Self, minuend: Self) -> Self {
        Avx512(operation!(_mm512_fnmadd_pd(self.0, factor.0, minuend.0)))
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Avx512(operation!(_mm512_sqrt_pd(self.0)))
    }

    #[inline(always)]
    fn at_most(self, bound: Self) -> Self {
        // The instruction gives its second operand where one is NaN.
        Avx512(operation!(_mm512_min_pd(bound.0, self.0)))
    }

    #[inline(always)]
    fn less(self, other: Self) -> Self::Mask {
        operation!(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0))
    }

    #[inline(always)]
    fn less_equal(self, other: Self) -> Self::Mask {
        operation!(_mm512_cmp_pd_mask::<_CMP_LE_OQ>(self.0, other.0))
    }

    #[inline(always)]
    fn equal(self, other: Self) -> Self::Mask {
        operation!(_mm512_cmp_pd_mask::<_CMP_EQ_OQ>(self.0, other.0))
    }

    #[inline(always)]
    fn top_bit(self) -> Self::Mask {
        operation!(_mm512_movepi64_mask(integers(self)))
    }

    #[inline(always)]
    fn both(left: Self::Mask, right: Self::Mask) -> Self::Mask {
        left & right
    }

    #[inline(always)]
    fn either(left: Self::Mask, right: Self::Mask) -> Self::Mask {
        left | right
    }

    #[inline(always)]
    fn not(mask: Self::Mask) -> Self::Mask {
        !mask
    }

    #[inline(always)]
    fn select(mask: Self::Mask, then: Self, otherwise: Self) -> Self {
        Avx512(operation!(_mm512_mask_blend_pd(mask, otherwise.0, then.0)))
    }

    #[inline(always)]
    fn truths(mask: Self::Mask) -> u32 {
        u32::from(mask)
    }

    #[inline(always)]
    fn and_bits(self, other: Self) -> Self {
        Avx512(operation!(_mm512_and_pd(self.0, other.0)))
    }

    #[inline(always)]
    fn or_bits(self, other: Self) -> Self {
        Avx512(operation!(_mm512_or_pd(self.0, other.0)))
    }

    #[inline(always)]
    fn xor_bits(self, other: Self) -> Self {
        Avx512(operation!(_mm512_xor_pd(self.0, other.0)))
    }

    #[inline(always)]
    fn add_bits(self, other: Self) -> Self {
        doubles(operation!(_mm512_add_epi64(
            integers(self),
            integers(other)
        )))
    }

    #[inline(always)]
    fn exponent(self) -> Self {
        Avx512(operation!(_mm512_getexp_pd(self.0)))
    }

    #[inline(always)]
    fn pick(self, table: &[f64; 16]) -> Self {
        let (low, high) = (Self::load(&table[..8]), Self::load(&table[8..]));
        let places = integers(self);
        Avx512(operation!(_mm512_permutex2var_pd(low.0, places, high.0)))
    }

    #[inline(always)]
    fn shift_left(self, bits: i32) -> Self {
        doubles(operation!(_mm512_sll_epi64(
            integers(self),
            _mm_cvtsi32_si128(bits)
        )))
    }

    #[inline(always)]
    fn shift_right(self, bits: i32) -> Self {
        doubles(operation!(_mm512_srl_epi64(
            integers(self),
            _mm_cvtsi32_si128(bits)
        )))
    }
}
