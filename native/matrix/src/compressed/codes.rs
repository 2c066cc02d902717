//! Codes: for each row, or run, or exception, the number of a tuple in a dictionary.

use arrow::buffer::ScalarBuffer;
use fulgurite_error::{Error, Result};

use crate::memory;

/// Rows of a tile: the codes of some dozens of groups, their tables and a column of cells stay in the first-level cache together.
pub(super) const TILE: usize = 1024;

/// Codes of 1, 2, 4, 8, 16 or 32 bits.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupCodes {
    len: usize,
    store: CodeStore,
}

#[derive(Debug, Clone, PartialEq)]
enum CodeStore {
    /// So many bits each: 1, 2 or 4; the first code stands in a byte's lowest bits.
    Packed(u8, ScalarBuffer<u8>),
    Bytes(ScalarBuffer<u8>),
    Shorts(ScalarBuffer<u16>),
    Words(ScalarBuffer<u32>),
}

/// The codes of a tile of rows.
#[derive(Debug, Clone, Copy)]
pub(super) enum TileCodes<'a> {
    /// All rows have code 0.
    Same,
    Bytes(&'a [u8]),
    Shorts(&'a [u16]),
    Words(&'a [u32]),
}

/// Calls a function with the codes, whatever their width; all zero where they are the same.
macro_rules! with_codes {
    ($codes:expr, $same:expr, |$name:ident| $body:expr) => {
        match $codes {
            $crate::compressed::codes::TileCodes::Same => $same,
            $crate::compressed::codes::TileCodes::Bytes($name) => $body,
            $crate::compressed::codes::TileCodes::Shorts($name) => $body,
            $crate::compressed::codes::TileCodes::Words($name) => $body,
        }
    };
}
pub(super) use with_codes;

/// Room for the codes of a tile that have to be unpacked.
#[derive(Debug, Default, Clone)]
pub(super) struct TileRoom {
    pub(super) bytes: Vec<u8>,
    pub(super) shorts: Vec<u16>,
    pub(super) words: Vec<u32>,
}

/// A code as memory has it.
pub(super) trait Code: Copy + Send + Sync {
    fn place(self) -> usize;
}

impl Code for u8 {
    #[inline(always)]
    fn place(self) -> usize {
        usize::from(self)
    }
}

impl Code for u16 {
    #[inline(always)]
    fn place(self) -> usize {
        usize::from(self)
    }
}

impl Code for u32 {
    #[inline(always)]
    fn place(self) -> usize {
        self as usize
    }
}

/// The narrowest width for so many different codes.
pub(super) fn bits_for(codes: usize) -> u8 {
    match codes {
        0..=2 => 1,
        3..=4 => 2,
        5..=16 => 4,
        17..=256 => 8,
        257..=65_536 => 16,
        _ => 32,
    }
}

impl GroupCodes {
    /// Codes in the narrowest width that has room for `distinct` of them.
    ///
    /// # Errors
    /// `data` where a code is not below `distinct`; `memory`.
    pub fn new(
        distinct: usize,
        codes: impl IntoIterator<Item = u32, IntoIter: ExactSizeIterator>,
    ) -> Result<Self> {
        let codes = codes.into_iter();
        let len = codes.len();
        let bits = bits_for(distinct);
        let mut wrong = None;
        let codes = codes.inspect(|code| {
            if *code as usize >= distinct {
                wrong = Some(*code);
            }
        });
        let store = match bits {
            8 => CodeStore::Bytes(memory::collected(codes.map(|code| code as u8))?.into()),
            16 => CodeStore::Shorts(memory::collected(codes.map(|code| code as u16))?.into()),
            32 => CodeStore::Words(memory::collected(codes)?.into()),
            bits => {
                let per_byte = 8 / usize::from(bits);
                let mut packed: Vec<u8> = memory::zeros_of(len.div_ceil(per_byte))?;
                for (at, code) in codes.enumerate() {
                    packed[at / per_byte] |= (code as u8) << (at % per_byte * usize::from(bits));
                }
                CodeStore::Packed(bits, packed.into())
            }
        };
        match wrong {
            None => Ok(GroupCodes { len, store }),
            Some(code) => Err(out_of_range(code as usize, distinct)),
        }
    }

    /// Codes in the bytes of a buffer, little-endian, of this width.
    ///
    /// # Errors
    /// `data` for another width, or another number of bytes than so many codes take.
    pub fn of_bytes(bits: u8, len: usize, bytes: &[u8]) -> Result<Self> {
        let expected = match bits {
            1 | 2 | 4 => Some(len.div_ceil(8 / usize::from(bits))),
            8 | 16 | 32 => len.checked_mul(usize::from(bits) / 8),
            _ => {
                return Err(Error::data(format!(
                    "codes of compressed columns have 1, 2, 4, 8, 16 or 32 bits, not {bits}"
                )));
            }
        };
        if expected != Some(bytes.len()) {
            return Err(Error::data(format!(
                "{len} codes of {bits} bits do not take {} bytes",
                bytes.len()
            )));
        }
        let store = match bits {
            8 => CodeStore::Bytes(memory::copied(bytes)?.into()),
            16 => {
                let codes = bytes.as_chunks::<2>().0.iter();
                CodeStore::Shorts(memory::collected(codes.map(|b| u16::from_le_bytes(*b)))?.into())
            }
            32 => {
                let codes = bytes.as_chunks::<4>().0.iter();
                CodeStore::Words(memory::collected(codes.map(|b| u32::from_le_bytes(*b)))?.into())
            }
            bits => {
                let per_byte = 8 / usize::from(bits);
                let used = len % per_byte * usize::from(bits);
                if used != 0 && bytes.last().is_some_and(|last| last >> used != 0) {
                    return Err(Error::data("bits behind the last code are not 0"));
                }
                CodeStore::Packed(bits, memory::copied(bytes)?.into())
            }
        };
        Ok(GroupCodes { len, store })
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bits of a code.
    pub fn bits(&self) -> u8 {
        match &self.store {
            CodeStore::Packed(bits, _) => *bits,
            CodeStore::Bytes(_) => 8,
            CodeStore::Shorts(_) => 16,
            CodeStore::Words(_) => 32,
        }
    }

    /// The buffer's bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.store {
            CodeStore::Packed(_, bytes) | CodeStore::Bytes(bytes) => bytes,
            CodeStore::Shorts(codes) => codes.inner().as_slice(),
            CodeStore::Words(codes) => codes.inner().as_slice(),
        }
    }

    #[inline]
    pub fn get(&self, at: usize) -> usize {
        match &self.store {
            CodeStore::Packed(bits, bytes) => {
                let (bits, per_byte) = (usize::from(*bits), 8 / usize::from(*bits));
                usize::from(bytes[at / per_byte] >> (at % per_byte * bits)) & ((1 << bits) - 1)
            }
            CodeStore::Bytes(codes) => codes[at].place(),
            CodeStore::Shorts(codes) => codes[at].place(),
            CodeStore::Words(codes) => codes[at].place(),
        }
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> {
        (0..self.len).map(|at| self.get(at))
    }

    /// Codes `from..to`; whole bytes share the buffer.
    ///
    /// # Errors
    /// `memory`, where codes within bytes have to be moved.
    pub fn slice(&self, from: usize, to: usize) -> Result<Self> {
        let len = to - from;
        let store = match &self.store {
            CodeStore::Packed(bits, bytes) => {
                let per_byte = 8 / usize::from(*bits);
                if !from.is_multiple_of(per_byte) || !to.is_multiple_of(per_byte) && to != self.len
                {
                    let codes = (from..to).map(|at| self.get(at) as u32);
                    return GroupCodes::new(1 << *bits, codes);
                }
                let first = from / per_byte;
                let bytes = bytes.slice(first, to.div_ceil(per_byte) - first);
                CodeStore::Packed(*bits, bytes)
            }
            CodeStore::Bytes(codes) => CodeStore::Bytes(codes.slice(from, len)),
            CodeStore::Shorts(codes) => CodeStore::Shorts(codes.slice(from, len)),
            CodeStore::Words(codes) => CodeStore::Words(codes.slice(from, len)),
        };
        Ok(GroupCodes { len, store })
    }

    /// Codes `from..to`.
    pub(super) fn tile<'a>(
        &'a self,
        from: usize,
        to: usize,
        room: &'a mut TileRoom,
    ) -> TileCodes<'a> {
        match &self.store {
            CodeStore::Packed(bits, bytes) => {
                room.bytes.clear();
                let per_byte = 8 / usize::from(*bits);
                let bytes = &bytes[from / per_byte..to.div_ceil(per_byte)];
                match bits {
                    1 => unpack::<8>(bytes, &mut room.bytes),
                    2 => unpack::<4>(bytes, &mut room.bytes),
                    _ => unpack::<2>(bytes, &mut room.bytes),
                }
                let skipped = from % per_byte;
                TileCodes::Bytes(&room.bytes[skipped..skipped + to - from])
            }
            CodeStore::Bytes(codes) => TileCodes::Bytes(&codes[from..to]),
            CodeStore::Shorts(codes) => TileCodes::Shorts(&codes[from..to]),
            CodeStore::Words(codes) => TileCodes::Words(&codes[from..to]),
        }
    }
}

/// Appends so many codes of each byte.
fn unpack<const PER_BYTE: usize>(bytes: &[u8], codes: &mut Vec<u8>) {
    let bits = 8 / PER_BYTE;
    let mask = ((1u16 << bits) - 1) as u8;
    codes.resize(bytes.len() * PER_BYTE, 0);
    for (byte, codes) in bytes.iter().zip(codes.as_chunks_mut::<PER_BYTE>().0) {
        for (at, code) in codes.iter_mut().enumerate() {
            *code = (byte >> (at * bits)) & mask;
        }
    }
}

pub(super) fn out_of_range(code: usize, distinct: usize) -> Error {
    Error::data(format!(
        "code {code} of compressed columns is outside a dictionary of {distinct} tuples"
    ))
}
