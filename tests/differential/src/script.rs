//! Runs a script with bound inputs, in one mode or in all.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use fulgurite_backend_local::with_chosen_backend;
use fulgurite_dataflow::Primitive;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    Execution, OutputValue, Report, Request, Session, execute, request::Input,
};

use crate::mode::{Mode, REFERENCE};

/// Largest difference between modes, relative to an output's largest cell (at least 1).
pub const TOLERANCE: f64 = 1e-8;

/// A script with its arguments and inputs.
#[derive(Clone)]
pub struct Script {
    name: &'static str,
    text: &'static str,
    arguments: Vec<(&'static str, String)>,
    /// Variables that the script reads, with what they are. The first one is the main input: it comes dense or as
    /// CSR, and does not fit the driver where a mode is distributed.
    inputs: Vec<(&'static str, MatrixBlock)>,
    outputs: Vec<&'static str>,
}

/// What a run gave.
pub struct Run {
    /// Variables at the end of the script: scalars as 1 x 1 matrices.
    pub outputs: BTreeMap<String, MatrixBlock>,
    pub report: Report,
    pub printed: Vec<String>,
}

impl Script {
    pub fn new(name: &'static str, text: &'static str) -> Self {
        Script {
            name,
            text,
            arguments: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        }
    }

    pub fn argument(mut self, name: &'static str, value: impl ToString) -> Self {
        self.arguments.push((name, value.to_string()));
        self
    }

    /// Binds a variable that the script would read from a file.
    pub fn input(mut self, variable: &'static str, matrix: &MatrixBlock) -> Self {
        self.inputs.push((variable, matrix.clone()));
        self
    }

    /// Variables to look at, as they are when the script ends.
    pub fn outputs(mut self, variables: &[&'static str]) -> Self {
        self.outputs.extend(variables);
        self
    }

    /// Runs in the mode that all others are compared with.
    pub fn run(&self) -> Run {
        self.run_in(REFERENCE)
            .unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    /// # Errors
    /// Those of the script.
    pub fn run_in(&self, mode: Mode) -> Result<Run> {
        let mut request = Request::script(self.name, self.text);
        let arguments = self.arguments.iter();
        request.arguments = arguments
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        // The inputs are bound, not read.
        request.allow_missing_arguments = true;
        request.outputs = self.outputs.iter().map(|name| (*name).to_owned()).collect();
        let mut matrices = BTreeMap::new();
        let mut memory = 0;
        for (place, (name, matrix)) in self.inputs.iter().enumerate() {
            let matrix = match (place, mode.sparse) {
                (0, true) => MatrixBlock::Csr(matrix.to_csr()?),
                (0, false) => MatrixBlock::Dense(matrix.to_dense().expect("there is memory")),
                _ => matrix.clone(),
            };
            if place == 0 {
                memory = matrix.memory_bytes() / 2;
            }
            matrices.insert((*name).to_owned(), matrix);
        }
        request.inputs = matrices.keys().map(Input::local).collect();
        let printed = Arc::new(Mutex::new(Vec::new()));
        let lines = Arc::clone(&printed);
        let session = with_chosen_backend(Session::new(mode.config(memory))).with_print(Arc::new(
            move |line| {
                lines.lock().expect("no print panics").push(line.to_owned());
                Ok(())
            },
        ));
        let outcome = execute(Execution::new(request, matrices), &session)?;
        let outputs = outcome.outputs.into_iter();
        let outputs = outputs
            .map(|(name, value)| Ok((name, matrix(value, &session)?)))
            .collect::<Result<_>>()?;
        let printed = std::mem::take(&mut *printed.lock().expect("no print panics"));
        Ok(Run {
            outputs,
            report: outcome.report,
            printed,
        })
    }

    /// Runs in every mode and compares the outputs with those of the reference, which is given back.
    pub fn agrees_in_every_mode(&self) -> Run {
        self.agrees_in(Mode::all())
    }

    fn agrees_in(&self, modes: impl Iterator<Item = Mode>) -> Run {
        let expected = self.run();
        assert!(!fuses(&expected.report), "the reference must not fuse");
        for mode in modes {
            let run = self
                .run_in(mode)
                .unwrap_or_else(|error| panic!("{}: {mode:?}: {error}", self.name));
            for (name, expected) in &expected.outputs {
                let difference = relative_difference(run.output(name), expected);
                assert!(
                    difference <= TOLERANCE,
                    "{}: {mode:?}: {name} differs by {difference:e}",
                    self.name
                );
            }
            let report = &run.report;
            assert_eq!(
                fuses(report),
                mode.policy != "none",
                "{}: {mode:?}: what ran fused:\n{report}",
                self.name
            );
            let elsewhere = report
                .operators
                .iter()
                .any(|operator| operator.location != "local");
            assert_eq!(
                elsewhere, mode.distributed,
                "{}: {mode:?}: what ran where:\n{report}",
                self.name
            );
        }
        expected
    }

    /// The error of a script that must fail.
    pub fn refuses(&self) -> Error {
        match self.run_in(REFERENCE) {
            Ok(_) => panic!("{}: runs", self.name),
            Err(error) => error,
        }
    }
}

impl Run {
    pub fn output(&self, name: &str) -> &MatrixBlock {
        let output = self.outputs.get(name);
        output.unwrap_or_else(|| panic!("there is no output '{name}'"))
    }

    pub fn number(&self, name: &str) -> f64 {
        let output = self.output(name);
        assert_eq!((output.rows(), output.cols()), (1, 1), "{name}");
        output.get(0, 0)
    }

    /// The numbers that the script prints after `label`, in order, of lines that start with `start`.
    pub fn printed_after(&self, start: &str, label: &str) -> Vec<f64> {
        let lines = self.printed.iter().filter(|line| line.starts_with(start));
        lines
            .filter_map(|line| {
                let (_, rest) = line.split_once(label)?;
                rest.split([',', ' '])
                    .find(|word| !word.is_empty())?
                    .parse()
                    .ok()
            })
            .collect()
    }
}

fn fuses(report: &Report) -> bool {
    report
        .operators
        .iter()
        .any(|operator| operator.plan.is_some())
}

fn matrix(value: OutputValue, session: &Session) -> Result<MatrixBlock> {
    match value {
        OutputValue::Matrix(matrix) => Ok(matrix),
        OutputValue::Scalar(value) => {
            let number = value
                .as_f64()
                .ok_or_else(|| Error::validation("the output is a string"))?;
            Ok(MatrixBlock::filled(1, 1, number)?)
        }
        OutputValue::Frame(frame) => frame.to_matrix(),
        OutputValue::List(_) => Err(Error::validation("the output is a list")),
        OutputValue::Dataset { id, .. } => {
            let backend = session.backend.as_ref();
            let backend = backend.ok_or_else(|| Error::internal("a dataset without a backend"))?;
            let collect = Primitive::Collect {
                input: id,
                bytes: None,
            };
            let reply = backend.apply(&collect, None)?;
            backend.apply(&Primitive::Release { dataset: id }, None)?;
            reply
                .payload
                .ok_or_else(|| Error::internal("collected nothing"))
        }
    }
}

/// The largest difference of two cells, relative to the largest finite cell of `expected`. NaN equals NaN.
pub fn relative_difference(found: &MatrixBlock, expected: &MatrixBlock) -> f64 {
    if (found.rows(), found.cols()) != (expected.rows(), expected.cols()) {
        return f64::INFINITY;
    }
    let (found, expected) = (
        found.to_dense().expect("there is memory"),
        expected.to_dense().expect("there is memory"),
    );
    let largest = expected
        .values()
        .iter()
        .filter(|cell| cell.is_finite())
        .fold(1.0, |most: f64, cell| most.max(cell.abs()));
    let pairs = found.values().iter().zip(expected.values());
    let distances = pairs.map(|(found, expected)| match (found - expected).abs() {
        _ if found == expected || (found.is_nan() && expected.is_nan()) => 0.0,
        distance if distance.is_nan() => f64::INFINITY,
        distance => distance,
    });
    distances.fold(0.0, f64::max) / largest
}
