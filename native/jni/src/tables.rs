//! Record batches of any columns, as they cross from the JVM.

use arrow::{
    array::{RecordBatch, StructArray},
    error::ArrowError,
    ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi},
};
use fulgurite_error::{Error, Result};

/// Takes over a record batch without a copy. Both structs are left released; the producer's release callback runs once, when the last
/// column that shares its buffers is gone, or at once on errors.
///
/// # Errors
/// `data` when a struct is released or inconsistent, or a text is not UTF-8.
///
/// # Safety
/// Both pointers point to structs that are initialised as the C Data Interface asks, which nobody else uses meanwhile, and whose
/// lengths, buffers and children are those that the schema asks for.
pub(crate) unsafe fn import(
    array: *mut FFI_ArrowArray,
    schema: *mut FFI_ArrowSchema,
) -> Result<RecordBatch> {
    // SAFETY: initialised, by the caller's word. `from_raw` leaves released structs behind.
    let (array, schema) = unsafe {
        (
            FFI_ArrowArray::from_raw(array),
            FFI_ArrowSchema::from_raw(schema),
        )
    };
    if array.is_released() || schema.release().is_none() {
        return Err(Error::data("an Arrow struct was released already"));
    }
    // SAFETY: the struct is initialised and not released, and agrees with the schema, by the caller's word.
    let mut data = unsafe { from_ffi(array, &schema) }.map_err(refused)?;
    // Other runtimes may align buffers less than this one needs.
    data.align_buffers();
    data.validate_full().map_err(refused)?;
    if data.null_count() > 0 {
        return Err(Error::data(
            "a record batch has rows that are null as a whole",
        ));
    }
    Ok(RecordBatch::from(StructArray::from(data)))
}

fn refused(error: ArrowError) -> Error {
    Error::data(format!("not a record batch: {error}"))
}
