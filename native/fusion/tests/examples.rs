//! The plans of our example scripts' blocks, compiled from their text, with the sizes of the demo.

use std::{collections::BTreeMap, fs, path::Path};

use fulgurite_dml::{CompileOptions, compile};
use fulgurite_error::{Result, Source};
use fulgurite_fusion::{CostConstants, FusionConfig, fuse};
use fulgurite_hop::{
    Block, Characteristics, Dag, HopOp, Literal, ValueType, VariableInfo, propagate_dag,
    rewrite_dag,
};

/// The DAGs of all basic blocks, in script order.
fn dags<'a>(blocks: &'a [Block]) -> Vec<&'a Dag> {
    let nested = |block: &'a Block| match block {
        Block::Basic { dag } => vec![dag],
        Block::If {
            then, otherwise, ..
        } => [dags(then), dags(otherwise)].concat(),
        Block::While { body, .. } | Block::For { body, .. } => dags(body),
        Block::Call { .. } => Vec::new(),
    };
    blocks.iter().flat_map(nested).collect()
}

/// Explains fusion of the script's block that writes this variable, recompiled with these sizes.
fn explain(
    script: &str,
    written: &str,
    matrices: &[(&str, u64, u64)],
    ints: &[(&str, i64)],
) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../examples")
        .join(script);
    let text =
        fs::read_to_string(&path).map_err(|error| fulgurite_error::Error::io(error.to_string()))?;
    let arguments = ["X", "Y", "B"].map(|name| (name.to_owned(), Literal::String(name.to_owned())));
    let options = CompileOptions {
        arguments: arguments.into(),
        ..CompileOptions::default()
    };
    let program = compile(&Source::new(script, text), &options)?;
    let writes = |dag: &&Dag| {
        dag.roots
            .iter()
            .any(|root| dag.hop(*root).op == HopOp::TransientWrite(written.into()))
            && dag.iter().any(|(_, hop)| hop.op == HopOp::MatMult)
    };
    let blocks = dags(&program.body);
    let dag = blocks.into_iter().rfind(writes).ok_or_else(|| {
        fulgurite_error::Error::internal(format!("no block of {script} writes {written}"))
    })?;
    let mut symbols: BTreeMap<String, VariableInfo> = BTreeMap::new();
    for (_, hop) in dag.iter() {
        if let HopOp::TransientRead(name) = &hop.op {
            symbols.insert(name.clone(), VariableInfo::scalar(ValueType::Double));
        }
    }
    for (name, rows, cols) in matrices {
        symbols.insert(
            (*name).into(),
            VariableInfo::matrix(Characteristics::dims(*rows, *cols)),
        );
    }
    for (name, value) in ints {
        symbols.insert((*name).into(), VariableInfo::constant(Literal::Int(*value)));
    }
    let (dag, _) = propagate_dag(&rewrite_dag(dag, &[])?, &symbols)?;
    let dag = rewrite_dag(&dag, &[])?;
    let cost = CostConstants {
        // Plans must not depend on the cores of the machine that runs the tests.
        compute_gflop_per_s: 4.0,
        ..CostConstants::default()
    };
    let fused = fuse(
        &dag,
        &FusionConfig {
            cost,
            ..FusionConfig::default()
        },
    )?;
    Ok(fused.explanation.to_string())
}

#[test]
fn mlogreg_inner_loop() -> Result<()> {
    let weights = ["V", "R", "S", "HV", "Residual"].map(|name| (name, 64, 9));
    let data = [("X", 1437, 64), ("P", 1437, 10)];
    let text = explain(
        "mlogreg.dml",
        "HV",
        &[&data[..], &weights[..]].concat(),
        &[("k", 9)],
    )?;
    // Expression (2) of the paper: one Row operator, one pass over X.
    assert_eq!(text.matches(" Row ").count(), 1, "{text}");
    insta::assert_snapshot!(text);
    Ok(())
}

#[test]
fn mlogreg_line_search() -> Result<()> {
    let weights = ["B", "S", "R", "G", "Residual"].map(|name| (name, 64, 9));
    let data = [("X", 1437, 64), ("Y", 1437, 10)];
    let sizes = [&data[..], &weights[..]].concat();
    let ints = [("n", 1437)];
    insta::assert_snapshot!(explain("mlogreg.dml", "E", &sizes, &ints)?);
    Ok(())
}

#[test]
fn l2svm_direction() -> Result<()> {
    let sizes = [("X", 455, 30), ("s", 30, 1), ("w", 30, 1)];
    insta::assert_snapshot!(explain("l2svm.dml", "Xs", &sizes, &[])?);
    Ok(())
}

#[test]
fn l2svm_gradient() -> Result<()> {
    let vectors = [("s", 30, 1), ("w", 30, 1), ("gradient", 30, 1)];
    let data = [
        ("X", 455, 30),
        ("y", 455, 1),
        ("Xw", 455, 1),
        ("Xs", 455, 1),
        ("out", 455, 1),
    ];
    insta::assert_snapshot!(explain(
        "l2svm.dml",
        "gradient",
        &[&data[..], &vectors[..]].concat(),
        &[]
    )?);
    Ok(())
}
