//! `removeEmpty`: workers drop rows of their stripes, which then find their places anew; columns are chosen by all
//! stripes together and dropped from each.

use std::collections::BTreeMap;

use fulgurite_dataflow::{Combine, DistributedMatrix, LocalMatrix, Variable, Whole};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, Formulas, scalar};
use fulgurite_matrix::{MatrixBlock, kernels};

use super::{generate, size};
use crate::{operator::Operator, row_wise::Slot, task_builder::TaskBuilder, workers::Workers};

pub(super) fn remove_empty(
    workers: &Workers,
    operator: &Operator,
    places: &BTreeMap<String, usize>,
    inputs: &[Variable],
) -> Result<Variable> {
    let named = |name: &str| places.get(name).and_then(|place| inputs.get(*place));
    let missing = |name: &str| Error::argument(format!("the parameter '{name}' is missing"));
    let target = named("target").ok_or_else(|| missing("target"))?;
    let matrix = workers.distributed(target)?;
    let margin = named("margin").ok_or_else(|| missing("margin"))?;
    // FALSE asks for a matrix without rows (columns) where none is left.
    let empty_return = match named("empty.return") {
        Some(value) => scalar::truth(value.as_scalar()?)?,
        None => true,
    };
    let removal = Removal {
        workers,
        operator,
        matrix,
        select: named("select"),
        empty_return,
    };
    match margin.as_scalar()?.to_string().as_str() {
        "rows" => removal.rows(),
        "cols" => removal.columns(),
        other => Err(
            Error::argument(format!("removeEmpty knows no margin '{other}'"))
                .with_help("margin is \"rows\" or \"cols\""),
        ),
    }
}

struct Removal<'a> {
    workers: &'a Workers<'a>,
    operator: &'a Operator<'a>,
    matrix: DistributedMatrix,
    select: Option<&'a Variable>,
    empty_return: bool,
}

impl Removal<'_> {
    fn rows(&self) -> Result<Variable> {
        let (rows, cols) = self.dims()?;
        let select = self
            .select
            .map(|select| self.as_column(select, rows))
            .transpose()?;
        let mut builder = TaskBuilder::new(self.workers, &self.matrix);
        let stripe = builder.lead();
        let select = select
            .map(|select| builder.bind(Slot::Rows, &select))
            .transpose()?;
        let root = builder.kept_rows(stripe, select, true);
        let left = self
            .workers
            .placed(&builder.map(root, self.operator.label)?)?;
        if left.stripes.rows == Some(0) {
            let height = u64::from(self.empty_return);
            return Ok(Variable::matrix(zeros(height, cols)?));
        }
        Ok(Variable::Distributed(left))
    }

    fn columns(&self) -> Result<Variable> {
        let (rows, cols) = self.dims()?;
        let select = match self.select {
            Some(select) => {
                self.check_length(select, cols)?;
                self.on_driver(select)?
            }
            None => LocalMatrix::new(self.non_zeros_of_columns()?),
        };
        let kept = select.block().nnz() as u64;
        if kept == 0 {
            let width = u64::from(self.empty_return);
            return generate::filled(self.workers, self.operator, 0.0, rows, width);
        }
        let mut builder = TaskBuilder::new(self.workers, &self.matrix);
        let stripe = builder.lead();
        let select = builder.bind(Slot::Whole, &Variable::Matrix(select))?;
        let root = builder.kept_columns(stripe, select);
        let dataset = builder.map(root, self.operator.label)?;
        let nnz = self
            .matrix
            .stripes
            .nnz
            .filter(|nnz| *nnz <= rows.saturating_mul(kept));
        let stripes = Characteristics::new(Some(rows), Some(kept), nnz);
        Ok(Variable::Distributed(DistributedMatrix::new(
            dataset, stripes,
        )))
    }

    fn dims(&self) -> Result<(u64, u64)> {
        let Characteristics { rows, cols, .. } = self.matrix.stripes;
        Ok((size(rows)?, size(cols)?))
    }

    /// For each column how many cells are not zero, NaN among them.
    fn non_zeros_of_columns(&self) -> Result<MatrixBlock> {
        let mut builder = TaskBuilder::new(self.workers, &self.matrix);
        let stripe = builder.lead();
        let zero = builder.number(0.0);
        let marked = builder.not_equal(stripe, zero);
        let root = builder.sums_of_columns(marked);
        builder.aggregate(root, &Combine::Sum, self.operator.label)
    }

    fn check_length(&self, select: &Variable, expected: u64) -> Result<()> {
        let known = select.characteristics();
        if known.cells() == Some(expected) && (known.rows == Some(1) || known.cols == Some(1)) {
            return Ok(());
        }
        let (rows, cols) = self.dims()?;
        Err(Error::dimension(format!(
            "removeEmpty on a {rows} x {cols} matrix needs a select vector of {expected} cells, not {} x {}",
            size(known.rows)?,
            size(known.cols)?
        )))
    }

    /// The vector with a cell for each row, so that stripes can be cut out of it.
    fn as_column(&self, select: &Variable, rows: u64) -> Result<Variable> {
        self.check_length(select, rows)?;
        match select {
            _ if select.characteristics().cols == Some(1) => Ok(select.clone()),
            other => {
                let row = self.on_driver(other)?;
                Ok(Variable::matrix(kernels::transpose(row.block())?))
            }
        }
    }

    fn on_driver(&self, select: &Variable) -> Result<LocalMatrix> {
        match select.whole()? {
            Whole::Matrix(matrix) => Ok(matrix.clone()),
            Whole::Distributed(matrix) => self.workers.collected(matrix),
            Whole::Scalar(_) => Err(Error::internal("a scalar stands where a vector is needed")),
        }
    }
}

fn zeros(rows: u64, cols: u64) -> Result<MatrixBlock> {
    let size = |size| {
        usize::try_from(size).map_err(|_| Error::memory("a matrix too large for this machine"))
    };
    kernels::fill(0.0, size(rows)?, size(cols)?)
}
