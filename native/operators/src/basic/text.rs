//! `toString`: a matrix as text.

use fulgurite_error::Result;
use fulgurite_hop::scalar::LimitedString;
use fulgurite_matrix::{MatrixBlock, java_double};

/// How a matrix is written.
#[derive(Debug)]
pub(super) struct Layout {
    /// At most so many rows and columns, from the first ones.
    pub rows: usize,
    pub cols: usize,
    /// Digits after the point: at least so many; those beyond the third are cut, unless more are asked for.
    pub decimal: usize,
    /// Lines `row column value` of the non-zeros.
    pub sparse: bool,
    pub separator: String,
    /// Ends every row.
    pub line_separator: String,
}

impl Default for Layout {
    /// That of `toString(X)`.
    fn default() -> Self {
        Layout {
            rows: 100,
            cols: 100,
            decimal: 3,
            sparse: false,
            separator: " ".to_owned(),
            line_separator: "\n".to_owned(),
        }
    }
}

/// The text of `toString(X)`.
///
/// # Errors
/// `memory`, for more text than a string may have.
pub fn matrix_text(matrix: &MatrixBlock) -> Result<String> {
    matrix_to_text(matrix, &Layout::default())
}

const FEWEST_MOST_DIGITS: usize = 3;

/// # Errors
/// `memory`, for more text than a string may have.
pub(super) fn matrix_to_text(matrix: &MatrixBlock, layout: &Layout) -> Result<String> {
    let mut text = LimitedString::default();
    for row in 0..matrix.rows().min(layout.rows) {
        for col in 0..matrix.cols().min(layout.cols) {
            let value = matrix.get(row, col);
            if layout.sparse {
                if value != 0.0 {
                    let (row, col) = ((row + 1).to_string(), (col + 1).to_string());
                    for (place, part) in
                        [row, col, number(value, layout.decimal)].iter().enumerate()
                    {
                        if place > 0 {
                            text.push(&layout.separator)?;
                        }
                        text.push(part)?;
                    }
                    text.push(&layout.line_separator)?;
                }
            } else {
                if col > 0 {
                    text.push(&layout.separator)?;
                }
                text.push(&number(value, layout.decimal))?;
            }
        }
        if !layout.sparse {
            text.push(&layout.line_separator)?;
        }
    }
    Ok(text.into_string())
}

/// Halves are rounded to even digits.
fn number(value: f64, decimal: usize) -> String {
    if !value.is_finite() {
        return java_double(value);
    }
    let text = format!("{value:.*}", decimal.max(FEWEST_MOST_DIGITS));
    let (whole, digits) = text.split_once('.').unwrap_or((&text, ""));
    let mut digits = digits;
    while digits.len() > decimal && digits.ends_with('0') {
        digits = &digits[..digits.len() - 1];
    }
    let is_zero = whole
        .chars()
        .chain(digits.chars())
        .all(|c| matches!(c, '-' | '0'));
    let whole = if is_zero { "0" } else { whole };
    if digits.is_empty() {
        whole.to_owned()
    } else {
        format!("{whole}.{digits}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_between_the_fewest_and_the_most_digits() {
        let numbers = [
            1.0,
            2.5,
            0.00049,
            -0.0004,
            1234567.12345,
            0.0625,
            f64::NAN,
            f64::INFINITY,
        ];
        let shown = |decimal| numbers.map(|value| number(value, decimal)).join(" ");
        assert_eq!(
            shown(3),
            "1.000 2.500 0.000 0.000 1234567.123 0.062 NaN Infinity"
        );
        assert_eq!(shown(1), "1.0 2.5 0.0 0.0 1234567.123 0.062 NaN Infinity");
        assert_eq!(shown(0), "1 2.5 0 0 1234567.123 0.062 NaN Infinity");
        assert_eq!(number(0.00049, 5), "0.00049");
    }
}
