//! Paths, and getting bytes in: files, directories of part files, pipes and devices.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use flate2::read::MultiGzDecoder;
use fulgurite_error::{Code, Error, Result};
#[cfg(unix)]
use rayon::prelude::*;

#[cfg(unix)]
use crate::memory::NewCells;
use crate::{Interrupt, memory};

/// The scheme of a path that is a URI: letters, digits, `+`, `-` and `.` before `:/`.
pub fn scheme(path: &str) -> Option<&str> {
    let (scheme, rest) = path.split_once(':')?;
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_part)
        && rest.starts_with('/');
    is_scheme.then_some(scheme)
}

/// Whether a path names a file of this machine: it has no scheme, or `file:`.
pub fn is_local(path: &str) -> bool {
    scheme(path).is_none_or(|scheme| scheme.eq_ignore_ascii_case(LOCAL_SCHEME))
}

const LOCAL_SCHEME: &str = "file";

/// The error about a path of another file system, where nobody knows it.
pub fn of_another_file_system(path: &str) -> Error {
    let scheme = scheme(path).unwrap_or_default();
    Error::unsupported(format!(
        "'{path}': only runs on Spark read and write files of '{scheme}:'"
    ))
    .with_help("run the script on Spark, with MLContext or spark-submit, or name a local file")
}

/// A path of a script on this machine: `file:/x` and `file:///x` are `/x`.
///
/// # Errors
/// `unsupported` for another scheme, `argument` for a `file:` URI that names another machine.
pub fn local_path(path: &str) -> Result<PathBuf> {
    if !is_local(path) {
        return Err(of_another_file_system(path));
    }
    let Some(scheme) = scheme(path) else {
        return Ok(PathBuf::from(path));
    };
    let rest = &path[scheme.len() + 1..];
    match rest.strip_prefix("//") {
        None => Ok(PathBuf::from(rest)),
        Some(absolute) if absolute.starts_with('/') => Ok(PathBuf::from(absolute)),
        Some(_) => Err(
            Error::argument(format!("'{path}' names a machine between '//' and '/'"))
                .with_help("write file:///path for a file of this machine"),
        ),
    }
}

/// The file, or a directory's part files in the order of their names (hidden ones and those that begin
/// with `_` are no data).
///
/// # Errors
/// `io`, naming the path.
pub(super) fn parts(path: &Path) -> Result<Vec<PathBuf>> {
    let metadata = fs::metadata(path).map_err(|error| cannot("read", path, &error))?;
    if !metadata.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut parts = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| cannot("read", path, &error))? {
        let entry = entry.map_err(|error| cannot("read", path, &error))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !name.starts_with(['.', '_']) && entry.path().is_file() {
            parts.push(entry.path());
        }
    }
    parts.sort();
    Ok(parts)
}

/// Bytes of the file, or of a directory's part files together; of what is read once, none.
///
/// # Errors
/// `io` when it is not there, `unsupported` when it is not of this machine.
pub fn text_bytes(path: &str) -> Result<u64> {
    let parts = parts(&local_path(path)?)?;
    parts.iter().try_fold(0, |sum, part| {
        let file = fs::metadata(part).map_err(|error| cannot("read", part, &error))?;
        let packed = part
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        let growth = if packed { PACKED_GROWTH } else { 1 };
        Ok(file.len().saturating_mul(growth).saturating_add(sum))
    })
}

/// Text takes about this many times its compressed bytes.
const PACKED_GROWTH: u64 = 4;

/// Whether a path names something that is read once, front to back: a pipe or a device.
pub(super) fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// # Errors
/// `io`; `memory` where there is no room, also for what a device gives without an end.
pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let failed = |error: &io::Error| cannot("read", path, error);
    let file = File::open(path).map_err(|error| failed(&error))?;
    let length = file.metadata().map_or(0, |found| found.len());
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    match read_in_pieces(&file, length)? {
        Some(bytes) => Ok(bytes),
        None => read_all(file, length, failed),
    }
}

/// What is read between two looks at whether the run is to stop.
const PIECE_BYTES: usize = 1 << 22;

/// Reads a file of so many bytes on all threads; nothing where it is small or no ordinary file, or has another length after all.
///
/// # Errors
/// `memory` where there is no room.
#[cfg(unix)]
fn read_in_pieces(file: &File, length: usize) -> Result<Option<Vec<u8>>> {
    use std::os::unix::fs::FileExt;

    if length <= PIECE_BYTES {
        return Ok(None);
    }
    let interrupt = Interrupt::current();
    let mut bytes = NewCells::<u8>::new(length)?;
    let lengths = (0..length)
        .step_by(PIECE_BYTES)
        .map(|from| PIECE_BYTES.min(length - from));
    let pieces = bytes.parts(lengths).into_par_iter().enumerate();
    let read = pieces.map(|(number, piece)| {
        interrupt.check()?;
        let from = (number * PIECE_BYTES) as u64;
        Ok(file.read_exact_at(piece.cells(), from).is_ok())
    });
    let is_whole = read.try_reduce(|| true, |one, other| Ok(one && other))?;
    let is_all = matches!(file.read_at(&mut [0], length as u64), Ok(0));
    Ok((is_whole && is_all).then(|| bytes.finish()))
}

#[cfg(not(unix))]
fn read_in_pieces(_file: &File, _length: usize) -> Result<Option<Vec<u8>>> {
    Ok(None)
}

/// All that a source gives, which is about so many bytes.
fn read_all(
    mut source: impl Read,
    expected: usize,
    failed: impl Fn(&io::Error) -> Error,
) -> Result<Vec<u8>> {
    const LEAST_BYTES: usize = 1 << 16;
    // One more, so that the end is seen without more room.
    let mut bytes = memory::room(expected.saturating_add(1))?;
    loop {
        Interrupt::current().check()?;
        let room = (bytes.capacity() - bytes.len()).min(PIECE_BYTES);
        let mut some = source.by_ref().take(room as u64);
        let read = some
            .read_to_end(&mut bytes)
            .map_err(|error| failed(&error))?;
        if read < room {
            return Ok(bytes);
        }
        if bytes.len() == bytes.capacity() {
            let more = bytes.len().max(LEAST_BYTES);
            memory::reserve(&mut bytes, more)?;
        }
    }
}

/// The first bytes, `most` at most.
pub(super) fn read_head(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut head))
        .map_err(|error| cannot("read", path, &error))?;
    Ok(head)
}

pub(super) fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read_bytes(path)?)
        .map_err(|_| Error::data(format!("{} is not UTF-8 text", path.display())))
}

/// What gzip files begin with. No format of text does.
const GZIP: [u8; 2] = [0x1f, 0x8b];

pub(super) fn is_packed(bytes: &[u8]) -> bool {
    bytes.starts_with(&GZIP)
}

/// How files begin that are compressed by what is not built in.
const OTHER_COMPRESSIONS: [(&[u8], &str); 3] = [
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (b"BZh", "bzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
];

/// The text of a file that may be compressed by gzip.
///
/// # Errors
/// `data` where it is damaged, `memory` where the text does not fit.
pub(super) fn unpacked(bytes: Vec<u8>) -> Result<Vec<u8>> {
    for (magic, name) in OTHER_COMPRESSIONS {
        if bytes.starts_with(magic) {
            return Err(
                Error::unsupported(format!("the file is compressed by {name}"))
                    .with_help("compress it by gzip, or unpack it before it is read"),
            );
        }
    }
    if !is_packed(&bytes) {
        return Ok(bytes);
    }
    read_all(
        MultiGzDecoder::new(bytes.as_slice()),
        bytes.len(),
        |error| Error::data(format!("the compressed file is damaged: {error}")),
    )
}

/// As much of the text, `most` bytes at most, as the first bytes of a compressed file give.
pub(super) fn unpacked_head(bytes: &[u8], most: u64) -> Vec<u8> {
    let mut text = Vec::new();
    // What is cut off ends in an error; what came before it counts.
    let _ = MultiGzDecoder::new(bytes).take(most).read_to_end(&mut text);
    text
}

pub(super) fn cannot(what: &str, path: &Path, error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::OutOfMemory {
        let reason = format!("cannot {what} {}: there is no room for it", path.display());
        return Error::memory(reason).with_help("give the process more memory");
    }
    let failed = Error::io(format!("cannot {what} {}: {error}", path.display()));
    match error.kind() {
        io::ErrorKind::NotFound => failed.with_code(Code::FileNotFound),
        _ => failed,
    }
}

/// The path with something appended to its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
