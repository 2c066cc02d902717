//! The three patterns that everything else grew from, over all sizes and layouts.

use crate::support::{
    assert_all_agree, cell_plan, matrix, matrix_vector_chain, mlogreg_inner, sum_of_products,
    two_sums, weighted_log_sum, weighted_update,
};
use fulgurite_fusion::cplan::{CNode, InputBinding, NodeId, OuterOutput};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction, UnaryOp};
use fulgurite_matrix::MatrixBlock;

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

#[test]
fn two_sums_agree_with_the_interpreter() {
    for rows in SIZES {
        for cols in SIZES {
            let operands = [1, 2, 3].map(|seed| matrix(rows, cols, seed));
            assert_all_agree(&two_sums(), &operands);
        }
    }
}

/// More rows and columns than a tile has; dense, so that all cells are computed.
#[test]
fn outer_plans_agree_with_the_interpreter_across_tiles() {
    let (rows, cols, rank, width) = (130, 300, 5, 6);
    let (x, u, v) = (
        matrix(rows, cols, 1),
        matrix(rows, rank, 2),
        matrix(cols, rank, 3),
    );
    let positive = |block: &MatrixBlock| {
        let cells = block
            .to_dense()
            .unwrap()
            .values()
            .iter()
            .map(|cell| cell.abs())
            .collect();
        MatrixBlock::dense(block.rows(), block.cols(), cells).unwrap()
    };
    let operands = [x.clone(), positive(&u), positive(&v)];
    assert_all_agree(&weighted_log_sum(), &operands);
    for output in [
        OuterOutput::NoAggregate,
        OuterOutput::RightMultiply { input: 3 },
        OuterOutput::LeftMultiply { input: 3 },
    ] {
        let w_rows = match output {
            OuterOutput::LeftMultiply { .. } => rows,
            _ => cols,
        };
        let operands = [x.clone(), u.clone(), v.clone(), matrix(w_rows, width, 4)];
        assert_all_agree(&weighted_update(output), &operands);
    }
}

/// More of the right factor than stays in cache, and more stored cells than are worked on together.
#[test]
fn outer_plans_agree_with_the_interpreter_across_blocks() {
    for (rows, cols, rank) in [(7, 300, 600), (400, 400, 3)] {
        let operands = [
            matrix(rows, cols, 1),
            matrix(rows, rank, 2),
            matrix(cols, rank, 3),
            matrix(cols, 1, 4),
        ];
        assert_all_agree(&weighted_update(OuterOutput::NoAggregate), &operands);
    }
}

/// Functions with vector code of their own, between cellwise loops.
#[test]
fn functions_agree_with_the_interpreter() {
    let unary = [UnaryOp::Exp, UnaryOp::Log, UnaryOp::Sigmoid, UnaryOp::Tanh];
    let functions = unary
        .map(|op| CNode::Unary(op, NodeId(2)))
        .into_iter()
        .chain(
            [BinaryOp::Pow, BinaryOp::LogBase].map(|op| CNode::Binary(op, NodeId(2), NodeId(1))),
        );
    for function in functions {
        for direction in [Direction::Full, Direction::Row, Direction::Col] {
            let body = vec![
                CNode::Input(0),
                CNode::Input(1),
                CNode::Unary(UnaryOp::Abs, NodeId(0)),
                function.clone(),
                CNode::Binary(BinaryOp::Mult, NodeId(3), NodeId(0)),
            ];
            let inputs = [InputBinding::Main, InputBinding::ColumnVector];
            let aggregate = Some((AggregateOp::Sum, direction));
            let plan = cell_plan(&inputs, body, aggregate, false);
            for (rows, cols) in [(1, 1), (3, 7), (9, 64), (2, 3000)] {
                let vector = MatrixBlock::filled(rows, 1, 2.5).unwrap();
                assert_all_agree(&plan, &[matrix(rows, cols, 1), vector]);
            }
        }
    }
}
