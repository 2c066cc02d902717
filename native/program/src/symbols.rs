//! The variables of the control program, by their names.

use std::collections::BTreeSet;

use fulgurite_dataflow::Variable;
use fulgurite_error::Result;
use fulgurite_operators::undefined;
use rustc_hash::FxHashMap;

/// The variables of one function call.
#[derive(Debug, Clone, Default)]
pub(crate) struct SymbolTable(FxHashMap<String, Variable>);

impl SymbolTable {
    /// # Errors
    /// Runtime, when nothing was assigned to it.
    pub(crate) fn get(&self, name: &str) -> Result<&Variable> {
        self.0.get(name).ok_or_else(|| undefined(name))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Variable> {
        self.0.get(name)
    }

    /// Moves the value out, so that who gets it may be its only owner.
    ///
    /// # Errors
    /// As [`SymbolTable::get`].
    pub(crate) fn take(&mut self, name: &str) -> Result<Variable> {
        self.0.remove(name).ok_or_else(|| undefined(name))
    }

    pub(crate) fn set(&mut self, name: impl Into<String>, value: Variable) {
        self.0.insert(name.into(), value);
    }

    /// What a `parfor` leaves: of the matrices that were there before, its results; nothing else that iterations
    /// assigned.
    pub(crate) fn keep_parfor_results(&mut self, before: SymbolTable, results: &BTreeSet<String>) {
        let mut after = std::mem::replace(self, before);
        for name in results {
            if let Some(value) = self.0.get_mut(name).filter(|value| !value.is_scalar())
                && let Some(result) = after.0.remove(name).filter(|result| !result.is_scalar())
            {
                *value = result;
            }
        }
    }

    /// Bytes of matrices in this process, but for those that `others` hold as well.
    pub(crate) fn bytes_besides(&self, others: &SymbolTable) -> u64 {
        let own = self.0.iter().filter_map(|(name, value)| match value {
            Variable::Matrix(matrix) => match others.0.get(name) {
                Some(Variable::Matrix(other)) if matrix.is(other) => None,
                _ => Some(matrix.block().memory_bytes() as u64),
            },
            Variable::Written(written) => Some(written.waiting().bytes),
            _ => None,
        });
        own.fold(0, u64::saturating_add)
    }

    pub(crate) fn has_distributed(&self) -> bool {
        self.0.values().any(Variable::is_distributed)
    }
}
