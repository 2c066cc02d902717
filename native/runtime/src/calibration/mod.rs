//! What the cost model knows of this machine: bandwidths and operations per second, measured once.
//!
//! - [`measure`] takes about a tenth of a second.
//! - [`store`] keeps the result in a file of the user's cache folder, for all processes on machines of this kind.
//! - [`Calibration`] is what a session holds: it looks the values up, and measures only when plans are made for
//!   matrices so large that a better plan is worth the time ([`MEASURE_FROM_BYTES`]).
//!
//! A session without a calibration plans with [`CostConstants::default`], so that the plans of tests do not depend
//! on the machine. Workers plan nothing: they run what the driver planned.

mod measure;
mod store;

use std::{
    collections::BTreeMap,
    fmt::Write,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use fulgurite_error::Result;
use fulgurite_fusion::CostConstants;
use serde::{Deserialize, Serialize};

use crate::{Config, interpreter::Threads};
use store::Store;

/// Bytes of the matrices in a block from which on the machine is measured before the block is planned. Passing over
/// this much takes longer than measuring.
pub(crate) const MEASURE_FROM_BYTES: u64 = 256 << 20;

/// The speeds that are measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Measured {
    /// Reading memory, all threads together.
    pub read_gb_per_s: f64,
    /// Reading what is in the threads' own caches.
    pub cached_read_gb_per_s: f64,
    /// Writing memory that was just allocated, as outputs are.
    pub write_gb_per_s: f64,
    /// Writing memory that was written before, as outputs of some MB are.
    pub rewrite_gb_per_s: f64,
    /// Writing what is in the threads' own caches.
    pub cached_write_gb_per_s: f64,
    /// What compiled fused operators reach on cells that are in the caches.
    pub compute_gflop_per_s: f64,
    /// The same of one that calls an elementary function.
    pub function_gflop_per_s: f64,
    /// Dense products of matrices that are in the caches.
    pub product_gflop_per_s: f64,
}

/// The measurements of this machine, one for each number of threads.
#[derive(Debug)]
pub struct Calibration {
    store: Store,
    known: Mutex<BTreeMap<usize, Measured>>,
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
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(measured) = known.get(&threads) {
            return Some(*measured);
        }
        let measured = self.store.load(threads)?;
        known.insert(threads, measured);
        Some(measured)
    }

    /// Measures, unless that was done before, and keeps the result.
    ///
    /// # Errors
    /// `runtime`, when threads can't be started.
    pub fn measured(&self, threads: usize) -> Result<Measured> {
        if let Some(known) = self.known(threads) {
            return Ok(known);
        }
        let measured = measure::measure(&Threads::new(threads)?)?;
        // Once in a process, whether or not the file could be written.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert(threads, measured);
        self.store.save(threads, measured);
        Ok(measured)
    }

    /// The file that keeps the measurement.
    pub fn file(&self, threads: usize) -> Option<PathBuf> {
        self.store.file(threads)
    }

    /// The constants that plans are made with, and where each comes from.
    pub fn describe(&self, config: &Config) -> String {
        let threads = config.effective_threads();
        let settings = &config.cost;
        let measured = self.known(threads).filter(|_| settings.calibrate);
        let constants = settings.resolve(measured);
        let kept = match self.file(threads).filter(|file| file.exists()) {
            Some(file) => format!("measured, kept in {}", file.display()),
            None => "measured, not kept in a file".to_owned(),
        };
        let otherwise = match (measured, settings.calibrate) {
            (Some(_), _) => kept.as_str(),
            (None, true) => "default: not measured yet; `fulgurite config --calibrate` measures",
            (None, false) => "default: fulgurite.cost.calibrate is false",
        };
        let mut text = format!("Cost constants with {threads} threads:\n");
        let mut line = |name, value: f64, unit, set: Option<f64>, otherwise| {
            let origin = set.map_or(otherwise, |_| "configured");
            let _ = writeln!(text, "    {name:<12} {value:>8.3} {unit:<8} {origin}");
        };
        line(
            "read",
            constants.read_gb_per_s,
            "GB/s",
            settings.read_gb_per_s,
            otherwise,
        );
        line(
            "cached read",
            constants.cached_read_gb_per_s,
            "GB/s",
            settings.cached_read_gb_per_s,
            otherwise,
        );
        line(
            "distributed",
            constants.distributed_gb_per_s,
            "GB/s",
            settings.distributed_gb_per_s,
            "as read",
        );
        line(
            "write",
            constants.write_gb_per_s,
            "GB/s",
            settings.write_gb_per_s,
            otherwise,
        );
        line(
            "rewrite",
            constants.rewrite_gb_per_s,
            "GB/s",
            settings.rewrite_gb_per_s,
            otherwise,
        );
        line(
            "cached write",
            constants.cached_write_gb_per_s,
            "GB/s",
            settings.cached_write_gb_per_s,
            otherwise,
        );
        line(
            "broadcast",
            constants.broadcast_gb_per_s,
            "GB/s",
            settings.broadcast_gb_per_s,
            "default: never measured",
        );
        line(
            "compute",
            constants.compute_gflop_per_s,
            "GFLOP/s",
            settings.compute_gflop_per_s,
            otherwise,
        );
        line(
            "functions",
            constants.function_gflop_per_s,
            "GFLOP/s",
            settings.function_gflop_per_s,
            otherwise,
        );
        line(
            "products",
            constants.product_gflop_per_s,
            "GFLOP/s",
            settings.product_gflop_per_s,
            otherwise,
        );
        text
    }
}

/// The constants that a configuration sets, and whether measured ones stand for the others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CostSettings {
    pub calibrate: bool,
    pub read_gb_per_s: Option<f64>,
    pub cached_read_gb_per_s: Option<f64>,
    /// As for reading here, where it is not set.
    pub distributed_gb_per_s: Option<f64>,
    pub write_gb_per_s: Option<f64>,
    pub rewrite_gb_per_s: Option<f64>,
    pub cached_write_gb_per_s: Option<f64>,
    pub broadcast_gb_per_s: Option<f64>,
    pub compute_gflop_per_s: Option<f64>,
    pub function_gflop_per_s: Option<f64>,
    pub product_gflop_per_s: Option<f64>,
}

impl CostSettings {
    /// Whether a measurement would change anything.
    pub(crate) fn wants_measurement(&self) -> bool {
        let set = [
            self.read_gb_per_s,
            self.cached_read_gb_per_s,
            self.write_gb_per_s,
            self.rewrite_gb_per_s,
            self.cached_write_gb_per_s,
            self.compute_gflop_per_s,
            self.function_gflop_per_s,
            self.product_gflop_per_s,
        ];
        self.calibrate && set.iter().any(Option::is_none)
    }

    /// What the configuration sets, else what was measured, else the defaults.
    pub(crate) fn resolve(&self, measured: Option<Measured>) -> CostConstants {
        let mut constants = CostConstants::default();
        if let Some(measured) = measured.filter(|_| self.calibrate) {
            constants.read_gb_per_s = measured.read_gb_per_s;
            constants.cached_read_gb_per_s = measured.cached_read_gb_per_s;
            constants.write_gb_per_s = measured.write_gb_per_s;
            constants.rewrite_gb_per_s = measured.rewrite_gb_per_s;
            constants.cached_write_gb_per_s = measured.cached_write_gb_per_s;
            constants.compute_gflop_per_s = measured.compute_gflop_per_s;
            constants.function_gflop_per_s = measured.function_gflop_per_s;
            constants.product_gflop_per_s = measured.product_gflop_per_s;
        }
        let set = |constant: &mut f64, value: Option<f64>| *constant = value.unwrap_or(*constant);
        set(&mut constants.read_gb_per_s, self.read_gb_per_s);
        constants.distributed_gb_per_s = constants.read_gb_per_s;
        set(
            &mut constants.distributed_gb_per_s,
            self.distributed_gb_per_s,
        );
        set(&mut constants.write_gb_per_s, self.write_gb_per_s);
        set(&mut constants.rewrite_gb_per_s, self.rewrite_gb_per_s);
        set(&mut constants.broadcast_gb_per_s, self.broadcast_gb_per_s);
        set(
            &mut constants.cached_read_gb_per_s,
            self.cached_read_gb_per_s,
        );
        set(
            &mut constants.cached_write_gb_per_s,
            self.cached_write_gb_per_s,
        );
        set(&mut constants.compute_gflop_per_s, self.compute_gflop_per_s);
        set(
            &mut constants.function_gflop_per_s,
            self.function_gflop_per_s,
        );
        set(&mut constants.product_gflop_per_s, self.product_gflop_per_s);
        constants
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: CostSettings = CostSettings {
        calibrate: true,
        read_gb_per_s: None,
        cached_read_gb_per_s: None,
        distributed_gb_per_s: None,
        write_gb_per_s: Some(3.0),
        rewrite_gb_per_s: None,
        cached_write_gb_per_s: None,
        broadcast_gb_per_s: None,
        compute_gflop_per_s: None,
        function_gflop_per_s: None,
        product_gflop_per_s: None,
    };

    const MEASURED: Measured = Measured {
        read_gb_per_s: 17.0,
        cached_read_gb_per_s: 80.0,
        write_gb_per_s: 1.5,
        rewrite_gb_per_s: 4.5,
        cached_write_gb_per_s: 30.0,
        compute_gflop_per_s: 9.0,
        function_gflop_per_s: 20.0,
        product_gflop_per_s: 70.0,
    };

    #[test]
    fn what_is_configured_stands_above_what_is_measured_and_that_above_defaults() {
        let constants = SETTINGS.resolve(Some(MEASURED));
        assert_eq!(
            (
                constants.read_gb_per_s,
                constants.write_gb_per_s,
                constants.compute_gflop_per_s
            ),
            (17.0, 3.0, 9.0)
        );
        assert_eq!(constants.distributed_gb_per_s, 17.0);
        let distributed = CostSettings {
            distributed_gb_per_s: Some(80.0),
            ..SETTINGS
        };
        let constants = distributed.resolve(Some(MEASURED));
        assert_eq!(
            (constants.read_gb_per_s, constants.distributed_gb_per_s),
            (17.0, 80.0)
        );
        let default = CostConstants::default();
        assert_eq!(constants.broadcast_gb_per_s, default.broadcast_gb_per_s);
        let off = CostSettings {
            calibrate: false,
            ..SETTINGS
        };
        assert_eq!(
            off.resolve(Some(MEASURED)).read_gb_per_s,
            default.read_gb_per_s
        );
        assert!(SETTINGS.wants_measurement() && !off.wants_measurement());
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
        known.insert(3, MEASURED);
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
        Cost constants with 3 threads:
            read           17.000 GB/s     measured, not kept in a file
            cached read    80.000 GB/s     measured, not kept in a file
            distributed    17.000 GB/s     as read
            write           2.500 GB/s     configured
            rewrite         4.500 GB/s     measured, not kept in a file
            cached write   30.000 GB/s     measured, not kept in a file
            broadcast       0.128 GB/s     default: never measured
            compute        12.000 GFLOP/s  configured
            functions      25.000 GFLOP/s  configured
            products       50.000 GFLOP/s  configured
        ");
    }

    #[test]
    fn the_machine_is_measured_once_and_the_next_process_reads_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let calibration = Calibration::kept_in(Some(folder.path().join("not/there/yet")));
        assert_eq!(calibration.known(2), None);
        let measured = calibration.measured(2).expect("two threads start");
        assert_eq!(calibration.measured(2), Ok(measured));
        let next = Calibration::kept_in(Some(folder.path().join("not/there/yet")));
        assert_eq!(next.known(2), Some(measured));
        assert_eq!(next.known(1), None);
        // What is implausible was not measured, it was miscounted.
        assert!(measured.read_gb_per_s > 0.2, "{measured:?}");
        assert!(measured.write_gb_per_s > 0.05, "{measured:?}");
        assert!(measured.rewrite_gb_per_s > 0.05, "{measured:?}");
        assert!(measured.cached_read_gb_per_s > 0.2, "{measured:?}");
        assert!(measured.cached_write_gb_per_s > 0.05, "{measured:?}");
        assert!(measured.compute_gflop_per_s > 0.05, "{measured:?}");
        assert!(measured.function_gflop_per_s > 0.05, "{measured:?}");
        assert!(measured.product_gflop_per_s > 0.05, "{measured:?}");
    }
}
