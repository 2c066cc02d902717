//! Batches of blocks across the Arrow C Data Interface.
//!
//! The interface hands over addresses and lengths that a reader has to believe: what can be checked
//! (shapes, lengths, offsets, nulls) is checked here before a byte of data is looked at.

use arrow::{
    array::{Array, RecordBatch, StructArray},
    datatypes::{DataType, Schema},
    error::ArrowError,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, to_ffi},
};
use fulgurite_error::{Error, Result};

use super::check_schema;

/// Takes over a batch of blocks from another runtime, without a copy. Both structs are left released;
/// the producer's release callback runs once, when the last block that shares its buffers is gone (or
/// at once, on errors).
///
/// # Errors
/// `data` when a struct is released or inconsistent, or the schema is not the blocks'.
///
/// # Safety
/// Both pointers are null or point to structs that are initialised as the C Data Interface asks, which
/// nobody else uses meanwhile, and whose buffers are at least as long as the struct says.
pub unsafe fn import(
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
) -> Result<RecordBatch> {
    if array.is_null() || schema.is_null() {
        return Err(Error::data("the address of an Arrow struct is null"));
    }
    // SAFETY: not null, so initialised, by the caller's word. `from_raw` leaves released structs behind.
    let (array, c_schema) = unsafe {
        (
            FFI_ArrowArray::from_raw(array),
            FFI_ArrowSchema::from_raw(schema),
        )
    };
    if array.is_released() || c_schema.release().is_none() {
        return Err(Error::data("an Arrow struct was released already"));
    }
    let schema = Schema::try_from(&c_schema).map_err(not_blocks)?;
    check_schema(&schema)?;
    let data_type = DataType::Struct(schema.fields().clone());
    // SAFETY: the struct is initialised and not released.
    unsafe { check_array(&raw const array, &data_type, "the batch")? };
    // SAFETY: the array agrees with the schema, as checked; the lengths of buffers are the caller's word.
    let data = unsafe { from_ffi(array, &c_schema) }.map_err(not_blocks)?;
    if data.null_count() > 0 {
        return Err(Error::data(format!(
            "a batch of blocks holds {} null rows",
            data.null_count()
        )));
    }
    data.validate_full().map_err(not_blocks)?;
    RecordBatch::from(StructArray::from(data))
        .with_schema(std::sync::Arc::new(schema))
        .map_err(not_blocks)
}

/// Hands a batch of blocks over, without a copy: the consumer's release callback drops the share in the
/// buffers.
///
/// # Errors
/// `internal` when Arrow refuses the schema.
///
/// # Safety
/// Both pointers point to memory for such a struct; what is there is overwritten, not released.
pub unsafe fn export(
    batch: &RecordBatch,
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
) -> Result<()> {
    let refused =
        |error: ArrowError| Error::internal(format!("blocks could not be handed over: {error}"));
    let data = StructArray::from(batch.clone()).into_data();
    let (c_array, _) = to_ffi(&data).map_err(refused)?;
    let c_schema = FFI_ArrowSchema::try_from(batch.schema().as_ref()).map_err(refused)?;
    // SAFETY: the caller gives memory for both; nothing there needs a drop.
    unsafe {
        array.write(c_array);
        schema.write(c_schema);
    }
    Ok(())
}

fn not_blocks(error: ArrowError) -> Error {
    Error::data(format!("not a batch of blocks: {error}"))
}

/// The C struct as the specification lays it out: arrow-rs' accessors panic on what is checked here.
#[repr(C)]
struct RawArray {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *const *const u8,
    children: *const *const FFI_ArrowArray,
    dictionary: *const FFI_ArrowArray,
}

/// Items an array may claim: keeps every length in bytes within an `isize`.
const MOST_ITEMS: i64 = i64::MAX / 64;

/// # Safety
/// `array` points to an initialised struct.
unsafe fn check_array(
    array: *const FFI_ArrowArray,
    data_type: &DataType,
    name: &str,
) -> Result<()> {
    let refuse = |reason: String| Err(Error::data(format!("Arrow array of {name}: {reason}")));
    // SAFETY: initialised, and laid out as the specification says.
    let raw = unsafe { &*array.cast::<RawArray>() };
    for (what, value) in [("length", raw.length), ("offset", raw.offset)] {
        if !(0..=MOST_ITEMS).contains(&value) {
            return refuse(format!("{what} {value}"));
        }
    }
    let (buffers, children): (i64, Vec<(&str, &DataType)>) = match data_type {
        DataType::Struct(fields) => (
            1,
            fields
                .iter()
                .map(|field| (field.name().as_str(), field.data_type()))
                .collect(),
        ),
        DataType::LargeList(item) => (2, vec![(name, item.data_type())]),
        _ => (2, Vec::new()),
    };
    if raw.n_buffers != buffers || raw.n_children != children.len() as i64 {
        return refuse(format!(
            "{} buffers and {} children, not {buffers} and {}",
            raw.n_buffers,
            raw.n_children,
            children.len()
        ));
    }
    if raw.buffers.is_null() || (!children.is_empty() && raw.children.is_null()) {
        return refuse("the list of its buffers or children is null".into());
    }
    if !raw.dictionary.is_null() {
        return refuse("it is dictionary-encoded".into());
    }
    let needs_data = buffers == 2 && raw.length + raw.offset > 0;
    // SAFETY: `buffers` lists n_buffers addresses.
    if needs_data && unsafe { *raw.buffers.add(1) }.is_null() {
        return refuse("its data buffer is null".into());
    }
    // -1: not counted; arrow-rs counts then.
    if raw.null_count != 0 && raw.null_count != -1 {
        return refuse(format!("{} nulls", raw.null_count));
    }
    for (index, (name, data_type)) in children.into_iter().enumerate() {
        // SAFETY: `children` lists n_children addresses.
        let child = unsafe { *raw.children.add(index) };
        if child.is_null() {
            return refuse(format!("its child '{name}' is null"));
        }
        // SAFETY: a child's struct is initialised as its parent is.
        unsafe { check_array(child, data_type, name)? };
    }
    Ok(())
}
