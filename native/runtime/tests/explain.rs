//! What `explain` shows of plans: fused operators, places, sizes that are not known.

use std::sync::Arc;

use fulgurite_runtime::{
    Config, ExplainLevel, Request, Session,
    backend::LocalBackend,
    explain,
    request::{Binding, Input},
};

fn shown(script: &str, budget: &str, rows: i64, level: ExplainLevel) -> String {
    let mut request = Request::script("test.dml", script);
    request.inputs.push(Input {
        name: "X".into(),
        binding: Binding::Dataset {
            rows,
            cols: 10,
            nnz: -1,
        },
    });
    request.outputs.push("R".into());
    request
        .config
        .insert("fulgurite.memory.local".into(), budget.into());
    let session = Session::new(Config::default()).with_backend(Arc::new(LocalBackend::default()));
    match explain(&request, &session, level) {
        Ok(text) => text,
        Err(error) => error.to_string(),
    }
}

const SCRIPT: &str = "v = matrix(2, ncol(X), 1)\nR = t(X) %*% (X %*% v)";

#[test]
fn one_pass_over_a_distributed_matrix() {
    insta::assert_snapshot!(shown(SCRIPT, "16k", 1000, ExplainLevel::Plan), @r"
    block 1 test.dml:1
      fused(0) Row ba(+*)
      (1) TRead X () [1000 x 10, nnz ?]
      (4) dg(matrix) (0,2,3) [10 x 1, nnz 10] local
      (5) fused(0) (1,4) [10 x 1, nnz 10] distributed
      (6) TWrite R (5) [10 x 1, nnz 10]
    ");
}

#[test]
fn places_follow_the_budget() {
    insta::assert_snapshot!(shown(SCRIPT, "1m", 1000, ExplainLevel::Plan), @r"
    block 1 test.dml:1
      fused(0) Row ba(+*)
      (1) TRead X () [1000 x 10, nnz ?]
      (4) dg(matrix) (0,2,3) [10 x 1, nnz 10] local
      (5) fused(0) (1,4) [10 x 1, nnz 10] local
      (6) TWrite R (5) [10 x 1, nnz 10]
    ");
}

#[test]
fn unknown_sizes_say_so() {
    insta::assert_snapshot!(shown(SCRIPT, "16k", -1, ExplainLevel::Plan), @r"
    block 1 test.dml:1
      (1) TRead X () [? x 10, nnz ?]
      (4) dg(matrix) (0,2,3) [10 x 1, nnz 10] local
      (5) r(t) (1) [10 x ?, nnz ?] where it fits, by the actual size
      (6) ba(+*) (1,4) [? x 1, nnz ?] where it fits, by the actual size
      (7) ba(+*) (5,6) [10 x 1, nnz ?] where it fits, by the actual size
      (8) TWrite R (7) [10 x 1, nnz ?]
    Some sizes are unknown before the run (?): blocks that read such matrices are planned anew with the actual sizes.
    ");
}
