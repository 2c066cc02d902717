//! Whatever the sizes and index values are, propagation gives a consistent DAG or a dimension error: it
//! never panics, and what it gives prints, verifies and travels as JSON and as text.

use crate::common::Builder;
use fulgurite_error::ErrorKind;
use fulgurite_hop::{
    AggregateOp, BinaryOp, Characteristics, CumulativeOp, DataGenOp, DataType, Direction, Hop,
    HopId, HopOp, Literal, ParameterizedOp, ReadOptions, SizeOp, Symbols, TernaryOp, UnaryOp,
    ValueType, json, memory, propagate_dag, rewrite_dag, text, verify,
};
use proptest::prelude::*;

/// Every operator that gives a matrix or a scalar from matrices and scalars.
fn operators() -> Vec<HopOp> {
    let mut ops = vec![
        HopOp::MatMult,
        HopOp::Transpose,
        HopOp::Diag,
        HopOp::Rev,
        HopOp::Reshape { by_row: true },
        HopOp::RightIndex,
        HopOp::LeftIndex,
        HopOp::CBind,
        HopOp::RBind,
        HopOp::Table,
        HopOp::PersistentRead(ReadOptions::default()),
    ];
    ops.extend(UnaryOp::ALL.iter().map(|op| HopOp::Unary(*op)));
    ops.extend(BinaryOp::ALL.iter().map(|op| HopOp::Binary(*op)));
    ops.extend(TernaryOp::ALL.iter().map(|op| HopOp::Ternary(*op)));
    ops.extend(CumulativeOp::ALL.iter().map(|op| HopOp::Cumulative(*op)));
    ops.extend(DataGenOp::ALL.iter().map(|op| HopOp::DataGen(*op)));
    ops.extend(SizeOp::ALL.iter().map(|op| HopOp::Size(*op)));
    for direction in [Direction::Full, Direction::Row, Direction::Col] {
        let aggregates = AggregateOp::ALL.iter();
        ops.extend(aggregates.map(|op| HopOp::Aggregate(*op, direction)));
    }
    for op in ParameterizedOp::ALL {
        if let Some(names) = op.parameters() {
            let places = names.iter().enumerate();
            let places = places.map(|(place, name)| ((*name).to_owned(), place));
            ops.push(HopOp::Parameterized(*op, places.collect()));
        }
    }
    ops
}

fn size() -> impl Strategy<Value = Option<u64>> {
    prop::sample::select(vec![
        None,
        Some(0),
        Some(1),
        Some(2),
        Some(3),
        Some(1 << 40),
        Some(u64::MAX),
    ])
}

fn value() -> impl Strategy<Value = Literal> {
    let special = [
        -1.0,
        0.0,
        1.0,
        2.0,
        1e300,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    prop_oneof![
        prop::sample::select(special.to_vec()).prop_map(Literal::Double),
        prop::sample::select(vec![i64::MIN, -1, 0, 1, 2, 3, i64::MAX]).prop_map(Literal::Int),
        any::<bool>().prop_map(Literal::Boolean),
        prop::sample::select(vec!["rows", "cols", "1 2", "uniform"])
            .prop_map(|text| Literal::String(text.into())),
    ]
}

/// Appends the operator with inputs of the types it accepts; several choices where it takes both.
fn push(b: &mut Builder, op: HopOp, matrices: &[HopId], scalars: &[HopId], choices: &[usize]) {
    let arity = match (*op.arity().start(), &op) {
        (3, HopOp::Table) => 3 + 2 * (choices[0] % 2),
        (arity, _) => arity,
    };
    let inputs: Vec<HopId> = (0..arity)
        .map(|place| {
            let choice = choices[place % choices.len()].wrapping_add(place);
            let accepts = op.accepts(place);
            let takes_matrix = accepts.allows(DataType::Matrix);
            if takes_matrix && (choice % 3 > 0 || !accepts.allows(DataType::Scalar)) {
                matrices[choice % matrices.len()]
            } else {
                scalars[choice % scalars.len()]
            }
        })
        .collect();
    let cellwise = matches!(op, HopOp::Unary(_) | HopOp::Binary(_) | HopOp::Ternary(_));
    if cellwise {
        b.cellwise(op, &inputs);
    } else if op.gives() == Some(DataType::Scalar) {
        b.push(Hop::scalar(op, inputs, ValueType::Double));
    } else {
        b.op(op, &inputs);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn sizes_and_values_of_any_kind_are_answered(
        op in prop::sample::select(operators()),
        sizes in prop::collection::vec((size(), size(), size()), 3),
        values in prop::collection::vec(value(), 4),
        choices in prop::collection::vec(0usize..12, 6),
    ) {
        let mut b = Builder::new();
        let matrices: Vec<HopId> = sizes
            .iter()
            .enumerate()
            .map(|(place, (rows, cols, nnz))| {
                let size = Characteristics::new(*rows, *cols, None);
                let nnz = nnz.map(|nnz| nnz.min(size.cells().unwrap_or(u64::MAX)));
                b.matrix(&format!("M{place}"), Characteristics { nnz, ..size })
            })
            .collect();
        let scalars: Vec<HopId> = values
            .iter()
            .map(|value| b.push(Hop::literal(value.clone())))
            .collect();
        push(&mut b, op, &matrices, &scalars, &choices);
        let last = HopId(b.dag.len() as u32 - 1);
        b.write("out", last);
        match propagate_dag(&b.dag, &Symbols::new()) {
            Ok((dag, _)) => {
                verify(&dag)?;
                let text = json::to_json(&dag).to_string();
                let back = json::from_json(&text)?;
                prop_assert_eq!(back.to_string(), dag.to_string());
                let read = text::from_text(&text::to_text(&dag))?;
                prop_assert_eq!(json::to_json(&read), json::to_json(&back));
                for (id, _) in dag.iter() {
                    memory::operation_bytes(&dag, id);
                }
                rewrite_dag(&dag, &[])?;
            }
            Err(error) => prop_assert!(
                matches!(error.kind(), ErrorKind::Dimension | ErrorKind::Argument),
                "{}", error
            ),
        }
    }
}
