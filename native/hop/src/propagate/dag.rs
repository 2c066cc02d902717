//! Propagation through one DAG.

use std::{cell::RefCell, collections::BTreeSet};

use fulgurite_error::Error;

use super::{
    Folding, ReadMetadata, Symbols, Used,
    notes::{self, Assigned},
};
use crate::{
    Characteristics, Dag, DataType, Hop, HopId, Literal, SizeOp, ValueType, VariableInfo,
    ZeroCarriers,
    ops::Call,
    scalar,
    sizes::{Fact, HopCall},
};

/// What is known of a variable where a DAG begins.
pub(super) type Known<'a> = &'a dyn Fn(&str) -> Option<&'a VariableInfo>;

pub(super) struct Outcome {
    pub dag: Dag,
    pub used: Used,
    /// What is known of the variables that the DAG writes.
    pub written: Symbols,
    /// The value of the first root, where it is known: of a predicate.
    pub value: Option<Literal>,
    /// Where sizes certainly do not fit. Of what such an operator gives, no size is known.
    pub errors: Vec<Error>,
}

pub(super) fn propagate(
    dag: &Dag,
    known: Known<'_>,
    folding: Folding<'_>,
    metadata: ReadMetadata,
    assigned: &Assigned,
) -> Outcome {
    let mut errors = Vec::new();
    let used = RefCell::new(BTreeSet::new());
    let mut facts: Vec<Fact> = Vec::with_capacity(dag.len());
    let mut result = Dag::new();
    let mut zeros = ZeroCarriers::default();
    for (id, hop) in dag.iter() {
        let call = HopCall::new(dag, id, &facts, &used);
        let mut fact = if let Some(name) = hop.op.variable_read() {
            read_variable(&call, known(name))
        } else if let Some(info) = read_file(&call, metadata) {
            without_constant(info)
        } else {
            without_constant(call.infer().unwrap_or_else(|error| {
                errors.push(notes::with_operands(error, dag, &call, assigned));
                unknown(&call)
            }))
        };
        if let Some((value, rests_on)) = evaluate(&call) {
            fact.info.value_type = value.value_type();
            fact = Fact {
                info: VariableInfo {
                    constant: Some(value),
                    ..fact.info
                },
                rests_on,
            };
        }
        result.push(updated(hop, &fact, folding, &used));
        zeros.push(&result, id);
        if let Some(characteristics) = no_fuller_than_carriers(&result, id, &zeros) {
            result.hop_mut(id).characteristics = characteristics;
            fact.info.characteristics = characteristics;
        }
        facts.push(fact);
    }
    result.roots = dag.roots.clone();
    let first = dag.roots.first().and_then(|root| facts.get(root.index()));
    Outcome {
        written: written(dag, &facts),
        value: first.and_then(|fact| fact.info.constant.clone()),
        dag: result,
        used: Used {
            constants: used.into_inner(),
        },
        errors,
    }
}

/// What an operator gives whose inputs do not fit.
fn unknown(call: &HopCall) -> VariableInfo {
    let declared = call.declared();
    VariableInfo {
        characteristics: match declared.data_type {
            DataType::Scalar => Characteristics::SCALAR,
            DataType::Matrix | DataType::Frame | DataType::List => Characteristics::UNKNOWN,
        },
        ..declared
    }
}

/// The size of an expression that has fewer non-zeros than its last operator lets on, as `log(X + 1)` has.
///
/// That it has none at all, nobody concludes: 0 / 0 is not zero.
fn no_fuller_than_carriers(dag: &Dag, id: HopId, zeros: &ZeroCarriers) -> Option<Characteristics> {
    let others = zeros.of(id).iter().filter(|carrier| **carrier != id);
    let fewest = others
        .filter_map(|carrier| dag.hop(*carrier).characteristics.nnz)
        .min()?;
    let inferred = dag.hop(id).characteristics;
    let is_fewer = fewest > 0 && inferred.nnz.is_none_or(|nnz| fewest < nnz);
    is_fewer.then(|| inferred.with_nnz(fewest))
}

fn without_constant(info: VariableInfo) -> Fact {
    Fact {
        info,
        rests_on: BTreeSet::new(),
    }
}

fn read_variable(call: &HopCall, info: Option<&VariableInfo>) -> Fact {
    let Some(info) = info else {
        return without_constant(call.declared());
    };
    let name = call.hop().op.variable_read();
    let rests_on = match (name, &info.constant) {
        (Some(name), Some(_)) => BTreeSet::from([name.to_owned()]),
        _ => BTreeSet::new(),
    };
    Fact {
        info: info.clone(),
        rests_on,
    }
}

/// What is known of a matrix or frame in a file.
fn read_file(call: &HopCall, metadata: ReadMetadata) -> Option<VariableInfo> {
    let options = call.hop().op.file_read()?;
    let path = call.constant(0)?.to_string();
    metadata(&path, options)
}

/// The value of a scalar operator all of whose inputs are known, and the variables it rests on. Evaluation
/// that fails is left to the run time, which may never come to it.
fn evaluate(call: &HopCall) -> Option<(Literal, BTreeSet<String>)> {
    let hop = call.hop();
    if let Some(op) = hop.op.size_asked() {
        return Some((size_value(call, op)?, BTreeSet::new()));
    }
    let facts: Vec<&Fact> = (0..call.arity()).map(|place| call.fact(place)).collect();
    let scalars = facts
        .iter()
        .all(|fact| fact.info.data_type == DataType::Scalar);
    if !scalars {
        return None;
    }
    if let Some(decided) = decided_by_one(hop, &facts) {
        return Some(decided);
    }
    let inputs: Vec<&Literal> = facts
        .iter()
        .map(|fact| fact.info.constant.as_ref())
        .collect::<Option<_>>()?;
    let value = match (hop.op.variable_written(), inputs.as_slice()) {
        (Some(_), [value]) => Ok((*value).clone()),
        (_, inputs) => scalar::eval_scalar(&hop.op, inputs)?,
    };
    let rests_on = facts.iter().flat_map(|fact| fact.rests_on.clone());
    Some((value.ok()?, rests_on.collect()))
}

/// The value of `FALSE & x` and `TRUE | x`, whatever x is: conditions guard what does not fit.
fn decided_by_one(hop: &Hop, facts: &[&Fact]) -> Option<(Literal, BTreeSet<String>)> {
    let decides = hop.op.decided_by()?;
    let is_text = |fact: &&&Fact| fact.info.value_type == ValueType::String;
    if facts.iter().any(|fact| is_text(&fact)) {
        return None;
    }
    let deciding = facts.iter().find(|fact| {
        let value = fact.info.constant.as_ref();
        value.and_then(|value| scalar::truth(value).ok()) == Some(decides)
    })?;
    Some((Literal::Boolean(decides), deciding.rests_on.clone()))
}

fn size_value(call: &HopCall, op: SizeOp) -> Option<Literal> {
    if call.input(0).data_type == DataType::List {
        return None;
    }
    let value = op.of(&call.input(0).characteristics);
    i64::try_from(value?).ok().map(Literal::Int)
}

/// The HOP with what is known of it, or the literal it is.
fn updated(hop: &Hop, fact: &Fact, folding: Folding<'_>, used: &RefCell<BTreeSet<String>>) -> Hop {
    let hop = Hop {
        data_type: fact.info.data_type,
        value_type: fact.info.value_type,
        characteristics: fact.info.characteristics,
        ..hop.clone()
    };
    let Some(value) = &fact.info.constant else {
        return hop;
    };
    let folds = match folding {
        Folding::Literals => fact.rests_on.is_empty(),
        Folding::Variables => true,
        Folding::VariablesBut(kept) => fact.rests_on.is_disjoint(kept),
    };
    if !folds || hop.op.variable_written().is_some() {
        return hop;
    }
    used.borrow_mut().extend(fact.rests_on.iter().cloned());
    Hop {
        position: hop.position,
        ..Hop::literal(value.clone())
    }
}

fn written(dag: &Dag, facts: &[Fact]) -> Symbols {
    let write = |(id, hop): (HopId, &Hop)| {
        let name = hop.op.variable_written()?;
        Some((name.to_owned(), facts[id.index()].info.clone()))
    };
    dag.iter().filter_map(write).collect()
}
