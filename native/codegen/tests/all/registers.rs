//! Loops that need more than a processor has: values, inputs and sums for which there are no registers left.

use crate::support::{assert_all_agree, cell_plan, matrix, with_specials};
use fulgurite_fusion::cplan::{
    CNode, CPlan, InputBinding, MultiAggregateTemplate, NodeId, Template,
};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction, TernaryOp, UnaryOp};
use fulgurite_matrix::MatrixBlock;

/// Sizes with and without cells beyond the last whole vector.
const SIZES: [(usize, usize); 8] = [
    (1, 1),
    (3, 2),
    (2, 3),
    (5, 4),
    (3, 7),
    (2, 13),
    (4, 64),
    (1, 101),
];

fn node(at: usize) -> NodeId {
    NodeId(at as u32)
}

/// The main input, matrices, a column vector, a row vector and scalars, in turns.
fn bindings(count: usize) -> Vec<InputBinding> {
    let others = [
        InputBinding::Matrix,
        InputBinding::ColumnVector,
        InputBinding::Matrix,
        InputBinding::RowVector,
        InputBinding::Scalar,
    ];
    let mut bindings = vec![InputBinding::Main];
    bindings.extend(others.iter().cycle().take(count - 1));
    bindings
}

fn operands(bindings: &[InputBinding], rows: usize, cols: usize) -> Vec<MatrixBlock> {
    let operand = |(at, binding): (usize, &InputBinding)| {
        let (rows, cols) = match binding {
            InputBinding::ColumnVector => (rows, 1),
            InputBinding::RowVector => (1, cols),
            InputBinding::Scalar => (1, 1),
            _ => (rows, cols),
        };
        matrix(rows, cols, at as u64 + 1)
    };
    bindings.iter().enumerate().map(operand).collect()
}

/// Each product of two inputs is needed again after all others were computed.
fn products_that_wait(inputs: usize) -> Vec<CNode> {
    let mut body: Vec<CNode> = (0..inputs).map(CNode::Input).collect();
    for at in 0..inputs {
        body.push(CNode::Binary(
            BinaryOp::Mult,
            node(at),
            node((at + 1) % inputs),
        ));
    }
    let mut last = node(body.len() - 1);
    for at in inputs..2 * inputs {
        let op = [
            BinaryOp::Plus,
            BinaryOp::Max,
            BinaryOp::Minus,
            BinaryOp::Min,
        ][at % 4];
        body.push(CNode::Binary(op, node(at), last));
        last = node(body.len() - 1);
    }
    body
}

#[test]
fn values_wait_in_memory_where_there_are_too_many() {
    for inputs in [8, 16, 40] {
        let bindings = bindings(inputs);
        let aggregates = [
            None,
            Some((AggregateOp::Sum, Direction::Full)),
            Some((AggregateOp::Max, Direction::Row)),
            Some((AggregateOp::Mean, Direction::Row)),
        ];
        for aggregate in aggregates {
            let plan = cell_plan(&bindings, products_that_wait(inputs), aggregate, false);
            for (rows, cols) in SIZES {
                assert_all_agree(&plan, &operands(&bindings, rows, cols));
            }
        }
    }
}

/// Stack frames of several pages; beyond what one may have, Cranelift makes the loop.
#[test]
fn so_many_values_that_no_stack_frame_has_them() {
    for inputs in [200, 700] {
        let bindings = bindings(inputs);
        let plan = cell_plan(&bindings, products_that_wait(inputs), None, false);
        let operands = operands(&bindings, 3, 9);
        assert_all_agree(&plan, &operands);
    }
}

#[test]
fn masks_and_numbers_wait_as_values_do() {
    let bindings = bindings(12);
    let mut body: Vec<CNode> = (0..12).map(CNode::Input).collect();
    for at in 0..12 {
        body.push(CNode::Literal(0.125 * at as f64 - 0.5));
        let less = CNode::Binary(BinaryOp::Less, node(at), node(body.len() - 1));
        body.push(less);
    }
    for at in 0..12 {
        let test = node(13 + 2 * at);
        let other = node((at + 5) % 12);
        body.push(CNode::Ternary(TernaryOp::IfElse, test, node(at), other));
        body.push(CNode::Unary(UnaryOp::Sign, node(body.len() - 1)));
    }
    let mut last = node(body.len() - 1);
    for at in 0..12 {
        let value = node(36 + 2 * at);
        body.push(CNode::Binary(BinaryOp::Xor, last, value));
        let xor = node(body.len() - 1);
        body.push(CNode::Ternary(TernaryOp::MinusMult, xor, value, last));
        last = node(body.len() - 1);
    }
    for aggregate in [None, Some((AggregateOp::Min, Direction::Full))] {
        let plan = cell_plan(&bindings, body.clone(), aggregate, false);
        for (rows, cols) in SIZES {
            let mut operands = operands(&bindings, rows, cols);
            assert_all_agree(&plan, &operands);
            operands[0] = with_specials(&operands[0]);
            operands[1] = with_specials(&operands[1]);
            assert_all_agree(&plan, &operands);
        }
    }
}

#[test]
fn sums_are_as_many_as_there_are_registers_and_more() {
    for count in [1, 2, 3, 5, 9, 11, 14] {
        let bindings = bindings(6);
        let mut body: Vec<CNode> = (0..6).map(CNode::Input).collect();
        let ops = [
            AggregateOp::Sum,
            AggregateOp::Min,
            AggregateOp::SumSq,
            AggregateOp::Max,
            AggregateOp::Prod,
        ];
        let mut aggregates = Vec::new();
        for at in 0..count {
            body.push(CNode::Binary(
                BinaryOp::Mult,
                node(at % 6),
                node((at + 2) % 6),
            ));
            aggregates.push((ops[at % ops.len()], node(body.len() - 1)));
        }
        let plan = CPlan {
            template: Template::MultiAggregate(MultiAggregateTemplate {
                direction: Direction::Full,
                aggregates,
                sparse_safe: false,
            }),
            inputs: bindings.clone(),
            body,
        };
        for (rows, cols) in SIZES {
            assert_all_agree(&plan, &operands(&bindings, rows, cols));
        }
    }
}
