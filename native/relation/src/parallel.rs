//! Work on the rows of columns, on all threads.

use std::ops::Range;

use fulgurite_error::{Error, Result};
use fulgurite_matrix::{
    Interrupt,
    memory::{NewCells, NewPart, Zeroed},
};
use rayon::prelude::*;

/// The fewest rows of a task.
const LEAST_ROWS: usize = 1 << 14;
/// Tasks of a thread, so that one that starts late has less to do.
const TASKS: usize = 4;

/// The rows of a task, of which each thread has some.
pub(crate) fn rows_of_a_task(rows: usize) -> usize {
    rows.div_ceil(TASKS * rayon::current_num_threads())
        .max(LEAST_ROWS)
}

/// As many rows as a table with an entry of each key in each task makes up for.
pub(crate) fn rows_of_a_thread(rows: usize) -> usize {
    rows.div_ceil(rayon::current_num_threads()).max(LEAST_ROWS)
}

/// What a function gives for the rows of each task, in their order.
///
/// # Errors
/// Those of the function; `interrupted`.
pub(crate) fn by_tasks<R: Send>(
    rows: usize,
    rows_of_a_task: usize,
    work: impl Fn(Range<usize>) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let interrupt = Interrupt::current();
    let starts = (0..rows).into_par_iter().step_by(rows_of_a_task.max(1));
    starts
        .map(|start| {
            interrupt.within(|| {
                interrupt.check()?;
                work(start..rows.min(start + rows_of_a_task))
            })
        })
        .collect()
}

/// A value for each row, which a function writes for the rows of each task, and what it gives for each.
///
/// # Errors
/// Those of the function; `memory`; `interrupted`.
pub(crate) fn filled<T: Zeroed + Send, R: Send>(
    rows: usize,
    rows_of_a_task: usize,
    fill: impl Fn(usize, &mut [T]) -> Result<R> + Sync,
) -> Result<(Vec<T>, Vec<R>)> {
    let interrupt = Interrupt::current();
    let rows_of_a_task = rows_of_a_task.max(1);
    let mut cells = NewCells::new(rows)?;
    let starts = (0..rows).step_by(rows_of_a_task);
    let parts = cells.parts(starts.map(|start| rows_of_a_task.min(rows - start)));
    let filled = parts.into_par_iter().enumerate();
    let given = filled.map(|(task, part): (usize, NewPart<'_, T>)| {
        interrupt.within(|| {
            interrupt.check()?;
            fill(task * rows_of_a_task, part.cells())
        })
    });
    let given = given.collect::<Result<Vec<R>>>()?;
    let cells = cells.finish();
    match cells.len() == rows {
        true => Ok((cells, given)),
        false => Err(Error::internal("a task without its rows")),
    }
}

/// Changes the values of rows, by tasks.
///
/// # Errors
/// `interrupted`.
pub(crate) fn changed<T: Send>(
    values: &mut [T],
    rows_of_a_task: usize,
    change: impl Fn(usize, &mut [T]) + Sync,
) -> Result<()> {
    let interrupt = Interrupt::current();
    let rows_of_a_task = rows_of_a_task.max(1);
    let tasks = values.par_chunks_mut(rows_of_a_task).enumerate();
    tasks.try_for_each(|(task, values)| {
        interrupt.check()?;
        change(task * rows_of_a_task, values);
        Ok(())
    })
}

/// A column of which each task writes so many rows.
///
/// # Errors
/// `memory`; `interrupted`.
pub(crate) fn written<T: Zeroed + Send>(
    counts: &[usize],
    write: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Vec<T>> {
    let written = written_with(counts, |task, cells| {
        write(task, cells);
        Ok(())
    });
    written.map(|(cells, _)| cells)
}

/// The same, and what the function gives for each task.
///
/// # Errors
/// As [`written`]; those of the function.
pub(crate) fn written_with<T: Zeroed + Send, R: Send>(
    counts: &[usize],
    write: impl Fn(usize, &mut [T]) -> Result<R> + Sync,
) -> Result<(Vec<T>, Vec<R>)> {
    let interrupt = Interrupt::current();
    let mut cells = NewCells::new(counts.iter().sum())?;
    let parts = cells.parts(counts.iter().copied()).into_par_iter();
    let given = parts.enumerate().map(|(task, part)| {
        interrupt.check()?;
        write(task, part.cells())
    });
    let given = given.collect::<Result<Vec<R>>>()?;
    Ok((cells.finish(), given))
}

/// The same for two columns.
///
/// # Errors
/// As [`written`].
pub(crate) fn written_both<A: Zeroed + Send, B: Zeroed + Send>(
    counts: &[usize],
    write: impl Fn(usize, &mut [A], &mut [B]) + Sync,
) -> Result<(Vec<A>, Vec<B>)> {
    let interrupt = Interrupt::current();
    let rows = counts.iter().sum();
    let (mut one, mut other) = (NewCells::new(rows)?, NewCells::new(rows)?);
    let lengths = || counts.iter().copied();
    let parts = one.parts(lengths()).into_par_iter();
    let parts = parts.zip(other.parts(lengths())).enumerate();
    parts.try_for_each(|(task, (one, other))| {
        interrupt.check()?;
        write(task, one.cells(), other.cells());
        Ok(())
    })?;
    Ok((one.finish(), other.finish()))
}
