//! The example scripts give the same weights in every mode: fused by each policy or not at all, dense or CSR, one thread
//! or two, on one machine or as dataflow over stripes.

use std::collections::BTreeMap;

use fulgurite_differential_tests as data;
use fulgurite_matrix::MatrixBlock;
use fulgurite_runtime::{
    Config, Execution, OutputValue, Report, Request, Session, execute, request::Input,
};

/// Largest difference of weights between modes, relative to the largest weight.
const TOLERANCE: f64 = 1e-8;

struct Example {
    script: &'static str,
    text: &'static str,
    labels: &'static str,
    weights: &'static str,
    arguments: &'static [(&'static str, &'static str)],
}

const MLOGREG: Example = Example {
    script: "mlogreg.dml",
    text: include_str!("../../../examples/mlogreg.dml"),
    labels: "y",
    weights: "B",
    arguments: &[("icpt", "1"), ("reg", "1"), ("tol", "1e-12")],
};

const L2SVM: Example = Example {
    script: "l2svm.dml",
    text: include_str!("../../../examples/l2svm.dml"),
    labels: "labels",
    weights: "w",
    arguments: &[("icpt", "1"), ("reg", "1"), ("tol", "1e-13")],
};

const LINREG_CG: Example = Example {
    script: "linreg_cg.dml",
    text: include_str!("../../../examples/linreg_cg.dml"),
    labels: "y",
    weights: "B",
    arguments: &[("icpt", "1"), ("reg", "0.1")],
};

/// One way of running.
#[derive(Clone, Copy, Debug)]
struct Mode {
    policy: &'static str,
    sparse: bool,
    threads: usize,
    /// As dataflow of the in-process backend, for everything that reads X.
    distributed: bool,
}

const REFERENCE: Mode = Mode {
    policy: "none",
    sparse: false,
    threads: 1,
    distributed: false,
};

impl Example {
    fn run(&self, x: &MatrixBlock, y: &MatrixBlock, mode: Mode) -> (MatrixBlock, Report) {
        let x = if mode.sparse {
            MatrixBlock::Csr(x.to_csr().expect("few columns"))
        } else {
            MatrixBlock::Dense(x.to_dense())
        };
        let mut request = Request::script(self.script, self.text);
        request.arguments = (self.arguments.iter())
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        // X and Y are bound, not read.
        request.allow_missing_arguments = true;
        request.outputs = vec![self.weights.to_owned()];
        let mut settings = vec![
            ("fulgurite.fusion.policy", mode.policy.to_owned()),
            ("fulgurite.threads", mode.threads.to_string()),
        ];
        if mode.distributed {
            // X does not fit, the labels do.
            settings.push(("fulgurite.backend", "local".to_owned()));
            settings.push(("fulgurite.memory.local", (x.memory_bytes() / 2).to_string()));
        }
        let mut config = Config::default();
        for (key, value) in settings {
            config.set(key, &value).expect("a known key");
        }
        let matrices = BTreeMap::from([("X".to_owned(), x), (self.labels.to_owned(), y.clone())]);
        request.inputs = matrices.keys().map(Input::local).collect();
        let session = Session::new(config);
        let outcome = execute(Execution { request, matrices }, &session)
            .unwrap_or_else(|error| panic!("{mode:?}: {error}"));
        match &outcome.outputs[self.weights] {
            OutputValue::Matrix(weights) => (weights.clone(), outcome.report),
            other => panic!("{mode:?}: the weights are {other:?}"),
        }
    }

    fn agrees_in_every_mode(&self, x: &MatrixBlock, y: &MatrixBlock) {
        let (expected, report) = self.run(x, y, REFERENCE);
        assert!(
            report
                .operators
                .iter()
                .all(|operator| operator.plan.is_none()),
            "the reference must not fuse"
        );
        let largest = (0..expected.rows() * expected.cols())
            .map(|cell| {
                expected
                    .get(cell / expected.cols(), cell % expected.cols())
                    .abs()
            })
            .fold(1.0, f64::max);
        for policy in ["cost", "fuse-all", "fuse-no-redundancy", "none"] {
            for (sparse, threads, distributed) in [
                (false, 1, false),
                (false, 2, false),
                (true, 1, false),
                (true, 2, false),
                (false, 2, true),
                (true, 2, true),
            ] {
                let mode = Mode {
                    policy,
                    sparse,
                    threads,
                    distributed,
                };
                let (weights, report) = self.run(x, y, mode);
                assert_eq!(
                    (weights.rows(), weights.cols()),
                    (expected.rows(), expected.cols()),
                    "{mode:?}"
                );
                for row in 0..expected.rows() {
                    for col in 0..expected.cols() {
                        let difference = (weights.get(row, col) - expected.get(row, col)).abs();
                        assert!(
                            difference <= TOLERANCE * largest,
                            "{}: {mode:?}: weight ({row}, {col}) is {}, not {}",
                            self.script,
                            weights.get(row, col),
                            expected.get(row, col)
                        );
                    }
                }
                let fused = report
                    .operators
                    .iter()
                    .any(|operator| operator.plan.is_some());
                assert_eq!(
                    fused,
                    policy != "none",
                    "{mode:?}: what ran fused:\n{report}"
                );
                let elsewhere = report
                    .operators
                    .iter()
                    .any(|operator| operator.location != "local");
                assert_eq!(
                    elsewhere, distributed,
                    "{mode:?}: what ran where:\n{report}"
                );
            }
        }
    }
}

#[test]
fn mlogreg_agrees_in_every_mode() {
    let x = data::features(400, 15, 0.3, 1);
    let y = data::labels(&x, 2, |score| (2.0 + 2.0 * score).round().clamp(1.0, 4.0));
    MLOGREG.agrees_in_every_mode(&x, &y);
}

#[test]
fn l2svm_agrees_in_every_mode() {
    let x = data::features(400, 15, 0.3, 3);
    let y = data::labels(&x, 4, |score| if score > 0.0 { 1.0 } else { -1.0 });
    L2SVM.agrees_in_every_mode(&x, &y);
}

#[test]
fn linreg_cg_agrees_in_every_mode() {
    let x = data::features(400, 15, 0.3, 5);
    let y = data::labels(&x, 6, |score| 3.0 * score + 1.0);
    LINREG_CG.agrees_in_every_mode(&x, &y);
}
