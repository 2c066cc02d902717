//! Seconds to dummy-code 10 columns of 1000 categories: `encode ROWS`.

use std::time::Instant;

use fulgurite_error::{Error, Result};
use fulgurite_frame::{
    Frame, TextBuilder,
    transform::{self, Spec},
};

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).unwrap_or_else(|| "1000000".into());
    let rows: u64 = rows
        .parse()
        .map_err(|_| Error::argument(format!("'{rows}' is no number of rows")))?;
    let mut columns = Vec::new();
    for column in 0..10_u64 {
        let mut builder = TextBuilder::default();
        for row in 0..rows {
            let mixed = (row * 10 + column).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
            builder.push(Some(&format!("value {}", mixed % 1000)))?;
        }
        columns.push(builder.finish()?);
    }
    let frame = Frame::new(columns, None)?;
    let spec = Spec::parse("{ids: true, dummycode: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]}")?;
    for _ in 0..3 {
        let start = Instant::now();
        let (matrix, meta) = transform::encode(&frame, &spec)?;
        let encoded = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let again = transform::apply(&frame, &spec, &meta)?;
        let applied = start.elapsed().as_secs_f64();
        println!(
            "{} x {}, nnz {}: encode {encoded:.3} s, apply {applied:.3} s",
            matrix.rows(),
            matrix.cols(),
            again.nnz()
        );
    }
    Ok(())
}
