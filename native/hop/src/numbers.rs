//! Doubles as whole numbers.

/// What is added before a double becomes an index or an int: 2^-53, so that only values just below 1
/// and 2 go up.
pub(crate) const INDEX_EPSILON: f64 = 1.1102230246251565e-16;

/// A double as an index, a size or an int: floored, NaN as 0, saturating.
pub fn double_to_int(value: f64) -> i64 {
    (value + INDEX_EPSILON).floor() as i64
}
