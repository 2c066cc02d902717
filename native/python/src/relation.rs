//! Relational plans of Python: resolved, explained and run. The plans are JSON, which `fulgurite._frame_plans` writes.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

use arrow::{
    array::{ArrayRef, BooleanArray, Float64Array, Int64Array},
    buffer::{BooleanBuffer, ScalarBuffer},
};
use fulgurite_error::Error;
use fulgurite_lazy::{COUNTS, Evaluator, Expression, Place};
use fulgurite_relation::{BesideColumn, Columns, Fusion, Observer, Relation, Table, WORTH_A_PLAN};
use numpy::{PyArray1, PyArrayDyn, PyArrayMethods};
use pyo3::{prelude::*, types::PyAny};

use crate::{
    arrays,
    engine::Engine,
    evaluation::Waiting,
    failure::raised,
    node::Node,
    script::explained,
    tables::{PyReads, PyTable, type_name},
};

/// The file and the line that ask.
type Asks = Option<(String, u32)>;

fn at(place: Asks) -> Option<Place> {
    place.map(|(file, line)| Place {
        file: file.into(),
        line,
    })
}

fn columns_of(tables: &[PyRef<'_, PyTable>]) -> Vec<Columns> {
    tables.iter().map(|table| table.0.schema()).collect()
}

fn tables_of(tables: &[PyRef<'_, PyTable>]) -> Vec<Table> {
    tables.iter().map(|table| table.0.clone()).collect()
}

/// The names and types of a plan's columns.
#[pyfunction]
#[pyo3(signature = (plan, tables, place=None))]
pub fn relation_schema(
    py: Python<'_>,
    plan: &str,
    tables: Vec<PyRef<'_, PyTable>>,
    place: Asks,
) -> PyResult<Vec<(String, String)>> {
    let schema = Relation::from_json(plan).and_then(|plan| plan.schema(&columns_of(&tables)));
    let schema = schema.map_err(|error| raised(py, &error, at(place).as_ref()))?;
    let columns = schema.into_iter();
    Ok(columns
        .map(|(name, kind)| (name.to_string(), type_name(&kind)))
        .collect())
}

/// A plan as text: as it was written, or as it runs.
#[pyfunction]
#[pyo3(signature = (plan, tables, optimized=true, place=None))]
pub fn relation_explain(
    py: Python<'_>,
    plan: &str,
    tables: Vec<PyRef<'_, PyTable>>,
    optimized: bool,
    place: Asks,
) -> PyResult<String> {
    let sources = columns_of(&tables);
    let explained = || {
        let plan = Relation::from_json(plan)?;
        plan.schema(&sources)?;
        Ok(match optimized {
            true => plan.optimized(&sources)?.to_string(),
            false => plan.to_string(),
        })
    };
    explained().map_err(|error| raised(py, &error, at(place).as_ref()))
}

/// A plan as it runs.
#[pyclass(frozen, name = "Plan", module = "fulgurite._native")]
pub struct PyPlan(Relation);

/// A plan as it runs, and what it reads of each table.
#[pyfunction]
#[pyo3(signature = (plan, tables, place=None))]
pub fn relation_planned(
    py: Python<'_>,
    plan: &str,
    tables: Vec<PyRef<'_, PyTable>>,
    place: Asks,
) -> PyResult<(PyPlan, Vec<PyReads>)> {
    let sources = columns_of(&tables);
    let plan = Relation::from_json(plan).and_then(|plan| plan.optimized(&sources));
    let plan = plan.map_err(|error| raised(py, &error, at(place).as_ref()))?;
    let reads = plan.reads(sources.len()).into_iter().map(PyReads);
    let reads = reads.collect();
    Ok((PyPlan(plan), reads))
}

/// Runs a plan on tables and arrays: nodes that have values, or arrays of NumPy.
#[pyfunction]
#[pyo3(signature = (engine, plan, tables, arrays, is_main_thread, progress=None, place=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn relation_collect(
    py: Python<'_>,
    engine: &Engine,
    plan: &PyPlan,
    tables: Vec<PyRef<'_, PyTable>>,
    arrays: Vec<Bound<'_, PyAny>>,
    is_main_thread: bool,
    progress: Option<Bound<'_, PyAny>>,
    place: Asks,
) -> PyResult<PyTable> {
    let run = Run {
        engine,
        plan,
        tables,
        arrays,
        is_main_thread,
        progress,
        place,
    };
    run.on(py, |fusion, plan| fusion.collect(plan)).map(PyTable)
}

/// Runs a plan, and gives as text what was done, step by step.
#[pyfunction]
#[pyo3(signature = (engine, plan, tables, arrays, is_main_thread, progress=None, place=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn relation_observed(
    py: Python<'_>,
    engine: &Engine,
    plan: &PyPlan,
    tables: Vec<PyRef<'_, PyTable>>,
    arrays: Vec<Bound<'_, PyAny>>,
    is_main_thread: bool,
    progress: Option<Bound<'_, PyAny>>,
    place: Asks,
) -> PyResult<String> {
    let run = Run {
        engine,
        plan,
        tables,
        arrays,
        is_main_thread,
        progress,
        place,
    };
    run.on(py, |fusion, plan| {
        let steps = Steps {
            evaluator: fusion.evaluator,
            seen: Mutex::default(),
        };
        let observed = Fusion {
            observer: Some(&steps),
            ..*fusion
        };
        let rows = observed.collect(plan)?.rows();
        steps.push(format!("{rows} rows"));
        let seen = steps.seen.into_inner();
        Ok(seen.unwrap_or_else(PoisonError::into_inner).join("\n"))
    })
}

/// The steps of a plan, as text.
struct Steps<'a> {
    evaluator: &'a Evaluator,
    seen: Mutex<Vec<String>>,
}

impl Steps<'_> {
    fn push(&self, line: String) {
        self.seen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }
}

impl Observer for Steps<'_> {
    fn notes(&self, what: &str) {
        self.push(what.to_owned());
    }

    fn computes(&self, expressions: &[Arc<Expression>]) {
        let session = self.evaluator.session();
        let plan =
            session.and_then(|session| explained(expressions, session, ("plan", "text", None)));
        self.push(match plan {
            Ok(plan) => format!("compute\n{}", plan.trim_end()),
            Err(error) => format!("compute: {error}"),
        });
    }
}

/// Columns of a plan beside each other: the rows, a matrix that waits, whether values may be missing, and whether all are whole.
#[pyfunction]
#[pyo3(signature = (engine, plan, tables, arrays, names, is_main_thread, progress=None, place=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn relation_matrix(
    py: Python<'_>,
    engine: &Engine,
    plan: &PyPlan,
    tables: Vec<PyRef<'_, PyTable>>,
    arrays: Vec<Bound<'_, PyAny>>,
    names: Vec<String>,
    is_main_thread: bool,
    progress: Option<Bound<'_, PyAny>>,
    place: Asks,
) -> PyResult<(usize, Node, bool, bool)> {
    let run = Run {
        engine,
        plan,
        tables,
        arrays,
        is_main_thread,
        progress,
        place,
    };
    let names: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
    let found = run.on(py, move |fusion, plan| fusion.matrix(plan, &names))?;
    let node = Node::new(found.matrix);
    Ok((found.rows, node, found.may_lack, found.is_whole))
}

/// A plan that somebody wants to run.
struct Run<'a, 'py> {
    engine: &'a Engine,
    plan: &'a PyPlan,
    tables: Vec<PyRef<'py, PyTable>>,
    arrays: Vec<Bound<'py, PyAny>>,
    is_main_thread: bool,
    progress: Option<Bound<'py, PyAny>>,
    place: Asks,
}

impl Run<'_, '_> {
    /// What is made of the plan, without the interpreter's lock.
    fn on<T: Send + 'static>(
        self,
        py: Python<'_>,
        make: impl FnOnce(&Fusion<'_>, &Relation) -> fulgurite_error::Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let place = at(self.place);
        let fails = |error: Error| raised(py, &error, place.as_ref());
        let plan = self.plan.0.clone();
        COUNTS.evaluations.fetch_add(1, Ordering::Relaxed);
        let tables = tables_of(&self.tables);
        let beside = self.arrays.iter().map(|array| column(py, array));
        let beside: Vec<BesideColumn> = beside.collect::<PyResult<_>>()?;
        let cells = tables.iter().map(|table| {
            let cells = table.rows().saturating_mul(table.names().len());
            u64::try_from(cells).unwrap_or(u64::MAX)
        });
        let waiting = Waiting {
            is_main_thread: self.is_main_thread,
            progress: self.progress.as_ref(),
            may_take_long: true,
            operators: 0,
            cells: cells.fold(0, u64::saturating_add),
        };
        let evaluator = Arc::clone(&self.engine.0);
        let run = move |interrupt: &fulgurite_matrix::Interrupt| {
            let fusion = Fusion {
                tables: &tables,
                arrays: &beside,
                evaluator: &evaluator,
                interrupt,
                least_rows: WORTH_A_PLAN,
                observer: None,
            };
            make(&fusion, &plan)
        };
        waiting.run(py, &[], run)?.map_err(fails)
    }
}

/// An array's cells as a column, without a copy for numbers.
fn column(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<BesideColumn> {
    if let Ok(node) = array.cast::<Node>() {
        return Ok(BesideColumn::Waits(Arc::clone(&node.get().expression)));
    }
    known(py, array).map(BesideColumn::Known)
}

/// The column of an array of NumPy.
fn known(py: Python<'_>, array: &Bound<'_, PyAny>) -> PyResult<ArrayRef> {
    let shared = |error: Error| raised(py, &error, None);
    if let Ok(floats) = array.cast::<PyArrayDyn<f64>>() {
        let cells: ScalarBuffer<f64> = arrays::buffer(floats).map_err(shared)?;
        return Ok(Arc::new(Float64Array::new(cells, None)));
    }
    if let Ok(whole) = array.cast::<PyArrayDyn<i64>>() {
        let cells: ScalarBuffer<i64> = arrays::buffer(whole).map_err(shared)?;
        return Ok(Arc::new(Int64Array::new(cells, None)));
    }
    let bits = array.cast::<PyArray1<bool>>()?.readonly();
    let bits: BooleanBuffer = bits.as_array().iter().copied().collect();
    Ok(Arc::new(BooleanArray::new(bits, None)))
}
