//! The file that keeps a measurement.
//!
//! There is a file for each kind of machine, number of threads and version, since home folders are shared between
//! machines. Processes may write it at the same time: each writes a file of its own and renames it, so that readers
//! see a whole file. A file that can't be read, or does not hold plausible numbers, is as none at all; one that
//! can't be written is only logged.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process,
};

use serde::{Deserialize, Serialize};

use super::super::cost::{Measured, measured_constants};
use super::kept::Kept;

/// Changes when what is measured changes.
const FORMAT: u32 = 6;

#[derive(Debug)]
pub(super) struct Store {
    folder: Option<PathBuf>,
    machine: String,
}

/// What the file holds: the numbers, and of what they were taken.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    format: u32,
    version: String,
    machine: String,
    threads: usize,
    kept: Kept,
}

impl Store {
    pub(super) fn new(folder: Option<PathBuf>) -> Self {
        Store {
            folder,
            machine: machine(),
        }
    }

    pub(super) fn file(&self, threads: usize) -> Option<PathBuf> {
        let word = |c: char| match c.is_ascii_alphanumeric() {
            true => c.to_ascii_lowercase(),
            false => '-',
        };
        let machine: String = self.machine.chars().map(word).take(80).collect();
        let version = env!("CARGO_PKG_VERSION");
        let name = format!("cost-{version}-{machine}-{threads}-threads.json");
        Some(self.folder.as_ref()?.join(name))
    }

    pub(super) fn load(&self, threads: usize) -> Option<Kept> {
        let file = self.file(threads)?;
        let text = match fs::read(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::debug!(file = %file.display(), %error, "the calibration can't be read");
                return None;
            }
        };
        match serde_json::from_slice::<Entry>(&text) {
            Ok(entry) if entry == self.entry(threads, entry.kept.clone()) => {
                plausible(&entry.kept.measured).then_some(entry.kept)
            }
            Ok(_) => None,
            Err(error) => {
                tracing::debug!(file = %file.display(), %error, "the calibration is not understood");
                None
            }
        }
    }

    pub(super) fn save(&self, threads: usize, kept: &Kept) {
        let Some(file) = self.file(threads) else {
            return;
        };
        if let Err(error) = self.write(&file, threads, kept) {
            tracing::debug!(file = %file.display(), %error, "the calibration is not kept");
        }
    }

    fn write(&self, file: &Path, threads: usize, kept: &Kept) -> io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        let text = serde_json::to_vec_pretty(&self.entry(threads, kept.clone()))?;
        let own = file.with_extension(format!("{}.tmp", process::id()));
        let written = fs::write(&own, text).and_then(|()| fs::rename(&own, file));
        if written.is_err() {
            let _ = fs::remove_file(&own);
        }
        written
    }

    fn entry(&self, threads: usize, kept: Kept) -> Entry {
        Entry {
            format: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            machine: self.machine.clone(),
            threads,
            kept,
        }
    }
}

/// All that is measured, and nothing miscounted.
fn plausible(measured: &Measured) -> bool {
    measured.keys().copied().eq(measured_constants())
        && measured.values().all(|speed| (1e-3..1e6).contains(speed))
}

/// The processor's name and the number of cores.
fn machine() -> String {
    let processor = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| processor(&text));
    let processor = processor.unwrap_or_else(|| env::consts::ARCH.to_owned());
    format!("{processor}, {} cores", fulgurite_matrix::cores())
}

/// x86 names the model; ARM gives numbers for it.
fn processor(cpuinfo: &str) -> Option<String> {
    let field = |name: &str| {
        let mut lines = cpuinfo.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.trim_start().strip_prefix(':'));
        value.map(|value| value.trim().to_owned())
    };
    field("model name").or_else(|| {
        Some(format!(
            "{} {}",
            field("CPU implementer")?,
            field("CPU part")?
        ))
    })
}

pub(super) fn user_cache_folder() -> Option<PathBuf> {
    let given = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let folder = given.filter(|path| path.is_absolute()).or_else(|| {
        let home = env::home_dir().filter(|home| home.is_absolute())?;
        Some(match env::consts::OS {
            "macos" => home.join("Library/Caches"),
            _ => home.join(".cache"),
        })
    });
    folder.map(|folder| folder.join("fulgurite"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Kept {
        let speeds = (0..).map(|index| 20.0 + f64::from(index));
        Kept::new(measured_constants().zip(speeds).collect(), 0.0)
    }

    #[test]
    fn files_that_are_not_whole_count_as_none() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let store = Store::new(Some(folder.path().to_owned()));
        let file = store.file(4).expect("it has a folder");
        let measured = measured();
        store.save(4, &measured);
        assert_eq!(store.load(4).as_ref(), Some(&measured));
        let whole = fs::read_to_string(&file).expect("it was written");
        for text in [
            "",
            &whole[..whole.len() / 2],
            &whole.replace("20.0", "0.0"),
            &whole.replace("20.0", "1e300"),
            &whole.replace("\"read\": 20.0,", ""),
            &whole.replace("\"threads\": 4", "\"threads\": 5"),
            &whole.replace(&format!("\"format\": {FORMAT}"), "\"format\": 0"),
        ] {
            assert_ne!(text, whole);
            fs::write(&file, text).expect("the folder is writable");
            assert_eq!(store.load(4), None, "{text}");
        }
        store.save(4, &measured);
        assert_eq!(store.load(4), Some(measured));
        let files = fs::read_dir(folder.path()).expect("a folder").count();
        assert_eq!(files, 1, "files of processes are renamed");
    }

    #[test]
    fn folders_that_are_none_are_no_failure() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let store = Store::new(Some(file.path().join("folder")));
        store.save(4, &measured());
        assert_eq!(store.load(4), None);
        let nowhere = Store::new(None);
        nowhere.save(4, &measured());
        assert_eq!(nowhere.load(4), None);
    }

    #[test]
    fn processors_are_told_apart() {
        let intel = "processor\t: 0\nmodel name\t: Xeon 8481C\n\nprocessor\t: 1\n";
        assert_eq!(processor(intel).as_deref(), Some("Xeon 8481C"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n";
        assert_eq!(processor(arm).as_deref(), Some("0x41 0xd40"));
        assert_eq!(processor(""), None);
    }
}
