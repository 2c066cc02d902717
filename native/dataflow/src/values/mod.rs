//! The values of a control program: scalars, matrices here, matrices on the workers, frames, lists, and matrices with parts that are not
//! in their places yet. They know each other: a matrix that is here remembers its stripes, a dataset what was collected.
//!
//! - `handles`: owners of what a backend holds.
//! - `list`: lists of values.
//! - `written`: matrices that were written into.

mod handles;
mod list;
mod written;

use std::sync::{Arc, Mutex, PoisonError};

use fulgurite_error::{Error, Result};
use fulgurite_frame::Frame;
use fulgurite_hop::{Characteristics, Literal, VariableInfo};
use fulgurite_matrix::{MatrixBlock, kernels::DenseRange};
use fulgurite_operators::Value;

pub use handles::{Broadcast, Cut, Dataset, DistributedMatrix, Lineage, Partitioning, incomplete};
pub use list::{Element, List};
pub use written::{Part, PartValue, Waiting, WrittenMatrix};

/// A value that a variable or an operator's result has.
#[derive(Debug, Clone)]
pub enum Variable {
    Scalar(Literal),
    Matrix(LocalMatrix),
    Distributed(DistributedMatrix),
    List(List),
    /// Here: workers have none.
    Frame(Frame),
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

    /// For messages: "a matrix".
    pub fn kind(&self) -> &'static str {
        match self {
            Variable::Scalar(_) => "a scalar",
            Variable::List(_) => "a list",
            Variable::Frame(_) => "a frame",
            Variable::Matrix(_)
            | Variable::Distributed(_)
            | Variable::Written(_)
            | Variable::Range(_) => "a matrix",
        }
    }

    /// Whether it is a scalar.
    pub fn is_scalar(&self) -> bool {
        matches!(self, Variable::Scalar(_))
    }

    /// Whether it is the very same value: of matrices and lists the same object.
    pub fn is(&self, other: &Variable) -> bool {
        match (self, other) {
            (Variable::Scalar(left), Variable::Scalar(right)) => left.is(right),
            (Variable::Matrix(left), Variable::Matrix(right)) => left.is(right),
            (Variable::List(left), Variable::List(right)) => left.is(right),
            (Variable::Frame(left), Variable::Frame(right)) => left.is(right),
            (Variable::Distributed(left), Variable::Distributed(right)) => {
                Arc::ptr_eq(&left.dataset, &right.dataset) && left.transposed == right.transposed
            }
            _ => false,
        }
    }

    /// The matrix that is here.
    pub fn into_matrix(self) -> Option<LocalMatrix> {
        match self {
            Variable::Matrix(matrix) => Some(matrix),
            _ => None,
        }
    }

    /// Whether workers have it.
    pub fn is_distributed(&self) -> bool {
        match self {
            Variable::Distributed(_) => true,
            Variable::Written(written) => written.base().is_distributed(),
            Variable::List(list) => {
                let mut elements = list.elements().iter();
                elements.any(|element| element.value.is_distributed())
            }
            Variable::Scalar(_) | Variable::Matrix(_) | Variable::Frame(_) | Variable::Range(_) => {
                false
            }
        }
    }

    /// Sizes, as far as they are known.
    pub fn characteristics(&self) -> Characteristics {
        match self {
            Variable::Scalar(_) => Characteristics::SCALAR,
            Variable::Matrix(matrix) => matrix.characteristics(),
            Variable::Distributed(matrix) => matrix.characteristics(),
            Variable::List(list) => Characteristics::dims(list.len() as u64, 1),
            Variable::Frame(frame) => {
                Characteristics::dims(frame.rows() as u64, frame.cols() as u64)
            }
            Variable::Written(written) => written.characteristics(),
            Variable::Range(range) => {
                Characteristics::dims(range.rows() as u64, range.cols() as u64)
            }
        }
    }

    /// What is known of it: of a scalar its value.
    pub fn info(&self) -> VariableInfo {
        match self {
            Variable::Scalar(value) => VariableInfo::constant(value.clone()),
            Variable::List(_) => VariableInfo::list(),
            Variable::Frame(_) => VariableInfo::frame(self.characteristics()),
            matrix => VariableInfo::matrix(matrix.characteristics()),
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
            Variable::List(_) => Err(Error::validation(
                "a list stands where a matrix or a scalar is needed",
            )
            .with_help("as.matrix(l[i]) and as.scalar(l[i]) give an element of a list")),
            Variable::Frame(_) => Err(Error::validation(
                "a frame stands where a matrix or a scalar is needed",
            )
            .with_help(FROM_FRAME)),
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
            Variable::List(_) => Err(Error::validation("a list stands where a scalar is needed")
                .with_help("take an element of it with as.scalar(l[i])")),
            Variable::Frame(_) => Err(Error::validation("a frame stands where a scalar is needed")
                .with_help("take one cell out of it with as.scalar(F[i, j])")),
            _ => Err(
                Error::validation("a matrix stands where a scalar is needed")
                    .with_help("take one cell out of it with as.scalar()"),
            ),
        }
    }
}

/// How a frame becomes something else.
const FROM_FRAME: &str =
    "as.matrix() makes a matrix of a frame of numbers, transformencode() of categories";

impl From<Value> for Variable {
    fn from(value: Value) -> Self {
        match value {
            Value::Matrix(block) => Variable::matrix(block),
            Value::Range(range) => Variable::Range(range),
            Value::Scalar(literal) => Variable::Scalar(literal),
        }
    }
}

/// A matrix in this process. It remembers that it was broadcast, cut into stripes or compressed, so that this happens once.
#[derive(Debug, Clone)]
pub struct LocalMatrix(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    block: MatrixBlock,
    broadcast: Mutex<Option<Arc<Broadcast>>>,
    striped: Mutex<Option<Arc<Dataset>>>,
    compressed: Mutex<Option<LocalMatrix>>,
}

impl LocalMatrix {
    pub fn new(block: MatrixBlock) -> Self {
        LocalMatrix(Arc::new(Shared {
            block,
            broadcast: Mutex::new(None),
            striped: Mutex::new(None),
            compressed: Mutex::new(None),
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
            other => known.with_nnz(other.stored() as u64),
        }
    }

    /// What was broadcast of this matrix, or what `send` now broadcasts: workers get matrices that are not compressed.
    pub fn broadcast(
        &self,
        send: impl FnOnce(&MatrixBlock) -> Result<Arc<Broadcast>>,
    ) -> Result<Arc<Broadcast>> {
        get_or_make(&self.0.broadcast, || send(&*self.0.block.plain()?))
    }

    /// The stripes that this matrix was cut into, or that `cut` now cuts.
    pub fn striped(
        &self,
        cut: impl FnOnce(&MatrixBlock) -> Result<Arc<Dataset>>,
    ) -> Result<Arc<Dataset>> {
        get_or_make(&self.0.striped, || cut(&*self.0.block.plain()?))
    }

    /// The same cells in column groups, which `compress` makes the first time.
    ///
    /// # Errors
    /// Of the function.
    pub fn compressed(
        &self,
        compress: impl FnOnce(&MatrixBlock) -> Result<MatrixBlock>,
    ) -> Result<LocalMatrix> {
        let compressed = self.0.compressed.lock();
        let mut compressed = compressed.unwrap_or_else(PoisonError::into_inner);
        match &*compressed {
            Some(known) => Ok(known.clone()),
            None => {
                let made = LocalMatrix::new(compress(&self.0.block)?);
                *compressed = Some(made.clone());
                Ok(made)
            }
        }
    }

    /// Whether it was cut into stripes.
    pub fn is_striped(&self) -> bool {
        let striped = self.0.striped.lock();
        striped.unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The same for clones, and another one for every other matrix that is there.
    pub fn address(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
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
