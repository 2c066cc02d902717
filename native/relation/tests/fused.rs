//! Plans as HOPs against plans by kernels: the same tables, up to the last bits of sums.

use std::sync::Arc;

use arrow::{
    array::{
        Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int32Array, Int64Array,
        StringArray,
    },
    compute::cast,
    datatypes::{DataType, Float64Type},
};
use fulgurite_config::Config;
use fulgurite_lazy::Evaluator;
use fulgurite_matrix::Interrupt;
use fulgurite_program::Session;
use fulgurite_relation::{Fusion, Relation, Table, collect};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Columns: two of floats, two of whole numbers, truth values, dates and texts.
const NUMBERS: [&str; 4] = ["x", "y", "i", "j"];

fn optional<T: Clone + std::fmt::Debug + 'static>(
    value: impl Strategy<Value = T> + 'static,
    rows: usize,
    may_lack: bool,
) -> BoxedStrategy<Vec<Option<T>>> {
    match may_lack {
        true => prop::collection::vec(prop::option::weighted(0.8, value), rows).boxed(),
        false => prop::collection::vec(value.prop_map(Some), rows).boxed(),
    }
}

fn float() -> BoxedStrategy<f64> {
    prop_oneof![
        6 => (-50i32..50).prop_map(|value| f64::from(value) / 4.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(-0.0),
        1 => Just(0.0),
    ]
    .boxed()
}

fn finite() -> BoxedStrategy<f64> {
    (-50i32..50)
        .prop_map(|value| f64::from(value) / 4.0)
        .boxed()
}

fn table() -> impl Strategy<Value = Table> {
    (0usize..40, any::<bool>(), any::<bool>()).prop_flat_map(|(rows, lacks, special)| {
        let floats = if special { float() } else { finite() };
        (
            optional(floats.clone(), rows, lacks),
            optional(floats, rows, false),
            optional(-4i32..4, rows, lacks),
            optional(
                prop_oneof![4 => -9i64..9, 1 => Just(i64::MAX - 3)],
                rows,
                false,
            ),
            optional(any::<bool>(), rows, lacks),
            optional(0i32..4, rows, false),
            optional(prop_oneof![Just("a"), Just("b"), Just("ç")], rows, lacks),
        )
            .prop_map(|(x, y, i, j, b, d, s)| {
                let columns: Vec<(Arc<str>, ArrayRef)> = vec![
                    ("x".into(), Arc::new(Float64Array::from(x))),
                    ("y".into(), Arc::new(Float64Array::from(y))),
                    ("i".into(), Arc::new(Int32Array::from(i))),
                    ("j".into(), Arc::new(Int64Array::from(j))),
                    ("b".into(), Arc::new(BooleanArray::from(b))),
                    ("d".into(), Arc::new(Date32Array::from(d))),
                    ("s".into(), Arc::new(StringArray::from(s))),
                ];
                Table::new(columns).unwrap()
            })
    })
}

fn call(function: &str, args: Vec<Value>) -> Value {
    json!({"call": function, "args": args})
}

fn number() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        4 => prop::sample::select(&NUMBERS[..]).prop_map(|name| json!({"col": name})),
        1 => (-3i64..4).prop_map(|value| json!({"lit": value, "type": "int"})),
        1 => (-6i32..6).prop_map(|value| json!({"lit": f64::from(value) / 2.0, "type": "float"})),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let two = (
            prop::sample::select(&["add", "sub", "mul", "div", "floordiv", "mod"][..]),
            inner.clone(),
            inner.clone(),
        );
        prop_oneof![
            4 => two.prop_map(|(function, a, b)| call(function, vec![a, b])),
            1 => (prop::sample::select(&["neg", "abs", "floor", "ceil"][..]), inner.clone())
                .prop_map(|(function, a)| call(function, vec![a])),
            1 => (prop::sample::select(&["sqrt"][..]), inner.clone())
                .prop_map(|(function, a)| call(function, vec![a])),
            1 => (truth_of(inner.clone().boxed()), inner.clone(), inner.clone())
                .prop_map(|(c, a, b)| call("if_else", vec![c, a, b])),
            1 => (inner.clone(), inner).prop_map(|(a, b)| call("fill_null", vec![a, b])),
        ]
    })
    .boxed()
}

fn truth_of(number: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop_oneof![
        6 => (prop::sample::select(&["eq", "ne", "lt", "le", "gt", "ge"][..]), number.clone(), number.clone())
            .prop_map(|(function, a, b)| call(function, vec![a, b])),
        1 => Just(json!({"col": "b"})),
        1 => (prop::sample::select(&["eq", "ge", "lt"][..]), 0i32..4)
            .prop_map(|(function, day)| call(function, vec![json!({"col": "d"}), json!({"lit": day, "type": "date"})])),
        1 => Just(call("eq", vec![json!({"col": "s"}), json!({"lit": "a", "type": "string"})])),
        1 => (prop::sample::select(&["is_null", "is_not_null"][..]), number.clone())
            .prop_map(|(function, a)| call(function, vec![a])),
    ]
    .boxed()
}

fn truth() -> BoxedStrategy<Value> {
    truth_of(number())
        .prop_recursive(2, 6, 2, |inner| {
            prop_oneof![
                3 => (prop::sample::select(&["and", "or", "xor"][..]), inner.clone(), inner.clone())
                    .prop_map(|(function, a, b)| call(function, vec![a, b])),
                1 => inner.prop_map(|a| call("not", vec![a])),
            ]
        })
        .boxed()
}

fn aggregate() -> BoxedStrategy<Value> {
    let names = &["sum", "mean", "min", "max", "count", "var", "std"][..];
    prop_oneof![
        8 => (prop::sample::select(names), number()).prop_map(|(name, arg)| json!({"agg": name, "arg": arg})),
        1 => (prop::sample::select(&["any", "all", "sum"][..]), truth()).prop_map(|(name, arg)| json!({"agg": name, "arg": arg})),
        1 => Just(json!({"agg": "len"})),
    ]
    .boxed()
}

fn named(values: Vec<Value>) -> Value {
    let named = values.into_iter().enumerate();
    named
        .map(|(place, value)| json!({"name": format!("r{place}"), "expr": value}))
        .collect()
}

fn plan() -> BoxedStrategy<Value> {
    let source = prop_oneof![
        1 => Just(json!({"scan": 0})),
        2 => truth().prop_map(|predicate| json!({"filter": {"input": {"scan": 0}, "predicate": predicate}})),
        1 => (truth(), number()).prop_map(|(predicate, value)| {
            let with = json!({"with_columns": {"input": {"scan": 0}, "exprs": [{"name": "x", "expr": value}]}});
            json!({"filter": {"input": with, "predicate": predicate}})
        }),
    ];
    prop_oneof![
        (source.clone(), prop::collection::vec(number(), 1..3)).prop_map(|(input, values)| {
            json!({"with_columns": {"input": input, "exprs": named(values)}})
        }),
        (source.clone(), prop::collection::vec(aggregate(), 1..4)).prop_map(|(input, values)| {
            json!({"select": {"input": input, "exprs": named(values)}})
        }),
        (
            source,
            prop::sample::subsequence(&["i", "b", "s", "d"][..], 1..3),
            prop::collection::vec(aggregate(), 1..4)
        )
            .prop_map(|(input, keys, values)| {
                let keys: Value = keys
                    .iter()
                    .map(|key| json!({"name": key, "expr": {"col": key}}))
                    .collect();
                let grouped =
                    json!({"group_by": {"input": input, "keys": keys, "aggs": named(values)}});
                // Groups come in no certain order.
                let by: Vec<Value> = ["i", "b", "s", "d"]
                    .iter()
                    .filter(|key| keys_have(&grouped, key))
                    .map(|key| json!({"expr": {"col": key}}))
                    .collect();
                json!({"sort": {"input": grouped, "by": by}})
            }),
    ]
    .boxed()
}

fn keys_have(grouped: &Value, key: &str) -> bool {
    grouped["group_by"]["keys"]
        .as_array()
        .is_some_and(|keys| keys.iter().any(|known| known["name"] == *key))
}

/// Sums of huge numbers that cancel leave what was rounded.
fn close(a: f64, b: f64, largest: f64) -> bool {
    (a.is_nan() && b.is_nan())
        || a == b
        || (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs())) + 1e-12 * largest
}

fn assert_same(a: &Table, b: &Table, largest: f64) {
    assert_eq!(a.rows(), b.rows());
    for ((name, first), (other, second)) in a.iter().zip(b.iter()) {
        assert_eq!((name, first.data_type()), (other, second.data_type()));
        assert_eq!(
            first
                .logical_nulls()
                .map(|nulls| nulls.iter().collect::<Vec<_>>())
                .unwrap_or(vec![true; a.rows()]),
            second
                .logical_nulls()
                .map(|nulls| nulls.iter().collect::<Vec<_>>())
                .unwrap_or(vec![true; a.rows()]),
            "{name}"
        );
        if *first.data_type() != DataType::Float64 {
            let texts = |array: &ArrayRef| cast(array, &DataType::Utf8).unwrap();
            assert_eq!(
                texts(first).as_string::<i32>(),
                texts(second).as_string::<i32>(),
                "{name}"
            );
            continue;
        }
        let values = first
            .as_primitive::<Float64Type>()
            .iter()
            .zip(second.as_primitive::<Float64Type>());
        for (row, (x, y)) in values.enumerate() {
            assert!(
                x.is_none() || close(x.unwrap(), y.unwrap(), largest),
                "{name}, row {row}: {x:?} and {y:?}"
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(20), ..ProptestConfig::default() })]

    #[test]
    fn plans_as_operators_give_what_kernels_give(table in table(), plan in plan()) {
        let plan = Relation::from_json(&plan.to_string()).unwrap();
        let whole = table.column("j").unwrap().as_primitive::<arrow::datatypes::Int64Type>();
        let largest = whole.values().iter().fold(0.0f64, |most, value| most.max((*value as f64).abs()));
        let largest = if largest > 1e9 { largest } else { 0.0 };
        let tables = [table];
        let kernels = collect(&plan, &tables, &[]);
        let evaluator = Evaluator::new(Session::new(Config::default()));
        let fused = Fusion { tables: &tables, arrays: &[], evaluator: &evaluator, interrupt: &Interrupt::default(), least_rows: 0, observer: None };
        let fused = fused.collect(&plan);
        match (kernels, fused) {
            (Ok(a), Ok(b)) => assert_same(&a, &b, largest),
            (Err(a), Err(b)) => prop_assert_eq!(a.kind(), b.kind()),
            (a, b) => prop_assert!(false, "{plan}: {a:?} and {b:?}"),
        }
    }
}
