//! Compresses matrices that loops read, before they begin or while they go on.
//!
//! A matrix that stays the same in a loop is looked at when the loop begins. With `fulgurite.compression=on` it is compressed then.
//! With `auto`, that has to pay:
//!
//! - A `for` loop says how often it goes round. A `while` loop is taken to go on for as long as it has run so far, so it is looked
//!   at again after 8, 16, 32... iterations.
//! - What the loop spends on reading the matrix follows from its [`Workload`] and the speeds of this machine. If all of that would
//!   not pay for a sample a hundred times over, nothing more is done.
//! - A sample of rows gives the size that the matrix would have, and in how many groups. The time of the loop on groups, and that
//!   of compressing, follow from it. Compressing has to save [`MARGIN`] times what it takes.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Instant,
};

use fulgurite_config::CompressionMode;
use fulgurite_dataflow::{LocalMatrix, Variable};
use fulgurite_error::Result;
use fulgurite_fusion::{CostConstants, machine::Constant};
use fulgurite_hop::Block;
use fulgurite_matrix::{
    Layout, MatrixBlock,
    compressed::{CompressedMatrix, CompressionPlan, compress, plan},
};

use super::context::Context;
use crate::{
    loops::assigned_in_blocks,
    report::CompressionReport,
    session::Session,
    symbols::SymbolTable,
    workload::{Workload, workloads},
};

/// Smaller matrices are read from caches.
const LEAST_BYTES: usize = 32 << 20;

/// What a sample takes for each column, in seconds: 4096 values are numbered, and columns are paired.
const SAMPLE_SECONDS: f64 = 1e-3;

/// A loop has to spend this many times as long on the matrix as a sample takes, so that a decision against compressing costs less
/// than one percent.
const SAMPLES_OF_LOOP: f64 = 100.0;

/// Compressing has to save this many times what it takes: estimates are rough.
const MARGIN: f64 = 2.0;

/// Seconds a thread takes to look up a row's code, and add what is there.
const LOOK_UP: f64 = 0.6e-9;

/// The same to add to what is there: rows with one code wait for each other.
const SCATTER: f64 = 1.2e-9;

/// Columns of a right operand that one look-up serves.
const COLUMNS_OF_LOOK_UP: f64 = 4.0;

/// Seconds a thread takes to decode a cell.
const DECODE: f64 = 0.6e-9;

/// Bytes that a thread compresses in a second, of columns that are coded, and of dummies.
const CODED_SPEED: f64 = 0.15e9;
const DUMMIES_SPEED: f64 = 0.8e9;

/// After this many iterations a `while` loop is looked at for the first time.
const FIRST_LOOK: u64 = 8;

/// What loops and matrices were found to be.
#[derive(Default)]
pub(super) struct Compression {
    /// By the body's address, which is stable while the program runs: what it reads and does not assign.
    bodies: HashMap<usize, Arc<BTreeMap<String, Workload>>>,
    /// Matrices that were sampled, by their addresses.
    known: HashMap<usize, Known>,
}

/// What is known of a matrix that was looked at: another one may have its address later.
#[derive(Clone, Copy)]
struct Known {
    bytes: usize,
    sampled: Sampled,
}

/// What a sample says.
#[derive(Clone, Copy)]
struct Sampled {
    bytes: f64,
    groups: f64,
    /// Columns in groups of dummies.
    dummies: f64,
    /// Columns that would not be compressed.
    plain: f64,
}

/// How a loop goes on.
#[derive(Clone, Copy)]
pub(super) enum Ahead {
    /// So many iterations are left.
    Left(u64),
    /// So many are through; how many follow nobody knows.
    Through(u64),
}

impl Ahead {
    /// Iterations to reckon with; `None` where it is not the time to look.
    fn expected(self, mode: CompressionMode) -> Option<f64> {
        match (self, mode) {
            (_, CompressionMode::Off) => None,
            (Ahead::Left(left), _) => Some(left as f64),
            (Ahead::Through(0), CompressionMode::On) => Some(1.0),
            (Ahead::Through(through), CompressionMode::Auto)
                if through >= FIRST_LOOK && through.is_power_of_two() =>
            {
                Some(through as f64)
            }
            (Ahead::Through(_), _) => None,
        }
    }
}

impl Compression {
    /// Compresses what the body of a loop reads, where the configuration or the costs say so.
    ///
    /// # Errors
    /// `memory`; of a measurement of this machine's speeds.
    pub(super) fn before(
        &mut self,
        body: &[Block],
        ahead: Ahead,
        label: impl Fn() -> String,
        symbols: &mut SymbolTable,
        context: &Context,
    ) -> Result<()> {
        let session = &context.session;
        let Some(iterations) = ahead.expected(session.config.compression) else {
            return Ok(());
        };
        if session.in_task {
            return Ok(());
        }
        let found = self.bodies.entry(body.as_ptr().addr());
        let found = found.or_insert_with(|| Arc::new(read_and_left(body)));
        for (name, work) in &*Arc::clone(found) {
            let at = || format!("{name} at {}", label());
            self.consider(name, *work, iterations, at, symbols, context)?;
        }
        Ok(())
    }

    /// Compresses inputs that a program reads several times, where the configuration says so.
    ///
    /// # Errors
    /// `memory`.
    pub(super) fn inputs(
        &mut self,
        program: &[Block],
        symbols: &mut SymbolTable,
        context: &Context,
    ) -> Result<()> {
        if context.session.config.compression != CompressionMode::On || context.session.in_task {
            return Ok(());
        }
        for (name, work) in workloads(program) {
            if work.reads() > 1.0 {
                let at = || format!("{name} at the start");
                self.consider(&name, work, 1.0, at, symbols, context)?;
            }
        }
        Ok(())
    }

    fn consider(
        &mut self,
        name: &str,
        work: Workload,
        iterations: f64,
        label: impl Fn() -> String,
        symbols: &mut SymbolTable,
        context: &Context,
    ) -> Result<()> {
        let Some(Variable::Matrix(matrix)) = symbols.find(name) else {
            return Ok(());
        };
        let block = matrix.block();
        // Vectors are small beside what they are multiplied with, and operators take their cells one by one.
        let is_vector = block.rows() <= 1 || block.cols() <= 1;
        if block.layout() == Layout::Compressed || is_vector || i32::try_from(block.cols()).is_err()
        {
            return Ok(());
        }
        let started = Instant::now();
        let mut report = CompressionReport {
            label: String::new(),
            groups: None,
            bytes: block.memory_bytes() as u64,
            compressed_bytes: None,
            iteration_seconds: None,
            seconds: 0.0,
            reason: String::new(),
        };
        let is_forced = context.session.config.compression == CompressionMode::On;
        let compresses = match is_forced {
            true => {
                "fulgurite.compression is on".clone_into(&mut report.reason);
                true
            }
            false => match self.pays(matrix, work, iterations, context, &mut report)? {
                Some(pays) => pays,
                None => return Ok(()),
            },
        };
        if compresses {
            let groups = |block: &MatrixBlock| {
                let groups = context.threads.run(|| compress(block))?;
                let is_smaller = groups.memory_bytes() < block.memory_bytes();
                Ok(if is_smaller {
                    groups.into()
                } else {
                    block.clone()
                })
            };
            let compressed = matrix.compressed(groups)?;
            match CompressedMatrix::of(compressed.block()) {
                Some(groups) => {
                    report.compressed_bytes = Some(groups.memory_bytes() as u64);
                    report.groups = Some(kinds(groups));
                }
                None => "its groups are not smaller".clone_into(&mut report.reason),
            }
            if report.groups.is_some() {
                symbols.set(name, Variable::Matrix(compressed));
            }
        }
        report.seconds = started.elapsed().as_secs_f64();
        report.label = label();
        context.recorder.lock().compression(report);
        Ok(())
    }

    /// Whether compressing pays; `None` where there is nothing to tell of.
    fn pays(
        &mut self,
        matrix: &LocalMatrix,
        work: Workload,
        iterations: f64,
        context: &Context,
        report: &mut CompressionReport,
    ) -> Result<Option<bool>> {
        let block = matrix.block();
        if block.memory_bytes() < LEAST_BYTES {
            return Ok(None);
        }
        let cost = context
            .session
            .cost_constants(block.memory_bytes() as u64)?;
        let threads = context.session.config.effective_threads() as f64;
        let plain = seconds_plain(block, work, &cost);
        let sample = SAMPLE_SECONDS * block.cols() as f64 / threads
            + block.memory_bytes() as f64 / (1e9 * cost[Constant::Read]);
        if plain * iterations < SAMPLES_OF_LOOP * sample {
            report.reason = format!(
                "{iterations} iterations read it for about {:.3} s, a sample takes {sample:.3} s",
                plain * iterations
            );
            return Ok(Some(false));
        }
        let bytes = block.memory_bytes();
        let known = self.known.get(&matrix.address());
        let sampled = match known.filter(|known| known.bytes == bytes) {
            Some(known) => known.sampled,
            None => {
                let plan = context.threads.run(|| plan(block))?;
                let sampled = Sampled::of(&plan);
                let known = Known { bytes, sampled };
                self.known.insert(matrix.address(), known);
                sampled
            }
        };
        report.compressed_bytes = Some(sampled.bytes as u64);
        let compressed = seconds_compressed(block, work, sampled, &cost);
        report.iteration_seconds = Some((plain, compressed));
        let compressing = seconds_to_compress(block, sampled, threads);
        let saved = (plain - compressed) * iterations;
        let pays = sampled.bytes < block.memory_bytes() as f64 && saved > MARGIN * compressing;
        report.reason = format!(
            "{iterations} iterations save about {:.3} s, compressing takes about {compressing:.3} s",
            saved.max(0.0)
        );
        Ok(Some(pays))
    }
}

/// What explain says of matrices that a loop may compress, as far as sizes are known before a run.
pub fn expected_compression(body: &[Block], session: &Session) -> Option<String> {
    let mode = session.config.compression;
    let is_large = |bytes: Option<u64>| bytes.is_some_and(|bytes| bytes >= LEAST_BYTES as u64);
    let found = read_and_left(body)
        .into_iter()
        .filter(|(_, work)| match mode {
            CompressionMode::Off => false,
            CompressionMode::On => work.bytes.is_some(),
            CompressionMode::Auto => is_large(work.bytes),
        });
    let condition = match mode {
        CompressionMode::On => "if smaller",
        CompressionMode::Auto | CompressionMode::Off => "if faster",
    };
    let texts: Vec<String> = found
        .map(|(name, work)| {
            format!(
                "{name} is compressed {condition}, it is read {}",
                work.text()
            )
        })
        .collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}

/// What blocks read and do not assign.
fn read_and_left(body: &[Block]) -> BTreeMap<String, Workload> {
    let mut assigned = BTreeSet::new();
    assigned_in_blocks(body, &mut assigned);
    let mut found = workloads(body);
    found.retain(|name, work| !assigned.contains(name) && work.reads() > 0.0);
    found
}

impl Sampled {
    fn of(plan: &CompressionPlan) -> Self {
        let dummies = plan.dummies().map(|columns| columns.len()).sum::<usize>();
        Sampled {
            bytes: plan.estimated_bytes(),
            groups: (plan.groups().len() + plan.dummies().count()) as f64,
            dummies: dummies as f64,
            plain: plan.plain().len() as f64,
        }
    }
}

/// What an iteration takes to read the matrix as it is.
fn seconds_plain(block: &MatrixBlock, work: Workload, cost: &CostConstants) -> f64 {
    let read = block.memory_bytes() as f64 / (1e9 * cost[Constant::Read]);
    let compute = 1e9 * cost[Constant::Products].max(cost[Constant::Compute]);
    let stored = block.stored() as f64;
    let products = 2.0 * stored * (work.from_left + work.from_right) / compute;
    let per_row = stored / block.rows() as f64;
    let crossed = work.crossed * (stored * per_row / compute).max(read);
    let others = work.by_rows + work.by_dictionaries + work.by_cells;
    (work.passes() * read).max(products) + crossed + others * read
}

/// What an iteration takes to read its column groups.
fn seconds_compressed(
    block: &MatrixBlock,
    work: Workload,
    sampled: Sampled,
    cost: &CostConstants,
) -> f64 {
    let (rows, cols) = (block.rows() as f64, block.cols() as f64);
    // Cores are what computing is measured on.
    let threads = fulgurite_matrix::cores() as f64;
    let read = sampled.bytes / (1e9 * cost[Constant::Read]);
    let codes = rows * sampled.groups / threads;
    let looked_up = LOOK_UP * codes * (work.from_left / COLUMNS_OF_LOOK_UP).max(work.left_products);
    let scattered = SCATTER * codes * work.from_right;
    let cells = DECODE * rows * cols / threads;
    let plain = cells.max(8.0 * rows * cols / (1e9 * cost[Constant::Read]));
    let uncompressed = sampled.plain / cols * 8.0 * rows * cols / (1e9 * cost[Constant::Read]);
    let crossed = work.crossed * (cells + seconds_plain_crossed(block, cost));
    (work.passes() * (read + uncompressed)).max(looked_up + scattered)
        + crossed
        + work.by_rows * (LOOK_UP * codes + read)
        + work.by_cells * (plain + cells)
}

fn seconds_plain_crossed(block: &MatrixBlock, cost: &CostConstants) -> f64 {
    let work = Workload {
        crossed: 1.0,
        ..Workload::default()
    };
    seconds_plain(block, work, cost)
}

fn seconds_to_compress(block: &MatrixBlock, sampled: Sampled, threads: f64) -> f64 {
    let bytes = block.memory_bytes() as f64;
    let dummies = bytes * sampled.dummies / block.cols() as f64;
    (dummies / DUMMIES_SPEED + (bytes - dummies) / CODED_SPEED) / threads
}

/// `12 ddc, 1 one-hot`
fn kinds(matrix: &CompressedMatrix) -> String {
    let kinds = matrix.kinds().into_iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    kinds.join(", ")
}
