//! Compiled scalar code: loops and functions whose values are all scalars, or cells of matrices that are here.
//!
//! A planned block costs microseconds, whatever it computes. A loop over scalars is therefore compiled as a whole, for
//! the types that its variables have when the run comes to it, into instructions over registers. It gives the same bits
//! and the same errors as the blocks one by one: the arithmetic is [`fulgurite_hop::scalar`]'s, or is what that says of
//! the types at hand. What has other values, strings and whole matrices above all, is no code, and runs block by block.
//!
//! - `instructions`: the instructions and their tables.
//! - `flow`: blocks as a graph.
//! - `registers`, `emitter`: what code is made with.
//! - `straight`: the code of one block.
//! - `scan`: which blocks may be code at all.
//! - `compile`: the code of a graph, for each combination of types that comes up.
//! - `machine`: runs code.
//!
//! Start with [`ScalarCode::run`].

mod compile;
mod emitter;
mod flow;
mod instructions;
mod machine;
mod registers;
mod scan;
mod straight;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use fulgurite_dataflow::{LocalMatrix, Variable};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Block, Dag, Program};
use fulgurite_matrix::{Layout, MatrixBlock};
use fulgurite_operators::panics;

use self::{
    compile::{Facts, compile},
    flow::Flow,
    instructions::{Code, Kind, Matrix, Register},
    machine::{Cells, Host, Values},
};
use super::context::Context;
use crate::{session::Session, symbols::SymbolTable};

/// Code that is kept of a region.
const CODES_PER_REGION: usize = 8;
/// A region is given up that so many times, for other types or sizes each, was no code.
const MOST_REFUSALS: u32 = 4;
/// A sparse matrix that code writes into becomes a dense one meanwhile, if that takes no more than this.
const MOST_DENSE_BYTES: u64 = 32 << 20;
/// Calls of functions are compiled when they have come so often: most come once.
const CALLS_BEFORE: u32 = 8;

/// The code of an execution. What runs its iterations beside each other shares it.
#[derive(Default)]
pub(super) struct ScalarCode {
    /// By the block's address, which is stable while the program runs.
    regions: Mutex<HashMap<usize, Arc<Region>>>,
}

/// A loop, or a call.
struct Region {
    /// In the order of registers; nothing where it is no code.
    variables: Vec<String>,
    label: Arc<str>,
    codes: Mutex<Codes>,
}

#[derive(Default)]
struct Codes {
    /// How often the run has come here without code.
    seen: u32,
    /// How often nothing was made.
    refused: u32,
    /// Of types and matrices, most recently used first; nothing where they make no code.
    made: Vec<(Entry, Option<Arc<Code>>)>,
}

/// What code is made for.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    kinds: Vec<Kind>,
    matrices: Vec<Matrix>,
}

impl ScalarCode {
    /// Runs a loop or a call if it is code; says whether it was.
    ///
    /// # Errors
    /// As the blocks one by one.
    pub(super) fn run(
        &self,
        block: &Block,
        label: impl FnOnce() -> String,
        program: &Program,
        call_depth: usize,
        symbols: &mut SymbolTable,
        context: &mut Context,
    ) -> Result<bool> {
        if !context.session.config.scalar_code {
            return Ok(false);
        }
        let region = self.region(block, label, program);
        if region.variables.is_empty() {
            return Ok(false);
        }
        let entry = region.entry(symbols, context);
        let Some(code) = region.code(block, &entry, program, context) else {
            return Ok(false);
        };
        let started = Instant::now();
        let ran = panics::caught(|| region.run(&code, &entry, call_depth, symbols, context));
        let elapsed = started.elapsed();
        context
            .recorder
            .lock()
            .operator(&region.label, false, elapsed, None);
        ran.map(|()| true)
    }

    fn region(
        &self,
        block: &Block,
        label: impl FnOnce() -> String,
        program: &Program,
    ) -> Arc<Region> {
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        let region = regions.entry(std::ptr::from_ref(block).addr());
        let region = region.or_insert_with(|| {
            let blocks = std::slice::from_ref(block);
            let flow =
                scan::may_be_code(blocks, program, &|_| true).then(|| Flow::of(blocks, program));
            let variables = flow.flatten().map(|flow| flow.variables);
            let variables = variables.unwrap_or_default();
            Arc::new(Region {
                variables: variables.into_iter().map(str::to_owned).collect(),
                label: format!("compiled {}", label()).into(),
                codes: Mutex::default(),
            })
        });
        Arc::clone(region)
    }
}

/// Whether a loop would run as scalar code, as far as that can be said before a run.
pub fn expected_scalar_code(block: &Block, program: &Program, session: &Session) -> bool {
    let budget = session.config.memory_local;
    let fits = |dag: &Dag| {
        let mut matrices = dag.iter().filter(|(_, hop)| hop.is_matrix());
        matrices.all(|(_, hop)| {
            let bytes = hop.characteristics.memory_bytes();
            bytes.is_none_or(|bytes| bytes.saturating_mul(2) <= budget)
        })
    };
    session.config.scalar_code && scan::may_be_code(std::slice::from_ref(block), program, &fits)
}

impl Region {
    /// What the variables are.
    fn entry(&self, symbols: &SymbolTable, context: &Context) -> Entry {
        let mut matrices = Vec::new();
        let mut kind = |name: &String| match symbols.find(name) {
            None => Kind::Undefined,
            Some(Variable::Scalar(value)) => match registers::bits(value) {
                Some((kind, _)) => kind,
                None => Kind::Other,
            },
            Some(Variable::Matrix(matrix)) => {
                let known = known(matrix.block(), &context.session);
                match (known, u8::try_from(matrices.len())) {
                    (Some(known), Ok(place)) => {
                        matrices.push(known);
                        Kind::Matrix(place)
                    }
                    (None, _) | (_, Err(_)) => Kind::Other,
                }
            }
            Some(
                Variable::Distributed(_)
                | Variable::List(_)
                | Variable::Frame(_)
                | Variable::Written(_)
                | Variable::Range(_),
            ) => Kind::Other,
        };
        let kinds = self.variables.iter().map(&mut kind).collect();
        Entry { kinds, matrices }
    }

    /// The code for this, which is made where there is none.
    fn code(
        &self,
        block: &Block,
        entry: &Entry,
        program: &Program,
        context: &Context,
    ) -> Option<Arc<Code>> {
        let mut codes = self.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = codes.made.iter().position(|(known, _)| known == entry) {
            codes.made[..=place].rotate_right(1);
            return codes.made[0].1.clone();
        }
        codes.seen = codes.seen.saturating_add(1);
        let is_early = matches!(block, Block::Call { .. }) && codes.seen <= CALLS_BEFORE;
        if is_early || codes.refused >= MOST_REFUSALS {
            return None;
        }
        let facts = Facts {
            program,
            matrices: &entry.matrices,
            rewrites_off: &context.session.config.rewrites_off,
            dialect: context.session.config.dialect,
        };
        let flow = Flow::of(std::slice::from_ref(block), program)?;
        let started = Instant::now();
        let code = compile(flow, &entry.kinds, facts).map(Arc::new);
        tracing::debug!(
            label = &*self.label,
            instructions = code.as_ref().map(|code| code.instructions.len()),
            elapsed = ?started.elapsed(),
            "looked for scalar code"
        );
        codes.refused += u32::from(code.is_none());
        codes.made.truncate(CODES_PER_REGION - 1);
        codes.made.insert(0, (entry.clone(), code.clone()));
        code
    }

    fn run(
        &self,
        code: &Code,
        entry: &Entry,
        call_depth: usize,
        symbols: &mut SymbolTable,
        context: &mut Context,
    ) -> Result<()> {
        let variables = self.variables.iter().zip(&entry.kinds).enumerate();
        let mut values: Vec<(Register, u64)> = Vec::new();
        let mut held: Vec<Held> = Vec::new();
        for (place, (name, kind)) in variables {
            match kind {
                Kind::Undefined | Kind::Other => {}
                Kind::Double | Kind::Int | Kind::Boolean => {
                    if let Some((_, bits)) = registers::bits(symbols.get(name)?.as_scalar()?) {
                        values.push((register(place)?, bits));
                    }
                }
                Kind::Matrix(matrix) => held.push(Held::take(name, *matrix, code, symbols)?),
            }
        }
        context.meter.note(|| {
            let bytes = held.iter().map(Held::bytes);
            bytes.fold(0, u64::saturating_add)
        });
        let mut matrices: Vec<Cells> = held.iter_mut().map(Held::cells).collect();
        let ended = machine::run(code, &values, &mut matrices, call_depth, &*context)?;
        drop(matrices);
        let written = held.into_iter().map(Held::into_written);
        let mut written: Vec<Option<MatrixBlock>> = written.collect::<Result<_>>()?;
        let no_exit = || Error::internal("code ended in an unknown way");
        let kinds = code.exits.get(ended.exit as usize).ok_or_else(no_exit)?;
        for (name, (kind, bits)) in self
            .variables
            .iter()
            .zip(kinds.iter().zip(&ended.registers))
        {
            match kind {
                Kind::Undefined | Kind::Other => {}
                Kind::Matrix(matrix) => {
                    let written = written.get_mut(usize::from(*matrix));
                    if let Some(block) = written.and_then(Option::take) {
                        symbols.set(name, Variable::matrix(block));
                    }
                }
                Kind::Double | Kind::Int | Kind::Boolean => {
                    let value = registers::scalar(*kind, *bits);
                    symbols.set(name, Variable::Scalar(value.ok_or_else(no_exit)?));
                }
            }
        }
        Ok(())
    }
}

fn register(place: usize) -> Result<Register> {
    Register::try_from(place).map_err(|_| Error::internal("more variables than registers"))
}

/// What code may do with a matrix; nothing where operators on it may be for workers, or do not fit.
fn known(block: &MatrixBlock, session: &Session) -> Option<Matrix> {
    let budget = session.config.memory_local;
    // Beside a changed copy, and a cell.
    let fits = |bytes: u64| session.in_task || bytes.saturating_mul(2).saturating_add(16) <= budget;
    let (rows, cols) = (block.rows(), block.cols());
    let all = (rows as u64).saturating_mul(cols as u64).saturating_mul(8);
    let may_be_written = match block {
        MatrixBlock::Dense(_) => true,
        MatrixBlock::Csr(_) | MatrixBlock::Coordinate(_) | MatrixBlock::Compressed(_) => {
            all <= MOST_DENSE_BYTES && fits(all)
        }
    };
    fits(block.memory_bytes() as u64).then_some(Matrix {
        rows,
        cols,
        may_be_written,
    })
}

/// A matrix while code runs.
enum Held {
    Read(LocalMatrix),
    /// Its cells, which nobody else holds.
    Written {
        rows: usize,
        cols: usize,
        cells: Vec<f64>,
        was_sparse: bool,
    },
}

impl Held {
    fn take(name: &str, matrix: u8, code: &Code, symbols: &mut SymbolTable) -> Result<Self> {
        let is_written = code.written.get(usize::from(matrix)).copied();
        let value = match is_written {
            Some(true) => symbols.take(name)?,
            Some(false) | None => symbols.get(name)?.clone(),
        };
        let Variable::Matrix(matrix) = value else {
            return Err(Error::internal("a matrix that code was made for is gone"));
        };
        if is_written != Some(true) {
            return Ok(Held::Read(matrix));
        }
        let block = matrix.into_block();
        let was_sparse = block.layout() != Layout::Dense;
        let dense = match block {
            MatrixBlock::Dense(dense) => dense,
            sparse @ (MatrixBlock::Csr(_)
            | MatrixBlock::Coordinate(_)
            | MatrixBlock::Compressed(_)) => sparse.to_dense()?,
        };
        Ok(Held::Written {
            rows: dense.rows(),
            cols: dense.cols(),
            cells: dense.into_vec()?,
            was_sparse,
        })
    }

    /// With a copy, where it is written.
    fn bytes(&self) -> u64 {
        match self {
            Held::Read(matrix) => matrix.block().memory_bytes() as u64,
            Held::Written { cells, .. } => 16 * cells.len() as u64,
        }
    }

    fn cells(&mut self) -> Cells<'_> {
        match self {
            Held::Read(matrix) => Cells {
                rows: matrix.block().rows(),
                cols: matrix.block().cols(),
                values: match matrix.block() {
                    MatrixBlock::Dense(dense) => Values::Read(dense.values()),
                    sparse @ (MatrixBlock::Csr(_)
                    | MatrixBlock::Coordinate(_)
                    | MatrixBlock::Compressed(_)) => Values::Sparse(sparse),
                },
            },
            Held::Written {
                rows, cols, cells, ..
            } => Cells {
                rows: *rows,
                cols: *cols,
                values: Values::Written(cells),
            },
        }
    }

    /// The matrix, if it was written into: in the layout that it has now, if it was sparse.
    fn into_written(self) -> Result<Option<MatrixBlock>> {
        match self {
            Held::Read(_) => Ok(None),
            Held::Written {
                rows,
                cols,
                cells,
                was_sparse,
            } => {
                let block = MatrixBlock::dense(rows, cols, cells)?;
                let block = match was_sparse {
                    true => block.in_best_layout()?,
                    false => block,
                };
                Ok(Some(block))
            }
        }
    }
}

impl Host for Context {
    fn print(&self, line: &str) -> Result<()> {
        self.session.print(line)
    }

    fn go_on(&self) -> Result<()> {
        self.still_wanted()
    }
}
