//! Times Fulgurite on one pattern, for `ci/bench`, which runs the peers on the same data beside it.
//!
//! Data come from DML's `rand` with fixed seeds, drawn as SystemDS draws, so that the same script gives it the same cells;
//! NumPy gets them from a file. What is timed is a whole execution: parsing, planning, compiling (from the second one on, finding the compiled plan) and running.

use std::{collections::BTreeMap, fs, io::Write, path::PathBuf, time::Instant};

use clap::Parser;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use fulgurite_runtime::{
    Config, Execution, OutputValue, Request, Session, execute, request::Input,
};
use rayon::prelude::*;
use serde_json::json;

#[derive(Parser)]
struct Options {
    /// A folder with `data.dml`, which makes the inputs, and `pattern.dml`, which is timed and sets `result`.
    folder: PathBuf,
    #[arg(long, default_value_t = 100_000)]
    rows: u64,
    #[arg(long, default_value_t = 1.0)]
    sparsity: f64,
    #[arg(long, default_value_t = 9)]
    repeat: usize,
    #[arg(long, default_value_t = 2)]
    threads: usize,
    #[arg(long, default_value = "cost")]
    policy: String,
    /// Write the inputs there as raw little-endian doubles, row by row, for the peers.
    #[arg(long)]
    dump: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let mut config = Config::default();
    config.set("fulgurite.threads", &options.threads.to_string())?;
    config.set("fulgurite.fusion.policy", &options.policy)?;
    config.set("fulgurite.rand.stream", "systemds")?;
    let session = Session::new(config);

    let inputs = make_inputs(&options, &session)?;
    if let Some(folder) = &options.dump {
        for (name, matrix) in &inputs {
            dump(folder, name, matrix)?;
        }
    }

    let mut request = Request::script("pattern.dml", read(&options.folder.join("pattern.dml"))?);
    request.inputs = inputs.keys().map(Input::local).collect();
    request.outputs = vec!["result".into()];
    let (mut milliseconds, mut gigabytes_per_second) = (Vec::new(), Vec::new());
    let mut last = None;
    for _ in 0..options.repeat {
        gigabytes_per_second.push(read_bandwidth(options.threads));
        let execution = Execution {
            request: request.clone(),
            matrices: inputs.clone(),
        };
        let start = Instant::now();
        let outcome = execute(execution, &session)?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        last = Some(outcome);
    }
    let outcome = last.ok_or_else(|| Error::argument("--repeat must be at least 1"))?;
    let checksum = match &outcome.outputs["result"] {
        OutputValue::Scalar(value) => value.as_f64(),
        OutputValue::Matrix(matrix) => Some(matrix.to_dense().values().iter().sum()),
        OutputValue::Dataset { .. } => None,
    };
    let bytes: usize = inputs.values().map(MatrixBlock::memory_bytes).sum();
    println!(
        "{}",
        json!({
            "milliseconds": milliseconds, "readGigabytesPerSecond": gigabytes_per_second,
            "inputBytes": bytes, "checksum": checksum,
            "operators": outcome.report.operators.iter().map(|operator| operator.label.clone()).collect::<Vec<_>>(),
        })
    );
    Ok(())
}

fn make_inputs(options: &Options, session: &Session) -> Result<BTreeMap<String, MatrixBlock>> {
    let mut request = Request::script("data.dml", read(&options.folder.join("data.dml"))?);
    request.arguments = BTreeMap::from([
        ("rows".to_owned(), options.rows.to_string()),
        ("sparsity".to_owned(), options.sparsity.to_string()),
    ]);
    // The first line names the inputs: `# inputs: X Y Z`.
    let script = request.script.as_deref().unwrap_or_default();
    let names = script
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# inputs: "));
    let names =
        names.ok_or_else(|| Error::argument("data.dml must begin with '# inputs: NAMES'"))?;
    request.outputs = names.split(' ').map(str::to_owned).collect();
    let outcome = execute(
        Execution {
            request,
            matrices: BTreeMap::new(),
        },
        session,
    )?;
    (outcome.outputs.into_iter())
        .map(|(name, value)| match value {
            OutputValue::Matrix(matrix) => Ok((name, matrix)),
            _ => Err(Error::argument(format!(
                "data.dml's {name} is not a local matrix"
            ))),
        })
        .collect()
}

fn read(path: &std::path::Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| Error::io(format!("{}: {error}", path.display())))
}

fn dump(folder: &std::path::Path, name: &str, matrix: &MatrixBlock) -> Result<()> {
    let failed = |error: std::io::Error| Error::io(format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    let mut file = std::io::BufWriter::new(
        fs::File::create(folder.join(format!("{name}.{}x{}.f64", matrix.rows(), matrix.cols())))
            .map_err(failed)?,
    );
    for value in matrix.to_dense().values() {
        file.write_all(&value.to_le_bytes()).map_err(failed)?;
    }
    Ok(())
}

/// GB/s at which `threads` threads read 256 MB, two streams each: the limit that memory-bound operators are held to.
fn read_bandwidth(threads: usize) -> f64 {
    const CELLS: usize = 32 << 20;
    static DATA: std::sync::LazyLock<Vec<f64>> = std::sync::LazyLock::new(|| vec![1.0; CELLS]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let data: &[f64] = &DATA;
    let sum = |part: &[f64]| {
        let (left, right) = part.split_at(part.len() / 2);
        let mut sums = [[0.0f64; 8]; 2];
        for (left, right) in left.chunks_exact(8).zip(right.chunks_exact(8)) {
            for lane in 0..8 {
                sums[0][lane] += left[lane];
                sums[1][lane] += right[lane];
            }
        }
        sums.iter().flatten().sum::<f64>()
    };
    let start = Instant::now();
    let total: f64 = match &pool {
        Ok(pool) => pool.install(|| data.par_chunks(CELLS / threads.max(1)).map(sum).sum()),
        Err(_) => sum(data),
    };
    let seconds = start.elapsed().as_secs_f64();
    assert!(total > 0.0);
    (8 * CELLS) as f64 / seconds / 1e9
}
