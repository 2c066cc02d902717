//! Backends of this crate. (The one for Spark stands in the JVM shim.)

mod compute;
mod local;
mod pipeline;
mod stripes;

pub use local::{Counters, LocalBackend};
