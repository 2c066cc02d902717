//! The variables of the control program, by their names.

use std::collections::BTreeSet;

use fulgurite_dataflow::Variable;
use fulgurite_error::Result;
use fulgurite_operators::undefined;
use rustc_hash::FxHashMap;

/// The variables of one function call. The name of one whose value was taken out stays, for the next value: loops assign the
/// same variables again and again.
#[derive(Debug, Clone, Default)]
pub(crate) struct SymbolTable(FxHashMap<String, Option<Variable>>);

impl SymbolTable {
    /// # Errors
    /// Runtime, when nothing was assigned to it.
    pub(crate) fn get(&self, name: &str) -> Result<&Variable> {
        self.find(name).ok_or_else(|| undefined(name))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Variable> {
        self.0.get(name)?.as_ref()
    }

    /// Moves the value out, so that who gets it may be its only owner.
    ///
    /// # Errors
    /// As [`SymbolTable::get`].
    pub(crate) fn take(&mut self, name: &str) -> Result<Variable> {
        let slot = self.0.get_mut(name);
        slot.and_then(Option::take).ok_or_else(|| undefined(name))
    }

    pub(crate) fn set(&mut self, name: impl AsRef<str> + Into<String>, value: Variable) {
        match self.0.get_mut(name.as_ref()) {
            Some(slot) => *slot = Some(value),
            None => {
                self.0.insert(name.into(), Some(value));
            }
        }
    }

    /// What a `parfor` leaves: of the matrices that were there before, its results; nothing else that iterations
    /// assigned.
    pub(crate) fn keep_parfor_results(&mut self, before: SymbolTable, results: &BTreeSet<String>) {
        let mut after = std::mem::replace(self, before);
        for name in results {
            let value = self.0.get_mut(name).and_then(Option::as_mut);
            if let Some(value) = value.filter(|value| !value.is_scalar())
                && let Ok(result) = after.take(name)
                && !result.is_scalar()
            {
                *value = result;
            }
        }
    }

    /// Bytes of matrices in this process, but for those that `others` hold as well.
    pub(crate) fn bytes_besides(&self, others: &SymbolTable) -> u64 {
        let own = self
            .0
            .iter()
            .filter_map(|(name, value)| match value.as_ref()? {
                Variable::Matrix(matrix) => match others.find(name) {
                    Some(Variable::Matrix(other)) if matrix.is(other) => None,
                    _ => Some(matrix.block().memory_bytes() as u64),
                },
                Variable::List(list) => match others.find(name) {
                    Some(Variable::List(other)) if list.is(other) => None,
                    _ => Some(list.bytes()),
                },
                Variable::Frame(frame) => match others.find(name) {
                    Some(Variable::Frame(other)) if frame.is(other) => None,
                    _ => Some(frame.memory_bytes() as u64),
                },
                Variable::Written(written) => Some(written.waiting().bytes),
                _ => None,
            });
        own.fold(0, u64::saturating_add)
    }

    pub(crate) fn has_distributed(&self) -> bool {
        self.0.values().flatten().any(Variable::is_distributed)
    }
}
