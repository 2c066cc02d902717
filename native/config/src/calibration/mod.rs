//! What the cost model knows of this machine: bandwidths and operations per second, measured once.
//!
//! - [`measure`] takes about a tenth of a second.
//! - [`kept::Kept`] is a measurement with its age, and whether others disturbed it ([`load`]): such a one is taken again.
//! - [`store`] keeps the result in a file of the user's cache folder, for all processes on machines of this kind.
//! - [`Calibration`] looks the values up, or measures.
//! - [`Speeds`] is what a session holds: it measures only when plans are made for matrices so large that a better plan is
//!   worth the time.
//!
//! A session without a calibration plans with [`CostConstants::default`], so that the plans of tests do not depend
//! on the machine. Workers run what the driver planned; iterations of a `parfor`, which they plan, come with its speeds.

mod kept;
mod load;
mod measure;
mod store;

use std::{
    collections::BTreeMap,
    fmt::Write,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use fulgurite_error::{Error, ErrorKind, Result};
use fulgurite_fusion::{
    CostConstants, Policy,
    machine::{CONSTANTS, Declaration, Origin},
};

use rayon::ThreadPool;

use super::{cost::Measured, table::Config};
use kept::Kept;
use load::Ticks;
use store::Store;

/// Bytes of the matrices in a block from which on the machine is measured before the block is planned. Passing over
/// this much takes longer than measuring.
const MEASURE_FROM_BYTES: u64 = 256 << 20;

/// The measurements of this machine, one for each number of threads.
#[derive(Debug)]
pub struct Calibration {
    store: Store,
    known: Mutex<BTreeMap<usize, Kept>>,
}

impl Calibration {
    /// Kept in the user's cache folder: `$XDG_CACHE_HOME/fulgurite`, else `~/.cache/fulgurite` (on macOS
    /// `~/Library/Caches/fulgurite`).
    pub fn of_this_machine() -> Arc<Self> {
        Self::kept_in(store::user_cache_folder())
    }

    /// Kept in this folder; `None` keeps it in this process alone.
    pub fn kept_in(folder: Option<PathBuf>) -> Arc<Self> {
        Arc::new(Calibration {
            store: Store::new(folder),
            known: Mutex::default(),
        })
    }

    /// What was measured before, by this process or another one.
    pub fn known(&self, threads: usize) -> Option<Measured> {
        self.kept(threads).map(|kept| kept.measured)
    }

    fn kept(&self, threads: usize) -> Option<Kept> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = known.get(&threads) {
            return Some(kept.clone());
        }
        let kept = self.store.load(threads)?;
        known.insert(threads, kept.clone());
        Some(kept)
    }

    /// Measures on a pool of so many threads, unless that was done before, and keeps the result. What is old, or was measured
    /// while others kept the machine busy, is measured again.
    ///
    /// # Errors
    /// Of `pool`, which is asked for only to measure; `memory`, where there is none for a vector.
    pub fn measured(
        &self,
        threads: usize,
        pool: impl FnOnce() -> Result<Arc<ThreadPool>>,
    ) -> Result<Measured> {
        match self.kept(threads) {
            Some(kept) if !kept.is_doubtful() => Ok(kept.measured),
            _ => self.measure(threads, pool),
        }
    }

    /// Measures, whatever was measured before.
    ///
    /// # Errors
    /// As [`Calibration::measured`].
    pub fn measure(
        &self,
        threads: usize,
        pool: impl FnOnce() -> Result<Arc<ThreadPool>>,
    ) -> Result<Measured> {
        let pool = pool()?;
        let before = Ticks::now();
        let measured = measure::measure(&pool)?;
        let others = match (before, Ticks::now()) {
            (Some(before), Some(after)) => after.others_since(before),
            // Where the system does not tell, nobody disturbs.
            _ => 0.0,
        };
        let next = Kept::new(measured, others);
        let known = match self.kept(threads) {
            Some(kept) => kept.followed_by(next),
            None => next,
        };
        Ok(self.keep(threads, known).measured)
    }

    /// A run read memory at a speed, in GB/s, which the machine therefore has.
    fn read_at(&self, threads: usize, speed: f64) {
        let kept = self.kept(threads);
        if let Some(known) = kept.and_then(|kept| kept.after_reading_at(speed)) {
            tracing::debug!(speed, "the calibration was disturbed");
            self.keep(threads, known);
        }
    }

    /// In this process, whether or not the file can be written.
    fn keep(&self, threads: usize, kept: Kept) -> Kept {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(threads, kept.clone());
        drop(known);
        self.store.save(threads, &kept);
        kept
    }

    /// The file that keeps the measurement.
    pub fn file(&self, threads: usize) -> Option<PathBuf> {
        self.store.file(threads)
    }

    /// The constants that plans are made with, and where each comes from.
    pub fn describe(&self, config: &Config) -> String {
        let threads = config.effective_threads();
        let settings = &config.cost;
        let kept = self.kept(threads).filter(|_| settings.calibrate);
        let constants = settings.resolve(kept.as_ref().map(|kept| &kept.measured));
        let file = match self.file(threads).filter(|file| file.exists()) {
            Some(file) => format!("kept in {}", file.display()),
            None => "not kept in a file".to_owned(),
        };
        let otherwise = match (&kept, settings.calibrate) {
            (Some(kept), _) => format!("measured {}, {file}", kept.describe()),
            (None, true) => {
                "default: not measured yet; `fulgurite config --calibrate` measures".to_owned()
            }
            (None, false) => "default: fulgurite.cost.calibrate is false".to_owned(),
        };
        let mut text = format!("Cost constants with {threads} threads:\n");
        for declaration in &CONSTANTS {
            let Declaration {
                constant,
                name,
                unit,
                origin,
                ..
            } = declaration;
            let from = match (settings.set.contains_key(constant), origin) {
                (true, _) => "configured".to_owned(),
                (false, Origin::Measured) => otherwise.clone(),
                (false, Origin::As(other)) => format!("as {}", other.declaration().name),
                (false, Origin::Fixed) => "default: never measured".to_owned(),
            };
            let value = constants[*constant];
            let _ = writeln!(text, "    {name:<12} {value:>8.3} {unit:<8} {from}");
        }
        text
    }
}

/// The speeds that plans are made with, of this machine if there is a calibration. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Speeds(Option<Arc<Calibration>>);

impl Speeds {
    /// With the speeds of this machine, unless a configuration says otherwise.
    pub fn of(calibration: Arc<Calibration>) -> Self {
        Speeds(Some(calibration))
    }

    /// What is known without measuring.
    pub fn known(&self, config: &Config) -> CostConstants {
        let known = self.wanted(config);
        let known = known.and_then(|calibration| calibration.known(config.effective_threads()));
        config.cost.resolve(known.as_ref())
    }

    /// The speeds to plan a block with, whose matrices take this many bytes. Only large ones are worth a measurement on a
    /// pool of the configured threads; what was measured before serves all.
    ///
    /// # Errors
    /// As [`Calibration::measured`], but where memory for a measurement is short there is none.
    pub fn for_bytes(
        &self,
        config: &Config,
        bytes: u64,
        pool: impl FnOnce(usize) -> Result<Arc<ThreadPool>>,
    ) -> Result<CostConstants> {
        let Some(calibration) = self.wanted(config).filter(|_| bytes >= MEASURE_FROM_BYTES) else {
            return Ok(self.known(config));
        };
        let threads = config.effective_threads();
        let is_short_of_memory = |error: &Error| error.kind() == ErrorKind::Memory;
        let measured = match calibration.measured(threads, || pool(threads)) {
            // Plans need no measurement.
            Err(error) if is_short_of_memory(&error) => None,
            measured => Some(measured?),
        };
        Ok(config.cost.resolve(measured.as_ref()))
    }

    /// An operator read this many bytes of a matrix in this time, and more besides. Large ones show what the machine can do.
    pub fn observe_read(&self, config: &Config, bytes: u64, time: Duration) {
        let large = self.wanted(config).filter(|_| bytes >= MEASURE_FROM_BYTES);
        if let Some(calibration) = large.filter(|_| !time.is_zero()) {
            let speed = bytes as f64 / time.as_secs_f64() / 1e9;
            calibration.read_at(config.effective_threads(), speed);
        }
    }

    fn wanted(&self, config: &Config) -> Option<&Calibration> {
        let wanted = config.cost.wants_measurement() && config.fusion_policy == Policy::Cost;
        self.0.as_deref().filter(|_| wanted)
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_fusion::machine::Constant;

    use super::*;

    fn measured() -> Measured {
        [
            (Constant::Read, 17.0),
            (Constant::CachedRead, 80.0),
            (Constant::Write, 1.5),
            (Constant::Rewrite, 4.5),
            (Constant::CachedWrite, 30.0),
            (Constant::Compute, 9.0),
            (Constant::Functions, 20.0),
            (Constant::Products, 70.0),
        ]
        .into()
    }

    #[test]
    fn each_constant_says_where_it_comes_from() {
        let calibration = Calibration::kept_in(None);
        let mut config = Config::default();
        let set = config.set("fulgurite.threads", "3").and_then(|()| {
            config.set("fulgurite.cost.writeBandwidth", "2.5")?;
            config.set("fulgurite.cost.functions", "25")?;
            config.set("fulgurite.cost.products", "50")?;
            config.set("fulgurite.cost.compute", "12")
        });
        assert_eq!(set, Ok(()));
        let before = calibration.describe(&config);
        let mut known = calibration.known.lock().expect("nobody panics with it");
        known.insert(3, Kept::new(measured(), 0.01).aged(7300));
        drop(known);
        let after = calibration.describe(&config);
        insta::assert_snapshot!(format!("{before}{after}"), @r"
        Cost constants with 3 threads:
            read           32.000 GB/s     default: not measured yet; `fulgurite config --calibrate` measures
            cached read    32.000 GB/s     default: not measured yet; `fulgurite config --calibrate` measures
            distributed    32.000 GB/s     as read
            write           2.500 GB/s     configured
            rewrite         2.000 GB/s     default: not measured yet; `fulgurite config --calibrate` measures
            cached write    2.000 GB/s     default: not measured yet; `fulgurite config --calibrate` measures
            broadcast       0.128 GB/s     default: never measured
            compute        12.000 GFLOP/s  configured
            functions      25.000 GFLOP/s  configured
            products       50.000 GFLOP/s  configured
            operator        3.000 us       default: never measured
            job            40.000 ms       default: never measured
        Cost constants with 3 threads:
            read           17.000 GB/s     measured 2 hours ago, not kept in a file
            cached read    80.000 GB/s     measured 2 hours ago, not kept in a file
            distributed    17.000 GB/s     as read
            write           2.500 GB/s     configured
            rewrite         4.500 GB/s     measured 2 hours ago, not kept in a file
            cached write   30.000 GB/s     measured 2 hours ago, not kept in a file
            broadcast       0.128 GB/s     default: never measured
            compute        12.000 GFLOP/s  configured
            functions      25.000 GFLOP/s  configured
            products       50.000 GFLOP/s  configured
            operator        3.000 us       default: never measured
            job            40.000 ms       default: never measured
        ");
    }

    fn pool() -> Result<Arc<ThreadPool>> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        Ok(Arc::new(pool.expect("two threads start")))
    }

    #[test]
    fn the_machine_is_measured_once_and_the_next_process_reads_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let calibration = Calibration::kept_in(Some(folder.path().join("not/there/yet")));
        assert_eq!(calibration.known(2), None);
        let measured = calibration.measured(2, pool).expect("two threads start");
        assert_eq!(calibration.measured(2, pool), Ok(measured.clone()));
        // A run shows more.
        let speeds = Speeds::of(Arc::clone(&calibration));
        let mut config = Config::default();
        config.set("fulgurite.threads", "2").expect("a number");
        let second = Duration::from_secs(1);
        speeds.observe_read(&config, 1 << 20, second / 1_000_000);
        assert_eq!(calibration.known(2).as_ref(), Some(&measured));
        let read = 2.0 * measured[&Constant::Read];
        speeds.observe_read(&config, (read * 1e9) as u64 * 10, 10 * second);
        let known = calibration.known(2).expect("it is measured");
        assert!((known[&Constant::Read] / read - 1.0).abs() < 1e-6);
        let measured = known;
        let next = Calibration::kept_in(Some(folder.path().join("not/there/yet")));
        assert_eq!(next.known(2).as_ref(), Some(&measured));
        assert_eq!(next.known(1), None);
        // What is implausible was not measured, it was miscounted.
        for (constant, least) in [
            (Constant::Read, 0.2),
            (Constant::CachedRead, 0.2),
            (Constant::Write, 0.05),
            (Constant::Rewrite, 0.05),
            (Constant::CachedWrite, 0.05),
            (Constant::Compute, 0.05),
            (Constant::Functions, 0.05),
            (Constant::Products, 0.05),
        ] {
            assert!(measured[&constant] > least, "{measured:?}");
        }
    }
}
