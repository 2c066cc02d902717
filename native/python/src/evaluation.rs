//! Computes expressions.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::Interrupt;
use fulgurite_operators::panics;
use fulgurite_program::{OutputValue, Watch};
use pyo3::{prelude::*, types::PyAny};

use crate::{
    engine::{COUNTS, Engine, refuse_after_fork},
    expression::{Expression, Place},
    failure::raised,
    node::Node,
    structure::{SOURCE, Structure},
    waiting::with_signals,
};

/// Cells from which on an evaluation may take so long that somebody may want to end it ...
const LONG_CELLS: u64 = 1 << 22;
/// ... or where an operator takes more than passes over them.
const LONG_CELLS_OF_PRODUCTS: u64 = 1 << 16;

/// Computes what these expressions are, together. On Python's main thread a long evaluation looks for signals, and calls
/// `progress` with how many seconds it has run.
#[pyfunction]
#[pyo3(signature = (engine, nodes, is_main_thread, progress=None))]
pub fn evaluate(
    py: Python<'_>,
    engine: &Engine,
    nodes: Vec<PyRef<'_, Node>>,
    is_main_thread: bool,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<()> {
    let wanted = nodes.iter().map(|node| Arc::clone(&node.expression));
    let wanted: Vec<Arc<Expression>> = wanted.filter(|wanted| !wanted.is_value()).collect();
    compute(py, engine, &wanted, is_main_thread, progress.as_ref())
}

/// See [`evaluate`].
pub fn compute(
    py: Python<'_>,
    engine: &Engine,
    wanted: &[Arc<Expression>],
    is_main_thread: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let started = Instant::now();
    COUNTS.evaluations.fetch_add(1, Ordering::Relaxed);
    let structure = Structure::of(wanted);
    let cells = structure.cells();
    let is_long = cells >= LONG_CELLS
        || (structure.may_take_long() && cells >= LONG_CELLS_OF_PRODUCTS)
        || structure.len() > 1000;
    let outcome = match is_main_thread && is_long {
        false => py.detach(|| {
            panics::caught(|| run(engine, &structure, &Interrupt::default(), None))
        }),
        true => {
            let (interrupt, watch) = (Interrupt::new(), Watch::default());
            let seen = watch.clone();
            let meanwhile = |py: Python<'_>| match progress {
                None => Ok(()),
                Some(progress) => {
                    let done = seen.report().map_or(0, |report| report.operators.len());
                    let seconds = started.elapsed().as_secs_f64();
                    progress.call1((seconds, done, structure.len())).map(|_| {
                        let _ = py;
                    })
                }
            };
            let run = || run(engine, &structure, &interrupt, Some(watch));
            with_signals(py, &interrupt, run, meanwhile)?
        }
    };
    let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
    COUNTS.nanoseconds.fetch_add(elapsed, Ordering::Relaxed);
    let outputs = outcome.map_err(|error| {
        let place = place_of(&error, &structure);
        raised(py, &error, place.as_ref())
    })?;
    for (expression, value) in structure.outputs().zip(outputs) {
        expression.computed(value);
    }
    Ok(())
}

fn run(
    engine: &Engine,
    structure: &Structure,
    interrupt: &Interrupt,
    watch: Option<Watch>,
) -> Result<Vec<Variable>> {
    refuse_after_fork()?;
    let mut session = engine.session()?.clone().with_interrupt(interrupt.clone());
    if let Some(watch) = watch {
        session = session.with_watch(watch);
    }
    let known = engine.program(structure)?;
    let outputs = known.program.run(
        structure.inputs(&known.varies),
        &structure.output_names(),
        &session,
    )?;
    outputs
        .into_iter()
        .map(|output| match output {
            OutputValue::Scalar(value) => Ok(Variable::Scalar(value)),
            OutputValue::Matrix(block) => Ok(Variable::matrix(block)),
            OutputValue::Dataset { .. } => {
                Err(Error::internal("a result that is not in this process"))
            }
        })
        .collect()
}

/// The line of Python that asked for the operator that failed.
fn place_of(error: &Error, structure: &Structure) -> Option<Place> {
    let position = error.position()?;
    if position.source.name != SOURCE {
        return None;
    }
    structure.at_line(position.line)?.place.clone()
}
