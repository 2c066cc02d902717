//! Comparison of the numbers that tests find with those they expect.

#![forbid(unsafe_code)]

/// Whether a number is the expected one up to rounding.
///
/// The tolerance is relative to the magnitude of `expected`, and absolute below 1. NaN equals NaN. An infinity is
/// close to itself alone: as a scale it would admit any finite number.
pub fn is_close(found: f64, expected: f64, tolerance: f64) -> bool {
    let difference = (found - expected).abs();
    found == expected
        || (found.is_nan() && expected.is_nan())
        || (difference.is_finite() && difference <= tolerance * expected.abs().max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;

    #[test]
    fn the_tolerance_is_relative_above_one_and_absolute_below() {
        assert!(is_close(1000.0, 1000.9, 1e-3));
        assert!(!is_close(1000.0, 1001.1, 1e-3));
        assert!(is_close(1e-4, 9e-4, 1e-3));
        assert!(!is_close(1e-4, 2e-3, 1e-3));
        assert!(is_close(-5.0, -5.0, 0.0));
        assert!(is_close(0.0, -0.0, 0.0));
    }

    #[test]
    fn the_scale_is_that_of_the_expected_number() {
        assert!(is_close(1.0, 2.0, 0.5));
        assert!(!is_close(2.0, 1.0, 0.5));
    }

    #[test]
    fn an_infinity_is_close_to_itself_alone() {
        for infinity in [f64::INFINITY, f64::NEG_INFINITY] {
            assert!(is_close(infinity, infinity, 1e-9));
            for other in [0.0, 1.0, -1.0, f64::MAX, f64::MIN, -infinity, NAN] {
                assert!(!is_close(other, infinity, 1e-9), "{other} for {infinity}");
                assert!(!is_close(infinity, other, 1e-9), "{infinity} for {other}");
            }
        }
        // The difference of finite numbers overflows.
        assert!(!is_close(f64::MAX, f64::MIN, 1e-9));
    }

    #[test]
    fn nan_is_close_to_nan_alone() {
        assert!(is_close(NAN, NAN, 0.0));
        assert!(is_close(NAN, -NAN, 0.0));
        for number in [0.0, 1.0, f64::MAX] {
            assert!(!is_close(number, NAN, 1e-9), "{number} for NaN");
            assert!(!is_close(NAN, number, 1e-9), "NaN for {number}");
        }
    }
}
