//! HOP DAG JSON: what goes out comes back, and what is inconsistent is refused with node and rule.

use fulgurite_error::{Position, Source};
use fulgurite_hop::{
    AggregateOp, BinaryOp, Characteristics, Dag, Direction, FileFormat, Hop, HopId, HopOp, Literal,
    ParameterizedOp, ReadOptions, UnaryOp, ValueType, WriteOptions, json::from_json, json::to_json,
    verify,
};
use proptest::prelude::*;

/// One step in building a random DAG; numbers choose among the HOPs that are there.
#[derive(Debug, Clone)]
pub enum Step {
    Read(Characteristics),
    Number(Literal),
    File(ReadOptions),
    Unary(UnaryOp, usize),
    Binary(BinaryOp, usize, usize),
    Aggregate(AggregateOp, Direction, usize),
    MatMult(usize, usize),
    Index(usize, usize),
    Order(usize, usize),
}

fn size() -> impl Strategy<Value = Option<u64>> {
    prop_oneof![Just(None), (0u64..1_000_000).prop_map(Some)]
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![
        any::<f64>()
            .prop_filter("NaN is not equal to itself", |value| !value.is_nan())
            .prop_map(Literal::Double),
        any::<i64>().prop_map(Literal::Int),
        any::<bool>().prop_map(Literal::Boolean),
        any::<String>().prop_map(Literal::String),
    ]
}

pub fn step() -> impl Strategy<Value = Step> {
    let hop = || any::<usize>();
    prop_oneof![
        (size(), size())
            .prop_map(|(rows, cols)| Step::Read(Characteristics::new(rows, cols, None))),
        literal().prop_map(Step::Number),
        (any::<Option<bool>>(), size(), any::<Option<String>>()).prop_map(
            |(header, rows, separator)| Step::File(ReadOptions {
                header,
                rows,
                separator,
                default: Some(f64::NEG_INFINITY),
                format: Some(FileFormat::MatrixMarket),
                ..ReadOptions::default()
            })
        ),
        (prop::sample::select(UnaryOp::ALL), hop()).prop_map(|(op, x)| Step::Unary(op, x)),
        (prop::sample::select(BinaryOp::ALL), hop(), hop())
            .prop_map(|(op, x, y)| Step::Binary(op, x, y)),
        (
            prop::sample::select(AggregateOp::ALL),
            prop::sample::select(vec![Direction::Full, Direction::Row, Direction::Col]),
            hop()
        )
            .prop_map(|(op, direction, x)| Step::Aggregate(op, direction, x)),
        (hop(), hop()).prop_map(|(x, y)| Step::MatMult(x, y)),
        (hop(), hop()).prop_map(|(x, i)| Step::Index(x, i)),
        (hop(), hop()).prop_map(|(x, by)| Step::Order(x, by)),
    ]
}

/// A DAG of these steps, each HOP that nobody reads written at the end.
pub fn build(steps: &[Step]) -> Dag {
    let source = Source::new("random.dml", "");
    let mut dag = Dag::new();
    let mut matrices = vec![dag.push(Hop::matrix(HopOp::TransientRead("M".into()), vec![]))];
    let mut scalars = vec![dag.push(Hop::literal(Literal::Int(1)))];
    let position = |dag: &Dag| Position::new(&source, dag.len() as u32, 2, 3);
    for step in steps {
        let matrix = |choice: &usize| matrices[choice % matrices.len()];
        let scalar = |choice: &usize| scalars[choice % scalars.len()];
        let any = |choice: &usize| match choice % 3 {
            0 => scalar(choice),
            _ => matrix(choice),
        };
        let hop = match step {
            Step::Read(size) => {
                let name = format!("X {}", dag.len());
                Hop::matrix(HopOp::TransientRead(name), vec![]).with(*size)
            }
            Step::Number(value) => Hop::literal(value.clone()),
            Step::File(options) => {
                let path = Hop::literal(Literal::String("a file".into()));
                let path = dag.push(path);
                Hop::matrix(HopOp::PersistentRead(options.clone()), vec![path])
            }
            Step::Unary(op, x) => Hop::matrix(HopOp::Unary(*op), vec![matrix(x)]),
            Step::Binary(op, x, y) => Hop::matrix(HopOp::Binary(*op), vec![matrix(x), any(y)]),
            Step::Aggregate(op, Direction::Full, x) => Hop::scalar(
                HopOp::Aggregate(*op, Direction::Full),
                vec![matrix(x)],
                ValueType::Double,
            ),
            Step::Aggregate(op, direction, x) => {
                Hop::matrix(HopOp::Aggregate(*op, *direction), vec![matrix(x)])
            }
            Step::MatMult(x, y) => Hop::matrix(HopOp::MatMult, vec![matrix(x), matrix(y)]),
            Step::Index(x, i) => {
                let i = scalar(i);
                Hop::matrix(HopOp::RightIndex, vec![matrix(x), i, i, scalars[0], i])
            }
            Step::Order(x, by) => Hop::matrix(
                HopOp::Parameterized(
                    ParameterizedOp::Order,
                    [("target".to_owned(), 0), ("by".to_owned(), 1)].into(),
                ),
                vec![matrix(x), scalar(by)],
            ),
        };
        let hop = hop.at(&position(&dag));
        let is_matrix = hop.is_matrix();
        let id = dag.push(hop);
        if is_matrix {
            matrices.push(id);
        } else {
            scalars.push(id);
        }
    }
    let path = dag.push(Hop::literal(Literal::String("out".into())));
    let unread: Vec<HopId> = dag
        .consumers()
        .iter()
        .enumerate()
        .filter(|(_, consumers)| consumers.is_empty())
        .map(|(index, _)| HopId(index as u32))
        .filter(|id| *id != path)
        .collect();
    for id in unread {
        let hop = dag.hop(id).clone();
        let write = Hop {
            op: HopOp::TransientWrite(format!("out{id}")),
            inputs: vec![id],
            ..hop.clone()
        };
        let file = Hop {
            op: HopOp::PersistentWrite(WriteOptions {
                format: Some(FileFormat::Csv),
                ..WriteOptions::default()
            }),
            inputs: vec![id, path],
            ..hop
        };
        let write = dag.push(write);
        let file = dag.push(file);
        dag.roots.extend([write, file]);
    }
    dag
}

proptest! {
    #[test]
    fn what_goes_out_comes_back(steps in prop::collection::vec(step(), 0..20)) {
        let dag = build(&steps);
        verify(&dag).expect("the generator builds consistent DAGs");
        let text = to_json(&dag).to_string();
        // Positions come back without the source's text, which random.dml has not.
        prop_assert_eq!(from_json(&text).expect("it was exported"), dag);
    }

    #[test]
    fn the_order_of_the_text_does_not_matter(
        steps in prop::collection::vec(step(), 0..20), seed in any::<u64>()
    ) {
        let dag = build(&steps);
        let mut json = to_json(&dag);
        let hops = json["hops"].as_array_mut().expect("hops is an array");
        let length = hops.len() as u64;
        for i in 0..hops.len() {
            hops.swap(i, (seed.rotate_left(i as u32) % length) as usize);
        }
        let back = from_json(&json.to_string()).expect("only the order differs");
        verify(&back).expect("import verifies");
        prop_assert_eq!(back.len(), dag.len());
        let codes = |dag: &Dag| {
            let mut codes: Vec<_> = dag.iter().map(|(_, hop)| hop.op.code()).collect();
            codes.sort();
            codes
        };
        prop_assert_eq!(codes(&back), codes(&dag));
    }
}

#[test]
fn nan_and_infinities_travel() {
    let mut dag = Dag::new();
    dag.roots = vec![dag.push(Hop::literal(Literal::Double(f64::NAN)))];
    let back = from_json(&to_json(&dag).to_string()).expect("it was exported");
    assert_eq!(format!("{back:?}"), format!("{dag:?}"));
}

/// Wraps nodes in a document.
fn document(hops: &str, roots: &str) -> String {
    format!(r#"{{"format": "fulgurite-hop", "version": 1, "hops": [{hops}], "roots": [{roots}]}}"#)
}

#[test]
fn what_is_left_out_has_its_default() {
    let text = document(
        r#"
        {"id": 7, "op": "ua(+)", "inputs": [3]},
        {"id": 3, "op": "TRead X", "rows": 10},
        {"id": 1, "op": "lit 2"},
        {"id": 2, "op": "b(>)", "inputs": [7, 1]},
        {"id": 4, "op": "b(*)", "inputs": [3, 1]},
        {"id": 5, "op": "TWrite b", "inputs": [2]},
        {"id": 6, "op": "TWrite Y", "inputs": [4]}
        "#,
        "5, 6",
    );
    let dag = from_json(&text).expect("types follow from inputs");
    insta::assert_snapshot!(dag, @r"
    (0) TRead X [10 x ?, nnz ?] ?B
    (1) ua(+) (0) [double]
    (2) lit 2 [int]
    (3) b(>) (1,2) [boolean]
    (4) b(*) (0,2) [? x ?, nnz ?] ?B
    (5) TWrite b (3) [boolean]
    (6) TWrite Y (4) [? x ?, nnz ?] ?B
    roots 5,6
    ");
}

#[test]
fn what_is_inconsistent_is_refused_with_node_and_rule() {
    let read = r#"{"id": 0, "op": "TRead X"}"#;
    let cases = [
        "{".to_owned(),
        r#"{"format": "fulgurite-hop", "version": 2, "graph": {}}"#.to_owned(),
        r#"{"format": "other", "version": 1, "hops": [], "roots": []}"#.to_owned(),
        document(r#"{"op": "TRead X"}"#, "0"),
        document(&format!("{read}, {read}"), "0"),
        document(
            &format!(r#"{read}, {{"id": 1, "op": "u(unheard)", "inputs": [0]}}"#),
            "1",
        ),
        document(
            r#"{"id": 70, "op": "lit 1"}, {"id": 40, "op": "r(t)", "inputs": [70]}"#,
            "40",
        ),
        document(
            &format!(r#"{read}, {{"id": 1, "op": "ba(+*)", "inputs": [0]}}"#),
            "1",
        ),
        document(
            &format!(r#"{read}, {{"id": 1, "op": "r(t)", "inputs": [5]}}"#),
            "1",
        ),
        document(
            &format!(
                r#"{read}, {{"id": 1, "op": "b(+)", "inputs": [0, 2]}}, {{"id": 2, "op": "r(t)", "inputs": [1]}}, {{"id": 3, "op": "r(t)", "inputs": [2]}}"#
            ),
            "3",
        ),
        document(
            &format!(
                r#"{read}, {{"id": 1, "op": "lit 2"}}, {{"id": 2, "op": "ba(+*)", "inputs": [0, 1]}}"#
            ),
            "2",
        ),
        document(
            &format!(r#"{read}, {{"id": 1, "op": "r(t)", "inputs": [0]}}"#),
            "0",
        ),
        document(read, "4"),
        document(r#"{"id": 0, "op": "TRead X", "rows": -2}"#, "0"),
        document(r#"{"id": 0, "op": "TRead X", "blocksize": 500}"#, "0"),
        document(r#"{"id": 0, "op": "TRead X", "input": [1]}"#, "0"),
        document(
            r#"{"id": 0, "op": "lit 7", "value": {"type": "int", "value": 8}}"#,
            "0",
        ),
        document(
            r#"{"id": 0, "op": "lit f.csv"}, {"id": 1, "op": "PRead", "inputs": [0], "parameters": {"color": 1}}"#,
            "1",
        ),
    ];
    let errors: Vec<String> = cases
        .iter()
        .map(|text| match from_json(text) {
            Ok(dag) => format!("read:\n{dag}"),
            Err(error) => error.to_string(),
        })
        .collect();
    insta::assert_snapshot!(errors.join("\n"));
}

#[test]
fn the_documented_example_reads_and_prints_as_documented() {
    let page = include_str!("../../../../docs/hop-json.md");
    let block = |language: &str| {
        let (_, rest) = page
            .split_once(&format!("```{language}\n"))
            .expect("the page has such a block");
        rest.split("```").next().expect("split gives one at least")
    };
    let dag = from_json(block("json")).expect("the example is consistent");
    assert_eq!(dag.to_string(), block("text"));
}
