//! Plans, operands, and the comparison of compiled code with the interpreter.
#![allow(dead_code)] // each test file uses its part

use std::sync::OnceLock;

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, Output, execute};
use fulgurite_error::Result;
use fulgurite_fusion::cplan::interpret::{Dense, interpret};
use fulgurite_fusion::cplan::{
    CNode, CPlan, CellTemplate, InputBinding, MultiAggregateTemplate, NodeId, OuterOutput,
    OuterTemplate, RowOutput, RowTemplate, Template,
};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction, UnaryOp};
use fulgurite_matrix::{DenseMatrix, Layout, MatrixBlock, kernels::DenseRange};
use fulgurite_test_numbers::is_close;

/// A Cell plan whose value is the last node of the body.
pub fn cell_plan(
    inputs: &[InputBinding],
    body: Vec<CNode>,
    aggregate: Option<(AggregateOp, Direction)>,
    sparse_safe: bool,
) -> CPlan {
    let value = NodeId(body.len() as u32 - 1);
    CPlan {
        template: Template::Cell(CellTemplate {
            value,
            aggregate,
            sparse_safe,
        }),
        inputs: inputs.to_vec(),
        body,
    }
}

pub fn row_plan(inputs: &[InputBinding], body: Vec<CNode>, output: RowOutput) -> CPlan {
    CPlan {
        template: Template::Row(RowTemplate { output }),
        inputs: inputs.to_vec(),
        body,
    }
}

/// sum(X * Y * Z)
pub fn sum_of_products() -> CPlan {
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
pub fn matrix_vector_chain() -> CPlan {
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

/// t(X) %*% (X %*% V)
pub fn matrix_matrix_chain() -> CPlan {
    row_plan(
        &[InputBinding::Main, InputBinding::Whole],
        vec![
            CNode::Input(0),
            CNode::VectorMatrix {
                vector: NodeId(0),
                input: 1,
                scalar: false,
            },
        ],
        RowOutput::OuterProduct {
            left: NodeId(0),
            right: NodeId(1),
        },
    )
}

/// The inner loop of mlogreg: Q = P[,1:k] * (X %*% V); t(X) %*% (Q - P[,1:k] * rowSums(Q))
pub fn mlogreg_inner(k: u64) -> CPlan {
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

/// sum(X * Y), sum(X * Z)
pub fn two_sums() -> CPlan {
    CPlan {
        template: Template::MultiAggregate(MultiAggregateTemplate {
            direction: Direction::Full,
            aggregates: vec![(AggregateOp::Sum, NodeId(3)), (AggregateOp::Sum, NodeId(4))],
            sparse_safe: true,
        }),
        inputs: vec![
            InputBinding::Main,
            InputBinding::Matrix,
            InputBinding::Matrix,
        ],
        body: vec![
            CNode::Input(0),
            CNode::Input(1),
            CNode::Input(2),
            CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(1)),
            CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(2)),
        ],
    }
}

/// sum(X * log(U %*% t(V) + 1e-15))
pub fn weighted_log_sum() -> CPlan {
    CPlan {
        template: Template::Outer(OuterTemplate {
            value: NodeId(5),
            output: OuterOutput::FullAggregate(AggregateOp::Sum),
            sparse_safe: true,
        }),
        inputs: vec![
            InputBinding::Main,
            InputBinding::LeftFactor,
            InputBinding::RightFactor,
        ],
        body: vec![
            CNode::Input(0),
            CNode::FactorProduct { left: 1, right: 2 },
            CNode::Literal(1e-15),
            CNode::Binary(BinaryOp::Plus, NodeId(1), NodeId(2)),
            CNode::Unary(UnaryOp::Log, NodeId(3)),
            CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(4)),
        ],
    }
}

/// The update of alternating least squares, (X != 0) * (U %*% t(V) - X), multiplied with input 3.
pub fn weighted_update(output: OuterOutput) -> CPlan {
    CPlan {
        template: Template::Outer(OuterTemplate {
            value: NodeId(5),
            output,
            sparse_safe: true,
        }),
        inputs: vec![
            InputBinding::Main,
            InputBinding::LeftFactor,
            InputBinding::RightFactor,
            InputBinding::Whole,
        ],
        body: vec![
            CNode::Input(0),
            CNode::Literal(0.0),
            CNode::Binary(BinaryOp::NotEqual, NodeId(0), NodeId(1)),
            CNode::FactorProduct { left: 1, right: 2 },
            CNode::Binary(BinaryOp::Minus, NodeId(3), NodeId(0)),
            CNode::Binary(BinaryOp::Mult, NodeId(2), NodeId(4)),
        ],
    }
}

/// Cells between -2 and 2, a third of them 0, the same for the same seed.
pub fn matrix(rows: usize, cols: usize, seed: u64) -> MatrixBlock {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut cell = || {
        let is_zero = next() % 3 == 0;
        let cell = (next() >> 11) as f64 / (1u64 << 51) as f64 - 2.0;
        if is_zero { 0.0 } else { cell }
    };
    let values = (0..rows * cols).map(|_| cell()).collect();
    MatrixBlock::dense(rows, cols, values).unwrap()
}

pub fn whole_numbers(block: &MatrixBlock) -> MatrixBlock {
    let dense = block.to_dense().unwrap();
    // Not -0, which CSR does not keep.
    let cells = dense.values().iter().map(|cell| cell.round() + 0.0);
    MatrixBlock::dense(block.rows(), block.cols(), cells.collect()).unwrap()
}

/// Every seventh cell NaN, infinite or -0.
pub fn with_specials(block: &MatrixBlock) -> MatrixBlock {
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0];
    let dense = block.to_dense().unwrap();
    let cells = dense.values().iter().enumerate().map(|(at, cell)| {
        if at % 7 == 3 {
            specials[at / 7 % 4]
        } else {
            *cell
        }
    });
    MatrixBlock::dense(block.rows(), block.cols(), cells.collect()).unwrap()
}

fn contexts() -> &'static [ExecutionContext] {
    static CONTEXTS: OnceLock<Vec<ExecutionContext>> = OnceLock::new();
    CONTEXTS.get_or_init(|| {
        vec![
            ExecutionContext::single_threaded(),
            ExecutionContext::with_threads(3).unwrap(),
        ]
    })
}

/// How operands come.
#[derive(Debug, Clone, Copy)]
enum Form {
    In(Layout),
    /// As a range in the middle of a larger matrix.
    Range,
}

/// An operand in its form.
enum Given {
    Block(MatrixBlock),
    Range(DenseRange),
}

impl Given {
    fn new(block: &MatrixBlock, form: Form) -> Self {
        match form {
            Form::In(layout) => Given::Block(block.clone().in_layout(layout).unwrap()),
            Form::Range => match in_the_middle(block) {
                Some(range) => Given::Range(range),
                None => Given::new(block, Form::In(Layout::Dense)),
            },
        }
    }

    fn operand(&self) -> Operand<'_> {
        match self {
            Given::Block(block) => Operand::Matrix(block),
            Given::Range(range) => Operand::Range(range),
        }
    }
}

/// The matrix as a range of one that has nothing but NaN around it; `None` of one without cells.
fn in_the_middle(block: &MatrixBlock) -> Option<DenseRange> {
    let (rows, cols) = (block.rows(), block.cols());
    let (top, left) = (1 + rows % 2, 1 + cols % 3);
    let around = DenseMatrix::from_fn(top + rows + 1, left + cols + 2, |row, col| {
        match (row.checked_sub(top), col.checked_sub(left)) {
            (Some(row), Some(col)) if row < rows && col < cols => block.get(row, col),
            _ => f64::NAN,
        }
    });
    DenseRange::new(&around.unwrap(), top..top + rows, left..left + cols).ok()
}

/// Compiled code, interpreted steps and the plan's own meaning agree for operands (main and sides) in each layout and as ranges
/// of other matrices, one thread and several, also where most of the main operand's rows are empty.
pub fn assert_all_agree(plan: &CPlan, operands: &[MatrixBlock]) {
    let [dense, csr, coordinate] = [Layout::Dense, Layout::Csr, Layout::Coordinate].map(Form::In);
    let forms = [
        (dense, dense),
        (csr, dense),
        (dense, csr),
        (csr, csr),
        (coordinate, dense),
        (dense, coordinate),
        (Form::Range, Form::Range),
        (Form::Range, dense),
        (dense, Form::Range),
        (csr, Form::Range),
        (Form::Range, csr),
    ];
    assert_agree(plan, operands, &forms);
    let mut operands = operands.to_vec();
    operands[0] = mostly_empty(&operands[0]);
    let forms = [
        (coordinate, dense),
        (coordinate, csr),
        (coordinate, coordinate),
        (coordinate, Form::Range),
    ];
    assert_agree(plan, &operands, &forms);
}

/// Without the cells of two rows in three, and of the last one.
fn mostly_empty(matrix: &MatrixBlock) -> MatrixBlock {
    let mut values = matrix.to_dense().unwrap().into_vec().unwrap();
    let (rows, cols) = (matrix.rows(), matrix.cols().max(1));
    for (row, cells) in values.chunks_mut(cols).enumerate() {
        if row % 3 != 1 || row + 1 == rows {
            cells.fill(0.0);
        }
    }
    MatrixBlock::dense(rows, matrix.cols(), values).unwrap()
}

fn assert_agree(plan: &CPlan, operands: &[MatrixBlock], forms: &[(Form, Form)]) {
    let engines = [
        ("compiled", CompiledPlan::compile(plan).unwrap()),
        ("in pairs", CompiledPlan::in_pairs(plan).unwrap()),
        ("interpreted", CompiledPlan::interpreted(plan).unwrap()),
    ];
    let expected = meaning(plan, operands);
    for (main, sides) in forms {
        let given: Vec<Given> = operands
            .iter()
            .enumerate()
            .map(|(at, block)| Given::new(block, if at == 0 { *main } else { *sides }))
            .collect();
        let inputs: Vec<Operand<'_>> = given.iter().map(Given::operand).collect();
        let runs = engines
            .iter()
            .flat_map(|engine| contexts().iter().map(move |context| (engine, context)));
        for ((engine, plan_of_engine), context) in runs {
            let got = execute(plan_of_engine, &inputs, context);
            // Rows without columns have no largest cell, whoever looks for it.
            let (got, expected) = match (got, &expected) {
                (Err(got), Err(expected)) if got.kind() == expected.kind() => continue,
                (got, expected) => (got.unwrap(), expected.as_ref().unwrap()),
            };
            let shapes: Vec<_> = operands.iter().map(|o| (o.rows(), o.cols())).collect();
            assert_close(
                &got,
                expected,
                &format!(
                    "{engine} {plan:?}\noperands {shapes:?}, {main:?} and {sides:?}, {} threads",
                    context.threads()
                ),
            );
        }
    }
}

/// What the plan's definition gives, as compiled code would: full aggregates are scalars.
fn meaning(plan: &CPlan, operands: &[MatrixBlock]) -> Result<Output> {
    let inputs: Vec<Dense> = operands.iter().map(Dense::of).collect();
    let Dense { rows, cols, values } = interpret(plan, &inputs)?;
    match plan.gives_scalar() {
        true => Ok(Output::Scalar(values[0])),
        false => MatrixBlock::dense(rows, cols, values).map(Output::Matrix),
    }
}

/// Sums in another order differ by less.
const TOLERANCE: f64 = 1e-11;

pub fn assert_close(got: &Output, expected: &Output, what: &str) {
    match (got, expected) {
        (Output::Scalar(got), Output::Scalar(expected)) => {
            assert!(
                is_close(*got, *expected, TOLERANCE),
                "{got:e}, not {expected:e}: {what}"
            );
        }
        (Output::Matrix(got), Output::Matrix(expected)) => {
            assert_eq!(
                (got.rows(), got.cols()),
                (expected.rows(), expected.cols()),
                "{what}"
            );
            for row in 0..got.rows() {
                for col in 0..got.cols() {
                    let (got, expected) = (got.get(row, col), expected.get(row, col));
                    assert!(
                        is_close(got, expected, TOLERANCE),
                        "{got:e}, not {expected:e}, at {row}, {col}: {what}"
                    );
                }
            }
        }
        _ => panic!("{got:?}, not {expected:?}: {what}"),
    }
}
