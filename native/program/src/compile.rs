//! Compiles requests: from a script or a DAG to a program with sizes, rewritten.

use std::{
    cell::Cell,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use fulgurite_config::Config;
use fulgurite_dml::{
    CompileOptions, CompiledCall, EvaluatedCall, FileSystem, InputVariable, Library,
    SourceResolver, compile_call, parse_argument,
};
use fulgurite_error::{Error, Result, Source, Warning};
use fulgurite_hop::{
    Block, Characteristics, Dag, DataType, Hop, HopId, OptimizeOptions, Outputs, Program,
    ReadOptions, Symbols, ValueType, VariableInfo, json, optimize_program, optimize_program_traced,
    rewrites::Application,
};
use fulgurite_matrix::memory;

use super::{
    interpreter::{declared_type, read_metadata},
    programs::FollowsFrom,
    request::{Binding, Request},
    session::{Evaluator, Session},
};

/// What the passes over a program that is nested as deeply as may be take of the stack: they go down by recursion.
const PROGRAM_BYTES: usize = 24 << 20;

/// Runs a request on a stack that suffices for programs that are nested as deeply as may be.
///
/// # Errors
/// Its own; `memory`, where there is none for more stack.
pub fn on_deep_stack<T>(request: impl FnOnce() -> Result<T>) -> Result<T> {
    const STACK_BYTES: usize = PROGRAM_BYTES + (8 << 20);
    memory::on_stack_with(PROGRAM_BYTES, STACK_BYTES, request)
}

/// A session for one request, configured as it says.
///
/// # Errors
/// `argument`, for keys and values that there are not.
pub(super) fn configured(session: &Session, request: &Request) -> Result<Session> {
    let mut session = session.clone();
    session.config = session.config.with(&request.config)?;
    session.paths_elsewhere = request.paths_elsewhere;
    session.evaluator = None;
    session.evaluator = evaluator(request, &session);
    Ok(session)
}

/// Compiles calls that the request's script makes by `eval`.
fn evaluator(request: &Request, session: &Session) -> Option<Evaluator> {
    let source = source(request.name.as_deref(), request.script.as_deref()?);
    let session = session.clone();
    let options = Request {
        arguments: request.arguments.clone(),
        allow_missing_arguments: request.allow_missing_arguments,
        ..Request::default()
    };
    Some(Arc::new(move |call: &EvaluatedCall<'_>| {
        let asked_for_files = Cell::default();
        let files = Files::beside(&source, &session, &asked_for_files);
        let compiled = compile_call(&source, call, script_options(&options, &files))?;
        let metadata = |path: &str, options: &ReadOptions| read_metadata(path, options, &session);
        let results = compiled.results.iter();
        let options = OptimizeOptions {
            off: &session.config.rewrites_off,
            outputs: Outputs::Only(results.map(|(variable, _)| variable.clone()).collect()),
        };
        let program = optimize_program(&compiled.program, &Symbols::new(), &metadata, &options)?;
        Ok(CompiledCall {
            program,
            ..compiled
        })
    }))
}

fn source(name: Option<&str>, script: &str) -> Arc<Source> {
    Source::new(name.unwrap_or("script.dml"), script)
}

/// Compiles the request's program and propagates sizes, running nothing: every error that shows before a run.
///
/// # Errors
/// As compiling.
pub fn check(request: &Request, session: &Session) -> Result<()> {
    let session = configured(session, request)?;
    let inputs = declared_inputs(request);
    on_deep_stack(|| compile(request, &inputs, &session, Unused::Kept).map(drop))
}

/// What looks like a mistake in the request's script, and is none: what [`check`] lets pass.
pub fn warnings(request: &Request) -> Vec<Warning> {
    let script = request.script.as_deref().unwrap_or_default();
    let source = source(request.name.as_deref(), script);
    fulgurite_dml::warnings(&source, &request.outputs)
}

/// A program as it is explained: with sizes and rewrites, and how it came to be.
pub struct TracedProgram {
    pub program: Program,
    /// Configured as the request says.
    pub session: Session,
    pub front: FrontEnd,
}

/// What happened to the whole script before its blocks are planned; rewriting again before fusion adds to it.
pub struct FrontEnd {
    pub parse: Duration,
    pub rewrite: Duration,
    /// In the order in which they were applied.
    pub rewrites: Vec<Application>,
}

/// Compiles the request's program, and tells how.
///
/// # Errors
/// As compiling.
pub fn compile_traced(request: &Request, session: &Session) -> Result<TracedProgram> {
    let session = configured(session, request)?;
    let inputs = declared_inputs(request);
    let started = Instant::now();
    let program = parsed(request, &inputs, &session, &Cell::default(), false)?;
    let read = Instant::now();
    let metadata = |path: &str, options: &ReadOptions| read_metadata(path, options, &session);
    let options = optimize_options(request, &session.config);
    let (program, rewrites) = optimize_program_traced(&program, &inputs, &metadata, &options)?;
    let front = FrontEnd {
        parse: read - started,
        rewrite: read.elapsed(),
        rewrites,
    };
    Ok(TracedProgram {
        program,
        session,
        front,
    })
}

/// What becomes of assignments that nobody reads before sizes are propagated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unused {
    Dropped,
    /// So that errors in them are found.
    Kept,
}

/// The program with branches that are never taken gone, and what it depends on.
pub(super) fn compile(
    request: &Request,
    inputs: &Symbols,
    session: &Session,
    unused: Unused,
) -> Result<(Program, FollowsFrom)> {
    let asked_for_files = Cell::new(false);
    let keeps = unused == Unused::Kept;
    let program = parsed(request, inputs, session, &asked_for_files, keeps)?;
    let metadata = |path: &str, options: &ReadOptions| {
        asked_for_files.set(true);
        read_metadata(path, options, session)
    };
    let options = optimize_options(request, &session.config);
    let program = optimize_program(&program, inputs, &metadata, &options)?;
    let follows_from = match asked_for_files.get() {
        true => FollowsFrom::Files,
        false => FollowsFrom::Request,
    };
    Ok((program, follows_from))
}

fn optimize_options<'a>(request: &Request, config: &'a Config) -> OptimizeOptions<'a> {
    OptimizeOptions {
        off: &config.rewrites_off,
        outputs: match request.dag.is_some() && request.outputs.is_empty() {
            true => Outputs::All,
            false => Outputs::Only(request.outputs.iter().cloned().collect()),
        },
    }
}

/// What a request says of its inputs. Local matrices are not looked at.
fn declared_inputs(request: &Request) -> Symbols {
    let info = |binding: &Binding| match binding {
        Binding::Scalar { value } => VariableInfo::constant(value.clone()),
        Binding::Frame => VariableInfo::frame(Characteristics::UNKNOWN),
        other => VariableInfo::matrix(other.characteristics()),
    };
    let inputs = request.inputs.iter();
    inputs
        .map(|input| (input.name.clone(), info(&input.binding)))
        .collect()
}

/// The program that the request carries, for inputs of which `known` is known. Sets `asked_for_files` where files
/// decided on it.
///
/// # Errors
/// `argument`, unless there is either a script or a DAG; all errors of compiling.
fn parsed(
    request: &Request,
    known: &Symbols,
    session: &Session,
    asked_for_files: &Cell<bool>,
    keep_unused: bool,
) -> Result<Program> {
    match (&request.script, &request.dag) {
        (Some(script), None) => {
            let source = source(request.name.as_deref(), script);
            let files = Files::beside(&source, session, asked_for_files);
            compiled_script(request, &source, known, &files, keep_unused)
        }
        (None, Some(dag)) => Ok(Program {
            body: vec![Block::Basic {
                dag: unfused(json::from_json(&dag.to_string())?)?,
            }],
            ..Program::default()
        }),
        _ => Err(Error::argument(
            "a request carries either a script or a HOP DAG",
        )),
    }
}

fn compiled_script(
    request: &Request,
    source: &Arc<Source>,
    known: &Symbols,
    files: &Files,
    keep_unused: bool,
) -> Result<Program> {
    let variable = |info: &VariableInfo| InputVariable {
        data_type: info.data_type,
        value_type: info.value_type,
        characteristics: info.characteristics,
    };
    let options = CompileOptions {
        inputs: known
            .iter()
            .map(|(name, info)| (name.clone(), variable(info)))
            .collect(),
        outputs: request.outputs.clone(),
        assumed: request
            .assume
            .iter()
            .map(|(name, text)| (name.clone(), parse_argument(text)))
            .collect(),
        keep_unused,
        ..script_options(request, files)
    };
    fulgurite_dml::compile(source, &options)
}

/// What all compilations for a request have in common.
fn script_options<'a>(request: &Request, files: &'a Files<'a>) -> CompileOptions<'a> {
    let arguments = request
        .arguments
        .iter()
        .filter(|(_, text)| !text.is_empty());
    CompileOptions {
        arguments: arguments
            .map(|(name, text)| (name.clone(), parse_argument(text)))
            .collect(),
        allow_missing_arguments: request.allow_missing_arguments,
        dialect: files.session.config.dialect,
        resolver: files,
        ..CompileOptions::default()
    }
}

/// # Errors
/// `plan`, for a DAG with fused operators: their plans are not in it.
fn unfused(dag: Dag) -> Result<Dag> {
    let is_fused = |(_, hop): &(HopId, &Hop)| hop.op.fused().is_some();
    let fused = dag.iter().find(is_fused).map(|(_, hop)| hop.clone());
    match fused {
        None => Ok(dag),
        Some(hop) => Err(Error::plan(format!(
            "the node '{}' is a fused operator, and a request has no plans for it",
            hop.op.code()
        ))
        .in_operator(hop.op.code())
        .at_option(hop.position.as_ref())
        .with_help("hand over the DAG as it was before fusion")),
    }
}

/// Scripts beside the script, and the metadata of data files.
struct Files<'a> {
    scripts: FileSystem,
    session: &'a Session,
    asked: &'a Cell<bool>,
}

impl<'a> Files<'a> {
    fn beside(source: &Source, session: &'a Session, asked: &'a Cell<bool>) -> Self {
        let folder = Path::new(&source.name).parent().unwrap_or(Path::new(""));
        Files {
            scripts: FileSystem {
                folder: folder.to_path_buf(),
                library: Library::new(session.config.builtins.iter().cloned()),
            },
            session,
            asked,
        }
    }
}

impl SourceResolver for Files<'_> {
    fn load(&self, path: &str) -> Result<Arc<Source>> {
        self.asked.set(true);
        self.scripts.load(path)
    }

    fn load_beside(&self, path: &str, folder: Option<&str>) -> Result<Arc<Source>> {
        self.asked.set(true);
        self.scripts.load_beside(path, folder)
    }

    fn builtin(&self, name: &str) -> Result<Option<Arc<Source>>> {
        self.asked.set(true);
        self.scripts.builtin(name)
    }

    fn builtin_roots(&self) -> Vec<String> {
        self.scripts.builtin_roots()
    }

    fn declared_type(&self, path: &str) -> Option<(DataType, ValueType)> {
        self.asked.set(true);
        declared_type(path, self.session)
    }
}
