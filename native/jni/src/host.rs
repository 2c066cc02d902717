//! Calls of `Host`, each on a thread that may call Java.
//!
//! Java is called on the thread that called us and, for iterations of a `parfor` that make jobs, on threads of the JVM that
//! `Host` starts for them ([`crate::callers`]). Worker threads are not attached to the JVM: attached ones would keep it from
//! exiting, and have neither the class loader nor the local properties that Spark's jobs need.

use std::{
    cell::RefCell,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Sender, channel},
    },
    thread::{self, ThreadId},
};

use fulgurite_error::{Error, ErrorKind, Result};
use fulgurite_operators::panics;
use jni::{Env, JavaVM, objects::JThrowable, refs::Global};

use crate::{failure::Failure, java::Host};

/// Local references that one callback makes.
const LOCAL_REFERENCES: usize = 8;

pub(crate) struct JvmHost(Arc<Shared>);

/// What all threads that call for one request share.
pub(crate) struct Shared {
    host: Global<Host<'static>>,
    caller: ThreadId,
    /// The first exception that `Host` threw for the thread of the request.
    thrown: Arc<Thrown>,
}

/// An exception that `Host` threw.
#[derive(Default)]
pub(crate) struct Thrown(Mutex<Option<Global<JThrowable<'static>>>>);

impl Thrown {
    pub fn take(&self) -> Option<Global<JThrowable<'static>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Unless there is one already, which came first.
    fn keep(&self, exception: Global<JThrowable<'static>>) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(exception);
    }
}

impl From<&Arc<Shared>> for JvmHost {
    fn from(shared: &Arc<Shared>) -> Self {
        JvmHost(Arc::clone(shared))
    }
}

impl JvmHost {
    /// `host` may be null: then primitives and prints are errors.
    pub fn new(env: &Env<'_>, host: &Host<'_>) -> jni::errors::Result<Self> {
        Ok(JvmHost(Arc::new(Shared {
            host: env.new_global_ref(host)?,
            caller: thread::current().id(),
            thrown: Arc::default(),
        })))
    }

    /// The failure of a request that ended with `error`: the exception that `Host` threw, if it did. What becomes of jobs of an
    /// interrupted run tells nobody anything.
    pub fn failure(&self, error: Error) -> Failure {
        match self.0.thrown.take() {
            Some(exception) if error.kind() != ErrorKind::Interrupted => {
                Failure::Thrown(exception, error)
            }
            _ => Failure::Error(error),
        }
    }

    /// For the thread of the request, whose exceptions are the request's.
    pub fn caller(&self, asks: Sender<Ask>) -> Caller {
        Caller {
            host: Arc::clone(&self.0),
            asks,
            thrown: Arc::clone(&self.0.thrown),
        }
    }

    pub fn shared(&self) -> &Arc<Shared> {
        &self.0
    }

    /// Whether there is a `Host` at all.
    pub fn is_there(&self) -> bool {
        !self.0.host.is_null()
    }

    pub fn print(&self, line: &str) -> Result<()> {
        let line = line.to_owned();
        self.call("print", move |env, host| {
            let line = env.byte_array_from_slice(line.as_bytes())?;
            host.print(env, &line)
        })
    }

    /// The exception with which iterations ended that the calling thread waits for.
    pub fn thrown_here(&self, exception: Global<JThrowable<'static>>) {
        match Caller::of_this_thread(&self.0) {
            Some(caller) => caller.thrown.keep(exception),
            None => self.0.thrown.keep(exception),
        }
    }

    /// Calls Java, on this thread or on the one that calls for it. An exception is kept, cleared (so that the control program
    /// can tidy up through `Host`), and reported as an error.
    pub fn call<T: Send + 'static>(
        &self,
        method: &'static str,
        call: impl FnOnce(&mut Env<'_>, &Host<'_>) -> jni::errors::Result<T> + Send + 'static,
    ) -> Result<T> {
        if !self.is_there() {
            return Err(Error::argument(format!(
                "this request needs Host.{method}, and the host is null"
            ))
            .with_help("pass a Host to Native.call"));
        }
        if thread::current().id() == self.0.caller {
            return self.0.call_here(method, call, &self.0.thrown);
        }
        match Caller::of_this_thread(&self.0) {
            Some(caller) => {
                caller.ask(move |shared, thrown| shared.call_here(method, call, thrown))
            }
            None => Err(Error::internal(format!(
                "Host.{method} was called from a worker thread; it belongs to the thread of the request"
            ))),
        }
    }
}

impl Shared {
    /// On this thread, which is the JVM's. An exception goes to `thrown`.
    pub fn call_here<T>(
        &self,
        method: &str,
        call: impl FnOnce(&mut Env<'_>, &Host<'_>) -> jni::errors::Result<T>,
        thrown: &Thrown,
    ) -> Result<T> {
        let outcome = JavaVM::singleton().and_then(|vm| {
            vm.with_local_frame(LOCAL_REFERENCES, |env| {
                let result = call(env, &self.host);
                match env.exception_occurred() {
                    None => result.map(Ok),
                    Some(exception) => {
                        env.exception_clear();
                        Ok(Err(env.new_global_ref(&exception)?))
                    }
                }
            })
        });
        match outcome {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(exception)) => {
                thrown.keep(exception);
                Err(Error::backend(format!("Host.{method} threw an exception")))
            }
            Err(error) => Err(Error::internal(format!(
                "Host.{method} could not be called: {error}"
            ))),
        }
    }
}

/// What a thread of the JVM is to do.
pub(crate) type Ask = Box<dyn FnOnce() + Send>;

/// A thread that runs iterations, with its thread of the JVM.
pub(crate) struct Caller {
    pub host: Arc<Shared>,
    pub asks: Sender<Ask>,
    /// The first exception that `Host` threw there.
    pub thrown: Arc<Thrown>,
}

thread_local! {
    static CALLER: RefCell<Option<Arc<Caller>>> = const { RefCell::new(None) };
}

impl Caller {
    /// The one that the calling thread has, where it runs iterations of a request with this host.
    pub fn of_this_thread(host: &Arc<Shared>) -> Option<Arc<Self>> {
        let caller = CALLER.with_borrow(Clone::clone)?;
        Arc::ptr_eq(&caller.host, host).then_some(caller)
    }

    /// Makes the calling thread this caller, as long as what is given lives.
    pub fn enter(self: Arc<Self>) -> Entered {
        Entered(CALLER.replace(Some(self)))
    }

    /// Does it on the thread of the JVM, and waits for what comes of it.
    pub fn ask<T: Send + 'static>(
        self: &Arc<Self>,
        what: impl FnOnce(&Shared, &Thrown) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (answer, answered) = channel();
        let caller = Arc::clone(self);
        let ask = move || {
            let done = catch_unwind(AssertUnwindSafe(|| what(&caller.host, &caller.thrown)));
            // Before the answer: once there is one, nothing here may keep the thread.
            drop(caller);
            // Nobody waits any more only if the thread that asked has panicked.
            let _ = answer.send(done.unwrap_or_else(|panic| Err(panics::error(panic))));
        };
        let gone = || Error::backend("the thread that calls Host for these iterations has ended");
        self.asks.send(Box::new(ask)).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    }
}

/// The calling thread is a caller as long as this lives; then it is what it was before.
pub(crate) struct Entered(Option<Arc<Caller>>);

impl Drop for Entered {
    fn drop(&mut self) {
        CALLER.set(self.0.take());
    }
}
