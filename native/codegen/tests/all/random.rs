//! Random plans over random operands: compiled code does what the interpreter does.

use crate::support::{assert_all_agree, cell_plan, matrix, row_plan, whole_numbers, with_specials};
use fulgurite_fusion::cplan::{
    CNode, CPlan, GroupTemplate, InputBinding, MultiAggregateTemplate, NodeId, OuterOutput,
    OuterTemplate, RowOutput, Template,
};
use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, Direction, TernaryOp, UnaryOp};
use fulgurite_matrix::MatrixBlock;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

const AGGREGATES: [AggregateOp; 6] = [
    AggregateOp::Sum,
    AggregateOp::SumSq,
    AggregateOp::Min,
    AggregateOp::Max,
    AggregateOp::Mean,
    AggregateOp::Prod,
];

/// Numbers from which a plan is drawn; `pick` uses them up one by one.
struct Choices {
    numbers: Vec<u32>,
    at: usize,
}

impl Choices {
    fn pick(&mut self, below: usize) -> usize {
        self.at += 1;
        self.numbers[self.at % self.numbers.len()] as usize % below
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.pick(all.len())]
    }

    fn cellwise(
        &mut self,
        (unary, binary): (&[UnaryOp], &[BinaryOp]),
        operand: impl Fn(&mut Self) -> NodeId,
    ) -> CNode {
        match self.pick(8) {
            0..=2 => CNode::Unary(self.of(unary), operand(self)),
            3..=6 => CNode::Binary(self.of(binary), operand(self), operand(self)),
            _ => {
                let op = self.of(TernaryOp::ALL);
                CNode::Ternary(op, operand(self), operand(self), operand(self))
            }
        }
    }
}

fn without<T: Copy + PartialEq>(all: &[T], some: &[T]) -> Vec<T> {
    all.iter()
        .copied()
        .filter(|op| !some.contains(op))
        .collect()
}

const CELL_INPUTS: [InputBinding; 5] = [
    InputBinding::Main,
    InputBinding::Matrix,
    InputBinding::ColumnVector,
    InputBinding::RowVector,
    InputBinding::Scalar,
];

/// A body over cells; its last node is 0 where the main input is, if it is to be sparse-safe.
struct CellBody {
    nodes: Vec<CNode>,
    sparse_safe: bool,
}

impl CellBody {
    /// Starts with leaves.
    fn grow(mut nodes: Vec<CNode>, choices: &mut Choices) -> Self {
        nodes.push(CNode::Literal(choices.of(&[0.5, 2.0, -1.0, 0.0])));
        let sparse_safe = choices.pick(2) == 0;
        // Without those whose last bit compiled code rounds otherwise than the definition: what comes after could tell.
        let mut unary = without(
            UnaryOp::ALL,
            &[
                UnaryOp::Exp,
                UnaryOp::ExpLess1,
                UnaryOp::Log,
                UnaryOp::LogOf1Plus,
                UnaryOp::Log2,
                UnaryOp::Log10,
                UnaryOp::Sigmoid,
            ],
        );
        let mut binary = without(BinaryOp::ALL, &[BinaryOp::LogBase, BinaryOp::Pow]);
        if sparse_safe {
            // And without those that can make NaN of finite cells: 0 times them would not be 0.
            unary = without(&unary, &[UnaryOp::Sqrt, UnaryOp::Asin, UnaryOp::Acos]);
            unary = without(&unary, &[UnaryOp::Sinh, UnaryOp::Cosh, UnaryOp::Tan]);
            binary = without(
                &binary,
                &[BinaryOp::Div, BinaryOp::IntDiv, BinaryOp::Modulus],
            );
        }
        for _ in 0..=choices.pick(8) {
            let count = nodes.len();
            nodes.push(choices.cellwise((&unary, &binary), |choices| {
                NodeId(choices.pick(count) as u32)
            }));
        }
        let mut body = CellBody { nodes, sparse_safe };
        body.safe(NodeId(body.nodes.len() as u32 - 1));
        body
    }

    /// A node with the value, or with 0 where the main input is 0 in sparse-safe bodies.
    fn safe(&mut self, value: NodeId) -> NodeId {
        if !self.sparse_safe {
            return value;
        }
        self.nodes
            .push(CNode::Binary(BinaryOp::Mult, NodeId(0), value));
        NodeId(self.nodes.len() as u32 - 1)
    }
}

fn cell_plan_from(choices: &mut Choices) -> CPlan {
    let leaves = (0..CELL_INPUTS.len()).map(CNode::Input).collect();
    let body = CellBody::grow(leaves, choices);
    let direction = choices.of(&[
        None,
        Some(Direction::Full),
        Some(Direction::Row),
        Some(Direction::Col),
    ]);
    let aggregate = direction.map(|direction| (choices.of(&AGGREGATES), direction));
    cell_plan(&CELL_INPUTS, body.nodes, aggregate, body.sparse_safe)
}

fn multi_aggregate_plan_from(choices: &mut Choices) -> CPlan {
    let leaves = (0..CELL_INPUTS.len()).map(CNode::Input).collect();
    let mut body = CellBody::grow(leaves, choices);
    let mut aggregates = Vec::new();
    for _ in 0..=choices.pick(3) {
        let value = NodeId(choices.pick(body.nodes.len()) as u32);
        let value = body.safe(value);
        aggregates.push((choices.of(&AGGREGATES), value));
    }
    let direction = choices.of(&[Direction::Full, Direction::Row, Direction::Col]);
    CPlan {
        template: Template::MultiAggregate(MultiAggregateTemplate {
            direction,
            aggregates,
            sparse_safe: body.sparse_safe,
        }),
        inputs: CELL_INPUTS.to_vec(),
        body: body.nodes,
    }
}

/// The aggregates that groups can be asked for.
const OF_GROUPS: [AggregateOp; 4] = [
    AggregateOp::Sum,
    AggregateOp::Min,
    AggregateOp::Max,
    AggregateOp::Mean,
];

/// The column is the groups, and there is a number of them. Of a column, the groups may be computed.
fn group_plan_from(choices: &mut Choices, cols: usize) -> CPlan {
    let leaves = (0..CELL_INPUTS.len()).map(CNode::Input).collect();
    let mut body = CellBody::grow(leaves, choices).nodes;
    body.push(CNode::Literal(1.0));
    let one = NodeId(body.len() as u32 - 1);
    let mut groups = NodeId(2);
    if cols == 1 && choices.pick(2) == 0 {
        body.push(CNode::Binary(BinaryOp::Max, groups, NodeId(1)));
        groups = NodeId(body.len() as u32 - 1);
    }
    let mut aggregates = Vec::new();
    for _ in 0..=choices.pick(10) {
        let value = match choices.pick(5) {
            0 => one,
            _ => NodeId(choices.pick(body.len()) as u32),
        };
        aggregates.push((choices.of(&OF_GROUPS), value));
    }
    let mut inputs = CELL_INPUTS.to_vec();
    inputs.push(InputBinding::Scalar);
    // Nothing reads what lies across rows or along columns, so that columns are read as rows.
    if cols == 1 && choices.pick(2) == 0 {
        inputs[2] = InputBinding::Matrix;
        inputs[3] = InputBinding::Scalar;
    }
    CPlan {
        template: Template::Group(GroupTemplate {
            groups,
            count: 5,
            aggregates,
        }),
        inputs,
        body,
    }
}

const OUTER_INPUTS: [InputBinding; 8] = [
    InputBinding::Main,
    InputBinding::Matrix,
    InputBinding::ColumnVector,
    InputBinding::RowVector,
    InputBinding::Scalar,
    InputBinding::LeftFactor,
    InputBinding::RightFactor,
    InputBinding::Whole,
];

/// The products of factors take part as whole numbers between -2 and 2, so that all sums are exact in any order.
fn outer_plan_from(choices: &mut Choices) -> CPlan {
    let mut leaves: Vec<CNode> = (0..5).map(CNode::Input).collect();
    leaves.push(CNode::FactorProduct { left: 5, right: 6 });
    let body = CellBody::grow(leaves, choices);
    let output = match choices.pick(4) {
        0 => OuterOutput::NoAggregate,
        1 => OuterOutput::FullAggregate(choices.of(&AGGREGATES)),
        2 => OuterOutput::RightMultiply { input: 7 },
        _ => OuterOutput::LeftMultiply { input: 7 },
    };
    CPlan {
        template: Template::Outer(OuterTemplate {
            value: NodeId(body.nodes.len() as u32 - 1),
            output,
            sparse_safe: body.sparse_safe,
        }),
        inputs: OUTER_INPUTS.to_vec(),
        body: body.nodes,
    }
}

/// Operators that give whole numbers for whole numbers, so that sums are exact in any order.
const ROW_UNARY: [UnaryOp; 6] = [
    UnaryOp::Abs,
    UnaryOp::Round,
    UnaryOp::Floor,
    UnaryOp::Ceil,
    UnaryOp::Sign,
    UnaryOp::Not,
];
const ROW_BINARY: [BinaryOp; 12] = [
    BinaryOp::Plus,
    BinaryOp::Minus,
    BinaryOp::Mult,
    BinaryOp::Modulus,
    BinaryOp::Min,
    BinaryOp::Max,
    BinaryOp::Less,
    BinaryOp::GreaterEqual,
    BinaryOp::Equal,
    BinaryOp::And,
    BinaryOp::Or,
    BinaryOp::Xor,
];

const ROW_INPUTS: [InputBinding; 6] = [
    InputBinding::Main,
    InputBinding::Matrix,
    InputBinding::ColumnVector,
    InputBinding::RowVector,
    InputBinding::Scalar,
    InputBinding::Whole,
];

/// A node of the plan under construction: how wide, or a number.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Number,
    Width(usize),
}

struct RowBuilder {
    /// Of the matrix used whole, and of the other matrix.
    width: usize,
    body: Vec<CNode>,
    kinds: Vec<Kind>,
}

impl RowBuilder {
    fn push(&mut self, node: CNode, kind: Kind) -> NodeId {
        self.body.push(node);
        self.kinds.push(kind);
        NodeId(self.body.len() as u32 - 1)
    }

    fn any(&self, choices: &mut Choices, suits: impl Fn(Kind) -> bool) -> NodeId {
        let suited: Vec<usize> = (0..self.kinds.len())
            .filter(|at| suits(self.kinds[*at]))
            .collect();
        NodeId(choices.of(&suited) as u32)
    }

    fn kind(&self, id: NodeId) -> Kind {
        self.kinds[id.index()]
    }

    fn grow(&mut self, choices: &mut Choices, cols: usize) {
        let is_vector = |kind| kind != Kind::Number;
        match choices.pick(12) {
            0 => {
                let vector = self.any(choices, is_vector);
                let op = choices.of(&[
                    AggregateOp::Sum,
                    AggregateOp::Max,
                    AggregateOp::SumSq,
                    AggregateOp::IndexMax,
                    AggregateOp::IndexMin,
                ]);
                self.push(CNode::Reduce(op, vector), Kind::Number);
            }
            1 | 2 => {
                let vector = self.any(choices, |kind| kind == Kind::Width(cols));
                let node = CNode::VectorMatrix {
                    vector,
                    input: 5,
                    scalar: false,
                };
                self.push(node, Kind::Width(self.width));
            }
            3 => {
                let vector = self.any(choices, is_vector);
                if let Kind::Width(width @ 1..) = self.kind(vector) {
                    let from = 1 + choices.pick(width);
                    let to = from + choices.pick(width - from + 1);
                    let node = CNode::ColumnRange {
                        vector,
                        from: from as u64,
                        to: to as u64,
                    };
                    self.push(node, Kind::Width(to - from + 1));
                }
            }
            4 => {
                let parts = [self.any(choices, |_| true), self.any(choices, |_| true)];
                let width = parts.iter().map(|part| match self.kind(*part) {
                    Kind::Number => 1,
                    Kind::Width(width) => width,
                });
                let kind = Kind::Width(width.sum());
                self.push(CNode::Concatenate(parts.to_vec()), kind);
            }
            5 => {
                let vector = self.any(choices, is_vector);
                let op = choices.of(&[CumulativeOp::Sum, CumulativeOp::Min, CumulativeOp::Max]);
                self.push(CNode::Cumulative(op, vector), self.kind(vector));
            }
            _ => {
                let kind = self.kinds[choices.pick(self.kinds.len())];
                let mut result = Kind::Number;
                let node = choices.cellwise((&ROW_UNARY, &ROW_BINARY), |choices| {
                    self.any(choices, |other| other == kind || other == Kind::Number)
                });
                for operand in node.operands() {
                    if self.kind(operand) != Kind::Number {
                        result = kind;
                    }
                }
                self.push(node, result);
            }
        }
    }
}

impl RowBuilder {
    /// 1 or 0 for each of its cells.
    fn is_below_three(&mut self, node: NodeId) -> NodeId {
        let kind = self.kind(node);
        let three = self.push(CNode::Literal(3.0), Kind::Number);
        self.push(CNode::Binary(BinaryOp::Less, node, three), kind)
    }
}

fn row_plan_from(choices: &mut Choices, cols: usize, width: usize) -> CPlan {
    let mut builder = RowBuilder {
        width,
        body: Vec::new(),
        kinds: Vec::new(),
    };
    for (input, kind) in [
        Kind::Width(cols),
        Kind::Width(width),
        Kind::Number,
        Kind::Width(cols),
        Kind::Number,
    ]
    .into_iter()
    .enumerate()
    {
        builder.push(CNode::Input(input), kind);
    }
    builder.push(CNode::Literal(3.0), Kind::Number);
    for _ in 0..=choices.pick(10) {
        builder.grow(choices, cols);
    }
    let last = NodeId(builder.body.len() as u32 - 1);
    let number = builder.any(choices, |kind| kind == Kind::Number);
    let left = builder.any(choices, |kind| kind != Kind::Number);
    let vector = match builder.kind(last) {
        Kind::Number => left,
        Kind::Width(_) => last,
    };
    let op = choices.of(&AGGREGATES[..5]);
    let output = match choices.pick(8) {
        0 => RowOutput::NoAggregate(vector),
        1 => RowOutput::RowAggregate(number),
        2 => RowOutput::ColumnAggregate(op, vector),
        3 => RowOutput::FullAggregate(op, number),
        // Products skip the zeros of an operand that comes as CSR rows, so that the other one must be finite.
        4 => RowOutput::OuterProduct {
            left,
            right: builder.is_below_three(last),
        },
        5 => RowOutput::OuterProduct {
            left: builder.is_below_three(vector),
            right: NodeId(0),
        },
        6 => RowOutput::OuterProduct {
            left: builder.is_below_three(number),
            right: vector,
        },
        _ => RowOutput::OuterProduct {
            left: NodeId(0),
            right: builder.is_below_three(last),
        },
    };
    row_plan(&ROW_INPUTS, builder.body, output)
}

fn operands(rows: usize, cols: usize, seed: u64, specials: bool) -> Vec<MatrixBlock> {
    let main = matrix(rows, cols, seed);
    let main = if specials { with_specials(&main) } else { main };
    vec![
        main,
        matrix(rows, cols, seed + 1),
        matrix(rows, 1, seed + 2),
        matrix(1, cols, seed + 3),
        matrix(1, 1, seed + 4),
    ]
}

fn size() -> impl Strategy<Value = usize> {
    prop::sample::select(vec![0usize, 1, 2, 3, 7, 8, 9, 31, 64, 127])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2 * ProptestConfig::default().cases, failure_persistence: None, rng_seed: RngSeed::Fixed(2026), ..ProptestConfig::default() })]

    #[test]
    fn cell_plans(
        numbers in prop::collection::vec(any::<u32>(), 64),
        rows in size(),
        cols in size(),
        seed in 1u64..1000,
        specials in any::<bool>(),
    ) {
        let plan = cell_plan_from(&mut Choices { numbers, at: 0 });
        assert_all_agree(&plan, &operands(rows, cols, seed, specials));
    }

    #[test]
    fn multi_aggregate_plans(
        numbers in prop::collection::vec(any::<u32>(), 64),
        rows in size(),
        cols in size(),
        seed in 1u64..1000,
        specials in any::<bool>(),
    ) {
        let plan = multi_aggregate_plan_from(&mut Choices { numbers, at: 0 });
        assert_all_agree(&plan, &operands(rows, cols, seed, specials));
    }

    #[test]
    fn group_plans(
        numbers in prop::collection::vec(any::<u32>(), 64),
        rows in size(),
        cols in prop::sample::select(vec![1usize, 1, 1, 2, 7, 64]),
        count in 0usize..6,
        seed in 1u64..1000,
        specials in any::<bool>(),
    ) {
        let plan = group_plan_from(&mut Choices { numbers, at: 0 }, cols);
        let mut operands = operands(rows, cols, seed, specials);
        // From -4 on, with fractions, and beyond the last group.
        let groups = operands[2].to_dense().unwrap();
        let groups = groups.values().iter().map(|cell| (cell * 8.0).round() / 2.0 + 3.0);
        operands[2] = MatrixBlock::dense(rows, 1, groups.collect()).unwrap();
        operands.push(MatrixBlock::filled(1, 1, count as f64).unwrap());
        assert_all_agree(&plan, &operands);
    }

    #[test]
    fn outer_plans(
        numbers in prop::collection::vec(any::<u32>(), 64),
        rows in size(),
        cols in size(),
        rank in prop::sample::select(vec![0usize, 1, 3, 4, 10, 37]),
        width in prop::sample::select(vec![0usize, 1, 3, 4, 20, 33]),
        seed in 1u64..1000,
    ) {
        let plan = outer_plan_from(&mut Choices { numbers, at: 0 });
        let w_rows = match &plan.template {
            Template::Outer(outer) if matches!(outer.output, OuterOutput::LeftMultiply { .. }) => rows,
            _ => cols,
        };
        let mut operands = operands(rows, cols, seed, false);
        operands.push(matrix(rows, rank, seed + 5));
        operands.push(matrix(cols, rank, seed + 6));
        operands.push(matrix(w_rows, width, seed + 7));
        let operands: Vec<MatrixBlock> = operands.iter().map(whole_numbers).collect();
        assert_all_agree(&plan, &operands);
    }

    #[test]
    fn row_plans(
        numbers in prop::collection::vec(any::<u32>(), 96),
        rows in size(),
        cols in size(),
        // Narrow and wide, as products tell them apart.
        width in prop::sample::select(vec![5usize, 20]),
        seed in 1u64..1000,
    ) {
        let plan = row_plan_from(&mut Choices { numbers, at: 0 }, cols, width);
        let mut operands = operands(rows, cols, seed, false);
        operands[1] = matrix(rows, width, seed + 1);
        operands.push(matrix(cols, width, seed + 5));
        let operands: Vec<MatrixBlock> = operands.iter().map(whole_numbers).collect();
        assert_all_agree(&plan, &operands);
    }
}
