//! A frame as text.

use std::fmt::Write;

use fulgurite_error::Result;
use fulgurite_matrix::memory;

use crate::{Cell, Frame};

impl Frame {
    /// As SystemDS prints frames: three lines that begin with `#`, then a line for each row.
    ///
    /// `rows` and `cols` limit what is printed; numbers with a fraction have `decimals` digits of it.
    ///
    /// # Errors
    /// `memory`.
    pub fn to_text(
        &self,
        rows: usize,
        cols: usize,
        decimals: usize,
        separator: &str,
        line_end: &str,
    ) -> Result<String> {
        let (rows, cols) = (rows.min(self.rows()), cols.min(self.cols()));
        let mut text = format!(
            "# FRAME: nrow = {}, ncol = {}{line_end}",
            self.rows(),
            self.cols()
        );
        let names = self.names().iter().take(cols).map(|name| name.to_string());
        let types = self
            .schema()
            .into_iter()
            .take(cols)
            .map(|kind| kind.to_string());
        for line in [names.collect::<Vec<_>>(), types.collect()] {
            // Writing to a string can't fail.
            let _ = write!(text, "#{separator}{}{line_end}", line.join(separator));
        }
        for row in 0..rows {
            if row.is_power_of_two() {
                // The text is about twice as long when the rows are.
                memory::admit(text.len())?;
            }
            for col in 0..cols {
                if col > 0 {
                    text.push_str(separator);
                }
                match self.cell(row, col) {
                    None => text.push_str("null"),
                    Some(Cell::Fp64(value)) if value.is_finite() => {
                        let _ = write!(text, "{value:.decimals$}");
                    }
                    Some(Cell::Fp32(value)) if value.is_finite() => {
                        let _ = write!(text, "{value:.decimals$}");
                    }
                    Some(cell) => text.push_str(&cell.text()),
                }
            }
            text.push_str(line_end);
        }
        Ok(text)
    }
}
