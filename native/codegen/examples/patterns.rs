//! Times three patterns and a plain sum of the same bytes: `cargo run --profile ci --example patterns [rows]`.

use std::time::Instant;

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, execute};
use fulgurite_error::Result;
use fulgurite_matrix::{CsrMatrix, MatrixBlock};
use rayon::prelude::*;

#[path = "../tests/support/mod.rs"]
mod support;

const COLS: usize = 1000;
const CLASSES: usize = 4;
const REPETITIONS: usize = 9;

fn main() -> Result<()> {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok());
    let rows = rows.unwrap_or(100_000);
    let context = ExecutionContext::with_threads(2)?;
    let dense: Vec<MatrixBlock> = (0..3).map(|seed| filled(rows, COLS, seed)).collect();
    if let MatrixBlock::Dense(block) = &dense[0] {
        time("plain sum", 8 * rows * COLS, || {
            let chunks = block.values().par_chunks(1 << 16);
            let total: f64 = chunks.map(plain_sum).sum();
            assert!(total.is_finite());
            Ok(())
        })?;
    }
    patterns("dense", &dense, rows, &context)?;
    drop(dense);
    let sparse: Vec<MatrixBlock> = (0..3)
        .map(|seed| thinned(rows, seed))
        .collect::<Result<_>>()?;
    patterns("sparse 0.1", &sparse, rows, &context)
}

fn plain_sum(cells: &[f64]) -> f64 {
    let mut sums = [0.0; 16];
    for cells in cells.chunks_exact(16) {
        for (sum, cell) in sums.iter_mut().zip(cells) {
            *sum += cell;
        }
    }
    sums.iter().sum()
}

fn patterns(
    what: &str,
    blocks: &[MatrixBlock],
    rows: usize,
    context: &ExecutionContext,
) -> Result<()> {
    let bytes = blocks[0].memory_bytes();
    let v = filled(COLS, 1, 3);
    let classes = filled(COLS, CLASSES, 4);
    let p = filled(rows, CLASSES + 1, 5);
    let sum3: Vec<&MatrixBlock> = blocks.iter().collect();
    let cases = [
        ("sum3", support::sum_of_products(), sum3, 3 * bytes),
        (
            "mvchain",
            support::matrix_vector_chain(),
            vec![&blocks[0], &v],
            bytes,
        ),
        (
            "mlrinner",
            support::mlogreg_inner(CLASSES as u64),
            vec![&blocks[0], &p, &classes],
            bytes + p.memory_bytes(),
        ),
    ];
    for (name, plan, blocks, bytes) in cases {
        let plan = CompiledPlan::compile(&plan)?;
        let operands: Vec<Operand<'_>> = blocks.into_iter().map(Operand::Matrix).collect();
        time(&format!("{name} {what}"), bytes, || {
            execute(&plan, &operands, context).map(drop)
        })?;
    }
    Ok(())
}

fn time(name: &str, bytes: usize, mut run: impl FnMut() -> Result<()>) -> Result<()> {
    let mut best = f64::INFINITY;
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        run()?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    let rate = bytes as f64 / best / 1e9;
    println!("{name:22} {:8.2} ms {rate:6.1} GB/s", best * 1e3);
    Ok(())
}

fn filled(rows: usize, cols: usize, seed: usize) -> MatrixBlock {
    let cell = |at: usize| ((at * 7919 + seed * 104_729) % 1009) as f64 / 1009.0 - 0.3;
    let values: Vec<f64> = (0..rows * cols).into_par_iter().map(cell).collect();
    MatrixBlock::dense(rows, cols, values).expect("the vector was sized for it")
}

/// About a tenth of the cells, at irregular places.
fn thinned(rows: usize, seed: usize) -> Result<MatrixBlock> {
    let mut state = 88_172_645_463_325_252u64 + seed as u64;
    let (mut pointers, mut indices) = (vec![0i64], Vec::new());
    for _ in 0..rows {
        for col in 0..COLS {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state.is_multiple_of(10) {
                indices.push(col as i32);
            }
        }
        pointers.push(indices.len() as i64);
    }
    let values: Vec<f64> = indices
        .iter()
        .map(|col| f64::from(*col) * 0.25 - 100.0)
        .collect();
    CsrMatrix::new(rows, COLS, pointers, indices, values).map(Into::into)
}
