//! What one iteration of a loop takes at most, from sizes alone: so many may run at a time.
//!
//! Variables of the iteration are all held to its end, at their largest; of each statement block, what its operators hold
//! at a time comes on top. What an iteration only reads is there anyway and counts nothing. DAGs are taken before fusion,
//! which only saves. Start with [`iteration_bytes`].

use std::collections::{BTreeMap, BTreeSet};

use crate::{Block, Dag, Program, memory};

/// Bytes of one iteration of a loop over `body`; `None` where a size is not known.
pub fn iteration_bytes(program: &Program, body: &[Block]) -> Option<u64> {
    let mut estimate = Estimate {
        program,
        calls: BTreeSet::new(),
    };
    estimate.blocks(body).map(|frame| frame.bytes())
}

/// The variables of a function's call, or of an iteration, and what operators take beside them.
#[derive(Default)]
struct Frame {
    held: BTreeMap<String, u64>,
    operators: u64,
}

impl Frame {
    fn bytes(&self) -> u64 {
        let held = self.held.values().copied();
        held.fold(self.operators, u64::saturating_add)
    }

    fn hold(&mut self, variable: &str, bytes: u64) {
        let held = self.held.entry(variable.to_owned()).or_default();
        *held = bytes.max(*held);
    }

    fn join(&mut self, other: Frame) {
        for (variable, bytes) in other.held {
            self.hold(&variable, bytes);
        }
        self.operators = self.operators.max(other.operators);
    }
}

struct Estimate<'a> {
    program: &'a Program,
    /// The functions that call each other at this place.
    calls: BTreeSet<&'a str>,
}

impl<'a> Estimate<'a> {
    fn blocks(&mut self, blocks: &'a [Block]) -> Option<Frame> {
        let mut frame = Frame::default();
        for block in blocks {
            match block {
                Block::Basic { dag } => frame.join(of_dag(dag)?),
                Block::Call {
                    function, outputs, ..
                } => {
                    let called = self.call(function)?;
                    frame.operators = frame.operators.max(called.bytes());
                    let function = self.program.functions.get(function)?;
                    for (output, result) in outputs.iter().zip(&function.results) {
                        let bytes = called.held.get(&result.name).copied();
                        frame.hold(output, bytes.unwrap_or(0));
                    }
                }
                _ => {}
            }
            for predicate in block.predicates() {
                frame.join(self.blocks(&predicate.before)?);
                frame.join(of_dag(&predicate.dag)?);
            }
            for body in block.bodies() {
                frame.join(self.blocks(body)?);
            }
        }
        Some(frame)
    }

    fn call(&mut self, name: &'a str) -> Option<Frame> {
        // How deep a function calls itself is not known.
        if !self.calls.insert(name) {
            return None;
        }
        let frame = self.blocks(&self.program.functions.get(name)?.body);
        self.calls.remove(name);
        frame
    }
}

/// The variables that the DAG writes are held; what its operators hold comes on top.
fn of_dag(dag: &Dag) -> Option<Frame> {
    let mut frame = Frame {
        operators: memory::peak_bytes(dag)?,
        ..Frame::default()
    };
    for (_, hop) in dag.iter() {
        if let (Some(variable), true) = (hop.op.variable_written(), hop.is_matrix()) {
            frame.hold(variable, memory::output_bytes(hop)?);
        }
    }
    Some(frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BinaryOp, Characteristics, DataType, Function, Hop, HopOp};

    fn doubled(from: &str, to: &str, rows: Option<u64>) -> Block {
        let mut dag = Dag::new();
        let size = Characteristics::new(rows, Some(1), None);
        let read = dag.push(Hop::matrix(HopOp::TransientRead(from.into()), Vec::new()).with(size));
        let plus = HopOp::Binary(BinaryOp::Plus);
        let double = dag.push(Hop::matrix(plus.clone(), vec![read, read]).with(size));
        let double = dag.push(Hop::matrix(plus, vec![double, read]).with(size));
        let write = HopOp::TransientWrite(to.into());
        let write = dag.push(Hop::matrix(write, vec![double]).with(size));
        dag.roots.push(write);
        Block::Basic { dag }
    }

    #[test]
    fn variables_are_held_and_operators_come_on_top() {
        let program = Program::default();
        let of = |blocks: &[Block]| iteration_bytes(&program, blocks);
        // One variable, and two values while the second is computed from the first.
        assert_eq!(of(&[doubled("X", "a", Some(10))]), Some(80 + 160));
        let two = [doubled("X", "a", Some(10)), doubled("a", "b", Some(100))];
        assert_eq!(of(&two), Some(80 + 800 + 1600));
        assert_eq!(of(&[doubled("X", "a", None)]), None);
    }

    #[test]
    fn a_call_takes_what_its_variables_do() {
        let function = Function {
            name: "f".into(),
            parameters: Vec::new(),
            results: vec![crate::Parameter {
                name: "b".into(),
                data_type: DataType::Matrix,
                value_type: crate::ValueType::Double,
                default: None,
            }],
            body: vec![doubled("A", "b", Some(10))],
            position: None,
        };
        let mut program = Program::default();
        program.functions.insert("f".into(), function);
        let call = Block::Call {
            function: "f".into(),
            arguments: Vec::new(),
            outputs: vec!["B".into()],
            position: None,
        };
        assert_eq!(
            iteration_bytes(&program, std::slice::from_ref(&call)),
            Some(240 + 80)
        );
        if let Some(function) = program.functions.get_mut("f") {
            function.body.push(call.clone());
        }
        assert_eq!(iteration_bytes(&program, &[call]), None);
    }
}
