//! `Native.call`: a request on the driver, and the reply to it.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use fulgurite_backend_local::with_chosen_backend;
use fulgurite_codegen::PlanCache;
use fulgurite_config::{Calibration, Config};
use fulgurite_dataflow::{Backend, Primitive};
use fulgurite_error::{Error, Result};
use fulgurite_explain::explain;
use fulgurite_hop::Literal;
use fulgurite_program::{
    Execution, OutputValue, Programs, Report, Request, Session, check, execute,
    request::{Binding, Command},
};
use serde::Serialize;

use crate::{host::JvmHost, registry::registry, runs::Run};

/// The reply to a request that ran a program.
#[derive(Serialize)]
struct Executed {
    outputs: BTreeMap<String, Output>,
    report: Report,
}

#[derive(Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum Output {
    Scalar {
        value: Literal,
    },
    Local {
        handle: i64,
        rows: i64,
        cols: i64,
        nnz: i64,
    },
    Dataset {
        id: u64,
        rows: i64,
        cols: i64,
        nnz: i64,
    },
}

/// The reply to `explain`.
#[derive(Serialize)]
struct Explained {
    text: String,
}

/// The reply to `check`: that there is one.
#[derive(Serialize)]
struct Checked {}

pub(crate) fn call(request: &[u8], host: &Arc<JvmHost>) -> Result<Vec<u8>> {
    #[cfg(debug_assertions)]
    deliberate_panic(request);
    let request = Request::from_json(request)?;
    let mut session = session(&request, host)?;
    let started = Run::start(request.run)?;
    if let Some(run) = &started {
        session = session.with_interrupt(run.interrupt.clone());
    }
    match request.command {
        Command::Execute => reply(&run(request, &session)?),
        Command::Explain => reply(&Explained {
            text: explain(&with_sizes(request)?, &session)?,
        }),
        Command::Check => check(&request, &session).and_then(|()| reply(&Checked {})),
    }
}

/// The process's compiled plans: a plan is compiled once, whoever brings it. Whoever needs the cache first says how
/// many it keeps.
pub(crate) fn plan_cache(capacity: impl FnOnce() -> usize) -> &'static Arc<PlanCache> {
    static CACHE: OnceLock<Arc<PlanCache>> = OnceLock::new();
    CACHE.get_or_init(|| Arc::new(PlanCache::with_capacity(capacity())))
}

/// The programs of the process's latest requests.
fn programs() -> &'static Arc<Programs> {
    static PROGRAMS: OnceLock<Arc<Programs>> = OnceLock::new();
    PROGRAMS.get_or_init(Arc::default)
}

/// The speeds of this machine, looked up once in a process.
fn calibration() -> &'static Arc<Calibration> {
    static CALIBRATION: OnceLock<Arc<Calibration>> = OnceLock::new();
    CALIBRATION.get_or_init(Calibration::of_this_machine)
}

fn session(request: &Request, host: &Arc<JvmHost>) -> Result<Session> {
    let config = Config::default().with(&request.config)?;
    let cache = Arc::clone(plan_cache(|| config.plan_cache_size));
    let prints = Arc::clone(host);
    let session = Session::new(config).with_plan_cache(cache);
    let mut session = with_chosen_backend(session)
        .with_programs(Arc::clone(programs()))
        .with_calibration(Arc::clone(calibration()))
        .with_print(Arc::new(move |line| prints.print(line)));
    // Unless the configuration chose the dataflow in this process.
    if session.backend.is_none() && host.is_there() {
        session = session.with_backend(Arc::clone(host) as Arc<dyn Backend>);
    }
    Ok(session)
}

fn run(request: Request, session: &Session) -> Result<Executed> {
    let matrices = request
        .inputs
        .iter()
        .filter_map(|input| match input.binding {
            Binding::Local { handle } => Some((input, handle)),
            _ => None,
        })
        .map(|(input, handle)| {
            Ok((
                input.name.clone(),
                registry().get_matrix(handle_of(handle))?,
            ))
        })
        .collect::<Result<_>>()?;
    let outcome = execute(Execution::new(request, matrices), session)?;
    refuse_frames(&outcome.outputs, session)?;
    Ok(Executed {
        outputs: outcome
            .outputs
            .into_iter()
            .map(|(name, value)| Ok((name, hand_over(value)?)))
            .collect::<Result<_>>()?,
        report: outcome.report,
    })
}

/// The JVM has no frames and no lists. What is on the workers is released, as nobody else will.
fn refuse_frames(outputs: &BTreeMap<String, OutputValue>, session: &Session) -> Result<()> {
    let refused = |value: &OutputValue| match value {
        OutputValue::Frame(_) => Some((
            "a frame",
            "write it to a file, or make a matrix of it: transformencode(), as.matrix()",
        )),
        OutputValue::List(_) => Some((
            "a list",
            "write it to a folder, or ask for its elements: x = as.matrix(l[1])",
        )),
        OutputValue::Scalar(_) | OutputValue::Matrix(_) | OutputValue::Dataset { .. } => None,
    };
    let mut found = outputs
        .iter()
        .filter_map(|(name, value)| Some((name, refused(value)?)));
    let Some((name, (what, help))) = found.next() else {
        return Ok(());
    };
    for value in outputs.values() {
        if let (OutputValue::Dataset { id, .. }, Some(backend)) = (value, &session.backend) {
            backend.apply(&Primitive::Release { dataset: *id }, None)?;
        }
    }
    Err(Error::unsupported(format!(
        "the output '{name}' is {what}, which the JVM cannot take yet"
    ))
    .with_help(help))
}

/// What is explained reads no values, but plans with the sizes of the matrices that are here.
fn with_sizes(mut request: Request) -> Result<Request> {
    for input in &mut request.inputs {
        if let Binding::Local { handle } = input.binding {
            let matrix = registry().get_matrix(handle_of(handle))?;
            let known = |size: usize| i64::try_from(size).unwrap_or(-1);
            input.binding = Binding::Dataset {
                rows: known(matrix.rows()),
                cols: known(matrix.cols()),
                nnz: known(matrix.nnz()),
            };
        }
    }
    Ok(request)
}

/// Numbers that no handle can be name nothing, as 0 does.
fn handle_of(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(0)
}

/// The caller owns what this returns.
fn hand_over(value: OutputValue) -> Result<Output> {
    let size = |known: Option<u64>| {
        known
            .and_then(|size| i64::try_from(size).ok())
            .unwrap_or(-1)
    };
    Ok(match value {
        OutputValue::Scalar(value) => Output::Scalar { value },
        OutputValue::Matrix(matrix) => {
            // The JVM reads buffers of other layouts.
            let matrix = matrix.into_plain()?;
            Output::Local {
                rows: size(Some(matrix.rows() as u64)),
                cols: size(Some(matrix.cols() as u64)),
                nnz: size(Some(matrix.nnz() as u64)),
                handle: registry().insert_matrix(matrix),
            }
        }
        OutputValue::Frame(_) | OutputValue::List(_) => {
            return Err(Error::internal("a frame or a list was not refused"));
        }
        OutputValue::Dataset {
            id,
            characteristics,
        } => Output::Dataset {
            id: id.0,
            rows: size(characteristics.rows),
            cols: size(characteristics.cols),
            nnz: size(characteristics.nnz),
        },
    })
}

fn reply(value: &impl Serialize) -> Result<Vec<u8>> {
    serde_json::to_vec(value)
        .map_err(|error| Error::internal(format!("a reply could not be written: {error}")))
}

/// `{"command": "panic", "thread": "worker"}`: how tests see that panics of all threads reach Java.
#[cfg(debug_assertions)]
#[expect(clippy::disallowed_methods, reason = "only tests ask for it")]
fn deliberate_panic(request: &[u8]) {
    let Ok(request) = serde_json::from_slice::<serde_json::Value>(request) else {
        return;
    };
    if request["command"] != "panic" {
        return;
    }
    if request["thread"] == "worker" {
        if let Err(payload) = std::thread::spawn(panic_formatted).join() {
            std::panic::resume_unwind(payload);
        }
    } else {
        panic_formatted();
    }
}

#[cfg(debug_assertions)]
#[inline(never)]
fn panic_formatted() {
    panic!("a deliberate panic, formatted: {}", 6 * 7);
}
