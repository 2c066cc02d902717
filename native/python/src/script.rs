//! Scripts of DML, and what would be executed.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    time::Instant,
};

use fulgurite_dataflow::Variable;
use fulgurite_error::{Error, Result};
use fulgurite_explain::explain;
use fulgurite_lazy::{COUNTS, Expression, Structure, refuse_after_fork};
use fulgurite_matrix::Interrupt;
use fulgurite_operators::panics;
use fulgurite_program::{
    Execution, OutputValue, Request, Session, execute,
    request::{Binding, Input},
};
use pyo3::{prelude::*, types::PyAny};

use crate::{
    engine::Engine,
    evaluation::tell,
    failure::raised,
    frames::PyFrame,
    node::{Node, literal},
    waiting::with_signals,
};

/// A variable that a script leaves.
#[derive(IntoPyObject)]
pub enum Output {
    Node(Node),
    Frame(PyFrame),
}

/// Runs a script on values; gives its outputs. Lines that it prints go to `print`, and `progress` is told how far it is.
#[pyfunction]
#[pyo3(signature = (engine, text, name, inputs, frames, outputs, arguments, print, progress=None, builtins=None))]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn run_script<'py>(
    py: Python<'py>,
    engine: &Engine,
    text: String,
    name: String,
    inputs: BTreeMap<String, PyRef<'py, Node>>,
    frames: BTreeMap<String, PyRef<'py, PyFrame>>,
    outputs: Vec<String>,
    arguments: BTreeMap<String, String>,
    print: Bound<'py, PyAny>,
    progress: Option<Bound<'py, PyAny>>,
    builtins: Option<String>,
) -> PyResult<BTreeMap<String, Output>> {
    refuse_after_fork().map_err(|error| raised(py, &error, None))?;
    COUNTS.evaluations.fetch_add(1, Ordering::Relaxed);
    let mut execution = Execution {
        request: Request {
            arguments,
            outputs,
            config: builtins
                .map(|builtins| ("fulgurite.builtins".to_owned(), builtins))
                .into_iter()
                .collect(),
            ..Request::script(name, text)
        },
        ..Execution::default()
    };
    for (name, frame) in frames {
        execution.request.inputs.push(Input::frame(&name));
        execution.frames.insert(name, frame.0.clone());
    }
    for (name, node) in inputs {
        match node.expression.known() {
            Some(Variable::Matrix(matrix)) => {
                execution
                    .matrices
                    .insert(name.clone(), matrix.block().clone());
                execution.request.inputs.push(Input::local(name));
            }
            Some(Variable::Scalar(value)) => execution.request.inputs.push(Input {
                name,
                binding: Binding::Scalar { value },
            }),
            _ => {
                let error = Error::internal(format!("the input '{name}' has no value"));
                return Err(raised(py, &error, None));
            }
        }
    }
    let session = engine
        .0
        .session()
        .map_err(|error| raised(py, &error, None))?;
    let interrupt = Interrupt::new();
    let lines: Arc<Mutex<Vec<String>>> = Arc::default();
    let printed = Arc::clone(&lines);
    let session = session
        .clone()
        .with_interrupt(interrupt.clone())
        .with_print(Arc::new(move |line| {
            let mut lines = printed.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push(line.to_owned());
            Ok(())
        }));
    let print_lines = || {
        let ready = std::mem::take(&mut *lines.lock().unwrap_or_else(PoisonError::into_inner));
        ready
            .iter()
            .try_for_each(|line| print.call1((line,)).map(drop))
    };
    let (started, seen) = (Instant::now(), interrupt.clone());
    let meanwhile = |_: Python<'_>| {
        print_lines()?;
        tell(progress.as_ref(), started, &seen)
    };
    let outcome = with_signals(
        py,
        &interrupt,
        move || execute(execution, &session),
        meanwhile,
    )?;
    print_lines()?;
    let outcome = outcome.map_err(|error| raised(py, &error, None))?;
    let outputs = outcome.outputs.into_iter().map(|(name, value)| {
        let value = match value {
            OutputValue::Scalar(value) => Variable::Scalar(value),
            OutputValue::Matrix(block) => Variable::matrix(block),
            OutputValue::Frame(frame) => return Ok((name, Output::Frame(PyFrame(frame)))),
            OutputValue::Dataset { .. } => {
                let error = Error::internal("a result that is not in this process");
                return Err(raised(py, &error, None));
            }
        };
        let node = Node::new(Expression::value(value));
        Ok((name, Output::Node(node)))
    });
    outputs.collect()
}

/// What would be executed of a script, as `fulgurite explain` shows it. Inputs are rows, columns and non-zeros of a matrix, -1
/// where they are not known, or the value of a scalar.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are Python's keywords")]
pub fn explain_script(
    py: Python<'_>,
    engine: &Engine,
    text: String,
    name: String,
    inputs: BTreeMap<String, Bound<'_, PyAny>>,
    outputs: Vec<String>,
    arguments: BTreeMap<String, String>,
    level: &str,
    format: &str,
) -> PyResult<String> {
    let inputs = inputs.into_iter().map(|(name, value)| {
        let binding = match value.extract::<(i64, i64, i64)>() {
            Ok((rows, cols, nnz)) => Binding::Dataset { rows, cols, nnz },
            Err(_) => Binding::Scalar {
                value: literal(&value)?,
            },
        };
        Ok(Input { name, binding })
    });
    let mut request = Request {
        arguments,
        outputs,
        inputs: inputs.collect::<PyResult<_>>()?,
        ..Request::script(name, text)
    };
    let explained = py.detach(|| {
        panics::caught(|| {
            request.level = level.parse()?;
            request.format = format.parse()?;
            explain(&request, engine.0.session()?)
        })
    });
    explained.map_err(|error| raised(py, &error, None))
}

/// What would be executed for expressions, as `fulgurite explain` shows it.
#[pyfunction]
#[pyo3(signature = (engine, nodes, level, format, why=None))]
pub fn explain_dag(
    py: Python<'_>,
    engine: &Engine,
    nodes: Vec<PyRef<'_, Node>>,
    level: String,
    format: String,
    why: Option<String>,
) -> PyResult<String> {
    let wanted: Vec<Arc<Expression>> = nodes
        .iter()
        .map(|node| Arc::clone(&node.expression))
        .collect();
    let explained = py.detach(|| {
        panics::caught(|| explained(&wanted, engine.0.session()?, (&level, &format, why)))
    });
    explained.map_err(|error| raised(py, &error, None))
}

/// What would be executed for expressions, at a level, in a format, and why.
pub(crate) fn explained(
    wanted: &[Arc<Expression>],
    session: &Session,
    (level, format, why): (&str, &str, Option<String>),
) -> Result<String> {
    let structure = Structure::of_results(wanted);
    explain(&request(&structure, level, format, why)?, session)
}

/// A request to explain a structure for the sizes that its leaves have.
fn request(
    structure: &Structure,
    level: &str,
    format: &str,
    why: Option<String>,
) -> Result<Request> {
    let varies = vec![false; structure.literals.len()];
    let dag = fulgurite_hop::json::to_json(&structure.shown_dag());
    let mut inputs = Vec::new();
    let variables = Structure::variables(&structure.leaves, &structure.literals, &varies);
    for (name, value) in variables {
        let binding = match value {
            Variable::Scalar(value) => Binding::Scalar { value },
            matrix => {
                let size = matrix.characteristics();
                let number = |n: Option<u64>| n.map_or(-1, |n| i64::try_from(n).unwrap_or(-1));
                Binding::Dataset {
                    rows: number(size.rows),
                    cols: number(size.cols),
                    nnz: number(size.nnz),
                }
            }
        };
        inputs.push(Input { name, binding });
    }
    Ok(Request {
        dag: Some(dag),
        inputs,
        level: level.parse()?,
        format: format.parse()?,
        why,
        ..Request::default()
    })
}
