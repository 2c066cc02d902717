//! Times aggregates by groups against basic operators and against what the machine reads in the same run:
//! `cargo run --profile ci --example groups [rows [threads]]`.
//!
//! The first is TPC-H's first query in its shape: five sums, of which two are of products, three means and a count for six groups,
//! of rows that a mask selects. The others count keys.

use std::time::Instant;

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, execute};
use fulgurite_error::Result;
use fulgurite_fusion::cplan::CPlan;
use fulgurite_matrix::{
    MatrixBlock,
    kernels::groups::{GroupFunction, grouped_aggregate},
};
use rayon::prelude::*;

const REPETITIONS: usize = 7;

/// Inputs are quantity, price, discount, tax, the selected rows, groups, their number, and 1.
const PRICING: &str = "Group(main, matrix, matrix, matrix, matrix, matrix, scalar)
  %0 = in0
  %1 = in4
  %2 = b(*) %0 %1
  %3 = in1
  %4 = b(*) %3 %1
  %5 = in2
  %6 = 1.0
  %7 = b(-) %6 %5
  %8 = b(*) %4 %7
  %9 = in3
  %10 = b(+) %9 %6
  %11 = b(*) %8 %10
  %12 = b(*) %5 %1
  %13 = in5
  ua(+) %2, ua(+) %4, ua(+) %8, ua(+) %11, ua(+) %12, ua(+) %1, ua(max) %2, ua(+) %6 by %13 up to in6";

const COUNT: &str = "Group(main, scalar)\n  %0 = in0\n  %1 = 1.0\n  ua(+) %1 by %0 up to in1";

const SUM: &str = "Group(main, matrix, scalar)\n  %0 = in0\n  %1 = in1\n  ua(+) %0 by %1 up to in2";

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().and_then(|text| text.parse().ok());
    let (rows, threads) = (number().unwrap_or(6_000_000), number().unwrap_or(2));
    let context = ExecutionContext::with_threads(threads)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.map_err(|error| fulgurite_error::Error::internal(error.to_string()))?;
    let columns = (0..4).map(|seed| column(rows, 1 << 20, seed));
    let columns: Vec<MatrixBlock> = columns.collect::<Result<_>>()?;
    let mask = column(rows, 1000, 9)?;
    let selected = mask.values().iter().map(|cell| f64::from(*cell < 980.0));
    let mask = MatrixBlock::dense(rows, 1, selected.collect())?;
    let groups = column(rows, 6, 11)?;
    let inputs: Vec<&MatrixBlock> = columns.iter().chain([&mask, &groups]).collect();
    let streams: Vec<&[f64]> = inputs.iter().map(|input| input.values()).collect();
    let bytes = 8.0 * (rows * streams.len()) as f64;
    let read = best(|| pool.install(|| read_streams(&streams)));
    println!(
        "reading {:.0} MB: {:.1} ms, {:.1} GB/s",
        bytes / 1e6,
        read * 1e3,
        bytes / read / 1e9
    );

    let plan = compiled(PRICING)?;
    let mut operands: Vec<Operand<'_>> =
        inputs.iter().map(|input| Operand::Matrix(input)).collect();
    operands.push(Operand::Scalar(6.0));
    let fused = best(|| execute(&plan, &operands, &context));
    println!(
        "eight aggregates by six groups: {:.1} ms, {:.2} of reading",
        fused * 1e3,
        fused / read
    );
    let one = best(|| {
        pool.install(|| grouped_aggregate(&columns[0], &groups, None, GroupFunction::Sum, Some(6)))
    });
    println!("one basic sum by six groups: {:.1} ms", one * 1e3);

    let rows = rows / 6 * 10;
    let values = column(rows, 1 << 20, 5)?;
    let (count, sum) = (compiled(COUNT)?, compiled(SUM)?);
    for keys in [10, 1000, 100_000, 10_000_000] {
        let keys_of_rows = column(rows, keys, 13)?;
        let operands = [Operand::Matrix(&keys_of_rows), Operand::Scalar(keys as f64)];
        let counted = best(|| execute(&count, &operands, &context));
        let operands = [
            Operand::Matrix(&values),
            Operand::Matrix(&keys_of_rows),
            Operand::Scalar(keys as f64),
        ];
        let summed = best(|| execute(&sum, &operands, &context));
        let basic = |function| {
            let of = || grouped_aggregate(&values, &keys_of_rows, None, function, Some(keys));
            best(|| pool.install(of)) * 1e3
        };
        println!(
            "{rows} rows of {keys} keys: counted in {:.1} ms (basic {:.1}), summed in {:.1} ms (basic {:.1})",
            counted * 1e3,
            basic(GroupFunction::Count),
            summed * 1e3,
            basic(GroupFunction::Sum),
        );
    }
    Ok(())
}

fn compiled(text: &str) -> Result<CompiledPlan> {
    CompiledPlan::compile(&text.parse::<CPlan>()?)
}

/// Seconds of the fastest run.
fn best<T>(run: impl Fn() -> T) -> f64 {
    let times = (0..REPETITIONS).map(|_| {
        let start = Instant::now();
        std::hint::black_box(run());
        start.elapsed().as_secs_f64()
    });
    times.fold(f64::INFINITY, f64::min)
}

fn read_streams(streams: &[&[f64]]) -> u64 {
    let parts = streams.iter().flat_map(|stream| stream.chunks(1 << 18));
    let bits = |cells: &[f64]| cells.iter().fold(0, |all, cell| all ^ cell.to_bits());
    let parts: Vec<&[f64]> = parts.collect();
    parts.into_par_iter().map(bits).reduce(|| 0, |x, y| x ^ y)
}

/// Whole numbers from 1 to `most`.
fn column(rows: usize, most: usize, seed: u64) -> Result<MatrixBlock> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let cell = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 11) % most as u64 + 1) as f64
    };
    let cells = (0..rows).map(cell).collect();
    MatrixBlock::dense(rows, 1, cells)
}
