//! Every operator's way to its kernel, and how refusals read. The kernels have tests of their own.

use std::collections::BTreeMap;

use fulgurite_error::{ErrorKind, Position, Result, Source};
use fulgurite_hop::{
    AggregateOp, BinaryOp, CastOp, CumulativeOp, DataGenOp, Direction, Hop, HopOp, Literal,
    ParameterizedOp, SizeOp, TernaryOp, UnaryOp,
};
use fulgurite_matrix::{MatrixBlock, kernels::RandStream};

use super::super::value::Value;
use super::execute;

fn matrix(rows: usize, cols: usize, cells: &[f64]) -> Value {
    Value::Matrix(MatrixBlock::dense(rows, cols, cells.to_vec()).unwrap())
}

fn int(value: i64) -> Value {
    Value::Scalar(Literal::Int(value))
}

fn double(value: f64) -> Value {
    Value::Scalar(Literal::Double(value))
}

fn text(value: &str) -> Value {
    Value::Scalar(Literal::String(value.into()))
}

fn truth(value: bool) -> Value {
    Value::Scalar(Literal::Boolean(value))
}

fn try_run(op: HopOp, inputs: &[Value]) -> Result<Value> {
    let source = Source::new("t.dml", "Z = f(X)\n");
    let hop = Hop::matrix(op, Vec::new()).at(&Position::new(&source, 1, 5, 4));
    execute(&hop, inputs.to_vec(), RandStream::default())
}

/// The value in one line: `2x2 [1 2; 3 4]`, `TRUE`.
fn run(op: HopOp, inputs: &[Value]) -> String {
    match try_run(op, inputs).unwrap() {
        Value::Range(range) => panic!("{range:?} is read in place"),
        Value::Scalar(value) => value.to_string(),
        Value::Matrix(matrix) => {
            let rows: Vec<String> = (0..matrix.rows())
                .map(|i| {
                    let cells: Vec<String> = (0..matrix.cols())
                        .map(|j| matrix.get(i, j).to_string())
                        .collect();
                    cells.join(" ")
                })
                .collect();
            format!("{}x{} [{}]", matrix.rows(), matrix.cols(), rows.join("; "))
        }
    }
}

fn named(op: ParameterizedOp, inputs: &[(&str, Value)]) -> (HopOp, Vec<Value>) {
    let places: BTreeMap<String, usize> = inputs
        .iter()
        .enumerate()
        .map(|(place, (name, _))| ((*name).to_owned(), place))
        .collect();
    let values = inputs.iter().map(|(_, value)| value.clone()).collect();
    (HopOp::Parameterized(op, places), values)
}

fn run_named(op: ParameterizedOp, inputs: &[(&str, Value)]) -> String {
    let (op, values) = named(op, inputs);
    run(op, &values)
}

fn x() -> Value {
    matrix(2, 3, &[1.0, -2.0, 0.0, 4.0, 5.0, 4.0])
}

#[test]
fn cells() {
    use BinaryOp::*;
    let show = |op, left, right| run(HopOp::Binary(op), &[left, right]);
    assert_eq!(show(Plus, x(), int(1)), "2x3 [2 -1 1; 5 6 5]");
    assert_eq!(show(Pow, x(), int(2)), "2x3 [1 4 0; 16 25 16]");
    assert_eq!(show(Pow, int(2), x()), "2x3 [2 0.25 1; 16 32 16]");
    assert_eq!(show(Modulus, x(), int(3)), "2x3 [1 1 0; 1 2 1]");
    assert_eq!(
        show(Max, x(), matrix(2, 1, &[0.0, 4.5])),
        "2x3 [1 0 0; 4.5 5 4.5]"
    );
    assert_eq!(show(Plus, int(1), int(2)), "3");
    assert_eq!(show(Plus, text("a"), int(2)), "a2");
    assert_eq!(
        run(HopOp::Unary(UnaryOp::Abs), &[x()]),
        "2x3 [1 2 0; 4 5 4]"
    );
    assert_eq!(run(HopOp::Unary(UnaryOp::Exp), &[int(0)]), "1.0");
    let if_else = HopOp::Ternary(TernaryOp::IfElse);
    assert_eq!(
        run(if_else.clone(), &[x(), int(7), x()]),
        "2x3 [7 7 0; 7 7 7]"
    );
    assert_eq!(run(if_else, &[int(0), text("a"), int(2)]), "2");
}

#[test]
fn every_cell_operator_computes_its_function() {
    let [a, b] = [[-1.5, 0.0, 2.0, 3.0], [2.0, 0.0, -1.0, 3.0]];
    let (left, right) = (matrix(2, 2, &a), matrix(2, 2, &b));
    let same = |value: Value, expected: &dyn Fn(usize) -> f64, op: &str| {
        let Value::Matrix(result) = value else {
            panic!("{op} gave a scalar")
        };
        for index in 0..4 {
            let (actual, expected) = (result.get(index / 2, index % 2), expected(index));
            let both_nan = actual.is_nan() && expected.is_nan();
            // Vector forms are off by few units in the last place.
            let apart = (actual - expected).abs();
            let close = actual == expected || apart <= 4.0 * f64::EPSILON * expected.abs();
            assert!(both_nan || close, "{op}: {actual}, not {expected}");
        }
    };
    for op in UnaryOp::ALL {
        let value = try_run(HopOp::Unary(*op), std::slice::from_ref(&left)).unwrap();
        same(value, &|index| op.eval(a[index]), op.code());
    }
    for op in BinaryOp::ALL {
        let value = try_run(HopOp::Binary(*op), &[left.clone(), right.clone()]).unwrap();
        same(value, &|index| op.eval(a[index], b[index]), op.code());
    }
    for op in TernaryOp::ALL {
        let inputs = [left.clone(), right.clone(), left.clone()];
        let value = try_run(HopOp::Ternary(*op), &inputs).unwrap();
        same(
            value,
            &|index| op.eval(a[index], b[index], a[index]),
            op.code(),
        );
    }
}

#[test]
fn aggregates_in_every_direction() {
    let mut lines = Vec::new();
    for op in AggregateOp::ALL {
        for direction in [Direction::Full, Direction::Row, Direction::Col] {
            let hop_op = HopOp::Aggregate(*op, direction);
            let code = hop_op.code();
            lines.push(match try_run(hop_op.clone(), &[x()]) {
                Ok(_) => format!("{code}: {}", run(hop_op, &[x()])),
                Err(error) => format!("{code}: {}: {}", error.kind(), error.message()),
            });
        }
    }
    insta::assert_snapshot!(lines.join("\n"));
    assert_eq!(
        run(HopOp::Cumulative(CumulativeOp::Sum), &[x()]),
        "2x3 [1 -2 0; 5 3 4]"
    );
    assert_eq!(
        run(HopOp::Cumulative(CumulativeOp::Min), &[x()]),
        "2x3 [1 -2 0; 1 -2 0]"
    );
    assert_eq!(
        run(HopOp::Cumulative(CumulativeOp::Prod), &[x()]),
        "2x3 [1 -2 0; 4 -10 0]"
    );
}

#[test]
fn shapes_and_products() {
    assert_eq!(run(HopOp::Transpose, &[x()]), "3x2 [1 4; -2 5; 0 4]");
    assert_eq!(run(HopOp::Rev, &[x()]), "2x3 [4 5 4; 1 -2 0]");
    let ones = matrix(3, 1, &[1.0; 3]);
    assert_eq!(run(HopOp::MatMult, &[x(), ones]), "2x1 [-1; 13]");
    assert_eq!(
        run(HopOp::Diag, &[matrix(2, 1, &[1.0, 2.0])]),
        "2x2 [1 0; 0 2]"
    );
    let reshape = |by_row| run(HopOp::Reshape { by_row }, &[x(), int(3), int(2)]);
    assert_eq!(reshape(true), "3x2 [1 -2; 0 4; 5 4]");
    assert_eq!(reshape(false), "3x2 [1 5; 4 0; -2 4]");
    let range = [int(1), int(2), double(2.9), int(3)];
    let inputs: Vec<Value> = [x()].into_iter().chain(range.clone()).collect();
    assert_eq!(run(HopOp::RightIndex, &inputs), "2x2 [-2 0; 5 4]");
    let value = matrix(2, 2, &[7.0, 8.0, 9.0, 10.0]);
    let inputs: Vec<Value> = [x(), value].into_iter().chain(range).collect();
    assert_eq!(run(HopOp::LeftIndex, &inputs), "2x3 [1 7 8; 4 9 10]");
    let cell = [x(), int(9), int(2), int(2), int(1), int(1)];
    assert_eq!(run(HopOp::LeftIndex, &cell), "2x3 [1 -2 0; 9 5 4]");
    assert_eq!(
        run(HopOp::CBind, &[x(), x()]),
        "2x6 [1 -2 0 1 -2 0; 4 5 4 4 5 4]"
    );
    assert_eq!(
        run(HopOp::RBind, &[x(), x()]),
        "4x3 [1 -2 0; 4 5 4; 1 -2 0; 4 5 4]"
    );
    assert_eq!(run(HopOp::CBind, &[text("a"), text("b,1")]), "a\nb,1");
    assert_eq!(run(HopOp::Size(SizeOp::Length), &[x()]), "6");
    assert_eq!(run(HopOp::Size(SizeOp::NRow), &[x()]), "2");
}

/// A matrix that only the operator holds is changed where it is.
#[test]
fn left_indexing_copies_only_shared_matrices() {
    let address = |value: &Value| match value {
        Value::Matrix(MatrixBlock::Dense(dense)) => dense.values().as_ptr() as usize,
        _ => panic!("no dense matrix"),
    };
    let hop = Hop::matrix(HopOp::LeftIndex, Vec::new());
    let assign = |target: Value| {
        execute(
            &hop,
            vec![target, int(9), int(1), int(1), int(1), int(1)],
            RandStream::default(),
        )
        .unwrap()
    };
    let owned = x();
    let before = address(&owned);
    let changed = assign(owned);
    assert_eq!(address(&changed), before);
    let shared = x();
    let changed = assign(shared.clone());
    assert_ne!(address(&changed), address(&shared));
    assert_eq!(shared, x());
}

#[test]
fn generators_casts_and_named_builtins() {
    use ParameterizedOp::*;
    let fill = |value| run(HopOp::DataGen(DataGenOp::Fill), &[value, int(1), int(2)]);
    assert_eq!(fill(double(1.5)), "1x2 [1.5 1.5]");
    assert_eq!(fill(text("3 NaN")), "1x2 [3 NaN]");
    let seq = |by| {
        run(
            HopOp::DataGen(DataGenOp::Seq),
            &[int(1), int(3), double(by)],
        )
    };
    assert_eq!(
        (seq(f64::NAN), seq(2.0)),
        ("3x1 [1; 2; 3]".into(), "2x1 [1; 3]".into())
    );
    let rand = [
        int(2),
        int(2),
        int(5),
        int(5),
        int(1),
        int(7),
        text("uniform"),
        int(1),
    ];
    assert_eq!(
        run(HopOp::DataGen(DataGenOp::Rand), &rand),
        "2x2 [5 5; 5 5]"
    );
    let sample = [int(1), int(3), truth(true), int(-1)];
    assert_eq!(
        run(HopOp::DataGen(DataGenOp::Sample), &sample),
        "3x1 [1; 1; 1]"
    );
    let labels = matrix(4, 1, &[2.0, 1.0, f64::NAN, 2.0]);
    let rows = matrix(4, 1, &[1.0, 2.0, 3.0, 4.0]);
    let table = |inputs: &[Value]| run(HopOp::Table, inputs);
    assert_eq!(
        table(&[rows.clone(), labels.clone(), int(1)]),
        "4x2 [0 1; 1 0; 0 0; 0 1]"
    );
    assert_eq!(
        table(&[labels.clone(), int(1), int(3), int(3), int(1)]),
        "3x1 [3; 6; 0]"
    );
    // A row pairs up with a column.
    let row = matrix(1, 4, &[1.0, 2.0, 3.0, 4.0]);
    assert_eq!(
        table(&[row, labels.clone(), int(1)]),
        "4x2 [0 1; 1 0; 0 0; 0 1]"
    );
    let shorter = [matrix(1, 3, &[1.0; 3]), labels.clone(), int(1)];
    let error = try_run(HopOp::Table, &shorter).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Dimension);
    assert_eq!(table(&[rows, labels, int(1), int(2), int(1)]), "2x1 [0; 1]");
    let cast = |op, value| run(HopOp::Cast(op), &[value]);
    assert_eq!(cast(CastOp::AsScalar, matrix(1, 1, &[2.0])), "2.0");
    assert_eq!(cast(CastOp::AsMatrix, truth(true)), "1x1 [1]");
    assert_eq!(cast(CastOp::AsInteger, double(-2.9)), "-2");
    let target = ("target", matrix(3, 2, &[0.0, 0.0, 1.0, 0.0, f64::NAN, 0.0]));
    let rows = ("margin", text("rows"));
    let cols = ("margin", text("cols"));
    assert_eq!(
        run_named(RemoveEmpty, &[target.clone(), rows.clone()]),
        "2x2 [1 0; NaN 0]"
    );
    assert_eq!(
        run_named(RemoveEmpty, &[target.clone(), cols]),
        "3x1 [0; 1; NaN]"
    );
    let select = ("select", matrix(3, 1, &[0.0; 3]));
    let none = [target.clone(), rows.clone(), select.clone()];
    assert_eq!(run_named(RemoveEmpty, &none), "1x2 [0 0]");
    let truly_none = [target.clone(), rows, select, ("empty.return", truth(false))];
    assert_eq!(run_named(RemoveEmpty, &truly_none), "0x2 []");
    let replaced = [
        target.clone(),
        ("pattern", text("NaN")),
        ("replacement", int(4)),
    ];
    assert_eq!(run_named(Replace, &replaced), "3x2 [0 0; 1 0; 4 0]");
    let vector = ("target", matrix(5, 1, &[2.0, f64::NAN, 1.0, 2.0, 3.0]));
    let index = ("index.return", truth(true));
    assert_eq!(
        run_named(Order, std::slice::from_ref(&vector)),
        "5x1 [1; 2; 2; 3; NaN]"
    );
    assert_eq!(
        run_named(Order, &[vector.clone(), index.clone()]),
        "5x1 [3; 1; 4; 5; 2]"
    );
    let decreasing = ("decreasing", truth(true));
    assert_eq!(
        run_named(Order, &[vector, decreasing, index]),
        "5x1 [2; 5; 1; 4; 3]"
    );
    assert_eq!(
        run_named(LowerTri, &[target, ("diag", truth(true))]),
        "3x2 [1 0; 1 1; 1 1]"
    );
    let outer = [
        ("left", matrix(2, 1, &[1.0, 2.0])),
        ("right", matrix(1, 2, &[1.0, 2.0])),
        ("op", text("<=")),
    ];
    assert_eq!(run_named(Outer, &outer), "2x2 [1 1; 0 1]");
}

#[test]
fn statistics() {
    use ParameterizedOp::*;
    let target = ("target", matrix(4, 1, &[1.0, 2.0, 4.0, 9.0]));
    let weights = ("weights", matrix(4, 1, &[1.0, 1.0, 1.0, 0.0]));
    let moment = [target.clone(), ("order", int(2))];
    assert_eq!(run_named(Moment, &moment), "9.5");
    assert_eq!(run_named(Median, std::slice::from_ref(&target)), "3.0");
    assert_eq!(run_named(Median, &[target.clone(), weights]), "2.0");
    let half = [target.clone(), ("probabilities", double(0.5))];
    assert_eq!(run_named(Quantile, &half), "2.0");
    let both = [target.clone(), ("probabilities", matrix(2, 1, &[0.0, 1.0]))];
    assert_eq!(run_named(Quantile, &both), "2x1 [1; 9]");
    let same = [("left", target.1.clone()), ("right", target.1.clone())];
    assert_eq!(run_named(Cov, &same), (38.0f64 / 3.0).to_string());
    let groups = ("groups", matrix(4, 1, &[2.0, 2.0, 1.0, 1.0]));
    let of = |function: &str| {
        let inputs = [
            target.clone(),
            groups.clone(),
            ("fn", text(function)),
            ("ngroups", int(3)),
        ];
        run_named(GroupedAggregate, &inputs)
    };
    assert_eq!(of("sum"), "3x1 [13; 3; 0]");
    assert_eq!(of("variance"), "3x1 [12.5; 0.5; 0]");
    let (op, values) = named(GroupedAggregate, &[target, groups, ("fn", text("mode"))]);
    assert_eq!(
        try_run(op, &values).unwrap_err().kind(),
        ErrorKind::Argument
    );
}

#[test]
fn factorizations_distributions_and_text() {
    use ParameterizedOp::*;
    let symmetric = || matrix(2, 2, &[2.0, 0.0, 0.0, 1.0]);
    let target = [("target", symmetric())];
    let right = ("right", matrix(2, 1, &[4.0, 3.0]));
    assert_eq!(
        run_named(Solve, &[("left", symmetric()), right]),
        "2x1 [2; 3]"
    );
    assert_eq!(run_named(Inverse, &target), "2x2 [0.5 0; 0 1]");
    assert_eq!(
        run_named(Cholesky, &[("target", matrix(1, 1, &[9.0]))]),
        "1x1 [3]"
    );
    // Values, then vectors; permutation, lower, upper; left, values, right.
    assert_eq!(run_named(Eigen, &target), "2x3 [1 0 1; 2 1 0]");
    assert_eq!(run_named(Lu, &target), "2x6 [1 0 1 0 2 0; 0 1 0 1 0 1]");
    assert_eq!(
        run_named(Svd, &target),
        "6x2 [1 0; 0 1; 2 0; 0 1; 1 0; 0 1]"
    );
    let normal = ("dist", text("normal"));
    assert_eq!(run_named(Cdf, &[("target", int(0)), normal.clone()]), "0.5");
    let quantile = [("target", int(1)), normal, ("lower.tail", truth(false))];
    assert_eq!(run_named(InverseCdf, &quantile), "-Infinity");
    let shown = |target: Value| {
        let inputs = [
            ("target", target),
            ("rows", int(2)),
            ("cols", int(1)),
            ("decimal", int(1)),
            ("sparse", truth(false)),
            ("sep", text(" ")),
            ("linesep", text(";")),
        ];
        run_named(ToString, &inputs)
    };
    assert_eq!(
        shown(matrix(3, 2, &[1.0, 9.0, 0.25, 9.0, 9.0, 9.0])),
        "1.0;0.25;"
    );
    assert_eq!(shown(truth(true)), "TRUE");
}

#[test]
fn refusals_name_operator_and_place() {
    let error = try_run(HopOp::MatMult, &[x(), x()]).unwrap_err();
    insta::assert_snapshot!(error);
    let (op, values) = named(ParameterizedOp::Transform, &[("target", x())]);
    let error = try_run(op, &values).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.operator(), Some("p(transform)"));
    assert!(error.position().is_some());
    let kind = |op, inputs: &[Value]| try_run(op, inputs).unwrap_err().kind();
    assert_eq!(kind(HopOp::Transpose, &[int(1)]), ErrorKind::Validation);
    assert_eq!(kind(HopOp::Transpose, &[]), ErrorKind::Internal);
    assert_eq!(
        kind(HopOp::Cast(CastOp::AsScalar), &[x()]),
        ErrorKind::Dimension
    );
    assert_eq!(
        kind(HopOp::Binary(BinaryOp::Plus), &[x(), text("a")]),
        ErrorKind::Validation
    );
    let negative = [int(1), int(-1), int(2)];
    assert_eq!(
        kind(HopOp::DataGen(DataGenOp::Fill), &negative),
        ErrorKind::Dimension
    );
    let below_one = [matrix(1, 1, &[0.0]), int(1), int(1)];
    assert_eq!(kind(HopOp::Table, &below_one), ErrorKind::Runtime);
    assert_eq!(kind(HopOp::Fused(0), &[]), ErrorKind::Internal);
}
