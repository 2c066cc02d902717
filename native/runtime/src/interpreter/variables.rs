//! Variables of the control program: scalars, matrices here, matrices on the workers.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Literal};
use fulgurite_matrix::MatrixBlock;

use super::WrittenMatrix;
use crate::{
    Value,
    distributed::{Broadcast, Dataset, DistributedMatrix},
};

/// A value that a variable or an operator's result has.
#[derive(Debug, Clone)]
pub(crate) enum Variable {
    Scalar(Literal),
    Matrix(LocalMatrix),
    Distributed(DistributedMatrix),
    /// Only in loops.
    Written(WrittenMatrix),
}

impl Variable {
    pub(crate) fn matrix(block: MatrixBlock) -> Self {
        Variable::Matrix(LocalMatrix::new(block))
    }

    pub(crate) fn is_scalar(&self) -> bool {
        matches!(self, Variable::Scalar(_))
    }

    pub(crate) fn is_distributed(&self) -> bool {
        match self {
            Variable::Distributed(_) => true,
            Variable::Written(written) => written.base().is_distributed(),
            Variable::Scalar(_) | Variable::Matrix(_) => false,
        }
    }

    pub(crate) fn characteristics(&self) -> Characteristics {
        match self {
            Variable::Scalar(_) => Characteristics::SCALAR,
            Variable::Matrix(matrix) => matrix.characteristics(),
            Variable::Distributed(matrix) => matrix.characteristics(),
            Variable::Written(written) => written.characteristics(),
        }
    }

    /// # Errors
    /// Validation, when it is a matrix.
    pub(crate) fn as_scalar(&self) -> Result<&Literal> {
        match self {
            Variable::Scalar(value) => Ok(value),
            _ => Err(
                Error::validation("a matrix stands where a scalar is needed")
                    .with_help("take one cell out of it with as.scalar()"),
            ),
        }
    }
}

impl From<Value> for Variable {
    fn from(value: Value) -> Self {
        match value {
            Value::Matrix(block) => Variable::matrix(block),
            Value::Scalar(literal) => Variable::Scalar(literal),
        }
    }
}

/// A matrix in this process. It remembers that it was broadcast or cut into stripes, so that this happens once.
#[derive(Debug, Clone)]
pub(crate) struct LocalMatrix(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    block: MatrixBlock,
    broadcast: Mutex<Option<Arc<Broadcast>>>,
    striped: Mutex<Option<Arc<Dataset>>>,
}

impl LocalMatrix {
    pub(crate) fn new(block: MatrixBlock) -> Self {
        LocalMatrix(Arc::new(Shared {
            block,
            broadcast: Mutex::new(None),
            striped: Mutex::new(None),
        }))
    }

    pub(crate) fn block(&self) -> &MatrixBlock {
        &self.0.block
    }

    /// The block itself, which nobody else holds if this was the last reference: operators may then write
    /// into it.
    pub(crate) fn into_block(self) -> MatrixBlock {
        match Arc::try_unwrap(self.0) {
            Ok(shared) => shared.block,
            Err(shared) => shared.block.clone(),
        }
    }

    /// Sizes, with the non-zeros where they cost nothing to know.
    pub(crate) fn characteristics(&self) -> Characteristics {
        let block = &self.0.block;
        let known = Characteristics::dims(block.rows() as u64, block.cols() as u64);
        match block {
            MatrixBlock::Dense(_) => known,
            sparse => known.with_nnz(sparse.values().len() as u64),
        }
    }

    /// What was broadcast of this matrix, or what `send` now broadcasts.
    pub(crate) fn broadcast(
        &self,
        send: impl FnOnce(&MatrixBlock) -> Result<Arc<Broadcast>>,
    ) -> Result<Arc<Broadcast>> {
        get_or_make(&self.0.broadcast, || send(&self.0.block))
    }

    /// The stripes that this matrix was cut into, or that `cut` now cuts.
    pub(crate) fn striped(
        &self,
        cut: impl FnOnce(&MatrixBlock) -> Result<Arc<Dataset>>,
    ) -> Result<Arc<Dataset>> {
        get_or_make(&self.0.striped, || cut(&self.0.block))
    }

    pub(crate) fn is_striped(&self) -> bool {
        let striped = self.0.striped.lock();
        striped.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Whether it is the very same matrix.
    pub(crate) fn is(&self, other: &LocalMatrix) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn get_or_make<T>(
    slot: &Mutex<Option<Arc<T>>>,
    make: impl FnOnce() -> Result<Arc<T>>,
) -> Result<Arc<T>> {
    let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(made) = &*slot {
        return Ok(Arc::clone(made));
    }
    let made = make()?;
    *slot = Some(Arc::clone(&made));
    Ok(made)
}

/// The variables of one function call.
#[derive(Debug, Clone, Default)]
pub(crate) struct SymbolTable(HashMap<String, Variable>);

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

fn undefined(name: &str) -> Error {
    Error::runtime(format!("variable '{name}' has no value"))
        .with_help("it is assigned only in a branch that was not taken; assign it before")
}
