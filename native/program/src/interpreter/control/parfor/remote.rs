//! A loop as one job: what tasks on the workers get, and what becomes of what they give.
//!
//! Each task runs a range of iterations ([`super::range_task`]). What is seen of them is what is seen of iterations one
//! after the other: lines and sums come in their order, the first error in this order is the loop's, and results have the
//! cells that iterations changed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Instant,
};

use fulgurite_dataflow::{
    Capacity, LocalMatrix, OnBehalf, ParforReport, Part, Primitive, RangePart, RangeResult,
    RemoteLoop, Variable, incomplete,
};
use fulgurite_distributed::dense_bytes;
use fulgurite_error::{Error, Position, Result, Source};
use fulgurite_fusion::machine::Constant;
use fulgurite_hop::{Block, Literal, Parallel, ParforMode, Program, walk};

use super::{
    History, ParallelLoop, Place,
    degree::Degree,
    gathered::{Gathered, Own, Shapes},
    mode::{By, Decision, Facts, Why},
    needs::Needs,
    results::{self, Change},
    slices,
    slicing::Sliced,
};
use crate::{
    interpreter::{context::Context, control::Interpreter, range::Range, written},
    session::Session,
    symbols::SymbolTable,
};

/// Ranges for each task that runs at a time: who is done early takes another one.
const RANGES_FOR_EACH_TASK: u64 = 3;

/// Blocks in each other, of which each takes three levels of JSON; parsers stop at 128.
const DEEPEST: usize = 32;

/// Whether there is a choice.
pub(super) enum Outlook {
    /// Because there is a reason, or nobody asked for workers and there are none.
    Here(Option<Why>),
    Possible(Box<Candidate>),
}

impl Outlook {
    /// The place that was decided on, with the degree that iterations have here.
    pub(super) fn place(self, decision: Decision, degree: Degree) -> Place {
        match (self, decision) {
            (Outlook::Possible(candidate), Decision::OnWorkers(why)) => {
                Place::OnWorkers { candidate, why }
            }
            (_, Decision::Here(why)) => Place::Here { degree, why },
            // Nothing is left open once the first iteration has run.
            (_, Decision::OnWorkers(_) | Decision::Measure) => Place::Here { degree, why: None },
        }
    }
}

/// A loop that tasks could run.
pub(super) struct Candidate {
    asked: Option<(ParforMode, By)>,
    backend: String,
    capacity: Capacity,
    needs: Arc<Needs>,
    /// The distributed matrix of which each iteration reads a slice.
    sliced: Option<Sliced>,
    /// What the matrices that iterations use take.
    bytes: u64,
    /// Matrices of which iterations only write parts, which come back and are put into them wherever they are.
    pub(super) written: Shapes,
    /// What all of the parts take at most: no two iterations write the same cell.
    written_bytes: u64,
    /// One after the other, so that the parts that each gives fit here.
    jobs: u64,
}

/// The values that iterations use.
#[derive(Default)]
struct Used {
    matrices: Vec<(String, LocalMatrix)>,
    scalars: BTreeMap<String, Literal>,
}

impl Candidate {
    /// What tasks run.
    fn program(&self, program: &Program, body: &[Block]) -> Result<Program> {
        let program = self.needs.program(program, body);
        match &self.sliced {
            Some(sliced) => slices::of_stripe(program, &sliced.name, sliced.size, &sliced.slice),
            None => Ok(program),
        }
    }

    /// For this many iterations, which would run on so many threads here.
    pub(super) fn facts(
        &self,
        iterations: u64,
        history: &History,
        workers: usize,
        interpreter: &Interpreter,
    ) -> Result<Facts> {
        let session = &interpreter.context.session;
        let speed = session.cost_constants(self.bytes)?[Constant::Broadcast];
        Ok(Facts {
            asked: self.asked,
            capacity: self.capacity,
            iterations,
            bytes: history.bytes,
            seconds: history.seconds,
            workers,
            threads: interpreter.context.threads.count(),
            slices: match &self.sliced {
                Some(sliced) => Some(sliced.read(session)?),
                None => None,
            },
            sending_seconds: (self.bytes.saturating_add(self.written_bytes)) as f64 / (speed * 1e9),
            jobs: self.jobs,
        })
    }
}

/// Where the script, else the configuration, asks iterations to run.
pub(super) fn asked(parallel: &Parallel, session: &Session) -> Option<(ParforMode, By)> {
    let by_script = parallel.mode.map(|mode| (mode, By::Script));
    let configured = session.config.parfor_mode;
    by_script.or(configured.map(|mode| (mode, By::Configuration)))
}

impl<'p> Interpreter<'p> {
    /// Whether the loop could run on the workers, and what it would take there.
    pub(super) fn outlook(
        &self,
        parallel_loop: &ParallelLoop<'p>,
        range: &Range,
        history: &mut History,
        gathered: &Gathered,
        symbols: &SymbolTable,
    ) -> Result<Outlook> {
        let session = &self.context.session;
        let asked = asked(parallel_loop.parallel, session);
        let backend = match &session.backend {
            Some(backend) if backend.is_in_reach() => backend,
            Some(_) => return Ok(Outlook::Here(None)),
            None => {
                let wanted = matches!(asked, Some((ParforMode::Remote, _)));
                return Ok(Outlook::Here(wanted.then_some(Why::NoWorkers)));
            }
        };
        let iterations = range.left();
        if iterations == 0 {
            return Ok(Outlook::Here(None));
        }
        let here = |why| Ok(Outlook::Here(Some(why)));
        if let Some((ParforMode::Local, by)) = asked {
            return here(Why::Asked(by));
        }
        let _on_behalf = OnBehalf::of(parallel_loop.label().into());
        let reply = backend.apply(&Primitive::Capacity, None)?;
        let capacity = reply.capacity.ok_or_else(|| incomplete("capacity"))?;
        if asked.is_none() && capacity.is_here && !symbols.has_distributed() {
            return here(Why::SameCores);
        }
        let needs = self.needs(parallel_loop, history);
        if needs.evaluates {
            return here(Why::Evaluates);
        }
        if needs.files {
            return here(Why::Files);
        }
        if needs.depth > DEEPEST {
            return here(Why::Nested);
        }
        let mut sliced = None;
        let mut bytes = 0u64;
        let mut result_bytes = 0u64;
        let mut written = Shapes::new();
        let start = gathered.iterations_start();
        for name in used(&needs, parallel_loop, gathered) {
            let variable = symbols.find(name);
            if needs.only_written.contains(name)
                && start.keeps_parts_of(name)
                && let Some(shape) = variable.and_then(shape_of_written)
            {
                written.insert(name.clone(), shape);
                continue;
            }
            match variable {
                Some(Variable::Written(_)) => return here(Why::Distributed(name.clone())),
                Some(Variable::List(_) | Variable::Frame(_)) => {
                    return here(Why::NoMatrix(name.clone()));
                }
                Some(Variable::Distributed(matrix)) => {
                    let on = (session, &capacity);
                    let found =
                        Sliced::of(parallel_loop, range, (name.as_str(), matrix), symbols, on);
                    let Some(found) = found.filter(|_| sliced.is_none()) else {
                        return here(Why::Distributed(name.clone()));
                    };
                    if found.is_written {
                        let shape = variable.and_then(shape_of_written);
                        let Some(shape) = shape.filter(|_| start.keeps_parts_of(name)) else {
                            return here(Why::Distributed(name.clone()));
                        };
                        written.insert(name.clone(), shape);
                    }
                    sliced = Some(found);
                }
                Some(Variable::Matrix(matrix)) => {
                    let own = matrix.block().memory_bytes() as u64;
                    if own > session.config.memory_broadcast {
                        return here(Why::Broadcast(name.clone()));
                    }
                    if parallel_loop.parallel.results.contains(name) {
                        let dense = dense_bytes(matrix.block());
                        result_bytes = result_bytes.saturating_add(dense);
                    }
                    bytes = bytes.saturating_add(own);
                }
                _ => {}
            }
        }
        if asked.is_none() && capacity.is_here && sliced.is_none() {
            return here(Why::SameCores);
        }
        let distributed = parallel_loop
            .parallel
            .accumulated
            .iter()
            .find(|name| symbols.find(name).is_some_and(Variable::is_distributed));
        if let Some(name) = distributed {
            return here(Why::Distributed(name.clone()));
        }
        let shapes = start.shapes_of_sums();
        let of_sums = shapes.values().map(|(rows, cols)| {
            let cells = (*rows as u64).saturating_mul(*cols as u64);
            cells.saturating_mul(8)
        });
        let of_sums = of_sums.fold(0, u64::saturating_add);
        let given = result_bytes.saturating_add(of_sums.saturating_mul(iterations));
        if let Some(available) = capacity.result_bytes.filter(|available| given > *available) {
            let bytes = given;
            return here(Why::Results { bytes, available });
        }
        let cells = written
            .values()
            .map(|(rows, cols)| *rows as u64 * *cols as u64);
        let written_bytes = cells.fold(0u64, |sum, cells| {
            sum.saturating_add(cells.saturating_mul(8))
        });
        let most = written::most_bytes(session).max(1);
        let most = capacity
            .result_bytes
            .map_or(most, |available| most.min(available.max(1)));
        Ok(Outlook::Possible(Box::new(Candidate {
            asked,
            backend: backend.name().to_owned(),
            capacity,
            needs,
            sliced,
            bytes,
            written,
            written_bytes,
            jobs: written_bytes.div_ceil(most).clamp(1, iterations),
        })))
    }

    /// Runs what is left of the range as one job, or as few as parts of results allow, and leaves the results in `symbols`.
    pub(super) fn on_workers(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        candidate: &Candidate,
        range: &Range,
        gathered: &mut Gathered,
        symbols: &mut SymbolTable,
    ) -> Result<ParforReport> {
        let label: Arc<str> = parallel_loop.label().into();
        let _on_behalf = OnBehalf::of(Arc::clone(&label));
        let started = Instant::now();
        let at_a_time = candidate.capacity.tasks.max(1);
        let most = match parallel_loop.parallel.degree {
            Some(cap) if cap < at_a_time => cap,
            _ => at_a_time.saturating_mul(RANGES_FOR_EACH_TASK),
        };
        let ranges_of_job = match candidate.sliced {
            Some(_) => 1,
            None => most,
        };
        let ranges = range.split(ranges_of_job.saturating_mul(candidate.jobs));
        let session = self.context.session.clone();
        let workers = session.workers()?;
        let (stripes, slices) = match &candidate.sliced {
            Some(sliced) => {
                let (mut stripes, slices) = sliced.stripes(&workers)?;
                if candidate.jobs > 1 {
                    // Each job reads them.
                    stripes.persist()?;
                }
                (Some(stripes), Some(slices))
            }
            None => (None, None),
        };
        let Used { matrices, scalars } = values(candidate, parallel_loop, gathered, symbols)?;
        let broadcasts = matrices
            .iter()
            .map(|(_, matrix)| workers.broadcast(matrix))
            .collect::<Result<Vec<_>>>()?;
        let cost = session.cost_constants(candidate.bytes)?;
        let results = parallel_loop.parallel.results.iter();
        let results = results.filter(|name| !candidate.written.contains_key(*name));
        let remote = RemoteLoop {
            program: candidate.program(self.program, parallel_loop.body)?,
            variable: parallel_loop.variable.to_owned(),
            results: results.cloned().collect(),
            written: candidate.written.clone(),
            sums: gathered.iterations_start().shapes_of_sums(),
            matrices: matrices.into_iter().map(|(name, _)| name).collect(),
            scalars,
            slices,
            config: session.config.of_iterations(&cost),
            backend: candidate.backend.clone(),
            threads: candidate.capacity.cores,
            cut_for: self.context.threads.cut_for(),
            label: label.to_string(),
        };
        let mut tasks = 0;
        for ranges in ranges.chunks(usize::try_from(ranges_of_job).unwrap_or(usize::MAX)) {
            let run = Primitive::RunIterations {
                input: stripes.as_ref().map(|stripes| stripes.dataset.id),
                broadcasts: broadcasts.iter().map(|broadcast| broadcast.id).collect(),
                of: Box::new(remote.clone()),
                ranges: ranges.to_vec(),
            };
            let given = workers.backend.apply(&run, None)?.ranges;
            if candidate.sliced.is_none() && given.len() != ranges.len() {
                return Err(incomplete("runIterations"));
            }
            tasks += given.len() as u64;
            self.take(given, gathered, symbols)?;
        }
        let degree = at_a_time.min(tasks);
        let report = ParforReport {
            label: label.to_string(),
            runs: 1,
            iterations: range.left(),
            degree: usize::try_from(degree).unwrap_or(usize::MAX),
            threads_each: candidate.capacity.cores,
            iteration_bytes: None,
            reason: match parallel_loop.parallel.degree {
                Some(cap) if cap <= degree => "as par= says",
                _ if candidate.sliced.is_some() => "as many as stripes and tasks of the workers",
                _ if degree < at_a_time => "as many as iterations",
                _ => "as many as tasks of the workers",
            }
            .to_owned(),
            location: candidate.backend.clone(),
            tasks,
            location_reason: None,
            merged: None,
        };
        let mut recorder = self.context.recorder.lock();
        recorder.operator(&label, true, started.elapsed(), None);
        Ok(report)
    }

    /// Prints, adds up and merges what tasks give, as if iterations had run in their order.
    fn take(
        &mut self,
        given: Vec<RangeResult>,
        gathered: &mut Gathered,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let mut taken = Taken::default();
        for range in given {
            let work = range.account.work.clone();
            self.context.recorder.lock().absorb_work(work);
            taken.add(range)?;
        }
        let failed = taken.gather(gathered, &self.context);
        let last = failed
            .as_ref()
            .map_or(u64::MAX, |(iteration, _)| *iteration);
        for line in taken.lines.range(..=last).flat_map(|(_, lines)| lines) {
            self.context.session.print(line)?;
        }
        if let Some((_, error)) = failed {
            return Err(error.with_sources(&sources(self.program)));
        }
        for (name, changes) in taken.changes {
            if let Some(Variable::Matrix(original)) = symbols.find(&name).cloned() {
                let threads = &self.context.threads;
                let merged = threads.run(|| results::with_changes(&name, &original, changes))?;
                symbols.set(name, Variable::Matrix(merged));
            }
        }
        Ok(())
    }
}

/// What the tasks of a loop gave, by iterations.
#[derive(Default)]
struct Taken {
    lines: BTreeMap<u64, Vec<String>>,
    /// The first iteration that failed.
    failed: Option<(u64, Error)>,
    /// What iterations leave in their order.
    own: BTreeMap<u64, Own>,
    changes: BTreeMap<String, Vec<Change>>,
}

impl Taken {
    fn add(&mut self, range: RangeResult) -> Result<()> {
        let RangeResult { account, blocks } = range;
        if account.parts.len() != blocks.len() {
            return Err(incomplete("runIterations"));
        }
        for (iteration, line) in account.lines {
            self.lines.entry(iteration).or_default().push(line);
        }
        if let Some((iteration, error)) = account.failed
            && self
                .failed
                .as_ref()
                .is_none_or(|(first, _)| iteration < *first)
        {
            self.failed = Some((iteration, error));
        }
        for (part, block) in account.parts.into_iter().zip(blocks) {
            match part {
                RangePart::Sum {
                    variable,
                    iteration,
                } => {
                    let own = self.own.entry(iteration).or_default();
                    own.add_sum(variable, block.matrix);
                }
                RangePart::Written {
                    variable,
                    iteration,
                } => {
                    let own = self.own.entry(iteration).or_default();
                    own.add_part(variable, Part::of(block));
                }
                RangePart::Changed { variable } => {
                    let changes = self.changes.entry(variable).or_default();
                    changes.push(Change::Part(block));
                }
                RangePart::Replaced { variable } => {
                    let changes = self.changes.entry(variable).or_default();
                    changes.push(Change::Replaced(block.matrix));
                }
            }
        }
        Ok(())
    }

    /// Gathers what iterations leave in their order. Gives the iteration at which the loop ends with an error.
    fn gather(&mut self, gathered: &mut Gathered, context: &Context) -> Option<(u64, Error)> {
        let failed = self.failed.take();
        let last = failed
            .as_ref()
            .map_or(u64::MAX, |(iteration, _)| *iteration);
        for (iteration, own) in std::mem::take(&mut self.own) {
            if iteration >= last {
                break;
            }
            if let Err(error) = gathered.add(own, context) {
                return Some((iteration, error));
            }
        }
        failed
    }
}

/// Names of the variables whose values iterations use, as they are before the loop.
fn used<'a>(
    needs: &'a Needs,
    parallel_loop: &ParallelLoop<'a>,
    gathered: &Gathered,
) -> BTreeSet<&'a String> {
    let shapes = gathered.iterations_start().shapes_of_sums();
    let names = needs
        .variables
        .iter()
        .chain(&parallel_loop.parallel.results);
    names.filter(|name| !shapes.contains_key(*name)).collect()
}

/// Rows and columns, where they are known and tasks can write into such a matrix.
fn shape_of_written(variable: &Variable) -> Option<(usize, usize)> {
    let known = variable.characteristics();
    let size = |size: Option<u64>| size.and_then(|size| usize::try_from(size).ok());
    let shape = size(known.rows).zip(size(known.cols));
    shape.filter(|(rows, cols)| i32::try_from(*cols).is_ok() && rows.checked_mul(*cols).is_some())
}

fn values(
    candidate: &Candidate,
    parallel_loop: &ParallelLoop,
    gathered: &Gathered,
    symbols: &SymbolTable,
) -> Result<Used> {
    let mut values = Used::default();
    for name in used(&candidate.needs, parallel_loop, gathered) {
        let is_cut = |sliced: &Sliced| sliced.name == *name;
        if candidate.sliced.as_ref().is_some_and(is_cut) || candidate.written.contains_key(name) {
            continue;
        }
        let matrix = match symbols.find(name) {
            Some(Variable::Scalar(value)) => {
                values.scalars.insert(name.clone(), value.clone());
                continue;
            }
            Some(Variable::Matrix(matrix)) => matrix.clone(),
            // What the first iteration left, of a matrix that was here.
            Some(Variable::Distributed(matrix)) => matrix.collect()?,
            Some(
                Variable::List(_) | Variable::Frame(_) | Variable::Written(_) | Variable::Range(_),
            )
            | None => continue,
        };
        values.matrices.push((name.clone(), matrix));
    }
    Ok(values)
}

/// The scripts that the program comes from, with their texts.
fn sources(program: &Program) -> Vec<Arc<Source>> {
    let mut sources: BTreeMap<String, Arc<Source>> = BTreeMap::new();
    let mut add = |position: Option<&Position>| {
        if let Some(Position { source, .. }) = position
            && !sources.contains_key(&source.name)
        {
            sources.insert(source.name.clone(), Arc::clone(source));
        }
    };
    let mut look = |block: &Block| {
        let predicates = block.predicates();
        let of_predicates = predicates.iter().map(|predicate| &predicate.dag);
        let own = match block {
            Block::Basic { dag } => Some(dag),
            _ => None,
        };
        for dag in own.into_iter().chain(of_predicates) {
            for (_, hop) in dag.iter() {
                add(hop.position.as_ref());
            }
        }
        add(match block {
            Block::Basic { .. } => None,
            Block::If { position, .. }
            | Block::While { position, .. }
            | Block::For { position, .. }
            | Block::Call { position, .. } => position.as_ref(),
        });
    };
    walk(&program.body, &mut look);
    for function in program.functions.values() {
        walk(&function.body, &mut look);
    }
    sources.into_values().collect()
}
