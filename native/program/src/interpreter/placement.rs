//! Where an operator runs: here, if it fits; on the workers, if it can be cut by rows or composed of primitives; else
//! nowhere. What fits here runs on the workers all the same where that saves transfers
//! ([`super::transfers`]) or time ([`super::spread`]).

use fulgurite_dataflow::{LocalMatrix, Variable};
use fulgurite_distributed::{
    Composition, InputFacts, InputPlace, RowWise, Slot, composition, row_wise,
};
use fulgurite_error::{Error, Result};
use fulgurite_hop::{Characteristics, HopId};
use fulgurite_matrix::{DenseMatrix, kernels};
use fulgurite_operators::BlockPlan;

use super::{
    spread::Product,
    transfers::{Reason, Site, Transfers},
};
use crate::session::Session;

#[derive(Debug, PartialEq)]
pub(crate) enum Decision {
    Local,
    Distributed(RowWise),
    Composed(Composition),
    /// A transpose: the workers get the matrix, and read it the other way.
    Turned,
}

/// Decides from actual inputs. `known` says where the block's other values are.
///
/// # Errors
/// `memory`, where the operator does not fit here and there are no workers, or it has no form for them.
pub(crate) fn decide(
    plan: &BlockPlan,
    id: HopId,
    inputs: &[Variable],
    session: &Session,
    known: &dyn Fn(HopId) -> Option<Site>,
) -> Result<Decision> {
    let hop = plan.dag.hop(id);
    let budget = session.config.memory_local;
    let any_distributed = inputs.iter().any(Variable::is_distributed);
    let estimate = estimate(plan, id, inputs);
    let fits = session.in_task
        || match estimate {
            Some(bytes) => bytes <= budget,
            // The output's size is not known before it is there. Inputs that are here stay here.
            None => !any_distributed,
        };
    if fits {
        let all_the_same = match any_distributed {
            true => where_inputs_stay(plan, id, inputs, session, known)?,
            false => spread(plan, id, inputs, session)?,
        };
        return Ok(all_the_same.unwrap_or(Decision::Local));
    }
    let needs = match estimate {
        Some(bytes) => format!("needs about {bytes} bytes"),
        None => "needs an unknown amount of memory".to_owned(),
    };
    if session.backend.is_none() {
        return Err(Error::memory(format!(
            "the operator {needs} and fulgurite.memory.local is {budget}"
        ))
        .with_help("raise fulgurite.memory.local, or run the script on Spark"));
    }
    let facts = all_facts(plan, id, inputs);
    let cplan = plan.cplan(id).map(|fused| &fused.plan);
    if let Some(cut) = row_wise(&hop.op, cplan, &facts) {
        return Ok(Decision::Distributed(cut));
    }
    if estimate.is_none() && input_bytes(plan, id, inputs).is_some_and(|bytes| bytes <= budget) {
        // All that is known fits: the output's size shows when it is there.
        return Ok(Decision::Local);
    }
    if let Some(composition) = composition(&hop.op, &facts) {
        return Ok(Decision::Composed(composition));
    }
    // A transpose in stripes of its own is worth a shuffle where nothing else helps.
    let turned: Vec<InputFacts> = facts.iter().map(InputFacts::in_stripes).collect();
    if let Some(cut) = row_wise(&hop.op, cplan, &turned) {
        return Ok(Decision::Distributed(cut));
    }
    if hop.op.is_transpose() {
        return Ok(Decision::Turned);
    }
    Err(Error::memory(format!(
        "the operator {needs}, fulgurite.memory.local is {budget}, and there is no way to run it on the workers"
    ))
    .with_help("raise fulgurite.memory.local so that it runs in the driver"))
}

/// Runs an operator that fits here on the workers, where its inputs are, if that moves less.
fn where_inputs_stay(
    plan: &BlockPlan,
    id: HopId,
    inputs: &[Variable],
    session: &Session,
    known: &dyn Fn(HopId) -> Option<Site>,
) -> Result<Option<Decision>> {
    if session.in_task || !session.config.pull {
        return Ok(None);
    }
    let own = || plan.inputs[id.index()].iter().zip(inputs);
    let known = |hop: HopId| match own().find(|(input, _)| **input == hop) {
        Some((_, value)) => Some(site(value)),
        None => known(hop),
    };
    let transfers = Transfers {
        plan,
        config: &session.config,
        cost: session.known_speeds(),
        known: &known,
    };
    let there: Vec<HopId> = own()
        .filter(|(_, value)| value.is_distributed())
        .map(|(input, _)| *input)
        .collect();
    let Some(stays) = transfers.pulls(&there) else {
        return Ok(None);
    };
    let cplan = plan.cplan(id).map(|fused| &fused.plan);
    let cut = row_wise(&plan.dag.hop(id).op, cplan, &all_facts(plan, id, inputs));
    if cut.is_some() {
        let operator = plan.labels[id.index()].as_deref();
        tracing::debug!(operator, "{}", Reason::InputStays(stays));
    }
    Ok(cut.map(Decision::Distributed))
}

/// Runs a product of matrices that are here on the workers, if that takes less time.
fn spread(
    plan: &BlockPlan,
    id: HopId,
    inputs: &[Variable],
    session: &Session,
) -> Result<Option<Decision>> {
    let has_others = session.backend.as_ref();
    let has_others = has_others.is_some_and(|backend| backend.is_in_reach());
    if session.in_task || !session.config.spread || !has_others || !Product::is_one(plan, id) {
        return Ok(None);
    }
    let facts = all_facts(plan, id, inputs);
    let cplan = plan.cplan(id).map(|fused| &fused.plan);
    let Some(cut) = row_wise(&plan.dag.hop(id).op, cplan, &facts) else {
        return Ok(None);
    };
    let mut sent = 0u64;
    let mut counted: Vec<&LocalMatrix> = Vec::new();
    for (slot, input) in cut.inputs.iter().zip(inputs) {
        let Variable::Matrix(matrix) = input else {
            continue;
        };
        let bytes = matrix.block().memory_bytes() as u64;
        if *slot == Slot::Whole && bytes > session.config.memory_broadcast {
            return Ok(None);
        }
        if !matrix.is_striped() && !counted.iter().any(|other| other.is(matrix)) {
            sent = sent.saturating_add(bytes);
        }
        counted.push(matrix);
    }
    let sizes: Vec<Characteristics> = facts.iter().map(|input| input.characteristics).collect();
    let Some(product) = Product::of(plan, id, &sizes, sent) else {
        return Ok(None);
    };
    let spread = product.spread(session)?;
    if let Some(spread) = spread {
        let operator = plan.labels[id.index()].as_deref();
        tracing::debug!(operator, "{}", Reason::Spread(spread));
    }
    Ok(spread.map(|_| Decision::Distributed(cut)))
}

/// Where a value is.
pub(crate) fn site(value: &Variable) -> Site {
    match value {
        Variable::Distributed(matrix) => Site::Workers {
            transposed: matrix.transposed,
        },
        _ => Site::Here,
    }
}

/// Bytes of inputs, output and intermediates; `None` where a size is unknown.
fn estimate(plan: &BlockPlan, id: HopId, inputs: &[Variable]) -> Option<u64> {
    let own = plan.own_bytes(id)?;
    Some(input_bytes(plan, id, inputs)?.saturating_add(own))
}

/// Bytes of the inputs; one that is read twice counts once.
fn input_bytes(plan: &BlockPlan, id: HopId, inputs: &[Variable]) -> Option<u64> {
    let hops = &plan.inputs[id.index()];
    let mut total = 0u64;
    for (place, (input, hop)) in inputs.iter().zip(hops).enumerate() {
        if hops[..place].contains(hop) {
            continue;
        }
        total = total.saturating_add(match input {
            Variable::Scalar(_) | Variable::List(_) => 0,
            Variable::Frame(frame) => frame.memory_bytes() as u64,
            Variable::Matrix(matrix) => matrix.block().memory_bytes() as u64,
            Variable::Distributed(matrix) => matrix.stripes.memory_bytes()?,
            Variable::Written(written) => written.characteristics().memory_bytes()?,
            Variable::Range(_) => 0,
        });
    }
    Some(total.saturating_add(bytes_of_ranges(inputs)))
}

/// Bytes of the ranges, which overlap: no more than those of the matrices that they are of.
pub(crate) fn bytes_of_ranges(inputs: &[Variable]) -> u64 {
    let mut matrices: Vec<(&DenseMatrix, u64)> = Vec::new();
    for input in inputs {
        if let Variable::Range(range) = input {
            let matrix = range.matrix();
            let cells = |matrix: &DenseMatrix| matrix.values().as_ptr();
            let bytes = range.memory_bytes() as u64;
            match matrices
                .iter_mut()
                .find(|(other, _)| cells(other) == cells(matrix))
            {
                Some((_, sum)) => *sum = sum.saturating_add(bytes),
                None => matrices.push((matrix, bytes)),
            }
        }
    }
    let bytes = matrices
        .into_iter()
        .map(|(matrix, bytes)| bytes.min(8 * matrix.values().len() as u64));
    bytes.fold(0, u64::saturating_add)
}

fn all_facts<'a>(plan: &BlockPlan, id: HopId, inputs: &'a [Variable]) -> Vec<InputFacts<'a>> {
    let transposed_left = plan.transposed_left[id.index()];
    let inputs = inputs.iter().enumerate();
    inputs
        .map(|(slot, input)| facts(input, transposed_left && slot == 0))
        .collect()
}

fn facts(input: &Variable, transposed: bool) -> InputFacts<'_> {
    let known = input.characteristics();
    let place = match input {
        Variable::Distributed(matrix) if matrix.transposed != transposed => {
            InputPlace::TransposedStripes
        }
        Variable::Distributed(_) => InputPlace::Stripes,
        _ => InputPlace::Local,
    };
    InputFacts {
        characteristics: match transposed {
            true => Characteristics::new(known.cols, known.rows, known.nnz),
            false => known,
        },
        scalar: input.as_scalar().ok(),
        place,
    }
}

/// For a product `t(A) %*% B` that runs on the workers: sees a distributed A transposed, and transposes a local one
/// unless tasks need its rows, which the answer says.
pub(crate) fn bring_left_operand_to_stripes(
    transposed_left: bool,
    cut: &RowWise,
    inputs: &mut [Variable],
) -> Result<bool> {
    let Some(left) = inputs.first_mut().filter(|_| transposed_left) else {
        return Ok(false);
    };
    match left {
        Variable::Distributed(matrix) => *left = Variable::Distributed(matrix.clone().transpose()),
        Variable::Matrix(_) if cut.cuts_left_operand_by_columns() => return Ok(true),
        Variable::Matrix(matrix) => {
            *left = Variable::Matrix(LocalMatrix::new(kernels::transpose(matrix.block())?));
        }
        Variable::Scalar(_)
        | Variable::List(_)
        | Variable::Frame(_)
        | Variable::Written(_)
        | Variable::Range(_) => {}
    }
    Ok(false)
}
