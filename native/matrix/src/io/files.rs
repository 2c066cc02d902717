//! Getting bytes in and out: directories of part files, and files that appear when they are complete.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

use fulgurite_error::{Error, Result};

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
pub(super) fn local_path(path: &str) -> Result<PathBuf> {
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

/// Bytes of the file, or of a directory's part files together.
///
/// # Errors
/// `io` when it is not there, `unsupported` when it is not of this machine.
pub fn text_bytes(path: &str) -> Result<u64> {
    let parts = parts(&local_path(path)?)?;
    parts.iter().try_fold(0, |sum, part| {
        let file = fs::metadata(part).map_err(|error| cannot("read", part, &error))?;
        Ok(sum + file.len())
    })
}

pub(super) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| cannot("read", path, &error))
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

pub(super) fn cannot(what: &str, path: &Path, error: &io::Error) -> Error {
    Error::io(format!("cannot {what} {}: {error}", path.display()))
}

/// The path with something appended to its name.
pub(super) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A file that gets its name when it is finished and vanishes if it is not.
pub(super) struct PendingFile {
    path: PathBuf,
    temporary: PathBuf,
    finished: bool,
    writer: Option<BufWriter<File>>,
}

impl PendingFile {
    /// Makes the folders on its path, too, as Hadoop's file systems do.
    ///
    /// # Errors
    /// `io`, naming the path, where its folder cannot be made or written to.
    pub(super) fn create(path: &Path) -> Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let failed = |error: &io::Error| cannot("write", path, error);
        if path.is_dir() {
            return Err(failed(&io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let name = path
            .file_name()
            .ok_or_else(|| failed(&io::Error::from(io::ErrorKind::InvalidFilename)))?;
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_file_name(format!(
            ".{}.{}-{count}.tmp",
            name.to_string_lossy(),
            std::process::id()
        ));
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&temporary)
            .map_err(|error| failed(&error))?;
        Ok(PendingFile {
            path: path.to_owned(),
            temporary,
            finished: false,
            writer: Some(BufWriter::with_capacity(1 << 16, file)),
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer
                .write_all(bytes)
                .map_err(|error| cannot("write", &self.path, &error)),
            None => Err(Error::internal("a finished file is written to")),
        }
    }

    /// Gives the file its name, replacing what was there.
    pub(super) fn finish(mut self) -> Result<()> {
        let flushed = match self.writer.take() {
            Some(mut writer) => writer.flush(),
            None => Ok(()),
        };
        flushed
            .and_then(|()| fs::rename(&self.temporary, &self.path))
            .map_err(|error| cannot("write", &self.path, &error))?;
        self.finished = true;
        Ok(())
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Some(writer) => writer.write(bytes),
            None => Err(io::Error::other("a finished file is written to")),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        if !self.finished {
            drop(self.writer.take());
            // Nobody is left to tell: the error that led here is on its way already.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
