//! Times whole algorithms under each fusion policy, interleaved, to see whether the plan that `cost` chooses is
//! the fastest one, and what planning and compiling take.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use clap::Args;
use fulgurite_config::Config;
use fulgurite_error::{Error, Result};
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    Execution, OutputValue, Report, Request, Session, execute, request::Input,
};
use serde_json::{Value, json};

use crate::data::{DataScript, read};

const POLICIES: [&str; 4] = ["cost", "fuse-all", "fuse-no-redundancy", "none"];

#[derive(Args)]
pub struct Options {
    /// A script that makes the inputs. Its comments say what to run: `# script:`, `# inputs:`, `# outputs:`,
    /// `# arguments:` and `# shapes:` as ROWSxCOLSxSPARSITY
    data: PathBuf,
    /// Only this shape
    #[arg(long)]
    shape: Option<String>,
    /// Runs under each policy at most; the first one does not count
    #[arg(long, default_value_t = 4)]
    rounds: usize,
    /// After this long there are no more rounds for a shape, once there were three
    #[arg(long, default_value_t = f64::INFINITY)]
    seconds: f64,
    #[arg(long, default_value_t = 2)]
    threads: usize,
    #[arg(long = "policy", default_values = POLICIES)]
    policies: Vec<String>,
}

/// A JSON object for each shape.
///
/// # Errors
/// Those of the scripts; `argument` where the policies give different results.
pub fn measure(options: &Options) -> Result<Vec<Value>> {
    let data = DataScript::read(&options.data)?;
    let shapes = match &options.shape {
        Some(shape) => vec![shape.as_str()],
        None => data.words("shapes")?,
    };
    let name = options.data.file_stem().unwrap_or_default();
    shapes
        .into_iter()
        .map(|shape| {
            let mut measured = measure_shape(options, &data, shape)?;
            measured["algorithm"] = json!(name.to_string_lossy());
            measured["shape"] = json!(shape);
            Ok(measured)
        })
        .collect()
}

fn measure_shape(options: &Options, data: &DataScript, shape: &str) -> Result<Value> {
    let (request, inputs) = prepare(&options.data, data, shape)?;
    let mut runs = (options.policies.iter())
        .map(|policy| PolicyRuns::new(policy, options.threads))
        .collect::<Result<Vec<_>>>()?;
    let started = Instant::now();
    let mut stolen = Vec::new();
    for round in 0..options.rounds {
        if round >= 3 && started.elapsed().as_secs_f64() > options.seconds {
            break;
        }
        let before = ProcessorTime::now();
        // None always runs after the same other one, which leaves caches and memory as they are then.
        for place in 0..runs.len() {
            let run = (place + round) % runs.len();
            runs[run].execute(&request, &inputs)?;
        }
        stolen.push(ProcessorTime::now().stolen_since(&before));
    }
    let differs = |run: &&PolicyRuns| {
        let near = |(left, right): (&f64, &f64)| {
            right.is_finite() && (left - right).abs() <= 1e-6 * right.abs().max(1e-9)
        };
        !run.checksums.iter().zip(&runs[0].checksums).all(near)
    };
    if let Some(other) = runs.iter().find(differs) {
        return Err(Error::argument(format!(
            "{shape}: policy {} gives {:?}, {} gives {:?}",
            other.policy, other.checksums, runs[0].policy, runs[0].checksums
        )));
    }
    let policies: BTreeMap<&str, Value> = (runs.iter())
        .map(|run| (run.policy.as_str(), run.summary()))
        .collect();
    Ok(json!({ "policies": policies, "stolen": stolen.get(1..) }))
}

/// What the system has counted since it started, in its ticks.
#[derive(Default)]
struct ProcessorTime {
    total: u64,
    /// The host of a virtual machine ran others.
    stolen: u64,
}

impl ProcessorTime {
    /// Zero where the system does not tell.
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let fields = text.lines().next().unwrap_or_default().split_whitespace();
        // user, nice, system, idle, iowait, irq, softirq, steal: guests' time is in those of users.
        let ticks: Vec<u64> = fields
            .skip(1)
            .take(8)
            .filter_map(|field| field.parse().ok())
            .collect();
        ProcessorTime {
            total: ticks.iter().sum(),
            stolen: ticks.get(7).copied().unwrap_or(0),
        }
    }

    /// The share of processor time.
    fn stolen_since(&self, before: &Self) -> f64 {
        let ticks = |now: u64, before: u64| now.saturating_sub(before) as f64;
        ticks(self.stolen, before.stolen) / ticks(self.total, before.total).max(1.0)
    }
}

/// The algorithm that a data script is for, and its inputs of this shape.
///
/// # Errors
/// `argument` when the shape is not ROWSxCOLSxSPARSITY; those of the script that makes the inputs.
pub fn prepare(
    path: &Path,
    data: &DataScript,
    shape: &str,
) -> Result<(Request, BTreeMap<String, MatrixBlock>)> {
    let script = data.words("script")?.concat();
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut request = Request::script(&script, read(&folder.join(&script))?);
    request.allow_missing_arguments = false;
    request.arguments = (data.words("arguments")?.into_iter())
        .filter_map(|argument| argument.split_once('='))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    request.outputs = data
        .words("outputs")?
        .into_iter()
        .map(str::to_owned)
        .collect();

    let [rows, cols, sparsity] = shape.split('x').collect::<Vec<_>>()[..] else {
        return Err(Error::argument(format!(
            "'{shape}' is not ROWSxCOLSxSPARSITY"
        )));
    };
    let arguments = [("rows", rows), ("cols", cols), ("sparsity", sparsity)];
    let arguments = arguments.map(|(name, value)| (name, value.to_owned()));
    let inputs = data.make(&arguments, &crate::session(Config::default()))?;
    request.inputs = inputs.keys().map(Input::local).collect();
    Ok((request, inputs))
}

/// The runs under one policy. The session stays, so that compiled operators are found again; each run plans anew.
struct PolicyRuns {
    policy: String,
    session: Session,
    milliseconds: Vec<f64>,
    /// Of the first run, which plans and compiles everything.
    first: Option<Report>,
    checksums: Vec<f64>,
}

impl PolicyRuns {
    fn new(policy: &str, threads: usize) -> Result<Self> {
        let mut config = Config::default();
        config.set("fulgurite.threads", &threads.to_string())?;
        config.set("fulgurite.fusion.policy", policy)?;
        Ok(PolicyRuns {
            policy: policy.to_owned(),
            session: crate::session(config).with_print(Arc::new(|_| Ok(()))),
            milliseconds: Vec::new(),
            first: None,
            checksums: Vec::new(),
        })
    }

    fn execute(&mut self, request: &Request, inputs: &BTreeMap<String, MatrixBlock>) -> Result<()> {
        let execution = Execution::new(request.clone(), inputs.clone());
        let start = Instant::now();
        let session = self.session.clone().with_programs(Arc::default());
        let outcome = execute(execution, &session)?;
        self.milliseconds.push(start.elapsed().as_secs_f64() * 1e3);
        self.checksums = (outcome.outputs.values())
            .map(|value| match value {
                OutputValue::Scalar(value) => value.as_f64().unwrap_or(f64::NAN),
                OutputValue::Matrix(matrix) => matrix
                    .to_dense()
                    .expect("there is memory")
                    .values()
                    .iter()
                    .map(|x| x.abs())
                    .sum(),
                OutputValue::Frame(_) | OutputValue::List(_) | OutputValue::Dataset { .. } => {
                    f64::NAN
                }
            })
            .collect();
        self.first.get_or_insert(outcome.report);
        Ok(())
    }

    fn summary(&self) -> Value {
        let mut counted = self.milliseconds.get(1..).unwrap_or_default().to_vec();
        counted.sort_by(f64::total_cmp);
        let first = self.first.as_ref();
        json!({
            "milliseconds": counted.get(counted.len() / 2),
            "runs": self.milliseconds.get(1..),
            "planningMilliseconds": first.map(|report| report.planning_milliseconds),
            "compileMilliseconds": first.map(|report| report.compile_milliseconds),
            "compiledOperators": first.map(|report| report.plan_cache_misses),
            "planCacheHits": first.map(|report| report.plan_cache_hits),
            "blockPlans": first.map(|report| report.block_plans),
            "firstMilliseconds": self.milliseconds.first(),
        })
    }
}
