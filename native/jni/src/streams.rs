//! Java's streams as Rust's. An exception that they throw stays pending, and is what the native method ends with.

use std::io::{self, Read, Write};

use jni::{Env, objects::JByteArray, sys::jint};

use crate::java::{InputStream, OutputStream};

/// Bytes that go to or come from Java at once.
const MOST_BYTES: usize = 1 << 20;
/// Of a block, what is not values.
const FRAMING_BYTES: usize = 4096;

pub(crate) struct Output<'a, 'local> {
    env: &'a mut Env<'local>,
    stream: &'a OutputStream<'local>,
    chunk: JByteArray<'local>,
    length: usize,
}

impl<'a, 'local> Output<'a, 'local> {
    /// To write about so many bytes.
    pub fn new(
        env: &'a mut Env<'local>,
        stream: &'a OutputStream<'local>,
        bytes: usize,
    ) -> jni::errors::Result<Self> {
        let length = bytes.saturating_add(FRAMING_BYTES).min(MOST_BYTES);
        let chunk = env.new_byte_array(length)?;
        Ok(Output {
            env,
            stream,
            chunk,
            length,
        })
    }
}

impl Write for Output<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(self.length)];
        self.chunk
            .set_region(self.env, 0, signed(bytes))
            .and_then(|()| {
                self.stream
                    .write(self.env, &self.chunk, 0, bytes.len() as jint)
            })
            .map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(crate) struct Input<'a, 'local> {
    env: &'a mut Env<'local>,
    stream: &'a InputStream<'local>,
    chunk: JByteArray<'local>,
    length: usize,
}

impl<'a, 'local> Input<'a, 'local> {
    pub fn new(
        env: &'a mut Env<'local>,
        stream: &'a InputStream<'local>,
    ) -> jni::errors::Result<Self> {
        let chunk = env.new_byte_array(FRAMING_BYTES)?;
        Ok(Input {
            env,
            stream,
            chunk,
            length: FRAMING_BYTES,
        })
    }
}

impl Read for Input<'_, '_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let wanted = into.len().min(MOST_BYTES);
        if wanted == 0 {
            return Ok(0);
        }
        if wanted > self.length {
            self.chunk = self.env.new_byte_array(wanted).map_err(io::Error::other)?;
            self.length = wanted;
        }
        let count = self
            .stream
            .read(self.env, &self.chunk, 0, wanted as jint)
            .map_err(io::Error::other)?;
        // -1 at the end. More than was asked for would be the stream's fault.
        let count = usize::try_from(count).unwrap_or(0).min(wanted);
        self.chunk
            .get_region(self.env, 0, signed_mut(&mut into[..count]))
            .map_err(io::Error::other)?;
        Ok(count)
    }
}

/// Bytes as Java has them.
fn signed(bytes: &[u8]) -> &[i8] {
    bytemuck::cast_slice(bytes)
}

fn signed_mut(bytes: &mut [u8]) -> &mut [i8] {
    bytemuck::cast_slice_mut(bytes)
}
