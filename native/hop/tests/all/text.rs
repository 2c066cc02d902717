//! The text form of DAGs: what prints parses back, and what does not parse says where and what was expected.

use fulgurite_hop::{
    Characteristics, Dag, DataType, Hop, HopOp, Literal, ParameterizedOp, ValueType,
    json::to_json,
    text::{from_text, to_text},
};
use proptest::prelude::*;

use crate::json::{build, step};

proptest! {
    #[test]
    fn random_dags_come_back(steps in prop::collection::vec(step(), 0..20)) {
        let dag = build(&steps);
        let text = to_text(&dag);
        prop_assert_eq!(from_text(&text).expect("it was printed"), dag, "{}", text);
    }
}

#[test]
fn every_type_comes_back() {
    let mut dag = Dag::new();
    for data_type in [
        DataType::Matrix,
        DataType::Frame,
        DataType::List,
        DataType::Scalar,
    ] {
        for value_type in [
            ValueType::Double,
            ValueType::Int,
            ValueType::Boolean,
            ValueType::String,
        ] {
            let read = Hop {
                data_type,
                value_type,
                characteristics: match data_type {
                    DataType::Scalar => Characteristics::SCALAR,
                    _ => Characteristics::new(Some(3), None, None),
                },
                ..Hop::matrix(HopOp::TransientRead("x".into()), vec![])
            };
            let read = dag.push(read);
            let write = HopOp::TransientWrite(format!("{data_type} \"{value_type}\""));
            let write = Hop {
                op: write,
                inputs: vec![read],
                ..dag.hop(read).clone()
            };
            let write = dag.push(write);
            dag.roots.push(write);
        }
    }
    let text = to_text(&dag);
    assert_eq!(from_text(&text).expect("it was printed"), dag, "{text}");
}

#[test]
fn doubles_and_texts_come_back_to_the_bit() {
    let doubles = [
        0.1,
        -0.0,
        5e-324,
        f64::MAX,
        1e-4,
        1e22,
        f64::NAN,
        f64::NEG_INFINITY,
    ];
    let texts = ["", "7", "TRUE", "a\nb\t\"c\" \\ é \u{7f}", "# no comment"];
    let doubles = doubles.map(Literal::Double).into_iter();
    let texts = texts.map(|text| Literal::String(text.into())).into_iter();
    for value in doubles.chain(texts).chain([Literal::Int(i64::MIN)]) {
        let mut dag = Dag::new();
        dag.roots = vec![dag.push(Hop::literal(value))];
        let back = from_text(&to_text(&dag)).expect("it was printed");
        assert_eq!(format!("{back:?}"), format!("{dag:?}"));
        assert_eq!(to_json(&back), to_json(&dag));
    }
}

/// Any names of inputs, in any order of places.
#[test]
fn named_inputs_come_back() {
    let mut dag = Dag::new();
    let one = dag.push(Hop::literal(Literal::Int(1)));
    let two = dag.push(Hop::literal(Literal::Int(2)));
    let names = [("b c".to_owned(), 0), ("a".to_owned(), 1)];
    let list = Hop {
        data_type: DataType::List,
        ..Hop::matrix(
            HopOp::Parameterized(ParameterizedOp::List, names.into()),
            vec![two, one],
        )
    };
    dag.roots = vec![dag.push(list)];
    let text = to_text(&dag);
    assert!(
        text.contains("p(list) (\"b c\"=1,a=0) [list double]"),
        "{text}"
    );
    assert_eq!(from_text(&text).expect("it was printed"), dag);
}

#[test]
fn what_explain_prints_parses_as_far_as_it_says_all() {
    let dag = from_text(
        "# Numbers may have gaps, and what is left out has its default.
         (2) TRead X [10 x 5]
         (4) ua(R+) (2) [10 x 1] @ a.dml:3:1+9

         (7) lit 7
         (8) b(>) (4, 7) [10 x 1, nnz ?]
         (9) TWrite R (8) [10 x 1]
         roots 9",
    )
    .expect("it parses");
    insta::assert_snapshot!(dag.to_string(), @r"
    (0) TRead X [10 x 5, nnz ?] 400B
    (1) ua(R+) (0) [10 x 1, nnz ?] 560B @ a.dml:3:1
    (2) lit 7 [int]
    (3) b(>) (1,2) [10 x 1, nnz ?] 176B
    (4) TWrite R (3) [10 x 1, nnz ?] 80B
    roots 4
    ");
    let explained = from_text(&dag.to_string()).expect("it parses");
    // Explain leaves out how long a place is.
    assert_eq!(to_text(&explained), to_text(&dag).replace("+9", ""));
}

#[test]
fn the_documented_example_is_as_it_prints() {
    let page = include_str!("../../../../docs/hop-json.md");
    let section = page.split("## Text form").nth(1).expect("the section");
    let example = section.split("```").nth(1).expect("an example");
    let example = example.strip_prefix("text\n").expect("a text");
    let dag = from_text(example).expect("it parses");
    assert_eq!(to_text(&dag), example);
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let lines = [
        "TRead X",
        "(x) TRead X",
        "(0 TRead X",
        "(0)",
        "(0) tread X",
        "(0) TRead 7",
        "(0) TRead",
        "(0) lit seven",
        "(0) lit \"seven",
        "(0) TRead X [10 by 5]",
        "(0) TRead X [10 x 5, nnz -1]",
        "(0) TRead X [10 x 5] ten",
        "(0) TRead X @ nowhere",
        "(0) TRead é\n(1) u(exp) (0,7)",
        "(0) TRead X\n(0) TRead Y",
        "(0) TRead X\n(1) u(exp) (0 1)",
        "(0) TRead X\n(1) b(*) (x=0,y=0)",
        "(0) TRead X\n(1) p(replace) (target=0,target=0)",
        "(0) lit \"a\"\n(1) PRead {\"format\":\"csv\"} (x=0)",
        "(0) TRead X\nroots 1",
        "(0) TRead X\nroots 0 and 1",
        "(0) TRead X\nroots 0\n(1) TRead X",
        "(0) TRead X\n(1) b(*) (0) [2 x 2]\nroots 1",
        "(0) TRead X [2 x 2, nnz 5]\nroots 0",
        "(0) TRead X",
        "",
    ];
    let errors = lines.map(|text| from_text(text).expect_err(text).to_string());
    insta::assert_snapshot!(errors.join("\n\n"));
}
