//! Programs that nobody wrote: what they leave on the workers, under any budget and any policy of fusion, is what
//! they leave here, one operator at a time.

use std::{collections::HashSet, sync::Arc};

use fulgurite_backend_local::LocalBackend;
use fulgurite_config::Config;
use fulgurite_dataflow::DatasetId;
use fulgurite_error::{ErrorKind, Result};
use fulgurite_explain::explain;
use fulgurite_matrix::MatrixBlock;
use fulgurite_program::{
    ExplainFormat, ExplainLevel, Outcome, OutputValue, Request, Session,
    request::{Binding, Input},
};

use crate::common::{Cells, Script, matrix, random::Program, script};
use proptest::prelude::*;

/// How a program runs.
#[derive(Debug, Clone)]
struct Setting {
    policy: &'static str,
    local: &'static str,
    broadcast: &'static str,
    product: &'static str,
    pull: &'static str,
    parfor: &'static str,
    stripe_rows: usize,
    block_rows: &'static str,
}

impl Setting {
    fn config(&self) -> [(&'static str, &'static str); 7] {
        [
            ("fulgurite.fusion.policy", self.policy),
            ("fulgurite.memory.local", self.local),
            ("fulgurite.memory.broadcast", self.broadcast),
            ("fulgurite.placement.product", self.product),
            ("fulgurite.placement.pull", self.pull),
            ("fulgurite.parfor.mode", self.parfor),
            ("fulgurite.blocksize", self.block_rows),
        ]
    }
}

fn setting() -> impl Strategy<Value = Setting> {
    (
        prop::sample::select(vec!["cost", "fuse-all", "fuse-no-redundancy", "none"]),
        prop::sample::select(vec!["600", "2k", "8k", "32k"]),
        prop::sample::select(vec!["auto", "300", "2k"]),
        prop::sample::select(vec!["auto", "pieces", "rmm", "cpmm"]),
        prop::sample::select(vec!["true", "false"]),
        prop::sample::select(vec!["auto", "local", "remote"]),
        prop::sample::select(vec![7usize, 40, 64, 1000]),
        prop::sample::select(vec!["16", "50", "1000"]),
    )
        .prop_map(
            |(policy, local, broadcast, product, pull, parfor, stripe_rows, block_rows)| Setting {
                policy,
                local,
                broadcast,
                product,
                pull,
                parfor,
                stripe_rows,
                block_rows,
            },
        )
}

/// Matrices of each input's shape, filled in some way each.
fn inputs() -> impl Strategy<Value = Vec<MatrixBlock>> {
    let kinds = prop::sample::select(vec![
        Cells::Dense,
        Cells::Scattered,
        Cells::Skewed,
        Cells::Rare,
        Cells::None,
    ]);
    prop::collection::vec(kinds, Program::INPUTS.len()).prop_map(|kinds| {
        let inputs = Program::INPUTS.iter().zip(kinds).enumerate();
        inputs
            .map(|(at, ((_, rows, cols), kind))| matrix(*rows, *cols, kind, at as u64 + 3))
            .collect()
    })
}

fn with_outputs(mut script: Script, program: &Program) -> Script {
    for output in &program.outputs {
        script = script.output(&output.name);
    }
    script
}

/// What runs here, one operator at a time or fused.
fn here(program: &Program, inputs: &[MatrixBlock], policy: &str) -> Vec<(String, MatrixBlock)> {
    let mut script = script(&program.text).config("fulgurite.fusion.policy", policy);
    for ((name, ..), matrix) in Program::INPUTS.iter().zip(inputs) {
        script = script.matrix(name, matrix.clone());
    }
    let ran = with_outputs(script, program).run();
    if let Err(error) = &ran.result {
        panic!("{policy}: {error}\n{}", program.text);
    }
    let backend = LocalBackend::default();
    program
        .outputs
        .iter()
        .map(|output| (output.name.clone(), ran.matrix_of(&output.name, &backend)))
        .collect()
}

/// What runs on the workers; nothing, if it says that some operator can't under these budgets.
fn there(
    program: &Program,
    inputs: &[MatrixBlock],
    setting: &Setting,
) -> Option<Vec<(String, MatrixBlock)>> {
    let backend = Arc::new(LocalBackend::default());
    let mut script = script(&program.text).backend(Arc::clone(&backend));
    for (key, value) in setting.config() {
        script = script.config(key, value);
    }
    for ((name, ..), matrix) in Program::INPUTS.iter().zip(inputs) {
        script = script.dataset(name, matrix.clone(), setting.stripe_rows);
    }
    let ran = with_outputs(script, program).run();
    let results = match &ran.result {
        Ok(_) => Some(
            program
                .outputs
                .iter()
                .map(|output| (output.name.clone(), ran.matrix_of(&output.name, &*backend)))
                .collect(),
        ),
        Err(error) if error.kind() == ErrorKind::Memory => None,
        Err(error) => panic!("{setting:?}: {error}\n{}", program.text),
    };
    let given: HashSet<DatasetId> = ran.result.iter().flat_map(datasets).collect();
    assert_eq!(
        backend.counters().held,
        given.len() as u64,
        "{setting:?}: what is held for\n{}",
        program.text
    );
    results
}

fn datasets(outcome: &Outcome) -> impl Iterator<Item = DatasetId> {
    outcome.outputs.values().filter_map(|value| match value {
        OutputValue::Dataset { id, .. } => Some(*id),
        _ => None,
    })
}

fn assert_same(
    program: &Program,
    expected: &[(String, MatrixBlock)],
    found: &[(String, MatrixBlock)],
    how: &str,
) {
    for (output, ((_, expected), (_, found))) in
        program.outputs.iter().zip(expected.iter().zip(found))
    {
        let name = &output.name;
        assert_eq!(
            (found.rows(), found.cols()),
            (expected.rows(), expected.cols()),
            "{how}: {name} of\n{}",
            program.text
        );
        let (expected, found) = (expected.to_dense().unwrap(), found.to_dense().unwrap());
        for (at, (expected, found)) in expected.values().iter().zip(found.values()).enumerate() {
            let close = match output.exact {
                true => expected == found,
                false => (expected - found).abs() <= 1e-11 * output.bound,
            };
            assert!(
                close,
                "{how}: cell {at} of {name} is {found} for {expected}\n{}",
                program.text
            );
        }
    }
}

fn every_explanation() -> Vec<(ExplainLevel, ExplainFormat)> {
    let of = |level: ExplainLevel| level.formats().iter().map(move |format| (level, *format));
    ExplainLevel::ALL
        .iter()
        .flat_map(|(level, ..)| of(*level))
        .collect()
}

fn explained(
    program: &Program,
    setting: &Setting,
    sizes_are_known: bool,
    (level, format): (ExplainLevel, ExplainFormat),
) -> Result<String> {
    let mut request = Request::script("test.dml", &program.text);
    let known = |size: usize| if sizes_are_known { size as i64 } else { -1 };
    request
        .inputs
        .extend(Program::INPUTS.map(|(name, rows, cols)| Input {
            name: name.into(),
            binding: Binding::Dataset {
                rows: known(rows),
                cols: known(cols),
                nnz: -1,
            },
        }));
    request
        .outputs
        .extend(program.outputs.iter().map(|output| output.name.clone()));
    request.config.extend(
        setting
            .config()
            .map(|(key, value)| (key.into(), value.into())),
    );
    (request.level, request.format) = (level, format);
    let session = Session::new(Config::default()).with_backend(Arc::new(LocalBackend::default()));
    explain(&request, &session)
}

proptest! {
    #[test]
    fn programs_leave_the_same_everywhere(
        choices in prop::collection::vec(prop::collection::vec(any::<u16>(), 30), 1..8),
        inputs in inputs(),
        setting in setting(),
    ) {
        let program = Program::of(&choices);
        let expected = here(&program, &inputs, "none");
        assert_same(&program, &expected, &here(&program, &inputs, setting.policy), setting.policy);
        // Too many of those are a failure.
        let found = there(&program, &inputs, &setting).ok_or_else(|| TestCaseError::reject("a memory error"))?;
        assert_same(&program, &expected, &found, &format!("{setting:?}"));
    }

    #[test]
    fn they_can_be_explained_before_they_run(
        choices in prop::collection::vec(prop::collection::vec(any::<u16>(), 30), 1..8),
        setting in setting(),
        sizes_are_known in any::<bool>(),
        shown in prop::sample::select(every_explanation()),
    ) {
        let program = Program::of(&choices);
        let explained = explained(&program, &setting, sizes_are_known, shown);
        prop_assert!(explained.is_ok(), "{shown:?}: {}\n{}", explained.unwrap_err(), program.text);
    }
}
