//! Eight lanes: the foundation of AVX-512.

use std::arch::x86_64::*;

use super::math::{MathKernel, MathLanes, arithmetic};
use super::{Kernel, Lanes, TOGETHER};

pub(super) const WIDTH: usize = 8;

#[inline]
pub(super) fn is_present() -> bool {
    // Detecting AVX-512 implies AVX2 and FMA.
    std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512vl")
}

/// (AVX512VL gives halves of vectors all 32 registers: without, sums of vectors are kept in the lower 16, and spilled.)
///
/// # Safety
/// As the kernel says, and [`is_present`].
#[target_feature(enable = "avx512f,avx512vl")]
pub(super) unsafe fn run(kernel: impl Kernel) {
    // SAFETY: the caller's promise.
    unsafe { kernel.run::<Avx512>() }
}

/// Elementary functions need bitwise operations on doubles, too (DQ).
pub(super) fn has_math() -> bool {
    is_present() && std::arch::is_x86_feature_detected!("avx512dq")
}

#[target_feature(enable = "avx512f,avx512dq")]
pub(super) fn run_math(kernel: impl MathKernel) {
    kernel.run::<Avx512>();
}

/// Only made inside functions that enable AVX-512.
#[derive(Clone, Copy)]
pub(super) struct Avx512(__m512d);

impl Lanes for Avx512 {
    const WIDTH: usize = WIDTH;
    const GROUP: usize = 4;
    const TILE: (usize, usize) = (8, 3);

    #[inline(always)]
    fn splat(value: f64) -> Self {
        // SAFETY: this type is only used where AVX-512 was detected. So it is in all of its functions.
        Avx512(unsafe { _mm512_set1_pd(value) })
    }

    #[inline(always)]
    unsafe fn load(pointer: *const f64) -> Self {
        // SAFETY: the caller promises eight readable cells.
        Avx512(unsafe { _mm512_loadu_pd(pointer) })
    }

    #[inline(always)]
    unsafe fn store(self, pointer: *mut f64) {
        // SAFETY: the caller promises eight writable cells.
        unsafe { _mm512_storeu_pd(pointer, self.0) }
    }

    #[inline(always)]
    unsafe fn load_first(pointer: *const f64, count: usize) -> Self {
        // SAFETY: lanes that the mask leaves out are not touched, and the caller promises the others.
        Avx512(unsafe { _mm512_maskz_loadu_pd(first(count), pointer) })
    }

    #[inline(always)]
    unsafe fn store_first(self, pointer: *mut f64, count: usize) {
        // SAFETY: as for `load_first`.
        unsafe { _mm512_mask_storeu_pd(pointer, first(count), self.0) }
    }

    #[inline(always)]
    unsafe fn gather(pointer: *const f64, indices: *const i32) -> Self {
        // SAFETY: the caller promises eight indices, of cells from the pointer on.
        unsafe {
            let indices = _mm256_loadu_si256(indices.cast());
            Avx512(_mm512_i32gather_pd::<8>(indices, pointer))
        }
    }

    #[inline(always)]
    unsafe fn gather_first(pointer: *const f64, indices: *const i32, count: usize) -> Self {
        // SAFETY: lanes that the mask leaves out are not touched, and the caller promises the others.
        unsafe {
            let mask = first(count);
            let indices = _mm256_maskz_loadu_epi32(mask, indices);
            let zeros = _mm512_setzero_pd();
            Avx512(_mm512_mask_i32gather_pd::<8>(zeros, mask, indices, pointer))
        }
    }

    #[inline(always)]
    fn mul_add(self, factor: Self, addend: Self) -> Self {
        // SAFETY: see `splat`.
        Avx512(unsafe { _mm512_fmadd_pd(self.0, factor.0, addend.0) })
    }

    #[inline(always)]
    fn sum(self) -> f64 {
        // As `sums` adds. SAFETY: see `splat`.
        unsafe {
            let high = _mm512_extractf64x4_pd::<1>(self.0);
            let halves = _mm256_add_pd(_mm512_castpd512_pd256(self.0), high);
            let pairs = _mm256_hadd_pd(halves, halves);
            let high = _mm256_extractf128_pd::<1>(pairs);
            _mm_cvtsd_f64(_mm_add_pd(_mm256_castpd256_pd128(pairs), high))
        }
    }

    #[inline(always)]
    fn sums(vectors: [Self; TOGETHER]) -> [f64; TOGETHER] {
        let mut sums = [0.0; TOGETHER];
        // SAFETY: see `splat`; the array has four cells.
        unsafe {
            // No closure: what is called is compiled without the instructions.
            let mut halves = [_mm256_setzero_pd(); TOGETHER];
            for (half, vector) in halves.iter_mut().zip(vectors) {
                let high = _mm512_extractf64x4_pd::<1>(vector.0);
                *half = _mm256_add_pd(_mm512_castpd512_pd256(vector.0), high);
            }
            let left = _mm256_hadd_pd(halves[0], halves[1]);
            let right = _mm256_hadd_pd(halves[2], halves[3]);
            let crossed = _mm256_permute2f128_pd::<0x21>(left, right);
            let straight = _mm256_blend_pd::<0b1100>(left, right);
            _mm256_storeu_pd(sums.as_mut_ptr(), _mm256_add_pd(crossed, straight));
        }
        sums
    }

    #[inline(always)]
    unsafe fn turn(square: *const f64, across: usize, out: *mut f64, down: usize) {
        // SAFETY: the caller promises the cells of both squares.
        unsafe {
            // Pairs of two rows' neighbours: of the even columns and of the odd ones.
            let mut pairs = [_mm512_setzero_pd(); WIDTH];
            for at in 0..WIDTH / 2 {
                let upper = _mm512_loadu_pd(square.add(2 * at * across));
                let lower = _mm512_loadu_pd(square.add((2 * at + 1) * across));
                pairs[at] = _mm512_unpacklo_pd(upper, lower);
                pairs[WIDTH / 2 + at] = _mm512_unpackhi_pd(upper, lower);
            }
            for odd in 0..2 {
                let from = odd * WIDTH / 2;
                let (a, b) = (pairs[from], pairs[from + 1]);
                let (c, d) = (pairs[from + 2], pairs[from + 3]);
                // Columns 0 and 4, then 2 and 6, of rows 0 to 3 and 4 to 7.
                let first = _mm512_shuffle_f64x2::<0x88>(a, b);
                let third = _mm512_shuffle_f64x2::<0xDD>(a, b);
                let first_below = _mm512_shuffle_f64x2::<0x88>(c, d);
                let third_below = _mm512_shuffle_f64x2::<0xDD>(c, d);
                let column = |at: usize| out.add((at + odd) * down);
                _mm512_storeu_pd(column(0), _mm512_shuffle_f64x2::<0x88>(first, first_below));
                _mm512_storeu_pd(column(4), _mm512_shuffle_f64x2::<0xDD>(first, first_below));
                _mm512_storeu_pd(column(2), _mm512_shuffle_f64x2::<0x88>(third, third_below));
                _mm512_storeu_pd(column(6), _mm512_shuffle_f64x2::<0xDD>(third, third_below));
            }
        }
    }

    #[inline(always)]
    fn prefetch(pointer: *const f64) {
        // SAFETY: prefetching reads nothing that the program could see, and does not fault.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(pointer.cast()) }
    }
}

/// A mask of the first `count` lanes.
#[inline(always)]
fn first(count: usize) -> __mmask8 {
    (u16::from(u8::MAX) >> (WIDTH - count.min(WIDTH))) as u8
}

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

impl MathLanes for Avx512 {
    type Mask = __mmask8;

    #[inline(always)]
    fn read_part(cells: &[f64]) -> Self {
        let ones = Self::splat(1.0).0;
        // SAFETY: lanes that the mask leaves out are not touched; the others are cells of the slice.
        Avx512(unsafe { _mm512_mask_loadu_pd(ones, first(cells.len()), cells.as_ptr()) })
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
    fn floor(self) -> Self {
        const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
        Avx512(operation!(_mm512_roundscale_pd::<DOWN>(self.0)))
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
        let (low, high) = (Self::read(&table[..8]), Self::read(&table[8..]));
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
