//! Compressed matrices as the three buffers that a block has in Arrow.
//!
//! | buffer | holds |
//! |---|---|
//! | `pointers` (int64) | [`COMPRESSED_VERSION`], the number of groups; for each group its kind, its columns, the length of its dictionary, the bits, number and bytes of its codes, its places, and the rows that have each code |
//! | `values` (double) | for each group its dictionary: tuple after tuple; of one-hot groups the values that are on, then those that are off; of groups that are not compressed their stored cells |
//! | `indices` (int32) | for each group its column numbers, its places (rows of exceptions, starts of runs, column indices of CSR cells), its codes in whole words, little-endian; of CSR blocks their row lengths |
//!
//! Kinds: 0 empty, 1 constant, 2 codes of all rows, 3 exceptions, 4 runs, 5 one-hot, 6 dense, 7 CSR.

use std::sync::Arc;

use arrow::buffer::ScalarBuffer;
use fulgurite_error::{Error, Result};

use super::{ColumnGroup, CompressedMatrix, GroupCodes, GroupEncoding};
use crate::{CsrMatrix, DenseMatrix, MatrixBlock, memory};

/// Version of the buffers' contents, their first number.
pub const COMPRESSED_VERSION: i64 = 1;

const EMPTY: i64 = 0;
const CONSTANT: i64 = 1;
const CODED: i64 = 2;
const EXCEPTIONS: i64 = 3;
const RUNS: i64 = 4;
const ONE_HOT: i64 = 5;
const PLAIN_DENSE: i64 = 6;
const PLAIN_CSR: i64 = 7;

/// The buffers of an encoded matrix.
#[derive(Debug, Clone, PartialEq)]
pub struct WireBuffers {
    pub values: ScalarBuffer<f64>,
    pub pointers: ScalarBuffer<i64>,
    pub indices: ScalarBuffer<i32>,
}

#[derive(Default)]
struct Writer {
    values: Vec<f64>,
    pointers: Vec<i64>,
    indices: Vec<i32>,
}

impl Writer {
    fn group(&mut self, group: &ColumnGroup) -> Result<()> {
        let none = GroupCodes::new(1, [])?;
        let write = |writer: &mut Self, kind, dictionary: [&[f64]; 2], codes, places: &[i32]| {
            writer.parts(group, kind, dictionary, codes, places)
        };
        let signed = |places: &[u32]| memory::collected(places.iter().map(|place| *place as i32));
        match group.encoding() {
            GroupEncoding::Empty => write(self, EMPTY, [&[], &[]], &none, &[]),
            GroupEncoding::Constant(tuple) => write(self, CONSTANT, [tuple, &[]], &none, &[]),
            GroupEncoding::Coded { dictionary, codes } => {
                write(self, CODED, [dictionary, &[]], codes, &[])
            }
            GroupEncoding::Exceptions {
                dictionary,
                at,
                codes,
            } => write(self, EXCEPTIONS, [dictionary, &[]], codes, &signed(at)?),
            GroupEncoding::Runs {
                dictionary,
                starts,
                codes,
            } => write(self, RUNS, [dictionary, &[]], codes, &signed(starts)?),
            GroupEncoding::OneHot { on, off, codes } => write(self, ONE_HOT, [on, off], codes, &[]),
            GroupEncoding::Plain(block) => match &**block {
                MatrixBlock::Dense(dense) => {
                    write(self, PLAIN_DENSE, [dense.values(), &[]], &none, &[])
                }
                MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) | MatrixBlock::Compressed(_) => {
                    let csr = block.to_csr()?;
                    write(self, PLAIN_CSR, [csr.values(), &[]], &none, csr.indices())?;
                    memory::reserve(&mut self.indices, csr.rows())?;
                    let lengths = csr
                        .pointers()
                        .windows(2)
                        .map(|ends| (ends[1] - ends[0]) as i32);
                    self.indices.extend(lengths);
                    Ok(())
                }
            },
        }
    }

    fn parts(
        &mut self,
        group: &ColumnGroup,
        kind: i64,
        dictionary: [&[f64]; 2],
        codes: &GroupCodes,
        places: &[i32],
    ) -> Result<()> {
        let values: usize = dictionary.iter().map(|part| part.len()).sum();
        let bytes = codes.bytes();
        let numbers = [
            kind,
            group.width() as i64,
            values as i64,
            i64::from(codes.bits()),
            codes.len() as i64,
            bytes.len() as i64,
            places.len() as i64,
        ];
        memory::reserve(&mut self.pointers, numbers.len() + group.counts().len())?;
        self.pointers.extend(numbers);
        self.pointers
            .extend(group.counts().iter().map(|count| *count as i64));
        memory::reserve(&mut self.values, values)?;
        dictionary
            .iter()
            .for_each(|part| self.values.extend_from_slice(part));
        let words = bytes.len().div_ceil(4);
        memory::reserve(&mut self.indices, group.width() + places.len() + words)?;
        self.indices.extend_from_slice(group.columns());
        self.indices.extend_from_slice(places);
        for word in bytes.chunks(4) {
            let mut whole = [0; 4];
            whole[..word.len()].copy_from_slice(word);
            self.indices.push(i32::from_le_bytes(whole));
        }
        Ok(())
    }
}

/// Buffers that may hold anything, and how far they are read.
struct Reader<'a> {
    rows: usize,
    buffers: &'a WireBuffers,
    value: usize,
    pointer: usize,
    index: usize,
}

impl Reader<'_> {
    fn number(&mut self) -> Result<i64> {
        let number = self.buffers.pointers.get(self.pointer);
        self.pointer += 1;
        number.copied().ok_or_else(|| ends("pointers"))
    }

    fn size(&mut self, what: &str) -> Result<usize> {
        let number = self.number()?;
        usize::try_from(number)
            .map_err(|_| Error::data(format!("{what} of a compressed group are {number}")))
    }

    fn values(&mut self, count: usize) -> Result<ScalarBuffer<f64>> {
        if count > self.buffers.values.len() - self.value {
            return Err(ends("values"));
        }
        let values = self.buffers.values.slice(self.value, count);
        self.value += count;
        Ok(values)
    }

    fn indices(&mut self, count: usize) -> Result<ScalarBuffer<i32>> {
        if count > self.buffers.indices.len() - self.index {
            return Err(ends("indices"));
        }
        let indices = self.buffers.indices.slice(self.index, count);
        self.index += count;
        Ok(indices)
    }

    fn group(&mut self) -> Result<ColumnGroup> {
        let kind = self.number()?;
        let width = self.size("columns")?;
        let dictionary = self.size("values")?;
        let bits = self.number()?;
        let (codes, bytes) = (self.size("codes")?, self.size("bytes")?);
        let places = self.size("places")?;
        let columns = self.indices(width)?;
        let places = self.indices(places)?;
        let words = self.indices(bytes.div_ceil(4))?;
        let dictionary = self.values(dictionary)?;
        let unsigned = || -> Result<ScalarBuffer<u32>> {
            let places = places.iter().map(|place| u32::try_from(*place));
            let places = places.collect::<Result<Vec<u32>, _>>();
            places
                .map(Into::into)
                .map_err(|_| Error::data("a place in a compressed group is negative"))
        };
        let code_bits = u8::try_from(bits).unwrap_or(0);
        let read_codes = || {
            let bytes = words.inner().as_slice().get(..bytes).unwrap_or_default();
            GroupCodes::of_bytes(code_bits, codes, bytes)
        };
        let encoding = match kind {
            EMPTY => GroupEncoding::Empty,
            CONSTANT => GroupEncoding::Constant(dictionary),
            CODED => GroupEncoding::Coded {
                dictionary,
                codes: read_codes()?,
            },
            EXCEPTIONS => GroupEncoding::Exceptions {
                dictionary,
                at: unsigned()?,
                codes: read_codes()?,
            },
            RUNS => GroupEncoding::Runs {
                dictionary,
                starts: unsigned()?,
                codes: read_codes()?,
            },
            ONE_HOT => {
                let half = dictionary.len() / 2;
                GroupEncoding::OneHot {
                    on: dictionary.slice(0, half),
                    off: dictionary.slice(half, dictionary.len() - half),
                    codes: read_codes()?,
                }
            }
            PLAIN_DENSE => {
                let dense = DenseMatrix::new(self.rows, width, dictionary)?;
                GroupEncoding::Plain(Arc::new(dense.into()))
            }
            PLAIN_CSR => {
                let lengths = self.indices(self.rows)?;
                let mut pointers = memory::room(self.rows + 1)?;
                let mut end = 0i64;
                pointers.push(end);
                for length in lengths.iter() {
                    end += i64::from(*length);
                    pointers.push(end);
                }
                let csr = CsrMatrix::new(self.rows, width, pointers, places, dictionary)?;
                GroupEncoding::Plain(Arc::new(csr.into()))
            }
            other => {
                return Err(Error::data(format!(
                    "kind {other} of a compressed group is not one from {EMPTY} to {PLAIN_CSR}"
                )));
            }
        };
        let group = ColumnGroup::new(self.rows, columns, encoding)?;
        for count in group.counts() {
            if u64::try_from(self.number()?) != Ok(*count) {
                return Err(Error::data(
                    "the counts of a compressed group are not those of its codes",
                ));
            }
        }
        Ok(group)
    }
}

fn ends(buffer: &str) -> Error {
    Error::data(format!(
        "the buffer '{buffer}' of a compressed matrix ends before its groups do"
    ))
}

impl CompressedMatrix {
    /// The matrix as three buffers. They are copies.
    ///
    /// # Errors
    /// `memory` when there is none for them.
    pub fn to_wire(&self) -> Result<WireBuffers> {
        let mut writer = Writer::default();
        writer
            .pointers
            .extend([COMPRESSED_VERSION, self.groups.len() as i64]);
        self.groups
            .iter()
            .try_for_each(|group| writer.group(group))?;
        Ok(WireBuffers {
            values: writer.values.into(),
            pointers: writer.pointers.into(),
            indices: writer.indices.into(),
        })
    }

    /// The matrix that buffers hold, which may hold anything. Dictionaries share the buffer.
    ///
    /// # Errors
    /// `data` where they are of another version, end early or late, count codes wrongly, or hold what [`ColumnGroup::new`] and
    /// [`CompressedMatrix::new`] refuse.
    pub fn from_wire(rows: usize, cols: usize, buffers: &WireBuffers) -> Result<Self> {
        let mut reader = Reader {
            rows,
            buffers,
            value: 0,
            pointer: 0,
            index: 0,
        };
        let version = reader.number()?;
        if version != COMPRESSED_VERSION {
            return Err(Error::data(format!(
                "a compressed matrix of version {version}, this build reads version {COMPRESSED_VERSION}"
            ))
            .with_help("use the same release of Fulgurite on both sides"));
        }
        let count = reader.size("groups")?;
        let mut groups = Vec::new();
        for _ in 0..count {
            groups.push(reader.group()?);
        }
        let read = (reader.value, reader.pointer, reader.index);
        let lengths = (
            buffers.values.len(),
            buffers.pointers.len(),
            buffers.indices.len(),
        );
        if read != lengths {
            return Err(Error::data(
                "the buffers of a compressed matrix go on behind its last group",
            ));
        }
        CompressedMatrix::new(rows, cols, groups)
    }
}
