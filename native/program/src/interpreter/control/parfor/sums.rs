//! Matrices that iterations add to with `+=`.
//!
//! Each iteration starts from zeros, and its sum is added to the matrix when all iterations before it have been, so that
//! rounding does not depend on which thread is how fast. To a matrix on the workers several are added in one pass.

use std::collections::BTreeMap;

use fulgurite_dataflow::{DistributedMatrix, LocalMatrix, Variable};
use fulgurite_distributed::{comes_back, dense_bytes};
use fulgurite_error::{Error, Result};
use fulgurite_matrix::{MatrixBlock, kernels};

use crate::{
    interpreter::{context::Context, written},
    session::Session,
    symbols::SymbolTable,
};

/// So many sums wait for each other at most: those of workers are kept there meanwhile.
const MOST_WAITING: usize = 8;

/// What a matrix has become so far.
pub(super) enum Sum {
    Here(MatrixBlock),
    There {
        sum: DistributedMatrix,
        waiting: Vec<Variable>,
        added: u64,
        passes: u64,
    },
}

impl Sum {
    /// # Errors
    /// `internal`, for a scalar.
    pub fn start(matrix: &Variable, session: &Session) -> Result<Self> {
        match matrix {
            Variable::Matrix(matrix) => Ok(Sum::Here(matrix.block().clone())),
            Variable::Distributed(sum) => Ok(Sum::there(session.workers()?.lying(sum, false)?)),
            Variable::Written(written) => Sum::start(&written::whole(written, session)?, session),
            Variable::Scalar(_) | Variable::List(_) | Variable::Frame(_) | Variable::Range(_) => {
                Err(Error::internal(
                    "what is no matrix is summed up as a matrix",
                ))
            }
        }
    }

    fn there(sum: DistributedMatrix) -> Self {
        Sum::There {
            sum,
            waiting: Vec::new(),
            added: 0,
            passes: 0,
        }
    }

    /// Bytes in this process.
    pub fn bytes(&self) -> u64 {
        match self {
            Sum::Here(sum) => sum.memory_bytes() as u64,
            Sum::There { waiting, .. } => bytes_here(waiting),
        }
    }

    /// Adds what the next iteration has summed up.
    ///
    /// # Errors
    /// `dimension`, for another shape; of the backend.
    pub fn add(&mut self, own: Variable, context: &Context) -> Result<()> {
        let session = &context.session;
        if let (Sum::Here(sum), Variable::Distributed(addend)) = (&*self, &own)
            && !fits_here(sum, addend, session)
        {
            let here = Variable::matrix(sum.clone());
            *self = Sum::there(session.workers()?.distributed(&here)?);
        }
        match self {
            Sum::Here(sum) => {
                let addend = match own {
                    Variable::Distributed(addend) => addend.collect()?,
                    Variable::Matrix(addend) => addend,
                    Variable::Scalar(_)
                    | Variable::List(_)
                    | Variable::Frame(_)
                    | Variable::Written(_)
                    | Variable::Range(_) => return Err(no_matrix()),
                };
                let threads = &context.threads;
                let add = || kernels::binary((&*sum).into(), addend.block().into(), |x, y| x + y);
                *sum = threads.run(add)?;
            }
            Sum::There { sum, waiting, .. } => {
                let (known, shape) = (sum.characteristics(), own.characteristics());
                if (known.rows, known.cols) != (shape.rows, shape.cols) {
                    return Err(Error::dimension(format!(
                        "a {shape} matrix is added to a {known} matrix"
                    )));
                }
                waiting.push(own);
                let is_much = bytes_here(waiting) > session.config.memory_local / 8;
                if waiting.len() >= MOST_WAITING || is_much {
                    self.add_waiting(session)?;
                }
            }
        }
        Ok(())
    }

    fn add_waiting(&mut self, session: &Session) -> Result<()> {
        let Sum::There {
            sum,
            waiting,
            added,
            passes,
        } = self
        else {
            return Ok(());
        };
        if waiting.is_empty() {
            return Ok(());
        }
        *added += waiting.len() as u64;
        *passes += 1;
        let mut all = session.workers()?.add_in_order(sum, waiting)?;
        all.persist()?;
        *sum = all;
        waiting.clear();
        Ok(())
    }

    /// The matrix with all sums in it, and how they were added, if that took jobs.
    ///
    /// # Errors
    /// Of the backend.
    pub fn finish(mut self, session: &Session) -> Result<(Variable, Option<String>)> {
        self.add_waiting(session)?;
        Ok(match self {
            Sum::Here(sum) => (Variable::matrix(sum), None),
            Sum::There {
                sum, added, passes, ..
            } => {
                let text = format!("{} added in {}", many(added, "sum"), many(passes, "pass"));
                (Variable::Distributed(sum), (added > 0).then_some(text))
            }
        })
    }
}

fn bytes_here(addends: &[Variable]) -> u64 {
    let of = |addend: &Variable| match addend {
        Variable::Matrix(matrix) => matrix.block().memory_bytes() as u64,
        _ => 0,
    };
    addends.iter().map(of).fold(0, u64::saturating_add)
}

fn fits_here(sum: &MatrixBlock, addend: &DistributedMatrix, session: &Session) -> bool {
    let added = addend.stripes.memory_bytes();
    let before = sum.memory_bytes() as u64;
    let after = dense_bytes(sum);
    let together = added.map(|added| added.saturating_add(before).saturating_add(after));
    comes_back(added, &session.config)
        || together.is_some_and(|together| together <= session.config.memory_local)
}

fn no_matrix() -> Error {
    Error::internal("what iterations sum up is no matrix")
}

/// `1 pass`, `3 passes`.
pub(super) fn many(count: u64, what: &str) -> String {
    match (count, what) {
        (1, _) => format!("1 {what}"),
        (_, "pass") => format!("{count} passes"),
        _ => format!("{count} {what}s"),
    }
}

/// What iterations start from: zeros in the shapes of the matrices that they sum up.
#[derive(Debug, Clone, Default)]
pub(super) struct Zeros(BTreeMap<String, LocalMatrix>);

impl Zeros {
    pub fn of(shapes: &BTreeMap<String, (usize, usize)>) -> Result<Self> {
        let zeros = shapes.iter().map(|(name, (rows, cols))| {
            let zeros = kernels::fill(0.0, *rows, *cols)?;
            Ok((name.clone(), LocalMatrix::new(zeros)))
        });
        zeros.collect::<Result<_>>().map(Zeros)
    }

    /// Rows and columns of the matrices.
    pub fn shapes(&self) -> BTreeMap<String, (usize, usize)> {
        let shape = |zeros: &LocalMatrix| (zeros.block().rows(), zeros.block().cols());
        let zeros = self.0.iter();
        zeros
            .map(|(name, zeros)| (name.clone(), shape(zeros)))
            .collect()
    }

    pub fn begin_iteration(&self, symbols: &mut SymbolTable) {
        for (name, zeros) in &self.0 {
            symbols.set(name, Variable::Matrix(zeros.clone()));
        }
    }

    /// Takes what the iteration has summed up.
    ///
    /// # Errors
    /// Validation, for what became a scalar.
    pub fn end_iteration(&self, symbols: &mut SymbolTable) -> Result<BTreeMap<String, Variable>> {
        let mut sums = BTreeMap::new();
        for name in self.0.keys() {
            let own = symbols.take(name)?;
            if own.is_scalar() {
                return Err(Error::validation(format!(
                    "'{name}' is a matrix that iterations sum up, and became a scalar"
                )));
            }
            sums.insert(name.clone(), own);
        }
        Ok(sums)
    }
}
