//! Memory estimates: how many bytes an operator needs while it runs, from sizes alone.
//!
//! Estimates are worst cases under the known sizes and follow [`Characteristics::memory_bytes`] for what
//! a matrix takes. They are pure functions of the DAG; `None` says that some size is unknown, which a
//! caller must read as "may not fit". Start with [`operation_bytes`].
//!
//! [`Characteristics::memory_bytes`]: crate::Characteristics::memory_bytes

use crate::{Dag, DataType, Hop, HopId, Literal, ops::Beside};

/// What a number or a boolean takes, with its tag.
const SCALAR_BYTES: u64 = 16;

/// Bytes of what the operator gives.
pub fn output_bytes(hop: &Hop) -> Option<u64> {
    match (hop.op.constant(), hop.data_type) {
        (Some(Literal::String(text)), _) => Some(SCALAR_BYTES + text.len() as u64),
        (_, DataType::Scalar) => Some(SCALAR_BYTES),
        (_, DataType::Matrix) => hop.characteristics.memory_bytes(),
        // It holds values of other operators.
        (_, DataType::List) => Some(0),
        // The cells of a frame have no fixed width.
        (_, DataType::Frame) => None,
    }
}

/// Bytes of all inputs; one that is read twice counts once.
pub fn input_bytes(dag: &Dag, id: HopId) -> Option<u64> {
    let mut inputs = dag.hop(id).inputs.clone();
    inputs.sort_unstable();
    inputs.dedup();
    inputs
        .into_iter()
        .map(|input| output_bytes(dag.hop(input)))
        .try_fold(0u64, |sum, bytes| Some(sum.saturating_add(bytes?)))
}

/// Bytes that the operator needs besides inputs and output.
pub fn intermediate_bytes(dag: &Dag, id: HopId) -> Option<u64> {
    Some(own_bytes(dag, id)?.saturating_add(pointer_bytes(dag, id)))
}

/// Pointers to all rows of ultra-sparse inputs, for operators that do not work on coordinates.
fn pointer_bytes(dag: &Dag, id: HopId) -> u64 {
    let hop = dag.hop(id);
    if hop.op.facts(|facts| facts.memory.on_coordinates) {
        return 0;
    }
    let mut inputs = hop.inputs.clone();
    inputs.sort_unstable();
    inputs.dedup();
    let pointers = inputs
        .into_iter()
        .map(|input| row_pointer_bytes(dag.hop(input)));
    pointers.fold(0, u64::saturating_add)
}

/// What pointers to all rows of a matrix take that is kept as coordinates.
pub fn row_pointer_bytes(matrix: &Hop) -> u64 {
    let sizes = &matrix.characteristics;
    match sizes.is_stored_ultra_sparse() {
        true => sizes.rows.unwrap_or(0).saturating_add(1).saturating_mul(8),
        false => 0,
    }
}

fn own_bytes(dag: &Dag, id: HopId) -> Option<u64> {
    let hop = dag.hop(id);
    let (beside, main) = hop
        .op
        .facts(|facts| (facts.memory.beside, facts.inputs.main()));
    match beside {
        Beside::Nothing => Some(0),
        Beside::EachResult(kept) => {
            let bytes = hop.characteristics.cells()?.saturating_mul(8);
            Some(bytes.saturating_mul(kept))
        }
        Beside::Bytes(bytes) => match main.and_then(|main| hop.inputs.get(main)) {
            Some(main) => bytes(&hop.characteristics, &dag.hop(*main).characteristics),
            None => Some(0),
        },
    }
}

/// Inputs, output and intermediates together: what must fit for the operator to run locally.
pub fn operation_bytes(dag: &Dag, id: HopId) -> Option<u64> {
    Some(held_bytes(dag, id)?.saturating_add(intermediate_bytes(dag, id)?))
}

/// Inputs and output together.
pub fn held_bytes(dag: &Dag, id: HopId) -> Option<u64> {
    let hop = dag.hop(id);
    // A write gives nothing of its own.
    let output = match hop.op.variable_written().is_some() || hop.op.writes_file() {
        true => 0,
        false => output_bytes(hop)?,
    };
    Some(input_bytes(dag, id)?.saturating_add(output))
}

/// What a DAG's operators hold at a time, at most, beside the variables that it reads: each runs in the order of the DAG, and its value
/// is held to its last reader, or to the end where it is a root. What is written to a variable is not counted again.
pub fn peak_bytes(dag: &Dag) -> Option<u64> {
    let mut readers = vec![0u32; dag.len()];
    for (_, hop) in dag.iter() {
        for input in &hop.inputs {
            readers[input.index()] += 1;
        }
    }
    for root in &dag.roots {
        readers[root.index()] += 1;
    }
    let mut sizes = vec![0u64; dag.len()];
    let (mut live, mut peak) = (0u64, 0u64);
    for (id, hop) in dag.iter() {
        let is_variable = hop
            .op
            .variable_read()
            .or(hop.op.variable_written())
            .is_some();
        sizes[id.index()] = match hop.data_type {
            DataType::Matrix if is_variable => 0,
            DataType::Matrix => output_bytes(hop)?,
            DataType::Scalar | DataType::List => 0,
            DataType::Frame => return None,
        };
        live = live.saturating_add(sizes[id.index()]);
        peak = peak.max(live.saturating_add(intermediate_bytes(dag, id)?));
        for input in &hop.inputs {
            let left = &mut readers[input.index()];
            *left = left.saturating_sub(1);
            if *left == 0 {
                live = live.saturating_sub(sizes[input.index()]);
            }
        }
    }
    Some(peak)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AggregateOp, BinaryOp, Characteristics, Direction, HopOp};

    fn read(dag: &mut Dag, name: &str, characteristics: Characteristics) -> HopId {
        dag.push(Hop::matrix(HopOp::TransientRead(name.into()), Vec::new()).with(characteristics))
    }

    #[test]
    fn an_input_read_twice_counts_once() {
        let mut dag = Dag::new();
        let x = read(&mut dag, "X", Characteristics::dims(100, 10));
        let square = dag.push(
            Hop::matrix(HopOp::Binary(BinaryOp::Mult), vec![x, x])
                .with(Characteristics::dims(100, 10)),
        );
        assert_eq!(input_bytes(&dag, square), Some(8000));
        assert_eq!(operation_bytes(&dag, square), Some(16000));
    }

    #[test]
    fn values_are_held_to_their_last_reader() {
        let mut dag = Dag::new();
        let size = Characteristics::dims(100, 10);
        let x = read(&mut dag, "X", size);
        let mut push = |op, inputs| dag.push(Hop::matrix(HopOp::Binary(op), inputs).with(size));
        let square = push(BinaryOp::Mult, vec![x, x]);
        let double = push(BinaryOp::Plus, vec![square, square]);
        let last = push(BinaryOp::Plus, vec![double, x]);
        dag.roots = vec![last];
        assert_eq!(peak_bytes(&dag), Some(16000));
        // The first value is there to the end.
        dag.roots = vec![square, last];
        assert_eq!(peak_bytes(&dag), Some(24000));
        let unknown = read(&mut dag, "Y", Characteristics::UNKNOWN);
        dag.push(Hop::matrix(HopOp::Transpose, vec![unknown]));
        assert_eq!(peak_bytes(&dag), None);
    }

    #[test]
    fn unknown_sizes_make_the_estimate_unknown() {
        let mut dag = Dag::new();
        let x = read(&mut dag, "X", Characteristics::UNKNOWN);
        let transposed =
            dag.push(Hop::matrix(HopOp::Transpose, vec![x]).with(Characteristics::dims(100, 10)));
        assert_eq!(output_bytes(dag.hop(transposed)), Some(8000));
        assert_eq!(operation_bytes(&dag, transposed), None);
    }

    #[test]
    fn row_sums_keep_a_correction_for_each_row() {
        let mut dag = Dag::new();
        let x = read(&mut dag, "X", Characteristics::dims(100, 10).with_nnz(100));
        let sums = dag.push(
            Hop::matrix(HopOp::Aggregate(AggregateOp::Sum, Direction::Row), vec![x])
                .with(Characteristics::dims(100, 1)),
        );
        assert_eq!(intermediate_bytes(&dag, sums), Some(800));
        assert_eq!(operation_bytes(&dag, sums), Some(1200 + 808 + 800 + 800));
    }
}
