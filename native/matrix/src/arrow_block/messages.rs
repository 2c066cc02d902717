//! Messages of Arrow's IPC stream format, checked before the library decodes them.
//!
//! The library takes the offsets and lengths of a batch at their word and panics where they are wrong. [`Messages`] checks them
//! first: each buffer lies within the body and has whole items, no length is negative or larger than the body, and nothing is
//! compressed.

use std::collections::HashMap;

use arrow::{
    array::RecordBatch,
    buffer::Buffer,
    datatypes::{DataType, SchemaRef},
    error::ArrowError,
    ipc::{
        Message, MessageHeader, convert::try_fb_to_schema, reader::read_record_batch,
        root_as_message,
    },
};
use fulgurite_error::{Error, Result};

use super::{check_schema, schema};

/// What a message begins with: this, and the length of its metadata as a 32-bit integer.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes before the metadata of a message.
pub(super) const HEAD_BYTES: usize = 8;

/// What a stream ends with: a message without metadata.
pub(super) const END: [u8; HEAD_BYTES] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// The most that metadata may have. Those of a batch of blocks have less than a kilobyte.
pub(super) const MOST_METADATA_BYTES: usize = 1 << 20;

/// Decodes the messages of a stream one after the other.
#[derive(Default)]
pub(super) struct Messages {
    schema: Option<SchemaRef>,
}

impl Messages {
    /// Decodes a message: a batch, or nothing for the schema.
    ///
    /// # Errors
    /// `data` when it is not a message of a stream of blocks, and when its metadata do not fit its body.
    pub(super) fn decode(&mut self, metadata: &[u8], body: &Buffer) -> Result<Option<RecordBatch>> {
        let message = parsed(metadata)?;
        if body.len() != body_bytes(&message)? {
            return Err(refused("the body of a message is cut off"));
        }
        match (message.header_type(), &self.schema) {
            (MessageHeader::Schema, None) => {
                let schema = message
                    .header_as_schema()
                    .ok_or_else(|| refused("its schema is missing"))?;
                let schema = try_fb_to_schema(schema).map_err(failed)?;
                check_schema(&schema)?;
                self.schema = Some(schema.into());
                Ok(None)
            }
            (MessageHeader::RecordBatch, Some(schema)) => {
                let batch = message
                    .header_as_record_batch()
                    .ok_or_else(|| refused("a batch is missing"))?;
                check_batch(&batch, body.len())?;
                let (schema, version) = (SchemaRef::clone(schema), message.version());
                read_record_batch(body, batch, schema, &HashMap::new(), None, &version)
                    .map(Some)
                    .map_err(failed)
            }
            (MessageHeader::Schema, Some(_)) => Err(refused("it has two schemas")),
            (MessageHeader::RecordBatch, None) => Err(refused("a batch comes before the schema")),
            (other, _) => Err(refused(&format!("it has a message of the type {other:?}"))),
        }
    }
}

/// Bytes of a message's metadata, which follow its head; `None` for the end of the stream.
///
/// # Errors
/// `data` where it is no such head.
pub(super) fn metadata_bytes(head: [u8; HEAD_BYTES]) -> Result<Option<usize>> {
    let [a, b, c, d, length @ ..] = head;
    if [a, b, c, d] != CONTINUATION {
        return Err(refused("a message does not begin with its mark"));
    }
    match usize::try_from(i32::from_le_bytes(length)) {
        Ok(0) => Ok(None),
        Ok(length) if length <= MOST_METADATA_BYTES => Ok(Some(length)),
        _ => Err(refused("the length of a message is wrong")),
    }
}

/// Bytes of a message's body, which follow its metadata.
///
/// # Errors
/// `data` where the metadata are none.
pub(super) fn body_bytes_of(metadata: &[u8]) -> Result<usize> {
    body_bytes(&parsed(metadata)?)
}

fn parsed(metadata: &[u8]) -> Result<Message<'_>> {
    root_as_message(metadata)
        .map_err(|error| refused(&format!("the metadata of a message are damaged: {error}")))
}

fn body_bytes(message: &Message<'_>) -> Result<usize> {
    usize::try_from(message.bodyLength()).map_err(|_| refused("the length of a body is negative"))
}

fn check_batch(batch: &arrow::ipc::RecordBatch<'_>, body: usize) -> Result<()> {
    if batch.compression().is_some() {
        return Err(Error::unsupported(
            "compressed streams of blocks are not read",
        ));
    }
    let is_within = |length: i64| usize::try_from(length).is_ok_and(|length| length <= body);
    if !is_within(batch.length()) {
        return Err(refused("the length of a batch is wrong"));
    }
    let nodes = batch.nodes().into_iter().flatten();
    for node in nodes {
        if !is_within(node.length()) || !(0..=node.length()).contains(&node.null_count()) {
            return Err(refused("the length of a field is wrong"));
        }
    }
    let buffers = batch.buffers().into_iter().flatten();
    for (buffer, item) in buffers.zip(item_bytes()) {
        if buffer.length() % item != 0 {
            return Err(refused("the length of a buffer is wrong"));
        }
    }
    for buffer in batch.buffers().into_iter().flatten() {
        let end = buffer.offset().checked_add(buffer.length());
        if buffer.offset() < 0 || buffer.length() < 0 || !end.is_some_and(is_within) {
            return Err(refused("a buffer lies outside the body"));
        }
    }
    Ok(())
}

/// Bytes of an item of each buffer, in their order.
fn item_bytes() -> impl Iterator<Item = i64> {
    const BITS: i64 = 1;
    const OFFSET: i64 = 8;
    let width = |data_type: &DataType| data_type.primitive_width().unwrap_or(1) as i64;
    let fields = schema();
    let buffers: Vec<i64> = fields
        .fields()
        .iter()
        .flat_map(|field| match field.data_type() {
            DataType::LargeList(item) => vec![BITS, OFFSET, BITS, width(item.data_type())],
            other => vec![BITS, width(other)],
        })
        .collect();
    buffers.into_iter()
}

pub(super) fn failed(error: ArrowError) -> Error {
    refused(&error.to_string())
}

pub(super) fn refused(reason: &str) -> Error {
    Error::data(format!("not a stream of blocks: {reason}"))
}

/// The error of a stream without its end marker.
pub(super) fn cut_off() -> Error {
    refused("its end marker is missing, it may have been cut off")
}
