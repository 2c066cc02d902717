//! Aggregates and groups.

use serde_json::{Value, json};

use crate::tables::*;

fn keyed() -> fulgurite_relation::Table {
    table(&[
        ("k", integers(&[1, 1, 2, 2, 3, 4, 4].map(Some))),
        (
            "a",
            floats(&[
                Some(f64::NAN),
                Some(1.0),
                None,
                None,
                Some(f64::NAN),
                Some(-0.0),
                Some(0.0),
            ]),
        ),
        (
            "t",
            coded(&[
                Some("b"),
                Some("a"),
                None,
                Some("c"),
                None,
                Some("é"),
                Some("e"),
            ]),
        ),
    ])
}

fn grouped(keys: &[(&str, Value)], aggs: &[(&str, Value)]) -> Value {
    json!({"group_by": {"input": scan(), "keys": named(keys), "aggs": named(aggs), "maintain_order": true}})
}

#[test]
fn aggregates_of_groups_and_of_all_are_those_of_polars() {
    let keyed = keyed();
    for (name, of_groups, of_all) in [
        ("sum", "Float64 NaN 0.0 NaN 0.0", "Float64 NaN"),
        ("mean", "Float64 NaN null NaN 0.0", "Float64 NaN"),
        ("min", "Float64 1.0 null NaN -0.0", "Float64 -0.0"),
        ("max", "Float64 1.0 null NaN -0.0", "Float64 1.0"),
        ("count", "UInt32 2 0 1 2", "UInt32 5"),
        ("n_unique", "UInt32 2 1 1 1", "UInt32 4"),
        ("first", "Float64 NaN null NaN -0.0", "Float64 NaN"),
        ("last", "Float64 1.0 null NaN 0.0", "Float64 0.0"),
        ("var", "Float64 NaN null null 0.0", "Float64 NaN"),
        ("std", "Float64 NaN null null 0.0", "Float64 NaN"),
        ("median", "Float64 NaN null NaN 0.0", "Float64 1.0"),
    ] {
        let plan = grouped(&[("k", col("k"))], &[("r", agg(name, col("a")))]);
        let result = run(&plan, std::slice::from_ref(&keyed)).unwrap();
        assert_eq!(
            values(result.column("r").unwrap()).replace("-0.0", "0.0"),
            of_groups.replace("-0.0", "0.0"),
            "{name}"
        );
        assert_eq!(values(result.column("k").unwrap()), "Int64 1 2 3 4");
        let found = value_of(agg(name, col("a")), &keyed).unwrap();
        assert_eq!(
            found.replace("-0.0", "0.0"),
            of_all.replace("-0.0", "0.0"),
            "{name}"
        );
    }
    let plan = grouped(
        &[("k", col("k"))],
        &[
            ("min", agg("min", col("t"))),
            ("max", agg("max", col("t"))),
            ("len", json!({"agg": "len"})),
        ],
    );
    assert_eq!(
        shown(&run(&plan, &[keyed]).unwrap()),
        "4 rows\nk: Int64 1 2 3 4\nmin: Coded a c null e\nmax: Coded b c null é\nlen: UInt32 2 2 1 2\n"
    );
}

#[test]
fn aggregates_of_nothing() {
    let empty = table(&[
        ("a", floats(&[])),
        ("i", integers(&[])),
        ("b", booleans(&[])),
        ("t", texts(&[])),
    ]);
    check(agg("sum", col("a")), &empty, "Float64 0.0");
    check(agg("sum", col("b")), &empty, "UInt32 0");
    check(agg("mean", col("i")), &empty, "Float64 null");
    check(agg("min", col("t")), &empty, "Utf8 null");
    check(agg("first", col("i")), &empty, "Int64 null");
    check(agg("any", col("b")), &empty, "Boolean false");
    check(agg("all", col("b")), &empty, "Boolean true");
    check(agg("median", col("a")), &empty, "Float64 null");
    check(agg("n_unique", col("t")), &empty, "UInt32 0");
    let plan = grouped(&[("i", col("i"))], &[("s", agg("sum", col("a")))]);
    assert_eq!(
        shown(&run(&plan, &[empty]).unwrap()),
        "0 rows\ni: Int64 \ns: Float64 \n"
    );
}

#[test]
fn quantiles_are_interpolated() {
    let four = table(&[("a", integers(&[Some(1), Some(2), Some(3), Some(4), None]))]);
    for (how, expected) in [
        ("nearest", ["1.0", "2.0", "2.0", "3.0", "4.0"]),
        ("linear", ["1.3", "1.75", "1.9", "2.5", "3.7"]),
        ("lower", ["1.0", "1.0", "1.0", "2.0", "3.0"]),
        ("higher", ["2.0", "2.0", "2.0", "3.0", "4.0"]),
        ("midpoint", ["1.5", "1.5", "1.5", "2.5", "3.5"]),
        ("equiprobable", ["1.0", "1.0", "2.0", "2.0", "4.0"]),
    ] {
        for (quantile, expected) in [0.1, 0.25, 0.3, 0.5, 0.9].into_iter().zip(expected) {
            let options = json!({"quantile": quantile, "interpolation": how});
            let expr = json!({"agg": "quantile", "arg": col("a"), "options": options});
            check(expr, &four, &format!("Float64 {expected}"));
        }
    }
}

#[test]
fn aggregates_stand_within_expressions() {
    let numbers = table(&[
        ("k", integers(&[1, 1, 3].map(Some))),
        ("a", integers(&[1, 2, 3].map(Some))),
    ]);
    check(
        call("sub", &[col("a"), agg("mean", col("a"))]),
        &numbers,
        "Float64 -1.0 0.0 1.0",
    );
    check(
        call("div", &[agg("sum", col("a")), json!({"agg": "len"})]),
        &numbers,
        "Float64 2.0",
    );
    let spread = call("mul", &[col("a"), agg("sum", col("a"))]);
    let plan = grouped(
        &[("k", col("k"))],
        &[
            ("r", agg("max", spread)),
            ("one", int(1)),
            (
                "mean",
                call("div", &[agg("sum", col("a")), json!({"agg": "len"})]),
            ),
        ],
    );
    assert_eq!(
        shown(&run(&plan, &[numbers]).unwrap()),
        "2 rows\nk: Int64 1 3\nr: Int64 6 9\none: Int32 1 1\nmean: Float64 1.5 3.0\n"
    );
}

#[test]
fn keys_are_equal_as_in_polars() {
    let keys = table(&[
        (
            "k",
            floats(&[
                Some(f64::NAN),
                Some(-f64::NAN),
                Some(-0.0),
                Some(0.0),
                None,
                None,
            ]),
        ),
        (
            "t",
            texts(&[Some("a"), Some("a"), Some("b"), Some("b"), None, Some("b")]),
        ),
        (
            "i",
            integers(&[Some(i64::MIN), Some(i64::MAX), Some(0), Some(0), None, None]),
        ),
        ("a", integers(&[1, 2, 3, 4, 5, 6].map(Some))),
    ]);
    let sums = |by: &[&str]| {
        let keys: Vec<_> = by.iter().map(|name| (*name, col(name))).collect();
        grouped(&keys, &[("s", agg("sum", col("a")))])
    };
    let tables = [keys];
    let found = |by: &[&str]| {
        let result = run(&sums(by), &tables).unwrap();
        values(result.column("s").unwrap())
    };
    assert_eq!(found(&["k"]), "Int64 3 7 11");
    assert_eq!(found(&["t"]), "Int64 3 13 5");
    assert_eq!(found(&["i"]), "Int64 1 2 7 11");
    assert_eq!(found(&["k", "t"]), "Int64 3 7 5 6");
    assert_eq!(found(&["t", "i", "k"]), "Int64 1 2 7 5 6");
    assert_eq!(found(&[]), "Int64 21");
}
