//! Compressed matrices against our own dense and CSR kernels, on data made to the characteristics of published sets:
//! `cargo bench -p fulgurite-matrix --bench compressed [airline|census|one-hot|noise]`.

use std::{hint::black_box, time::Instant};

use fulgurite_matrix::{
    CsrMatrix, DenseMatrix, MatrixBlock,
    compressed::{CompressedMatrix, compress, plan},
    kernels::{
        aggregate::{self, Sum},
        matmult, transposed_matmult, tsmm,
    },
    memory::keep_freed_memory,
};

/// Runs of each operator, of which the best counts.
const RUNS: usize = 7;

/// Widest matrix whose `t(X) %*% X` is timed.
const WIDEST_SQUARE: usize = 3000;

/// xorshift64.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A code below `distinct`; small ones are more frequent.
    fn code(&mut self, distinct: usize) -> usize {
        ((distinct as f64).powf(self.uniform()) - 1.0 + 1e-9) as usize % distinct
    }
}

fn milliseconds<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        black_box(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    best * 1e3
}

fn column(rows: usize) -> MatrixBlock {
    let cells = DenseMatrix::from_fn(rows, 1, |row, _| (row as f64 * 0.37).sin());
    cells.expect("there is memory for a column").into()
}

fn report(name: &str, matrix: &MatrixBlock) {
    let planning = milliseconds(|| plan(matrix).expect("a plan"));
    let compressing = milliseconds(|| compress(matrix).expect("column groups"));
    let compressed = compress(matrix).expect("column groups");
    let bytes = matrix.memory_bytes() as f64;
    println!(
        "{name}: {} x {}, {:.0} MB; {} groups, ratio {:.2} (of dense cells {:.1}); plan {planning:.0} ms, all {compressing:.0} ms, {:.2} GB/s",
        matrix.rows(),
        matrix.cols(),
        bytes / 1e6,
        compressed.groups().len(),
        bytes / compressed.memory_bytes() as f64,
        compressed.ratio(),
        bytes / compressing / 1e6,
    );
    operators(matrix, &compressed);
}

fn operators(matrix: &MatrixBlock, compressed: &CompressedMatrix) {
    let line = |what: &str, own: f64, new: f64| {
        println!(
            "  {what:16} {own:10.3} ms, compressed {new:10.3} ms, {:8.2} times",
            own / new
        );
    };
    let (vector, weights) = (column(matrix.cols()), column(matrix.rows()));
    line(
        "X v",
        milliseconds(|| matmult(matrix, &vector)),
        milliseconds(|| compressed.matmult(&vector)),
    );
    line(
        "t(X) w",
        milliseconds(|| transposed_matmult(matrix, &weights)),
        milliseconds(|| compressed.transposed_matmult(&weights)),
    );
    let row = MatrixBlock::dense(1, matrix.rows(), weights.values().to_vec());
    let row = row.expect("there is memory for a row");
    line(
        "w X",
        milliseconds(|| matmult(&row, matrix)),
        milliseconds(|| compressed.left_matmult(&row)),
    );
    line(
        "t(X) (X v)",
        milliseconds(|| matmult(matrix, &vector).and_then(|p| transposed_matmult(matrix, &p))),
        milliseconds(|| compressed.mmchain(&vector, None)),
    );
    if matrix.cols() <= WIDEST_SQUARE {
        line(
            "t(X) X",
            milliseconds(|| tsmm(matrix)),
            milliseconds(|| compressed.tsmm()),
        );
    }
    line(
        "sum(X^2)",
        milliseconds(|| aggregate::full::<Sum>(matrix, |x| x * x)),
        milliseconds(|| compressed.aggregate::<Sum>(|x| x * x)),
    );
    line(
        "colSums(X)",
        milliseconds(|| aggregate::cols::<Sum>(matrix, |x| x)),
        milliseconds(|| compressed.aggregate_cols::<Sum>(|x| x)),
    );
    line(
        "rowSums(X)",
        milliseconds(|| aggregate::rows::<Sum>(matrix, |_, x| x)),
        milliseconds(|| compressed.aggregate_rows::<Sum>(|x| x)),
    );
}

/// Columns of small domains, of which some depend on others and some come in runs.
fn airline(random: &mut Random) -> MatrixBlock {
    const DOMAINS: [usize; 29] = [
        12, 31, 7, 256, 256, 256, 256, 20, 256, 256, 256, 256, 200, 256, 256, 250, 250, 256, 60,
        100, 2, 5, 2, 200, 150, 60, 10, 120, 22,
    ];
    let mut carrier = 0.0;
    let cell = |row: usize, column: usize| match column {
        0 => ((row / 100_000) % 12) as f64,
        1 => ((row / 3_300) % 31) as f64,
        9 => (carrier * 7.0) % 13.0,
        10 => (carrier * 5.0) % 11.0,
        _ => {
            let code = random.code(DOMAINS[column]) as f64;
            carrier = if column == 8 { code } else { carrier };
            code
        }
    };
    DenseMatrix::from_fn(1_000_000, 29, cell)
        .expect("there is memory")
        .into()
}

fn census(random: &mut Random) -> MatrixBlock {
    let cell = |_: usize, column: usize| random.code(2 + (column * 5) % 16) as f64;
    DenseMatrix::from_fn(500_000, 68, cell)
        .expect("there is memory")
        .into()
}

fn one_hot(random: &mut Random) -> MatrixBlock {
    const DOMAINS: [usize; 4] = [10, 50, 100, 200];
    let domains = (0..26).map(|block| DOMAINS[block % 4]);
    let cols = domains.clone().sum();
    let (rows, mut pointers, mut indices) = (500_000, vec![0i64], Vec::new());
    for _ in 0..rows {
        let mut first = 0;
        for distinct in domains.clone() {
            indices.push((first + random.code(distinct)) as i32);
            first += distinct;
        }
        pointers.push(indices.len() as i64);
    }
    let values = vec![1.0; indices.len()];
    CsrMatrix::new(rows, cols, pointers, indices, values)
        .expect("rows of dummies")
        .into()
}

fn noise(random: &mut Random) -> MatrixBlock {
    let cell = |_: usize, _: usize| random.uniform();
    DenseMatrix::from_fn(500_000, 20, cell)
        .expect("there is memory")
        .into()
}

/// Makes the cells of a set.
type Makes = fn(&mut Random) -> MatrixBlock;

fn main() {
    keep_freed_memory();
    let asked = std::env::args()
        .skip(1)
        .find(|argument| !argument.starts_with('-'));
    let mut random = Random(88_172_645_463_325_252);
    let sets: [(&str, Makes); 4] = [
        ("airline", airline),
        ("census", census),
        ("one-hot", one_hot),
        ("noise", noise),
    ];
    for (name, make) in sets {
        if asked.as_deref().is_none_or(|asked| asked == name) {
            report(name, &make(&mut random));
        }
    }
}
