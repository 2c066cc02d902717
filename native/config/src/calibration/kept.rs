//! A measurement, and how far it can be believed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fulgurite_fusion::machine::Constant;
use serde::{Deserialize, Serialize};

use super::super::cost::Measured;

/// The share of the processors' time up to which others did not disturb a measurement.
const CALM: f64 = 0.05;
/// When a disturbed measurement is taken again, and any.
const DISTURBED_FOR: Duration = Duration::from_secs(600);
const CALM_FOR: Duration = Duration::from_secs(30 * 24 * 3600);
/// A run that reads so many times faster than was measured shows that the measurement was disturbed.
const FASTER: f64 = 1.25;

/// What was measured, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kept {
    pub measured: Measured,
    /// Seconds since 1970.
    taken: u64,
    /// The share of the processors' time that other processes took meanwhile; 1, once a run was faster.
    pub others: f64,
}

impl Kept {
    pub fn new(measured: Measured, others: f64) -> Self {
        Kept {
            measured,
            taken: now(),
            others,
        }
    }

    fn is_calm(&self) -> bool {
        self.others <= CALM
    }

    pub fn age(&self) -> Duration {
        Duration::from_secs(now().saturating_sub(self.taken))
    }

    /// Whether it is worth measuring again.
    pub fn is_doubtful(&self) -> bool {
        let lasts = match self.is_calm() {
            true => CALM_FOR,
            false => DISTURBED_FOR,
        };
        self.age() > lasts
    }

    /// What is known after another measurement. Others only slow a machine down: of disturbed ones the faster speeds are
    /// nearer the truth.
    pub fn followed_by(self, next: Kept) -> Kept {
        if next.is_calm() {
            return next;
        }
        let mut measured = self.measured;
        for (constant, speed) in next.measured {
            let known = measured.entry(constant).or_insert(speed);
            *known = known.max(speed);
        }
        Kept {
            measured,
            taken: next.taken,
            others: self.others.min(next.others),
        }
    }

    /// What is known after a run read memory at a speed, in GB/s, if that changes anything.
    pub fn after_reading_at(&self, speed: f64) -> Option<Kept> {
        let read = self.measured.get(&Constant::Read)?;
        (speed > FASTER * read).then(|| {
            let mut measured = self.measured.clone();
            measured.insert(Constant::Read, speed);
            Kept {
                measured,
                others: 1.0,
                ..*self
            }
        })
    }

    /// As `fulgurite config` shows it: `12 days ago`, and whether others disturbed it.
    pub fn describe(&self) -> String {
        let minutes = self.age().as_secs() / 60;
        let (count, unit) = match minutes {
            0 => (0, ""),
            1..120 => (minutes, "minute"),
            120..2880 => (minutes / 60, "hour"),
            _ => (minutes / 1440, "day"),
        };
        let when = match count {
            0 => "just now".to_owned(),
            1 => format!("1 {unit} ago"),
            _ => format!("{count} {unit}s ago"),
        };
        match self.is_calm() {
            true => when,
            false => format!("{when} while others kept the machine busy"),
        }
    }

    #[cfg(test)]
    pub fn aged(mut self, seconds: u64) -> Self {
        self.taken -= seconds;
        self
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(read: f64, compute: f64, others: f64) -> Kept {
        let speeds = [(Constant::Read, read), (Constant::Compute, compute)];
        Kept::new(speeds.into(), others)
    }

    fn speeds(kept: &Kept) -> (f64, f64) {
        let of = |constant| kept.measured[&constant];
        (of(Constant::Read), of(Constant::Compute))
    }

    #[test]
    fn calm_measurements_last_and_replace_others() {
        const HOUR: u64 = 3600;
        assert!(!kept(9.0, 9.0, 0.5).aged(500).is_doubtful());
        assert!(kept(9.0, 9.0, 0.5).aged(HOUR).is_doubtful());
        assert!(!kept(9.0, 9.0, 0.01).aged(29 * 24 * HOUR).is_doubtful());
        assert!(kept(9.0, 9.0, 0.01).aged(31 * 24 * HOUR).is_doubtful());
        let calm = kept(25.0, 8.0, 0.01);
        assert_eq!(kept(9.0, 9.0, 0.5).followed_by(calm.clone()), calm);
        let disturbed = kept(9.0, 9.0, 0.5)
            .aged(HOUR)
            .followed_by(kept(8.0, 12.0, 0.3));
        assert_eq!((speeds(&disturbed), disturbed.others), ((9.0, 12.0), 0.3));
        assert!(!disturbed.is_doubtful());
    }

    #[test]
    fn a_run_that_reads_faster_shows_that_a_measurement_was_disturbed() {
        let calm = kept(9.2, 9.0, 0.0).aged(3600);
        assert_eq!(calm.after_reading_at(11.0), None);
        let known = calm.after_reading_at(25.6).expect("it is faster");
        assert_eq!(speeds(&known), (25.6, 9.0));
        assert!(known.is_doubtful() && !calm.is_doubtful());
    }

    #[test]
    fn ages_are_told_in_words() {
        let at = |seconds, others| kept(9.0, 9.0, others).aged(seconds).describe();
        assert_eq!(at(5, 0.0), "just now");
        assert_eq!(at(60, 0.0), "1 minute ago");
        assert_eq!(at(3 * 3600, 0.0), "3 hours ago");
        assert_eq!(
            at(12 * 24 * 3600, 0.4),
            "12 days ago while others kept the machine busy"
        );
    }
}
