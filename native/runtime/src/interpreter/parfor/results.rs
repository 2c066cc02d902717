//! What a `parfor` leaves.

use std::collections::{BTreeMap, BTreeSet};

use fulgurite_error::{Error, Result};
use fulgurite_hop::BinaryOp;
use fulgurite_matrix::{
    MatrixBlock,
    arrow_block::Block,
    kernels::{self, IndexRange},
};

use crate::interpreter::{LocalMatrix, SymbolTable, Variable};

/// Matrices that iterations add to with `+=`. Each iteration starts from zeros, and its sum is added to the matrix when all
/// iterations before it have been, so that rounding does not depend on which thread is how fast.
#[derive(Debug, Default)]
pub(super) struct Sums(BTreeMap<String, MatrixBlock>);

/// The sums of one iteration.
#[derive(Debug)]
pub(super) struct SumsOfIteration(BTreeMap<String, MatrixBlock>);

impl SumsOfIteration {
    pub fn new(matrices: BTreeMap<String, MatrixBlock>) -> Self {
        SumsOfIteration(matrices)
    }

    pub fn into_matrices(self) -> BTreeMap<String, MatrixBlock> {
        self.0
    }
}

impl Sums {
    /// Takes the matrices' values from before the loop. Distributed ones are left to what `for` does.
    pub fn start(names: &BTreeSet<String>, symbols: &SymbolTable) -> Self {
        let mut sums = BTreeMap::new();
        for name in names {
            if let Some(Variable::Matrix(matrix)) = symbols.find(name) {
                sums.insert(name.clone(), matrix.block().clone());
            }
        }
        Sums(sums)
    }

    /// Zeros in the shapes of the matrices, for iterations whose sums are added elsewhere.
    pub fn from_zeros(shapes: &BTreeMap<String, (usize, usize)>) -> Result<Self> {
        let sums = shapes.iter();
        sums.map(|(name, (rows, cols))| Ok((name.clone(), kernels::fill(0.0, *rows, *cols)?)))
            .collect::<Result<_>>()
            .map(Sums)
    }

    /// Rows and columns of the matrices.
    pub fn shapes(&self) -> BTreeMap<String, (usize, usize)> {
        let sums = self.0.iter();
        sums.map(|(name, sum)| (name.clone(), (sum.rows(), sum.cols())))
            .collect()
    }

    pub fn bytes(&self) -> u64 {
        self.0.values().map(|sum| sum.memory_bytes() as u64).sum()
    }

    /// An iteration starts from zeros.
    pub fn begin_iteration(&self, symbols: &mut SymbolTable) -> Result<()> {
        for (name, sum) in &self.0 {
            symbols.set(
                name,
                Variable::matrix(kernels::fill(0.0, sum.rows(), sum.cols())?),
            );
        }
        Ok(())
    }

    /// Takes what the iteration has summed up.
    pub fn end_iteration(&self, symbols: &mut SymbolTable) -> Result<SumsOfIteration> {
        let mut sums = BTreeMap::new();
        for name in self.0.keys() {
            let own = match symbols.take(name)? {
                Variable::Matrix(matrix) => matrix.into_block(),
                Variable::Distributed(matrix) => matrix.collect()?.into_block(),
                Variable::Scalar(_) => {
                    return Err(Error::validation(format!(
                        "'{name}' is a matrix that iterations sum up, and became a scalar"
                    )));
                }
            };
            sums.insert(name.clone(), own);
        }
        Ok(SumsOfIteration(sums))
    }

    pub fn add(&mut self, iteration: SumsOfIteration) -> Result<()> {
        for (name, own) in iteration.0 {
            if let Some(sum) = self.0.get_mut(&name) {
                let plus = |x, y| BinaryOp::Plus.eval(x, y);
                *sum = kernels::binary((&*sum).into(), (&own).into(), plus)?;
            }
        }
        Ok(())
    }

    /// Writes the sums where they were.
    pub fn leave(self, symbols: &mut SymbolTable) {
        for (name, sum) in self.0 {
            symbols.set(name, Variable::matrix(sum));
        }
    }
}

/// What a task on a worker did to a result.
pub(super) enum Change {
    /// Nothing has changed outside of this part.
    Part(Block),
    /// It has other sizes now.
    Replaced(MatrixBlock),
}

/// A result from what tasks did to it, each in cells of its own.
///
/// # Errors
/// As [`merged`].
pub(super) fn with_changes(
    name: &str,
    original: &LocalMatrix,
    changes: Vec<Change>,
) -> Result<LocalMatrix> {
    let is_part = |change: &Change| matches!(change, Change::Part(_));
    if !changes.iter().all(is_part) {
        let copies = changes.into_iter().map(|change| match change {
            Change::Part(part) => put(original.block().clone(), &part),
            Change::Replaced(matrix) => Ok(matrix),
        });
        let copies = copies.map(|copy| copy.map(LocalMatrix::new));
        return merged(name, original, copies.collect::<Result<_>>()?);
    }
    let parts = changes.into_iter().filter_map(|change| match change {
        Change::Part(part) => Some(part),
        Change::Replaced(_) => None,
    });
    let parts: Vec<Block> = parts.collect();
    let apart = parts
        .iter()
        .enumerate()
        .all(|(index, part)| parts[..index].iter().all(|other| !overlap(part, other)));
    if parts.is_empty() {
        return Ok(original.clone());
    }
    let mut result = original.block().clone();
    for part in &parts {
        result = match apart {
            true => put(result, part)?,
            // Cells that this task left alone are another one's.
            false => {
                let changed = put(original.block().clone(), part)?;
                kernels::merge_changes(result, original.block(), &changed)?
            }
        };
    }
    Ok(LocalMatrix::new(result))
}

/// The matrix with the cells of the part in its place.
fn put(matrix: MatrixBlock, part: &Block) -> Result<MatrixBlock> {
    let range = |offset: u64, length: usize| {
        let first = offset as i64 + 1;
        IndexRange::new(first, first + length as i64 - 1)
    };
    let rows = range(part.row_offset, part.matrix.rows());
    let cols = range(part.column_offset, part.matrix.cols());
    kernels::left_index(matrix, &part.matrix, rows, cols)
}

fn overlap(one: &Block, other: &Block) -> bool {
    let meet = |from: u64, length: usize, other_from: u64, other_length: usize| {
        from < other_from + other_length as u64 && other_from < from + length as u64
    };
    let (a, b) = (&one.matrix, &other.matrix);
    meet(one.row_offset, a.rows(), other.row_offset, b.rows())
        && meet(one.column_offset, a.cols(), other.column_offset, b.cols())
}

/// A result from the copies that threads wrote into, each in cells of its own.
///
/// # Errors
/// `runtime`, when several assigned it whole and with other sizes.
pub(super) fn merged(
    name: &str,
    original: &LocalMatrix,
    copies: Vec<LocalMatrix>,
) -> Result<LocalMatrix> {
    let mut changed = copies.into_iter().filter(|copy| !copy.is(original));
    let Some(first) = changed.next() else {
        return Ok(original.clone());
    };
    let others: Vec<LocalMatrix> = changed.collect();
    if others.is_empty() {
        return Ok(first);
    }
    let mut merged = first.into_block();
    for other in others {
        merged =
            kernels::merge_changes(merged, original.block(), other.block()).map_err(|error| {
                Error::runtime(format!(
                    "iterations of the parfor left '{name}' with other sizes: {}",
                    error.message()
                ))
                .with_help("write into parts of it, or write `for`")
            })?;
    }
    Ok(LocalMatrix::new(merged))
}
