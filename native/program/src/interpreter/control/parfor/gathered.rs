//! What iterations leave that is gathered in their order: [`sums`](super::sums), and parts of matrices of the workers
//! ([`writes`](super::writes)).

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use fulgurite_dataflow::{OnBehalf, Part, Variable, WrittenMatrix};
use fulgurite_error::Result;
use fulgurite_hop::Parallel;
use fulgurite_matrix::{CoordinateMatrix, MatrixBlock};

use super::{
    sums::{Sum, Zeros},
    writes::{self, Change, Written},
};
use crate::{
    interpreter::{context::Context, written},
    symbols::SymbolTable,
};

/// Rows and columns of matrices.
pub(super) type Shapes = BTreeMap<String, (usize, usize)>;

/// What each iteration starts from.
#[derive(Debug, Clone, Default)]
pub(super) struct Start {
    zeros: Zeros,
    written: BTreeMap<String, WrittenMatrix>,
}

/// What one iteration has left.
#[derive(Default)]
pub(super) struct Own {
    sums: BTreeMap<String, Variable>,
    changes: BTreeMap<String, Change>,
}

impl Start {
    /// Of iterations that sum up matrices of these shapes, and only write into others, in a task.
    pub fn of_task(sums: &Shapes, written: &Shapes) -> Result<Self> {
        // Nobody reads what they are written over.
        let unread = |(name, (rows, cols)): (&String, &(usize, usize))| {
            let cells = CoordinateMatrix::new(*rows, *cols, Vec::new(), Vec::new(), Vec::new())?;
            let matrix = Variable::matrix(MatrixBlock::Coordinate(cells));
            Ok((name.clone(), WrittenMatrix::new(&matrix)))
        };
        Ok(Start {
            zeros: Zeros::of(sums)?,
            written: written.iter().map(unread).collect::<Result<_>>()?,
        })
    }

    /// Rows and columns of the matrices that are summed up.
    pub fn shapes_of_sums(&self) -> Shapes {
        self.zeros.shapes()
    }

    /// Whether an iteration leaves parts of this matrix, in place of a copy.
    pub fn keeps_parts_of(&self, name: &str) -> bool {
        self.written.contains_key(name)
    }

    fn without_parts_of(&self, names: &[String]) -> Self {
        let mut start = self.clone();
        start.written.retain(|name, _| !names.contains(name));
        start
    }

    pub fn begin_iteration(&self, symbols: &mut SymbolTable) {
        self.zeros.begin_iteration(symbols);
        for (name, written) in &self.written {
            symbols.set(name, Variable::Written(written.clone()));
        }
    }

    /// Takes what the iteration leaves.
    ///
    /// # Errors
    /// Validation, where a matrix that is summed up became a scalar.
    pub fn end_iteration(&self, symbols: &mut SymbolTable) -> Result<Own> {
        let sums = self.zeros.end_iteration(symbols)?;
        let mut changes = BTreeMap::new();
        for (name, start) in &self.written {
            let left = symbols.take(name)?;
            // As of other results: a scalar is not one.
            if !left.is_scalar() {
                changes.insert(name.clone(), writes::change(start, left));
            }
        }
        Ok(Own { sums, changes })
    }
}

impl Own {
    pub fn add_sum(&mut self, name: String, sum: MatrixBlock) {
        self.sums.insert(name, Variable::matrix(sum));
    }

    /// Behind those that are there.
    pub fn add_part(&mut self, name: String, part: Part) {
        match self
            .changes
            .entry(name)
            .or_insert(Change::Parts(Vec::new()))
        {
            Change::Parts(parts) => parts.push(part),
            // It has all cells, later ones too.
            Change::Replaced(_) => {}
        }
    }

    /// Matrices that were summed up, and what was written into others.
    pub fn into_sums_and_changes(self) -> (BTreeMap<String, Variable>, BTreeMap<String, Change>) {
        (self.sums, self.changes)
    }
}

/// What iterations have left so far.
pub(super) struct Gathered {
    /// Asks for what the workers do.
    label: Arc<str>,
    start: Arc<Start>,
    sums: BTreeMap<String, Sum>,
    written: BTreeMap<String, Written>,
    seconds: Duration,
}

impl Gathered {
    /// # Errors
    /// `memory`, for a matrix that is too large to be turned; of the backend.
    pub fn start(
        label: String,
        parallel: &Parallel,
        symbols: &SymbolTable,
        context: &Context,
    ) -> Result<Self> {
        let label: Arc<str> = label.into();
        let session = &context.session;
        let _on_behalf = OnBehalf::of(Arc::clone(&label));
        let mut sums = BTreeMap::new();
        let mut shapes = BTreeMap::new();
        for name in &parallel.accumulated {
            if let Some(matrix) = symbols.find(name).filter(|value| !value.is_scalar()) {
                let known = matrix.characteristics();
                let size = |size: Option<u64>| size.and_then(|size| usize::try_from(size).ok());
                if let (Some(rows), Some(cols)) = (size(known.rows), size(known.cols)) {
                    shapes.insert(name.clone(), (rows, cols));
                    sums.insert(name.clone(), Sum::start(matrix, session)?);
                }
            }
        }
        let mut written = BTreeMap::new();
        for name in &parallel.results {
            if let Some(matrix) = symbols.find(name)
                && !sums.contains_key(name)
                && written::is_kept(matrix, session)
            {
                written.insert(name.clone(), Written::start(matrix));
            }
        }
        let starts = written.iter();
        let start = Start {
            zeros: Zeros::of(&shapes)?,
            written: starts
                .map(|(name, written): (&String, &Written)| {
                    (name.clone(), written.iterations_start())
                })
                .collect(),
        };
        Ok(Gathered {
            label,
            start: Arc::new(start),
            sums,
            written,
            seconds: Duration::ZERO,
        })
    }

    pub fn iterations_start(&self) -> Arc<Start> {
        Arc::clone(&self.start)
    }

    /// Whether parts are kept that may have to be put into a matrix of the workers.
    pub fn keeps_parts(&self) -> bool {
        !self.written.is_empty()
    }

    /// Bytes in this process.
    pub fn bytes(&self) -> u64 {
        let sums = self.sums.values().map(Sum::bytes);
        let written = self.written.values().map(Written::bytes);
        sums.chain(written).fold(0, u64::saturating_add)
    }

    /// Takes what the next iteration in their order has left.
    ///
    /// # Errors
    /// Of the backend, and where it does not fit what was there.
    pub fn add(&mut self, own: Own, context: &Context) -> Result<()> {
        let _on_behalf = OnBehalf::of(Arc::clone(&self.label));
        let started = Instant::now();
        for (name, sum) in own.sums {
            if let Some(all) = self.sums.get_mut(&name) {
                all.add(sum, context)?;
            }
        }
        for (name, change) in own.changes {
            if let Some(written) = self.written.get_mut(&name) {
                written.add(&name, change, &context.session)?;
            }
        }
        self.seconds += started.elapsed();
        Ok(())
    }

    /// Puts what was written so far into its place, here, but for some matrices: from now on, the others are results like any other.
    ///
    /// # Errors
    /// Of the backend.
    pub fn settle_written(
        &mut self,
        but_for: &Shapes,
        symbols: &mut SymbolTable,
        context: &Context,
    ) -> Result<()> {
        let _on_behalf = OnBehalf::of(Arc::clone(&self.label));
        let is_settled = |name: &String, _: &mut Written| !but_for.contains_key(name);
        let settled: Vec<_> = self.written.extract_if(.., is_settled).collect();
        let names: Vec<String> = settled.iter().map(|(name, _)| name.clone()).collect();
        self.start = Arc::new(self.start.without_parts_of(&names));
        for (name, written) in settled {
            let (value, _) = written.finish(&context.session)?;
            let value = match value {
                Variable::Distributed(matrix) => Variable::Matrix(matrix.collect()?),
                other => other,
            };
            symbols.set(name, value);
        }
        Ok(())
    }

    /// Leaves everything in the variables. Gives what the report says of it.
    ///
    /// # Errors
    /// Of the backend.
    pub fn leave(self, symbols: &mut SymbolTable, context: &mut Context) -> Result<Option<String>> {
        let _on_behalf = OnBehalf::of(Arc::clone(&self.label));
        let started = Instant::now();
        let mut texts = Vec::new();
        let mut set = |name: String, (value, text): (Variable, Option<String>)| {
            texts.extend(text.map(|text| format!("'{name}': {text}")));
            symbols.set(name, value);
        };
        for (name, sum) in self.sums {
            set(name, sum.finish(&context.session)?);
        }
        for (name, written) in self.written {
            set(name, written.finish(&context.session)?);
        }
        if texts.is_empty() {
            return Ok(None);
        }
        let elapsed = self.seconds + started.elapsed();
        context
            .recorder
            .lock()
            .operator(&self.label, true, elapsed, None);
        Ok(Some(texts.join(", ")))
    }
}
