//! Iterations on threads.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use fulgurite_error::{Error, Result};

use super::{
    ParallelLoop,
    degree::Degree,
    results::{self, Sums, SumsOfIteration},
};
use crate::{
    interpreter::{
        Context, Interpreter, LocalMatrix, SymbolTable, Threads, Variable, planner::Planner,
        range::Range,
    },
    report::Recorder,
};

/// Iterations that nobody has taken yet.
struct Waiting {
    range: Range,
    next: u64,
    /// An iteration failed: those after it need not begin. All before it have been taken.
    stopped: bool,
}

/// What has come back, waiting for what comes before it.
struct Arriving<'s> {
    sums: &'s mut Sums,
    next: u64,
    early: BTreeMap<u64, Finished>,
}

struct Finished {
    lines: Vec<String>,
    ran: Result<SumsOfIteration>,
}

/// What the calling thread is told, in the order of iterations.
enum Message {
    Lines(Vec<String>),
    Failed(Error),
}

/// What all threads of a loop see.
struct Team<'s> {
    waiting: Mutex<Waiting>,
    arriving: Mutex<Arriving<'s>>,
}

/// What a thread has done when there are no more iterations.
struct Done {
    results: BTreeMap<String, LocalMatrix>,
    recorder: Recorder,
}

impl<'p> Interpreter<'p> {
    /// Runs what is left of the range on as many threads as the degree says, and leaves the results in `symbols`.
    pub(super) fn on_threads(
        &mut self,
        parallel_loop: &ParallelLoop<'p>,
        degree: &Degree,
        range: Range,
        sums: &mut Sums,
        symbols: &mut SymbolTable,
    ) -> Result<()> {
        let mut seats = Vec::with_capacity(degree.workers);
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
            }),
            arriving: Mutex::new(Arriving {
                sums,
                next: 0,
                early: BTreeMap::new(),
            }),
        };
        let (sender, receiver) = channel();
        let start = &*symbols;
        let (ran, done) = thread::scope(|scope| {
            let threads: Vec<_> = seats
                .into_iter()
                .map(|seat| {
                    let worker = Worker {
                        program: self.program,
                        planner: self.planner.of_iterations(),
                        context: self.context.for_iterations(seat),
                        symbols: start.clone(),
                        messages: sender.clone(),
                    };
                    let team = &team;
                    scope.spawn(move || worker.run(parallel_loop, team))
                })
                .collect();
            // Once the threads have dropped theirs, there are no more messages.
            drop(sender);
            let ran = self.listen(receiver, &team);
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
        let mut copies: BTreeMap<String, Vec<LocalMatrix>> = BTreeMap::new();
        for one in done {
            self.context.recorder.absorb(one.recorder);
            for (name, copy) in one.results {
                copies.entry(name).or_default().push(copy);
            }
        }
        ran?;
        for (name, copies) in copies {
            let Some(Variable::Matrix(original)) = symbols.find(&name).cloned() else {
                continue;
            };
            let threads = &self.context.threads;
            let merged = threads.run(|| results::merged(&name, &original, copies))?;
            symbols.set(name, Variable::Matrix(merged));
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
                Message::Failed(error) => Err(error),
            };
            if let Err(error) = heard {
                team.stop();
                ran = ran.and(Err(error));
            }
        }
        ran
    }
}

impl Team<'_> {
    fn take(&self) -> Option<(u64, i64)> {
        let mut waiting = lock(&self.waiting);
        if waiting.stopped {
            return None;
        }
        let value = waiting.range.next()?;
        let number = waiting.next;
        waiting.next += 1;
        Some((number, value))
    }

    fn stop(&self) {
        lock(&self.waiting).stopped = true;
    }

    /// Hands in an iteration, and with it those that waited for it.
    fn finish(&self, number: u64, finished: Finished, messages: &Sender<Message>) {
        if finished.ran.is_err() {
            self.stop();
        }
        let mut arriving = lock(&self.arriving);
        let arriving = &mut *arriving;
        arriving.early.insert(number, finished);
        while let Some(Finished { lines, ran }) = arriving.early.remove(&arriving.next) {
            arriving.next += 1;
            let told = match lines.is_empty() {
                true => Ok(()),
                false => messages.send(Message::Lines(lines)),
            };
            let added = ran.and_then(|own| arriving.sums.add(own));
            if let Err(error) = added {
                // Nothing that comes after it counts.
                arriving.next = u64::MAX;
                self.stop();
                let _ = messages.send(Message::Failed(error));
            }
            if told.is_err() {
                // Nobody listens any more.
                return;
            }
        }
    }
}

struct Worker<'p> {
    program: &'p fulgurite_hop::Program,
    planner: Planner,
    context: Context,
    symbols: SymbolTable,
    messages: Sender<Message>,
}

impl<'p> Worker<'p> {
    fn run(self, parallel_loop: &ParallelLoop<'p>, team: &Team) -> Done {
        let pool = self.context.threads.pool();
        pool.install(|| self.iterations(parallel_loop, team))
    }

    fn iterations(self, parallel_loop: &ParallelLoop<'p>, team: &Team) -> Done {
        let Worker {
            program,
            planner,
            mut context,
            mut symbols,
            messages,
        } = self;
        let lines = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&lines);
        context.session = context.session.with_print(Arc::new(move |line| {
            lock(&sink).push(line.to_owned());
            Ok(())
        }));
        let zeros = Sums::start(&parallel_loop.parallel.accumulated, &symbols);
        let mut interpreter = Interpreter::with_planner(program, context, planner);
        while let Some((number, value)) = team.take() {
            let ran = interpreter.own_iteration(parallel_loop, value, &zeros, &mut symbols);
            let lines = std::mem::take(&mut *lock(&lines));
            team.finish(number, Finished { lines, ran }, &messages);
        }
        let mut results = BTreeMap::new();
        for name in &parallel_loop.parallel.results {
            if let Ok(Variable::Matrix(matrix)) = symbols.take(name) {
                results.insert(name.clone(), matrix);
            }
        }
        Done {
            results,
            recorder: interpreter.context.recorder,
        }
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
