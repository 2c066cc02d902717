//! Lines of text where a worker has them: some megabytes of whole lines at a time, on the thread of its task.

use std::io::Write;

use fulgurite_error::{Error, Result};
use serde::{Deserialize, Serialize};

use super::{
    BadLine, CsvOptions, MatrixMarketHeader, Symmetry,
    cells::{self, CellForm},
    chunks::{count_lines, without_mark},
    csv, libsvm, matrix_market,
};
use crate::{Block, MatrixBlock, parse_double};

/// What lines are, and what they become.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum TextFormat {
    /// Stripes; without `columns` how many there are, as the first line that is not blank says.
    Csv {
        separator: String,
        /// Empty cells are `default` (a number as text: JSON has no NaN); otherwise they are errors.
        fill: bool,
        default: String,
        na_strings: Vec<String>,
        columns: Option<usize>,
        most_rows: usize,
    },
    /// Stripes; without `columns`, which count the label, how many there are.
    Libsvm {
        columns: Option<usize>,
        most_rows: usize,
        most_bytes: usize,
    },
    /// Cells: rows of row and column, from 1, and value.
    Cells {
        rows: Option<usize>,
        cols: Option<usize>,
        pattern: bool,
        symmetry: Symmetry,
    },
    /// Values of an array: a column.
    Values,
    /// The first bytes of a MatrixMarket file.
    Header,
}

/// What lines gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Matrices(Vec<MatrixBlock>),
    /// Columns; `None` where no line says.
    Columns(Option<usize>),
    Header(MatrixMarketHeader),
    Bad(BadLine),
}

/// What lines gave, and what a reader may want to know of them.
#[derive(Debug, Clone, PartialEq)]
pub struct ParsedLines {
    pub outcome: Outcome,
    pub lines: usize,
    /// csv: cells that were empty and became the default.
    pub empty_cells: usize,
    /// libsvm: `qid:` entries, which are left out.
    pub query_ids: usize,
}

/// Parses whole lines on this thread.
///
/// # Errors
/// `argument` for the format, `data` and `unsupported` for a header. A bad line is an outcome.
pub fn parse_text(text: &[u8], format: &TextFormat) -> Result<ParsedLines> {
    let text = without_mark(text);
    let parsed = |outcome| ParsedLines {
        outcome,
        lines: count_lines(text),
        empty_cells: 0,
        query_ids: 0,
    };
    let (mut empty_cells, mut query_ids) = (0, 0);
    let matrices = match format {
        TextFormat::Csv {
            separator,
            fill,
            default,
            na_strings,
            columns,
            most_rows,
        } => {
            let options = CsvOptions {
                separator: separator.clone(),
                header: false,
                fill: *fill,
                default: parse_double(default)
                    .ok_or_else(|| Error::argument(format!("'{default}' is not a number")))?,
                na_strings: na_strings.clone(),
                cols: *columns,
            };
            let Some(columns) = *columns else {
                let columns = csv::count_cells(text, &options)?;
                return Ok(parsed(Outcome::Columns(columns)));
            };
            csv::parse_stripes(text, &options, columns, *most_rows)?.map(|(stripes, empty)| {
                empty_cells = empty;
                stripes
            })
        }
        TextFormat::Libsvm {
            columns,
            most_rows,
            most_bytes,
        } => {
            let Some(columns) = *columns else {
                let largest = usize::try_from(libsvm::largest_index(text)).unwrap_or(0);
                return Ok(parsed(Outcome::Columns(Some(largest.saturating_add(1)))));
            };
            libsvm::parse_stripes(text, columns, *most_rows, *most_bytes)?.map(|(stripes, ids)| {
                query_ids = ids;
                stripes
            })
        }
        TextFormat::Cells {
            rows,
            cols,
            pattern,
            symmetry,
        } => {
            let form = CellForm {
                rows: *rows,
                cols: *cols,
                pattern: *pattern,
                symmetry: *symmetry,
            };
            form.parse_cells(text)?
        }
        TextFormat::Values => matrix_market::parse_column(text)?,
        TextFormat::Header => {
            let header = matrix_market::header_of(text)?;
            return Ok(parsed(Outcome::Header(header)));
        }
    };
    Ok(ParsedLines {
        empty_cells,
        query_ids,
        ..parsed(matrices.map_or_else(Outcome::Bad, Outcome::Matrices))
    })
}

/// What the rows of a stripe are written as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum WrittenText {
    Csv {
        separator: String,
        /// A line `C1,C2,...` before the rows.
        header: bool,
        /// Zeros are empty cells.
        sparse: bool,
    },
    /// `row column value` for what is not zero.
    Cells,
    Libsvm,
}

/// Writes the lines of a stripe, as [`super::write()`] writes those of a matrix.
///
/// # Errors
/// `argument` for the format; `failed` makes one of what the writer says.
pub fn format_text(
    stripe: &Block,
    format: &WrittenText,
    mut output: impl Write,
    failed: impl Fn(std::io::Error) -> Error,
) -> Result<()> {
    const BYTES_AT_A_TIME: usize = 1 << 18;
    const CELLS_AT_A_TIME: usize = 1 << 12;
    let matrix = &stripe.matrix;
    let mut text = Vec::new();
    if let WrittenText::Csv {
        separator, header, ..
    } = format
    {
        if separator.is_empty() {
            return Err(Error::argument("cells cannot be separated by nothing"));
        }
        if *header {
            text = csv::header_line(matrix.cols(), separator).into_bytes();
        }
    }
    // Of coordinates that become cells only what is stored counts: most rows are empty.
    let coordinates = match (format, matrix) {
        (WrittenText::Cells, MatrixBlock::Coordinate(coordinates)) => Some(coordinates),
        _ => None,
    };
    let (units, height) = match coordinates {
        Some(coordinates) => (coordinates.stored(), CELLS_AT_A_TIME),
        None => (
            matrix.rows(),
            (CELLS_AT_A_TIME / matrix.cols().max(1)).max(1),
        ),
    };
    for from in (0..units).step_by(height) {
        let some = from..(from + height).min(units);
        match (format, coordinates) {
            (_, Some(coordinates)) => {
                cells::format_coordinates(coordinates, stripe.row_offset, some, &mut text);
            }
            (
                WrittenText::Csv {
                    separator, sparse, ..
                },
                None,
            ) => csv::format_rows(matrix, some, separator, *sparse, &mut text)?,
            (WrittenText::Cells, None) => {
                cells::format_rows(matrix, stripe.row_offset, some, &mut text);
            }
            (WrittenText::Libsvm, None) => libsvm::format_rows(matrix, some, &mut text),
        }
        if text.len() >= BYTES_AT_A_TIME {
            output.write_all(&text).map_err(&failed)?;
            text.clear();
        }
    }
    output.write_all(&text).map_err(failed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        io::{Access, Contents, FileFormat, Metadata, WriteOptions, read, write},
        kernels,
    };

    fn csv(columns: Option<usize>, most_rows: usize) -> TextFormat {
        TextFormat::Csv {
            separator: ",".into(),
            fill: true,
            default: "0".into(),
            na_strings: vec!["NA".into()],
            columns,
            most_rows,
        }
    }

    fn matrices(text: &str, format: &TextFormat) -> Vec<MatrixBlock> {
        let parsed = parse_text(text.as_bytes(), format).unwrap();
        assert_eq!(parsed.lines, text.lines().count());
        match parsed.outcome {
            Outcome::Matrices(matrices) => matrices,
            other => panic!("{other:?}"),
        }
    }

    /// Sparse layouts know no zero with a sign.
    fn bits(matrix: &MatrixBlock) -> (usize, Vec<u64>) {
        let dense = matrix.to_dense().unwrap();
        let cells = dense.values().iter();
        (
            dense.cols(),
            cells.map(|cell| (cell + 0.0).to_bits()).collect(),
        )
    }

    fn below(matrices: &[MatrixBlock]) -> (usize, Vec<u64>) {
        let parts: Vec<&MatrixBlock> = matrices.iter().collect();
        bits(&kernels::rbind(&parts).unwrap())
    }

    fn read_whole(text: &str, metadata: &Metadata) -> MatrixBlock {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("X").to_string_lossy().into_owned();
        std::fs::write(&path, text).unwrap();
        match read(&path, metadata, Access::Copied).unwrap() {
            Contents::Matrix(matrix) => matrix,
            other => panic!("no matrix: {other:?}"),
        }
    }

    fn cell() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<f64>().prop_map(|value| format!("{value:?}").replace("inf", "Infinity")),
            (0u32..1000).prop_map(|value| value.to_string()),
            Just(" ".to_owned()),
            Just("NA".to_owned()),
            Just("0".to_owned()),
            Just("+3".to_owned()),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn stripes_of_csv_are_what_the_whole_file_is(
            rows in prop::collection::vec(prop::collection::vec(cell(), 3), 1..40),
            end in prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n")],
            most_rows in 1usize..50,
        ) {
            let lines: Vec<String> = rows.iter().map(|row| row.join(",")).collect();
            let text = lines.join(end);
            let metadata = Metadata {
                format: Some(FileFormat::Csv),
                na_strings: Some(vec!["NA".into()]),
                ..Metadata::default()
            };
            let stripes = matrices(&text, &csv(Some(3), most_rows));
            prop_assert!(stripes.iter().all(|stripe| stripe.rows() <= most_rows));
            prop_assert_eq!(below(&stripes), bits(&read_whole(&text, &metadata)));
        }

        #[test]
        fn written_stripes_are_what_the_whole_file_is(
            cells in prop::collection::vec(prop_oneof![Just(0.0), any::<f64>()], 60),
            at in 1usize..20,
            format in prop_oneof![
                Just((FileFormat::Csv, WrittenText::Csv { separator: ";".into(), header: true, sparse: true })),
                Just((FileFormat::Text, WrittenText::Cells)),
                Just((FileFormat::Libsvm, WrittenText::Libsvm)),
            ],
            sparse in any::<bool>(),
        ) {
            let mut matrix = MatrixBlock::dense(20, 3, cells).unwrap();
            if sparse {
                matrix = MatrixBlock::Csr(matrix.to_csr().unwrap());
            }
            prop_assume!(matrix.nnz() > 0);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("X").to_string_lossy().into_owned();
            let options = WriteOptions {
                separator: ";".into(),
                header: true,
                sparse: true,
                ..WriteOptions::new(format.0)
            };
            write(&matrix, &path, &options).unwrap();
            let mut text = Vec::new();
            for (from, until) in [(0, at), (at, 20)] {
                let format = match &format.1 {
                    WrittenText::Csv { separator, sparse, .. } => WrittenText::Csv {
                        separator: separator.clone(),
                        header: from == 0,
                        sparse: *sparse,
                    },
                    other => other.clone(),
                };
                let stripe = Block::new(from as u64, 0, matrix.slice_rows(from, until));
                format_text(&stripe, &format, &mut text, |error| Error::io(error.to_string())).unwrap();
            }
            prop_assert_eq!(text, std::fs::read(&path).unwrap());
        }
    }

    #[test]
    fn bad_lines_are_counted_across_stripes() {
        let bad = |text: &str, format: &TextFormat| match parse_text(text.as_bytes(), format)
            .unwrap()
            .outcome
        {
            Outcome::Bad(line) => format!("{}: {} | {}", line.line, line.reason, line.text),
            other => panic!("{other:?}"),
        };
        let libsvm = TextFormat::Libsvm {
            columns: Some(3),
            most_rows: 2,
            most_bytes: 1 << 20,
        };
        let cells = TextFormat::Cells {
            rows: Some(3),
            cols: None,
            pattern: false,
            symmetry: Symmetry::General,
        };
        let found = [
            bad("1,2\n\n3,4\n5,x\n", &csv(Some(2), 1)),
            bad("1,2\r\n3", &csv(Some(2), 100)),
            bad("1 1:1\n# none\n2 2:1\n0 3:1 # far\n", &libsvm),
            bad("% note\n1 9 1\n4 1 1\n", &cells),
            bad("1 2\n3 four\n", &TextFormat::Values),
        ];
        insta::assert_snapshot!(found.join("\n"), @r"
        4: 'x' in column 2 is not a number | 5,x
        2: it has 1 values, not 2 | 3
        4: the index 3 is beyond the 2 features | 0 3:1 # far
        3: cell (4, 1) is outside the 3 x ? matrix | 4 1 1
        2: 'four' is not a number | 3 four
        ");
    }

    #[test]
    fn cells_that_nothing_separates_are_refused_before_they_are_counted() {
        for separator in ["", "\n", "a\rb"] {
            for columns in [None, Some(2)] {
                let mut format = csv(columns, 5);
                if let TextFormat::Csv { separator: own, .. } = &mut format {
                    *own = separator.into();
                }
                let refused = parse_text(b"1,2\n3,4\n", &format).unwrap_err();
                assert_eq!(refused.kind(), fulgurite_error::ErrorKind::Argument);
            }
        }
    }

    #[test]
    fn blank_lines_of_one_column_are_rows_but_for_those_that_workers_put() {
        let rows = |text: &str, most_rows| below(&matrices(text, &csv(Some(1), most_rows))).1.len();
        for most_rows in [1, 2, 100] {
            assert_eq!(rows("1\n\n3\n", most_rows), 3);
            assert_eq!(rows("\r\n1\n\n3\n\n", most_rows), 4);
        }
        let parsed = parse_text(b"1\n\n3\n", &csv(Some(1), 1)).unwrap();
        assert_eq!(parsed.empty_cells, 1);
        let parsed = parse_text(b"1,\n\n,\n", &csv(Some(2), 9)).unwrap();
        assert_eq!(parsed.empty_cells, 3);
    }

    #[test]
    fn libsvm_stripes_are_bounded_and_know_their_columns() {
        let text = "1 1:1 5:2 # note\n\n-1 2:0\n".repeat(1000);
        let format = |columns, most_rows, most_bytes| TextFormat::Libsvm {
            columns,
            most_rows,
            most_bytes,
        };
        let parsed = parse_text(text.as_bytes(), &format(None, 1, 1)).unwrap();
        assert_eq!(
            (parsed.outcome, parsed.lines),
            (Outcome::Columns(Some(6)), 3000)
        );
        for (rows, bytes, most) in [(600, 1 << 20, 600), (10_000, 10_000, 500)] {
            let stripes = matrices(&text, &format(Some(6), rows, bytes));
            assert!(stripes.iter().all(|stripe| stripe.rows() <= most));
            assert_eq!(stripes.iter().map(MatrixBlock::rows).sum::<usize>(), 2000);
        }
    }

    #[test]
    fn the_header_of_a_matrix_market_file_says_where_it_ends() {
        let head = "%%MatrixMarket matrix coordinate pattern symmetric\r\n% note\r\n3 3 2\n";
        let parsed = parse_text(format!("{head}1 1\n").as_bytes(), &TextFormat::Header).unwrap();
        assert_eq!(
            parsed.outcome,
            Outcome::Header(MatrixMarketHeader {
                rows: 3,
                cols: 3,
                entries: 2,
                array: false,
                pattern: true,
                symmetry: Symmetry::Symmetric,
                bytes: head.len() as u64
            })
        );
    }
}
