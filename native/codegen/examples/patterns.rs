//! Times the patterns that fused operators are judged by, against the limits of the machine in the same run:
//! `cargo run --profile ci --example patterns [rows [threads [pattern]]]`.
//!
//! Dense patterns are given as parts of the bandwidth with which the same threads read three streams, sparse ones as
//! nanoseconds per non-zero and thread. One thread is timed by its processor time, which a busy machine stretches
//! less.

use std::time::Instant;

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, execute};
use fulgurite_error::Result;
use fulgurite_fusion::cplan::{CPlan, OuterOutput};
use fulgurite_matrix::{CsrMatrix, MatrixBlock};
use rayon::prelude::*;

#[path = "../tests/all/support/mod.rs"]
mod support;

const COLS: usize = 1000;
const REPETITIONS: usize = 11;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse().ok());
    let (rows, threads) = (number().unwrap_or(100_000), number().unwrap_or(2));
    let bench = Bench {
        rows,
        only: arguments.next().unwrap_or_default(),
        context: ExecutionContext::with_threads(threads)?,
        start: Instant::now(),
    };
    bench.dense()?;
    bench.sparse(10)?;
    bench.sparse(100)?;
    bench.outer()
}

struct Bench {
    rows: usize,
    only: String,
    context: ExecutionContext,
    start: Instant,
}

impl Bench {
    fn dense(&self) -> Result<()> {
        let blocks: Vec<MatrixBlock> = (0..3).map(|seed| filled(self.rows, COLS, seed)).collect();
        let streams: Vec<&[f64]> = blocks.iter().map(MatrixBlock::values).collect();
        let bytes = blocks[0].memory_bytes();
        for (name, plan, operands) in self.cases(&blocks) {
            let read = match name.as_str() {
                "sum3" | "magg" => 3 * bytes,
                _ => bytes,
            };
            let read_all = || read_streams(&streams, self.context.threads() > 1);
            let Some((ms, all)) = self.best(&name, &plan, &operands, &read_all)? else {
                continue;
            };
            let (rate, limit) = (read as f64 / ms, 3.0 * bytes as f64 / all);
            let (rate, limit) = (rate / 1e6, limit / 1e6);
            let part = 100.0 * rate / limit;
            println!("{name:10} dense  {ms:8.2} ms {rate:6.1} GB/s, {part:4.0} % of {limit:.1}");
        }
        Ok(())
    }

    fn sparse(&self, one_in: u64) -> Result<()> {
        let blocks: Vec<MatrixBlock> = (0..3)
            .map(|seed| thinned(self.rows, COLS, one_in, seed))
            .collect::<Result<_>>()?;
        for (name, plan, operands) in self.cases(&blocks) {
            let sides = if matches!(name.as_str(), "sum3" | "magg") {
                3
            } else {
                1
            };
            let non_zeros = blocks[0].nnz() * sides;
            let Some((ms, _)) = self.best(&name, &plan, &operands, &|| ())? else {
                continue;
            };
            let each = ms * 1e6 * self.context.threads() as f64 / non_zeros as f64;
            println!("{name:10} 1/{one_in:<4} {ms:8.2} ms {each:6.2} ns per non-zero and thread");
        }
        Ok(())
    }

    fn cases<'b>(&self, blocks: &'b [MatrixBlock]) -> Vec<(String, CPlan, Vec<Side<'b>>)> {
        let given = |at: usize| Side::Given(&blocks[at]);
        let made = |rows, cols, seed| Side::Made(filled(rows, cols, seed));
        let mut cases = vec![
            (
                "sum3".to_string(),
                support::sum_of_products(),
                vec![given(0), given(1), given(2)],
            ),
            (
                "magg".to_string(),
                support::two_sums(),
                vec![given(0), given(1), given(2)],
            ),
            (
                "mvchain".to_string(),
                support::matrix_vector_chain(),
                vec![given(0), made(COLS, 1, 3)],
            ),
        ];
        for k in [2, 4, 8] {
            cases.push((
                format!("mmchain{k}"),
                support::matrix_matrix_chain(),
                vec![given(0), made(COLS, k, 3)],
            ));
        }
        cases.push((
            "mlrinner".to_string(),
            support::mlogreg_inner(4),
            vec![given(0), made(self.rows, 5, 5), made(COLS, 4, 4)],
        ));
        cases
    }

    fn outer(&self) -> Result<()> {
        let log_sum = support::weighted_log_sum();
        for (size, one_in) in [
            (5000, 1),
            (5000, 10),
            (10_000, 100),
            (10_000, 1000),
            (10_000, 10_000),
        ] {
            let x = match one_in {
                1 => filled(size, size, 0),
                _ => thinned(size, size, one_in, 0)?,
            };
            let operands = [x, positive(size, 100, 1), positive(size, 100, 2)].map(Side::Made);
            self.outer_case(&format!("outer 1/{one_in}"), &log_sum, &operands)?;
        }
        let size = 10_000;
        let x = thinned(size, size, 100, 0)?;
        for (name, output) in [
            ("alsupd", OuterOutput::RightMultiply { input: 3 }),
            ("alsupd t", OuterOutput::LeftMultiply { input: 3 }),
        ] {
            let sides = [1, 2, 3].map(|seed| positive(size, 20, seed));
            let operands: Vec<Side<'_>> = std::iter::once(Side::Given(&x))
                .chain(sides.into_iter().map(Side::Made))
                .collect();
            self.outer_case(name, &support::weighted_update(output), &operands)?;
        }
        Ok(())
    }

    fn outer_case(&self, name: &str, plan: &CPlan, operands: &[Side<'_>]) -> Result<()> {
        if let Some((ms, _)) = self.best(name, plan, operands, &|| ())? {
            let non_zeros = operands[0].block().nnz();
            let each = ms * 1e6 * self.context.threads() as f64 / non_zeros as f64;
            println!("{name:13} {ms:12.2} ms {each:6.2} ns per non-zero and thread");
        }
        Ok(())
    }

    /// The best times, in milliseconds, of the plan and of the limit, which take turns.
    fn best(
        &self,
        name: &str,
        plan: &CPlan,
        operands: &[Side<'_>],
        limit: &dyn Fn(),
    ) -> Result<Option<(f64, f64)>> {
        if !name.contains(&self.only) {
            return Ok(None);
        }
        let plan = CompiledPlan::compile(plan)?;
        let operands: Vec<Operand<'_>> = operands
            .iter()
            .map(|side| Operand::Matrix(side.block()))
            .collect();
        let (mut best, mut least) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..REPETITIONS {
            let start = self.seconds();
            execute(&plan, &operands, &self.context)?;
            best = best.min(self.seconds() - start);
            let start = self.seconds();
            limit();
            least = least.min(self.seconds() - start);
        }
        Ok(Some((best * 1e3, least * 1e3)))
    }

    fn seconds(&self) -> f64 {
        let processor = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanoseconds = processor.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        match nanoseconds {
            Some(nanoseconds) if self.context.threads() == 1 => nanoseconds / 1e9,
            _ => self.start.elapsed().as_secs_f64(),
        }
    }
}

/// An operand.
enum Side<'b> {
    Given(&'b MatrixBlock),
    Made(MatrixBlock),
}

impl Side<'_> {
    fn block(&self) -> &MatrixBlock {
        match self {
            Side::Given(block) => block,
            Side::Made(block) => block,
        }
    }
}

/// The least that reading three matrices can cost: sums of the three, side by side.
fn read_streams(streams: &[&[f64]], in_parallel: bool) {
    let [x, y, z] = streams else { return };
    let total: f64 = if in_parallel {
        let parts = [x, y, z].map(|stream| stream.par_chunks(1 << 16));
        let [x, y, z] = parts;
        let parts = (x, y, z).into_par_iter();
        parts.map(|(x, y, z)| plain_sum(x, y, z)).sum()
    } else {
        plain_sum(x, y, z)
    };
    assert!(total.is_finite());
}

fn plain_sum(x: &[f64], y: &[f64], z: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let cells = x
        .chunks_exact(8)
        .zip(y.chunks_exact(8))
        .zip(z.chunks_exact(8));
    for ((x, y), z) in cells {
        for (at, sum) in sums.iter_mut().enumerate() {
            *sum += x[at] + y[at] + z[at];
        }
    }
    sums.iter().sum()
}

fn filled(rows: usize, cols: usize, seed: usize) -> MatrixBlock {
    let cell = |at: usize| ((at * 7919 + seed * 104_729) % 1009) as f64 / 1009.0 - 0.3;
    let values: Vec<f64> = (0..rows * cols).into_par_iter().map(cell).collect();
    MatrixBlock::dense(rows, cols, values).expect("the vector was sized for it")
}

fn positive(rows: usize, cols: usize, seed: usize) -> MatrixBlock {
    let block = filled(rows, cols, seed).to_dense().expect("it is dense");
    let cells = block.values().iter().map(|cell| cell.abs() + 0.01);
    MatrixBlock::dense(rows, cols, cells.collect()).expect("as many cells")
}

/// About one in so many cells, at irregular places.
fn thinned(rows: usize, cols: usize, one_in: u64, seed: usize) -> Result<MatrixBlock> {
    let mut state = 88_172_645_463_325_252u64 + seed as u64;
    let (mut pointers, mut indices) = (vec![0i64], Vec::new());
    for _ in 0..rows {
        for col in 0..cols {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state.is_multiple_of(one_in) {
                indices.push(col as i32);
            }
        }
        pointers.push(indices.len() as i64);
    }
    let values: Vec<f64> = indices
        .iter()
        .map(|col| f64::from(*col) * 0.25 - 100.0)
        .collect();
    CsrMatrix::new(rows, cols, pointers, indices, values).map(Into::into)
}
