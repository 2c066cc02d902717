//! Operators that fit the driver and run on the workers: where their input is, if that moves less, and where they compute
//! for long.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_config::Config;
use fulgurite_dataflow::{Backend, Capacity, Primitive, Reply};
use fulgurite_error::Result;
use fulgurite_explain::explain;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    ExplainLevel, Request, Session,
    request::{Binding, Input},
};

use crate::common::{Ran, exact, script};

const ROWS: usize = 500;

fn x() -> MatrixBlock {
    exact(ROWS, 8, 7)
}

/// What a script over a distributed X (32 kB) gives under a budget of 16 kB, and the cells of the largest matrix that came
/// to the driver.
fn run(text: &str, settings: &[(&str, &str)]) -> (Vec<f64>, u64) {
    let backend = Arc::new(LocalBackend::default());
    let mut ran = script(text)
        .backend(Arc::clone(&backend))
        .dataset("X", x(), 37)
        .matrix("V", exact(8, 3, 3))
        .matrix("y", exact(ROWS, 1, 5))
        .config("fulgurite.memory.local", "16k")
        .config("fulgurite.fusion.policy", "none");
    for (key, value) in settings {
        ran = ran.config(key, value);
    }
    let ran = ran.output("R").run();
    let largest = backend.counters().largest_collected;
    (cells(&ran), largest)
}

fn cells(ran: &Ran) -> Vec<f64> {
    use fulgurite_program::OutputValue;
    match &ran.outcome().outputs["R"] {
        OutputValue::Matrix(matrix) => matrix.to_dense().unwrap().values().to_vec(),
        OutputValue::Scalar(value) => vec![value.as_f64().expect("a number")],
        OutputValue::Frame(_) | OutputValue::List(_) | OutputValue::Dataset { .. } => {
            panic!("R stayed on the workers")
        }
    }
}

const BY_BYTES: (&str, &str) = ("fulgurite.cost.job", "1e-9");
const OFF: (&str, &str) = ("fulgurite.placement.pull", "false");

#[test]
fn operators_run_where_their_input_is_if_that_moves_less() {
    // (script, cells that come to the driver with and without)
    let cases = [
        // A result that fits a quarter of the budget, and one that does not.
        ("R = max(X %*% V[, 1])", 1, ROWS),
        ("R = max(X %*% V)", 1, 3 * ROWS),
        // Sums come with their errors.
        ("R = colSums(abs(X %*% V - 1) / 2)", 6, 3 * ROWS),
        ("P = X %*% V\nR = t(P) %*% P", 9, 3 * ROWS),
        // The other side is smaller than what would be collected.
        ("R = max((X %*% V) * y)", 1, 3 * ROWS),
        // Two readers, of which one is read again.
        (
            "P = X %*% V\nQ = P ^ 2\nR = max(P) + colSums(Q) + nrow(P)",
            6,
            3 * ROWS,
        ),
        // A reader that does not fit would have it sent back.
        ("P = rowSums(X)\nR = colSums(X * P)", 16, ROWS),
    ];
    for (text, with, without) in cases {
        let (expected, collected) = run(text, &[OFF]);
        assert_eq!(collected as usize, without, "{text}");
        let (found, collected) = run(text, &[BY_BYTES]);
        assert_eq!(collected as usize, with, "{text}");
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn results_come_back_where_that_is_as_good() {
    let cases = [
        // The other side has to be sent, and has as many bytes.
        "R = max((X %*% V[, 1]) * y)",
        // Read by what needs it here, and kept for later.
        "P = X %*% V[, 1]\nQ = rev(P)\nR = max(P) + as.scalar(Q[1, 1])",
        "P = X %*% V[, 1]\nif (max(P) > 0) { R = min(P) } else { R = max(P) }",
    ];
    for text in cases {
        let (expected, without) = run(text, &[OFF]);
        let (found, with) = run(text, &[BY_BYTES]);
        assert_eq!((found, with), (expected, without), "{text}");
    }
    // Two jobs for two readers take longer than one to bring 4 kB here.
    let two = "P = X %*% V[, 1]\nR = min(P) + max(P)";
    assert_eq!(run(two, &[]).1, ROWS as u64);
    assert_eq!(run(two, &[BY_BYTES]).1, 1);
    assert_eq!(run(two, &[BY_BYTES]).0, run(two, &[OFF]).0);
}

/// The backend in this process, which says that it has other cores.
struct Elsewhere {
    backend: LocalBackend,
    tasks: u64,
    is_here: bool,
}

impl Backend for Elsewhere {
    fn name(&self) -> &str {
        "elsewhere"
    }

    fn apply(&self, primitive: &Primitive, payload: Option<&MatrixBlock>) -> Result<Reply> {
        let mut reply = self.backend.apply(primitive, payload)?;
        if let Primitive::Capacity = primitive {
            reply.capacity = Some(Capacity {
                tasks: self.tasks,
                cores: 1,
                bytes: None,
                result_bytes: None,
                is_here: self.is_here,
            });
        }
        Ok(reply)
    }
}

fn elsewhere(tasks: u64, is_here: bool) -> Arc<Elsewhere> {
    Arc::new(Elsewhere {
        backend: LocalBackend::default(),
        tasks,
        is_here,
    })
}

/// Products of 1 ms on two threads here, as the configuration has it.
fn long_products() -> [(&'static str, &'static str); 5] {
    [
        ("fulgurite.cost.calibrate", "false"),
        ("fulgurite.cost.compute", "4"),
        ("fulgurite.cost.products", "1e-6"),
        ("fulgurite.threads", "2"),
        ("fulgurite.blocksize", "100"),
    ]
}

#[test]
fn long_products_of_small_matrices_are_spread_over_more_cores() {
    let run = |text: &str, backend: &Arc<Elsewhere>, settings: &[(&str, &str)]| {
        let mut of = script(text)
            .on(Arc::clone(backend) as Arc<dyn Backend>)
            .matrix("X", x())
            .matrix("V", exact(8, 3, 3));
        for (key, value) in long_products().iter().chain(settings) {
            of = of.config(key, value);
        }
        cells(&of.output("R").run())
    };
    for text in [
        "R = t(X) %*% X",
        "R = X %*% V",
        "R = t(X) %*% (X + 1)",
        "A = t(X)\nR = A %*% (X * 2)",
    ] {
        let many = elsewhere(200, false);
        let spread = run(text, &many, &[("fulgurite.fusion.policy", "none")]);
        assert_eq!(many.backend.counters().tasks, 5, "{text}");
        let fused = elsewhere(200, false);
        let found = run(text, &fused, &[("fulgurite.fusion.policy", "fuse-all")]);
        assert_eq!(found, spread, "{text}");
        assert_eq!(fused.backend.counters().tasks, 5, "{text}");
        for (backend, settings) in [
            (elsewhere(2, false), vec![]),
            (elsewhere(200, true), vec![]),
            (
                elsewhere(200, false),
                vec![("fulgurite.placement.spread", "false")],
            ),
            (
                elsewhere(200, false),
                vec![("fulgurite.cost.products", "100")],
            ),
        ] {
            let settings = [settings, vec![("fulgurite.fusion.policy", "none")]].concat();
            assert_eq!(run(text, &backend, &settings), spread, "{text}");
            assert_eq!(backend.backend.counters().tasks, 0, "{text}");
        }
    }
}

fn explained(
    text: &str,
    x: (i64, i64),
    backend: Arc<dyn Backend>,
    settings: &[(&str, &str)],
) -> String {
    let mut request = Request::script("test.dml", text);
    request.inputs.push(Input {
        name: "X".into(),
        binding: Binding::Dataset {
            rows: x.0,
            cols: x.1,
            nnz: -1,
        },
    });
    request.outputs.push("R".into());
    request.level = ExplainLevel::Plan;
    let none = [("fulgurite.fusion.policy", "none")];
    for (key, value) in long_products().iter().chain(&none).chain(settings) {
        request.config.insert((*key).into(), (*value).into());
    }
    let session = Session::new(Config::default()).with_backend(backend);
    explain(&request, &session).unwrap_or_else(|error| error.to_string())
}

#[test]
fn explain_says_why_an_operator_is_not_where_it_fits() {
    let low = [
        ("fulgurite.memory.local", "16k"),
        ("fulgurite.cost.products", "4"),
        ("fulgurite.cost.job", "1e-9"),
    ];
    let here = || Arc::new(LocalBackend::default());
    let text = "V = matrix(0.5, ncol(X), 3)
        P = abs(X %*% V - 1)
        R = colSums(P) + nrow(P)";
    insta::assert_snapshot!(explained(text, (500, 8), here(), &low));
    // What needs P here.
    let text = "V = matrix(0.5, ncol(X), 1)
        P = X %*% V
        Q = rev(P)
        R = max(P) + as.scalar(Q[1, 1])";
    insta::assert_snapshot!(explained(text, (500, 8), here(), &low));
    let text = "R = t(X) %*% X";
    let many = [("fulgurite.memory.local", "1m")];
    insta::assert_snapshot!(explained(text, (500, 8), elsewhere(200, false), &many));
    insta::assert_snapshot!(explained(text, (500, 8), here(), &many));
}
