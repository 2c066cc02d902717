//! The physical forms that explanations name are those in which operators run.

use std::{fmt::Write, sync::Arc};

use fulgurite_backend_local::LocalBackend;
use fulgurite_config::Config;
use fulgurite_explain::explain;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    ExplainFormat, ExplainLevel, Request, Session,
    request::{Binding, Input},
};

use crate::common::{exact, script};

const ROWS: usize = 500;

struct Matrix {
    name: &'static str,
    cells: MatrixBlock,
    stripes: usize,
}

fn matrices() -> Vec<Matrix> {
    let matrix = |name, rows, cols, seed, stripes| Matrix {
        name,
        cells: exact(rows, cols, seed),
        stripes,
    };
    vec![
        matrix("X", ROWS, 300, 7, 37),
        matrix("Y", ROWS, 300, 9, 50),
        matrix("U", ROWS, 40, 3, 0),
        matrix("V", 300, 40, 5, 0),
        matrix("w", 300, 1, 2, 0),
    ]
}

fn config() -> Vec<(&'static str, &'static str)> {
    vec![
        // Less than X and Y, more than the factors (160 kB and 96 kB).
        ("fulgurite.memory.local", "400k"),
        ("fulgurite.blocksize", "64"),
        ("fulgurite.cost.calibrate", "false"),
        ("fulgurite.cost.compute", "4"),
        ("fulgurite.placement.spread", "false"),
    ]
}

/// How two matrices are multiplied that may not be sent whole.
fn product(form: &'static str) -> (&'static str, &'static str) {
    ("fulgurite.placement.product", form)
}

/// Code and form of each operator that would run on the workers.
fn explained(text: &str, settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut request = Request::script("test.dml", text);
    for matrix in matrices() {
        let (rows, cols) = (matrix.cells.rows() as i64, matrix.cells.cols() as i64);
        request.inputs.push(Input {
            name: matrix.name.into(),
            binding: Binding::Dataset {
                rows,
                cols,
                nnz: -1,
            },
        });
    }
    request.outputs.push("R".into());
    for (key, value) in config().iter().chain(settings) {
        request.config.insert((*key).into(), (*value).into());
    }
    (request.level, request.format) = (ExplainLevel::Plan, ExplainFormat::Json);
    let session = Session::new(Config::default()).with_backend(Arc::new(LocalBackend::default()));
    let plan = explain(&request, &session).expect("it is planned");
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("it is JSON");
    let mut forms = Vec::new();
    for block in plan["body"].as_array().expect("blocks") {
        for operator in block["operators"].as_array().into_iter().flatten() {
            if let Some(form) = operator["form"].as_str() {
                let code = operator["code"].as_str().unwrap_or_default();
                forms.push((code.to_owned(), form.to_owned()));
            }
        }
    }
    forms.sort();
    forms
}

/// Of each operator that ran on the workers.
fn ran(text: &str, settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let mut script = script(text);
    for matrix in matrices() {
        script = match matrix.stripes {
            0 => script.matrix(matrix.name, matrix.cells),
            stripes => script.dataset(matrix.name, matrix.cells, stripes),
        };
    }
    for (key, value) in config().iter().chain(settings) {
        script = script.config(key, value);
    }
    let ran = script.output("R").run();
    let operators = ran.outcome().report.operators.iter();
    let forms = operators.filter_map(|operator| {
        let code = operator.label.split(' ').next().unwrap_or_default();
        Some((code.to_owned(), operator.form.clone()?))
    });
    let mut forms: Vec<_> = forms.collect();
    forms.sort();
    forms
}

#[test]
fn operators_run_in_the_forms_that_were_explained() {
    const NONE: (&str, &str) = ("fulgurite.fusion.policy", "none");
    const LOW: (&str, &str) = ("fulgurite.memory.broadcast", "10k");
    let cases: Vec<(&str, Vec<(&str, &str)>)> = vec![
        ("R = sum(abs(X))", vec![NONE]),
        ("R = sum(X * Y)", vec![NONE]),
        ("R = max(X %*% w)", vec![NONE]),
        ("R = max(X %*% V)", vec![NONE, LOW]),
        ("R = max(X %*% t(Y))", vec![NONE, product("rmm")]),
        ("R = max(X %*% t(Y))", vec![NONE, product("cpmm")]),
        ("R = max(X %*% V)", vec![NONE, LOW, product("cpmm")]),
        ("R = max(X %*% V)", vec![NONE, LOW, product("pieces")]),
        ("R = t(X) %*% Y", vec![NONE]),
        ("R = t(X) %*% U", vec![NONE, LOW]),
        (
            "R = t(X) %*% Y",
            vec![NONE, ("fulgurite.memory.local", "300k")],
        ),
        (
            "R = sum(X * (U %*% t(V)))",
            vec![("fulgurite.fusion.policy", "fuse-all")],
        ),
        (
            "R = sum(X * (U %*% t(V)))",
            vec![("fulgurite.fusion.policy", "fuse-all"), LOW],
        ),
        (
            "R = max(table(seq(1, 500), 501 - seq(1, 500), 500, 500) %*% X)",
            vec![NONE],
        ),
        ("R = max(abs(rev(X)))", vec![NONE]),
    ];
    let mut text = String::new();
    for (script, settings) in cases {
        let forms = explained(script, &settings);
        let settings_shown: Vec<&str> = settings.iter().map(|(_, value)| *value).collect();
        let _ = writeln!(text, "{script} [{}]", settings_shown.join(", "));
        for (code, form) in &forms {
            let _ = writeln!(text, "  {code}: {form}");
        }
        assert_eq!(ran(script, &settings), forms, "{script}");
    }
    insta::assert_snapshot!(text);
}
