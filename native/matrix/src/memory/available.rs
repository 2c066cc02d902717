//! What the system has left for this process: of the machine's memory, its container's, and its address space.

use fulgurite_error::{Error, Result};

use super::blocks;

/// Kept for what doesn't pass the gate: stacks, compiled code, messages.
const HEADROOM_BYTES: u64 = 16 << 20;

/// Why there is no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Limit {
    AddressSpace,
    Container,
    Machine,
}

impl Limit {
    fn describe(self) -> (&'static str, &'static str) {
        match self {
            Limit::AddressSpace => (
                "the process's limit of address space",
                "raise the limit (ulimit -v), or run the script on Spark with a lower fulgurite.memory.local",
            ),
            Limit::Container => (
                "the container's limit of memory",
                "give the container more memory, or run the script on Spark with a lower fulgurite.memory.local",
            ),
            Limit::Machine => (
                "the machine's memory",
                "end other processes or take a larger machine, or run the script on Spark with a lower fulgurite.memory.local",
            ),
        }
    }
}

/// Whether there is room for so many bytes more; what is left then.
///
/// # Errors
/// `memory`, when there is none.
pub(super) fn admit(bytes: usize) -> Result<u64> {
    let Some((left, limit)) = system::left() else {
        return Ok(u64::MAX);
    };
    let left = left.saturating_sub(HEADROOM_BYTES);
    match left.checked_sub(bytes as u64) {
        Some(left) => Ok(left),
        None if blocks::give_back(usize::MAX) => admit(bytes),
        None => {
            let (of, help) = limit.describe();
            Err(
                Error::memory(format!("{bytes} bytes are needed and {of} leaves {left}"))
                    .with_help(help),
            )
        }
    }
}

/// The least limit of the control groups around this process.
pub fn container_bytes() -> Option<u64> {
    system::container_bytes()
}

/// Whether the process may have less addresses than the processor knows.
pub(super) fn address_space_is_limited() -> bool {
    system::address_space_limit().is_some()
}

/// The system did not give so many bytes.
pub(super) fn refused_by_system(bytes: usize) -> Error {
    let (_, help) = Limit::AddressSpace.describe();
    Error::memory(format!(
        "{bytes} bytes are needed and the system does not give them"
    ))
    .with_help(help)
}

#[cfg(target_os = "linux")]
mod system {
    use std::{
        fs::File,
        os::unix::fs::FileExt,
        path::{Path, PathBuf},
        sync::OnceLock,
    };

    use super::Limit;

    /// Files that tell, kept open: they are asked often.
    struct Files {
        page: u64,
        address_space: Option<u64>,
        statm: Option<File>,
        meminfo: Option<File>,
        groups: Vec<Group>,
    }

    /// A control group with a limit: this process's, or one around it.
    struct Group {
        limit: u64,
        used: File,
        statistics: Option<File>,
    }

    /// Bytes, and the limit that leaves the fewest.
    pub(super) fn left() -> Option<(u64, Limit)> {
        static FILES: OnceLock<Files> = OnceLock::new();
        let files = FILES.get_or_init(Files::open);
        let groups = files
            .groups
            .iter()
            .map(|group| (group.left(), Limit::Container));
        [
            (files.address_space_left(), Limit::AddressSpace),
            (files.machine_left(), Limit::Machine),
        ]
        .into_iter()
        .chain(groups)
        .filter_map(|(left, limit)| Some((left?, limit)))
        .min_by_key(|(left, _)| *left)
    }

    pub(super) fn address_space_limit() -> Option<u64> {
        let mut limit = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        // SAFETY: it writes into what it is given at most.
        let known = unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut limit) == 0 };
        (known && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
    }

    impl Files {
        fn open() -> Self {
            // SAFETY: it reads a number.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
            Files {
                page: u64::try_from(page).unwrap_or(4096),
                address_space: address_space_limit(),
                statm: File::open("/proc/self/statm").ok(),
                meminfo: File::open("/proc/meminfo").ok(),
                groups: groups(),
            }
        }

        fn address_space_left(&self) -> Option<u64> {
            let limit = self.address_space?;
            let text = read(self.statm.as_ref()?)?;
            let pages: u64 = text.split_whitespace().next()?.parse().ok()?;
            Some(limit.saturating_sub(pages.saturating_mul(self.page)))
        }

        fn machine_left(&self) -> Option<u64> {
            let text = read(self.meminfo.as_ref()?)?;
            let kibibytes = |name: &str| -> Option<u64> {
                let line = text.lines().find_map(|line| line.strip_prefix(name))?;
                line.trim().strip_suffix("kB")?.trim().parse().ok()
            };
            let swap = kibibytes("SwapFree:").unwrap_or(0);
            Some(
                kibibytes("MemAvailable:")?
                    .saturating_add(swap)
                    .saturating_mul(1024),
            )
        }
    }

    impl Group {
        fn left(&self) -> Option<u64> {
            let used: u64 = read(&self.used)?.trim().parse().ok()?;
            // Pages of files count as used, but make room.
            let statistics = self.statistics.as_ref().and_then(read).unwrap_or_default();
            let files = ["total_inactive_file ", "inactive_file "]
                .iter()
                .find_map(|name| {
                    let line = statistics
                        .lines()
                        .find_map(|line| line.strip_prefix(name))?;
                    line.trim().parse::<u64>().ok()
                });
            let used = used.saturating_sub(files.unwrap_or(0));
            Some(self.limit.saturating_sub(used))
        }

        fn at(folder: &Path, limit: &str, used: &str) -> Option<Self> {
            let text = std::fs::read_to_string(folder.join(limit)).ok()?;
            Some(Group {
                // Version 2 says `max` where there is none, version 1 a number near 2^63.
                limit: text.trim().parse().ok().filter(|limit| *limit < 1 << 60)?,
                used: File::open(folder.join(used)).ok()?,
                statistics: File::open(folder.join("memory.stat")).ok(),
            })
        }
    }

    /// The process's groups that have a limit, of both versions of control groups.
    fn groups() -> Vec<Group> {
        let own = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mut groups = Vec::new();
        for line in own.lines() {
            let mut fields = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else {
                continue;
            };
            let (root, limit, used) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
                "memory" => (
                    "/sys/fs/cgroup/memory",
                    "memory.limit_in_bytes",
                    "memory.usage_in_bytes",
                ),
                _ => continue,
            };
            // A container sees its own group as the root, whatever it is called outside.
            let folders: Vec<PathBuf> = Path::new(path)
                .ancestors()
                .map(|part| Path::new(root).join(part.strip_prefix("/").unwrap_or(part)))
                .collect();
            groups.extend(
                folders
                    .iter()
                    .filter_map(|folder| Group::at(folder, limit, used)),
            );
        }
        groups
    }

    pub(super) fn container_bytes() -> Option<u64> {
        groups().iter().map(|group| group.limit).min()
    }

    fn read(file: &File) -> Option<String> {
        let mut bytes = [0; 8192];
        let length = file.read_at(&mut bytes, 0).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn the_system_says_what_is_left() {
            let (left, _) = super::left().expect("Linux says so");
            assert!(left > 1 << 20, "{left}");
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn left() -> Option<(u64, super::Limit)> {
        None
    }

    pub(super) fn address_space_limit() -> Option<u64> {
        None
    }

    pub(super) fn container_bytes() -> Option<u64> {
        None
    }
}
