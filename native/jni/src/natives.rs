//! The native methods: conversions between Java's types and the other crates' calls.

use std::{fs::File, sync::Arc};

use arrow::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    Block,
    arrow_block::{self, ffi, ipc, mapped},
    memory,
};
use jni::{
    Env,
    objects::{JByteArray, JClass, JLongArray},
    sys::{jboolean, jint, jlong},
};

use crate::{
    callers,
    describe::{describe, look},
    failure::Failure,
    handshake::handshake,
    host::JvmHost,
    java::{Host, InputStream, OutputStream},
    registry::registry,
    relation, request, runs,
    shim::{ShimAPI, ShimNativeInterface},
    streams::{Input, Output},
    tables, task, text,
};

impl ShimNativeInterface for ShimAPI {
    type Error = Failure;

    fn handshake<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        shim: JByteArray<'local>,
    ) -> Result<JByteArray<'local>, Failure> {
        let jar = bytes(env, &shim, "shim")?;
        Ok(env.byte_array_from_slice(&handshake(&jar, &registry().live())?)?)
    }

    fn call<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        request: JByteArray<'local>,
        host: Host<'local>,
    ) -> Result<JByteArray<'local>, Failure> {
        let request = bytes(env, &request, "request")?;
        let host = Arc::new(JvmHost::new(env, &host)?);
        let own = Arc::clone(&host);
        let called = callers::on_native_thread(&host, move || request::call(&request, &own));
        match called.and_then(|reply| reply) {
            Ok(reply) => Ok(env.byte_array_from_slice(&reply)?),
            Err(error) => Err(host.failure(error)),
        }
    }

    fn interrupt<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        run: jlong,
    ) -> Result<jboolean, Failure> {
        Ok(runs::interrupt(run))
    }

    fn serve<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        callers: jlong,
        number: jint,
    ) -> Result<(), Failure> {
        Ok(callers::serve(callers, number)?)
    }

    fn import_blocks<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        array: jlong,
        schema: jlong,
    ) -> Result<jlong, Failure> {
        let (array, schema): (*mut FFI_ArrowArray, *mut FFI_ArrowSchema) =
            (address(array, "array")?, address(schema, "schema")?);
        // SAFETY: the caller of `Native.importBlocks` answers for the two structs, as its documentation asks.
        let batch = unsafe { ffi::import(array, schema) }?;
        Ok(registry().insert(arrow_block::decode(&batch)?))
    }

    fn export_blocks<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
        array: jlong,
        schema: jlong,
    ) -> Result<(), Failure> {
        let (array, schema): (*mut FFI_ArrowArray, *mut FFI_ArrowSchema) =
            (address(array, "array")?, address(schema, "schema")?);
        let batch = arrow_block::encode(&registry().get(handle)?)?;
        // SAFETY: the caller of `Native.exportBlocks` answers for the memory of the two structs, as its documentation asks.
        unsafe { ffi::export(&batch, array, schema) }?;
        Ok(())
    }

    fn task_memory<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        task: JByteArray<'local>,
        combining: jboolean,
        stripes: JLongArray<'local>,
        broadcasts: JLongArray<'local>,
    ) -> Result<jlong, Failure> {
        Ok(task::memory(
            &bytes(env, &task, "task")?,
            combining,
            &longs(env, &stripes, "stripes")?,
            &longs(env, &broadcasts, "broadcasts")?,
        )?)
    }

    fn run_task<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        run: jlong,
        task: JByteArray<'local>,
        stripes: JLongArray<'local>,
        broadcasts: JLongArray<'local>,
    ) -> Result<JLongArray<'local>, Failure> {
        let task = bytes(env, &task, "task")?;
        let stripes = longs(env, &stripes, "stripes")?;
        let broadcasts = longs(env, &broadcasts, "broadcasts")?;
        let results = runs::within(run, || task::run(&task, &stripes, &broadcasts))?;
        handed_over(env, &results)
    }

    fn run_combined<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        run: jlong,
        task: JByteArray<'local>,
        combine: JByteArray<'local>,
        before: jlong,
        stripes: JLongArray<'local>,
        broadcasts: JLongArray<'local>,
    ) -> Result<jlong, Failure> {
        let task = bytes(env, &task, "task")?;
        let combine = bytes(env, &combine, "combine")?;
        let stripes = longs(env, &stripes, "stripes")?;
        let broadcasts = longs(env, &broadcasts, "broadcasts")?;
        Ok(runs::within(run, || {
            task::run_combined(&task, &combine, before, &stripes, &broadcasts)
        })?)
    }

    fn combine<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        combine: JByteArray<'local>,
        left: jlong,
        right: jlong,
    ) -> Result<jlong, Failure> {
        Ok(task::combine(
            &bytes(env, &combine, "combine")?,
            left,
            right,
        )?)
    }

    fn describe<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
    ) -> Result<JByteArray<'local>, Failure> {
        let entry = registry().entry(handle)?;
        Ok(env.byte_array_from_slice(&describe(&entry)?)?)
    }

    fn look<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
    ) -> Result<JLongArray<'local>, Failure> {
        let found = look(&registry().entry(handle)?);
        let array = env.new_long_array(found.len())?;
        array.set_region(env, 0, &found)?;
        Ok(array)
    }

    fn non_zeros<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
    ) -> Result<jlong, Failure> {
        let blocks = registry().get(handle)?;
        let counts = blocks.iter().map(|block| block.matrix.nnz() as i64);
        Ok(counts.sum())
    }

    fn checksum<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
    ) -> Result<jlong, Failure> {
        Ok(registry().get_matrix(handle)?.checksum().cast_signed())
    }

    fn place<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
        row_offset: jlong,
    ) -> Result<jlong, Failure> {
        let matrix = registry().get_matrix(handle)?;
        let row_offset = u64::try_from(row_offset)
            .map_err(|_| Error::argument(format!("'rowOffset' is negative: {row_offset}")))?;
        Ok(registry().insert([Block::new(row_offset, 0, matrix)]))
    }

    fn join<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        handles: JLongArray<'local>,
    ) -> Result<jlong, Failure> {
        Ok(task::join(&longs(env, &handles, "handles")?)?)
    }

    fn join_blocks<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        handles: JLongArray<'local>,
        numbers: JLongArray<'local>,
    ) -> Result<jlong, Failure> {
        let handles = longs(env, &handles, "handles")?;
        Ok(task::join_blocks(
            &handles,
            &longs(env, &numbers, "numbers")?,
        )?)
    }

    fn part<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
        from: jlong,
        until: jlong,
    ) -> Result<jlong, Failure> {
        Ok(task::part(handle, from, until)?)
    }

    fn write<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
        output: OutputStream<'local>,
    ) -> Result<(), Failure> {
        if output.is_null() {
            return Err(null("output").into());
        }
        let blocks = registry().get(handle)?;
        let bytes: usize = blocks.iter().map(|block| block.matrix.memory_bytes()).sum();
        Ok(ipc::write(&blocks, Output::new(env, &output, bytes)?)?)
    }

    fn read<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        input: InputStream<'local>,
    ) -> Result<jlong, Failure> {
        if input.is_null() {
            return Err(null("input").into());
        }
        Ok(registry().insert(ipc::read(Input::new(env, &input)?)?))
    }

    fn map<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        path: JByteArray<'local>,
        head: JByteArray<'local>,
        offset: jlong,
        length: jlong,
    ) -> Result<jlong, Failure> {
        let path = String::from_utf8(bytes(env, &path, "path")?)
            .map_err(|_| Error::argument("'path' is no UTF-8"))?;
        let (Ok(offset), Ok(length)) = (u64::try_from(offset), u64::try_from(length)) else {
            return Err(Error::argument("'offset' and 'length' are not negative").into());
        };
        let file = File::open(&path).map_err(|error| Error::io(format!("{path}: {error}")))?;
        let blocks = mapped::map(&file, &bytes(env, &head, "head")?, offset, length)?;
        Ok(blocks.map_or(0, |blocks| registry().insert(blocks)))
    }

    fn parse_text<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        format: JByteArray<'local>,
        text: JByteArray<'local>,
        length: jint,
    ) -> Result<JByteArray<'local>, Failure> {
        let format = bytes(env, &format, "format")?;
        let (reply, handles) = text::parse(&format, &first_bytes(env, &text, length)?)?;
        replied(env, &reply, &handles)
    }

    fn spread_cells<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        how: JByteArray<'local>,
        cells: jlong,
    ) -> Result<JLongArray<'local>, Failure> {
        handed_over(env, &text::spread(&bytes(env, &how, "how")?, cells)?)
    }

    fn gather_cells<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        how: JByteArray<'local>,
        cells: JLongArray<'local>,
    ) -> Result<JByteArray<'local>, Failure> {
        let (how, cells) = (bytes(env, &how, "how")?, longs(env, &cells, "cells")?);
        let (reply, handles) = text::gather(&how, &cells)?;
        replied(env, &reply, &handles)
    }

    fn format_text<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
        format: JByteArray<'local>,
        output: OutputStream<'local>,
    ) -> Result<(), Failure> {
        if output.is_null() {
            return Err(null("output").into());
        }
        let format = bytes(env, &format, "format")?;
        let output = Output::new(env, &output, TEXT_BYTES)?;
        Ok(text::format(handle, &format, output)?)
    }

    fn relate<'local>(
        env: &mut Env<'local>,
        _class: JClass<'local>,
        plan: JByteArray<'local>,
        array: jlong,
        schema: jlong,
        result_array: jlong,
        result_schema: jlong,
    ) -> Result<(), Failure> {
        let (array, schema): (*mut FFI_ArrowArray, *mut FFI_ArrowSchema) =
            (address(array, "array")?, address(schema, "schema")?);
        let (result_array, result_schema): (*mut FFI_ArrowArray, *mut FFI_ArrowSchema) = (
            address(result_array, "resultArray")?,
            address(result_schema, "resultSchema")?,
        );
        let plan = bytes(env, &plan, "plan")?;
        // SAFETY: the caller of `Native.relate` answers for the two structs, as its documentation asks.
        let table = unsafe { tables::import(array, schema) }?;
        let result = relation::relate(&plan, table)?;
        // SAFETY: the caller of `Native.relate` answers for the memory of the two structs, as its documentation asks.
        unsafe { ffi::export(&result, result_array, result_schema) }?;
        Ok(())
    }

    fn release<'local>(
        _env: &mut Env<'local>,
        _class: JClass<'local>,
        handle: jlong,
    ) -> Result<(), Failure> {
        registry().release(handle);
        Ok(())
    }
}

/// Of a text, that go to a stream at once.
const TEXT_BYTES: usize = 1 << 18;

/// The first bytes of an array that may have more.
fn first_bytes(env: &Env<'_>, array: &JByteArray<'_>, length: jint) -> Result<Vec<u8>, Failure> {
    if array.is_null() {
        return Err(null("text").into());
    }
    let held = array.len(env)?;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length <= held);
    let length = length
        .ok_or_else(|| Error::argument(format!("'length' is not of an array of {held} bytes")))?;
    let mut copy = memory::filled(length, 0u8)?;
    array.get_region(env, 0, bytemuck::cast_slice_mut(&mut copy))?;
    Ok(copy)
}

/// A reply that names new handles, as a Java array.
fn replied<'local>(
    env: &mut Env<'local>,
    reply: &[u8],
    handles: &[jlong],
) -> Result<JByteArray<'local>, Failure> {
    or_released(handles, env.byte_array_from_slice(reply))
}

/// New handles as a Java array.
fn handed_over<'local>(
    env: &mut Env<'local>,
    handles: &[jlong],
) -> Result<JLongArray<'local>, Failure> {
    let array = env.new_long_array(handles.len()).and_then(|array| {
        array.set_region(env, 0, handles)?;
        Ok(array)
    });
    or_released(handles, array)
}

/// What tells Java of new handles; where it could not be made, nobody else knows them.
fn or_released<T>(handles: &[jlong], told: jni::errors::Result<T>) -> Result<T, Failure> {
    if told.is_err() {
        for handle in handles {
            registry().release(*handle);
        }
    }
    Ok(told?)
}

fn bytes(env: &Env<'_>, array: &JByteArray<'_>, parameter: &str) -> Result<Vec<u8>, Failure> {
    if array.is_null() {
        return Err(null(parameter).into());
    }
    Ok(env.convert_byte_array(array)?)
}

fn longs(env: &Env<'_>, array: &JLongArray<'_>, parameter: &str) -> Result<Vec<jlong>, Failure> {
    if array.is_null() {
        return Err(null(parameter).into());
    }
    let mut values = memory::filled(array.len(env)?, 0)?;
    array.get_region(env, 0, &mut values)?;
    Ok(values)
}

/// # Errors
/// `argument` for an address at which no `T` can be.
fn address<T>(address: jlong, parameter: &str) -> Result<*mut T> {
    let pointer = address as usize as *mut T;
    if pointer.is_null() {
        return Err(null(parameter));
    }
    if !pointer.is_aligned() {
        return Err(Error::argument(format!(
            "'{parameter}' is no address of a struct: {address:#x}"
        )));
    }
    Ok(pointer)
}

fn null(parameter: &str) -> Error {
    Error::argument(format!("'{parameter}' is null"))
}
