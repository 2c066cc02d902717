//! The text form of CPlans: what prints parses back, and what does not parse says where and what was expected.

use fulgurite_hop::{AggregateOp, BinaryOp, CumulativeOp, Direction, TernaryOp, UnaryOp};

use crate::cplan::{
    CNode, CPlan, CellTemplate, GroupTemplate, InputBinding, MultiAggregateTemplate, NodeId,
    OuterOutput, OuterTemplate, RowOutput, RowTemplate, Template,
};

/// A scalar body with every operator on cells.
fn cells() -> Vec<CNode> {
    let mut body = vec![CNode::Input(0), CNode::Input(1)];
    let (a, b) = (NodeId(0), NodeId(1));
    for value in [
        0.1,
        -0.0,
        5e-324,
        1e300,
        f64::NAN,
        -f64::NAN,
        f64::NEG_INFINITY,
    ] {
        body.push(CNode::Literal(value));
    }
    body.extend(UnaryOp::ALL.iter().map(|op| CNode::Unary(*op, a)));
    body.extend(BinaryOp::ALL.iter().map(|op| CNode::Binary(*op, a, b)));
    body.extend(TernaryOp::ALL.iter().map(|op| CNode::Ternary(*op, a, b, a)));
    body
}

fn plans() -> Vec<CPlan> {
    use InputBinding::*;
    let last = |body: &[CNode]| NodeId(body.len() as u32 - 1);
    let mut plans = Vec::new();
    let directions = [Direction::Full, Direction::Row, Direction::Col];
    let aggregates = AggregateOp::ALL.iter();
    let aggregates = aggregates.flat_map(|op| directions.map(|direction| Some((*op, direction))));
    for aggregate in aggregates.chain([None]) {
        plans.push(CPlan {
            template: Template::Cell(CellTemplate {
                value: last(&cells()),
                aggregate,
                sparse_safe: aggregate.is_none(),
            }),
            inputs: vec![Main, ColumnVector],
            body: cells(),
        });
    }
    let mut rows = vec![
        CNode::Input(0),
        CNode::VectorMatrix {
            vector: NodeId(0),
            input: 1,
            scalar: true,
        },
        CNode::VectorMatrix {
            vector: NodeId(0),
            input: 1,
            scalar: false,
        },
        CNode::ColumnRange {
            vector: NodeId(0),
            from: 2,
            to: 9,
        },
        CNode::Concatenate(vec![NodeId(0), NodeId(1), NodeId(3)]),
    ];
    let reductions = AggregateOp::ALL.iter();
    rows.extend(reductions.map(|op| CNode::Reduce(*op, NodeId(0))));
    let cumulative = CumulativeOp::ALL.iter();
    rows.extend(cumulative.map(|op| CNode::Cumulative(*op, NodeId(0))));
    let (vector, scalar) = (NodeId(0), NodeId(1));
    for output in [
        RowOutput::NoAggregate(vector),
        RowOutput::RowAggregate(scalar),
        RowOutput::ColumnAggregate(AggregateOp::Max, vector),
        RowOutput::FullAggregate(AggregateOp::SumSq, scalar),
        RowOutput::OuterProduct {
            left: vector,
            right: scalar,
        },
    ] {
        plans.push(CPlan {
            template: Template::Row(RowTemplate { output }),
            inputs: vec![Main, Whole],
            body: rows.clone(),
        });
    }
    for output in [
        OuterOutput::NoAggregate,
        OuterOutput::FullAggregate(AggregateOp::Sum),
        OuterOutput::RightMultiply { input: 3 },
        OuterOutput::LeftMultiply { input: 3 },
    ] {
        plans.push(CPlan {
            template: Template::Outer(OuterTemplate {
                value: NodeId(0),
                output,
                sparse_safe: true,
            }),
            inputs: vec![Main, LeftFactor, RightFactor, Whole],
            body: vec![CNode::FactorProduct { left: 1, right: 2 }],
        });
    }
    plans.push(CPlan {
        template: Template::MultiAggregate(MultiAggregateTemplate {
            direction: Direction::Full,
            aggregates: vec![(AggregateOp::Sum, NodeId(0)), (AggregateOp::Min, NodeId(1))],
            sparse_safe: false,
        }),
        inputs: vec![Main, Matrix, RowVector, Scalar],
        body: cells(),
    });
    plans.push(CPlan {
        template: Template::Group(GroupTemplate {
            groups: NodeId(1),
            count: 3,
            aggregates: vec![
                (AggregateOp::Sum, NodeId(0)),
                (AggregateOp::Mean, NodeId(0)),
                (AggregateOp::Max, NodeId(0)),
            ],
        }),
        inputs: vec![Main, Matrix, RowVector, Scalar],
        body: cells(),
    });
    plans
}

#[test]
fn every_plan_comes_back() {
    for plan in plans() {
        let back: CPlan = plan.to_string().parse().unwrap();
        assert_eq!(back, plan);
    }
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let texts = [
        "",
        "Column(main)",
        "Cell(main, matrices)\n  %0 = in0\n  each %0",
        "Cell(main) over\n  %0 = in0\n  each %0",
        "Cell(main)\n  %1 = in0\n  each %1",
        "Cell(main)\n  %0 = in0 in0\n  each %0",
        "Cell(main)\n  %0 = in0\n  %1 = b(*) %0\n  each %1",
        "Cell(main)\n  %0 = in0\n  %1 = b(times) %0 %0\n  each %1",
        "Cell(main)\n  %0 = in0\n  %1 = NaN:7\n  each %1",
        "Cell(main)\n  %0 = in0",
        "Cell(main)\n  %0 = in0\n  rows %0",
        "Row(main)\n  %0 = in0\n  ua(R+) %0",
        "MAgg(main)\n  %0 = in0\n  ua(+) %0, ua(C+) %0",
        "Group(main, scalar)\n  %0 = in0\n  ua(R+) %0 by %0 up to in1",
        "Group(main, scalar)\n  %0 = in0\n  ua(+) %0 by %0",
        "Group(main, scalar)\n  %0 = in0\n  ua(*) %0 by %0 up to in1",
        "Group(main)\n  %0 = in0\n  ua(+) %0 by %0 up to in0",
        "Outer(main)\n  %0 = in0\n  each %0, sparse",
        "Cell(main)\n  %0 = in0\n  each %0\n  %1 = in0",
        "Cell(main)\n  %0 = in1\n  each %0",
    ];
    let errors = texts.map(|text| text.parse::<CPlan>().expect_err(text).to_string());
    insta::assert_snapshot!(errors.join("\n\n"));
}
