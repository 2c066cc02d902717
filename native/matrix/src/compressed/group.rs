//! Column groups: some columns of a matrix, and how their rows are encoded.

use std::{ops::Range, sync::Arc};

use arrow::buffer::ScalarBuffer;
use fulgurite_error::{Error, Result};

use super::codes::{GroupCodes, TileCodes, TileRoom, out_of_range, with_codes};
use crate::{Layout, MatrixBlock, memory};

/// Some columns of a matrix. Immutable; clones share all buffers.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnGroup {
    rows: usize,
    columns: ScalarBuffer<i32>,
    encoding: GroupEncoding,
    /// How many rows have each code.
    counts: Arc<[u64]>,
}

/// How a group's rows are encoded. Dictionaries hold tuples: a value for each column of the group, tuple after tuple.
#[derive(Debug, Clone, PartialEq)]
pub enum GroupEncoding {
    /// All cells are 0.
    Empty,
    /// All rows are this tuple.
    Constant(ScalarBuffer<f64>),
    /// A code for each row (DDC).
    Coded {
        dictionary: ScalarBuffer<f64>,
        codes: GroupCodes,
    },
    /// Rows have code 0, but for exceptions (SDC).
    Exceptions {
        dictionary: ScalarBuffer<f64>,
        /// Ascending row numbers.
        at: ScalarBuffer<u32>,
        /// The code of each exception.
        codes: GroupCodes,
    },
    /// Runs of rows with one code (RLE).
    Runs {
        dictionary: ScalarBuffer<f64>,
        /// The first row of each run: ascends from 0.
        starts: ScalarBuffer<u32>,
        codes: GroupCodes,
    },
    /// The column that a row's code names has its value of `on`, the others theirs of `off`: dummy columns have 1 and 0. No column
    /// is on in rows whose code is the number of columns.
    OneHot {
        on: ScalarBuffer<f64>,
        off: ScalarBuffer<f64>,
        codes: GroupCodes,
    },
    /// Not compressed: a dense or CSR block of the group's columns.
    Plain(Arc<MatrixBlock>),
}

impl ColumnGroup {
    /// A group of columns that are all 0.
    ///
    /// # Errors
    /// `data` unless column numbers ascend.
    pub fn empty(rows: usize, columns: impl Into<ScalarBuffer<i32>>) -> Result<Self> {
        Self::new(rows, columns.into(), GroupEncoding::Empty)
    }

    /// A group all rows of which are this tuple.
    ///
    /// # Errors
    /// `data` unless there is a value for each column, and column numbers ascend.
    pub fn constant(
        rows: usize,
        columns: impl Into<ScalarBuffer<i32>>,
        tuple: impl Into<ScalarBuffer<f64>>,
    ) -> Result<Self> {
        Self::new(rows, columns.into(), GroupEncoding::Constant(tuple.into()))
    }

    /// A group that has a code for each row.
    ///
    /// # Errors
    /// `data` where codes are outside the dictionary, or the dictionary is not one of whole tuples.
    pub fn coded(
        columns: impl Into<ScalarBuffer<i32>>,
        dictionary: impl Into<ScalarBuffer<f64>>,
        codes: GroupCodes,
    ) -> Result<Self> {
        let dictionary = dictionary.into();
        let rows = codes.len();
        Self::new(
            rows,
            columns.into(),
            GroupEncoding::Coded { dictionary, codes },
        )
    }

    /// A group whose columns are told apart by one code.
    ///
    /// # Errors
    /// As [`ColumnGroup::coded`].
    pub fn one_hot(
        columns: impl Into<ScalarBuffer<i32>>,
        on: impl Into<ScalarBuffer<f64>>,
        off: impl Into<ScalarBuffer<f64>>,
        codes: GroupCodes,
    ) -> Result<Self> {
        let (on, off, rows) = (on.into(), off.into(), codes.len());
        Self::new(
            rows,
            columns.into(),
            GroupEncoding::OneHot { on, off, codes },
        )
    }

    /// A group of this encoding.
    ///
    /// # Errors
    /// `data` unless columns ascend, dictionaries hold whole tuples, codes are tuples of them, there are as many codes as rows,
    /// exceptions or runs, and the places of these ascend within the rows.
    pub fn new(
        rows: usize,
        columns: impl Into<ScalarBuffer<i32>>,
        encoding: GroupEncoding,
    ) -> Result<Self> {
        let columns = columns.into();
        let ascend = columns.windows(2).all(|pair| pair[0] < pair[1]);
        if !ascend || columns.first().is_none_or(|first| *first < 0) {
            return Err(Error::data(
                "the columns of a compressed group must ascend from 0 or more, without one twice",
            ));
        }
        let encoding = match encoding {
            GroupEncoding::Plain(block) => GroupEncoding::Plain(with_rows(block)?),
            compressed => compressed,
        };
        let counts = counts_of(rows, columns.len(), &encoding)?.into();
        Ok(ColumnGroup {
            rows,
            columns,
            encoding,
            counts,
        })
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Numbers of the columns in the matrix, from 0, ascending.
    pub fn columns(&self) -> &[i32] {
        &self.columns
    }

    pub(super) fn column_buffer(&self) -> &ScalarBuffer<i32> {
        &self.columns
    }

    pub fn width(&self) -> usize {
        self.columns.len()
    }

    pub fn encoding(&self) -> &GroupEncoding {
        &self.encoding
    }

    /// How many rows have each code; nothing where there are no codes.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Tuples that a code may name.
    pub fn distinct(&self) -> usize {
        self.counts.len()
    }

    /// What the encoding is called.
    pub fn name(&self) -> &'static str {
        match &self.encoding {
            GroupEncoding::Empty => "empty",
            GroupEncoding::Constant(_) => "const",
            GroupEncoding::Coded { .. } => "ddc",
            GroupEncoding::Exceptions { .. } => "sdc",
            GroupEncoding::Runs { .. } => "rle",
            GroupEncoding::OneHot { .. } => "one-hot",
            GroupEncoding::Plain(_) => "uncompressed",
        }
    }

    /// The block of a group that is not compressed.
    pub fn plain(&self) -> Option<&MatrixBlock> {
        match &self.encoding {
            GroupEncoding::Plain(block) => Some(block),
            _ => None,
        }
    }

    /// The value that a row with this code has in a column of the group.
    #[inline(always)]
    pub(super) fn cell(&self, code: usize, column: usize) -> f64 {
        match &self.encoding {
            GroupEncoding::Empty | GroupEncoding::Plain(_) => 0.0,
            GroupEncoding::Constant(tuple) => tuple[column],
            GroupEncoding::Coded { dictionary, .. }
            | GroupEncoding::Exceptions { dictionary, .. }
            | GroupEncoding::Runs { dictionary, .. } => dictionary[code * self.width() + column],
            GroupEncoding::OneHot { on, off, .. } => match code == column {
                true => on[column],
                false => off[column],
            },
        }
    }

    /// The codes of a tile of rows.
    pub(super) fn tile<'a>(&'a self, rows: Range<usize>, room: &'a mut TileRoom) -> TileCodes<'a> {
        match &self.encoding {
            GroupEncoding::Empty | GroupEncoding::Constant(_) | GroupEncoding::Plain(_) => {
                TileCodes::Same
            }
            GroupEncoding::Coded { codes, .. } | GroupEncoding::OneHot { codes, .. } => {
                codes.tile(rows.start, rows.end, room)
            }
            GroupEncoding::Exceptions { at, codes, .. } => {
                let first = at.partition_point(|row| (*row as usize) < rows.start);
                let last = first + at[first..].partition_point(|row| (*row as usize) < rows.end);
                spread(codes, rows.len(), room, |set| {
                    for place in first..last {
                        let row = at[place] as usize - rows.start;
                        set(row..row + 1, codes.get(place));
                    }
                })
            }
            GroupEncoding::Runs { starts, codes, .. } => {
                let next = starts.partition_point(|row| (*row as usize) <= rows.start);
                spread(codes, rows.len(), room, |set| {
                    for place in next.max(1) - 1..starts.len() {
                        let start = (starts[place] as usize).max(rows.start);
                        let end = starts.get(place + 1).map_or(rows.end, |end| *end as usize);
                        if start >= rows.end {
                            break;
                        }
                        set(
                            start - rows.start..end.min(rows.end) - rows.start,
                            codes.get(place),
                        );
                    }
                })
            }
        }
    }

    /// Calls `visit(row, code)` for rows in order.
    pub(super) fn for_each_code(&self, rows: Range<usize>, mut visit: impl FnMut(usize, usize)) {
        let mut room = TileRoom::default();
        super::for_tiles(rows, |tile| {
            let start = tile.start;
            with_codes!(
                self.tile(tile.clone(), &mut room),
                tile.for_each(|row| visit(row, 0)),
                |codes| for (at, code) in codes.iter().enumerate() {
                    visit(start + at, super::codes::Code::place(*code));
                }
            );
        });
    }

    /// Cells that are not 0 (NaN counts).
    pub fn nnz(&self) -> usize {
        if let Some(block) = self.plain() {
            return block.nnz();
        }
        (0..self.width()).map(|column| self.nnz_of(column)).sum()
    }

    fn nnz_of(&self, column: usize) -> usize {
        let rows = |value: f64, count: u64| if value != 0.0 { count as usize } else { 0 };
        if let GroupEncoding::OneHot { on, off, .. } = &self.encoding {
            let count = self.counts[column];
            return rows(on[column], count) + rows(off[column], self.rows as u64 - count);
        }
        let counts = self.counts.iter().enumerate();
        counts
            .map(|(code, count)| rows(self.cell(code, column), *count))
            .sum()
    }

    /// Bytes of the buffers.
    pub fn memory_bytes(&self) -> usize {
        let of_columns = 4 * self.columns.len() + 8 * self.counts.len();
        of_columns
            + match &self.encoding {
                GroupEncoding::Empty => 0,
                GroupEncoding::Constant(tuple) => 8 * tuple.len(),
                GroupEncoding::Coded { dictionary, codes } => {
                    8 * dictionary.len() + codes.bytes().len()
                }
                GroupEncoding::Exceptions {
                    dictionary,
                    at: places,
                    codes,
                }
                | GroupEncoding::Runs {
                    dictionary,
                    starts: places,
                    codes,
                } => 8 * dictionary.len() + 4 * places.len() + codes.bytes().len(),
                GroupEncoding::OneHot { on, off, codes } => {
                    8 * (on.len() + off.len()) + codes.bytes().len()
                }
                GroupEncoding::Plain(block) => block.memory_bytes(),
            }
    }

    /// The same rows with other values: each through `map(column in the group, value)`.
    ///
    /// # Errors
    /// `memory`.
    pub(super) fn mapped(&self, map: impl Fn(usize, f64) -> f64 + Sync) -> Result<Self> {
        let width = self.width();
        let over = |tuples: &[f64]| -> Result<ScalarBuffer<f64>> {
            let cells = tuples.iter().enumerate();
            memory::collected(cells.map(|(at, value)| map(at % width, *value))).map(Into::into)
        };
        self.with_values(over, |block| {
            let dense = block.to_dense()?;
            let stretch = width * (crate::kernels::TASK_CELLS / width).max(1);
            let values = memory::by_chunks(dense.values().len(), stretch, |chunk, out| {
                let cells = dense.values()[chunk * stretch..][..out.len()].iter();
                for (at, (out, value)) in out.iter_mut().zip(cells).enumerate() {
                    *out = map(at % width, *value);
                }
            })?;
            let mapped = MatrixBlock::dense(self.rows, width, values)?;
            match block.layout() {
                Layout::Dense => Ok(mapped),
                Layout::Csr | Layout::Coordinate | Layout::Compressed => mapped.in_best_layout(),
            }
        })
    }

    /// The same rows with other values: tuples through `over`, a block that is not compressed through `plain`.
    ///
    /// # Errors
    /// Of the functions.
    pub(super) fn with_values(
        &self,
        over: impl Fn(&[f64]) -> Result<ScalarBuffer<f64>>,
        plain: impl FnOnce(&MatrixBlock) -> Result<MatrixBlock>,
    ) -> Result<Self> {
        let encoding = match &self.encoding {
            GroupEncoding::Empty => {
                let tuple = over(&memory::zeros(self.width())?)?;
                match tuple.iter().all(|value| value.to_bits() == 0) {
                    true => GroupEncoding::Empty,
                    false => GroupEncoding::Constant(tuple),
                }
            }
            GroupEncoding::Constant(tuple) => GroupEncoding::Constant(over(tuple)?),
            GroupEncoding::Coded { dictionary, codes } => GroupEncoding::Coded {
                dictionary: over(dictionary)?,
                codes: codes.clone(),
            },
            GroupEncoding::Exceptions {
                dictionary,
                at,
                codes,
            } => GroupEncoding::Exceptions {
                dictionary: over(dictionary)?,
                at: at.clone(),
                codes: codes.clone(),
            },
            GroupEncoding::Runs {
                dictionary,
                starts,
                codes,
            } => GroupEncoding::Runs {
                dictionary: over(dictionary)?,
                starts: starts.clone(),
                codes: codes.clone(),
            },
            GroupEncoding::OneHot { on, off, codes } => GroupEncoding::OneHot {
                on: over(on)?,
                off: over(off)?,
                codes: codes.clone(),
            },
            GroupEncoding::Plain(block) => {
                GroupEncoding::Plain(with_rows(Arc::new(plain(block)?))?)
            }
        };
        Ok(ColumnGroup {
            rows: self.rows,
            columns: self.columns.clone(),
            encoding,
            counts: Arc::clone(&self.counts),
        })
    }

    /// The same group elsewhere: its columns have these numbers.
    pub(super) fn at_columns(&self, columns: Vec<i32>) -> Self {
        ColumnGroup {
            columns: columns.into(),
            ..self.clone()
        }
    }
}

/// The block, or its CSR form where rows would have to be looked for.
fn with_rows(block: Arc<MatrixBlock>) -> Result<Arc<MatrixBlock>> {
    match block.layout() {
        Layout::Dense | Layout::Csr => Ok(block),
        Layout::Coordinate | Layout::Compressed => Ok(Arc::new(block.to_csr()?.into())),
    }
}

/// Codes of as many rows, 0 but where `fill` sets them, in the width that the codes have.
fn spread<'a>(
    codes: &GroupCodes,
    rows: usize,
    room: &'a mut TileRoom,
    fill: impl FnOnce(&mut dyn FnMut(Range<usize>, usize)),
) -> TileCodes<'a> {
    match codes.bits() {
        1..=8 => {
            room.bytes.clear();
            room.bytes.resize(rows, 0);
            fill(&mut |rows, code| room.bytes[rows].fill(code as u8));
            TileCodes::Bytes(&room.bytes)
        }
        16 => {
            room.shorts.clear();
            room.shorts.resize(rows, 0);
            fill(&mut |rows, code| room.shorts[rows].fill(code as u16));
            TileCodes::Shorts(&room.shorts)
        }
        _ => {
            room.words.clear();
            room.words.resize(rows, 0);
            fill(&mut |rows, code| room.words[rows].fill(code as u32));
            TileCodes::Words(&room.words)
        }
    }
}

/// How many rows have each code, after all was checked that the encoding says.
fn counts_of(rows: usize, width: usize, encoding: &GroupEncoding) -> Result<Vec<u64>> {
    let of_tuples = |dictionary: &[f64]| match dictionary.len() / width {
        0 => Err(Error::data(
            "the dictionary of a compressed group holds no tuple",
        )),
        tuples if tuples * width == dictionary.len() => Ok(tuples),
        _ => Err(Error::data(format!(
            "a dictionary of {} values does not hold whole tuples of {width} columns",
            dictionary.len()
        ))),
    };
    let lengths = |what: &str, found: usize, expected: usize| match found == expected {
        true => Ok(()),
        false => Err(Error::data(format!(
            "a compressed group has {found} codes for {expected} {what}"
        ))),
    };
    // Places of exceptions, or starts of runs.
    let places = |places: &[u32]| {
        let ascend = places.windows(2).all(|pair| pair[0] < pair[1]);
        match ascend && places.last().is_none_or(|last| (*last as usize) < rows) {
            true => Ok(()),
            false => Err(Error::data(format!(
                "places in a compressed group must ascend within its {rows} rows"
            ))),
        }
    };
    match encoding {
        GroupEncoding::Empty => Ok(vec![rows as u64]),
        GroupEncoding::Constant(tuple) if tuple.len() != width => Err(Error::data(format!(
            "a tuple of {} values for {width} constant columns",
            tuple.len()
        ))),
        GroupEncoding::Constant(_) => Ok(vec![rows as u64]),
        GroupEncoding::Coded { dictionary, codes } => {
            let distinct = of_tuples(dictionary)?;
            lengths("rows", codes.len(), rows)?;
            counted(codes, distinct)
        }
        GroupEncoding::Exceptions {
            dictionary,
            at,
            codes,
        } => {
            let distinct = of_tuples(dictionary)?;
            lengths("exceptions", codes.len(), at.len())?;
            places(at)?;
            let mut counts = counted(codes, distinct)?;
            counts[0] += (rows - at.len()) as u64;
            Ok(counts)
        }
        GroupEncoding::Runs {
            dictionary,
            starts,
            codes,
        } => {
            let distinct = of_tuples(dictionary)?;
            lengths("runs", codes.len(), starts.len())?;
            places(starts)?;
            if starts.first().is_none_or(|first| *first != 0) != (rows == 0) {
                return Err(Error::data(
                    "the runs of a compressed group must start at row 0",
                ));
            }
            let mut counts: Vec<u64> = memory::zeros_of(distinct)?;
            let ends = starts.iter().skip(1).map(|end| *end as usize);
            for ((code, start), end) in codes.iter().zip(&starts[..]).zip(ends.chain([rows])) {
                let count = counts.get_mut(code);
                *count.ok_or_else(|| out_of_range(code, distinct))? +=
                    (end - *start as usize) as u64;
            }
            Ok(counts)
        }
        GroupEncoding::OneHot { on, off, codes } => {
            if on.len() != width || off.len() != width {
                return Err(Error::data(format!(
                    "a one-hot group of {width} columns has {} values that are on and {} that are off",
                    on.len(),
                    off.len()
                )));
            }
            lengths("rows", codes.len(), rows)?;
            counted(codes, width + 1)
        }
        GroupEncoding::Plain(block) if (block.rows(), block.cols()) != (rows, width) => {
            Err(Error::data(format!(
                "a {} x {} block for a group of {rows} rows and {width} columns",
                block.rows(),
                block.cols()
            )))
        }
        GroupEncoding::Plain(_) => Ok(Vec::new()),
    }
}

fn counted(codes: &GroupCodes, distinct: usize) -> Result<Vec<u64>> {
    let mut counts: Vec<u64> = memory::zeros_of(distinct.max(256))?;
    let mut others: Vec<u64> = memory::zeros_of(counts.len())?;
    let mut room = TileRoom::default();
    let mut wrong = None;
    super::for_tiles(0..codes.len(), |tile| {
        with_codes!(codes.tile(tile.start, tile.end, &mut room), (), |codes| {
            // Two tables: the same code again does not wait for the one before.
            for pair in codes.chunks(2) {
                for (code, counts) in pair.iter().zip([&mut counts, &mut others]) {
                    let code = super::codes::Code::place(*code);
                    match counts.get_mut(code) {
                        Some(count) => *count += 1,
                        None => wrong = Some(code),
                    }
                }
            }
        });
    });
    for (count, other) in counts.iter_mut().zip(others) {
        *count += other;
    }
    let beyond = counts[distinct..].iter().position(|count| *count != 0);
    match wrong.or(beyond.map(|beyond| distinct + beyond)) {
        Some(code) => Err(out_of_range(code, distinct)),
        None => {
            counts.truncate(distinct);
            Ok(counts)
        }
    }
}
