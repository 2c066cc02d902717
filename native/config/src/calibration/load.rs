//! How busy others keep the processors.

use std::fs;

/// Ticks of the processors since the system started, from `/proc`. Their length does not matter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticks {
    /// Of all processors, idle ones included.
    all: u64,
    busy: u64,
    /// Of this process.
    own: u64,
}

impl Ticks {
    /// `None` where the system does not tell.
    pub fn now() -> Option<Self> {
        let system = fs::read_to_string("/proc/stat").ok()?;
        let process = fs::read_to_string("/proc/self/stat").ok()?;
        Self::read(&system, &process)
    }

    fn read(system: &str, process: &str) -> Option<Self> {
        let first = system.lines().next()?.strip_prefix("cpu ")?;
        // user, nice, system, idle, iowait, irq, softirq, steal; guests' times are in those of users.
        let times: Option<Vec<u64>> = first
            .split_whitespace()
            .take(8)
            .map(|time| time.parse().ok())
            .collect();
        let times = times.filter(|times| times.len() == 8)?;
        let all = times.iter().sum();
        // A program's name may hold anything, parentheses, too.
        let (_, fields) = process.rsplit_once(')')?;
        let mut fields = fields.split_whitespace().skip(11);
        let mut time = || fields.next()?.parse::<u64>().ok();
        Some(Ticks {
            all,
            busy: all - times[3] - times[4],
            own: time()? + time()?,
        })
    }

    /// The share of the processors' time since then that other processes took.
    pub fn others_since(self, before: Self) -> f64 {
        let busy = self.busy.saturating_sub(before.busy);
        let own = self.own.saturating_sub(before.own);
        let all = self.all.saturating_sub(before.all).max(1);
        busy.saturating_sub(own) as f64 / all as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_neither_idle_nor_our_own_is_others() {
        let before = Ticks::read(
            "cpu  100 0 50 800 10 0 0 0 0 0\ncpu0 1 2 3\n",
            "7 (a) b) R 1 2 3 4 5 6 7 8 9 10 40 10 0 0 20",
        );
        let after = Ticks::read(
            "cpu  130 0 60 850 10 5 5 0 0 0\n",
            "7 (a) b) R 1 2 3 4 5 6 7 8 9 10 60 15 0 0 20",
        );
        let (Some(before), Some(after)) = (before, after) else {
            panic!("{before:?} {after:?}")
        };
        // 50 of 100 ticks were busy, 25 of them our own.
        assert_eq!(after.others_since(before), 0.25);
        assert_eq!(before.others_since(before), 0.0);
        for broken in ["", "cpu 1 2 3", "cpu  1 2 3 x 5 6 7 8"] {
            assert_eq!(Ticks::read(broken, "7 (a) R 1"), None);
        }
    }
}
