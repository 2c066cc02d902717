//! Operator fusion: from a HOP DAG to fused operators.
//!
//! 1. [`cplan`]: the code generation plans that fusion ends in, and that executors compile.
//!
//! Source of the whole stage: Boehm et al., "On Optimizing Operator Fusion Plans for Large-Scale Machine
//! Learning in SystemML", Sections 2 to 4.

#![forbid(unsafe_code)]

pub mod cplan;
