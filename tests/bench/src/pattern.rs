//! Times one pattern: a whole execution, from the request to the result. Its plan and the compiled operators are found
//! again from the second one on.

use std::{path::PathBuf, time::Instant};

use clap::Args;
use fulgurite_config::Config;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{Execution, OutputValue, Request, execute, request::Input};
use serde_json::{Value, json};

use crate::{
    data::{DataScript, read},
    exchange::dump_cells,
    limits::{peak_gigaflops, read_bandwidth},
};

#[derive(Args)]
pub struct Options {
    /// A folder with `data.dml`, which makes the inputs, and `pattern.dml`, which is timed and sets `result`
    folder: PathBuf,
    #[arg(long, default_value_t = 100_000)]
    rows: u64,
    #[arg(long, default_value_t = 1000)]
    cols: u64,
    #[arg(long, default_value_t = 1.0)]
    sparsity: f64,
    #[arg(long, default_value_t = 9)]
    repeat: usize,
    /// After this long it is not executed again, once it was three times
    #[arg(long, default_value_t = f64::INFINITY)]
    seconds: f64,
    #[arg(long, default_value_t = 2)]
    threads: usize,
    #[arg(long, default_value = "cost")]
    policy: String,
    /// Write the inputs there as raw little-endian doubles, row by row, for the peers
    #[arg(long)]
    dump: Option<PathBuf>,
}

/// # Errors
/// Those of the scripts, `argument` and `io`.
pub fn measure(options: &Options) -> Result<Value> {
    let mut config = Config::default();
    config.set("fulgurite.threads", &options.threads.to_string())?;
    config.set("fulgurite.fusion.policy", &options.policy)?;
    config.set("fulgurite.rand.stream", "systemds")?;
    let session = crate::session(config);

    let arguments = [
        ("rows", options.rows.to_string()),
        ("cols", options.cols.to_string()),
        ("sparsity", options.sparsity.to_string()),
    ];
    let inputs = DataScript::read(&options.folder.join("data.dml"))?.make(&arguments, &session)?;
    if let Some(folder) = &options.dump {
        for (name, matrix) in &inputs {
            dump_cells(folder, name, matrix)?;
        }
    }

    let mut request = Request::script("pattern.dml", read(&options.folder.join("pattern.dml"))?);
    request.inputs = inputs.keys().map(Input::local).collect();
    request.outputs = vec!["result".into()];
    let mut gigabytes_per_second = 0.0f64;
    let mut milliseconds = Vec::new();
    let mut last = None;
    let started = Instant::now();
    for _ in 0..options.repeat {
        if milliseconds.len() >= 3 && started.elapsed().as_secs_f64() > options.seconds {
            break;
        }
        gigabytes_per_second = gigabytes_per_second.max(read_bandwidth(options.threads));
        let execution = Execution::new(request.clone(), inputs.clone());
        let start = Instant::now();
        let outcome = execute(execution, &session)?;
        milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        last = Some(outcome);
    }
    let outcome = last.ok_or_else(|| Error::argument("--repeat must be at least 1"))?;
    let checksum = match &outcome.outputs["result"] {
        OutputValue::Scalar(value) => value.as_f64(),
        OutputValue::Matrix(matrix) => Some(
            matrix
                .to_dense()
                .expect("there is memory")
                .values()
                .iter()
                .sum(),
        ),
        OutputValue::Frame(_) | OutputValue::List(_) | OutputValue::Dataset { .. } => None,
    };
    let bytes: usize = inputs.values().map(MatrixBlock::memory_bytes).sum();
    let operators = outcome.report.operators.iter();
    Ok(json!({
        "milliseconds": milliseconds, "readGigabytesPerSecond": gigabytes_per_second,
        "gigaflopsPerSecond": peak_gigaflops(options.threads), "inputBytes": bytes,
        "mainNonZeros": inputs.get("X").map(MatrixBlock::nnz), "checksum": checksum,
        "operators": operators.map(|operator| operator.label.clone()).collect::<Vec<_>>(),
    }))
}
