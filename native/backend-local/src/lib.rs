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

use fulgurite_config::{BackendChoice, Config};
use fulgurite_program::Session;

/// A session with this backend, if the configuration asks for it; else one without workers.
pub fn session(config: Config) -> Session {
    let is_chosen = config.backend == BackendChoice::Local;
    let session = Session::new(config);
    match is_chosen {
        true => {
            let backend = LocalBackend::new(Arc::clone(&session.plan_cache));
            session.with_backend(Arc::new(backend))
        }
        false => session,
    }
}
