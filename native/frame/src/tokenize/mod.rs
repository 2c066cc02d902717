//! Texts as frames of their tokens.
//!
//! Tokens are words, or sequences of words ([`Spec`]). In the long format each token has a row, behind the identifying columns of its
//! text. In the wide format each text has a row, with a column for each token or bucket. A missing text has no token.
//!
//! SystemDS 3.4 says of a token that occurs within the one before it that it is there: of `yabab bab` it has the second at 3. Here it is at 7.

mod spec;
mod tokens;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Interrupt, memory};
use rayon::prelude::*;
use regex::Regex;

pub use spec::{Output, Spec};

use crate::{Cell, Column, ColumnType, Frame, TextBuilder, column::push, map::pattern::Patterns};
use tokens::{buckets, counts, tokens};

/// Texts whose tokens are held at once.
const TEXTS_AT_ONCE: usize = 1 << 12;

/// The tokens of the texts of a column, of each text at most so many.
///
/// # Errors
/// `data` with the path in the JSON for columns that are not there; `unsupported` for a pattern that takes more than linear time; `memory`.
///
/// ```
/// use fulgurite_frame::{Cell, csv::{self, CsvFormat}, tokenize::{Spec, tokenize}};
/// let frame = csv::read("1,to be or not to be\n".as_bytes(), &CsvFormat::default(), None)?;
/// let spec = Spec::parse("{algo: split, out: position, id_cols: [1], tokenize_col: 2}")?;
/// let tokens = tokenize(&frame, &spec, 3)?;
/// assert_eq!((tokens.rows(), tokens.cell(2, 1), tokens.cell(2, 2)), (3, Some(Cell::Int(7)), Some(Cell::Text("or"))));
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn tokenize(frame: &Frame, spec: &Spec, most: usize) -> Result<Frame> {
    let column = |path: &str, number: usize| {
        frame.column(number - 1).ok_or_else(|| {
            let cols = frame.cols();
            Error::data(format!(
                "{path}: the frame has {cols} columns, not {number}"
            ))
        })
    };
    let ids = spec.ids.iter().map(|(path, id)| column(path, *id));
    let ids = ids.collect::<Result<Vec<_>>>()?;
    let texts = column("$.tokenize_col", spec.text)?;
    let between = Patterns::default().get(&spec.between).map_err(|error| {
        let placed = format!("$.algo_params.regex: {}", error.message());
        Error::new(error.kind(), placed)
    })?;
    let between = &between.anywhere;
    let mut rows = match spec.wide {
        true => Rows::Wide(Wide::new(&ids, texts.len(), spec.output, most)?),
        false => Rows::Long(Long::new(ids, spec.output)),
    };
    let interrupt = Interrupt::current();
    for from in (0..texts.len()).step_by(TEXTS_AT_ONCE) {
        let to = texts.len().min(from + TEXTS_AT_ONCE);
        let said = (from..to).into_par_iter().map(|row| {
            interrupt.check()?;
            said_of(texts.cell(row), spec, between, most)
        });
        let said: Vec<Result<Vec<Said>>> = said.collect();
        for (row, said) in (from..).zip(said) {
            rows.add(row, said?)?;
        }
    }
    rows.finish()
}

/// What is said of a token: two cells behind the identifying ones.
enum Said {
    Position(i64, String),
    Count(String, i64),
    Bucket(i64, i64),
}

fn said_of(cell: Option<Cell<'_>>, spec: &Spec, between: &Regex, most: usize) -> Result<Vec<Said>> {
    let Some(cell) = cell else {
        return Ok(Vec::new());
    };
    let text = cell.text();
    // Of counts, all tokens must be known before some are left out.
    let limit = match spec.output {
        Output::Position => most,
        _ => usize::MAX,
    };
    let tokens = tokens(&text, between, spec.words, limit)?;
    match spec.output {
        Output::Position => {
            let said = tokens.into_iter();
            memory::collected(said.map(|token| Said::Position(token.position, token.text.into())))
        }
        Output::Count { by_alphabet } => {
            let said = counts(tokens, by_alphabet)?.into_iter().take(most);
            memory::collected(said.map(|(text, count)| Said::Count(text.into(), count)))
        }
        Output::Hash { buckets: number } => {
            let mut said = buckets(&tokens, number)?;
            match spec.wide {
                // Those of the columns that there are.
                true => said.retain(|(bucket, _)| {
                    usize::try_from(*bucket).is_ok_and(|bucket| bucket <= most)
                }),
                false => said.truncate(most),
            }
            let said = said.into_iter();
            memory::collected(said.map(|(bucket, count)| Said::Bucket(bucket, count)))
        }
    }
}

enum Rows<'a> {
    Long(Long<'a>),
    Wide(Wide),
}

impl Rows<'_> {
    fn add(&mut self, row: usize, said: Vec<Said>) -> Result<()> {
        match self {
            Rows::Long(long) => said.into_iter().try_for_each(|said| long.add(row, said)),
            Rows::Wide(wide) => wide.add(said),
        }
    }

    fn finish(self) -> Result<Frame> {
        let columns = match self {
            Rows::Long(long) => long.finish()?,
            Rows::Wide(wide) => wide.finish()?,
        };
        Frame::new(columns, None)
    }
}

/// A row for each token.
struct Long<'a> {
    ids: Vec<(&'a Column, TextBuilder)>,
    output: Output,
    texts: TextBuilder,
    /// The positions or buckets.
    places: Vec<i64>,
    counts: Vec<i64>,
}

impl<'a> Long<'a> {
    fn new(ids: Vec<&'a Column>, output: Output) -> Self {
        let ids = ids.into_iter().map(|id| (id, TextBuilder::default()));
        Long {
            ids: ids.collect(),
            output,
            texts: TextBuilder::default(),
            places: Vec::new(),
            counts: Vec::new(),
        }
    }

    fn add(&mut self, row: usize, said: Said) -> Result<()> {
        for (id, builder) in &mut self.ids {
            builder.push(id.cell(row).map(Cell::text).as_deref())?;
        }
        match said {
            Said::Position(position, text) => {
                push(&mut self.places, position)?;
                self.texts.push(Some(&text))
            }
            Said::Count(text, count) => {
                push(&mut self.counts, count)?;
                self.texts.push(Some(&text))
            }
            Said::Bucket(bucket, count) => {
                push(&mut self.places, bucket)?;
                push(&mut self.counts, count)
            }
        }
    }

    fn finish(self) -> Result<Vec<Column>> {
        let ids = self.ids.into_iter().map(|(_, builder)| builder.finish());
        let mut columns = ids.collect::<Result<Vec<_>>>()?;
        let places = Column::Int64(self.places.into());
        let counts = Column::Int64(self.counts.into());
        columns.extend(match self.output {
            Output::Position => [places, self.texts.finish()?],
            Output::Count { .. } => [self.texts.finish()?, counts],
            Output::Hash { .. } => [places, counts],
        });
        Ok(columns)
    }
}

/// A row for each text.
struct Wide {
    ids: Vec<Column>,
    cells: WideCells,
}

/// A column for each token, or for each bucket.
enum WideCells {
    Tokens(Vec<TextBuilder>),
    Buckets(Vec<Vec<i64>>),
}

impl Wide {
    fn new(ids: &[&Column], rows: usize, output: Output, cols: usize) -> Result<Self> {
        memory::admit(memory::cells(rows, cols)?.saturating_mul(size_of::<i64>()))?;
        let ids = ids.iter().map(|id| id.cast(ColumnType::String, ""));
        let cells = match output {
            Output::Hash { .. } => {
                WideCells::Buckets(memory::collected((0..cols).map(|_| Vec::new()))?)
            }
            _ => WideCells::Tokens(memory::collected(
                (0..cols).map(|_| TextBuilder::default()),
            )?),
        };
        Ok(Wide {
            ids: ids.collect::<Result<_>>()?,
            cells,
        })
    }

    /// The cells of the next row.
    fn add(&mut self, said: Vec<Said>) -> Result<()> {
        let mut said = said.into_iter().peekable();
        match &mut self.cells {
            WideCells::Tokens(columns) => {
                columns.iter_mut().try_for_each(|column| match said.next() {
                    Some(Said::Position(_, text) | Said::Count(text, _)) => {
                        column.push(Some(&text))
                    }
                    _ => column.push(None),
                })
            }
            WideCells::Buckets(columns) => {
                (1_i64..).zip(columns).try_for_each(|(number, column)| {
                    let found = said.next_if(
                        |said| matches!(said, Said::Bucket(bucket, _) if *bucket == number),
                    );
                    match found {
                        Some(Said::Bucket(_, count)) => push(column, count),
                        _ => push(column, 0),
                    }
                })
            }
        }
    }

    fn finish(self) -> Result<Vec<Column>> {
        let mut columns = self.ids;
        match self.cells {
            WideCells::Tokens(tokens) => {
                for builder in tokens {
                    columns.push(builder.finish()?);
                }
            }
            WideCells::Buckets(buckets) => {
                columns.extend(
                    buckets
                        .into_iter()
                        .map(|counts| Column::Int64(counts.into())),
                );
            }
        }
        Ok(columns)
    }
}
