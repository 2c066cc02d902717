//! The three patterns that everything else grew from, over all sizes and layouts.

mod support;

use fulgurite_fusion::cplan::{CNode, CPlan, InputBinding, NodeId, RowOutput};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction};
use support::{assert_all_agree, cell_plan, matrix, row_plan};

/// sum(X * Y * Z)
fn sum_of_products() -> CPlan {
    cell_plan(
        &[
            InputBinding::Main,
            InputBinding::Matrix,
            InputBinding::Matrix,
        ],
        vec![
            CNode::Input(0),
            CNode::Input(1),
            CNode::Input(2),
            CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(1)),
            CNode::Binary(BinaryOp::Mult, NodeId(3), NodeId(2)),
        ],
        Some((AggregateOp::Sum, Direction::Full)),
        true,
    )
}

/// t(X) %*% (X %*% v)
fn matrix_vector_chain() -> CPlan {
    row_plan(
        &[InputBinding::Main, InputBinding::Whole],
        vec![
            CNode::Input(0),
            CNode::VectorMatrix {
                vector: NodeId(0),
                input: 1,
                scalar: true,
            },
        ],
        RowOutput::OuterProduct {
            left: NodeId(0),
            right: NodeId(1),
        },
    )
}

/// The inner loop of mlogreg: Q = P[,1:k] * (X %*% V); t(X) %*% (Q - P[,1:k] * rowSums(Q))
fn mlogreg_inner(k: u64) -> CPlan {
    row_plan(
        &[
            InputBinding::Main,
            InputBinding::Matrix,
            InputBinding::Whole,
        ],
        vec![
            CNode::Input(0),
            CNode::Input(1),
            CNode::ColumnRange {
                vector: NodeId(1),
                from: 1,
                to: k,
            },
            CNode::VectorMatrix {
                vector: NodeId(0),
                input: 2,
                scalar: false,
            },
            CNode::Binary(BinaryOp::Mult, NodeId(2), NodeId(3)),
            CNode::Reduce(AggregateOp::Sum, NodeId(4)),
            CNode::Binary(BinaryOp::Mult, NodeId(2), NodeId(5)),
            CNode::Binary(BinaryOp::Minus, NodeId(4), NodeId(6)),
        ],
        RowOutput::OuterProduct {
            left: NodeId(0),
            right: NodeId(7),
        },
    )
}

const SIZES: [usize; 10] = [0, 1, 2, 3, 7, 8, 9, 31, 64, 127];

#[test]
fn sum_of_products_agrees_with_the_interpreter() {
    for rows in SIZES {
        for cols in SIZES {
            let operands = [
                matrix(rows, cols, 1),
                matrix(rows, cols, 2),
                matrix(rows, cols, 3),
            ];
            assert_all_agree(&sum_of_products(), &operands);
        }
    }
}

#[test]
fn matrix_vector_chain_agrees_with_the_interpreter() {
    for rows in SIZES {
        for cols in SIZES {
            let operands = [matrix(rows, cols, 1), matrix(cols, 1, 2)];
            assert_all_agree(&matrix_vector_chain(), &operands);
        }
    }
}

#[test]
fn mlogreg_inner_agrees_with_the_interpreter() {
    for rows in SIZES {
        for cols in [1, 2, 9, 64] {
            for k in [1, 2, 3, 4, 5, 8, 11] {
                let operands = [
                    matrix(rows, cols, 1),
                    matrix(rows, k + 1, 2),
                    matrix(cols, k, 3),
                ];
                assert_all_agree(&mlogreg_inner(k as u64), &operands);
            }
        }
    }
}
