//! What elementary functions need of a vector.
//!
//! Algorithms are written once over [`MathLanes`], as inlined functions, and enter through [`super::run_math`]. There are no
//! such vectors where multiply-add would round in between.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::{Lanes, WIDEST};

const SIGN: u64 = 1 << 63;

/// Work that is written for any vector.
pub(crate) trait MathKernel {
    /// Must be `#[inline(always)]`, and so must all that it calls with vectors.
    fn run<V: MathLanes>(self);
}

/// A vector of doubles, or of 64-bit integers where a name speaks of bits.
///
/// All vectors round as IEEE 754 says and multiply-add without rounding in between, so that a result does not depend on the
/// processor, nor on the lane that a cell came to. Masks are one truth per lane.
pub(crate) trait MathLanes:
    Lanes
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    type Mask: Copy;

    /// The first cells of a slice, which has at least [`Lanes::WIDTH`].
    #[inline(always)]
    fn read(cells: &[f64]) -> Self {
        assert!(cells.len() >= Self::WIDTH);
        // SAFETY: the cells are there.
        unsafe { Self::load(cells.as_ptr()) }
    }

    /// Writes the first cells of a slice, which has at least [`Lanes::WIDTH`].
    #[inline(always)]
    fn write(self, cells: &mut [f64]) {
        assert!(cells.len() >= Self::WIDTH);
        // SAFETY: the cells are there.
        unsafe { self.store(cells.as_mut_ptr()) }
    }

    /// The cells of a slice that may be shorter; ones in the other lanes.
    fn read_part(cells: &[f64]) -> Self;

    /// Writes the cells of a slice that may be shorter.
    #[inline(always)]
    fn write_part(self, cells: &mut [f64]) {
        let count = cells.len().min(Self::WIDTH);
        // SAFETY: so many cells are there.
        unsafe { self.store_first(cells.as_mut_ptr(), count) }
    }

    /// `minuend - self * factor`, rounded once.
    fn subtracted_from(self, factor: Self, minuend: Self) -> Self;
    fn sqrt(self) -> Self;
    /// The largest whole number that is not greater, with the sign of the cell where it is zero.
    fn floor(self) -> Self;
    /// The smaller one; `self` where it is NaN. `bound` is not.
    fn at_most(self, bound: Self) -> Self;

    /// False where one is NaN, as all comparisons.
    fn less(self, other: Self) -> Self::Mask;
    fn less_equal(self, other: Self) -> Self::Mask;
    fn equal(self, other: Self) -> Self::Mask;
    /// Where the topmost bit is set: negative numbers, -0 among them.
    fn top_bit(self) -> Self::Mask;
    fn both(left: Self::Mask, right: Self::Mask) -> Self::Mask;
    fn either(left: Self::Mask, right: Self::Mask) -> Self::Mask;
    fn not(mask: Self::Mask) -> Self::Mask;
    fn select(mask: Self::Mask, then: Self, otherwise: Self) -> Self;
    /// A bit per lane, that of the first lane lowest.
    fn truths(mask: Self::Mask) -> u32;

    fn and_bits(self, other: Self) -> Self;
    fn or_bits(self, other: Self) -> Self;
    fn xor_bits(self, other: Self) -> Self;
    fn add_bits(self, other: Self) -> Self;
    /// By a constant, less than 64.
    fn shift_left(self, bits: i32) -> Self;
    /// By a constant, less than 64; zeros come in.
    fn shift_right(self, bits: i32) -> Self;

    /// The binary logarithm, rounded down, of positive normal numbers.
    #[inline(always)]
    fn exponent(self) -> Self {
        // In the mantissa of 2^52, integers become doubles.
        let two_52 = Self::splat(4_503_599_627_370_496.0);
        self.shift_right(52).or_bits(two_52) - Self::splat(4_503_599_627_370_496.0 + 1023.0)
    }

    /// The cell of a table that the low four bits of each lane name.
    fn pick(self, table: &[f64; 16]) -> Self;

    #[inline(always)]
    fn splat_bits(bits: u64) -> Self {
        Self::splat(f64::from_bits(bits))
    }

    #[inline(always)]
    fn all(mask: Self::Mask) -> bool {
        Self::truths(mask) == (1 << Self::WIDTH) - 1
    }

    #[inline(always)]
    fn any(mask: Self::Mask) -> bool {
        Self::truths(mask) != 0
    }

    #[inline(always)]
    fn abs(self) -> Self {
        self.and_bits(Self::splat_bits(!SIGN))
    }

    /// The sign bit alone.
    #[inline(always)]
    fn sign(self) -> Self {
        self.and_bits(Self::splat_bits(SIGN))
    }

    #[inline(always)]
    fn with_sign_of(self, other: Self) -> Self {
        self.abs().or_bits(other.sign())
    }

    /// The polynomial at `self`, coefficients from the highest power down. Odd and even powers are separate chains of operations,
    /// since one would take longer than all else that the processor can do meanwhile.
    #[inline(always)]
    fn polynomial<const N: usize>(self, coefficients: &[f64; N]) -> Self {
        let square = self * self;
        let mut last = Self::splat(coefficients[1]);
        let mut before = Self::splat(coefficients[0]);
        for coefficient in &coefficients[2..] {
            let next = before.mul_add(square, Self::splat(*coefficient));
            (before, last) = (last, next);
        }
        before.mul_add(self, last)
    }

    /// `self`, but the scalar function of `x` and `y` where the mask says so: for arguments that are rare.
    #[inline(always)]
    fn with_scalar_of_two(
        self,
        mask: Self::Mask,
        (x, y): (Self, Self),
        function: fn(f64, f64) -> f64,
    ) -> Self {
        let [mut values, mut xs, mut ys] = [[0.0; WIDEST]; 3];
        self.write(&mut values);
        x.write(&mut xs);
        y.write(&mut ys);
        let truths = Self::truths(mask);
        for (lane, (value, (x, y))) in values.iter_mut().zip(xs.iter().zip(&ys)).enumerate() {
            if truths >> lane & 1 == 1 {
                *value = function(*x, *y);
            }
        }
        Self::read(&values)
    }

    /// `self`, but the scalar function of `x` where the mask says so: for arguments that are rare.
    #[inline(always)]
    fn with_scalar(self, mask: Self::Mask, x: Self, function: fn(f64) -> f64) -> Self {
        let mut values = [0.0; WIDEST];
        let mut arguments = [0.0; WIDEST];
        self.write(&mut values);
        x.write(&mut arguments);
        let truths = Self::truths(mask);
        for (lane, (value, x)) in values.iter_mut().zip(arguments).enumerate() {
            if truths >> lane & 1 == 1 {
                *value = function(x);
            }
        }
        Self::read(&values)
    }
}

/// The arithmetic operators of a vector type.
macro_rules! arithmetic {
    ($vector:ident, $add:ident, $sub:ident, $mul:ident, $div:ident) => {
        arithmetic!(@operator $vector, Add, add, $add);
        arithmetic!(@operator $vector, Sub, sub, $sub);
        arithmetic!(@operator $vector, Mul, mul, $mul);
        arithmetic!(@operator $vector, Div, div, $div);

        impl std::ops::Neg for $vector {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                self.xor_bits(Self::splat(-0.0))
            }
        }
    };
    (@operator $vector:ident, $trait:ident, $method:ident, $intrinsic:ident) => {
        impl std::ops::$trait for $vector {
            type Output = Self;

            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                // SAFETY: values of this type only exist where the instructions are enabled.
                $vector(unsafe { $intrinsic(self.0, other.0) })
            }
        }
    };
}
pub(super) use arithmetic;
