//! A limit for what a run takes besides its inputs.

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Dag, memory};

use crate::symbols::SymbolTable;

/// What variables, results and intermediates of a run may take at a time, besides its inputs.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    pub bytes: u64,
    /// What raises it.
    pub setting: &'static str,
}

/// A room while a run fills it.
#[derive(Clone)]
pub(crate) struct Limit {
    room: Room,
    /// What the run was given, or the function that runs now. It takes nothing.
    given: SymbolTable,
    /// What variables of the functions take that wait for this one.
    waiting: u64,
}

impl Limit {
    pub(crate) fn new(room: Room, given: &SymbolTable) -> Self {
        Limit {
            room,
            given: given.clone(),
            waiting: 0,
        }
    }

    /// For a function that was called with these arguments while there are these variables.
    pub(crate) fn of_call(&self, arguments: &SymbolTable, variables: &SymbolTable) -> Self {
        Limit {
            room: self.room,
            given: arguments.clone(),
            waiting: self.taken(variables),
        }
    }

    fn taken(&self, variables: &SymbolTable) -> u64 {
        self.waiting
            .saturating_add(variables.bytes_besides(&self.given))
    }

    /// Whether a block may run beside these variables, as far as sizes are known.
    ///
    /// # Errors
    /// `memory`, where what it gives does not fit.
    pub(crate) fn check(&self, block: &Dag, variables: &SymbolTable) -> Result<()> {
        let Some(peak) = memory::peak_bytes(block).filter(|peak| *peak > 0) else {
            return Ok(());
        };
        let Room { bytes, setting } = self.room;
        let needed = peak.saturating_add(self.taken(variables));
        if needed <= bytes {
            return Ok(());
        }
        Err(Error::memory(format!(
            "results and intermediates take about {needed} bytes at a time, and {setting} is {bytes}"
        ))
        .with_help(format!("raise {setting}, or ask for less at a time")))
    }
}
