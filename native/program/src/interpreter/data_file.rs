//! The file that a path names: one of this machine, or of a file system that the backend knows (in a Spark run, Hadoop's).
//!
//! Metadata of the latter are asked for. Its cells come as a copy in a folder of this machine, and a matrix that is
//! here goes there from such a folder; the folder is deleted at once. What workers read and write does not pass here.

use std::{
    fs,
    path::{Path, PathBuf},
};

use fulgurite_dataflow::{Backend, FoundFile, Primitive, Reply, STAGED};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::io::{self, Access, Contents, Metadata};

use crate::session::Session;

pub(super) struct DataFile<'a> {
    path: &'a str,
    /// What knows the file system, unless that is this machine's.
    elsewhere: Option<&'a dyn Backend>,
}

impl<'a> DataFile<'a> {
    /// # Errors
    /// `unsupported`, for another machine's file without a backend.
    pub fn at(path: &'a str, session: &'a Session) -> Result<Self> {
        let is_here = match io::scheme(path) {
            None => !session.paths_elsewhere,
            Some(_) => io::is_local(path),
        };
        let elsewhere = match (is_here, session.backend.as_deref()) {
            (true, _) => None,
            (false, Some(backend)) => Some(backend),
            (false, None) => return Err(io::of_another_file_system(path)),
        };
        Ok(DataFile { path, elsewhere })
    }

    /// What is known of it, and its length in bytes.
    ///
    /// # Errors
    /// As [`io::resolve`]; `io` of the backend.
    pub fn resolve(&self, call: &Metadata) -> Result<(Metadata, Option<u64>)> {
        let Some(backend) = self.elsewhere else {
            let resolved = io::resolve(self.path, call)?;
            return Ok((resolved, io::text_bytes(self.path).ok()));
        };
        let found = self.find(backend, FIRST_LOOK)?;
        let head = |most: u64| match most <= FIRST_LOOK {
            true => Ok(found.head_bytes()),
            false => Ok(self.find(backend, most)?.head_bytes()),
        };
        let resolved = io::resolve_found(&self.path, found.metadata.as_deref(), &head, call)?;
        Ok((resolved, Some(found.bytes)))
    }

    /// The folder of this machine that the path names.
    ///
    /// # Errors
    /// `unsupported`, for one of another file system.
    pub fn folder(&self) -> Result<PathBuf> {
        match self.elsewhere {
            None => io::local_path(self.path),
            Some(_) => Err(Error::unsupported(format!(
                "'{}': a folder of another file system than this machine's",
                self.path
            ))
            .with_help("name a folder of this machine: file:///path")),
        }
    }

    /// Whether only a copy can be read here, which has to fit as text, too.
    pub fn is_elsewhere(&self) -> bool {
        self.elsewhere.is_some()
    }

    /// Reads it into this process.
    ///
    /// # Errors
    /// As [`io::read`]; `io` of the backend; `memory` where a copy would be larger than `budget`.
    pub fn read(
        &self,
        call: &Metadata,
        (resolved, bytes): (&Metadata, Option<u64>),
        budget: u64,
        reading: Access,
    ) -> Result<Contents> {
        let Some(backend) = self.elsewhere else {
            return io::read(self.path, call, reading);
        };
        let bytes = bytes.unwrap_or(0);
        if bytes > budget {
            return Err(Error::memory(format!(
                "'{}' has {bytes} bytes, more than the {budget} that may be read into this process",
                self.path
            ))
            .with_help("raise fulgurite.memory.local, or shorten the file"));
        }
        let fetch = Primitive::FetchFile {
            path: self.path.to_owned(),
            bytes,
        };
        let folder = Folder::of(backend.apply(&fetch, None)?)?;
        io::read_copy(&folder.0, self.path, resolved)
    }

    /// Writes it by `write`, which is told a path of this machine.
    ///
    /// # Errors
    /// Those of `write`, and `io` of the backend.
    pub fn write(&self, write: impl FnOnce(&str) -> Result<()>) -> Result<()> {
        let Some(backend) = self.elsewhere else {
            return write(self.path);
        };
        let path = self.path.to_owned();
        let folder = Folder::of(backend.apply(&Primitive::StageFile { path }, None)?)?;
        write(&folder.0.join(STAGED).to_string_lossy()).map_err(|error| self.named(error))?;
        let store = Primitive::StoreFile {
            folder: folder.0.to_string_lossy().into_owned(),
            path: self.path.to_owned(),
        };
        backend.apply(&store, None).map(|_| ())
    }

    fn find(&self, backend: &dyn Backend, head: u64) -> Result<FoundFile> {
        let find = Primitive::FindFile {
            path: self.path.to_owned(),
            head,
        };
        let found = backend.apply(&find, None)?.file;
        found.ok_or_else(|| Error::backend("a file was looked for, and the reply has none"))
    }

    /// An error about the staged file is one about this file.
    fn named(&self, error: Error) -> Error {
        let named = format!("cannot write '{}': {}", self.path, error.message());
        error.with_message(named)
    }
}

/// Bytes that tell most formats; longer headers are asked for when one is needed.
const FIRST_LOOK: u64 = 4;

/// A folder of this machine that is ours; deleted with all that is in it.
struct Folder(PathBuf);

impl Folder {
    fn of(reply: Reply) -> Result<Self> {
        let folder = reply
            .folder
            .filter(|folder| Path::new(folder).is_absolute())
            .ok_or_else(|| Error::backend("a folder was asked for, and the reply has none"))?;
        Ok(Folder(PathBuf::from(folder)))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be deleted now goes with the session's other scratch files.
        let _ = fs::remove_dir_all(&self.0);
    }
}
