//! Files of matrices and scalars: csv, text (`row column value` lines), MatrixMarket, libsvm, and blocks in Arrow's
//! IPC format; each with SystemML's `.mtd` metadata beside it.
//!
//! [`resolve`] finds out what a file is without reading it, [`read`] reads it, [`write()`] writes it. They know this
//! machine's files alone: of others, somebody else finds the metadata ([`resolve_found`]) and brings a copy ([`read_copy`]).
//! [`parse_text`] parses some lines of a text, and [`format_text`] makes lines of a stripe, for workers, which have files in parts; both by the rules of [`read`] and [`write()`].
//! Cells that workers have read in any order become stripes with [`spread_cells`] and [`gather_cells`].
//!
//! A file appears under its name when it is complete: nothing half-written stays behind.

pub mod csv;

mod bad_line;
mod cells;
mod chunks;
mod files;
mod gather;
mod in_order;
mod libsvm;
mod matrix_market;
mod metadata;
mod numbers;
mod pending;
mod read;
mod records;
mod replacing;
#[cfg(test)]
mod tests;
mod text;
mod write;

pub use bad_line::BadLine;
pub use cells::Symmetry;
pub use csv::CsvOptions;
pub use files::{is_local, local_path, of_another_file_system, scheme, text_bytes};
pub use gather::{Gathered, gather_cells, spread_cells};
pub use matrix_market::MatrixMarketHeader;
pub use metadata::{FileFormat, Metadata};
pub use read::{Access, Contents, read, read_bytes_as, read_copy, resolve, resolve_found};
pub use text::{Outcome, ParsedLines, TextFormat, WrittenText, format_text, parse_text};
pub use write::{WriteOptions, write, write_frame, write_scalar};
