//! Files that appear under their names when they are complete, and what is written to as it comes: pipes and devices.

use std::{
    collections::BTreeSet,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use flate2::{Compression, write::GzEncoder};
use fulgurite_error::{Error, Result};
use tempfile::{NamedTempFile, TempPath};

use super::{
    files::{cannot, with_suffix},
    replacing::Replacing,
};

/// A file that gets its name when it is finished and vanishes if it is not; or a pipe or device.
pub(super) struct PendingFile {
    /// What errors name.
    path: PathBuf,
    /// Where the file will be: links are followed.
    place: PathBuf,
    /// The file before it has its name; none for a pipe or device.
    temporary: Option<TempPath>,
    writer: Writer,
}

enum Writer {
    Plain(BufWriter<Target>),
    Packed(Box<GzEncoder<BufWriter<Target>>>),
}

/// What bytes go to.
enum Target {
    /// A file, which may replace another.
    File(File, Option<Replacing>),
    Output(io::Stdout),
    Error(io::Stderr),
}

impl PendingFile {
    /// Makes the folders on its path, too, as Hadoop's file systems do.
    ///
    /// # Errors
    /// `io`, naming the path, where its folder cannot be made or written to.
    pub(super) fn create(path: &Path) -> Result<Self> {
        let failed = |error: &io::Error| cannot("write", path, error);
        let pending = |target, place, temporary| PendingFile {
            path: path.to_owned(),
            place,
            temporary,
            writer: Writer::Plain(BufWriter::with_capacity(1 << 16, target)),
        };
        if let Some(target) = opened_stream(path).map_err(|error| failed(&error))? {
            return Ok(pending(target, path.to_owned(), None));
        }
        let place = followed(path).map_err(|error| failed(&error))?;
        if place.is_dir() {
            return Err(failed(&io::Error::from(io::ErrorKind::IsADirectory)));
        }
        let name = place
            .file_name()
            .ok_or_else(|| failed(&io::Error::from(io::ErrorKind::InvalidFilename)))?;
        let folder = folder_of(&place);
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        sweep(folder);
        let name: String = name
            .to_string_lossy()
            .chars()
            .take(NAME_CHARACTERS)
            .collect();
        let temporary = new_file(folder, &name).map_err(|error| failed(&error))?;
        let (file, temporary) = temporary.into_parts();
        // Whoever sweeps sees by the lock that somebody writes. Where there are no locks, it is left alone for a day.
        let _ = file.try_lock();
        let replacing = place.is_file().then(Replacing::default);
        Ok(pending(
            Target::File(file, replacing),
            place,
            Some(temporary),
        ))
    }

    /// The same file, compressed by gzip if its name ends in `.gz`. Nothing may have been written yet.
    pub(super) fn packed_by_name(mut self) -> Self {
        let extension = self.path.extension();
        if extension.is_some_and(|extension| extension.eq_ignore_ascii_case("gz")) {
            self.writer = match self.writer {
                Writer::Plain(plain) => {
                    Writer::Packed(Box::new(GzEncoder::new(plain, Compression::fast())))
                }
                packed => packed,
            };
        }
        self
    }

    /// Whether this is a pipe or a device, which has no metadata beside it.
    pub(super) fn is_stream(&self) -> bool {
        self.temporary.is_none()
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer
            .write_all(bytes)
            .map_err(|error| cannot("write", &self.path, &error))
    }

    /// Gives the file its name, replacing what was there, whose mode and owner it takes over.
    pub(super) fn finish(mut self) -> Result<()> {
        self.complete()
            .map_err(|error| cannot("write", &self.path, &error))
    }

    fn complete(&mut self) -> io::Result<()> {
        let plain = match &mut self.writer {
            Writer::Plain(plain) => plain,
            Writer::Packed(packed) => {
                packed.try_finish()?;
                packed.get_mut()
            }
        };
        plain.flush()?;
        if let (Some(temporary), Target::File(file, replacing)) =
            (self.temporary.take(), plain.get_mut())
        {
            let former = fs::metadata(&self.place);
            if let Ok(former) = &former {
                take_over(file, former);
            }
            let is_file = former.is_ok_and(|former| former.is_file());
            let former = is_file.then(|| File::open(&self.place));
            temporary.persist(&self.place)?;
            if let (Some(replacing), Some(Ok(former))) = (replacing, former) {
                replacing.replaced(former);
            }
        }
        Ok(())
    }
}

impl Write for PendingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Writer::Plain(plain) => plain.write(bytes),
            Writer::Packed(packed) => packed.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Writer::Plain(plain) => plain.flush(),
            Writer::Packed(packed) => packed.flush(),
        }
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Target::File(file, replacing) => {
                let written = file.write(bytes)?;
                if let Some(replacing) = replacing {
                    replacing.wrote(file, written);
                }
                Ok(written)
            }
            Target::Output(output) => output.write(bytes),
            Target::Error(error) => error.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Target::File(file, _) => file.flush(),
            Target::Output(output) => output.flush(),
            Target::Error(error) => error.flush(),
        }
    }
}

/// A file and its metadata get their names together: of two writers, both are one's.
///
/// # Errors
/// `io`; then a file without metadata, or with its former ones, may be there.
pub(super) fn finish_together(file: PendingFile, metadata: Vec<PendingFile>) -> Result<()> {
    let folder = locked(folder_of(&file.place));
    file.finish()?;
    for each in metadata {
        each.finish()?;
    }
    drop(folder);
    Ok(())
}

/// A file that needs no metadata gets its name, and those that stand beside it are deleted.
///
/// # Errors
/// `io`.
pub(super) fn finish_alone(file: PendingFile) -> Result<()> {
    if file.is_stream() {
        return file.finish();
    }
    let described = with_suffix(&file.place, ".mtd");
    let folder = locked(folder_of(&file.place));
    match fs::remove_file(&described) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(cannot("replace", &described, &error));
        }
        _ => {}
    }
    file.finish()?;
    drop(folder);
    Ok(())
}

/// The folder, locked against other writers of its files; without the lock where the system gives none in a few seconds.
fn locked(folder: &Path) -> Option<File> {
    const TRIES: u32 = 500;
    const PAUSE: Duration = Duration::from_millis(10);
    let folder = File::open(folder).ok()?;
    for _ in 0..TRIES {
        match folder.try_lock() {
            Ok(()) => return Some(folder),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(_)) => return None,
        }
    }
    None
}

fn folder_of(place: &Path) -> &Path {
    match place.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Where links lead, which need not be there.
pub(super) fn followed(path: &Path) -> io::Result<PathBuf> {
    const MOST_LINKS: usize = 40;
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&place) {
            Ok(target) => place = folder_of(&place).join(target),
            Err(_) => return Ok(place),
        }
    }
    Err(io::Error::other("too many links lead from one to the next"))
}

/// What is written to where it is: this process's own output, a pipe or a device.
fn opened_stream(path: &Path) -> io::Result<Option<Target>> {
    match path.to_str() {
        Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => {
            return Ok(Some(Target::Output(io::stdout())));
        }
        Some("/dev/stderr" | "/dev/fd/2" | "/proc/self/fd/2") => {
            return Ok(Some(Target::Error(io::stderr())));
        }
        _ => {}
    }
    match super::files::is_stream(path) {
        true => OpenOptions::new()
            .write(true)
            .open(path)
            .map(|file| Some(Target::File(file, None))),
        false => Ok(None),
    }
}

/// Of a file's name in the name of its temporary one: names have at most 255 bytes.
const NAME_CHARACTERS: usize = 40;

const TEMPORARY: &str = ".fulgurite.tmp";

fn new_file(folder: &Path, name: &str) -> io::Result<NamedTempFile> {
    let prefix = format!(".{name}.");
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(TEMPORARY);
    // As any new file: what the process's mask leaves of it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(folder)
}

#[cfg(unix)]
fn take_over(file: &File, former: &fs::Metadata) {
    use std::os::unix::fs::{MetadataExt, fchown};

    let own = file.metadata().map(|own| (own.uid(), own.gid()));
    if own.is_ok_and(|own| own != (former.uid(), former.gid())) {
        // Only a privileged process gives files away; the group may be one of ours.
        let _ = fchown(file, None, Some(former.gid()));
        let _ = fchown(file, Some(former.uid()), None);
    }
    let _ = file.set_permissions(former.permissions());
}

#[cfg(not(unix))]
fn take_over(file: &File, former: &fs::Metadata) {
    let _ = file.set_permissions(former.permissions());
}

/// Deletes what writers that were killed have left in a folder; once for each folder that a process writes to.
fn sweep(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    const MOST_FOLDERS: usize = 1000;
    let known = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    {
        let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if swept.len() >= MOST_FOLDERS || !swept.insert(known) {
            return;
        }
    }
    sweep_now(folder, SystemTime::now());
}

pub(super) fn sweep_now(folder: &Path, now: SystemTime) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_old = |at_least: Duration| {
            let changed = entry.metadata().and_then(|found| found.modified());
            changed.is_ok_and(|changed| now.duration_since(changed).is_ok_and(|age| age > at_least))
        };
        if !is_temporary(&entry.file_name().to_string_lossy())
            || !entry.file_type().is_ok_and(|kind| kind.is_file())
            || !is_old(A_MINUTE)
        {
            continue;
        }
        let is_stale = match File::open(entry.path()).map(|file| file.try_lock()) {
            Ok(Ok(())) => true,
            Ok(Err(TryLockError::WouldBlock)) => false,
            _ => is_old(A_DAY),
        };
        if is_stale {
            // Somebody else may have been faster.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A writer locks its file just after it has made it.
const A_MINUTE: Duration = Duration::from_secs(60);
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// Ours: `.NAME.RANDOM.fulgurite.tmp`, or `.NAME.PID-COUNT.tmp`, as releases before this one named them.
fn is_temporary(name: &str) -> bool {
    let is_former = || {
        let of_process = name.strip_suffix(".tmp")?.rsplit_once('.')?.1;
        let (process, count) = of_process.split_once('-')?;
        let is_number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        Some(is_number(process) && is_number(count))
    };
    name.starts_with('.') && (name.ends_with(TEMPORARY) || is_former().unwrap_or(false))
}

/// The metadata beside a file that is about to get its name: those at its place and, where a link that leads there has its own, those.
///
/// # Errors
/// `io`, where they cannot be written.
pub(super) fn described(file: &PendingFile, text: &str) -> Result<Vec<PendingFile>> {
    let beside = with_suffix(&file.place, ".mtd");
    let beside_link = with_suffix(&file.path, ".mtd");
    let is_another = beside_link.is_file() && !same_file(&beside, &beside_link);
    let paths = [Some(beside), is_another.then_some(beside_link)];
    let mut pending = Vec::new();
    for path in paths.into_iter().flatten() {
        let mut metadata = PendingFile::create(&path)?;
        if metadata.is_stream() {
            return Err(Error::io(format!(
                "cannot write {}: it is no file",
                path.display()
            )));
        }
        metadata.write(text.as_bytes())?;
        pending.push(metadata);
    }
    Ok(pending)
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long enough for the thread beside the writer.
    #[test]
    fn long_files_replace_long_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        for byte in [b'a', b'b', b'c'] {
            let mut file = PendingFile::create(&path).unwrap();
            for length in [1, 5 << 20, 20 << 20, 7] {
                file.write(&vec![byte; length]).unwrap();
            }
            file.finish().unwrap();
            let expected = vec![byte; 8 + (25 << 20)];
            assert!(fs::read(&path).unwrap() == expected, "{byte}");
        }
        let mut given_up = PendingFile::create(&path).unwrap();
        given_up.write(&vec![b'd'; 20 << 20]).unwrap();
        drop(given_up);
        assert_eq!(fs::read(&path).unwrap()[0], b'c');
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
