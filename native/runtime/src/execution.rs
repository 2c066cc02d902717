//! The two things a caller can do with a request: execute and explain it.

use std::collections::BTreeMap;

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Literal};
use fulgurite_matrix::MatrixBlock;

use crate::{Report, Request, Session, dataflow::DatasetId, request::ExplainLevel};

/// A request with the values of its local matrices, by input name.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    pub request: Request,
    pub matrices: BTreeMap<String, MatrixBlock>,
}

/// A variable handed back.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputValue {
    Scalar(Literal),
    Matrix(MatrixBlock),
    /// The caller now owns the dataset and releases it.
    Dataset {
        id: DatasetId,
        characteristics: Characteristics,
    },
}

#[derive(Debug, Clone)]
pub struct Outcome {
    pub outputs: BTreeMap<String, OutputValue>,
    pub report: Report,
}

/// Compiles and runs the request's program.
///
/// # Errors
/// Every kind: of compiling, of running, of the backend; with position and operator where there is one.
pub fn execute(execution: Execution, session: &Session) -> Result<Outcome> {
    let config = session.config.with(&execution.request.config)?;
    let _ = (config, execution.matrices);
    Err(Error::unsupported("the control program is not there yet"))
}

/// What would be executed, from what is known without running anything.
///
/// # Errors
/// As compiling.
pub fn explain(request: &Request, session: &Session, level: ExplainLevel) -> Result<String> {
    let _ = (request, session, level);
    Err(Error::unsupported("explain is not there yet"))
}
