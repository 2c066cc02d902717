//! `parfor`: iterations on threads, each with variables of its own.
//!
//! - [`degree`] decides how many iterations run at a time, and says why.
//! - [`team`] runs them: which thread takes which iteration is left to chance, what is seen of them is not. Lines are
//!   printed and sums are added in the order of iterations, and the first error in that order is the loop's.
//! - [`results`] is what the loop leaves: matrices of which iterations wrote parts, and sums.
//!
//! What iterations share: the program, plans of blocks, compiled operators, the configuration, and matrices from before
//! the loop. What each thread has: variables, its place in the program, what it reports. Operators in an iteration have
//! the thread for themselves, but cut their work as if they had all threads, so that sums have the same bits however many
//! iterations run at a time.
//!
//! Iterations may not call the host, which wants its own thread: a loop that may need the workers runs one iteration
//! after the other.

mod degree;
mod results;
mod team;

use std::time::Instant;

use fulgurite_error::{Position, Result};
use fulgurite_hop::{Block, HopOp, Literal, Parallel, Program, iteration_bytes, walk};

use self::{
    degree::{Facts, Plan},
    results::{Sums, SumsOfIteration},
};
use super::{Interpreter, SymbolTable, Variable, range::Range};
use crate::Session;

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
        match self.position {
            Some(position) => format!(
                "parfor {} {}:{}",
                self.variable, position.source.name, position.line
            ),
            None => format!("parfor {}", self.variable),
        }
    }
}

/// What is known of a loop that ran before.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct History {
    /// Of one iteration on one thread.
    seconds: Option<f64>,
    /// What an iteration takes, estimated or measured.
    bytes: Option<u64>,
}

/// How many iterations would run at a time, as far as that is known before a run.
pub(crate) fn expected_degree(
    program: &Program,
    body: &[Block],
    parallel: &Parallel,
    session: &Session,
) -> String {
    let bytes = iteration_bytes(program, body);
    let available = session.config.memory_local;
    let is_large = bytes.is_none_or(|bytes| bytes > available);
    let facts = Facts {
        threads: session.config.effective_threads(),
        iterations: u64::MAX,
        cap: parallel.degree,
        needs_host: session.backend.is_some() && (is_large || uses_files(program, body)),
        bytes,
        available,
        seconds: None,
    };
    match degree::decide(&facts) {
        Plan::Run(degree) => degree.report(String::new(), facts.iterations).degree(),
        Plan::Measure => "as the first iteration shows".to_owned(),
    }
}

/// Whether files are read or written, which the workers may do.
fn uses_files(program: &Program, body: &[Block]) -> bool {
    let mut found = false;
    let mut look = |block: &Block| {
        let is_file =
            |op: &HopOp| matches!(op, HopOp::PersistentRead(_) | HopOp::PersistentWrite(_));
        if let Block::Basic { dag } = block {
            found |= dag.iter().any(|(_, hop)| is_file(&hop.op));
        }
    };
    walk(body, &mut look);
    // Whichever function is called.
    for function in program.functions.values() {
        walk(&function.body, &mut look);
    }
    found
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
            Some(history) => *history,
            None => History {
                seconds: None,
                bytes: iteration_bytes(self.program, parallel_loop.body),
            },
        };
        let iterations = range.left();
        let before = symbols.clone();
        let mut sums = Sums::start(&parallel_loop.parallel.accumulated, symbols);
        let started = Instant::now();
        let facts = self.facts(parallel_loop, iterations, history, symbols);
        let degree = match degree::decide(&facts) {
            Plan::Run(degree) => degree,
            Plan::Measure => {
                let bytes = self.measured(parallel_loop, &mut range, &mut sums, symbols)?;
                history.bytes = Some(bytes);
                let facts = Facts {
                    bytes: Some(bytes),
                    iterations: iterations.saturating_sub(1),
                    ..facts
                };
                degree::within_memory(&facts, bytes)
            }
        };
        match degree.workers {
            1 => {
                for value in range {
                    self.iteration(parallel_loop, value, &mut sums, symbols)?;
                }
                symbols.keep_parfor_results(before, &parallel_loop.parallel.results);
            }
            _ => {
                // What measuring left behind is not for other iterations.
                symbols.keep_parfor_results(before, &parallel_loop.parallel.results);
                self.on_threads(parallel_loop, &degree, range, &mut sums, symbols)
                    .map_err(|error| error.at_option(parallel_loop.position))?;
            }
        }
        sums.leave(symbols);
        let seconds = started.elapsed().as_secs_f64() * degree.workers as f64;
        history.seconds = Some(seconds / iterations.max(1) as f64);
        self.parfors.insert(address, history);
        let recorder = &mut self.context.recorder;
        recorder.parfor(degree.report(parallel_loop.label(), iterations));
        Ok(())
    }

    /// An iteration on this interpreter's variables.
    fn iteration(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        value: i64,
        sums: &mut Sums,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let own = self.own_iteration(parallel_loop, value, sums, symbols)?;
        self.context.threads.run(|| sums.add(own))
    }

    /// The same, without adding its sums to the others.
    fn own_iteration(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        value: i64,
        sums: &Sums,
        symbols: &mut SymbolTable,
    ) -> Result<SumsOfIteration> {
        sums.begin_iteration(symbols)?;
        let counter = Variable::Scalar(Literal::Int(value));
        symbols.set(parallel_loop.variable, counter);
        self.run(parallel_loop.body, symbols)?;
        sums.end_iteration(symbols)
    }

    /// Runs the first iteration, and gives what it took.
    fn measured(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        range: &mut Range,
        sums: &mut Sums,
        symbols: &mut SymbolTable,
    ) -> Result<u64> {
        let before = symbols.clone();
        let outer = self.context.meter.start();
        if let Some(value) = range.next() {
            self.iteration(parallel_loop, value, sums, symbols)?;
        }
        let held = symbols.bytes_besides(&before);
        let operators = self.context.meter.finish(outer);
        Ok(held.saturating_add(operators).saturating_add(sums.bytes()))
    }

    fn facts(
        &self,
        parallel_loop: &ParallelLoop<'p>,
        iterations: u64,
        history: History,
        symbols: &SymbolTable,
    ) -> Facts {
        let config = &self.context.session.config;
        let shared = symbols.bytes_besides(&SymbolTable::default());
        let available = config.memory_local.saturating_sub(shared);
        let needs_host = self.context.session.backend.is_some()
            && (symbols.has_distributed()
                || uses_files(self.program, parallel_loop.body)
                || history.bytes.is_none_or(|bytes| bytes > available));
        Facts {
            threads: self.context.threads.count(),
            iterations,
            cap: parallel_loop.parallel.degree,
            needs_host,
            bytes: history.bytes,
            available,
            seconds: history.seconds,
        }
    }
}
