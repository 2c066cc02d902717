//! How much memory this machine, or this container, has.

use std::{fs, sync::OnceLock};

use fulgurite_matrix::memory;

/// Taken where the system does not say.
const UNKNOWN_PHYSICAL_BYTES: u64 = 8 << 30;

/// 70 % of the physical memory.
pub(super) fn automatic() -> u64 {
    physical() / 10 * 7
}

/// Bytes of this machine, or of the container where its limit is lower.
pub(super) fn physical() -> u64 {
    static BYTES: OnceLock<u64> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let limits = [system_bytes(), memory::container_bytes()];
        let limit = limits.into_iter().flatten().min();
        limit.unwrap_or(UNKNOWN_PHYSICAL_BYTES)
    })
}

fn system_bytes() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    #[test]
    fn some_memory_is_found() {
        assert!(super::automatic() > 64 << 20);
    }
}
