//! What `explain` shows: levels, formats, fused operators and places, sizes that are not known, and answers to why.

use std::sync::Arc;

use fulgurite_backend_local::LocalBackend;
use fulgurite_config::Config;
use fulgurite_explain::explain;
use fulgurite_program::{
    ExplainFormat, ExplainLevel, Request, Session,
    request::{Binding, Input},
};

pub(crate) fn request(script: &str, inputs: &[(&str, i64, i64)]) -> Request {
    let mut request = Request::script("test.dml", script);
    for (name, rows, cols) in inputs {
        request.inputs.push(Input {
            name: (*name).into(),
            binding: Binding::Dataset {
                rows: *rows,
                cols: *cols,
                nnz: -1,
            },
        });
    }
    request.outputs.push("R".into());
    // Plans must not depend on the machine that runs the tests.
    let speeds = [
        ("fulgurite.cost.calibrate", "false"),
        ("fulgurite.cost.compute", "4"),
    ];
    for (key, value) in speeds {
        request.config.insert(key.into(), value.into());
    }
    request
}

pub(crate) fn explained(request: &Request) -> String {
    let session = Session::new(Config::default()).with_backend(Arc::new(LocalBackend::default()));
    match explain(request, &session) {
        Ok(text) => text,
        Err(error) => error.to_string(),
    }
}

fn shown(script: &str, budget: &str, rows: i64, level: ExplainLevel) -> String {
    let mut request = request(script, &[("X", rows, 10)]);
    request
        .config
        .insert("fulgurite.memory.local".into(), budget.into());
    request.level = level;
    explained(&request)
}

const SCRIPT: &str = "v = matrix(2, ncol(X), 1)\nR = t(X) %*% (X %*% v)";

#[test]
fn one_pass_over_a_distributed_matrix() {
    insta::assert_snapshot!(shown(SCRIPT, "16k", 1000, ExplainLevel::Plan));
}

#[test]
fn places_follow_the_budget() {
    insta::assert_snapshot!(shown(SCRIPT, "1m", 1000, ExplainLevel::Plan));
}

#[test]
fn unknown_sizes_say_so() {
    insta::assert_snapshot!(shown(SCRIPT, "16k", -1, ExplainLevel::Plan));
}

/// A step of a conjugate gradient in a loop, an intermediate with two readers, and a transpose that stays.
const STEPS: &str = "\
scaled = function(matrix[double] A) return (matrix[double] B) { B = A / max(A) + 1 }
for (i in 1:3) {
  q = t(X) %*% (X %*% p) + 0.5 * p
  a = sum(p * q)
  if (a > 0) p = p - a * q
}
Y = exp(X * 2 + 1)
R = colSums(Y) + sum(Y) / 3
[R] = scaled(R)
";

fn steps(level: ExplainLevel, format: ExplainFormat) -> String {
    let mut request = request(STEPS, &[("X", 5000, 20), ("p", 20, 1)]);
    (request.level, request.format) = (level, format);
    explained(&request)
}

#[test]
fn levels_as_text() {
    for (level, name, _) in ExplainLevel::ALL {
        // Code depends on the machine, times on the moment.
        if !matches!(
            level,
            ExplainLevel::Rewrites | ExplainLevel::Clif | ExplainLevel::Asm | ExplainLevel::Stats
        ) {
            insta::assert_snapshot!(format!("text_{name}"), steps(*level, ExplainFormat::Text));
        }
    }
    assert!(steps(ExplainLevel::Clif, ExplainFormat::Text).contains("function"));
    assert!(steps(ExplainLevel::Asm, ExplainFormat::Text).contains("fused(0)"));
    let statistics = steps(ExplainLevel::Stats, ExplainFormat::Text);
    for stage in [
        "parse",
        "rewrite",
        "explore",
        "select",
        "construct",
        "compile",
        "total",
    ] {
        assert!(
            statistics.lines().any(|line| line.starts_with(stage)),
            "{statistics}"
        );
    }
}

#[test]
fn levels_as_json() {
    for (level, name, _) in ExplainLevel::ALL {
        let text = steps(*level, ExplainFormat::Json);
        let document: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
        assert_eq!(document["format"], "fulgurite-explain");
        assert_eq!(
            (&document["version"], &document["level"]),
            (&1.into(), &(*name).into())
        );
        match level {
            ExplainLevel::Stats => {
                assert!(document["stats"]["plansCosted"].as_u64() > Some(0));
                assert!(document["stats"]["milliseconds"]["explore"].as_f64() > Some(0.0));
            }
            ExplainLevel::Rewrites => assert!(document["rewrites"].is_array()),
            ExplainLevel::Clif | ExplainLevel::Asm => {
                assert!(text.contains("\"listings\""));
            }
            _ => insta::assert_snapshot!(format!("json_{name}"), text),
        }
    }
}

#[test]
fn the_hops_of_a_block_can_be_read_back() {
    let text = steps(ExplainLevel::Hops, ExplainFormat::Json);
    let document: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let loop_body = &document["body"][0]["body"][0];
    let dag = fulgurite_hop::json::from_json(&loop_body["dag"].to_string()).expect("a DAG");
    assert_eq!(
        loop_body["memory"].as_array().map(Vec::len),
        Some(dag.len())
    );
}

#[test]
fn pictures_for_graphviz() {
    for level in [
        ExplainLevel::Hops,
        ExplainLevel::Partitions,
        ExplainLevel::Plan,
    ] {
        insta::assert_snapshot!(format!("dot_{level}"), steps(level, ExplainFormat::Dot));
    }
}

/// Each operator is a box with its facts and a link; each fused operator a region in its colour.
#[test]
fn pictures_as_svg() {
    let plan: serde_json::Value =
        serde_json::from_str(&steps(ExplainLevel::Plan, ExplainFormat::Json)).expect("it is JSON");
    let count = |value: &serde_json::Value| value.to_string().matches("\"covered\"").count();
    let picture = steps(ExplainLevel::Plan, ExplainFormat::Svg);
    assert!(picture.starts_with("<svg ") && picture.trim_end().ends_with("</svg>"));
    assert_eq!(
        picture.matches("<g class=\"region").count(),
        count(&plan["body"]) + count(&plan["functions"])
    );
    assert_eq!(
        picture.matches("<g class=\"node\"").count(),
        picture.matches("<a href=").count()
    );
    assert!(
        picture.contains("class=\"twice\""),
        "a materialization point"
    );
    for tag in ["g", "a", "text", "title", "style", "svg"] {
        let opened = picture.matches(&format!("<{tag}>")).count()
            + picture.matches(&format!("<{tag} ")).count();
        assert_eq!(
            opened,
            picture.matches(&format!("</{tag}>")).count(),
            "{tag}"
        );
    }
    assert!(picture.contains("prefers-color-scheme:dark"));
}

#[test]
fn pages_stand_alone() {
    let page = steps(ExplainLevel::Plan, ExplainFormat::Html);
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("lang=\"en\""));
    for outside in ["<script", "<link", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    // Every box links to its row.
    for link in page.split("href=\"#").skip(1) {
        let name = link.split('"').next().unwrap_or_default();
        assert!(page.contains(&format!("id=\"{name}\"")), "{name}");
    }
    assert!(page.contains("not fused:"), "{page}");
}

#[test]
fn answers_to_why() {
    let ask = |why: &str| {
        let mut request = request(STEPS, &[("X", 5000, 20), ("p", 20, 1)]);
        request.why = Some(why.into());
        explained(&request)
    };
    let questions = ["3", "7:9", "uac(+)", "ua(C+)", "99", "3:4", "2.9999"];
    let answers = questions.map(|why| format!("--why {why}\n{}\n", ask(why)));
    insta::assert_snapshot!(answers.concat());
}

#[test]
fn an_answer_as_json() {
    let mut request = request(STEPS, &[("X", 5000, 20), ("p", 20, 1)]);
    (request.why, request.format) = (Some("ua(C+)".into()), ExplainFormat::Json);
    insta::assert_snapshot!(explained(&request));
    request.format = ExplainFormat::Svg;
    insta::assert_snapshot!(explained(&request));
}

#[test]
fn formats_that_a_level_has_not_are_errors() {
    insta::assert_snapshot!(steps(ExplainLevel::Memo, ExplainFormat::Dot));
    assert!("everything".parse::<ExplainLevel>().is_err());
    assert!("png".parse::<ExplainFormat>().is_err());
}

/// What only a run tells can be assumed: the number of classes decides all sizes of a classifier.
#[test]
fn sizes_follow_from_assumed_values() {
    let script =
        "k = as.integer(max(y))\nY = table(seq(1, nrow(y)), y, nrow(y), k)\nR = sum(Y * Y + 1)";
    let mut request = request(script, &[("y", 1000, 1)]);
    assert!(explained(&request).contains("[1000 x ?"));
    request.assume.insert("k".into(), "7".into());
    insta::assert_snapshot!(explained(&request));
    request.assume.insert("K".into(), "7".into());
    insta::assert_snapshot!(explained(&request));
}

#[test]
fn rewrites_are_listed() {
    let script = "Y = t(t(X)) * 1\nR = sum(t(Y)) + sum(Y ^ 2)\nif (nrow(X) > 9) R = -R";
    let mut request = request(script, &[("X", 100, 10)]);
    request.level = ExplainLevel::Rewrites;
    insta::assert_snapshot!(explained(&request));
    request.format = ExplainFormat::Json;
    insta::assert_snapshot!(explained(&request));
    request
        .config
        .insert("fulgurite.rewrites.off".into(), "nonsense".into());
    assert!(explained(&request).contains("there is no rewrite 'nonsense'"));
}

#[test]
fn loops_of_scalars_say_that_they_are_compiled() {
    let headers = |script: &str| {
        let text = shown(script, "1m", 1000, ExplainLevel::Plan);
        let lines = text.lines().filter(|line| {
            let line = line.trim();
            line.starts_with("for ") || line.starts_with("while")
        });
        lines.map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    let script = "k = sum(X)
        Y = matrix(0, 9, 2)
        for (i in 1:9) { k = k + i }
        while (k < 10) { k = k * 2 }
        for (j in 2:9) { Y[j, 1] = Y[j - 1, 2] + k }
        for (l in 2:9) { Y[l, ] = Y[l - 1, ] + k }
        for (m in 1:9) { X = X + m
          for (n in 1:9) { k = k + n } }
        R = X * k + sum(Y)";
    insta::assert_snapshot!(headers(script), @r"
    for i: compiled
    while: compiled
    for j: compiled
    for l
    for m
        for n: compiled
    ");
}

#[test]
fn loops_say_which_results_are_put_together_on_workers() {
    let line = |header: &str, results: &str| {
        let script = format!(
            "S = matrix(0, 1, 10)\nR = X * 2\nk = sum(X)\n{header} {{ {results} }}\nR = R + sum(S)"
        );
        let text = shown(&script, "16k", 1000, ExplainLevel::Plan);
        let kind = header.split(' ').next().unwrap();
        let line = text.lines().find(|line| line.trim().starts_with(kind));
        line.unwrap_or_else(|| panic!("{text}")).trim().to_owned()
    };
    let parfor = "parfor (i in 1:1000)";
    insta::assert_snapshot!(
        [
            line(parfor, "R[i, ] = matrix(i, 1, 10)"),
            line(parfor, "R[i, ] = R[i, ] + 1\nS += X[i, ]"),
            line("for (i in 1:1000)", "R[i, ] = R[i, ] + 1"),
            line("for (i in 1:1000)", "R[i, ] = R[i, ] / sum(R)"),
            line("while (k < 10)", "R[k, ] = R[k, ] + 1\nk = k + 1"),
        ]
        .join("\n"),
        @r"
    parfor i: as the first iteration shows; parts of 'R' are put together
    parfor i: as the first iteration shows; parts of 'R' are put together
    for i: parts of 'R' are put together
    for i
    while: parts of 'R' are put together
    "
    );
    assert!(!line(parfor, "S += X[i, ]").contains("put together"));
}

#[test]
fn ranges_that_are_read_in_place() {
    let script = "\
Y = rand(rows=nrow(X), cols=ncol(X), sparsity=0.01, seed=7)
A = X[2:900, 2:9]
R = (A[1:100, ] + X[3:102, 1:8]) * 2
S = sum(abs(X[1:99, 1:8] - Y[2:100, 1:8]))
print(S)
print(toString(X[1:2, 1:2]))
";
    insta::assert_snapshot!(shown(script, "1m", 1000, ExplainLevel::Plan));
}

#[test]
fn a_table_that_its_product_does_without() {
    let text = "R = t(table(seq(1, nrow(X)), X[, 1])) %*% X";
    let plan = |budget| shown(text, budget, 1000, ExplainLevel::Plan);
    let here = plan("100m");
    let table = here.lines().find(|line| line.contains("t(ctable)"));
    let says = table.map(|line| line.ends_with("; its product reads its operands instead"));
    assert_eq!(says, Some(true), "{here}");
    let kept = shown(
        "Y = table(seq(1, nrow(X)), X[, 1])\nprint(sum(Y))\nR = t(Y) %*% X",
        "100m",
        1000,
        ExplainLevel::Plan,
    );
    assert!(!kept.contains("instead"), "{kept}");
}
