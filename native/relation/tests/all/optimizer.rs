//! Optimized plans: what they look like, and that their results are those of the plans as they came.

use fulgurite_relation::Table;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::tables::*;

fn source() -> Table {
    table(&[
        (
            "a",
            integers(&[Some(3), Some(1), None, Some(2), Some(1), Some(3)]),
        ),
        (
            "b",
            floats(&[
                Some(0.5),
                Some(f64::NAN),
                Some(-0.0),
                None,
                Some(2.0),
                Some(0.0),
            ]),
        ),
        (
            "t",
            coded(&[Some("x"), Some("y"), None, Some("é"), Some("x"), Some("")]),
        ),
        (
            "c",
            booleans(&[
                Some(true),
                None,
                Some(false),
                Some(true),
                Some(true),
                Some(false),
            ]),
        ),
    ])
}

fn optimized(json: &Value) -> String {
    let sources = [source().schema(), source().schema()];
    plan(json).optimized(&sources).unwrap().to_string()
}

#[test]
fn selections_move_down_and_unused_columns_are_left_out() {
    let joined = json!({"join": {"left": scan(), "right": {"scan": 1}, "how": "inner", "left_on": [col("a")], "right_on": [col("a")]}});
    let added = json!({"with_columns": {"input": joined, "exprs": named(&[("s", call("add", &[col("b"), col("b_right")]))])}});
    let both = call(
        "and",
        &[
            call("gt", &[col("b"), int(0)]),
            call("eq", &[col("t_right"), text("x")]),
        ],
    );
    let filtered = json!({"filter": {"input": added, "predicate": both}});
    let plan = json!({"select": {"input": filtered, "exprs": named(&[("s", col("s"))])}});
    assert_eq!(
        optimized(&plan),
        "\
select s
  with_columns s = col(\"b\") + col(\"b_right\")
    join inner on col(\"a\") == col(\"a\")
      filter col(\"b\") > 0
        scan 0 [a, b]
      select a, b
        filter col(\"t\") == \"x\"
          scan 1 [a, b, t]
"
    );
}

#[test]
fn rows_beside_arrays_have_no_column_that_only_a_selection_below_reads() {
    let filtered =
        json!({"filter": {"input": scan(), "predicate": call("eq", &[col("t"), text("x")])}});
    let array = json!({"array": 0, "type": "float64"});
    let added = json!({"with_columns": {"input": filtered, "exprs": named(&[("x", array)])}});
    let grouped = json!({"group_by": {"input": added, "keys": named(&[("a", col("a"))]), "aggs": named(&[("x", agg("sum", col("x")))]), "maintain_order": false}});
    assert_eq!(
        optimized(&grouped),
        "\
group_by a: x = col(\"x\").sum()
  with_columns x = array(0)
    select a
      filter col(\"t\") == \"x\"
        scan 0 [a, t]
"
    );
}

#[test]
fn a_sort_of_which_the_first_rows_are_read_is_cut_short() {
    let sorted = json!({"sort": {"input": scan(), "by": [{"expr": col("a"), "descending": true}]}});
    let plan = json!({"slice": {"input": sorted, "offset": 1, "length": 2}});
    assert_eq!(
        optimized(&plan),
        "slice 1, 2 rows\n  top 3 by col(\"a\") descending\n    scan 0\n"
    );
}

#[test]
fn nothing_moves_past_what_sees_all_rows_or_refuses_some() {
    let condition = call("gt", &[col("a"), int(1)]);
    let centred = call("sub", &[col("b"), agg("mean", col("b"))]);
    let cast = json!({"cast": "int8", "arg": col("a")});
    for expr in [centred, cast] {
        let added = json!({"with_columns": {"input": scan(), "exprs": named(&[("n", expr)])}});
        let plan = json!({"filter": {"input": added, "predicate": condition}});
        assert!(
            optimized(&plan).starts_with("filter"),
            "{}",
            optimized(&plan)
        );
    }
    for input in [
        json!({"slice": {"input": scan(), "offset": 0, "length": 2}}),
        json!({"unique": {"input": scan(), "subset": ["t"], "keep": "first"}}),
    ] {
        let plan = json!({"filter": {"input": input, "predicate": condition}});
        assert!(
            optimized(&plan).starts_with("filter"),
            "{}",
            optimized(&plan)
        );
    }
}

/// Conditions on the four columns.
fn condition() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..4i64).prop_map(|value| call("gt", &[col("a"), int(value)])),
        Just(call("ge", &[col("b"), float(0.0)])),
        Just(call("eq", &[col("t"), text("x")])),
        Just(col("c")),
        Just(call("is_null", &[col("a")])),
        Just(call("lt", &[col("a"), agg("mean", col("a"))])),
        Just(call("and", &[col("c"), call("ne", &[col("a"), int(1)])])),
    ]
}

/// Plans whose columns are a, b, t and c, and perhaps more.
fn relation() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(json!({"scan": 0})), Just(json!({"scan": 1}))];
    leaf.prop_recursive(6, 12, 2, |inner| {
        let all = || [("a", col("a")), ("b", col("b")), ("t", col("t")), ("c", col("c"))];
        let inner = inner.boxed();
        let one = inner.clone();
        prop_oneof![
            (one.clone(), condition()).prop_map(|(input, predicate)| json!({"filter": {"input": input, "predicate": predicate}})),
            one.clone().prop_map(move |input| json!({"select": {"input": input, "exprs": named(&all())}})),
            one.clone().prop_map(move |input| {
                let exprs = [("t", col("t")), ("a", call("neg", &[col("a")])), ("c", col("c")), ("b", call("sub", &[col("b"), agg("max", col("a"))]))];
                json!({"select": {"input": input, "exprs": named(&exprs)}})
            }),
            one.clone().prop_map(|input| json!({"with_columns": {"input": input, "exprs": named(&[("a", call("add", &[col("a"), int(1)])), ("z", col("b"))])}})),
            one.clone().prop_map(|input| {
                let aggs = [("b", agg("sum", col("b"))), ("t", agg("first", col("t"))), ("c", agg("any", col("c"))), ("unused", json!({"agg": "len"}))];
                json!({"group_by": {"input": input, "keys": named(&[("a", col("a"))]), "aggs": named(&aggs), "maintain_order": true}})
            }),
            (one.clone(), any::<bool>(), any::<bool>()).prop_map(|(input, descending, last)| json!({"sort": {"input": input, "by": [{"expr": col("a"), "descending": descending, "nulls_last": last}, {"expr": col("t")}]}})),
            (one.clone(), -3..3i64, prop::option::of(0..5usize)).prop_map(|(input, offset, length)| json!({"slice": {"input": input, "offset": offset, "length": length}})),
            one.clone().prop_map(|input| json!({"unique": {"input": input, "subset": ["a", "c"], "keep": "last"}})),
            one.clone().prop_map(|input| json!({"rename": {"input": input, "names": {"a": "q"}}})).prop_map(|input| json!({"with_columns": {"input": input, "exprs": named(&[("a", call("mul", &[col("q"), int(2)]))])}})),
            one.clone().prop_map(|input| {
                let renamed = json!({"with_columns": {"input": input, "exprs": named(&[("a", col("a")), ("copy", col("t"))])}});
                json!({"drop": {"input": renamed, "names": ["copy"]}})
            }),
            (one.clone(), inner, prop_oneof![Just("inner"), Just("left"), Just("semi"), Just("anti"), Just("full")]).prop_map(move |(left, right, how)| {
                let select = |input: Value| json!({"select": {"input": input, "exprs": named(&[("a", col("a")), ("b", col("b")), ("t", col("t")), ("c", col("c"))])}});
                let joined = json!({"join": {"left": select(left), "right": select(right), "how": how, "left_on": [col("a")], "right_on": [col("a")]}});
                // So that plans do not grow without end.
                json!({"slice": {"input": joined, "offset": 0, "length": 20}})
            }),
            (one.clone(), one).prop_map(move |(first, second)| {
                let select = |input: Value| {
                    // Texts and numbers have one type whatever made them.
                    let exprs = [("a", json!({"cast": "int64", "arg": col("a")})), ("b", col("b")), ("t", json!({"cast": "string", "arg": col("t")})), ("c", col("c"))];
                    json!({"select": {"input": input, "exprs": named(&exprs)}})
                };
                json!({"concat": {"inputs": [select(first), select(second)]}})
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn optimized_plans_have_the_same_results(plan in relation(), columns in 0..4usize, condition in condition()) {
        let filtered = json!({"filter": {"input": plan, "predicate": condition}});
        let all = [("b", col("b")), ("t", col("t")), ("a", col("a")), ("n", agg("sum", col("a")))];
        let plan = json!({"select": {"input": filtered, "exprs": named(&all[columns..])}});
        // `run` compares the two, and the types found before with those of the result.
        if let Err(error) = run(&plan, &[source(), source()]) {
            prop_assert!(error.message().contains("two columns"), "{error}\n{plan}");
        }
    }
}
