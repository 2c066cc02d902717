//! The JNI surface, and nothing else: what `io.fulgurite.core.Native` declares, converted to calls of the other
//! crates.
//!
//! The Java class is the single source of the signatures; [`shim`] is its mirror, [`java`] that of the types that it uses,
//! and a test compares. Everything is bound when the library loads ([`load`]), so that a jar of another build is refused then, with
//! a sentence, and not in the middle of a job.
//!
//! Invariants:
//! - No panic leaves this library ([`fulgurite_operators::panics`]), and every error becomes one Java exception class ([`failure`]).
//! - Native data is reached through [`registry`] alone: a wrong handle is an error.
//! - Java is called on a thread that called us, never on a worker thread: those do not attach ([`host`], [`streams`]); iterations
//!   that make jobs have threads that called us for them ([`callers`]).
//!
//! Start with [`natives`].

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

#[global_allocator]
static ALLOCATOR: fulgurite_matrix::memory::Allocator = fulgurite_matrix::memory::Allocator;

mod backend;
mod callers;
mod describe;
mod failure;
mod handshake;
mod host;
mod java;
mod load;
mod natives;
mod ready;
mod registry;
mod relation;
mod request;
mod runs;
mod shim;
mod streams;
mod tables;
mod task;
mod text;
