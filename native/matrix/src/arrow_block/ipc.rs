//! Blocks in Arrow's IPC stream format: for shuffles, broadcasts and disk.

use std::io::{BufWriter, ErrorKind, Read, Write};

use arrow::{
    buffer::{Buffer, MutableBuffer},
    error::ArrowError,
    ipc::writer::StreamWriter,
};
use fulgurite_error::{Error, Result};

use super::{
    Block, decode, encode,
    messages::{self, HEAD_BYTES, Messages},
    schema,
};
use crate::{Interrupt, memory};

/// A stream with one batch for each block.
///
/// # Errors
/// As [`encode`]; `memory` when there is none for the stream.
pub fn to_ipc(blocks: &[Block]) -> Result<Vec<u8>> {
    let payload: usize = blocks.iter().map(|block| block.matrix.memory_bytes()).sum();
    let mut stream = memory::room(payload.saturating_add(4096))?;
    write(blocks, &mut stream)?;
    Ok(stream)
}

/// Writes what [`to_ipc`] gives, with one copy of a block's values at a time.
///
/// # Errors
/// As [`encode`]; `io` where the target fails; `interrupted` once the run is to stop.
pub fn write(blocks: &[Block], target: impl Write) -> Result<()> {
    let failed = |error: ArrowError| match error {
        ArrowError::IoError(reason, _) => Error::io(reason),
        other => Error::internal(format!("blocks could not be written: {other}")),
    };
    // Framing comes in pieces of a few bytes.
    let mut writer = StreamWriter::try_new(BufWriter::new(target), &schema()).map_err(failed)?;
    let interrupt = Interrupt::current();
    for block in blocks {
        interrupt.check()?;
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
/// `data` when it is no such stream, or as [`decode`]; `io` where the source fails; `memory` where a message does not fit.
pub fn read(mut source: impl Read) -> Result<Vec<Block>> {
    let mut messages = Messages::default();
    let (mut blocks, mut metadata) = (Vec::new(), Vec::new());
    loop {
        let mut head = [0; HEAD_BYTES];
        source
            .read_exact(&mut head)
            .map_err(|error| failed(&error))?;
        let Some(length) = messages::metadata_bytes(head)? else {
            return Ok(blocks);
        };
        metadata.resize(length, 0);
        source
            .read_exact(&mut metadata)
            .map_err(|error| failed(&error))?;
        let body = read_body(&mut source, messages::body_bytes_of(&metadata)?)?;
        if let Some(batch) = messages.decode(&metadata, &body)? {
            blocks.extend(decode(&batch)?);
        }
    }
}

/// Reads a body without room for more than twice what has come: its length is what the stream says.
fn read_body(source: &mut impl Read, length: usize) -> Result<Buffer> {
    const AT_FIRST: usize = 64 << 20;
    memory::admit(length.min(AT_FIRST))?;
    let too_large = |_| {
        Error::memory(format!("there is no room for a message of {length} bytes"))
            .with_help("give the process more memory, or see whether the file is damaged")
    };
    let mut body = MutableBuffer::try_from_len_zeroed(length.min(AT_FIRST)).map_err(too_large)?;
    let mut filled = 0;
    while filled < length {
        let until = body.len();
        let room = body
            .as_slice_mut()
            .get_mut(filled..until)
            .unwrap_or_default();
        source.read_exact(room).map_err(|error| failed(&error))?;
        filled = until;
        if filled < length {
            memory::admit(length.min(until.saturating_mul(2)))?;
            body.try_resize(length.min(until.saturating_mul(2)), 0)
                .map_err(too_large)?;
        }
    }
    Ok(body.into())
}

fn failed(error: &std::io::Error) -> Error {
    match error.kind() {
        ErrorKind::UnexpectedEof => messages::cut_off(),
        _ => Error::io(error.to_string()),
    }
}
