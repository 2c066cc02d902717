//! The backend in this process: runs dataflow on its threads, to try out distributed plans without Spark.
//!
//! - `stripes`: cutting, moving and assembling them.
//! - `pipeline`: tasks on the results of tasks.
//! - `compute`: how a dataset is computed from others.
//! - `local`: the backend.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod compute;
mod local;
mod pipeline;
mod stripes;

use std::sync::Arc;

pub use local::{Counters, LocalBackend};

use fulgurite_config::BackendChoice;
use fulgurite_program::Session;

/// The session with this backend, if its configuration asks for it. Tasks share the session's compiled operators.
pub fn with_chosen_backend(session: Session) -> Session {
    match session.config.backend {
        BackendChoice::Local => {
            let backend = LocalBackend::new(Arc::clone(&session.plan_cache));
            session.with_backend(Arc::new(backend))
        }
        BackendChoice::Session => session,
    }
}
