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

/// The DAG of a script of one block that reads X, Y, P, v and step.
fn dag(script: &str) -> Result<Dag> {
    let reads = "X = read('X'); Y = read('X'); P = read('X'); v = read('X'); step = 0.5\nif (nrow(X) > 0) {\n";
    let text = format!("{reads}{script}}}\nprint(toString(s))\n");
    let text = match script.contains("s = ") {
        true => text,
        false => text.replace("toString(s)", "toString(v)"),
    };
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
    let sizes = [
        ("X", 10_000, 64),
        ("Y", 10_000, 64),
        ("P", 10_000, 10),
        ("v", 64, 9),
    ];
    let mut symbols: BTreeMap<String, VariableInfo> = BTreeMap::new();
    for (name, rows, cols) in sizes {
        let matrix = VariableInfo::matrix(Characteristics::dims(rows, cols));
        symbols.insert(name.to_owned(), matrix);
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
