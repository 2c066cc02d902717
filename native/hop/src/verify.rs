//! What holds for every [`Dag`], checked.
//!
//! - **Order**: inputs stand before their consumers and exist.
//! - **Arity**: each operator has as many inputs as [`HopOp::takes`](crate::HopOp::takes) says.
//! - **Input types**: each input has a type that [`HopOp::accepts`](crate::HopOp::accepts) allows.
//! - **Result types**: a HOP has the type that [`HopOp::gives`](crate::HopOp::gives) says; a literal that of its value; a
//!   cell-wise operator gives a matrix exactly if it reads one.
//! - **Named inputs**: places lie among the inputs, each input has one name, the operator knows the name,
//!   and its main input is there.
//! - **Non-zeros**: not more than there are cells.
//! - **Roots**: exist, stand once, are read by nobody; operators with effects are roots; a root without
//!   effect is the only one (a predicate).

use std::collections::BTreeSet;

use fulgurite_error::{Error, Result};

use crate::{Dag, DataType, Hop, HopId, ops::Gives};

/// # Errors
/// Plan, naming the node and the rule it breaks.
pub fn verify(dag: &Dag) -> Result<()> {
    verify_named(dag, &|id| u64::from(id.0))
}

/// As [`verify`], for a DAG whose nodes have other numbers outside.
pub(crate) fn verify_named(dag: &Dag, number_of: Numbers) -> Result<()> {
    for (id, hop) in dag.iter() {
        verify_hop(dag, id, hop, number_of).map_err(|error| located(error, number_of(id), hop))?;
    }
    verify_roots(dag, number_of)
}

/// How a node is called in messages.
type Numbers<'a> = &'a dyn Fn(HopId) -> u64;

fn located(error: Error, number: u64, hop: &Hop) -> Error {
    Error::plan(format!("node {number}: {}", error.message()))
        .in_operator(hop.op.code())
        .at_option(hop.position.as_ref())
}

fn verify_hop(dag: &Dag, id: HopId, hop: &Hop, number_of: Numbers) -> Result<()> {
    verify_arity(hop)?;
    for (place, input) in hop.inputs.iter().enumerate() {
        if input.index() >= id.index() {
            return Err(Error::plan(format!(
                "input {input} does not stand before its consumer"
            )));
        }
        let (accepts, data_type) = (hop.op.accepts(place), dag.hop(*input).data_type);
        if !accepts.allows(data_type) {
            return Err(Error::plan(format!(
                "input {} (node {}) is a {data_type}, but must be {}",
                place + 1,
                number_of(*input),
                accepts.describe()
            )));
        }
    }
    verify_result_type(dag, hop)?;
    verify_named_inputs(hop)?;
    match (hop.characteristics.nnz, hop.characteristics.cells()) {
        (Some(nnz), Some(cells)) if hop.is_matrix() && nnz > cells => Err(Error::plan(format!(
            "{nnz} non-zeros are more than the {cells} cells"
        ))),
        _ => Ok(()),
    }
}

fn verify_arity(hop: &Hop) -> Result<()> {
    let (arity, inputs) = (hop.op.arity(), hop.inputs.len());
    if hop.op.takes(inputs) {
        return Ok(());
    }
    let takes = match (*arity.start(), *arity.end()) {
        (least, most) if least == most => least.to_string(),
        (least, usize::MAX) => format!("at least {least}"),
        (least, most) => format!("{least} or {most}"),
    };
    Err(Error::plan(format!(
        "wrong arity: takes {takes} inputs, has {inputs}"
    )))
}

fn verify_result_type(dag: &Dag, hop: &Hop) -> Result<()> {
    let wrong = |must: String| {
        Err(Error::plan(format!(
            "gives {} {}, but must give {must}",
            hop.value_type, hop.data_type
        )))
    };
    if let Some(data_type) = hop.op.gives()
        && data_type != hop.data_type
    {
        return wrong(data_type.to_string());
    }
    hop.op.facts(|facts| match facts.gives {
        Gives::Constant(value) if value.value_type() != hop.value_type => {
            wrong(value.value_type().to_string())
        }
        Gives::Cells(_) => {
            let reads_matrix = hop.inputs.iter().any(|input| dag.hop(*input).is_matrix());
            let expected = if reads_matrix {
                DataType::Matrix
            } else {
                DataType::Scalar
            };
            if hop.data_type == expected {
                Ok(())
            } else {
                wrong(format!("{expected}, as its inputs say"))
            }
        }
        Gives::Constant(_)
        | Gives::Always(_)
        | Gives::Count
        | Gives::Usually(..)
        | Gives::Input => Ok(()),
    })
}

fn verify_named_inputs(hop: &Hop) -> Result<()> {
    let Some((op, places)) = hop.op.with_named_inputs() else {
        return Ok(());
    };
    let distinct: BTreeSet<usize> = places.values().copied().collect();
    if distinct.len() != places.len() || distinct.iter().any(|place| *place >= hop.inputs.len()) {
        return Err(Error::plan(
            "named inputs: each name has a place of its own among the inputs",
        ));
    }
    let Some(names) = op.parameters() else {
        return Ok(());
    };
    if let Some(unknown) = places.keys().find(|name| !names.contains(&name.as_str())) {
        return Err(Error::plan(format!(
            "named inputs: '{unknown}' is unknown; {} takes {}",
            op.code(),
            names.join(", ")
        )));
    }
    match names.first() {
        Some(main) if !places.contains_key(*main) => {
            Err(Error::plan(format!("named inputs: '{main}' is missing")))
        }
        _ => Ok(()),
    }
}

fn verify_roots(dag: &Dag, number_of: Numbers) -> Result<()> {
    let roots: BTreeSet<HopId> = dag.roots.iter().copied().collect();
    if roots.len() != dag.roots.len() {
        return Err(Error::plan("roots: one stands twice"));
    }
    let consumers = dag.consumers();
    for root in &dag.roots {
        let Some(readers) = consumers.get(root.index()) else {
            return Err(Error::plan(format!("roots: there is no node {root}")));
        };
        let hop = dag.hop(*root);
        if let Some(reader) = readers.first() {
            let error = Error::plan(format!(
                "a root must be a sink, but node {} reads it",
                number_of(*reader)
            ));
            return Err(located(error, number_of(*root), hop));
        }
        if !hop.op.has_effect() && dag.roots.len() > 1 {
            let error = Error::plan("a root among others must be a write or have another effect");
            return Err(located(error, number_of(*root), hop));
        }
    }
    match dag
        .iter()
        .find(|(id, hop)| hop.op.has_effect() && !roots.contains(id))
    {
        Some((id, hop)) => Err(located(
            Error::plan("has an effect and must be a root"),
            number_of(id),
            hop,
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryOp, Characteristics, HopOp, Literal, ParameterizedOp, ValueType};

    fn matrix(dag: &mut Dag, name: &str) -> HopId {
        dag.push(Hop::matrix(HopOp::TransientRead(name.into()), Vec::new()))
    }

    fn number(dag: &mut Dag, value: i64) -> HopId {
        dag.push(Hop::literal(Literal::Int(value)))
    }

    /// What `verify` says of a DAG whose last HOP is this one and its only root.
    fn complaint(mut dag: Dag, hop: Hop) -> String {
        let root = dag.push(hop);
        dag.roots = vec![root];
        match verify(&dag) {
            Ok(()) => "fine".into(),
            Err(error) => error.message().into(),
        }
    }

    #[test]
    fn each_rule_names_the_node_it_finds_broken() {
        let mut dag = Dag::new();
        let x = matrix(&mut dag, "X");
        let one = number(&mut dag, 1);
        let complaints = [
            complaint(dag.clone(), Hop::matrix(HopOp::MatMult, vec![x, x])),
            complaint(dag.clone(), Hop::matrix(HopOp::MatMult, vec![x])),
            complaint(dag.clone(), Hop::matrix(HopOp::MatMult, vec![x, one])),
            complaint(dag.clone(), Hop::matrix(HopOp::Table, vec![x, x, one, one])),
            complaint(
                dag.clone(),
                Hop::scalar(HopOp::Transpose, vec![x], ValueType::Double),
            ),
            complaint(
                dag.clone(),
                Hop::scalar(
                    HopOp::Binary(BinaryOp::Plus),
                    vec![x, one],
                    ValueType::Double,
                ),
            ),
            complaint(
                dag.clone(),
                Hop::scalar(HopOp::Literal(Literal::Int(1)), vec![], ValueType::Double),
            ),
            complaint(
                dag.clone(),
                Hop::matrix(HopOp::Transpose, vec![x])
                    .with(Characteristics::dims(2, 2).with_nnz(5)),
            ),
            complaint(
                dag.clone(),
                Hop::matrix(
                    HopOp::Parameterized(
                        ParameterizedOp::Replace,
                        [("target".to_owned(), 0), ("pattern".to_owned(), 2)].into(),
                    ),
                    vec![x, one],
                ),
            ),
            complaint(
                dag.clone(),
                Hop::matrix(
                    HopOp::Parameterized(ParameterizedOp::Order, [("decreasing".into(), 0)].into()),
                    vec![one],
                ),
            ),
        ];
        insta::assert_snapshot!(complaints.join("\n"));
    }

    #[test]
    fn roots_are_sinks_and_effects_are_roots() {
        let mut dag = Dag::new();
        let x = matrix(&mut dag, "X");
        let write = dag.push(Hop::matrix(HopOp::TransientWrite("Y".into()), vec![x]));
        let complain = |roots: &[HopId]| {
            let mut dag = dag.clone();
            dag.roots = roots.to_vec();
            verify(&dag).map_err(|error| error.message().to_owned())
        };
        assert_eq!(complain(&[write]), Ok(()));
        assert_eq!(
            complain(&[]),
            Err("node 1: has an effect and must be a root".into())
        );
        assert_eq!(
            complain(&[x, write]),
            Err("node 0: a root must be a sink, but node 1 reads it".into())
        );
        assert_eq!(
            complain(&[write, write]),
            Err("roots: one stands twice".into())
        );
        assert_eq!(
            complain(&[write, HopId(9)]),
            Err("roots: there is no node 9".into())
        );
    }
}
