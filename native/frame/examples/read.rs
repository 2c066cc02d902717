//! Seconds to read a csv file of five columns, three of them numbers: `read ROWS`.

use std::{fmt::Write, time::Instant};

use fulgurite_error::{Error, Result};
use fulgurite_frame::{
    ColumnType,
    csv::{self, CsvFormat},
};

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).unwrap_or_else(|| "1000000".into());
    let rows: u64 = rows
        .parse()
        .map_err(|_| Error::argument(format!("'{rows}' is no number of rows")))?;
    let mut text = String::new();
    for row in 0..rows {
        let mixed = row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        let number = mixed as f64 / 977.0;
        // Writing to a string can't fail.
        let _ = writeln!(
            text,
            "value {},city {},{number},{},{mixed}",
            mixed % 1000,
            mixed % 97,
            number * 3.0
        );
    }
    let types = [
        ColumnType::String,
        ColumnType::String,
        ColumnType::Fp64,
        ColumnType::Fp64,
        ColumnType::Int64,
    ];
    for _ in 0..3 {
        for schema in [None, Some(&types[..])] {
            let start = Instant::now();
            let frame = csv::read(text.as_bytes(), &CsvFormat::default(), schema)?;
            let seconds = start.elapsed().as_secs_f64();
            let megabytes = text.len() as f64 / 1e6;
            println!(
                "{} x {}, {megabytes:.0} MB, {} types: {seconds:.3} s, {:.0} MB/s",
                frame.rows(),
                frame.cols(),
                if schema.is_some() { "with" } else { "without" },
                megabytes / seconds
            );
        }
    }
    Ok(())
}
