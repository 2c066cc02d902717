//! Requests and tasks that run, by the numbers that their callers gave them, so that another thread can interrupt them.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use fulgurite_error::{Error, Result};
use fulgurite_matrix::Interrupt;
use jni::sys::jlong;

static RUNS: Mutex<BTreeMap<jlong, Interrupt>> = Mutex::new(BTreeMap::new());

/// What can be interrupted as long as this lives.
pub(crate) struct Run {
    number: jlong,
    pub interrupt: Interrupt,
}

impl Run {
    /// None for the number 0.
    ///
    /// # Errors
    /// `argument`, if one with this number runs already.
    pub fn start(number: jlong) -> Result<Option<Self>> {
        if number == 0 {
            return Ok(None);
        }
        let interrupt = Interrupt::new();
        let mut runs = runs();
        if runs.contains_key(&number) {
            return Err(Error::argument(format!("a run {number} is there already")));
        }
        runs.insert(number, interrupt.clone());
        Ok(Some(Run { number, interrupt }))
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        runs().remove(&self.number);
    }
}

/// Does something that looks for the interrupt of the run which the thread works for.
///
/// # Errors
/// As [`Run::start`]; those of `work`.
pub(crate) fn within<R>(number: jlong, work: impl FnOnce() -> Result<R>) -> Result<R> {
    match Run::start(number)? {
        Some(run) => run.interrupt.within(work),
        None => work(),
    }
}

/// Asks a run to stop; whether there is one.
pub(crate) fn interrupt(number: jlong) -> bool {
    match runs().get(&number) {
        Some(interrupt) => {
            interrupt.set();
            true
        }
        None => false,
    }
}

fn runs() -> MutexGuard<'static, BTreeMap<jlong, Interrupt>> {
    RUNS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_can_be_interrupted_while_it_lives() {
        let first = Run::start(7).unwrap().unwrap();
        assert!(Run::start(7).is_err());
        let other = Run::start(8).unwrap().unwrap();
        assert!(interrupt(7) && !interrupt(9));
        assert!(first.interrupt.is_set() && !other.interrupt.is_set());
        drop(first);
        assert!(!interrupt(7));
        assert!(!Run::start(7).unwrap().unwrap().interrupt.is_set());
        assert!(Run::start(0).unwrap().is_none());
    }
}
