//! What a `parfor` may do: its iterations run in any order, so none may need what another one writes.
//!
//! - [`accesses`] walks the body and notes what each statement reads and writes, with [`affine`] bounds of the parts that
//!   it indexes. What an iteration assigns before it reads is its own and is not noted.
//! - [`dependence`] tells whether two accesses of different iterations can meet in a cell.
//! - [`liveness`] says what is read after the loop: an iteration may not leave a value there.
//! - [`options`] reads the loop's header.
//!
//! Start with [`analyse`]. What it accepts has no conflict; what it can't show to be free of one it refuses, with both
//! places. `check=0` turns that off, and leaves what the loop means: which matrices are summed up with `+=`.

mod accesses;
mod affine;
mod dependence;
mod liveness;
mod options;
mod reads;

use std::collections::BTreeSet;

use fulgurite_error::{Code, Error, Position, Result};
use fulgurite_hop::DataType;

use self::{
    accesses::{Access, Accesses, Action, Region},
    dependence::may_meet,
};
pub(crate) use self::{
    liveness::{LiveAfter, ReadLater},
    options::{LoopOptions, check_names},
};
use crate::syntax::ast::{Call, LoopRange, Statement};

/// What is known of the script's variables where a loop stands.
pub(crate) trait Known {
    /// The whole number that a variable certainly holds.
    fn constant(&self, variable: &str) -> Option<i64>;
    /// A `$`-argument that is a whole number.
    fn argument(&self, name: &str) -> Option<i64>;
    /// Whether the variable is certainly a whole number.
    fn is_int(&self, variable: &str) -> bool;
    fn data_type(&self, variable: &str) -> Option<DataType>;
    /// Whether a call means a function of the script.
    fn is_user_function(&self, call: &Call) -> bool;
}

/// A `parfor` and what stands around it.
pub(crate) struct ParallelLoop<'a> {
    pub variable: &'a str,
    pub range: &'a LoopRange,
    pub body: &'a [Statement],
    /// What is known where an iteration begins.
    pub known: &'a dyn Known,
    pub read_later: &'a ReadLater,
    /// `check=0` turns the test off.
    pub check: bool,
}

/// The matrices that the loop sums up.
///
/// # Errors
/// Validation, naming a variable and both places, where iterations may depend on each other.
pub(crate) fn analyse(parallel: &ParallelLoop<'_>) -> Result<BTreeSet<String>> {
    let found = Accesses::of(parallel);
    let mut accumulated = BTreeSet::new();
    for (variable, accesses) in &found.by_variable {
        if let Some(sum) = accesses.iter().find(|access| access.action == Action::Add) {
            if is_sum(variable, sum, accesses, parallel)? {
                accumulated.insert(variable.clone());
            }
        } else if parallel.check {
            check_whole(variable, accesses, parallel.read_later)?;
            check_parts(variable, accesses, &found)?;
        }
    }
    Ok(accumulated)
}

/// Whether iterations sum up a matrix, and do nothing else with it. Without the test, what they do else makes it a
/// variable like any other.
fn is_sum(
    variable: &str,
    sum: &Access,
    accesses: &[Access],
    parallel: &ParallelLoop<'_>,
) -> Result<bool> {
    if parallel.known.data_type(variable) == Some(DataType::Scalar) {
        return match parallel.check {
            false => Ok(false),
            true => Err(Error::validation(format!(
                "iterations of the parfor sum up the scalar '{variable}' at {}, and each has its own",
                place(&sum.position)
            )).with_code(Code::ParforDependency)
            .at(&sum.position)
            .with_help(
                "write what is added into a cell of a matrix, as in R[i, 1] = x, and sum that after the loop",
            )),
        };
    }
    let is_other = |access: &&Access| !matches!(access.action, Action::Add | Action::Shape);
    match accesses.iter().find(is_other) {
        None => Ok(true),
        Some(_) if !parallel.check => Ok(false),
        Some(other) => Err(Error::validation(format!(
            "iterations of the parfor sum up '{variable}' at {}, and it is {} at {}, where the sum is not there yet",
            place(&sum.position),
            other.action.participle(),
            place(&other.position)
        )).with_code(Code::ParforDependency)
        .at(&sum.position)
        .with_help("sum up into a matrix of its own, or write `for`")),
    }
}

/// What is assigned whole is an iteration's own, unless it reads the value from before, or others read it later.
fn check_whole(variable: &str, accesses: &[Access], read_later: &ReadLater) -> Result<()> {
    let is_whole =
        |access: &&Access| access.action == Action::Write && access.region == Region::Whole;
    let Some(write) = accesses.iter().find(is_whole) else {
        return Ok(());
    };
    if let Some(other) = accesses.iter().find(|access| !is_whole(access)) {
        return Err(conflict(variable, write, other).with_help(
            "assign it before it is read in the same iteration, write `for`, or, if iterations do not depend on \
             each other, check=0",
        ));
    }
    match read_later.get(variable) {
        None => Ok(()),
        Some(later) => Err(Error::validation(format!(
            "every iteration of the parfor assigns '{variable}' at {}, and it is read after the loop at {}",
            place(&write.position),
            place(later)
        )).with_code(Code::ParforDependency)
        .at(&write.position)
        .with_help("write into a row, column or cell of a matrix for each iteration, as in R[i, 1] = x, or write `for`")),
    }
}

/// Parts that are written must be others in each iteration.
fn check_parts(variable: &str, accesses: &[Access], found: &Accesses) -> Result<()> {
    let is_part_write =
        |access: &&Access| access.action == Action::Write && access.region != Region::Whole;
    for write in accesses.iter().filter(is_part_write) {
        let touches = |other: &&Access| other.action != Action::Shape;
        for other in accesses.iter().filter(touches) {
            if may_meet(write, other, &found.loops) {
                return Err(conflict(variable, write, other).with_help(
                    "index with the loop's variable so that each iteration has cells of its own, write `for`, or, if \
                     iterations do not depend on each other, check=0",
                ));
            }
        }
    }
    Ok(())
}

fn conflict(variable: &str, write: &Access, other: &Access) -> Error {
    let other_place = match std::ptr::eq(write, other) {
        true => format!("by others at {} too", place(&other.position)),
        false => format!(
            "{} by others at {}",
            other.action.participle(),
            place(&other.position)
        ),
    };
    Error::validation(format!(
        "iterations of the parfor may depend on each other: '{variable}' is written by one at {} and {other_place}",
        place(&write.position),
    )).with_code(Code::ParforDependency)
    .at(&write.position)
}

/// `3:10`; the error's own place names the file.
fn place(position: &Position) -> String {
    format!("{}:{}", position.line, position.column)
}
