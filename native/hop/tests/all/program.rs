//! Size propagation through control flow and functions.

use crate::common::{basic, predicate};
use fulgurite_error::ErrorKind;
use fulgurite_hop::{
    Argument, BinaryOp, Block, Characteristics, DataType, Function, Hop, HopOp, Literal,
    OptimizeOptions, Parameter, Predicate, Program, ReadOptions, SizeOp, Symbols, UnaryOp,
    ValueType, VariableInfo, optimize_program, propagate_program,
};

fn program(body: Vec<Block>) -> Program {
    Program {
        functions: Default::default(),
        body,
    }
}

fn propagated(program: &Program, symbols: &Symbols) -> String {
    let result = propagate_program(program, symbols, &|_, _| None).expect("sizes fit");
    result.to_string()
}

fn assign_int(name: &str, value: i64) -> Block {
    basic(|b| {
        let value = b.int(value);
        b.write(name, value);
    })
}

/// `name = matrix(0, rows, cols)`
fn zeros(name: &str, rows: i64, cols: i64) -> Block {
    basic(|b| {
        let (value, rows, cols) = (b.int(0), b.int(rows), b.int(cols));
        let zeros = b.fill(value, rows, cols);
        b.write(name, zeros);
    })
}

/// `target = t(source)`
fn transpose(target: &str, source: &str) -> Block {
    basic(|b| {
        let x = b.read(source);
        let t = b.transpose(x);
        b.write(target, t);
    })
}

/// `target = cbind(target, other)`
fn append(target: &str, other: &str) -> Block {
    basic(|b| {
        let (x, y) = (b.read(target), b.read(other));
        let bound = b.op(HopOp::CBind, &[x, y]);
        b.write(target, bound);
    })
}

/// `name op value`
fn compare(name: &str, op: BinaryOp, value: i64) -> Predicate {
    predicate(|b| {
        let (x, value) = (b.scalar(name, ValueType::Int), b.int(value));
        b.push(Hop::scalar(
            HopOp::Binary(op),
            vec![x, value],
            ValueType::Boolean,
        ))
    })
}

fn if_else(predicate: Predicate, then: Vec<Block>, otherwise: Vec<Block>) -> Block {
    Block::If {
        predicate,
        then,
        otherwise,
        position: None,
    }
}

fn while_loop(predicate: Predicate, body: Vec<Block>) -> Block {
    Block::While {
        predicate,
        body,
        position: None,
    }
}

fn matrix(rows: u64, cols: u64) -> VariableInfo {
    VariableInfo::matrix(Characteristics::dims(rows, cols))
}

#[test]
fn constant_predicates_choose_their_branch() {
    let body = vec![
        assign_int("icpt", 1),
        zeros("X", 10, 3),
        zeros("ones", 10, 1),
        if_else(
            compare("icpt", BinaryOp::Equal, 1),
            vec![append("X", "ones")],
            vec![transpose("X", "X")],
        ),
        if_else(
            compare("icpt", BinaryOp::Equal, 2),
            vec![transpose("X", "X")],
            vec![],
        ),
        while_loop(compare("icpt", BinaryOp::Less, 0), vec![zeros("X", 1, 1)]),
        transpose("Y", "X"),
    ];
    insta::assert_snapshot!(propagated(&program(body), &Symbols::new()));
}

#[test]
fn branches_merge_to_what_both_leave() {
    let body = vec![
        if_else(
            compare("unknown", BinaryOp::Equal, 1),
            vec![zeros("X", 10, 3), zeros("Z", 1, 1), assign_int("k", 1)],
            vec![zeros("X", 10, 4), assign_int("k", 1)],
        ),
        transpose("Y", "X"),
        transpose("W", "Z"),
        basic(|b| {
            let k = b.scalar("k", ValueType::Int);
            b.print(k);
        }),
    ];
    insta::assert_snapshot!(propagated(&program(body), &Symbols::new()));
}

#[test]
fn loops_forget_what_their_body_changes() {
    let increase = basic(|b| {
        let (i, one) = (b.scalar("i", ValueType::Int), b.int(1));
        let next = b.binary(BinaryOp::Plus, i, one);
        b.write("i", next);
    });
    let use_all = basic(|b| {
        let (grows, stays) = (b.read("grows"), b.read("stays"));
        let (a, c) = (b.transpose(grows), b.transpose(stays));
        b.write("a", a);
        b.write("c", c);
    });
    let body = vec![
        assign_int("i", 0),
        zeros("grows", 10, 1),
        zeros("stays", 10, 1),
        while_loop(
            compare("i", BinaryOp::Less, 5),
            vec![
                use_all,
                append("grows", "stays"),
                transpose("stays", "stays"),
                transpose("stays", "stays"),
                increase,
            ],
        ),
        transpose("Y", "grows"),
    ];
    insta::assert_snapshot!(propagated(&program(body), &Symbols::new()));
}

#[test]
fn what_does_not_fit_only_in_early_passes_is_no_error() {
    // In the first iteration a branch that it does not take would not fit.
    let body = vec![
        assign_int("first", 1),
        zeros("X", 10, 3),
        zeros("v", 4, 1),
        while_loop(
            compare("unknown", BinaryOp::Equal, 1),
            vec![
                if_else(
                    compare("other", BinaryOp::Equal, 0),
                    vec![basic(|b| {
                        let (x, v) = (b.read("X"), b.read("v"));
                        let product = b.matmult(x, v);
                        b.write("q", product);
                    })],
                    vec![],
                ),
                zeros("v", 3, 1),
            ],
        ),
    ];
    let result = propagate_program(&program(body), &Symbols::new(), &|_, _| None);
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn what_never_fits_is_an_error_at_its_place() {
    let body = vec![while_loop(
        compare("unknown", BinaryOp::Equal, 1),
        vec![basic(|b| {
            let (x, y) = (b.read("X"), b.read("X"));
            let product = b.matmult(x, y);
            b.write("q", product);
        })],
    )];
    let symbols = [("X".to_owned(), matrix(3, 4))].into();
    let error = propagate_program(&program(body), &symbols, &|_, _| None);
    let error = error.expect_err("3 x 4 %*% 3 x 4");
    assert_eq!(error.kind(), ErrorKind::Dimension);
    assert_eq!(error.operator(), Some("ba(+*)"));
    assert_eq!(error.position().map(|position| position.line), Some(3));
}

#[test]
fn counters_of_loops_stay_unknown() {
    let number = |value| predicate(move |b| b.int(value));
    let body = vec![
        assign_int("i", 7),
        Block::For {
            variable: "i".into(),
            from: number(1),
            to: number(3),
            increment: None,
            body: vec![basic(|b| {
                let i = b.scalar("i", ValueType::Int);
                let x = b.read("X");
                let (one, cols) = (b.int(1), b.size(SizeOp::NCol, x));
                let row = b.op(HopOp::RightIndex, &[x, i, i, one, cols]);
                b.write("row", row);
            })],
            parallel: None,
            position: None,
        },
    ];
    let symbols = [("X".to_owned(), matrix(3, 4))].into();
    insta::assert_snapshot!(propagated(&program(body), &symbols));
}

fn parameter(name: &str, data_type: DataType, value_type: ValueType) -> Parameter {
    Parameter {
        name: name.into(),
        data_type,
        value_type,
        default: None,
    }
}

/// `f = function(matrix A, int k) return (matrix B) { B = t(A) * k }`
fn function(body: Vec<Block>) -> Function {
    Function {
        name: "f".into(),
        parameters: vec![
            parameter("A", DataType::Matrix, ValueType::Double),
            parameter("k", DataType::Scalar, ValueType::Int),
        ],
        results: vec![parameter("B", DataType::Matrix, ValueType::Double)],
        body,
        position: None,
    }
}

fn scaled_transpose() -> Block {
    basic(|b| {
        let (a, k) = (b.read("A"), b.scalar("k", ValueType::Int));
        let t = b.transpose(a);
        let scaled = b.binary(BinaryOp::Mult, t, k);
        b.write("B", scaled);
    })
}

fn call(variable: &str, k: Literal, output: &str) -> Block {
    Block::Call {
        function: "f".into(),
        arguments: vec![
            Argument::Variable {
                parameter: None,
                variable: variable.into(),
            },
            Argument::Literal {
                parameter: None,
                value: k,
            },
        ],
        outputs: vec![output.into()],
        position: None,
    }
}

fn with_function(function: Function, body: Vec<Block>) -> Program {
    Program {
        functions: [("f".to_owned(), function)].into(),
        body,
    }
}

#[test]
fn sizes_go_through_functions_that_are_called_alike() {
    let program = with_function(
        function(vec![scaled_transpose()]),
        vec![
            zeros("X", 10, 3),
            call("X", Literal::Double(2.9), "Y"),
            call("X", Literal::Int(2), "Z"),
            transpose("W", "Z"),
        ],
    );
    insta::assert_snapshot!(propagated(&program, &Symbols::new()));
}

#[test]
fn functions_know_what_all_their_calls_have_in_common() {
    let program = with_function(
        function(vec![scaled_transpose()]),
        vec![
            zeros("X", 10, 3),
            call("X", Literal::Int(1), "Y"),
            // What the first call gives is less than it seemed before the second one was seen.
            transpose("V", "Y"),
            call("V", Literal::Int(2), "Z"),
            zeros("U", 10, 4),
            call("U", Literal::Int(2), "Z"),
        ],
    );
    insta::assert_snapshot!(propagated(&program, &Symbols::new()));
}

#[test]
fn recursion_comes_to_an_end() {
    let recursive = function(vec![if_else(
        compare("k", BinaryOp::Greater, 0),
        vec![transpose("T", "A"), call("T", Literal::Int(0), "B")],
        vec![scaled_transpose()],
    )]);
    let program = with_function(
        recursive,
        vec![zeros("X", 10, 3), call("X", Literal::Int(3), "Y")],
    );
    insta::assert_snapshot!(propagated(&program, &Symbols::new()));
}

#[test]
fn metadata_give_sizes_of_files_and_decide_branches() {
    let read = basic(|b| {
        let (folder, file) = (b.text("data/"), b.text("X.csv"));
        let path = b.push(Hop::scalar(
            HopOp::Binary(BinaryOp::Plus),
            vec![folder, file],
            ValueType::String,
        ));
        let x = b.op(HopOp::PersistentRead(ReadOptions::default()), &[path]);
        b.write("X", x);
    });
    let count = basic(|b| {
        let x = b.read("X");
        let cols = b.size(SizeOp::NCol, x);
        b.write("n", cols);
    });
    let body = vec![
        read,
        count,
        if_else(
            compare("n", BinaryOp::Equal, 64),
            vec![transpose("Y", "X")],
            vec![zeros("Y", 1, 1)],
        ),
    ];
    let metadata = |path: &str, _: &ReadOptions| (path == "data/X.csv").then(|| matrix(1797, 64));
    let result = propagate_program(&program(body), &Symbols::new(), &metadata);
    insta::assert_snapshot!(result.expect("sizes fit").to_string());
}

#[test]
fn nested_loops_look_at_a_block_a_few_times() {
    let read = basic(|b| {
        let path = b.text("X.csv");
        let x = b.op(HopOp::PersistentRead(ReadOptions::default()), &[path]);
        let grows = b.read("grows");
        let bound = b.op(HopOp::CBind, &[x, grows]);
        b.write("Y", bound);
    });
    let inner = vec![read, append("grows", "stays")];
    let nested = (0..4).fold(inner, |body, _| {
        vec![while_loop(compare("unknown", BinaryOp::Less, 5), body)]
    });
    let body = [vec![zeros("grows", 10, 1), zeros("stays", 10, 1)], nested].concat();
    let looks = std::cell::Cell::new(0);
    let metadata = |_: &str, _: &ReadOptions| {
        looks.set(looks.get() + 1);
        Some(matrix(10, 4))
    };
    let result = propagate_program(&program(body), &Symbols::new(), &metadata);
    assert!(result.is_ok(), "{result:?}");
    assert!(looks.get() <= 4, "{} times", looks.get());
}

#[test]
fn deeply_nested_loops_are_optimized_at_once() {
    // With work that doubles with each level, this would not end.
    let inner = vec![append("grows", "stays")];
    let nested = (0..40).fold(inner, |body, _| {
        vec![while_loop(compare("unknown", BinaryOp::Less, 5), body)]
    });
    let body = [vec![zeros("grows", 10, 1), zeros("stays", 10, 1)], nested].concat();
    let options = OptimizeOptions::default();
    let result = optimize_program(&program(body), &Symbols::new(), &|_, _| None, &options);
    assert!(result.is_ok(), "{result:?}");
}

#[test]
fn one_operand_decides_a_condition() {
    let scalar =
        |op, left, right| Hop::scalar(HopOp::Binary(op), vec![left, right], ValueType::Boolean);
    let guarded = |op: BinaryOp, value: i64| {
        let condition = predicate(|b| {
            let (known, unknown) = (b.scalar("n", ValueType::Int), b.scalar("u", ValueType::Int));
            let (value, zero) = (b.int(value), b.int(0));
            let left = b.push(scalar(BinaryOp::Equal, known, value));
            let right = b.push(scalar(BinaryOp::Less, unknown, zero));
            b.push(scalar(op, left, right))
        });
        let wrong = basic(|b| {
            let (x, y) = (b.read("X"), b.read("X"));
            let product = b.matmult(x, y);
            b.write("q", product);
        });
        let (then, otherwise) = match op {
            BinaryOp::And => (vec![wrong], vec![]),
            _ => (vec![], vec![wrong]),
        };
        let body = vec![assign_int("n", 1), if_else(condition, then, otherwise)];
        let symbols = [("X".to_owned(), matrix(3, 4))].into();
        propagate_program(&program(body), &symbols, &|_, _| None).is_ok()
    };
    assert!(guarded(BinaryOp::And, 0) && guarded(BinaryOp::Or, 1));
    assert!(!guarded(BinaryOp::And, 1) && !guarded(BinaryOp::Or, 0));
}

#[test]
fn optimizing_merges_propagates_and_folds() {
    let body = vec![basic(|b| {
        let x = b.read("X");
        let (two, also_two) = (b.int(2), b.int(2));
        let lower = b.size(SizeOp::NRow, x);
        let upper = b.size(SizeOp::NRow, x);
        let (first, cols) = (b.int(1), b.size(SizeOp::NCol, x));
        let row = b.op(HopOp::RightIndex, &[x, lower, upper, first, cols]);
        let exponent = b.binary(BinaryOp::Mult, two, also_two);
        let half = b.binary(BinaryOp::Div, exponent, two);
        let square = b.binary(BinaryOp::Pow, row, half);
        let root = b.unary(UnaryOp::Sqrt, square);
        b.write("Y", root);
    })];
    let symbols = [(
        "X".to_owned(),
        VariableInfo::matrix(Characteristics::new(None, Some(4), None)),
    )]
    .into();
    let options = OptimizeOptions::default();
    let result = optimize_program(&program(body), &symbols, &|_, _| None, &options);
    insta::assert_snapshot!(result.expect("sizes fit").to_string());
}

#[test]
fn deep_nests_of_loops_end_soon_and_forget_what_they_change() {
    let mut body = vec![transpose("X", "X"), transpose("Y", "stays")];
    for depth in 0..40 {
        body = vec![while_loop(
            compare(&format!("unknown{depth}"), BinaryOp::Equal, 1),
            body,
        )];
    }
    body.push(transpose("after", "X"));
    let symbols = [
        ("X".to_owned(), matrix(3, 4)),
        ("stays".to_owned(), matrix(5, 6)),
    ]
    .into();
    let text = propagated(&program(body), &symbols);
    let line_of = |code: &str| {
        let line = text.lines().find(|line| line.contains(code));
        line.map(str::trim).unwrap_or_default().to_owned()
    };
    assert_eq!(
        line_of("TRead stays"),
        "(0) TRead stays [5 x 6, nnz ?] 240B @ test.dml:1:1"
    );
    assert_eq!(
        line_of("TRead X"),
        "(0) TRead X [? x ?, nnz ?] ?B @ test.dml:1:1"
    );
    assert!(line_of("TWrite after").contains("[? x ?, nnz ?]"));
}
