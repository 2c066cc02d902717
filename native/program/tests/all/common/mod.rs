//! Runs scripts as callers do, and keeps what they print.

#![allow(dead_code, reason = "each test program uses a part")]

pub mod random;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use fulgurite_backend_local::LocalBackend;
use fulgurite_config::Config;
use fulgurite_dataflow::{Backend, Primitive};
use fulgurite_error::Result;
use fulgurite_hop::Literal;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    Execution, Outcome, OutputValue, Programs, Request, Session, execute,
    request::{Binding, Input},
};

/// A script to run with its inputs.
#[derive(Default)]
pub struct Script {
    request: Request,
    matrices: BTreeMap<String, MatrixBlock>,
    backend: Option<Arc<LocalBackend>>,
    other_backend: Option<Arc<dyn Backend>>,
    programs: Arc<Programs>,
}

pub struct Ran {
    pub result: Result<Outcome>,
    pub printed: String,
}

pub fn script(text: &str) -> Script {
    Script {
        request: Request::script("test.dml", text),
        ..Script::default()
    }
}

impl Script {
    pub fn matrix(mut self, name: &str, matrix: MatrixBlock) -> Self {
        self.request.inputs.push(Input {
            name: name.into(),
            binding: Binding::Local { handle: 0 },
        });
        self.matrices.insert(name.into(), matrix);
        self
    }

    pub fn scalar(mut self, name: &str, value: Literal) -> Self {
        self.request.inputs.push(Input {
            name: name.into(),
            binding: Binding::Scalar { value },
        });
        self
    }

    /// An input on the workers, in stripes of `stripe_rows` rows.
    pub fn dataset(mut self, name: &str, matrix: MatrixBlock, stripe_rows: usize) -> Self {
        let backend = self.backend.get_or_insert_default();
        backend.register(name, matrix, stripe_rows);
        self.request.inputs.push(Input {
            name: name.into(),
            binding: Binding::Dataset {
                rows: -1,
                cols: -1,
                nnz: -1,
            },
        });
        self
    }

    /// Another backend than the one in this process.
    pub fn on(mut self, backend: Arc<dyn Backend>) -> Self {
        self.other_backend = Some(backend);
        self
    }

    /// What ran before with the same programs is known.
    pub fn programs(mut self, programs: &Arc<Programs>) -> Self {
        self.programs = Arc::clone(programs);
        self
    }

    pub fn backend(mut self, backend: Arc<LocalBackend>) -> Self {
        self.backend = Some(backend);
        self
    }

    /// A HOP DAG in place of the script.
    pub fn dag(mut self, dag: serde_json::Value) -> Self {
        self.request.script = None;
        self.request.dag = Some(dag);
        self
    }

    pub fn argument(mut self, name: &str, value: &str) -> Self {
        self.request.arguments.insert(name.into(), value.into());
        self
    }

    pub fn config(mut self, key: &str, value: &str) -> Self {
        self.request.config.insert(key.into(), value.into());
        self
    }

    pub fn output(mut self, name: &str) -> Self {
        self.request.outputs.push(name.into());
        self
    }

    pub fn run(self) -> Ran {
        let printed: Arc<Mutex<String>> = Arc::default();
        let sink = Arc::clone(&printed);
        let mut session = Session::new(Config::default()).with_print(Arc::new(move |line| {
            let mut printed = sink.lock().expect("nobody panics while printing");
            printed.push_str(line);
            printed.push('\n');
            Ok(())
        }));
        if let Some(backend) = self.backend {
            session = session.with_backend(backend);
        }
        if let Some(backend) = self.other_backend {
            session = session.with_backend(backend);
        }
        session = session.with_programs(self.programs);
        let execution = Execution::new(self.request, self.matrices);
        let result = execute(execution, &session);
        let printed = printed
            .lock()
            .expect("nobody panics while printing")
            .clone();
        Ran { result, printed }
    }
}

impl Ran {
    /// What it printed, and then the error if there was one.
    pub fn text(&self) -> String {
        match &self.result {
            Ok(_) => self.printed.clone(),
            Err(error) => format!("{}{error}", self.printed),
        }
    }

    pub fn outcome(&self) -> &Outcome {
        match &self.result {
            Ok(outcome) => outcome,
            Err(error) => panic!("{error}"),
        }
    }

    pub fn matrix(&self, name: &str) -> MatrixBlock {
        match &self.outcome().outputs[name] {
            OutputValue::Matrix(matrix) => matrix.clone(),
            other => panic!("{name} is {other:?}"),
        }
    }

    /// A result that came here or stayed with the workers; a number is a matrix of one cell.
    pub fn matrix_of(&self, name: &str, backend: &dyn Backend) -> MatrixBlock {
        match &self.outcome().outputs[name] {
            OutputValue::Matrix(matrix) => matrix.clone(),
            OutputValue::Frame(frame) => panic!("{name} is {frame:?}"),
            OutputValue::List(list) => panic!("{name} is {list:?}"),
            OutputValue::Scalar(value) => {
                MatrixBlock::filled(1, 1, value.as_f64().expect("a number")).unwrap()
            }
            OutputValue::Dataset {
                id,
                characteristics,
            } => {
                let collect = Primitive::Collect {
                    input: *id,
                    bytes: None,
                };
                let reply = backend.apply(&collect, None).expect("it is there");
                let matrix = reply.payload.expect("a matrix");
                assert_eq!(characteristics.rows, Some(matrix.rows() as u64));
                assert_eq!(characteristics.cols, Some(matrix.cols() as u64));
                matrix
            }
        }
    }

    pub fn number(&self, name: &str) -> f64 {
        match &self.outcome().outputs[name] {
            OutputValue::Scalar(value) => value.as_f64().expect("a number"),
            other => panic!("{name} is {other:?}"),
        }
    }
}

/// Whole numbers and halves in a fixed order: sums of them are exact.
pub fn exact(rows: usize, cols: usize, seed: u64) -> MatrixBlock {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let values = (0..rows * cols)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 40) % 17) as f64 / 2.0 - 4.0
        })
        .collect();
    MatrixBlock::dense(rows, cols, values).expect("sized for it")
}

/// Which cells of a matrix are not zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cells {
    Dense,
    /// One row in five has cells.
    Skewed,
    /// One cell in twenty.
    Scattered,
    /// One cell in two hundred.
    Rare,
    None,
}

/// Cells of [`exact`], those that are not zero where `kind` says so.
pub fn matrix(rows: usize, cols: usize, kind: Cells, seed: u64) -> MatrixBlock {
    let dense = exact(rows, cols, seed).to_dense().unwrap();
    let has_cell = |at: usize| match kind {
        Cells::Dense => true,
        Cells::Skewed => (at / cols).is_multiple_of(5),
        Cells::Scattered => (at * 7919).is_multiple_of(20),
        Cells::Rare => (at * 7919).is_multiple_of(200),
        Cells::None => false,
    };
    let cells = dense.values().iter().enumerate();
    let cells = cells.map(|(at, value)| if has_cell(at) { *value } else { 0.0 });
    let block = MatrixBlock::dense(rows, cols, cells.collect()).expect("sized for it");
    match kind {
        Cells::Dense => block,
        _ => block.in_best_layout().unwrap(),
    }
}
