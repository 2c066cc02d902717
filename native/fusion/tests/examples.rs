//! The plans of our example scripts' blocks, compiled from their text, with the sizes of the demo.

use std::{collections::BTreeMap, fs, path::Path};

use fulgurite_dml::{CompileOptions, compile};
use fulgurite_error::{Result, Source};
use fulgurite_fusion::{CostConstants, FusedDag, FusionConfig, Policy, cplan::InputBinding, fuse};
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
    let matrices = matrices
        .iter()
        .map(|(name, rows, cols)| (*name, Characteristics::dims(*rows, *cols)));
    let fused = plan(script, written, matrices, ints, &config())?;
    Ok(fused.explanation.to_string())
}

fn config() -> FusionConfig {
    FusionConfig {
        // Plans must not depend on the cores of the machine that runs the tests.
        cost: CostConstants::default().computing_at(4.0),
        ..FusionConfig::default()
    }
}

fn plan<'a>(
    script: &str,
    written: &str,
    matrices: impl IntoIterator<Item = (&'a str, Characteristics)>,
    ints: &[(&str, i64)],
    config: &FusionConfig,
) -> Result<FusedDag> {
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
    for (name, characteristics) in matrices {
        symbols.insert(name.into(), VariableInfo::matrix(characteristics));
    }
    for (name, value) in ints {
        symbols.insert((*name).into(), VariableInfo::constant(Literal::Int(*value)));
    }
    let (dag, _) = propagate_dag(&rewrite_dag(dag, &[])?, &symbols)?;
    let dag = rewrite_dag(&dag, &[])?;
    fuse(&dag, config)
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

/// Outer operators for both factors' directions, over the known cells only.
#[test]
fn als_cg_inner_loops() -> Result<()> {
    let (rows, cols, rank) = (100_000, 20_000, 20);
    let known = Characteristics::dims(rows, cols).with_nnz(20_000_000);
    let of_rows = ["U", "R", "S"].map(|name| (name, Characteristics::dims(rows, rank)));
    let of_cols = ["V", "R", "S"].map(|name| (name, Characteristics::dims(cols, rank)));
    let data = [
        ("W", known),
        ("X", known),
        ("p", Characteristics::dims(rows, 1)),
        ("q", Characteristics::dims(cols, 1)),
        ("U", Characteristics::dims(rows, rank)),
        ("V", Characteristics::dims(cols, rank)),
    ];
    let script = "algorithms/als_cg.dml";
    let mut text = String::new();
    for (written, vectors) in [("U", of_rows), ("V", of_cols)] {
        let sizes = data.into_iter().chain(vectors);
        let fused = plan(script, written, sizes, &[], &config())?;
        let outer = fused
            .operators
            .iter()
            .filter(|operator| operator.label.starts_with("Outer"));
        assert_eq!(outer.count(), 1, "{}", fused.explanation);
        text += &format!("{written}\n{}", fused.explanation);
    }
    insta::assert_snapshot!(text);
    Ok(())
}

/// Vectors (of all rows) that operators over X read.
fn vectors_sent(fused: &FusedDag) -> usize {
    let reads_x = fused.dag.iter().filter(|(_, hop)| {
        let mut inputs = hop.inputs.iter();
        inputs.any(|input| fused.dag.hop(*input).op == HopOp::TransientRead("X".into()))
    });
    let fused_reads = reads_x.filter_map(|(_, hop)| match hop.op {
        HopOp::Fused(number) => Some(&fused.operators[number].plan.inputs),
        _ => None,
    });
    let is_sent =
        |bound: &&InputBinding| matches!(bound, InputBinding::ColumnVector | InputBinding::Matrix);
    fused_reads.flatten().filter(is_sent).count()
}

/// With X on the workers, operators on vectors that fit the driver stay there; fusing all sends each vector.
#[test]
fn vectors_stay_local_beside_a_distributed_matrix() -> Result<()> {
    let rows = 10_000_000;
    let matrices = |wide: &[&'static str], vectors: &[&'static str]| {
        let wide = wide
            .iter()
            .map(|name| (*name, Characteristics::dims(rows, 100)));
        let vectors = vectors
            .iter()
            .map(|name| (*name, Characteristics::dims(rows, 1)));
        wide.chain(vectors).collect::<Vec<_>>()
    };
    let mut l2svm = matrices(&["X"], &["y", "Xw", "Xs", "out"]);
    for name in ["w", "s", "direction", "gradient"] {
        l2svm.push((name, Characteristics::dims(100, 1)));
    }
    let mut mlogreg = matrices(&["X"], &["y"]);
    for (name, rows, cols) in [
        ("P", rows, 2),
        ("Y", rows, 2),
        ("B", 100, 1),
        ("S", 100, 1),
        ("R", 100, 1),
        ("G", 100, 1),
        ("residual", 100, 1),
        ("BNew", 100, 1),
    ] {
        mlogreg.push((name, Characteristics::dims(rows, cols)));
    }
    let mut text = String::new();
    for (script, written, sizes, ints) in [
        ("algorithms/l2svm.dml", "Xw", l2svm, vec![]),
        (
            "algorithms/mlogreg.dml",
            "objectiveNew",
            mlogreg,
            vec![("n", rows as i64), ("k", 1)],
        ),
    ] {
        let mut sent = Vec::new();
        for policy in [Policy::Cost, Policy::FuseAll] {
            let config = FusionConfig {
                policy,
                local_memory: 2 << 30,
                ..config()
            };
            let fused = plan(script, written, sizes.clone(), &ints, &config)?;
            sent.push(vectors_sent(&fused));
            text += &format!("{script} {}\n{}", policy.name(), fused.explanation);
        }
        assert!(sent[0] < sent[1], "{sent:?} vectors sent\n{text}");
    }
    insta::assert_snapshot!(text);
    Ok(())
}
