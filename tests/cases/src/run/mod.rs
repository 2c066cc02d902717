//! `run`: the values that a DAG or a CPlan gives, which every way of running must give.
//!
//! Of a DAG:
//! - operators one by one on dense matrices, on one thread: the values that are expected,
//! - under each fusion policy, dense and as CSR, on one thread and on two,
//! - as stripes of the backend in this process: one operator at least must run there. The driver has little memory
//!   then, which `local-memory=` and bytes in the first line change,
//! - each fused operator by each [engine](engines), compared with what its CPlan means.
//!
//! With `exact` in the first line, all give the same numbers, but for the sign of zeros; else they are equal up to
//! rounding. A CPlan goes through the engines alone.

mod engines;
mod programs;
mod values;

use std::collections::BTreeMap;

use fulgurite_error::{Error, Result};
use fulgurite_fusion::{FusionConfig, Policy, cplan::CPlan, fuse};
use fulgurite_hop::{
    Characteristics, Dag, DataType, HopOp, ValueType, VariableInfo, propagate_dag, text::from_text,
};
use fulgurite_test_numbers::is_close;

use crate::{Case, check::TOLERANCE};
use programs::{DRIVER_MEMORY, Way};
pub(crate) use values::Value;

/// Values of variables by name.
type Values = BTreeMap<String, Value>;

/// What a case gives.
pub(crate) fn values(case: &Case) -> Result<String> {
    let is_known = |word: &str| word == "exact" || word.starts_with("local-memory=");
    if let Some(word) = case.settings.iter().find(|word| !is_known(word)) {
        return Err(Error::argument(format!(
            "the setting '{word}' is not understood"
        )));
    }
    let exact = case.has("exact");
    let inputs = case.inputs.iter();
    let inputs: Values = inputs
        .map(|(name, text)| Ok((name.clone(), Value::parse(text)?)))
        .collect::<Result<_>>()?;
    if case
        .path
        .extension()
        .is_some_and(|extension| extension == "cplan")
    {
        let plan: CPlan = case.body.parse()?;
        let operands = (0..plan.inputs.len()).map(|number| {
            let name = format!("in{number}");
            let input = inputs.get(&name).cloned();
            input.ok_or_else(|| Error::argument(format!("'{name} = ...' is missing")))
        });
        let value = engines::agree(&plan, &operands.collect::<Result<Vec<_>>>()?, exact)?;
        return Ok(value.named("out"));
    }
    let dag = from_text(&case.body)?;
    let dag = with_sizes(&dag, &inputs)?;
    let driver_memory = match case.setting("local-memory") {
        None => DRIVER_MEMORY,
        Some(bytes) => bytes.parse().map_err(|_| {
            Error::argument(format!(
                "the setting 'local-memory={bytes}' is no number of bytes"
            ))
        })?,
    };
    let expected = programs::run(&dag, &inputs, Way::REFERENCE)?.values;
    let mut on_workers = false;
    for way in Way::all(driver_memory) {
        let in_this_way = |error: Error| Error::new(error.kind(), format!("{way:?}: {error}"));
        let actual = programs::run(&dag, &inputs, way).map_err(in_this_way)?;
        for (name, expected) in &expected {
            let actual = actual.values.get(name);
            let actual = actual.ok_or_else(|| Error::internal(format!("{name} is missing")))?;
            compare(name, expected, actual, exact).map_err(in_this_way)?;
        }
        on_workers |= actual.on_workers;
    }
    if !on_workers {
        return Err(Error::internal("no operator ran on the workers")
            .with_help("lower local-memory, or give an input more rows than a stripe has"));
    }
    for policy in [Policy::FuseAll, Policy::Cost] {
        fused(&dag, &inputs, policy, exact)?;
    }
    let expected = expected.iter().map(|(name, value)| value.named(name));
    Ok(expected.collect())
}

/// The DAG with the sizes that follow from its inputs.
fn with_sizes(dag: &Dag, inputs: &Values) -> Result<Dag> {
    for (_, hop) in dag.iter() {
        if let HopOp::TransientRead(name) = &hop.op
            && !inputs.contains_key(name)
        {
            return Err(Error::argument(format!("'{name} = ...' is missing")));
        }
    }
    let info = |value: &Value| match value.shape() {
        None => VariableInfo::scalar(ValueType::Double),
        Some((rows, cols)) => VariableInfo::matrix(Characteristics::dims(rows as u64, cols as u64)),
    };
    let inputs = inputs.iter();
    let symbols = inputs.map(|(name, value)| (name.clone(), info(value)));
    Ok(propagate_dag(dag, &symbols.collect())?.0)
}

/// Runs the fused DAG operator by operator: each fused one by all engines, the others by the program that runs it
/// alone.
fn fused(dag: &Dag, inputs: &Values, policy: Policy, exact: bool) -> Result<()> {
    let config = FusionConfig {
        policy,
        // Outer products of any size.
        outer_product_cells: 1,
        ..FusionConfig::default()
    };
    let fused = fuse(dag, &config)?;
    let mut values: Vec<Option<Value>> = Vec::with_capacity(fused.dag.len());
    for (_, hop) in fused.dag.iter() {
        let operands = hop.inputs.iter().map(|input| {
            let value = values[input.index()].clone();
            value.ok_or_else(|| Error::unsupported("a text among the operands"))
        });
        let value = match &hop.op {
            HopOp::Literal(literal) => literal.as_f64().map(Value::Number),
            HopOp::TransientRead(name) => inputs.get(name).cloned(),
            HopOp::TransientWrite(_) => None,
            HopOp::Fused(number) => {
                let operands = operands.collect::<Result<Vec<_>>>()?;
                let plan = &fused.operators[*number].plan;
                let value = engines::agree(plan, &operands, exact)?;
                Some(match hop.data_type {
                    DataType::Scalar => Value::Number(value.number()?),
                    _ => value,
                })
            }
            _ => Some(programs::run_alone(
                &fused.dag,
                hop,
                &operands.collect::<Result<Vec<_>>>()?,
            )?),
        };
        values.push(value);
    }
    Ok(())
}

/// # Errors
/// Runtime, where the values differ.
fn compare(name: &str, expected: &Value, actual: &Value, exact: bool) -> Result<()> {
    let differ = |what: String| {
        Err(Error::new(
            fulgurite_error::ErrorKind::Runtime,
            format!("{name}: {what}"),
        ))
    };
    if expected.shape() != actual.shape() {
        return differ(format!("{:?}, not {:?}", actual.shape(), expected.shape()));
    }
    for (place, (expected, actual)) in expected.cells()?.iter().zip(actual.cells()?).enumerate() {
        let is_same = match exact {
            // A sparse matrix does not keep the sign of its zeros.
            true => *expected == actual || (expected.is_nan() && actual.is_nan()),
            false => is_close(actual, *expected, TOLERANCE),
        };
        if !is_same {
            return differ(format!("cell {place} is {actual:e}, not {expected:e}"));
        }
    }
    Ok(())
}
