//! Four lanes: AVX2 and FMA.

use std::arch::x86_64::*;

use super::math::{MathKernel, MathLanes, arithmetic};
use super::{Kernel, Lanes, TOGETHER};

pub(super) const WIDTH: usize = 4;

#[inline]
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

#[target_feature(enable = "avx2,fma")]
pub(super) fn run_math(kernel: impl MathKernel) {
    kernel.run::<Avx2>();
}

/// Only made inside functions that enable AVX2 and FMA.
#[derive(Clone, Copy)]
pub(super) struct Avx2(__m256d);

impl Lanes for Avx2 {
    const WIDTH: usize = WIDTH;
    const GROUP: usize = 2;
    const TILE: (usize, usize) = (6, 2);

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
    unsafe fn turn(square: *const f64, across: usize, out: *mut f64, down: usize) {
        // SAFETY: the caller promises the cells of both squares.
        unsafe {
            let row = |at: usize| square.add(at * across);
            let (a, b) = (_mm256_loadu_pd(row(0)), _mm256_loadu_pd(row(1)));
            let (c, d) = (_mm256_loadu_pd(row(2)), _mm256_loadu_pd(row(3)));
            // Columns 0 and 2, then 1 and 3, of two rows.
            let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
            let (even_below, odd_below) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
            let column = |at: usize| out.add(at * down);
            let first = _mm256_permute2f128_pd::<0x20>(even, even_below);
            let second = _mm256_permute2f128_pd::<0x20>(odd, odd_below);
            let third = _mm256_permute2f128_pd::<0x31>(even, even_below);
            let fourth = _mm256_permute2f128_pd::<0x31>(odd, odd_below);
            _mm256_storeu_pd(column(0), first);
            _mm256_storeu_pd(column(1), second);
            _mm256_storeu_pd(column(2), third);
            _mm256_storeu_pd(column(3), fourth);
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
fn first(count: usize) -> __m256i {
    const MASKS: [i64; 2 * WIDTH] = [-1, -1, -1, -1, 0, 0, 0, 0];
    let from = WIDTH - count.min(WIDTH);
    // SAFETY: four numbers from `from <= WIDTH` on lie within the array.
    unsafe { _mm256_loadu_si256(MASKS.as_ptr().add(from).cast()) }
}

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

impl MathLanes for Avx2 {
    /// The topmost bit of each lane counts.
    type Mask = __m256d;

    #[inline(always)]
    fn read_part(cells: &[f64]) -> Self {
        let mask = first(cells.len());
        // SAFETY: lanes that the mask leaves out are not touched; the others are cells of the slice.
        let loaded = unsafe { _mm256_maskload_pd(cells.as_ptr(), mask) };
        Self::select(doubles(mask).0, Avx2(loaded), Self::splat(1.0))
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
    fn floor(self) -> Self {
        Avx2(operation!(_mm256_floor_pd(self.0)))
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
