//! A DAG as a program: a request to a session, as callers make it.

use std::{collections::BTreeMap, sync::Arc};

use fulgurite_backend_local::LocalBackend;
use fulgurite_config::Config;
use fulgurite_dataflow::{Backend, Primitive};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Dag, Hop, HopOp, Literal, json::to_json};
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    Execution, OutputValue, Request, Session, execute,
    request::{Binding, Input},
};

use super::{Value, Values};

/// A way of running a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    policy: &'static str,
    /// Whether matrices come as CSR, not dense.
    sparse: bool,
    threads: usize,
    place: MatrixPlace,
    /// Bytes that the driver may take, if there are workers.
    driver_memory: Option<u64>,
}

/// Where the input matrices are.
#[derive(Debug, Clone, Copy, PartialEq)]
enum MatrixPlace {
    Here,
    /// The first one with more rows than a stripe has is with the workers.
    FirstAsStripes,
    /// All with more rows than a stripe has are.
    AllAsStripes,
}

/// Few, so that small matrices are several stripes.
const STRIPE_ROWS: usize = 3;

/// [`Way::driver_memory`] of cases that do not say it: little, so that operators on small matrices run on the workers.
pub(super) const DRIVER_MEMORY: u64 = 500;

/// What a program gave.
pub(super) struct Ran {
    pub values: Values,
    /// Whether an operator ran on the workers.
    pub on_workers: bool,
}

impl Way {
    /// Unfused, dense, on one thread.
    pub const REFERENCE: Way = Way {
        policy: "none",
        sparse: false,
        threads: 1,
        place: MatrixPlace::Here,
        driver_memory: None,
    };

    /// Each policy, dense and as CSR, on one thread, on two, and as stripes.
    pub fn all(driver_memory: u64) -> impl Iterator<Item = Way> {
        let policies = ["cost", "fuse-all", "fuse-no-redundancy", "none"];
        let places = [
            (1, MatrixPlace::Here),
            (2, MatrixPlace::Here),
            (2, MatrixPlace::FirstAsStripes),
            (2, MatrixPlace::AllAsStripes),
        ];
        policies.into_iter().flat_map(move |policy| {
            [false, true].into_iter().flat_map(move |sparse| {
                places.into_iter().map(move |(threads, place)| Way {
                    policy,
                    sparse,
                    threads,
                    place,
                    driver_memory: (place != MatrixPlace::Here).then_some(driver_memory),
                })
            })
        })
    }
}

/// Runs the DAG.
///
/// # Errors
/// Those of the program.
pub(super) fn run(dag: &Dag, inputs: &Values, way: Way) -> Result<Ran> {
    let mut config = Config::default();
    config.set("fulgurite.fusion.policy", way.policy)?;
    config.set("fulgurite.threads", &way.threads.to_string())?;
    if let Some(bytes) = way.driver_memory {
        config.set("fulgurite.memory.local", &bytes.to_string())?;
    }
    let backend = Arc::new(LocalBackend::default());
    let mut request = Request {
        dag: Some(to_json(dag)),
        ..Request::default()
    };
    let mut matrices = BTreeMap::new();
    let mut is_first = true;
    for (name, value) in inputs {
        let binding = match value {
            Value::Number(number) => Binding::Scalar {
                value: Literal::Double(*number),
            },
            Value::Matrix(matrix) => {
                let matrix = match way.sparse {
                    true => MatrixBlock::Csr(matrix.to_csr()?),
                    false => matrix.clone(),
                };
                let has_stripes = matrix.rows() > STRIPE_ROWS;
                let is_distributed = match way.place {
                    MatrixPlace::Here => false,
                    MatrixPlace::FirstAsStripes => has_stripes && is_first,
                    MatrixPlace::AllAsStripes => has_stripes,
                };
                is_first &= !has_stripes;
                if is_distributed {
                    backend.register(name, matrix, STRIPE_ROWS);
                    Binding::Dataset {
                        rows: -1,
                        cols: -1,
                        nnz: -1,
                    }
                } else {
                    matrices.insert(name.clone(), matrix);
                    Binding::Local { handle: 0 }
                }
            }
        };
        request.inputs.push(Input {
            name: name.clone(),
            binding,
        });
    }
    for root in &dag.roots {
        if let HopOp::TransientWrite(name) = &dag.hop(*root).op {
            request.outputs.push(name.clone());
        }
    }
    let mut session = Session::new(config);
    if way.place != MatrixPlace::Here {
        session = session.with_backend(Arc::clone(&backend) as Arc<dyn Backend>);
    }
    let outcome = execute(Execution::new(request, matrices), &session)?;
    let mut operators = outcome.report.operators.iter();
    let on_workers = operators.any(|operator| operator.location == backend.name());
    let outputs = outcome.outputs.into_iter();
    let values = outputs.map(|(name, value)| Ok((name, value_of(value, backend.as_ref())?)));
    Ok(Ran {
        values: values.collect::<Result<_>>()?,
        on_workers,
    })
}

fn value_of(value: OutputValue, backend: &dyn Backend) -> Result<Value> {
    match value {
        OutputValue::Matrix(matrix) => Ok(Value::Matrix(matrix)),
        OutputValue::Scalar(value) => {
            let number = value.as_f64();
            let number = number.ok_or_else(|| Error::unsupported("an output that is a text"))?;
            Ok(Value::Number(number))
        }
        OutputValue::Frame(_) => Err(Error::unsupported("an output that is a frame")),
        OutputValue::List(_) => Err(Error::unsupported("an output that is a list")),
        OutputValue::Dataset { id, .. } => {
            let collect = Primitive::Collect {
                input: id,
                bytes: None,
            };
            let reply = backend.apply(&collect, None)?;
            let matrix = reply.payload;
            let matrix = matrix.ok_or_else(|| Error::internal("collected nothing"))?;
            Ok(Value::Matrix(matrix))
        }
    }
}

/// One operator of a DAG on these operands.
///
/// # Errors
/// Those of the operator.
pub(super) fn run_alone(dag: &Dag, hop: &Hop, operands: &[Value]) -> Result<Value> {
    let mut alone = Dag::new();
    let mut inputs = Values::new();
    let mut ids = Vec::new();
    for (place, (operand, input)) in operands.iter().zip(&hop.inputs).enumerate() {
        let input = dag.hop(*input);
        let id = match &input.op {
            HopOp::Literal(_) => alone.push(input.clone()),
            _ => {
                let name = format!("operand{place}");
                inputs.insert(name.clone(), operand.clone());
                alone.push(Hop {
                    op: HopOp::TransientRead(name),
                    inputs: Vec::new(),
                    ..input.clone()
                })
            }
        };
        ids.push(id);
    }
    let hop = Hop {
        inputs: ids,
        ..hop.clone()
    };
    let result = alone.push(hop.clone());
    let write = alone.push(Hop {
        op: HopOp::TransientWrite("result".into()),
        inputs: vec![result],
        ..hop
    });
    alone.roots = vec![write];
    let mut values = run(&alone, &inputs, Way::REFERENCE)?.values;
    let value = values.remove("result");
    value.ok_or_else(|| Error::internal("an operator without a result"))
}
