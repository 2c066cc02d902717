//! Loops over cells on AVX's vectors of four, which Cranelift has no instructions for: its widest are pairs, half of what the
//! processor does at a time.
//!
//! A loop becomes a function of its own, `extern "C" fn(frame: *const u64)` as compiled code is, that the code from Cranelift
//! calls. [`cells`] makes operations of a loop's nodes, [`registers`] gives them registers, [`rows`] puts rows and passes around
//! them, and [`encode`] makes bytes of it all.

mod cells;
mod encode;
mod registers;
mod rows;
#[cfg(test)]
mod tests;

use crate::program::{Layout, Loop, Program};

/// A loop's machine code.
pub(super) struct LoopCode {
    pub bytes: Vec<u8>,
    /// The same to read, as the GNU assembler has it.
    pub listing: Option<String>,
}

/// Alignment of the code: vectors that it reads lie in it.
pub(super) const ALIGNMENT: u64 = 32;

/// Whether this processor and its calling convention are those that the code is for.
pub(super) fn is_available() -> bool {
    #[cfg(all(target_arch = "x86_64", unix))]
    {
        std::arch::is_x86_feature_detected!("avx")
    }
    #[cfg(not(all(target_arch = "x86_64", unix)))]
    {
        false
    }
}

/// The code of a loop; `None` where it is to be Cranelift's: its displacements do not fit into instructions, or its sums not into
/// registers.
pub(super) fn assemble(
    program: &Program,
    layout: &Layout,
    step: &Loop,
    with_listing: bool,
) -> Option<LoopCode> {
    let assembly = rows::assemble(program, layout, step)?;
    Some(LoopCode {
        bytes: assembly.bytes(),
        listing: with_listing.then(|| assembly.to_string()),
    })
}
