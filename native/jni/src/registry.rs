//! What handles name.
//!
//! A handle is a number, not an address: a wrong or released one is looked up and not found. Numbers are never
//! used again. Looking up shares the blocks, so that a release in another thread takes nothing away from work
//! that has begun.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use fulgurite_dataflow::{RangeAccount, RangeResult};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{Block, MatrixBlock};
use fulgurite_worker::TaskWork;

/// The blocks that a handle names: the stripes of a partition, or a whole matrix.
pub(crate) type Blocks = Arc<[Block]>;

pub(crate) struct Registry {
    state: Mutex<State>,
}

struct State {
    next: i64,
    live: HashMap<i64, Entry>,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub blocks: Blocks,
    /// Of the task whose results these are; those of a call together have that of the first.
    pub work: TaskWork,
    /// Of a range of iterations, what the blocks are and what else happened.
    pub account: Option<Arc<RangeAccount>>,
}

/// What a registry holds at a moment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Live {
    pub handles: usize,
    /// Buffers that several handles share count for each of them.
    pub bytes: usize,
}

/// The process's registry.
pub(crate) fn registry() -> &'static Registry {
    static REGISTRY: std::sync::LazyLock<Registry> = std::sync::LazyLock::new(Registry::new);
    &REGISTRY
}

impl Registry {
    pub fn new() -> Self {
        Registry {
            state: Mutex::new(State {
                next: 1,
                live: HashMap::new(),
            }),
        }
    }

    /// Gives the blocks a handle.
    pub fn insert(&self, blocks: impl Into<Blocks>) -> i64 {
        self.insert_result(blocks, TaskWork::default())
    }

    /// [`Registry::insert`] for results of a task, with what it did for them.
    pub fn insert_result(&self, blocks: impl Into<Blocks>, work: TaskWork) -> i64 {
        self.insert_entry(Entry {
            blocks: blocks.into(),
            work,
            account: None,
        })
    }

    /// What a range of iterations gave.
    pub fn insert_range(&self, result: RangeResult, work: TaskWork) -> i64 {
        self.insert_entry(Entry {
            blocks: result.blocks.into(),
            work,
            account: Some(Arc::new(result.account)),
        })
    }

    fn insert_entry(&self, entry: Entry) -> i64 {
        let mut state = self.lock();
        let handle = state.next;
        state.next += 1;
        state.live.insert(handle, entry);
        handle
    }

    pub fn insert_matrix(&self, matrix: MatrixBlock) -> i64 {
        self.insert([Block::whole(matrix)])
    }

    /// # Errors
    /// `argument` when the handle names nothing, or nothing any more.
    pub fn get(&self, handle: i64) -> Result<Blocks> {
        self.entry(handle).map(|entry| entry.blocks)
    }

    /// [`Registry::get`], with what belongs to the blocks.
    pub fn entry(&self, handle: i64) -> Result<Entry> {
        let state = self.lock();
        let entry = state.live.get(&handle).cloned();
        entry.ok_or_else(|| unknown(handle, state.next))
    }

    /// The one block of a handle.
    ///
    /// # Errors
    /// As [`Registry::get`]; `argument` when there are several or none.
    pub fn get_matrix(&self, handle: i64) -> Result<MatrixBlock> {
        self.get_block(handle).map(|block| block.matrix)
    }

    /// The one block of a handle, with its place.
    ///
    /// # Errors
    /// As [`Registry::get_matrix`].
    pub fn get_block(&self, handle: i64) -> Result<Block> {
        only(&self.get(handle)?, handle)
    }

    /// The one block of a handle, which is gone then.
    ///
    /// # Errors
    /// As [`Registry::get_matrix`].
    pub fn take_matrix(&self, handle: i64) -> Result<MatrixBlock> {
        only(&self.take(handle)?, handle).map(|block| block.matrix)
    }

    /// The blocks of a handle, which is gone then.
    ///
    /// # Errors
    /// As [`Registry::get`].
    pub fn take(&self, handle: i64) -> Result<Blocks> {
        let (entry, next) = {
            let mut state = self.lock();
            (state.live.remove(&handle), state.next)
        };
        let entry = entry.ok_or_else(|| unknown(handle, next))?;
        Ok(entry.blocks)
    }

    /// Forgets a handle; unknown ones are ignored.
    pub fn release(&self, handle: i64) {
        let entry = self.lock().live.remove(&handle);
        // Freeing may call back into the JVM, through Arrow's release callbacks: not under the lock.
        drop(entry);
    }

    pub fn live(&self) -> Live {
        let state = self.lock();
        Live {
            handles: state.live.len(),
            bytes: state
                .live
                .values()
                .flat_map(|entry| entry.blocks.iter())
                .map(|block| block.matrix.memory_bytes())
                .sum(),
        }
    }

    /// No code that can panic runs under the lock, so a poisoned state is whole.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn only(blocks: &[Block], handle: i64) -> Result<Block> {
    match blocks {
        [block] => Ok(block.clone()),
        several => Err(Error::argument(format!(
            "handle {handle} names {} blocks where one matrix is expected",
            several.len()
        ))),
    }
}

fn unknown(handle: i64, next: i64) -> Error {
    if (1..next).contains(&handle) {
        Error::argument(format!("handle {handle} was released already"))
            .with_help("release a handle once, after its last use")
    } else {
        Error::argument(format!("handle {handle} names nothing"))
            .with_help("pass a handle that a native method of this process returned")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: usize) -> MatrixBlock {
        MatrixBlock::filled(rows, 2, 1.0).unwrap()
    }

    #[test]
    fn a_handle_lives_from_insert_to_release() {
        let registry = Registry::new();
        let (first, second) = (
            registry.insert_matrix(matrix(1)),
            registry.insert_matrix(matrix(3)),
        );
        assert_ne!(first, second);
        assert_eq!(registry.get_matrix(second).unwrap(), matrix(3));
        assert_eq!(
            registry.live(),
            Live {
                handles: 2,
                bytes: 64
            }
        );
        registry.release(first);
        registry.release(first);
        registry.release(0);
        assert_eq!(
            registry.live(),
            Live {
                handles: 1,
                bytes: 48
            }
        );
        assert_eq!(registry.take_matrix(second).unwrap(), matrix(3));
        assert_eq!(
            registry.live(),
            Live {
                handles: 0,
                bytes: 0
            }
        );
    }

    #[test]
    fn wrong_handles_are_errors_that_say_which_way_they_are_wrong() {
        let registry = Registry::new();
        let handle = registry.insert_matrix(matrix(1));
        registry.release(handle);
        let messages: Vec<String> = [handle, 0, -1, i64::MIN, i64::MAX]
            .into_iter()
            .map(|handle| registry.get(handle).unwrap_err().message().to_owned())
            .collect();
        insta::assert_snapshot!(messages.join("\n"), @r"
        handle 1 was released already
        handle 0 names nothing
        handle -1 names nothing
        handle -9223372036854775808 names nothing
        handle 9223372036854775807 names nothing
        ");
        assert!(registry.take_matrix(handle).is_err());
    }

    #[test]
    fn a_release_takes_nothing_from_work_that_has_begun() {
        let registry = Registry::new();
        let handle = registry.insert_matrix(matrix(5));
        let blocks = registry.get(handle).unwrap();
        registry.release(handle);
        assert_eq!(blocks[0].matrix, matrix(5));
    }

    #[test]
    fn several_blocks_are_no_matrix() {
        let registry = Registry::new();
        let handle = registry.insert([Block::whole(matrix(1)), Block::new(1, 0, matrix(1))]);
        let error = registry.get_matrix(handle).unwrap_err();
        insta::assert_snapshot!(error.message(), @"handle 1 names 2 blocks where one matrix is expected");
    }
}
