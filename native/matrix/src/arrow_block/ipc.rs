//! Blocks in Arrow's IPC stream format: for shuffles, broadcasts and disk.

use std::io::{BufWriter, Read, Write};

use arrow::{
    error::ArrowError,
    ipc::{reader::StreamReader, writer::StreamWriter},
};
use fulgurite_error::{Error, Result};

use super::{Block, decode, encode, schema};

/// A stream with one batch for each block.
///
/// # Errors
/// As [`encode`].
pub fn to_ipc(blocks: &[Block]) -> Result<Vec<u8>> {
    let payload: usize = blocks.iter().map(|block| block.matrix.memory_bytes()).sum();
    let mut stream = Vec::with_capacity(payload + 4096);
    write(blocks, &mut stream)?;
    Ok(stream)
}

/// Writes what [`to_ipc`] gives, with one copy of a block's values at a time.
///
/// # Errors
/// As [`encode`]; `io` where the target fails.
pub fn write(blocks: &[Block], target: impl Write) -> Result<()> {
    let failed = |error: ArrowError| match error {
        ArrowError::IoError(reason, _) => Error::io(reason),
        other => Error::internal(format!("blocks could not be written: {other}")),
    };
    // Framing comes in pieces of a few bytes.
    let mut writer = StreamWriter::try_new(BufWriter::new(target), &schema()).map_err(failed)?;
    for block in blocks {
        writer
            .write(&encode(std::slice::from_ref(block))?)
            .map_err(failed)?;
    }
    let buffered = writer.into_inner().map_err(failed)?;
    buffered
        .into_inner()
        .map(drop)
        .map_err(|error| Error::io(error.error().to_string()))
}

/// The blocks of a stream.
///
/// # Errors
/// As [`read_whole`].
pub fn from_ipc(bytes: &[u8]) -> Result<Vec<Block>> {
    read_whole(bytes)
}

/// The blocks of a stream that is all that the source has.
///
/// # Errors
/// As [`read`]; `data` where more follows.
pub fn read_whole(mut source: impl Read) -> Result<Vec<Block>> {
    let blocks = read(&mut source)?;
    match source.read(&mut [0]) {
        Ok(0) => Ok(blocks),
        Ok(_) => Err(Error::data("not a stream of blocks: more follows its end")),
        Err(error) => Err(Error::io(error.to_string())),
    }
}

/// The blocks of a stream, which is read to its end marker and not further.
///
/// # Errors
/// `data` when it is no such stream, or as [`decode`]; `io` where the source fails.
pub fn read(source: impl Read) -> Result<Vec<Block>> {
    let mut source = Watched {
        source,
        ended: false,
    };
    let failed = |error: ArrowError| match error {
        ArrowError::IoError(reason, cause) if cause.kind() != std::io::ErrorKind::UnexpectedEof => {
            Error::io(reason)
        }
        other => Error::data(format!("not a stream of blocks: {other}")),
    };
    let mut blocks = Vec::new();
    for batch in StreamReader::try_new(&mut source, None).map_err(failed)? {
        blocks.extend(decode(&batch.map_err(failed)?)?);
    }
    // A reader ends quietly at a missing end marker; the marker tells a whole stream from a cut one.
    if source.ended {
        return Err(Error::data(
            "not a stream of blocks: its end marker is missing, it may have been cut off",
        ));
    }
    Ok(blocks)
}

/// Remembers whether its source had nothing more to give.
struct Watched<R> {
    source: R,
    ended: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.source.read(into)?;
        self.ended |= count == 0 && !into.is_empty();
        Ok(count)
    }
}
