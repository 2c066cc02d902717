//! How long planning takes, and how many plans are costed: `cargo bench -p fulgurite-fusion --bench planning [-- PART-OF-NAME ...]`.
//!
//! The targets: under 1 ms for a DAG of 71 operators, under 20 ms for one of 1,000.

use std::{collections::BTreeMap, fmt::Write, time::Instant};

use fulgurite_dml::{CompileOptions, compile};
use fulgurite_error::{Error, Result, Source};
use fulgurite_fusion::{FusionConfig, fuse};
use fulgurite_hop::{
    Block, Characteristics, Dag, HopOp, ValueType, VariableInfo, propagate_dag, rewrite_dag,
};

/// Iterations of multinomial logistic regression's inner loop, each reading what the last one wrote.
fn unrolled(iterations: usize) -> String {
    let mut script = String::new();
    for _ in 0..iterations {
        script +=
            "Q = P[, 1:9] * (X %*% v)\nv = v - step * (t(X) %*% (Q - P[, 1:9] * rowSums(Q)))\n";
    }
    script
}

/// One partition with a shared intermediate per layer.
fn ladder(layers: usize) -> String {
    let mut script = "s = X * Y\n".to_owned();
    for _ in 0..layers {
        script += "s = abs(s) * (s + Y)\n";
    }
    script + "s = sum(s)\n"
}

/// Shared intermediates that are expensive to compute twice, each with readers that can't be one operator.
fn expensive(layers: usize) -> String {
    let mut script = "s = X * Y\n".to_owned();
    for layer in 0..layers {
        let _ = writeln!(
            script,
            "e = exp(s)\nc{layer} = colSums(e / Y)\nd{layer} = colSums(sqrt(e) * X)\ns = log(e + Y) - X"
        );
    }
    let sums: Vec<String> = (0..layers)
        .map(|layer| format!("sum(c{layer}) + sum(d{layer})"))
        .collect();
    let _ = writeln!(script, "s = {} + sum(s)", sums.join(" + "));
    script
}

/// A mini-batch step of an autoencoder with layers of 50, 100, 2, 100 and 50 units.
const AUTOENCODER: &str = "
A1 = 1 / (1 + exp(-(B %*% W1 + b1)))
A2 = 1 / (1 + exp(-(A1 %*% W2 + b2)))
A3 = 1 / (1 + exp(-(A2 %*% W3 + b3)))
E = A3 %*% W4 + b4 - B
s = 0.5 * sum(E ^ 2)
D4 = E / 512
D3 = (D4 %*% t(W4)) * A3 * (1 - A3)
D2 = (D3 %*% t(W3)) * A2 * (1 - A2)
D1 = (D2 %*% t(W2)) * A1 * (1 - A1)
U1 = step * U1 - 0.1 * (t(B) %*% D1)
U2 = step * U2 - 0.1 * (t(A1) %*% D2)
U3 = step * U3 - 0.1 * (t(A2) %*% D3)
U4 = step * U4 - 0.1 * (t(A3) %*% D4)
u1 = step * b1 - 0.1 * colSums(D1)
u2 = step * b2 - 0.1 * colSums(D2)
u3 = step * b3 - 0.1 * colSums(D3)
u4 = step * b4 - 0.1 * colSums(D4)
s = s + sum(W1 + U1) + sum(W2 + U2) + sum(W3 + U3) + sum(W4 + U4) + sum(b1 + u1) + sum(b2 + u2) + sum(b3 + u3) + sum(b4 + u4)
";

/// Likelihood, slope and weights of a probit model.
const PROBIT: &str = "
mu = ifelse(e < 0, tail, 1 - tail)
complement = ifelse(e < 0, 1 - tail, tail)
density = exp(-e ^ 2 / 2) / 2.50662827463100
ratio = density / (mu * complement)
slope = (mu - y) * ratio
weights = density * ratio
s = -sum(y * log(mu) + (1 - y) * log(complement))
";

/// What scripts read.
const SIZES: &[(&str, u64, u64)] = &[
    ("X", 10_000, 64),
    ("Y", 10_000, 64),
    ("P", 10_000, 10),
    ("e", 20_000, 1),
    ("tail", 20_000, 1),
    ("y", 20_000, 1),
    ("v", 64, 9),
    ("B", 512, 50),
    ("W1", 50, 100),
    ("W2", 100, 2),
    ("W3", 2, 100),
    ("W4", 100, 50),
    ("U1", 50, 100),
    ("U2", 100, 2),
    ("U3", 2, 100),
    ("U4", 100, 50),
    ("b1", 1, 100),
    ("b2", 1, 2),
    ("b3", 1, 100),
    ("b4", 1, 50),
];

/// The DAG of a script of one block that reads these and `step`.
fn dag(script: &str) -> Result<Dag> {
    let reads: String = SIZES
        .iter()
        .map(|(name, ..)| format!("{name} = read('X'); "))
        .collect();
    let results: String = ["s", "v", "slope", "weights"]
        .iter()
        .filter(|name| script.contains(&format!("\n{name} = ")))
        .map(|name| format!("print(toString({name}))\n"))
        .collect();
    let text = format!("{reads}step = 0.5\nif (nrow(X) > 0) {{\n{script}}}\n{results}");
    let program = compile(
        &Source::new("planning.dml", text),
        &CompileOptions::default(),
    )?;
    let block = program.body.iter().find_map(|block| match block {
        Block::If { then, .. } => then.first(),
        _ => None,
    });
    let Some(Block::Basic { dag }) = block else {
        return Err(Error::internal("the script has no block"));
    };
    let mut symbols: BTreeMap<String, VariableInfo> = BTreeMap::new();
    for (name, rows, cols) in SIZES {
        let matrix = VariableInfo::matrix(Characteristics::dims(*rows, *cols));
        symbols.insert((*name).to_owned(), matrix);
    }
    symbols.insert("step".to_owned(), VariableInfo::scalar(ValueType::Double));
    let (dag, _) = propagate_dag(&rewrite_dag(dag, &[])?, &symbols)?;
    rewrite_dag(&dag, &[])
}

fn main() -> Result<()> {
    let cases = [
        ("mlogreg, 1 iteration", unrolled(1)),
        ("mlogreg, 7 iterations", unrolled(7)),
        ("mlogreg, 100 iterations", unrolled(100)),
        ("ladder, 10 layers", ladder(10)),
        ("ladder, 30 layers", ladder(30)),
        ("ladder, 300 layers", ladder(300)),
        ("expensive, 3 layers", expensive(3)),
        ("expensive, 10 layers", expensive(10)),
        ("expensive, 100 layers", expensive(100)),
        ("autoencoder, 1 step", AUTOENCODER.to_owned()),
        ("probit model", PROBIT.to_owned()),
    ];
    println!(
        "{:<24} {:>5} {:>9} {:>10} {:>7} {:>6} {:>7} {:>12} {:>12}",
        "", "HOPs", "operators", "partitions", "points", "fused", "plans", "median", "best"
    );
    // As `cargo bench` filters: by parts of names.
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
    for (name, script) in cases.into_iter().filter(|(name, _)| is_wanted(name)) {
        let dag = dag(&script)?;
        let config = FusionConfig::default();
        let fused = fuse(&dag, &config)?;
        let mut seconds: Vec<f64> = Vec::new();
        let started = Instant::now();
        while seconds.is_empty() || (seconds.len() < 1000 && started.elapsed().as_secs_f64() < 0.5)
        {
            let started = Instant::now();
            std::hint::black_box(fuse(&dag, &config)?);
            seconds.push(started.elapsed().as_secs_f64());
        }
        seconds.sort_by(f64::total_cmp);
        let is_leaf = |op: &HopOp| matches!(op, HopOp::TransientRead(_) | HopOp::Literal(_));
        let operators = dag.iter().filter(|(_, hop)| !is_leaf(&hop.op)).count();
        let statistics = fused.statistics;
        println!(
            "{name:<24} {:>5} {operators:>9} {:>10} {:>7} {:>6} {:>7} {:>9.3} ms {:>9.3} ms",
            dag.len(),
            statistics.partitions,
            statistics.interesting_points,
            statistics.fused_operators,
            statistics.plans_costed,
            seconds[seconds.len() / 2] * 1e3,
            seconds[0] * 1e3,
        );
    }
    Ok(())
}
