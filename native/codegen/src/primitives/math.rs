//! Exponentials and logarithms, four at a time where there is AVX2; about one unit in the last place.
//!
//! Infinities, NaN, zeros and subnormal numbers come out as from the scalar functions.

/// `out[i] = e^x[i]`
pub(super) fn exp(x: &[f64], out: &mut [f64]) {
    apply(x, out, Function::Exp);
}

/// `out[i] = ln x[i]`
pub(super) fn log(x: &[f64], out: &mut [f64]) {
    apply(x, out, Function::Log);
}

/// `out[i] = 1 / (1 + e^-x[i])`
pub(super) fn sigmoid(x: &[f64], out: &mut [f64]) {
    apply(x, out, Function::Sigmoid);
}

#[derive(Clone, Copy)]
enum Function {
    Exp,
    Log,
    Sigmoid,
}

fn apply(x: &[f64], out: &mut [f64], function: Function) {
    #[cfg(target_arch = "x86_64")]
    if super::has_avx2() {
        // SAFETY: the features were detected.
        unsafe {
            match function {
                Function::Exp => avx2::exp(x, out),
                Function::Log => avx2::log(x, out),
                Function::Sigmoid => avx2::sigmoid(x, out),
            }
        }
        return;
    }
    for (out, x) in out.iter_mut().zip(x) {
        *out = match function {
            Function::Exp => x.exp(),
            Function::Log => x.ln(),
            Function::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        };
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(clippy::excessive_precision)] // the constants as fdlibm prints them
mod avx2 {
    use std::arch::x86_64::*;
    use std::f64::consts::LOG2_E;

    const LN2_HIGH: f64 = 6.931_471_803_691_238_164_90e-1;
    const LN2_LOW: f64 = 1.908_214_929_270_587_700_02e-10;
    /// Adding it moves an integer into the low bits of a double.
    const SHIFTER: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    /// The bits of sqrt(1/2): mantissas are brought to sqrt(1/2) .. sqrt(2).
    const SQRT_HALF: i64 = 0x3fe6_a09e_667f_3bcd;
    const EXPONENT_OF_ONE: i64 = 1023 << 52;

    macro_rules! over_slices {
        ($name:ident, $lanes:ident) => {
            #[target_feature(enable = "avx2,fma")]
            pub(in super::super) fn $name(x: &[f64], out: &mut [f64]) {
                let mut outs = out.chunks_exact_mut(4);
                let mut xs = x.chunks_exact(4);
                for (out, x) in outs.by_ref().zip(xs.by_ref()) {
                    // SAFETY: both chunks have four cells.
                    unsafe {
                        _mm256_storeu_pd(out.as_mut_ptr(), $lanes(_mm256_loadu_pd(x.as_ptr())))
                    };
                }
                let (out, x) = (outs.into_remainder(), xs.remainder());
                let mut cells = [1.0; 4];
                for (cell, x) in cells.iter_mut().zip(x) {
                    *cell = *x;
                }
                // SAFETY: the array has four cells.
                unsafe {
                    let values = $lanes(_mm256_loadu_pd(cells.as_ptr()));
                    _mm256_storeu_pd(cells.as_mut_ptr(), values);
                }
                for (out, cell) in out.iter_mut().zip(cells) {
                    *out = cell;
                }
            }
        };
    }
    over_slices!(exp, exp_lanes);
    over_slices!(log, log_lanes);
    over_slices!(sigmoid, sigmoid_lanes);

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn splat(value: f64) -> __m256d {
        _mm256_set1_pd(value)
    }

    /// 2^n for integral n in the range of exponents.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn power_of_two(n: __m256d) -> __m256d {
        let shifted = _mm256_castpd_si256(_mm256_add_pd(n, splat(SHIFTER + 1023.0)));
        _mm256_castsi256_pd(_mm256_slli_epi64::<52>(shifted))
    }

    /// e^x = 2^n e^r with |r| <= ln(2)/2; e^r by its Taylor series up to r^13.
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn exp_lanes(x: __m256d) -> __m256d {
        // Below, the result is 0: put there at the end, since products that vanish take a hundred cycles.
        let vanishes = _mm256_cmp_pd::<_CMP_LT_OQ>(x, splat(-745.133_219_101_941_2));
        let x = _mm256_andnot_pd(vanishes, x);
        // Beyond, the result is infinite. The operand that may be NaN stands second, where min passes it on.
        let x = _mm256_min_pd(splat(710.0), x);
        let shifted = _mm256_fmadd_pd(x, splat(LOG2_E), splat(SHIFTER));
        let n = _mm256_sub_pd(shifted, splat(SHIFTER));
        let r = _mm256_fnmadd_pd(n, splat(LN2_HIGH), x);
        let r = _mm256_fnmadd_pd(n, splat(LN2_LOW), r);
        // Inverse factorials from 1/13! to 1/2!.
        const TAYLOR: [f64; 12] = [
            1.0 / 6_227_020_800.0,
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
        ];
        let mut tail = splat(TAYLOR[0]);
        for coefficient in &TAYLOR[1..] {
            tail = _mm256_fmadd_pd(tail, r, splat(*coefficient));
        }
        // 1 + (r + r^2 tail), the large term last.
        let small = _mm256_fmadd_pd(_mm256_mul_pd(r, r), tail, r);
        let value = _mm256_add_pd(small, splat(1.0));
        // 2^n in two steps: n goes beyond the range of exponents where the result is subnormal or infinite.
        let half = _mm256_floor_pd(_mm256_mul_pd(n, splat(0.5)));
        let rest = _mm256_sub_pd(n, half);
        let value = _mm256_mul_pd(_mm256_mul_pd(value, power_of_two(half)), power_of_two(rest));
        _mm256_andnot_pd(vanishes, value)
    }

    /// ln x = k ln 2 + ln m with m in sqrt(1/2) .. sqrt(2); ln m by the series of fdlibm in f / (2 + f).
    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn log_lanes(x: __m256d) -> __m256d {
        let subnormal = _mm256_cmp_pd::<_CMP_LT_OQ>(x, splat(f64::MIN_POSITIVE));
        let scaled = _mm256_mul_pd(x, splat(18_014_398_509_481_984.0)); // 2^54
        let normal = _mm256_blendv_pd(x, scaled, subnormal);
        let bits = _mm256_castpd_si256(normal);
        let offset = _mm256_set1_epi64x(EXPONENT_OF_ONE - SQRT_HALF);
        let biased = _mm256_srli_epi64::<52>(_mm256_add_epi64(bits, offset));
        // Exponents are small integers: put into the mantissa of 2^52 they convert to doubles.
        let two52 = splat(4_503_599_627_370_496.0);
        let as_double = _mm256_castsi256_pd(_mm256_or_si256(biased, _mm256_castpd_si256(two52)));
        let k = _mm256_sub_pd(as_double, splat(4_503_599_627_370_496.0 + 1023.0));
        let k = _mm256_sub_pd(k, _mm256_and_pd(subnormal, splat(54.0)));
        let shift = _mm256_slli_epi64::<52>(_mm256_sub_epi64(biased, _mm256_set1_epi64x(1023)));
        let m = _mm256_castsi256_pd(_mm256_sub_epi64(bits, shift));

        let f = _mm256_sub_pd(m, splat(1.0));
        let s = _mm256_div_pd(f, _mm256_add_pd(splat(2.0), f));
        let z = _mm256_mul_pd(s, s);
        const SERIES: [f64; 7] = [
            1.479_819_860_511_658_591e-1,
            1.531_383_769_920_937_332e-1,
            1.818_357_216_161_805_012e-1,
            2.222_219_843_214_978_396e-1,
            2.857_142_874_366_239_149e-1,
            3.999_999_999_940_941_908e-1,
            6.666_666_666_666_735_130e-1,
        ];
        let mut series = splat(SERIES[0]);
        for coefficient in &SERIES[1..] {
            series = _mm256_fmadd_pd(series, z, splat(*coefficient));
        }
        let series = _mm256_mul_pd(series, z);
        let half_square = _mm256_mul_pd(_mm256_mul_pd(f, f), splat(0.5));
        let low = _mm256_fmadd_pd(
            s,
            _mm256_add_pd(half_square, series),
            _mm256_mul_pd(k, splat(LN2_LOW)),
        );
        let inner = _mm256_sub_pd(_mm256_sub_pd(half_square, low), f);
        let value = _mm256_fmsub_pd(k, splat(LN2_HIGH), inner);

        // Infinity and NaN stay themselves; zero gives -inf, negatives NaN.
        let finite = _mm256_cmp_pd::<_CMP_LT_OQ>(x, splat(f64::INFINITY));
        let value = _mm256_blendv_pd(x, value, finite);
        let zero = _mm256_cmp_pd::<_CMP_EQ_OQ>(x, splat(0.0));
        let value = _mm256_blendv_pd(value, splat(f64::NEG_INFINITY), zero);
        let negative = _mm256_cmp_pd::<_CMP_LT_OQ>(x, splat(0.0));
        _mm256_blendv_pd(value, splat(f64::NAN), negative)
    }

    #[target_feature(enable = "avx2,fma")]
    #[inline]
    fn sigmoid_lanes(x: __m256d) -> __m256d {
        let negated = _mm256_xor_pd(x, splat(-0.0));
        let one = splat(1.0);
        _mm256_div_pd(one, _mm256_add_pd(one, exp_lanes(negated)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPECIAL: [f64; 24] = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        f64::MIN_POSITIVE,
        5e-324,
        2.5e-310,
        f64::MAX,
        f64::MIN,
        709.782_712_893_384,
        709.79,
        -708.4,
        -744.9,
        -745.133_219_101_941_1,
        -745.133_219_101_941_2,
        -745.133_219_101_941_3,
        -745.2,
        1e-300,
        0.999_999_999_999_999_9,
        1.000_000_000_000_000_2,
        std::f64::consts::SQRT_2,
    ];

    fn points() -> Vec<f64> {
        let spread = (0..20_000).map(|i| f64::from(i - 10_000) * 0.0731);
        let scales = (-1000..1000).map(|i| 1.37 * 2f64.powi(i));
        SPECIAL.into_iter().chain(spread).chain(scales).collect()
    }

    fn assert_close(function: fn(&[f64], &mut [f64]), reference: fn(f64) -> f64, ulps: u64) {
        let x = points();
        let mut out = vec![0.0; x.len()];
        function(&x, &mut out);
        for (x, got) in x.iter().zip(out) {
            let want = reference(*x);
            let same = got == want || (got.is_nan() && want.is_nan());
            let apart = got.to_bits().abs_diff(want.to_bits());
            assert!(same || apart <= ulps, "f({x:e}) = {got:e}, not {want:e}");
        }
    }

    #[test]
    fn exp_is_close_everywhere() {
        assert_close(exp, f64::exp, 2);
    }

    #[test]
    fn log_is_close_everywhere() {
        assert_close(log, f64::ln, 2);
    }

    #[test]
    fn sigmoid_is_close_everywhere() {
        assert_close(sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 4);
    }
}
