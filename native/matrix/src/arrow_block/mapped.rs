//! Blocks whose values stay in the file that they are in: its pages in the system's cache are their memory. Nothing is copied, processes
//! that read the same file share it, and reading takes the time of a system call where the file was read before.
//!
//! The file must keep its contents for as long as a block lives. Replacing it does no harm, as [`crate::io::write()`] and Hadoop do, which
//! give a new file the old one's name; writing into it changes values. A file that is cut off meanwhile is an error ([`super::cut_off`]).
//! Only files on this machine's own disks are mapped, and not those on a network, where a server may take them away. Positions of cells are not left in the file: kernels trust what was checked once.

use std::{fs::File, ptr::NonNull, sync::Arc};

use arrow::{
    array::{Array, ArrayRef, AsArray, LargeListArray, PrimitiveArray, RecordBatch},
    buffer::{Buffer, ScalarBuffer},
    datatypes::{ArrowPrimitiveType, DataType, Int32Type, Int64Type},
    error::ArrowError,
};
use fulgurite_error::{Error, Result};
use memmap2::{Advice, MmapOptions};

use super::{
    Block,
    cut_off::WatchedMap,
    decode,
    messages::{self, END, HEAD_BYTES, Messages},
};

/// The blocks of a file that is a stream of [`super::ipc`] as a whole; nothing where it cannot be mapped: it is to be read then.
///
/// # Errors
/// As [`super::ipc::read_whole`].
pub fn map_whole(file: &File) -> Result<Option<Vec<Block>>> {
    let length = length_of(file)?;
    let Some(stream) = map_bytes(file, 0, length) else {
        return Ok(None);
    };
    if !stream.ends_with(&END) {
        return Err(messages::cut_off());
    }
    let before_end = stream.slice_with_length(0, stream.len() - END.len());
    if before_end.is_empty() {
        return Err(messages::refused("its schema is missing"));
    }
    blocks(&mut Messages::default(), before_end).map(Some)
}

/// The blocks that `length` bytes from `offset` on are, after a schema that is `head`: parts of a stream of [`super::ipc`]. Nothing where the file
/// cannot be mapped: it is to be read then.
///
/// # Errors
/// `data` when these are no such parts, or as [`decode`].
pub fn map(file: &File, head: &[u8], offset: u64, length: u64) -> Result<Option<Vec<Block>>> {
    if offset
        .checked_add(length)
        .is_none_or(|end| end > length_of(file).unwrap_or(0))
    {
        return Err(messages::refused("it may have been cut off"));
    }
    let Some(part) = map_bytes(file, offset, length) else {
        return Ok(None);
    };
    let mut messages = Messages::default();
    let schema = blocks(&mut messages, Buffer::from(head))?;
    if !schema.is_empty() {
        return Err(messages::refused("its schema has rows"));
    }
    blocks(&mut messages, part).map(Some)
}

fn length_of(file: &File) -> Result<u64> {
    let metadata = file
        .metadata()
        .map_err(|error| Error::io(error.to_string()))?;
    Ok(metadata.len())
}

/// Some bytes of a file as a buffer of Arrow's. Messages begin at multiples of 64 bytes there, and so at places that are aligned.
fn map_bytes(file: &File, offset: u64, length: u64) -> Option<Buffer> {
    let length = usize::try_from(length).ok().filter(|length| *length > 0)?;
    if !lies_on_local_disk(file) {
        return None;
    }
    // SAFETY: nobody changes the file while it is mapped, which this module's contract asks of its users: what is read from the map
    // afterwards are numbers, of which any bits are some; positions are copied before they are checked.
    let map = unsafe { MmapOptions::new().offset(offset).len(length).map(file) }.ok()?;
    // Pages that are not in the system's cache begin to come while the first are used. It is advice: without it they come later.
    let _ = map.advise(Advice::WillNeed);
    let owner = Arc::new(WatchedMap::of(map)?);
    let start = NonNull::new(owner.bytes().as_ptr().cast_mut())?;
    // SAFETY: `start` is the first of `length` bytes that the map holds, which is not null, and lives as long as `owner`.
    Some(unsafe { Buffer::from_custom_allocation(start, length, owner) })
}

/// Kinds of file systems by their magic numbers: ext2 to ext4, XFS, Btrfs, tmpfs, overlays of containers, F2FS, ZFS.
#[cfg(target_os = "linux")]
const OF_LOCAL_DISKS: [u64; 7] = [
    0xef53,
    0x5846_5342,
    0x9123_683e,
    0x0102_1994,
    0x794c_7630,
    0xf2f5_2010,
    0x2fc1_2fc1,
];

#[cfg(target_os = "linux")]
fn lies_on_local_disk(file: &File) -> bool {
    // The field has one type or another, and is 32 bits wide in the kernel.
    rustix::fs::fstatfs(file)
        .is_ok_and(|found| OF_LOCAL_DISKS.contains(&(found.f_type as u64 & 0xffff_ffff)))
}

#[cfg(not(target_os = "linux"))]
fn lies_on_local_disk(_file: &File) -> bool {
    false
}

/// The blocks of whole messages, which share the buffer but for positions of sparse cells.
fn blocks(messages: &mut Messages, mut rest: Buffer) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let head = taken(&mut rest, HEAD_BYTES)?;
        let head = head
            .as_slice()
            .try_into()
            .map_err(|_| messages::cut_off())?;
        let Some(length) = messages::metadata_bytes(head)? else {
            return Err(messages::refused("more follows its end"));
        };
        // A copy: what was checked must not change.
        let metadata = taken(&mut rest, length)?.to_vec();
        let body = taken(&mut rest, messages::body_bytes_of(&metadata)?)?;
        if let Some(batch) = messages.decode(&metadata, &body)? {
            blocks.extend(decode(
                &with_own_positions(&batch).map_err(messages::failed)?,
            )?);
        }
    }
    Ok(blocks)
}

/// The first bytes, which are no longer among the rest.
fn taken(rest: &mut Buffer, length: usize) -> Result<Buffer> {
    if length > rest.len() {
        return Err(messages::cut_off());
    }
    let first = rest.slice_with_length(0, length);
    rest.advance(length);
    Ok(first)
}

/// The batch with copies of pointers and indices.
fn with_own_positions(batch: &RecordBatch) -> std::result::Result<RecordBatch, ArrowError> {
    let schema = batch.schema();
    let columns = schema
        .fields()
        .iter()
        .zip(batch.columns())
        .map(|(field, column)| match field.name().as_str() {
            "pointers" => copied::<Int64Type>(column),
            "indices" => copied::<Int32Type>(column),
            _ => Ok(Arc::clone(column)),
        })
        .collect::<std::result::Result<_, _>>()?;
    RecordBatch::try_new(Arc::clone(&schema), columns)
}

/// Whatever is no list of such items, [`decode`] refuses.
fn copied<T: ArrowPrimitiveType>(column: &ArrayRef) -> std::result::Result<ArrayRef, ArrowError> {
    let (Some(list), DataType::LargeList(item)) = (column.as_list_opt::<i64>(), column.data_type())
    else {
        return Ok(Arc::clone(column));
    };
    let Some(items) = list.values().as_primitive_opt::<T>() else {
        return Ok(Arc::clone(column));
    };
    let values = ScalarBuffer::from(items.values().to_vec());
    let items = PrimitiveArray::<T>::try_new(values, items.nulls().cloned())?;
    let list = LargeListArray::try_new(
        Arc::clone(item),
        list.offsets().clone(),
        Arc::new(items),
        list.nulls().cloned(),
    )?;
    Ok(Arc::new(list))
}
