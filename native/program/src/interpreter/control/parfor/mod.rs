//! `parfor`: iterations on threads or on the workers, each with variables of its own.
//!
//! - [`mode`] decides whether iterations run here or, all in one job, on the workers, and says why; [`needs`] is what they
//!   need from outside.
//! - [`remote`] runs them on the workers: tasks for ranges of iterations, which [`range_task`] runs there.
//! - [`slices`]: a distributed matrix of which each iteration reads rows or columns of its own; tasks then are of its
//!   stripes, or of those that [`slicing`] has it cut into.
//! - [`degree`] decides how many iterations run at a time here, and says why.
//! - [`team`] runs them: which thread takes which iteration is left to chance, what is seen of them is not. Lines are
//!   printed and sums are added in the order of iterations, and the first error in that order is the loop's.
//! - [`gathered`] is what iterations leave in their order: [`sums`], and parts of matrices of the workers ([`writes`]).
//!   [`results`] is what they leave of others: copies that each thread, or task, has written into.
//!
//! What iterations share: the program, plans of blocks, compiled operators, the configuration, and matrices from before
//! the loop. What each thread has: variables, its place in the program, what it reports. Operators in an iteration have
//! the thread for themselves, but cut their work as if they had all threads, so that sums have the same bits however many
//! iterations run at a time.
//!
//! Iterations whose operators may need the workers make jobs of their own, which run beside each other: the backend lets
//! each thread call it ([`Callers`](fulgurite_dataflow::Callers)).

mod degree;
mod gathered;
mod mode;
mod needs;
mod range_task;
mod remote;
mod results;
mod slices;
mod slicing;
mod sums;
mod team;
mod writes;

use std::{sync::Arc, time::Instant};

use fulgurite_dataflow::{ParforReport, Variable};
use fulgurite_error::{Error, Position, Result};
use fulgurite_hop::{Block, Literal, Parallel, ParforMode, Program, iteration_bytes};

pub use self::range_task::run_range;
use self::{
    degree::{Degree, Facts, Plan},
    gathered::{Gathered, Own, Start},
    mode::{Decision, Why},
    needs::Needs,
    remote::Outlook,
};
use super::Interpreter;
use crate::{
    interpreter::{range::Range, written},
    session::Session,
    symbols::SymbolTable,
};

/// A `parfor` of the program.
pub(super) struct ParallelLoop<'p> {
    pub variable: &'p str,
    pub body: &'p [Block],
    pub parallel: &'p Parallel,
    pub position: Option<&'p Position>,
}

impl ParallelLoop<'_> {
    /// As the report calls it: `parfor i a.dml:3`.
    fn label(&self) -> String {
        super::label(&format!("parfor {}", self.variable), self.position)
    }
}

/// What is known of a loop that ran before.
#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    /// Of one iteration on one thread.
    seconds: Option<f64>,
    /// What an iteration takes, estimated or measured.
    bytes: Option<u64>,
    is_measured: bool,
    /// Iterations may make jobs.
    asks_backend: bool,
    /// Looked for once, where there are workers.
    needs: Option<Arc<Needs>>,
}

/// Where iterations run.
enum Place {
    Here {
        degree: Degree,
        why: Option<Why>,
    },
    OnWorkers {
        candidate: Box<remote::Candidate>,
        why: Why,
    },
}

/// Where iterations would run and how many at a time, as far as that is known before a run.
pub fn expected_degree(
    program: &Program,
    body: &[Block],
    parallel: &Parallel,
    session: &Session,
) -> String {
    let bytes = iteration_bytes(program, body);
    let needs = Needs::of(program, body);
    let available = session.config.memory_local;
    let is_large = bytes.is_none_or(|bytes| bytes > available);
    let asks_backend = session.backend.is_some() && (is_large || needs.files);
    let facts = Facts {
        threads: session.config.effective_threads(),
        iterations: u64::MAX,
        cap: parallel.degree,
        asks_backend,
        // What is too large here may run on the workers: the first iteration shows what is left.
        bytes: bytes.filter(|_| !(asks_backend && is_large)),
        available,
        seconds: None,
    };
    let place = match (remote::asked(parallel, session), &session.backend) {
        (Some((ParforMode::Remote, by)), Some(backend)) if !needs.files => format!(
            "on {} where tasks can run them ({}), else ",
            backend.name(),
            Why::Asked(by)
        ),
        _ => String::new(),
    };
    let degree = match degree::decide(&facts) {
        Plan::Run(degree) => degree.report(String::new(), facts.iterations).degree(),
        Plan::Measure => "as the first iteration shows".to_owned(),
    };
    match written::expectation(body, &parallel.results, session) {
        Some(kept) => format!("{place}{degree}; {kept}"),
        None => format!("{place}{degree}"),
    }
}

impl<'p> Interpreter<'p> {
    /// Runs the loop and leaves its results, and nothing else that iterations assign.
    pub(super) fn parallel_loop(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        mut range: Range,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let address = parallel_loop.body.as_ptr().addr();
        let mut history = match self.parfors.get(&address) {
            Some(history) => history.clone(),
            None => History {
                bytes: iteration_bytes(self.program, parallel_loop.body),
                ..History::default()
            },
        };
        let iterations = range.left();
        let before = symbols.clone();
        let at = |error: Error| error.at_option(parallel_loop.position);
        let parallel = parallel_loop.parallel;
        let gathered =
            Gathered::start(parallel_loop.label(), parallel, symbols, &self.context).map_err(at);
        let mut gathered = gathered?;
        let started = Instant::now();
        let place = self.place(
            parallel_loop,
            &mut history,
            &mut range,
            &mut gathered,
            symbols,
        )?;
        let results = &parallel.results;
        let report = match place {
            Place::Here { degree, why } => {
                match degree.workers {
                    1 => {
                        for value in range {
                            self.iteration(parallel_loop, value, &mut gathered, symbols)?;
                        }
                        symbols.keep_parfor_results(before, results);
                    }
                    _ => {
                        // What measuring left behind is not for other iterations.
                        symbols.keep_parfor_results(before, results);
                        self.on_threads(parallel_loop, &degree, range, &mut gathered, symbols)
                            .map_err(at)?;
                    }
                }
                let report = degree.report(parallel_loop.label(), iterations);
                ParforReport {
                    location_reason: why.map(|why| why.to_string()),
                    ..report
                }
            }
            Place::OnWorkers { candidate, why } => {
                symbols.keep_parfor_results(before, results);
                let written = &candidate.written;
                let settled = gathered.settle_written(written, symbols, &self.context);
                settled.map_err(at)?;
                let report = self
                    .on_workers(parallel_loop, &candidate, &range, &mut gathered, symbols)
                    .map_err(at)?;
                ParforReport {
                    iterations,
                    iteration_bytes: history.bytes,
                    location_reason: Some(why.to_string()),
                    ..report
                }
            }
        };
        let merged = gathered.leave(symbols, &mut self.context).map_err(at)?;
        let report = ParforReport { merged, ..report };
        let seconds = started.elapsed().as_secs_f64() * report.degree as f64;
        history.seconds = Some(seconds / iterations.max(1) as f64);
        self.parfors.insert(address, history);
        self.context.recorder.lock().parfor(report);
        Ok(())
    }

    /// Decides where iterations run. Where the first one has to show what one takes, it is taken out of the range.
    fn place(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        history: &mut History,
        range: &mut Range,
        gathered: &mut Gathered,
        symbols: &mut SymbolTable,
    ) -> Result<Place> {
        let iterations = range.left();
        let outlook = self.outlook(parallel_loop, range, history, gathered, symbols)?;
        let facts = self.facts(parallel_loop, iterations, history, gathered, symbols);
        let plan = degree::decide(&facts);
        let workers = match &plan {
            Plan::Run(degree) => degree.workers,
            Plan::Measure => facts.threads,
        };
        let first = self.decision(&outlook, iterations, workers, history)?;
        let settled = match (&first, plan) {
            (Decision::Measure, _) | (Decision::Here(_), Plan::Measure) => None,
            (_, Plan::Run(degree)) => Some(degree),
            (Decision::OnWorkers(_), Plan::Measure) => Some(degree::known(&facts, 0)),
        };
        if let Some(degree) = settled {
            return Ok(outlook.place(first, degree));
        }
        let started = Instant::now();
        let measured = self.measured(parallel_loop, range, gathered, symbols)?;
        let seconds = started.elapsed().as_secs_f64();
        let bytes = match facts.bytes {
            Some(bytes) => bytes,
            None => {
                history.is_measured = true;
                *history.bytes.insert(measured)
            }
        };
        let left = range.left();
        let facts = Facts {
            bytes: Some(bytes),
            iterations: left,
            ..facts
        };
        let degree = degree::known(&facts, bytes);
        let decision = match first {
            Decision::Measure if left > 0 => {
                history.seconds.get_or_insert(seconds);
                self.decision(&outlook, left, degree.workers, history)?
            }
            Decision::Measure => Decision::Here(None),
            decided => decided,
        };
        Ok(outlook.place(decision, degree))
    }

    fn decision(
        &self,
        outlook: &Outlook,
        iterations: u64,
        workers: usize,
        history: &History,
    ) -> Result<Decision> {
        match outlook {
            Outlook::Here(why) => Ok(Decision::Here(why.clone())),
            Outlook::Possible(candidate) => {
                let facts = candidate.facts(iterations, history, workers, self)?;
                Ok(mode::decide(&facts))
            }
        }
    }

    /// An iteration on this interpreter's variables.
    fn iteration(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        value: i64,
        gathered: &mut Gathered,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let start = gathered.iterations_start();
        self.own_iteration(parallel_loop, value, &start, symbols)
            .and_then(|own| gathered.add(own, &self.context))
            .map_err(|error| error.at_option(parallel_loop.position))
    }

    /// The same, without gathering what it leaves.
    fn own_iteration(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        value: i64,
        start: &Start,
        symbols: &mut SymbolTable,
    ) -> Result<Own> {
        start.begin_iteration(symbols);
        let counter = Variable::Scalar(Literal::Int(value));
        symbols.set(parallel_loop.variable, counter);
        self.run(parallel_loop.body, symbols)?;
        start.end_iteration(symbols)
    }

    /// Runs the first iteration, and gives what it took.
    fn measured(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        range: &mut Range,
        gathered: &mut Gathered,
        symbols: &mut SymbolTable,
    ) -> Result<u64> {
        let before = symbols.clone();
        let outer = self.context.meter.start();
        if let Some(value) = range.next() {
            self.iteration(parallel_loop, value, gathered, symbols)?;
        }
        let held = symbols.bytes_besides(&before);
        let operators = self.context.meter.finish(outer);
        let left = gathered.bytes();
        Ok(held.saturating_add(operators).saturating_add(left))
    }

    fn facts(
        &self,
        parallel_loop: &ParallelLoop<'p>,
        iterations: u64,
        history: &mut History,
        gathered: &Gathered,
        symbols: &SymbolTable,
    ) -> Facts {
        let config = &self.context.session.config;
        let shared = symbols.bytes_besides(&SymbolTable::default());
        let mut available = config.memory_local.saturating_sub(shared);
        let mut bytes = history.bytes;
        let backend = self.context.session.backend.as_ref();
        if backend.is_some_and(|backend| backend.is_in_reach()) {
            let needs = self.needs(parallel_loop, history);
            let is_distributed =
                |name: &&String| symbols.find(name).is_some_and(Variable::is_distributed);
            let is_large = bytes.is_none_or(|bytes| bytes > available);
            history.asks_backend |= is_large
                || needs.files
                || gathered.keeps_parts()
                || needs.variables.iter().any(|name| is_distributed(&name));
            if gathered.keeps_parts() {
                available = available.saturating_sub(written::most_bytes(&self.context.session));
            }
            if history.asks_backend {
                // What operators on the workers send and bring back is here twice for a while.
                available /= 2;
                // An estimate does not know what the workers take over.
                bytes = bytes.filter(|bytes| history.is_measured || *bytes <= available);
            }
        }
        Facts {
            threads: self.context.threads.count(),
            iterations,
            cap: parallel_loop.parallel.degree,
            asks_backend: history.asks_backend,
            bytes,
            available,
            seconds: history.seconds,
        }
    }

    fn needs(&self, parallel_loop: &ParallelLoop<'p>, history: &mut History) -> Arc<Needs> {
        let needs = &mut history.needs;
        let needs =
            needs.get_or_insert_with(|| Arc::new(Needs::of(self.program, parallel_loop.body)));
        Arc::clone(needs)
    }
}
