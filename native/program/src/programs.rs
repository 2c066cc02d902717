//! Programs of requests that came before. Whoever sends the same request again and again, as a loop over a lazy matrix
//! API does for each batch, waits for the compiler and the planner once.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use fulgurite_config::Config;
use fulgurite_error::Result;
use fulgurite_fusion::CostConstants;
use fulgurite_hop::{Program, Symbols, later_reads::ReadOnce};

use super::{evaluated::Evaluated, plans::Plans, request::Request};

/// Programs that are kept. Each holds no data, but the code of its fused operators.
const CAPACITY: usize = 32;

/// A program and the plans that its blocks got so far. They go together: plans are found by the addresses of blocks.
pub(crate) struct PlannedProgram {
    pub(crate) program: Program,
    pub(crate) plans: Arc<Plans>,
    pub(crate) evaluated: Evaluated,
}

impl PlannedProgram {
    /// Without plans so far.
    fn new(program: Program, request: &Request) -> Self {
        // Of a DAG all that it assigns is read.
        let read_once = match request.dag {
            Some(_) => ReadOnce::default(),
            None => ReadOnce::of(&program, &request.outputs.iter().cloned().collect()),
        };
        Self::leaving(program, read_once)
    }

    /// Without plans so far, of a program whose blocks leave these variables to one reader.
    pub(crate) fn leaving(program: Program, read_once: ReadOnce) -> Self {
        PlannedProgram {
            program,
            plans: Arc::new(Plans::new(read_once)),
            evaluated: Evaluated::default(),
        }
    }
}

/// All that a program and its plans follow from, unless the compiler looked at files.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) request: &'a Request,
    /// What is known of the request's inputs.
    pub(crate) inputs: &'a Symbols,
    pub(crate) config: &'a Config,
    pub(crate) backend: Option<&'a str>,
    /// What blocks are planned with that are too small to be worth a measurement.
    pub(crate) speeds: CostConstants,
}

/// An origin that is kept. It is compared with those of requests as they come, which clone nothing for it.
struct KeptOrigin {
    script: Option<String>,
    name: Option<String>,
    dag: Option<serde_json::Value>,
    arguments: BTreeMap<String, String>,
    allow_missing_arguments: bool,
    outputs: Vec<String>,
    assume: BTreeMap<String, String>,
    paths_elsewhere: bool,
    inputs: Symbols,
    config: Config,
    backend: Option<String>,
    speeds: CostConstants,
}

impl Origin<'_> {
    fn kept(&self) -> KeptOrigin {
        let request = self.request;
        KeptOrigin {
            script: request.script.clone(),
            name: request.name.clone(),
            dag: request.dag.clone(),
            arguments: request.arguments.clone(),
            allow_missing_arguments: request.allow_missing_arguments,
            outputs: request.outputs.clone(),
            assume: request.assume.clone(),
            paths_elsewhere: request.paths_elsewhere,
            inputs: self.inputs.clone(),
            config: self.config.clone(),
            backend: self.backend.map(str::to_owned),
            speeds: self.speeds,
        }
    }

    fn is(&self, kept: &KeptOrigin) -> bool {
        let KeptOrigin {
            script,
            name,
            dag,
            arguments,
            allow_missing_arguments,
            outputs,
            assume,
            paths_elsewhere,
            inputs,
            config,
            backend,
            speeds,
        } = kept;
        let request = self.request;
        // What differs between the requests of one program stands first.
        inputs == self.inputs
            && (outputs, arguments) == (&request.outputs, &request.arguments)
            && (allow_missing_arguments, paths_elsewhere)
                == (&request.allow_missing_arguments, &request.paths_elsewhere)
            && (name, assume) == (&request.name, &request.assume)
            && backend.as_deref() == self.backend
            && speeds == &self.speeds
            && config == self.config
            && script == &request.script
            && dag == &request.dag
    }
}

/// The programs of the latest requests, most recently used first.
#[derive(Default)]
pub struct Programs(Mutex<Vec<(KeptOrigin, Arc<PlannedProgram>)>>);

impl Programs {
    /// The program of this request: one that is known to be of this origin, or what `compile` makes. That is kept where it says
    /// that nothing but the request went into it.
    pub(crate) fn get_or_compile(
        &self,
        origin: Origin,
        compile: impl FnOnce() -> Result<(Program, FollowsFrom)>,
    ) -> Result<Arc<PlannedProgram>> {
        if let Some(known) = self.find(&origin) {
            return Ok(known);
        }
        // Compiled outside the lock: of two that are the same, the later one is kept.
        let (program, follows_from) = compile()?;
        let planned = Arc::new(PlannedProgram::new(program, origin.request));
        if follows_from == FollowsFrom::Request {
            let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            programs.truncate(CAPACITY - 1);
            programs.insert(0, (origin.kept(), Arc::clone(&planned)));
        }
        Ok(planned)
    }

    fn find(&self, origin: &Origin) -> Option<Arc<PlannedProgram>> {
        let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = programs.iter().position(|(known, _)| origin.is(known))?;
        programs[..=place].rotate_right(1);
        Some(Arc::clone(&programs[0].1))
    }
}

/// What a program depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FollowsFrom {
    Request,
    /// Files, too, which may change: scripts that it sources, the metadata of data.
    Files,
}
