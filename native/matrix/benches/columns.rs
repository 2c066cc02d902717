//! Milliseconds of sorts, order statistics and sums by groups of long columns, and of Gram matrices of sparse ones:
//! `cargo bench -p fulgurite-matrix --bench columns`. A word behind `--` chooses the lines that contain it.

use std::{hint::black_box, time::Instant};

use fulgurite_matrix::{
    CsrMatrix, MatrixBlock,
    kernels::{
        Operand,
        groups::{GroupFunction, grouped_aggregate},
        order, order_permutation,
        statistics::{median, quantiles},
        table, tsmm,
    },
    memory::keep_freed_memory,
};

const SORTED_ROWS: usize = 10_000_000;
const GROUPED_ROWS: usize = 5_000_000;
const GROUPS: usize = 1000;
const RUNS: usize = 5;

/// The best and the median of some runs.
fn report(name: &str, work: impl Fn()) {
    let chosen = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'));
    let chosen: Vec<String> = chosen.collect();
    if !chosen.is_empty() && !chosen.iter().any(|word| name.contains(word.as_str())) {
        return;
    }
    let mut runs: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    runs.sort_by(f64::total_cmp);
    println!("{name:34}{:9.1} {:9.1}", runs[0], runs[RUNS / 2]);
}

/// Numbers from 0 to 1 (Knuth's linear congruential generator).
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        let next = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = next.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn column(rows: usize, mut cell: impl FnMut(usize) -> f64) -> MatrixBlock {
    MatrixBlock::dense(rows, 1, (0..rows).map(&mut cell).collect()).expect("a cell a row")
}

fn sparse(rows: usize, cols: usize, share: f64) -> MatrixBlock {
    let mut uniform = Uniform(3);
    let (mut pointers, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
    for _ in 0..rows {
        for col in 0..cols {
            if uniform.next() < share {
                indices.push(col as i32);
                values.push(uniform.next());
            }
        }
        pointers.push(indices.len() as i64);
    }
    let csr = CsrMatrix::new(rows, cols, pointers, indices, values);
    MatrixBlock::Csr(csr.expect("rows one after the other"))
}

fn main() {
    keep_freed_memory();
    println!("{:34}{:>9} {:>9}", "ms", "best", "median");
    let mut uniform = Uniform(1);
    let cells = column(SORTED_ROWS, |_| uniform.next());
    let normal = column(SORTED_ROWS, |_| {
        (0..12).map(|_| uniform.next()).sum::<f64>() - 6.0
    });
    let whole = column(SORTED_ROWS, |_| (uniform.next() * 1000.0).floor());
    let ascending = column(SORTED_ROWS, |row| row as f64);
    for (name, cells) in [
        ("uniform", &cells),
        ("normal", &normal),
        ("1000 numbers", &whole),
        ("ascending", &ascending),
    ] {
        let sort = || drop(black_box(order(cells, &[0], false)));
        report(&format!("sort, {name}"), sort);
        let median = || drop(black_box(median(cells, None)));
        report(&format!("median, {name}"), median);
    }
    report("order, uniform", || {
        drop(black_box(order_permutation(&cells, &[0], false)));
    });
    let tenths: Vec<f64> = (0..=10).map(|tenth| f64::from(tenth) / 10.0).collect();
    for probabilities in [&tenths[3..4], &tenths] {
        report(
            &format!("{} quantiles, uniform", probabilities.len()),
            || {
                drop(black_box(quantiles(&cells, None, probabilities)));
            },
        );
    }
    let groups = column(GROUPED_ROWS, |_| {
        (uniform.next() * GROUPS as f64).floor() + 1.0
    });
    let values = column(GROUPED_ROWS, |_| uniform.next());
    let one = Operand::Scalar(1.0);
    report("table(g, 1)", || {
        drop(black_box(table(Operand::Matrix(&groups), one, one, None)));
    });
    report("table(g, 1, v)", || {
        let weights = Operand::Matrix(&values);
        drop(black_box(table(
            Operand::Matrix(&groups),
            one,
            weights,
            None,
        )));
    });
    for (name, function) in [
        ("sum", GroupFunction::Sum),
        ("count", GroupFunction::Count),
        ("mean", GroupFunction::Mean),
        ("variance", GroupFunction::Variance),
    ] {
        report(&format!("aggregate, {name}"), || {
            drop(black_box(grouped_aggregate(
                &values, &groups, None, function, None,
            )));
        });
    }
    for cols in [1000, 4000] {
        let matrix = sparse(100_000, cols, 0.01);
        report(&format!("Gram of CSR, 1e5 x {cols}"), || {
            drop(black_box(tsmm(&matrix)));
        });
    }
}
