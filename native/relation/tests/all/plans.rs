//! Operators of whole tables.

use fulgurite_relation::Table;
use serde_json::{Value, json};

use crate::tables::*;

fn numbered() -> Table {
    let values = [
        Some(f64::NAN),
        Some(1.0),
        None,
        Some(-0.0),
        Some(0.0),
        Some(f64::NEG_INFINITY),
        Some(f64::INFINITY),
        Some(2.0),
    ];
    table(&[
        ("a", floats(&values)),
        ("n", integers(&[0, 1, 2, 3, 4, 5, 6, 7].map(Some))),
    ])
}

fn column(plan: &Value, tables: &[Table], name: &str) -> String {
    values(run(plan, tables).unwrap().column(name).unwrap())
}

#[test]
fn sorts_are_stable() {
    for (descending, nulls_last, expected) in [
        (false, false, "2 5 3 4 1 7 6 0"),
        (false, true, "5 3 4 1 7 6 0 2"),
        (true, false, "2 0 6 7 1 3 4 5"),
        (true, true, "0 6 7 1 3 4 5 2"),
    ] {
        let key = json!({"expr": col("a"), "descending": descending, "nulls_last": nulls_last});
        let zero = json!({"expr": call("mul", &[col("n"), int(0)])});
        for by in [json!([key]), json!([key, zero]), json!([zero, key])] {
            let plan = json!({"sort": {"input": scan(), "by": by}});
            let expected = format!("Int64 {expected}");
            assert_eq!(column(&plan, &[numbered()], "n"), expected, "{plan}");
            let top = json!({"slice": {"input": plan, "offset": 1, "length": 3}});
            let cells: Vec<_> = expected.split(' ').collect();
            let expected = format!("Int64 {}", cells[2..5].join(" "));
            assert_eq!(column(&top, &[numbered()], "n"), expected, "{top}");
        }
    }
    let texts = table(&[
        (
            "t",
            coded(&[Some("b"), None, Some("é"), Some("a"), Some("b")]),
        ),
        ("n", integers(&[0, 1, 2, 3, 4].map(Some))),
    ]);
    let plan = json!({"sort": {"input": scan(), "by": [{"expr": col("t")}]}});
    assert_eq!(column(&plan, &[texts], "n"), "Int64 1 3 0 4 2");
}

#[test]
fn slices_count_from_both_ends() {
    for (offset, length, expected) in [
        (-2, Some(1), " 6"),
        (-10, Some(5), " 0 1 2"),
        (-10, None, " 0 1 2 3 4 5 6 7"),
        (2, None, " 2 3 4 5 6 7"),
        (10, Some(2), " "),
        (1, Some(2), " 1 2"),
        (0, Some(0), " "),
    ] {
        let plan = json!({"slice": {"input": scan(), "offset": offset, "length": length}});
        assert_eq!(
            column(&plan, &[numbered()], "n"),
            format!("Int64{expected}"),
            "{plan}"
        );
    }
}

#[test]
fn one_row_of_each() {
    let rows = table(&[
        (
            "a",
            integers(&[Some(1), Some(1), Some(2), None, None, Some(3)]),
        ),
        ("b", integers(&[1, 2, 3, 4, 4, 5].map(Some))),
    ]);
    for (keep, expected) in [
        ("first", "1 3 4 5"),
        ("last", "2 3 4 5"),
        ("any", "1 3 4 5"),
        ("none", "3 5"),
    ] {
        let plan = json!({"unique": {"input": scan(), "subset": ["a"], "keep": keep}});
        assert_eq!(
            column(&plan, std::slice::from_ref(&rows), "b"),
            format!("Int64 {expected}")
        );
    }
    let plan = json!({"unique": {"input": scan(), "subset": null, "keep": "first"}});
    assert_eq!(column(&plan, &[rows], "b"), "Int64 1 2 3 4 5");
}

fn sides() -> [Table; 2] {
    [
        table(&[
            ("a", integers(&[Some(1), Some(2), Some(2), None, Some(4)])),
            ("x", integers(&[1, 2, 3, 4, 5].map(Some))),
        ]),
        table(&[
            ("a", integers(&[Some(2), Some(2), Some(1), None, Some(9)])),
            ("x", integers(&[10, 20, 30, 40, 50].map(Some))),
            ("y", texts(&["a", "b", "c", "d", "e"].map(Some))),
        ]),
    ]
}

fn join(how: &str, on: &[Value], nulls_equal: bool) -> Value {
    json!({"join": {"left": scan(), "right": {"scan": 1}, "how": how, "left_on": on, "right_on": on, "nulls_equal": nulls_equal}})
}

#[test]
fn joins_are_those_of_polars_in_the_order_of_the_left() {
    let on = [col("a")];
    for (how, nulls_equal, expected) in [
        (
            "inner",
            false,
            "5 rows\na: Int64 1 2 2 2 2\nx: Int64 1 2 2 3 3\nx_right: Int64 30 10 20 10 20\ny: Utf8 c a b a b\n",
        ),
        (
            "inner",
            true,
            "6 rows\na: Int64 1 2 2 2 2 null\nx: Int64 1 2 2 3 3 4\nx_right: Int64 30 10 20 10 20 40\ny: Utf8 c a b a b d\n",
        ),
        (
            "left",
            false,
            "7 rows\na: Int64 1 2 2 2 2 null 4\nx: Int64 1 2 2 3 3 4 5\nx_right: Int64 30 10 20 10 20 null null\ny: Utf8 c a b a b null null\n",
        ),
        (
            "left",
            true,
            "7 rows\na: Int64 1 2 2 2 2 null 4\nx: Int64 1 2 2 3 3 4 5\nx_right: Int64 30 10 20 10 20 40 null\ny: Utf8 c a b a b d null\n",
        ),
        ("semi", false, "3 rows\na: Int64 1 2 2\nx: Int64 1 2 3\n"),
        (
            "semi",
            true,
            "4 rows\na: Int64 1 2 2 null\nx: Int64 1 2 3 4\n",
        ),
        ("anti", false, "2 rows\na: Int64 null 4\nx: Int64 4 5\n"),
        ("anti", true, "1 rows\na: Int64 4\nx: Int64 5\n"),
        (
            "full",
            false,
            "9 rows\na: Int64 1 2 2 2 2 null 4 null null\nx: Int64 1 2 2 3 3 4 5 null null\na_right: Int64 1 2 2 2 2 null null null 9\nx_right: Int64 30 10 20 10 20 null null 40 50\ny: Utf8 c a b a b null null d e\n",
        ),
        (
            "full",
            true,
            "8 rows\na: Int64 1 2 2 2 2 null 4 null\nx: Int64 1 2 2 3 3 4 5 null\na_right: Int64 1 2 2 2 2 null null 9\nx_right: Int64 30 10 20 10 20 40 null 50\ny: Utf8 c a b a b d null e\n",
        ),
    ] {
        let plan = join(how, &on, nulls_equal);
        assert_eq!(shown(&run(&plan, &sides()).unwrap()), expected, "{how}");
        // Keys that are hashed, texts, and several.
        let wide = call("mul", &[col("a"), int(1 << 40)]);
        let texts = json!({"cast": "string", "arg": col("a")});
        for on in [
            vec![wide.clone()],
            vec![texts.clone()],
            vec![col("a"), texts, wide],
        ] {
            let found = run(&join(how, &on, nulls_equal), &sides()).unwrap();
            assert_eq!(
                values(found.column("x").unwrap()),
                values(run(&plan, &sides()).unwrap().column("x").unwrap()),
                "{how}"
            );
            if !matches!(how, "semi" | "anti") {
                assert_eq!(
                    values(found.column("x_right").unwrap()),
                    values(run(&plan, &sides()).unwrap().column("x_right").unwrap()),
                    "{how}"
                );
            }
        }
    }
    let cross = json!({"join": {"left": scan(), "right": {"scan": 1}, "how": "cross"}});
    assert_eq!(run(&cross, &sides()).unwrap().rows(), 25);
}

#[test]
fn keys_that_are_expressions_stay() {
    let plan = json!({"join": {"left": scan(), "right": {"scan": 1}, "how": "inner",
        "left_on": [call("add", &[col("a"), int(1)])], "right_on": [call("mul", &[col("a"), int(1)])]}});
    assert_eq!(
        shown(&run(&plan, &sides()).unwrap()),
        "2 rows\na: Int64 1 1\nx: Int64 1 1\na_right: Int64 2 2\nx_right: Int64 10 20\ny: Utf8 a b\n"
    );
}

#[test]
fn coded_texts_join_by_their_values() {
    let tables = [
        table(&[("t", coded(&[Some("b"), None, Some("é")]))]),
        table(&[
            ("t", coded(&[Some("é"), Some("x"), Some("b")])),
            ("n", integers(&[1, 2, 3].map(Some))),
        ]),
    ];
    let plan = join("left", &[col("t")], false);
    assert_eq!(
        shown(&run(&plan, &tables).unwrap()),
        "3 rows\nt: Coded b null é\nn: Int64 3 null 1\n"
    );
    let plan = json!({"concat": {"inputs": [scan(), {"select": {"input": {"scan": 1}, "exprs": named(&[("t", col("t"))])}}]}});
    let all = json!({"unique": {"input": plan, "subset": null}});
    assert_eq!(
        shown(&run(&all, &tables).unwrap()),
        "4 rows\nt: Coded b null é x\n"
    );
}

#[test]
fn columns_are_selected_renamed_and_dropped() {
    let plan = json!({"with_columns": {"input": scan(), "exprs": named(&[("a", call("add", &[col("a"), int(1)])), ("b", col("a")), ("c", int(1))])}});
    assert_eq!(
        shown(&run(&plan, &sides()[..1]).unwrap()),
        "5 rows\na: Int64 2 3 3 null 5\nx: Int64 1 2 3 4 5\nb: Int64 1 2 2 null 4\nc: Int32 1 1 1 1 1\n"
    );
    let swapped = json!({"rename": {"input": scan(), "names": {"a": "x", "x": "a"}}});
    assert_eq!(column(&swapped, &sides(), "a"), "Int64 1 2 3 4 5");
    let dropped = json!({"drop": {"input": swapped, "names": ["x"]}});
    assert_eq!(
        shown(&run(&dropped, &sides()).unwrap()),
        "5 rows\na: Int64 1 2 3 4 5\n"
    );
    let single = json!({"select": {"input": scan(), "exprs": named(&[("n", json!({"agg": "len"})), ("one", int(1))])}});
    assert_eq!(
        shown(&run(&single, &sides()).unwrap()),
        "1 rows\nn: UInt32 5\none: Int32 1\n"
    );
    let none = json!({"select": {"input": scan(), "exprs": []}});
    assert_eq!(shown(&run(&none, &sides()).unwrap()), "0 rows\n");
}

#[test]
fn filters_keep_rows_that_are_true() {
    let plan = |predicate: Value| json!({"filter": {"input": scan(), "predicate": predicate}});
    let tables = [numbered()];
    assert_eq!(
        column(&plan(call("gt", &[col("a"), int(0)])), &tables, "n"),
        "Int64 0 1 6 7"
    );
    assert_eq!(
        column(
            &plan(call("gt", &[col("n"), agg("mean", col("n"))])),
            &tables,
            "n"
        ),
        "Int64 4 5 6 7"
    );
    assert_eq!(
        run(&plan(json!({"lit": true, "type": "boolean"})), &tables)
            .unwrap()
            .rows(),
        8
    );
}
