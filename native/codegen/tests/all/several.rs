//! Several aggregates of columns or of rows in one scan: the bits are those of each alone, and of the basic operators.

use fulgurite_codegen::{CompiledPlan, ExecutionContext, Operand, Output, execute};
use fulgurite_fusion::cplan::{
    CNode, CPlan, InputBinding, MultiAggregateTemplate, NodeId, Template,
};
use fulgurite_hop::{AggregateOp, BinaryOp, Direction};
use fulgurite_matrix::{
    Layout, MatrixBlock,
    kernels::{
        self,
        aggregate::{Max, Min, Product, Sum, cols, rows},
    },
};

use crate::support::{cell_plan, matrix, with_specials};

const INPUTS: [InputBinding; 3] = [
    InputBinding::Main,
    InputBinding::Matrix,
    InputBinding::ColumnVector,
];

const ALL: [AggregateOp; 6] = [
    AggregateOp::Sum,
    AggregateOp::SumSq,
    AggregateOp::Mean,
    AggregateOp::Min,
    AggregateOp::Max,
    AggregateOp::Prod,
];

/// X, X * Y, X * Y * v
fn body() -> Vec<CNode> {
    vec![
        CNode::Input(0),
        CNode::Input(1),
        CNode::Binary(BinaryOp::Mult, NodeId(0), NodeId(1)),
        CNode::Input(2),
        CNode::Binary(BinaryOp::Mult, NodeId(2), NodeId(3)),
    ]
}

fn several(aggregates: Vec<(AggregateOp, NodeId)>, direction: Direction) -> CPlan {
    CPlan {
        template: Template::MultiAggregate(MultiAggregateTemplate {
            direction,
            aggregates,
            sparse_safe: true,
        }),
        inputs: INPUTS.to_vec(),
        body: body(),
    }
}

fn engines(plan: &CPlan) -> Vec<CompiledPlan> {
    let made = [
        CompiledPlan::compile(plan),
        CompiledPlan::in_pairs(plan),
        CompiledPlan::interpreted(plan),
    ];
    made.into_iter().map(Result::unwrap).collect()
}

fn cells(output: Output) -> MatrixBlock {
    match output {
        Output::Matrix(block) => block,
        Output::Scalar(cell) => MatrixBlock::filled(1, 1, cell).unwrap(),
    }
}

/// Of one aggregate; NaNs have one pattern, as it may come from any of several.
fn bits(cells: impl Iterator<Item = f64>) -> Vec<u64> {
    cells
        .map(|cell| if cell.is_nan() { f64::NAN } else { cell }.to_bits())
        .collect()
}

fn of_aggregate(block: &MatrixBlock, direction: Direction, at: usize) -> Vec<u64> {
    match direction {
        Direction::Row => bits((0..block.rows()).map(|row| block.get(row, at))),
        _ => bits((0..block.cols()).map(|col| block.get(at, col))),
    }
}

fn basic(op: AggregateOp, direction: Direction, x: &MatrixBlock) -> MatrixBlock {
    let count = match direction {
        Direction::Row => x.cols(),
        _ => x.rows(),
    } as f64;
    let by_row = direction == Direction::Row;
    macro_rules! of {
        ($accumulator:ty, $map:expr) => {
            match by_row {
                true => rows::<$accumulator>(x, |_, x| $map(x)),
                false => cols::<$accumulator>(x, $map),
            }
        };
    }
    let same = |x: f64| x;
    match op {
        AggregateOp::SumSq => of!(Sum, |x: f64| x * x),
        AggregateOp::Mean => {
            of!(Sum, same).and_then(|sums| kernels::unary(&sums, |sum| sum / count))
        }
        AggregateOp::Min => of!(Min, same),
        AggregateOp::Max => of!(Max, same),
        AggregateOp::Prod => of!(Product, same),
        _ => of!(Sum, same),
    }
    .unwrap()
}

#[test]
fn bits_are_those_of_each_alone_and_of_basic_operators() {
    let contexts = [
        ExecutionContext::single_threaded(),
        ExecutionContext::with_threads(3).unwrap(),
    ];
    let shapes = [
        (1, 1),
        (7, 5),
        (300, 200),
        (3, 5000),
        (2000, 513),
        (1, 60_000),
        (90_000, 3),
    ];
    for (rows, cols) in shapes {
        for specials in [false, true] {
            let x = matrix(rows, cols, 1);
            let x = if specials { with_specials(&x) } else { x };
            let (y, v) = (matrix(rows, cols, 2), matrix(rows, 1, 3));
            for direction in [Direction::Row, Direction::Col] {
                for layout in [Layout::Dense, Layout::Csr, Layout::Coordinate] {
                    let x = x.clone().in_layout(layout).unwrap();
                    compare(&[&x, &y, &v], direction, &contexts);
                }
            }
        }
    }
}

fn compare(operands: &[&MatrixBlock], direction: Direction, contexts: &[ExecutionContext]) {
    let inputs: Vec<Operand<'_>> = operands
        .iter()
        .map(|block| Operand::Matrix(block))
        .collect();
    let (x, what) = (operands[0], format!("{direction:?}"));
    let what = format!("{what} of {} x {} {:?}", x.rows(), x.cols(), x.layout());
    let values = [NodeId(0), NodeId(2), NodeId(4)];
    let all: Vec<(AggregateOp, NodeId)> = ALL
        .iter()
        .flat_map(|op| values.map(|value| (*op, value)))
        .collect();
    let mut known: Option<MatrixBlock> = None;
    for engine in engines(&several(all.clone(), direction)) {
        for context in contexts {
            let got = cells(execute(&engine, &inputs, context).unwrap());
            let first = known.get_or_insert_with(|| got.clone());
            for (at, aggregate) in all.iter().enumerate() {
                assert_eq!(
                    of_aggregate(&got, direction, at),
                    of_aggregate(first, direction, at),
                    "{what}: {aggregate:?}"
                );
            }
        }
    }
    let together = known.unwrap();
    for (at, (op, value)) in all.iter().enumerate() {
        let is_alone = |plan: &CPlan, name: &str| {
            let plan = CompiledPlan::compile(plan).unwrap();
            let alone = cells(execute(&plan, &inputs, &contexts[1]).unwrap());
            assert_eq!(
                of_aggregate(&together, direction, at),
                of_aggregate(&alone, direction, 0),
                "{what}: {op:?} of {value} beside others and as {name}"
            );
        };
        is_alone(&several(vec![(*op, *value)], direction), "MAgg");
        if direction == Direction::Col {
            let nodes = body()[..=value.index()].to_vec();
            is_alone(
                &cell_plan(&INPUTS, nodes, Some((*op, direction)), true),
                "Cell",
            );
        }
        // Products count zeros by powers there.
        if *value == NodeId(0) && *op != AggregateOp::Prod {
            let alone = basic(*op, direction, x);
            let alone = match direction {
                Direction::Row => bits((0..alone.rows()).map(|row| alone.get(row, 0))),
                _ => bits((0..alone.cols()).map(|col| alone.get(0, col))),
            };
            assert_eq!(
                of_aggregate(&together, direction, at),
                alone,
                "{what}: {op:?} beside others and as a basic operator"
            );
        }
    }
}
