//! Backends of this crate. (The one for Spark stands in the JVM shim.)

mod local;

pub use local::{Counters, LocalBackend};
