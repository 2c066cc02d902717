//! Computes expressions.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use fulgurite_dataflow::Variable;
use fulgurite_error::Result;
use fulgurite_lazy::{COUNTS, Expression, SOURCE, Structure, refuse_after_fork};
use fulgurite_matrix::Interrupt;
use fulgurite_operators::panics;
use pyo3::{prelude::*, types::PyAny};

use crate::{engine::Engine, failure::raised, node::Node, waiting::with_signals};

/// Cells from which on an evaluation may take so long that somebody may want to end it ...
const LONG_CELLS: u64 = 1 << 22;
/// ... or where an operator takes more than passes over them.
const LONG_CELLS_OF_PRODUCTS: u64 = 1 << 16;

/// Operators from which on passes over a program may take long.
const LONG_PROGRAM: usize = 1000;

/// How somebody waits for a run.
pub struct Waiting<'a, 'py> {
    pub is_main_thread: bool,
    /// Is told what [`tell`] tells.
    pub progress: Option<&'a Bound<'py, PyAny>>,
    /// Whether operators take more than passes over their inputs.
    pub may_take_long: bool,
    pub operators: usize,
    /// Cells that operators give, all together.
    pub cells: u64,
}

impl Waiting<'_, '_> {
    /// Runs something without the interpreter's lock; on Python's main thread a long run looks for signals.
    ///
    /// # Errors
    /// Of handlers of signals.
    pub fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        leaves: &[Variable],
        run: impl FnOnce(&Interrupt) -> Result<T> + Send + 'static,
    ) -> PyResult<Result<T>> {
        // Before a thread is asked that a fork did not take along.
        if let Err(error) = refuse_after_fork() {
            return Ok(Err(error));
        }
        let cells = cells(leaves).saturating_add(self.cells);
        let is_long = cells >= LONG_CELLS
            || (self.may_take_long && cells >= LONG_CELLS_OF_PRODUCTS)
            || self.operators >= LONG_PROGRAM;
        if !self.is_main_thread || !is_long {
            return Ok(py.detach(|| panics::caught(|| run(&Interrupt::default()))));
        }
        let started = Instant::now();
        let interrupt = Interrupt::new();
        let (asked, seen) = (interrupt.clone(), interrupt.clone());
        let meanwhile = |_: Python<'_>| tell(self.progress, started, &seen);
        with_signals(py, &interrupt, move || run(&asked), meanwhile)
    }
}

/// Tells the seconds since a run started, its operators that are through and all of them, rows of the operator that runs and all
/// of them, and the share of the run's time that has passed; `None` for what is not known.
///
/// # Errors
/// Of who is told.
pub fn tell(
    progress: Option<&Bound<'_, PyAny>>,
    started: Instant,
    interrupt: &Interrupt,
) -> PyResult<()> {
    let (Some(told), Some(progress)) = (progress, interrupt.progress()) else {
        return Ok(());
    };
    let seconds = started.elapsed().as_secs_f64();
    let seen = progress.seen();
    let rows = (seen.rows, seen.of_rows);
    told.call1((seconds, seen.operators, seen.of, rows.0, rows.1, seen.share))
        .map(drop)
}

/// Cells of all leaves.
fn cells(leaves: &[Variable]) -> u64 {
    let cells = leaves.iter().map(|leaf| {
        let size = leaf.characteristics();
        size.nnz.or(size.cells()).unwrap_or(0)
    });
    cells.fold(0, u64::saturating_add)
}

/// Computes what these expressions are, together. On Python's main thread a long evaluation looks for signals, and calls
/// `progress` meanwhile. It `keeps_named` results on the way, where nobody looked at any.
#[pyfunction]
#[pyo3(signature = (engine, nodes, is_main_thread, progress=None, keeps_named=false))]
pub fn evaluate(
    py: Python<'_>,
    engine: &Engine,
    nodes: Vec<PyRef<'_, Node>>,
    is_main_thread: bool,
    progress: Option<Bound<'_, PyAny>>,
    keeps_named: bool,
) -> PyResult<()> {
    let wanted = nodes.iter().map(|node| Arc::clone(&node.expression));
    let wanted: Vec<Arc<Expression>> = wanted.filter(|wanted| !wanted.is_value()).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    COUNTS.evaluations.fetch_add(1, Ordering::Relaxed);
    let structure = Arc::new(Structure::of(&wanted, keeps_named));
    let waiting = Waiting {
        is_main_thread,
        progress: progress.as_ref(),
        may_take_long: structure.may_take_long(),
        operators: structure.len(),
        cells: structure.cells(),
    };
    let (evaluator, running) = (Arc::clone(&engine.0), Arc::clone(&structure));
    let run = move |interrupt: &Interrupt| {
        let structure = running;
        evaluator.compute(&structure, interrupt)
    };
    let outcome = waiting.run(py, &structure.leaves, run)?;
    let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    COUNTS.nanoseconds.fetch_add(elapsed, Ordering::Relaxed);
    let outputs = outcome.map_err(|error| {
        let position = error.position().filter(|at| at.source.name == SOURCE);
        let index = position.and_then(|at| (at.line as usize).checked_sub(1));
        let places = structure.places();
        let place = index.and_then(|index| places.get(index)?.as_ref());
        raised(py, &error, place)
    })?;
    for (expression, value) in structure.outputs().zip(outputs) {
        expression.computed(value);
    }
    Ok(())
}
