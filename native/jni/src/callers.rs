//! Threads of the JVM that call `Host` for iterations of a `parfor`.
//!
//! Worker threads are not attached to the JVM. Each that runs iterations has a thread of the JVM's instead, which `Host`
//! starts and which waits in `Native.serve` for what it is to call: it has the class loader and whatever else Java gives
//! threads, and ends when the loop is over.

use std::{
    any::Any,
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, Sender, channel},
    },
    thread,
};

use fulgurite_dataflow::Callers;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::memory;
use jni::sys::{jint, jlong};

use crate::host::{Ask, Caller, JvmHost, Shared};

/// What threads of the JVM wait for that have not come yet, by the number that they come with.
static EXPECTED: Mutex<Expected> = Mutex::new(Expected {
    last: 0,
    asks: BTreeMap::new(),
});

struct Expected {
    last: jlong,
    asks: BTreeMap<(jlong, usize), Receiver<Ask>>,
}

/// The callers of a loop.
pub(crate) struct JvmCallers {
    host: Arc<Shared>,
    handle: jlong,
    callers: Vec<Arc<Caller>>,
}

impl JvmCallers {
    pub fn open(host: &Arc<Shared>, threads: usize) -> Result<Self> {
        let count = jint::try_from(threads)
            .map_err(|_| Error::internal(format!("{threads} threads call Host")))?;
        let (asks, waiting): (Vec<_>, Vec<_>) = (0..threads).map(|_| channel()).unzip();
        let handle = expect(waiting);
        let caller = |asks| {
            Arc::new(Caller {
                host: Arc::clone(host),
                asks,
                thrown: Arc::default(),
            })
        };
        // From here on, what nobody has come for goes when this does.
        let callers = JvmCallers {
            host: Arc::clone(host),
            handle,
            callers: asks.into_iter().map(caller).collect(),
        };
        JvmHost::from(host).call("serve", move |env, host| host.serve(env, handle, count))?;
        Ok(callers)
    }
}

impl Callers for JvmCallers {
    fn enter(&self, number: usize) -> Box<dyn Any> {
        Box::new(Arc::clone(&self.callers[number]).enter())
    }

    fn cancel(&self, number: usize) {
        let handle = self.handle;
        let number = jint::try_from(number).unwrap_or(jint::MAX);
        let host = JvmHost::from(&self.host);
        let cancelled = host.call("cancel", move |env, host| host.cancel(env, handle, number));
        if let Err(error) = cancelled {
            tracing::warn!(%error, "jobs of iterations that nobody wants go on");
        }
    }

    fn failed(&self, number: usize) {
        if let Some(exception) = self.callers[number].thrown.take() {
            JvmHost::from(&self.host).thrown_here(exception);
        }
    }
}

impl Drop for JvmCallers {
    fn drop(&mut self) {
        for number in 0..self.callers.len() {
            drop(come_for(self.handle, number));
        }
    }
}

/// What the thread of a request has of the stack, as much as passes over programs ask for; it grows where calls are many. The thread
/// that called us has a megabyte, and may not call Java from any other stack.
const STACK_BYTES: usize = 32 << 20;

/// What a thread of requests does. It calls the function when it is about to be done, so that the next request finds it.
type Job = Box<dyn FnOnce(&dyn Fn()) + Send>;

/// Threads of requests that wait for the next one: they keep their pools of threads for operators.
static IDLE: Mutex<Vec<Sender<Job>>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<Sender<Job>>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a request on a native thread, for which the calling thread, which is the JVM's, calls `Host`.
///
/// # Errors
/// `memory`, where there is no room for a thread.
pub(crate) fn on_native_thread<T: Send + 'static>(
    host: &JvmHost,
    request: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let (asks, asked) = channel();
    let (answer, answered) = channel();
    let caller = Arc::new(host.caller(asks));
    let job: Job = Box::new(move |ready| {
        let entered = caller.enter();
        let done = catch_unwind(AssertUnwindSafe(request));
        ready();
        // The calling thread waits for asks until this is gone.
        drop(entered);
        let _ = answer.send(done);
    });
    match idle().pop() {
        Some(thread) => thread
            .send(job)
            .map_err(|_| Error::internal("a thread of requests has ended"))?,
        None => start_thread(job)?,
    }
    while let Ok(ask) = asked.recv() {
        ask();
    }
    match answered.recv() {
        Ok(done) => Ok(done.unwrap_or_else(|panic| resume_unwind(panic))),
        Err(_) => Err(Error::internal("a thread of requests has ended")),
    }
}

fn start_thread(first: Job) -> Result<()> {
    let (sender, jobs) = channel::<Job>();
    let started = memory::start_thread(Some(STACK_BYTES), |begun| {
        let thread = thread::Builder::new().name("fulgurite".into());
        thread.stack_size(STACK_BYTES).spawn(move || {
            begun.tell();
            let ready = || idle().push(sender.clone());
            first(&ready);
            for job in jobs {
                job(&ready);
            }
        })
    });
    started.map(drop)
}

/// What a thread of the JVM does until the loop is over.
///
/// # Errors
/// `argument`, where no loop expects it.
pub(crate) fn serve(handle: jlong, number: jint) -> Result<()> {
    let expected = usize::try_from(number).ok();
    let asks = expected.and_then(|number| come_for(handle, number));
    let asks = asks.ok_or_else(|| {
        Error::argument(format!(
            "no loop expects a thread {number} of the callers {handle}"
        ))
        .with_help("call Native.serve with what Host.serve was called with, once for each thread")
    })?;
    while let Ok(ask) = asks.recv() {
        ask();
    }
    Ok(())
}

fn expect(waiting: Vec<Receiver<Ask>>) -> jlong {
    let mut expected = expected();
    expected.last += 1;
    let handle = expected.last;
    for (number, asked) in waiting.into_iter().enumerate() {
        expected.asks.insert((handle, number), asked);
    }
    handle
}

fn come_for(handle: jlong, number: usize) -> Option<Receiver<Ask>> {
    expected().asks.remove(&(handle, number))
}

fn expected() -> MutexGuard<'static, Expected> {
    EXPECTED.lock().unwrap_or_else(PoisonError::into_inner)
}
