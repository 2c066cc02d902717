//! Iterations on threads.
//!
//! Where they make jobs, the backend lets each thread call it for itself, so that jobs of several iterations run beside each
//! other. An iteration that fails ends those after it, and their jobs; those before it go on, since the first error in
//! the order of iterations is the loop's.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use fulgurite_dataflow::{Callers, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::memory::{self, StartingLine};
use fulgurite_operators::Threads;

use super::{
    ParallelLoop,
    degree::Degree,
    gathered::{Gathered, Own, Start},
    results,
};
use crate::{
    evaluated::Evaluated,
    interpreter::{context::Context, control::Interpreter, planner::Planner, range::Range},
    report::Recorder,
    symbols::SymbolTable,
};

/// Iterations that nobody has taken yet.
struct Waiting {
    range: Range,
    next: u64,
    /// An iteration failed: those after it need not begin. All before it have been taken.
    stopped: bool,
    /// What each thread runs.
    running: Vec<Option<u64>>,
}

/// What has come back, waiting for what comes before it.
struct Arriving<'s> {
    gathered: &'s mut Gathered,
    next: u64,
    early: BTreeMap<u64, Finished>,
}

struct Finished {
    thread: usize,
    lines: Vec<String>,
    ran: Result<Own>,
}

/// What the calling thread is told, in the order of iterations.
enum Message {
    Lines(Vec<String>),
    Failed { error: Error, thread: usize },
}

/// What all threads of a loop see.
struct Team<'s> {
    waiting: Mutex<Waiting>,
    arriving: Mutex<Arriving<'s>>,
    /// Of each thread, whether what it runs may end.
    abandoned: Vec<Arc<AtomicBool>>,
    /// Where iterations may call the backend.
    callers: Option<Box<dyn Callers>>,
}

/// What a thread has done when there are no more iterations.
struct Done {
    results: Result<BTreeMap<String, Variable>>,
    recorder: Recorder,
}

impl<'p> Interpreter<'p> {
    /// Runs what is left of the range on as many threads as the degree says, and leaves the results in `symbols`.
    pub(super) fn on_threads(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        degree: &Degree,
        range: Range,
        gathered: &mut Gathered,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let from = gathered.iterations_start();
        self.bring_results_here(parallel_loop, &from, symbols)?;
        let backend = self.context.session.backend.as_ref();
        let callers = match backend.filter(|_| degree.asks_backend) {
            Some(backend) => Some(backend.callers(degree.workers)?),
            None => None,
        };
        let mut seats = Vec::new();
        for _ in 0..degree.workers {
            seats.push(Threads::for_iterations(
                degree.threads_each,
                &self.context.threads,
            )?);
        }
        let team = Team {
            waiting: Mutex::new(Waiting {
                range,
                next: 0,
                stopped: false,
                running: vec![None; degree.workers],
            }),
            arriving: Mutex::new(Arriving {
                gathered,
                next: 0,
                early: BTreeMap::new(),
            }),
            abandoned: seats.iter().map(|_| Arc::default()).collect(),
            callers,
        };
        let (sender, receiver) = channel();
        let start = &*symbols;
        let line = StartingLine::default();
        let (ran, done) = thread::scope(|scope| {
            let held = line.hold();
            let mut threads = Vec::new();
            let mut started = Ok(());
            for (number, seat) in seats.into_iter().enumerate() {
                let in_reach = team.callers.is_some();
                let abandoned = &team.abandoned[number];
                let worker = Worker {
                    number,
                    program: self.program,
                    planner: self.planner.of_iterations(),
                    evaluated: self.evaluated,
                    context: self.context.for_iterations(seat, in_reach, abandoned),
                    symbols: start.clone(),
                    start: Arc::clone(&from),
                    messages: sender.clone(),
                };
                let (team, line) = (&team, &line);
                let thread = memory::start_thread(None, |begun| {
                    thread::Builder::new().spawn_scoped(scope, move || {
                        begun.tell();
                        line.wait();
                        worker.run(parallel_loop, team)
                    })
                });
                match thread {
                    Ok(thread) => threads.push(thread),
                    Err(error) => {
                        team.stop_after(None);
                        started = Err(error);
                        break;
                    }
                }
            }
            drop(held);
            // Once the threads have dropped theirs, there are no more messages.
            drop(sender);
            let listened = self.listen(receiver, &team);
            let ran = started.and(listened);
            let done: Vec<Done> = threads
                .into_iter()
                .map(|thread| {
                    thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                })
                .collect();
            (ran, done)
        });
        let mut copies: BTreeMap<String, Vec<Variable>> = BTreeMap::new();
        let mut ran = ran;
        for (thread, one) in done.into_iter().enumerate() {
            self.context.recorder.lock().absorb(one.recorder);
            match one.results {
                Ok(results) => {
                    for (name, copy) in results {
                        copies.entry(name).or_default().push(copy);
                    }
                }
                Err(error) if ran.is_ok() => {
                    team.ends_with_error_of(thread);
                    ran = Err(error);
                }
                Err(_) => {}
            }
        }
        drop(team);
        ran?;
        for (name, copies) in copies {
            let merged = match symbols.find(&name) {
                Some(Variable::Matrix(original)) => {
                    let copies = copies
                        .into_iter()
                        .filter_map(Variable::into_matrix)
                        .collect();
                    let threads = &self.context.threads;
                    Variable::Matrix(threads.run(|| results::merged(&name, original, copies))?)
                }
                Some(Variable::List(original)) => {
                    Variable::List(results::merged_list(&name, original, &copies)?)
                }
                Some(Variable::Frame(original)) => {
                    Variable::Frame(results::merged_frame(&name, original, &copies)?)
                }
                _ => continue,
            };
            symbols.set(name, merged);
        }
        Ok(())
    }

    /// Results that the first iteration left on the workers, of matrices that were here.
    fn bring_results_here(
        &self,
        parallel_loop: &ParallelLoop<'p>,
        start: &Start,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let results = parallel_loop.parallel.results.iter();
        for name in results.filter(|name| !start.keeps_parts_of(name)) {
            if let Some(Variable::Distributed(matrix)) = symbols.find(name) {
                let here = Variable::Matrix(matrix.collect()?);
                symbols.set(name, here);
            }
        }
        Ok(())
    }

    /// Prints what iterations print, on the thread that the host called.
    fn listen(&self, messages: Receiver<Message>, team: &Team) -> Result<()> {
        let mut ran = Ok(());
        for message in messages {
            let heard = match message {
                Message::Lines(lines) if ran.is_ok() => lines
                    .iter()
                    .try_for_each(|line| self.context.session.print(line)),
                Message::Lines(_) => Ok(()),
                Message::Failed { error, thread } => {
                    if ran.is_ok() {
                        team.ends_with_error_of(thread);
                    }
                    Err(error)
                }
            };
            if let Err(error) = heard {
                team.stop_after(None);
                ran = ran.and(Err(error));
            }
        }
        ran
    }
}

impl Team<'_> {
    fn take(&self, thread: usize) -> Option<(u64, i64)> {
        let mut waiting = lock(&self.waiting);
        if waiting.stopped {
            return None;
        }
        let value = waiting.range.next()?;
        let number = waiting.next;
        waiting.next += 1;
        waiting.running[thread] = Some(number);
        Some((number, value))
    }

    fn ends_with_error_of(&self, thread: usize) {
        if let Some(callers) = &self.callers {
            callers.failed(thread);
        }
    }

    fn is_stopped(&self) -> bool {
        lock(&self.waiting).stopped
    }

    /// No iteration begins any more, and those after this one end: all of them, if none is named.
    fn stop_after(&self, number: Option<u64>) {
        let mut waiting = lock(&self.waiting);
        waiting.stopped = true;
        let running = waiting.running.iter().enumerate();
        let later: Vec<usize> = running
            .filter(|(_, running)| **running > number)
            .map(|(thread, _)| thread)
            .collect();
        drop(waiting);
        for thread in later {
            if !self.abandoned[thread].swap(true, Ordering::Relaxed)
                && let Some(callers) = &self.callers
            {
                callers.cancel(thread);
            }
        }
    }

    /// Hands in an iteration, and with it those that waited for it.
    fn finish(
        &self,
        number: u64,
        finished: Finished,
        context: &Context,
        messages: &Sender<Message>,
    ) {
        let own_thread = finished.thread;
        lock(&self.waiting).running[own_thread] = None;
        if finished.ran.is_err() {
            self.stop_after(Some(number));
        }
        let mut arriving = lock(&self.arriving);
        let arriving = &mut *arriving;
        arriving.early.insert(number, finished);
        while let Some(Finished { thread, lines, ran }) = arriving.early.remove(&arriving.next) {
            let number = arriving.next;
            arriving.next += 1;
            let told = match lines.is_empty() {
                true => Ok(()),
                false => messages.send(Message::Lines(lines)),
            };
            let added = ran.map_err(|error| (error, thread)).and_then(|own| {
                let added = arriving.gathered.add(own, context);
                added.map_err(|error| (error, own_thread))
            });
            if let Err((error, thread)) = added {
                // Nothing that comes after it counts.
                arriving.next = u64::MAX;
                self.stop_after(Some(number));
                let _ = messages.send(Message::Failed { error, thread });
            }
            if told.is_err() {
                // Nobody listens any more.
                return;
            }
        }
    }
}

struct Worker<'p> {
    number: usize,
    program: &'p fulgurite_hop::Program,
    planner: Planner,
    evaluated: Option<&'p Evaluated>,
    context: Context,
    symbols: SymbolTable,
    /// What each iteration starts from.
    start: Arc<Start>,
    messages: Sender<Message>,
}

impl<'p> Worker<'p> {
    fn run(self, parallel_loop: &ParallelLoop<'p>, team: &Team) -> Done {
        let threads = &self.context.threads;
        let (pool, interrupt) = (threads.pool(), threads.interrupt());
        pool.install(|| interrupt.within(|| self.iterations(parallel_loop, team)))
    }

    fn iterations(self, parallel_loop: &ParallelLoop<'p>, team: &Team) -> Done {
        // The last to go: what else is dropped here may have to be released by the backend.
        let callers = team.callers.as_ref();
        let _entered = callers.map(|callers| callers.enter(self.number));
        let Worker {
            number: thread,
            program,
            planner,
            evaluated,
            mut context,
            mut symbols,
            start,
            messages,
        } = self;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        context.session = context.session.with_print(Arc::new(move |line| {
            lock(&sink).push(line.to_owned());
            Ok(())
        }));
        let mut interpreter = Interpreter::with_planner(program, context, planner, evaluated);
        while let Some((number, value)) = team.take(thread) {
            let ran = interpreter.own_iteration(parallel_loop, value, &start, &mut symbols);
            let lines = std::mem::take(&mut *lock(&lines));
            let finished = Finished { thread, lines, ran };
            team.finish(number, finished, &interpreter.context, &messages);
        }
        let mut results = Ok(BTreeMap::new());
        let names = parallel_loop.parallel.results.iter();
        for name in names.filter(|name| !start.keeps_parts_of(name)) {
            let own = match symbols.take(name) {
                Ok(own @ (Variable::Matrix(_) | Variable::List(_) | Variable::Frame(_))) => Ok(own),
                Ok(Variable::Distributed(matrix)) if !team.is_stopped() => {
                    matrix.collect().map(Variable::Matrix)
                }
                _ => continue,
            };
            results = results.and_then(|mut results: BTreeMap<_, _>| {
                results.insert(name.clone(), own?);
                Ok(results)
            });
        }
        Done {
            results,
            recorder: interpreter.context.recorder.take(),
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
