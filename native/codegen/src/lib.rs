//! Machine code for fused operators.
//!
//! A [`CPlan`](fulgurite_fusion::cplan::CPlan) says what a fused operator computes. Here it becomes a
//! program over blocks of rows ([`program`]), the program becomes machine code ([`jit`], Cranelift), and a
//! skeleton ([`execute()`]) runs the code over the blocks of dense and CSR operands, on one thread or many.
//! What machine code does not inline, it calls: the vector [`primitives`]. Where memory can't be made executable, the program is
//! interpreted ([`step_interpreter`]).
//!
//! Start reading at [`execute()`] (what happens to operands) or at [`CompiledPlan`] (what happens to plans).
//!
//! Modules know only those before them:
//!
//! | module | holds |
//! |---|---|
//! | `aligned`, `primitives` | memory of frames, the vector primitives |
//! | `cellwise` | cell-wise operators as instructions of any code generator |
//! | `program` | a plan as steps over a block of rows, and the layout of the frame that they read |
//! | `bind` | operands whose shapes fit a program |
//! | `frame` | what a program is told about a block, checked |
//! | `jit`, `step_interpreter` | the two engines that run a program over a frame |
//! | `compiled` | a plan with its program and engine |
//! | `execute` | skeletons: compiled plans over whole operands |
//! | `cache` | the compiled plans of a process |
//!
//! Invariants:
//! * a compiled plan is free of sizes: widths, strides and pointers reach the code through a frame of slots;
//! * shapes are checked before machine code runs, and the code has no instruction that can trap;
//! * results depend on the operands and the number of threads alone, never on timing.

#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod aggregates;
mod aligned;
mod bind;
mod cache;
mod cellwise;
mod compiled;
mod execute;
mod frame;
mod jit;
mod primitives;
mod program;
mod step_interpreter;

pub use bind::Operand;
pub use cache::{CacheStatistics, Kept, PlanCache};
pub use compiled::{CompiledPlan, supports};
pub use execute::{ExecutionContext, Output, execute};
pub use program::Unsupported;
