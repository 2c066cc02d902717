//! Blocks in Arrow's IPC stream format: for shuffles, broadcasts and disk.

use std::io::Cursor;

use arrow::{
    array::RecordBatch,
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
    let failed =
        |error: ArrowError| Error::internal(format!("blocks could not be written: {error}"));
    let payload: usize = blocks.iter().map(|block| block.matrix.memory_bytes()).sum();
    let mut writer =
        StreamWriter::try_new(Vec::with_capacity(payload + 4096), &schema()).map_err(failed)?;
    for block in blocks {
        writer
            .write(&encode(std::slice::from_ref(block))?)
            .map_err(failed)?;
    }
    writer.into_inner().map_err(failed)
}

/// The blocks of a stream.
///
/// # Errors
/// `data` when it is no such stream, or as [`decode`].
pub fn from_ipc(bytes: &[u8]) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    for batch in read_batches(bytes)? {
        blocks.extend(decode(&batch)?);
    }
    Ok(blocks)
}

fn read_batches(bytes: &[u8]) -> Result<Vec<RecordBatch>> {
    let failed = |error: ArrowError| Error::data(format!("not a stream of blocks: {error}"));
    // A reader ends quietly at a missing end marker; the marker tells a whole stream from a cut one.
    const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    if !bytes.ends_with(&END) {
        return Err(Error::data(
            "not a stream of blocks: its end marker is missing, it may have been cut off",
        ));
    }
    StreamReader::try_new(Cursor::new(bytes), None)
        .map_err(failed)?
        .collect::<Result<_, _>>()
        .map_err(failed)
}
