//! Size propagation through single DAGs.

use crate::common::Builder;
use fulgurite_error::ErrorKind;
use fulgurite_hop::{
    AggregateOp, BinaryOp, CastOp, Characteristics, Dag, DataGenOp, Direction, Folding, Hop, HopId,
    HopOp, Literal, ParameterizedOp, SizeOp, Symbols, TernaryOp, UnaryOp, ValueType, VariableInfo,
    propagate_dag, propagate_dag_folding, verify,
};

fn known(rows: u64, cols: u64, nnz: u64) -> Characteristics {
    Characteristics::dims(rows, cols).with_nnz(nnz)
}

/// What is inferred for a HOP.
fn inferred(builder: &Builder, id: HopId) -> String {
    let (dag, _) = propagate_dag(&builder.dag, &Symbols::new()).expect("sizes fit");
    dag.hop(id).characteristics.to_string()
}

fn refusal(builder: &Builder) -> String {
    match propagate_dag(&builder.dag, &Symbols::new()) {
        Ok((dag, _)) => format!("fits:\n{dag}"),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Dimension);
            error.to_string()
        }
    }
}

#[test]
fn cells_broadcast_vectors_on_either_side() {
    let shapes = [(3, 4), (3, 1), (1, 4), (1, 1)];
    let mut report = Vec::new();
    for left in shapes {
        for right in shapes {
            let mut b = Builder::new();
            let x = b.matrix("X", Characteristics::dims(left.0, left.1));
            let y = b.matrix("Y", Characteristics::dims(right.0, right.1));
            let sum = b.binary(BinaryOp::Plus, x, y);
            let result = match propagate_dag(&b.dag, &Symbols::new()) {
                Ok((dag, _)) => dag.hop(sum).characteristics.to_string(),
                Err(_) => "error".into(),
            };
            report.push(format!(
                "{}x{} + {}x{} = {result}",
                left.0, left.1, right.0, right.1
            ));
        }
    }
    insta::assert_snapshot!(report.join("\n"));
}

#[test]
fn unknown_sides_follow_known_ones() {
    let mut b = Builder::new();
    let x = b.matrix("X", Characteristics::dims(3, 4));
    let u = b.read("U");
    let row = b.matrix("r", Characteristics::dims(1, 4));
    let xu = b.binary(BinaryOp::Mult, x, u);
    let ur = b.binary(BinaryOp::Mult, u, row);
    assert_eq!(inferred(&b, xu), "[3 x 4, nnz ?]");
    assert_eq!(inferred(&b, ur), "[? x 4, nnz ?]");
}

#[test]
fn an_expression_has_no_more_non_zeros_than_the_matrix_it_is_zero_with() {
    let mut b = Builder::new();
    let x = b.matrix("X", known(10, 10, 5));
    let none = b.matrix("none", known(10, 10, 0));
    let one = b.int(1);
    let shifted = b.binary(BinaryOp::Plus, x, one);
    let log = b.unary(UnaryOp::Log, shifted);
    let half = b.binary(BinaryOp::Div, log, shifted);
    let quotient = b.binary(BinaryOp::Div, none, x);
    assert_eq!(inferred(&b, shifted), "[10 x 10, nnz 100]");
    assert_eq!(inferred(&b, log), "[10 x 10, nnz 5]");
    assert_eq!(inferred(&b, half), "[10 x 10, nnz 5]");
    assert_eq!(inferred(&b, quotient), "[10 x 10, nnz ?]");
}

#[test]
fn non_zeros_of_cellwise_operators() {
    let mut b = Builder::new();
    let x = b.matrix("X", known(10, 10, 50));
    let y = b.matrix("Y", known(10, 10, 20));
    let zero = b.int(0);
    let two = b.int(2);
    let unknown = b.scalar("s", ValueType::Double);
    let cases = [
        b.binary(BinaryOp::Mult, x, y),
        b.binary(BinaryOp::Plus, x, y),
        b.binary(BinaryOp::Div, x, y),
        b.binary(BinaryOp::Equal, x, y),
        b.binary(BinaryOp::NotEqual, x, zero),
        b.binary(BinaryOp::Greater, x, two),
        b.binary(BinaryOp::Less, x, two),
        b.binary(BinaryOp::Pow, x, two),
        b.binary(BinaryOp::Mult, unknown, x),
        b.binary(BinaryOp::Plus, x, unknown),
        b.unary(UnaryOp::Sqrt, x),
        b.unary(UnaryOp::Exp, x),
        b.cellwise(HopOp::Ternary(TernaryOp::IfElse), &[x, y, zero]),
        b.cellwise(HopOp::Ternary(TernaryOp::PlusMult), &[x, two, y]),
    ];
    let (dag, used) = propagate_dag(&b.dag, &Symbols::new()).expect("sizes fit");
    let report: Vec<String> = cases
        .iter()
        .map(|id| {
            let hop = dag.hop(*id);
            format!("{} {:?} {}", hop.op, hop.inputs, hop.characteristics)
        })
        .collect();
    assert!(used.constants.is_empty());
    insta::assert_snapshot!(report.join("\n"));
}

#[test]
fn products_aggregates_and_reorganizations() {
    let mut b = Builder::new();
    let x = b.matrix("X", known(100, 10, 100));
    let v = b.matrix("v", known(10, 1, 10));
    let q = b.matmult(x, v);
    let xt = b.transpose(x);
    let g = b.matmult(xt, q);
    let gram = b.matmult(xt, x);
    let diagonal = b.op(HopOp::Diag, &[gram]);
    let matrix = b.op(HopOp::Diag, &[g]);
    let row_sums = b.op(HopOp::Aggregate(AggregateOp::Sum, Direction::Row), &[x]);
    let col_max = b.op(
        HopOp::Aggregate(AggregateOp::IndexMax, Direction::Row),
        &[x],
    );
    let bound = b.op(HopOp::CBind, &[x, row_sums, q]);
    let stacked = b.op(HopOp::RBind, &[x, x]);
    let (rows, cols) = (b.int(50), b.int(20));
    let reshaped = b.op(HopOp::Reshape { by_row: true }, &[x, rows, cols]);
    for id in [
        diagonal, matrix, row_sums, col_max, bound, stacked, reshaped,
    ] {
        b.write(&format!("out{id}"), id);
    }
    let (dag, _) = propagate_dag(&b.dag, &Symbols::new()).expect("sizes fit");
    verify(&dag).expect("propagation keeps the invariants");
    insta::assert_snapshot!(dag);
}

#[test]
fn generated_matrices_know_their_non_zeros() {
    let mut b = Builder::new();
    let (three, zero, one) = (b.int(3), b.int(0), b.double(1.0));
    let zeros = b.fill(zero, three, three);
    let ones = b.fill(one, three, three);
    let text = b.text("0 1 0 2");
    let two = b.int(2);
    let spelled = b.fill(text, two, two);
    let nan = b.double(f64::NAN);
    let ten = b.int(10);
    let up = b.op(HopOp::DataGen(DataGenOp::Seq), &[three, ten, nan]);
    let down = b.op(HopOp::DataGen(DataGenOp::Seq), &[ten, three, nan]);
    let half = b.double(0.5);
    let steps = b.op(HopOp::DataGen(DataGenOp::Seq), &[zero, one, half]);
    let uniform = b.text("uniform");
    let tenth = b.double(0.1);
    let rand = b.op(
        HopOp::DataGen(DataGenOp::Rand),
        &[ten, ten, zero, one, tenth, three, uniform, one],
    );
    let sizes: Vec<String> = [zeros, ones, spelled, up, down, steps, rand]
        .iter()
        .map(|id| inferred(&b, *id))
        .collect();
    assert_eq!(
        sizes,
        [
            "[3 x 3, nnz 0]",
            "[3 x 3, nnz 9]",
            "[2 x 2, nnz 2]",
            "[8 x 1, nnz 8]",
            "[8 x 1, nnz 8]",
            "[3 x 1, nnz 3]",
            "[10 x 10, nnz 10]"
        ]
    );
}

#[test]
fn tables_and_named_inputs() {
    let mut b = Builder::new();
    let y = b.matrix("y", Characteristics::dims(100, 1));
    let (one, n, k, nan) = (
        b.int(1),
        b.size(SizeOp::NRow, y),
        b.int(5),
        b.double(f64::NAN),
    );
    let rows = b.op(HopOp::DataGen(DataGenOp::Seq), &[one, n, nan]);
    let open = b.op(HopOp::Table, &[rows, y, one]);
    let one_hot = b.op(HopOp::Table, &[rows, y, one, n, k]);
    let margin = b.text("rows");
    let named = |b: &mut Builder, op, inputs: &[(&str, HopId)]| {
        let places = inputs.iter().enumerate();
        let places = places.map(|(place, (name, _))| ((*name).to_owned(), place));
        let ids: Vec<HopId> = inputs.iter().map(|(_, id)| *id).collect();
        b.op(HopOp::Parameterized(op, places.collect()), &ids)
    };
    let kept = named(
        &mut b,
        ParameterizedOp::RemoveEmpty,
        &[("target", one_hot), ("margin", margin)],
    );
    let yes = b.push(Hop::literal(Literal::Boolean(true)));
    let order = named(
        &mut b,
        ParameterizedOp::Order,
        &[("target", one_hot), ("index.return", yes)],
    );
    let sizes: Vec<String> = [open, one_hot, kept, order]
        .iter()
        .map(|id| inferred(&b, *id))
        .collect();
    assert_eq!(
        sizes,
        [
            "[100 x ?, nnz 100]",
            "[100 x 5, nnz 100]",
            "[? x 5, nnz 100]",
            "[100 x 1, nnz 100]"
        ]
    );
}

#[test]
fn mismatches_that_are_certain_name_operator_shapes_and_place() {
    type Build = fn(&mut Builder);
    let cases: [Build; 13] = [
        |b| {
            let (x, y) = (
                b.matrix("X", Characteristics::dims(3, 4)),
                b.matrix("Y", Characteristics::dims(3, 4)),
            );
            b.matmult(x, y);
        },
        |b| {
            let (x, y) = (
                b.matrix("X", Characteristics::dims(3, 4)),
                b.matrix("Y", Characteristics::dims(2, 4)),
            );
            b.binary(BinaryOp::Plus, x, y);
        },
        |b| {
            let (x, y) = (
                b.matrix("x", Characteristics::dims(3, 1)),
                b.matrix("y", Characteristics::dims(1, 4)),
            );
            b.binary(BinaryOp::Plus, x, y);
        },
        |b| {
            let x = b.matrix("X", Characteristics::dims(3, 4));
            let (i, j) = (b.int(4), b.int(1));
            b.op(HopOp::RightIndex, &[x, i, i, j, j]);
        },
        |b| {
            let x = b.matrix("X", Characteristics::UNKNOWN);
            let (i, j) = (b.int(0), b.int(1));
            b.op(HopOp::RightIndex, &[x, j, j, i, j]);
        },
        |b| {
            let x = b.matrix("X", Characteristics::dims(3, 4));
            let (i, j) = (b.int(3), b.int(2));
            b.op(HopOp::RightIndex, &[x, i, j, j, j]);
        },
        |b| {
            let x = b.matrix("X", Characteristics::dims(3, 4));
            let (i, j) = (b.int(1), b.int(2));
            b.op(HopOp::LeftIndex, &[x, i, i, j, i, i]);
        },
        |b| {
            let x = b.matrix("X", Characteristics::dims(3, 4));
            b.op(HopOp::Diag, &[x]);
        },
        |b| {
            let x = b.matrix("X", Characteristics::dims(3, 4));
            let (rows, cols) = (b.int(5), b.int(2));
            b.op(HopOp::Reshape { by_row: true }, &[x, rows, cols]);
        },
        |b| {
            let x = b.matrix("X", Characteristics::dims(3, 4));
            let y = b.matrix("Y", Characteristics::dims(4, 4));
            b.op(HopOp::CBind, &[x, y]);
        },
        |b| {
            let x = b.matrix("X", Characteristics::dims(3, 4));
            b.push(Hop::scalar(
                HopOp::Cast(CastOp::AsScalar),
                vec![x],
                ValueType::Double,
            ));
        },
        |b| {
            let (value, rows, cols) = (b.int(0), b.int(-1), b.int(2));
            b.fill(value, rows, cols);
        },
        |b| {
            let (value, two) = (b.text("1 2 3"), b.int(2));
            b.fill(value, two, two);
        },
    ];
    let refusals: Vec<String> = cases
        .iter()
        .map(|build| {
            let mut builder = Builder::new();
            build(&mut builder);
            refusal(&builder)
        })
        .collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

/// `X[i, ]`, `X[i:j, ]` and `matrix(0, k, 1)` with i, j, k scalar variables.
fn indexing() -> (Dag, [HopId; 3]) {
    let mut b = Builder::new();
    let x = b.matrix("X", Characteristics::dims(100, 10));
    let i = b.scalar("i", ValueType::Int);
    let j = b.scalar("j", ValueType::Int);
    let k = b.scalar("k", ValueType::Int);
    let (one, cols) = (b.int(1), b.size(SizeOp::NCol, x));
    let row = b.op(HopOp::RightIndex, &[x, i, i, one, cols]);
    let range = b.op(HopOp::RightIndex, &[x, i, j, one, cols]);
    let zero = b.int(0);
    let filled = b.fill(zero, k, one);
    let next = b.binary(BinaryOp::Plus, i, one);
    b.write("i", next);
    b.print(next);
    for id in [row, range, filled] {
        b.write(&format!("out{id}"), id);
    }
    (b.dag, [row, range, filled])
}

fn ints(values: &[(&str, i64)]) -> Symbols {
    let info = |value: i64| VariableInfo::constant(Literal::Int(value));
    values
        .iter()
        .map(|(name, value)| ((*name).to_owned(), info(*value)))
        .collect()
}

#[test]
fn only_constants_that_decide_sizes_are_used() {
    let (dag, [row, range, filled]) = indexing();
    let sizes = |dag: &Dag| [row, range, filled].map(|id| dag.hop(id).characteristics.to_string());

    // j is unknown, so i decides nothing: a loop over i keeps its plan.
    let (result, used) = propagate_dag(&dag, &ints(&[("i", 3), ("k", 7)])).expect("sizes fit");
    assert_eq!(
        sizes(&result),
        ["[1 x 10, nnz ?]", "[? x 10, nnz ?]", "[7 x 1, nnz 0]"]
    );
    assert_eq!(Vec::from_iter(&used.constants), ["k"]);

    let symbols = ints(&[("i", 3), ("j", 5), ("k", 7)]);
    let (result, used) = propagate_dag(&dag, &symbols).expect("sizes fit");
    assert_eq!(
        sizes(&result),
        ["[1 x 10, nnz ?]", "[3 x 10, nnz ?]", "[7 x 1, nnz 0]"]
    );
    assert_eq!(Vec::from_iter(&used.constants), ["i", "j", "k"]);
}

#[test]
fn variables_become_literals_only_if_asked() {
    let (dag, _) = indexing();
    let symbols = ints(&[("i", 3)]);
    let literals = |dag: &Dag| {
        let is_literal = |hop: &&Hop| matches!(hop.op, HopOp::Literal(_));
        dag.iter().map(|(_, hop)| hop).filter(is_literal).count()
    };
    let (kept, used) = propagate_dag(&dag, &symbols).expect("sizes fit");
    // 1, 0 and ncol(X).
    assert_eq!(literals(&kept), 3);
    assert!(used.constants.is_empty());
    let (folded, used) =
        propagate_dag_folding(&dag, &symbols, Folding::Variables).expect("sizes fit");
    // And i and i + 1.
    assert_eq!(literals(&folded), 5);
    assert_eq!(Vec::from_iter(&used.constants), ["i"]);
}

#[test]
fn out_of_range_values_of_variables_are_left_to_the_run_time() {
    let (dag, [_, range, filled]) = indexing();
    let symbols = ints(&[("i", 300), ("j", 200), ("k", -1)]);
    let (result, _) = propagate_dag(&dag, &symbols).expect("nothing is certain");
    assert_eq!(result.hop(range).rows(), None);
    assert_eq!(result.hop(filled).rows(), None);
}
