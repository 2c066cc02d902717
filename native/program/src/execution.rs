//! Executes a request.

use std::{collections::BTreeMap, sync::Arc, time::Instant};

use fulgurite_dataflow::{DatasetId, DistributedMatrix, OnBehalf, SourceSpec, Variable};
use fulgurite_error::{Error, ErrorKind, Result};
use fulgurite_frame::Frame;
use fulgurite_hop::{Block, Characteristics, Literal, Program};
use fulgurite_matrix::MatrixBlock;

use super::{
    compile::{Unused, compile, configured, on_deep_stack},
    interpreter::{Context, Interpreter, whole},
    programs::Origin,
    report::Report,
    request::{Binding, Request},
    session::Session,
    symbols::SymbolTable,
    watch::Account,
};

/// A request with the values of its local matrices, by input name.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    pub request: Request,
    pub matrices: BTreeMap<String, MatrixBlock>,
    /// Its frames, likewise.
    pub frames: BTreeMap<String, Frame>,
}

impl Execution {
    /// Of a request whose inputs are matrices and scalars.
    pub fn new(request: Request, matrices: BTreeMap<String, MatrixBlock>) -> Self {
        Execution {
            request,
            matrices,
            frames: BTreeMap::new(),
        }
    }
}

/// A variable handed back.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputValue {
    Scalar(Literal),
    Matrix(MatrixBlock),
    Frame(Frame),
    /// Elements with their names, each in this process.
    List(Vec<(Option<String>, OutputValue)>),
    /// The caller now owns the dataset and releases it.
    Dataset {
        id: DatasetId,
        characteristics: Characteristics,
    },
}

/// What an execution gives.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub outputs: BTreeMap<String, OutputValue>,
    pub report: Report,
}

/// Compiles and runs the request's program.
///
/// # Errors
/// Every kind: of compiling, of running, of the backend; with position and operator where there is one. Once the session's
/// [`Interrupt`](fulgurite_matrix::Interrupt) is set, whatever ends the run is of kind `interrupted`.
pub fn execute(execution: Execution, session: &Session) -> Result<Outcome> {
    // Readers and writers of files look for the flag where they run.
    let interrupt = session.interrupt.or_current();
    let outcome = interrupt.within(|| on_deep_stack(|| execute_here(execution, session)));
    outcome.map_err(|error| match session.interrupt.check() {
        // Jobs that were cancelled, say.
        Err(interrupted) if error.kind() != ErrorKind::Interrupted => {
            let interrupted = interrupted.at_option(error.position());
            match error.operator() {
                Some(operator) => interrupted.in_operator(operator),
                None => interrupted,
            }
        }
        _ => error,
    })
}

fn execute_here(execution: Execution, session: &Session) -> Result<Outcome> {
    let started = Instant::now();
    let Execution {
        request,
        matrices,
        frames,
    } = execution;
    let session = configured(session, &request)?;
    let mut symbols = bind_inputs(&request, matrices, frames, &session)?;
    let known = request
        .inputs
        .iter()
        .filter_map(|input| Some((input.name.clone(), symbols.find(&input.name)?.info())))
        .collect();
    let backend = session.backend.as_ref().map(|backend| backend.name());
    let origin = Origin {
        request: &request,
        inputs: &known,
        config: &session.config,
        backend,
        speeds: session.known_speeds(),
    };
    let programs = Arc::clone(&session.programs);
    let planned = programs.get_or_compile(origin, || {
        compile(&request, &known, &session, Unused::Dropped)
    })?;
    let outputs = output_names(&request, &planned.program);

    let mut context = Context::new(session.clone())?;
    context.limit_beside(&symbols);
    let account = Account::new(
        started,
        session.backend_name(),
        &session.plan_cache,
        &context.recorder,
    );
    if let Some(watch) = &session.watch {
        watch.watch(account.clone());
    }
    let mut interpreter = Interpreter::of_planned(&planned, context);
    interpreter.compress_inputs(&mut symbols)?;
    interpreter.run(&planned.program.body, &mut symbols)?;
    let mut ready = Vec::new();
    for name in outputs {
        let label: Arc<str> = format!("output {name}").into();
        let _on_behalf = OnBehalf::of(Arc::clone(&label));
        let variable = symbols.get(&name)?;
        let output =
            ReadyOutput::of(variable, &session).map_err(|error| error.in_operator(&*label))?;
        ready.push((name, output));
    }
    // Only when all are there does the caller own any: after an error nobody would release them.
    let outputs = ready
        .into_iter()
        .map(|(name, output)| (name, output.hand_over()))
        .collect();
    Ok(Outcome {
        outputs,
        report: account.report(),
    })
}

fn bind_inputs(
    request: &Request,
    mut matrices: BTreeMap<String, MatrixBlock>,
    mut frames: BTreeMap<String, Frame>,
    session: &Session,
) -> Result<SymbolTable> {
    let mut symbols = SymbolTable::default();
    for input in &request.inputs {
        let value = match &input.binding {
            Binding::Scalar { value } => Variable::Scalar(value.clone()),
            Binding::Local { .. } => {
                let matrix = matrices.remove(&input.name).ok_or_else(|| {
                    Error::argument(format!(
                        "the input '{}' comes without its matrix",
                        input.name
                    ))
                })?;
                Variable::matrix(matrix)
            }
            Binding::Frame => Variable::Frame(frames.remove(&input.name).ok_or_else(|| {
                Error::argument(format!(
                    "the input '{}' comes without its frame",
                    input.name
                ))
            })?),
            Binding::Dataset { .. } => {
                Variable::Distributed(registered(&input.name, &input.binding, session)?)
            }
        };
        symbols.set(&input.name, value);
    }
    Ok(symbols)
}

fn registered(name: &str, binding: &Binding, session: &Session) -> Result<DistributedMatrix> {
    let backend = session.backend.as_ref().ok_or_else(|| {
        Error::argument(format!(
            "the input '{name}' is distributed, and there are no workers"
        ))
    })?;
    let source = SourceSpec::Registered {
        name: name.to_owned(),
    };
    let _on_behalf = OnBehalf::of(format!("input {name}").into());
    DistributedMatrix::read(backend, source, binding.characteristics())
}

/// The variables asked for; of a DAG all that it writes, if none are.
fn output_names(request: &Request, program: &Program) -> Vec<String> {
    match &program.body[..] {
        [Block::Basic { dag }] if request.dag.is_some() && request.outputs.is_empty() => dag
            .roots
            .iter()
            .filter_map(|root| dag.hop(*root).op.variable_written())
            .map(str::to_owned)
            .collect(),
        _ => request.outputs.clone(),
    }
}

/// A variable as its caller gets it, but that what is on the workers is still released here.
enum ReadyOutput {
    Here(OutputValue),
    OnWorkers(DistributedMatrix),
}

impl ReadyOutput {
    fn of(variable: &Variable, session: &Session) -> Result<Self> {
        Ok(match variable {
            Variable::Written(written) => {
                let whole = whole(written, session)?;
                return Self::of(&whole, session);
            }
            Variable::Scalar(value) => ReadyOutput::Here(OutputValue::Scalar(value.clone())),
            Variable::List(list) => {
                let elements = list.elements().iter();
                let elements = elements
                    .map(|element| Ok((element.name.clone(), here(&element.value, session)?)));
                ReadyOutput::Here(OutputValue::List(elements.collect::<Result<_>>()?))
            }
            Variable::Frame(frame) => ReadyOutput::Here(OutputValue::Frame(frame.clone())),
            Variable::Range(range) => {
                ReadyOutput::Here(OutputValue::Matrix(range.to_dense()?.into()))
            }
            Variable::Matrix(matrix) => {
                ReadyOutput::Here(OutputValue::Matrix(matrix.block().clone()))
            }
            Variable::Distributed(matrix) => {
                let bytes = matrix.stripes.memory_bytes();
                if matrix.transposed
                    && bytes.is_some_and(|bytes| bytes <= session.config.memory_local)
                {
                    // What is put together here may as well be transposed here.
                    let here = matrix.collect()?.block().clone();
                    return Ok(ReadyOutput::Here(OutputValue::Matrix(here)));
                }
                let mut matrix = session.workers()?.lying(matrix, false)?;
                matrix.persist()?;
                ReadyOutput::OnWorkers(matrix)
            }
        })
    }

    fn hand_over(self) -> OutputValue {
        match self {
            ReadyOutput::Here(value) => value,
            ReadyOutput::OnWorkers(matrix) => OutputValue::Dataset {
                id: matrix.dataset.hand_over(),
                characteristics: matrix.characteristics(),
            },
        }
    }
}

/// An element of a list, which is brought here from wherever it is.
fn here(variable: &Variable, session: &Session) -> Result<OutputValue> {
    if let Variable::Distributed(matrix) = variable {
        return Ok(OutputValue::Matrix(matrix.collect()?.block().clone()));
    }
    match ReadyOutput::of(variable, session)? {
        ReadyOutput::Here(value) => Ok(value),
        ReadyOutput::OnWorkers(matrix) => {
            Ok(OutputValue::Matrix(matrix.collect()?.block().clone()))
        }
    }
}

/// A variable as the caller gets it.
///
/// # Errors
/// Of what is not whole yet: of putting it together.
pub(crate) fn handed_back(variable: Variable, session: &Session) -> Result<OutputValue> {
    Ok(match variable {
        // The interpreter is done with it.
        Variable::Matrix(matrix) => OutputValue::Matrix(matrix.into_block()),
        other => ReadyOutput::of(&other, session)?.hand_over(),
    })
}
