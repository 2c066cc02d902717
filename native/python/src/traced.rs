//! Functions whose calls are one program: what they asked for once is asked for again with other values.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use fulgurite_dataflow::Variable;
use fulgurite_error::Error;
use fulgurite_hop::Literal;
use fulgurite_lazy::{COUNTS, Expression, Place, SOURCE, Structure, Variant};
use fulgurite_matrix::Interrupt;
use pyo3::{prelude::*, types::PyAny};

use crate::{engine::Engine, evaluation::Waiting, failure::raised, node::Node};

/// The expressions that a function gave for certain arguments, as a program of others.
#[pyclass(frozen, module = "fulgurite._native")]
pub struct Traced {
    variant: Arc<Variant>,
    literals: Vec<Literal>,
    leaves: Vec<Leaf>,
    outputs: Arc<[String]>,
    results: Vec<Outcome>,
    /// Where operators were asked for.
    places: Vec<Option<Place>>,
    may_take_long: bool,
    cells: u64,
}

enum Leaf {
    Argument(usize),
    /// What the function brought along.
    Value(Variable),
}

/// What a result is.
enum Outcome {
    Output(usize),
    Argument(usize),
    Value(Arc<Expression>),
}

#[pymethods]
impl Traced {
    /// Of what a function gave for these arguments, which have values.
    #[new]
    fn new(
        py: Python<'_>,
        engine: &Engine,
        arguments: Vec<PyRef<'_, Node>>,
        results: Vec<PyRef<'_, Node>>,
    ) -> PyResult<Self> {
        let wanted: Vec<Arc<Expression>> = results
            .iter()
            .map(|result| Arc::clone(&result.expression))
            .collect();
        let structure = Structure::of_results(&wanted);
        let argument = |expression: &Arc<Expression>| {
            let mut arguments = arguments.iter();
            arguments.position(|argument| Arc::ptr_eq(&argument.expression, expression))
        };
        let leaves = structure.sources.iter().zip(&structure.leaves);
        let leaves = leaves.map(|(source, value)| match argument(source) {
            Some(place) => Leaf::Argument(place),
            None => Leaf::Value(value.clone()),
        });
        let results = wanted.iter().map(|result| {
            let mut outputs = structure.outputs();
            match outputs.position(|output| Arc::ptr_eq(output, result)) {
                Some(output) => Outcome::Output(output),
                None => match argument(result) {
                    Some(place) => Outcome::Argument(place),
                    None => Outcome::Value(Arc::clone(result)),
                },
            }
        });
        let variant = engine.0.program(&structure);
        Ok(Traced {
            variant: variant.map_err(|error| raised(py, &error, None))?,
            leaves: leaves.collect(),
            results: results.collect(),
            outputs: structure.output_names().into(),
            places: structure.places(),
            may_take_long: structure.may_take_long(),
            cells: structure.cells(),
            literals: structure.literals,
        })
    }

    /// The results for other arguments, in their order.
    #[pyo3(signature = (engine, arguments, is_main_thread, progress=None))]
    fn __call__(
        &self,
        py: Python<'_>,
        engine: &Engine,
        arguments: Vec<PyRef<'_, Node>>,
        is_main_thread: bool,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Vec<Node>> {
        let started = Instant::now();
        COUNTS.evaluations.fetch_add(1, Ordering::Relaxed);
        let mut values = Vec::new();
        for leaf in &self.leaves {
            values.push(match leaf {
                Leaf::Value(value) => value.clone(),
                Leaf::Argument(place) => {
                    let argument = arguments.get(*place);
                    let value = argument.and_then(|argument| argument.expression.known());
                    value.ok_or_else(|| {
                        raised(py, &Error::internal("an argument without a value"), None)
                    })?
                }
            });
        }
        let outputs = if self.outputs.is_empty() {
            Vec::new()
        } else {
            let waiting = Waiting {
                is_main_thread,
                progress: progress.as_ref(),
                may_take_long: self.may_take_long,
                operators: self.places.len(),
                cells: self.cells,
            };
            let variables: Vec<(String, Variable)> =
                Structure::variables(&values, &self.literals, &self.variant.varies).collect();
            let (evaluator, variant) = (Arc::clone(&engine.0), Arc::clone(&self.variant));
            let outputs = Arc::clone(&self.outputs);
            let run = move |interrupt: &Interrupt| {
                let variables = variables.into_iter();
                evaluator.run(&variant, variables, &outputs, interrupt)
            };
            let outcome = waiting.run(py, &values, run)?;
            outcome.map_err(|error| {
                let line = error.position().filter(|at| at.source.name == SOURCE);
                let index = line.and_then(|at| (at.line as usize).checked_sub(1));
                let place = index.and_then(|index| self.places.get(index)?.as_ref());
                raised(py, &error, place)
            })?
        };
        let elapsed = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        COUNTS.nanoseconds.fetch_add(elapsed, Ordering::Relaxed);
        let outputs: Vec<Arc<Expression>> = outputs.into_iter().map(Expression::value).collect();
        let results = self.results.iter().map(|result| match result {
            Outcome::Output(place) => Node::new(Arc::clone(&outputs[*place])),
            Outcome::Argument(place) => Node::new(Arc::clone(&arguments[*place].expression)),
            Outcome::Value(value) => Node::new(Arc::clone(value)),
        });
        Ok(results.collect())
    }
}
