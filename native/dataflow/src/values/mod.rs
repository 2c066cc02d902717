//! The values of a control program: scalars, matrices here, matrices on the workers, and matrices with parts that are not
//! in their places yet. They know each other: a matrix that is here remembers its stripes, a dataset what was collected.
//!
//! - `handles`: owners of what a backend holds.
//! - `written`: matrices that were written into.

mod handles;
mod written;

use std::sync::{Arc, Mutex, PoisonError};

use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Literal};
use fulgurite_matrix::{MatrixBlock, kernels::DenseRange};
use fulgurite_operators::Value;

pub use handles::{Broadcast, Cut, Dataset, DistributedMatrix, Lineage, Partitioning, incomplete};
pub use written::{Part, PartValue, Waiting, WrittenMatrix};

/// A value that a variable or an operator's result has.
#[derive(Debug, Clone)]
pub enum Variable {
    Scalar(Literal),
    Matrix(LocalMatrix),
    Distributed(DistributedMatrix),
    /// Only in loops.
    Written(WrittenMatrix),
    /// Only between operators of a block in this process.
    Range(DenseRange),
}

/// A value in one piece: no matrix with parts that are not in their places, and no range of another one.
#[derive(Debug, Clone, Copy)]
pub enum Whole<'a> {
    Scalar(&'a Literal),
    Matrix(&'a LocalMatrix),
    Distributed(&'a DistributedMatrix),
}

impl Variable {
    /// A matrix of this process.
    pub fn matrix(block: MatrixBlock) -> Self {
        Variable::Matrix(LocalMatrix::new(block))
    }

    /// Whether it is no matrix.
    pub fn is_scalar(&self) -> bool {
        matches!(self, Variable::Scalar(_))
    }

    /// Whether workers have it.
    pub fn is_distributed(&self) -> bool {
        match self {
            Variable::Distributed(_) => true,
            Variable::Written(written) => written.base().is_distributed(),
            Variable::Scalar(_) | Variable::Matrix(_) | Variable::Range(_) => false,
        }
    }

    /// Sizes, as far as they are known.
    pub fn characteristics(&self) -> Characteristics {
        match self {
            Variable::Scalar(_) => Characteristics::SCALAR,
            Variable::Matrix(matrix) => matrix.characteristics(),
            Variable::Distributed(matrix) => matrix.characteristics(),
            Variable::Written(written) => written.characteristics(),
            Variable::Range(range) => {
                Characteristics::dims(range.rows() as u64, range.cols() as u64)
            }
        }
    }

    /// The value, as most operators take it.
    ///
    /// # Errors
    /// `internal`, for a matrix that is not in one piece.
    pub fn whole(&self) -> Result<Whole<'_>> {
        match self {
            Variable::Scalar(value) => Ok(Whole::Scalar(value)),
            Variable::Matrix(matrix) => Ok(Whole::Matrix(matrix)),
            Variable::Distributed(matrix) => Ok(Whole::Distributed(matrix)),
            Variable::Written(_) | Variable::Range(_) => Err(Error::internal(
                "a matrix is not in one piece: parts are not in their places, or it is a range of another",
            )),
        }
    }

    /// # Errors
    /// Validation, when it is a matrix.
    pub fn as_scalar(&self) -> Result<&Literal> {
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
            Value::Range(range) => Variable::Range(range),
            Value::Scalar(literal) => Variable::Scalar(literal),
        }
    }
}

/// A matrix in this process. It remembers that it was broadcast or cut into stripes, so that this happens once.
#[derive(Debug, Clone)]
pub struct LocalMatrix(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    block: MatrixBlock,
    broadcast: Mutex<Option<Arc<Broadcast>>>,
    striped: Mutex<Option<Arc<Dataset>>>,
}

impl LocalMatrix {
    pub fn new(block: MatrixBlock) -> Self {
        LocalMatrix(Arc::new(Shared {
            block,
            broadcast: Mutex::new(None),
            striped: Mutex::new(None),
        }))
    }

    /// Its cells.
    pub fn block(&self) -> &MatrixBlock {
        &self.0.block
    }

    /// The block itself, which nobody else holds if this was the last reference: operators may then write
    /// into it.
    pub fn into_block(self) -> MatrixBlock {
        match Arc::try_unwrap(self.0) {
            Ok(shared) => shared.block,
            Err(shared) => shared.block.clone(),
        }
    }

    /// Sizes, with the non-zeros where they cost nothing to know.
    pub fn characteristics(&self) -> Characteristics {
        let block = &self.0.block;
        let known = Characteristics::dims(block.rows() as u64, block.cols() as u64);
        match block {
            MatrixBlock::Dense(_) => known,
            sparse => known.with_nnz(sparse.values().len() as u64),
        }
    }

    /// What was broadcast of this matrix, or what `send` now broadcasts.
    pub fn broadcast(
        &self,
        send: impl FnOnce(&MatrixBlock) -> Result<Arc<Broadcast>>,
    ) -> Result<Arc<Broadcast>> {
        get_or_make(&self.0.broadcast, || send(&self.0.block))
    }

    /// The stripes that this matrix was cut into, or that `cut` now cuts.
    pub fn striped(
        &self,
        cut: impl FnOnce(&MatrixBlock) -> Result<Arc<Dataset>>,
    ) -> Result<Arc<Dataset>> {
        get_or_make(&self.0.striped, || cut(&self.0.block))
    }

    /// Whether it was cut into stripes.
    pub fn is_striped(&self) -> bool {
        let striped = self.0.striped.lock();
        striped.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Whether it is the very same matrix.
    pub fn is(&self, other: &LocalMatrix) -> bool {
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
