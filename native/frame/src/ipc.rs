//! Frames as Arrow IPC files, which are Feather files of version 2 too. Buffers compressed by lz4 and zstd are read.

use std::io::{Read, Seek, Write};

use arrow::{array::RecordBatch, error::ArrowError};
use arrow_ipc::{
    reader::{FileReader, StreamReader},
    writer::FileWriter,
};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::Interrupt;

use crate::{Frame, guard::reading};

/// What an IPC file, other than a stream, begins with.
const MAGIC: &[u8] = b"ARROW1";

/// Reads a file or a stream.
///
/// # Errors
/// `data` when it is damaged; `io`; as [`Frame::from_record_batches`].
pub fn read(mut input: impl Read + Seek) -> Result<Frame> {
    let mut first = Vec::new();
    let failed = |error: std::io::Error| Error::io(format!("an Arrow file can't be read: {error}"));
    (&mut input)
        .take(MAGIC.len() as u64)
        .read_to_end(&mut first)
        .map_err(failed)?;
    input.rewind().map_err(failed)?;
    reading("Arrow", || {
        let interrupt = Interrupt::current();
        let mut batches = Vec::new();
        let mut add = |batch: std::result::Result<RecordBatch, ArrowError>| {
            interrupt.check()?;
            batches.push(batch.map_err(unreadable)?);
            Ok(())
        };
        let schema = match first == MAGIC {
            true => {
                let mut reader = FileReader::try_new(input, None).map_err(unreadable)?;
                reader.by_ref().try_for_each(&mut add)?;
                reader.schema()
            }
            false => {
                let mut reader = StreamReader::try_new(input, None).map_err(unreadable)?;
                reader.by_ref().try_for_each(&mut add)?;
                reader.schema()
            }
        };
        if batches.is_empty() {
            batches.push(RecordBatch::new_empty(schema));
        }
        Frame::from_record_batches(&batches)
    })
}

/// Writes a file of one batch.
///
/// # Errors
/// `io` when the output takes no more.
///
/// ```
/// use std::io::Cursor;
/// use fulgurite_frame::{csv::{self, CsvFormat}, ipc};
/// let frame = csv::read("a,1\nb,\n".as_bytes(), &CsvFormat::default(), None)?;
/// let mut file = Vec::new();
/// ipc::write(&frame, &mut file)?;
/// assert_eq!(ipc::read(Cursor::new(file))?, frame);
/// # Ok::<(), fulgurite_error::Error>(())
/// ```
pub fn write(frame: &Frame, output: impl Write) -> Result<()> {
    let batch = frame.to_record_batch()?;
    let unwritable = |error| Error::io(format!("an Arrow file can't be written: {error}"));
    let mut writer = FileWriter::try_new(output, &batch.schema()).map_err(unwritable)?;
    writer.write(&batch).map_err(unwritable)?;
    writer.finish().map_err(unwritable)
}

fn unreadable(error: ArrowError) -> Error {
    let message = format!("an Arrow file can't be read: {error}");
    match error {
        ArrowError::IoError(..) => Error::io(message),
        _ => Error::data(message),
    }
}
